"""Sentences and findings for the user, and rules that could not run (contract).

Text between backticks is code. The page and the terminal show these as they are.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Severity = Literal["high", "medium", "low", "info"]


class Sentence(Struct, frozen=True):
    """The answer in one sentence. Text between backticks is code."""

    headline: str  # "The GPU waits for the DataLoader for a third of every step."
    detail: str
    agreement: str = ""  # "in 4 of 6 steps"
    cause: str = ""  # what it blames: a field of Partition or HostPartition, or of CAUSES


class Reference(Struct, frozen=True):
    """A link to a view of this page (``view`` + ``params``) or to a document (``url``)."""

    text: str
    view: str = ""
    params: dict[str, str] = {}
    url: str = ""


def at_time(text: str, ts: int, dur_ns: int) -> Reference:
    """A link to the Trace view at an event, with a margin of a quarter on each side."""
    margin = max(dur_ns // 4, 1000)
    return Reference(text, "timeline", {"at": f"{ts - margin}-{ts + dur_ns + margin}"})


class Evidence(Struct, frozen=True):
    """A figure behind a finding, and the value it is compared with."""

    name: str
    value: float
    unit: str  # "ns" | "ratio" | "bytes" | "count"
    threshold: float | None = None


class Gain(Struct, frozen=True):
    """The upper limit of a gain, not a promise."""

    ns_per_step: float
    ratio: float
    method: str  # how the ceiling was formed
    claims: str  # the part of the partition it claims, so that overlapping ceilings are not added


class Finding(Struct, frozen=True):
    """One piece of advice. Text between backticks is code."""

    id: str  # "IN1"
    title: str
    severity: Severity
    confidence: float
    text: str  # evidence with number and scope, then cause, then one action
    snippet: str
    evidence: tuple[Evidence, ...]
    gain: Gain | None
    scope: str  # "6 of 6 steps, GPU 0"
    links: tuple[Reference, ...]
    verify: str  # how to see that it worked


class Explanation(Struct, frozen=True):
    """Why the cause in the headline has no finding, and where to look instead."""

    text: str
    links: tuple[Reference, ...] = ()


class Unchecked(Struct, frozen=True):
    """A rule that could not run, and the data it needs."""

    id: str
    title: str
    needs: str
