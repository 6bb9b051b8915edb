"""Asking the Trace view and its parts as the page does, without a server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from kinetoscope.analysis.summarize import summarize
from kinetoscope.session.session import TraceSession
from kinetoscope.trace.model import Trace
from kinetoscope.trace.read import read
from kinetoscope.views.timeline.contract import TimelineManifest
from kinetoscope.views.timeline.view import VIEW
from kinetoscope.views.view import Subject
from tests.drawing import draw_at


class Asked:
    """A trace, and what the Trace view says of it. Answers have gone through JSON."""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        self.subject: Subject = TraceSession(trace, summarize(trace)).subject(VIEW)

    def manifest(self, **query: Any) -> TimelineManifest:
        """The view itself."""
        answer = VIEW.build(self.subject, msgspec.convert(query, VIEW.query))
        return msgspec.json.decode(_strict(answer), type=TimelineManifest)

    def __call__(self, stem: str, **query: Any) -> Any:
        """A part; parameters may be texts, as in an address."""
        (part,) = [part for part in VIEW.parts if part.stem == stem]
        built = part.build(self.subject, msgspec.convert(query, part.query, strict=False))
        if part.answer is None:
            return b"".join(built) if isinstance(built, Iterator) else built
        return msgspec.json.decode(_strict(built), type=part.answer)

    def find(self, name: str, turn: int = 0) -> int:
        """The slice of a name, in order of time."""
        hit = self("hit", text=name, mode="exact")
        for _ in range(turn):
            hit = self("hit", text=name, mode="exact", slice=hit.to.slice)
        assert hit.to is not None, f"no slice {name!r}"
        found: int = hit.to.slice
        return found


def asked(folder: Path, picture: str, **options: Any) -> Asked:
    """The drawn trace; its file stays in the folder, because arguments are read from it again."""
    return Asked(draw_at(folder / "worker0.pt.trace.json", picture, **options))


def asked_file(path: Path) -> Asked:
    """A trace file."""
    return Asked(read(path))


def _strict(answer: Any) -> bytes:
    """The answer as JSON; of what JSON cannot hold msgspec would make null."""
    text = msgspec.json.encode(answer)
    assert b"NaN" not in text
    return text
