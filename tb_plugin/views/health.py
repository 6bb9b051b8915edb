"""Health: what was read, skipped, repaired and missing, and how to record it better (contract of the Structs)."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from ..trace.health import Note
from .overview import Sentence


class HealthQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """No parameters."""


class Answerable(Struct, frozen=True):
    """A question, and whether this recording answers it."""

    question: str  # "Which line of code?"
    has: str
    lacks: str
    answer: Literal["yes", "in part", "no"]


class Count(Struct, frozen=True):
    label: str
    count: int
    help: str = ""


class SnippetLine(Struct, frozen=True):
    text: str
    added: bool  # not in this recording: what the reader should add


class Health(Struct, frozen=True):
    sentence: Sentence
    notes: tuple[Note, ...]  # worst first
    counts: tuple[Count, ...]  # what was read: ops, kernels, …; sums to the events of the file
    file_bytes: int
    text_bytes: int
    snippet: tuple[SnippetLine, ...]  # a recording that fills every gap
    answers: tuple[Answerable, ...]
    recording: dict[str, str]  # label → value of what the file says about itself
