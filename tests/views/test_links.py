"""Every link in an answer, and every view that a sentence names, leads to a place that exists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kinetoscope import views
from kinetoscope.analysis.findings import Reference
from kinetoscope.session.session import FileSession
from kinetoscope.views.shared import with_limit
from kinetoscope.views.view import View
from tests.conftest import TRACES, requires_traces
from tests.test_verdicts import listed
from tests.views.test_one_figure import QUICK

RECORDINGS = [
    pytest.param(row.file, marks=() if row.file in QUICK else pytest.mark.slow)
    for row in listed()
    if row.verdict == "open"
]
NAMED = re.compile(r"\bThe ([A-Z]\w*(?: of [a-z]+)?) view (?:shows|explains|compares)\b")
# What an address of the page may hold beside its view.
KEYS = {"at", "select", "find", "match", "steps", "path", "group", "rank", "worker", "workers"}


def inside(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Everything in an answer, with the name of the field that has it."""
    yield name, value
    if isinstance(value, msgspec.Struct):
        for field in msgspec.structs.fields(value):
            yield from inside(getattr(value, field.name), field.name)
    elif isinstance(value, dict):
        for one in value.values():
            yield from inside(one, name)
    elif isinstance(value, (list, tuple)):
        for one in value:
            yield from inside(one, name)


class Places:
    """What links of one recording may lead to."""

    def __init__(self, session: FileSession) -> None:
        self.session = session
        self.trace = views.view_named("timeline")
        self.duration_ns = session.facts().duration_ns
        self.steps = {str(step.number) for step in session.facts().steps}
        self.slices = 0
        if self.is_there("timeline"):
            self.slices = self.answer(self.trace).slices

    def is_there(self, name: str) -> bool:
        return not self.session.unavailable(views.view_named(name))

    def answer(self, view: View) -> Any:
        asked = with_limit(msgspec.convert({}, view.query), 1000)
        return view.build(self.session.asked(view), asked)

    def hits(self, text: str, match: str) -> int:
        part = next(one for one in self.trace.parts if one.stem == "search")
        query = msgspec.convert({"text": text, "mode": match or "text"}, part.query)
        found: int = part.build(self.session.subject(self.trace), query).slices
        return found

    def faults(self, link: Reference) -> Iterator[str]:
        """What is wrong with a link; nothing where it leads to a place."""
        if link.url:
            if link.view or not link.url.startswith("https://"):
                yield "no address"
            return
        if not self.is_there(link.view):
            yield "a view that cannot be filled"
            return
        to = link.params
        if to.keys() - KEYS:
            yield "no such key"
        if "at" in to:
            begin, end = (int(one) for one in re.split(r"(?<=\d)-", to["at"]))
            if not (begin < end and begin <= self.duration_ns and end >= 0):
                yield "outside of the recording"
        if "select" in to and not 0 <= int(to["select"]) < self.slices:
            yield "no such slice"
        if "steps" in to and to["steps"] not in self.steps:
            yield "no such step"
        if "find" in to and not self.hits(to["find"], to.get("match", "")):
            yield "a name that does not occur"


@requires_traces
@pytest.mark.parametrize("file", RECORDINGS)
def test_links_lead_to_places_that_exist(file: str) -> None:
    path = Path(TRACES, file)
    if not path.exists():
        pytest.skip(f"the recording is not there: {file}")
    places = Places(FileSession(str(path)))
    faults: list[tuple[str, Any, str]] = []
    for view in views.all_views():
        if places.session.unavailable(view):
            continue
        for name, value in inside(places.answer(view)):
            if isinstance(value, Reference):
                faults += [(view.stem, value, fault) for fault in places.faults(value)]
            if name == "slice" and isinstance(value, int) and value >= places.slices > 0:
                faults.append((view.stem, value, "no such slice"))
            if isinstance(value, str):
                faults += [
                    (view.stem, value, "a view that cannot be filled")
                    for title in NAMED.findall(value)
                    if not places.is_there(title)
                ]
    assert not faults
