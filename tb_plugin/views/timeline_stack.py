"""Where in the program a slice came from: Python frames around it, or the stack that it carries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..analysis.operators.stacks import frame_function, frame_place, written_frames
from ..analysis.timeline.links import ancestors_of, launch_of, op_around
from ..analysis.timeline.model import SliceKind
from ..analysis.timeline.opened import Opened
from .timeline_answers import StackFrame
from .timeline_args import told_of
from .timeline_labels import WITH_STACK
from .view import Subject

_PYTHON = (SliceKind.PYTHON, SliceKind.MODULE)
_STACK_ARG = "Call stack"
_MOST_FRAMES = 2000


@dataclass(frozen=True, slots=True)
class Stack:
    """``file`` and ``line`` are those of the slice itself, where it is a Python frame."""

    frames: tuple[StackFrame, ...]
    missing: str
    file: str = ""
    line: int = 0


def stack_of(subject: Subject, opened: Opened, one: int, args: Mapping[str, Any]) -> Stack:
    """The call stack of a slice, of device work that of its launch; innermost frame first."""
    slices, timeline = opened.timeline.slices, opened.timeline
    at = launch_of(timeline.flows, one) if one >= timeline.tables.device else one
    if at is None:
        return Stack((), "It is not known what launched it.")
    chain = [*ancestors_of(slices, at), at]
    python = [row for row in chain[::-1] if slices.kind[row] in _PYTHON]
    if python:
        frames = tuple(_frame(timeline.names[slices.name[row]], row) for row in python)
        own = frames[0] if python[0] == one else None
        return Stack(frames, "", own.file if own else "", own.line if own else 0)
    text = _text(subject, opened, one, at, args)
    if text:
        parts = written_frames(text)[:_MOST_FRAMES]
        return Stack(tuple(_frame(part, None) for part in parts), "")
    return Stack((), _why(subject))


def _text(subject: Subject, opened: Opened, one: int, at: int, args: Mapping[str, Any]) -> str:
    """The stack that the slice carries, or that of the op around it."""
    if _STACK_ARG not in args:
        op = op_around(opened.timeline.slices, at)
        if op is None or op == one or not subject.facts.recording.call_stacks:
            return ""
        args = told_of(subject, opened, op).args
    found = args.get(_STACK_ARG)
    return found if isinstance(found, str) else ""


def _why(subject: Subject) -> str:
    counts = subject.facts.counts
    recorded = counts.get("python", 0) + counts.get("module", 0)
    if not recorded and not subject.facts.recording.call_stacks:
        return f"No call stack was recorded: {WITH_STACK}."
    return "No Python frame was open around it."


def _frame(name: str, row: int | None) -> StackFrame:
    file, line = frame_place(name)
    return StackFrame(frame_function(name) if file else name, file, line, row)
