"""A part of a trace as a separate trace file: selection of events, and text of the file.

Slices are copied whole, as the file writes them. Arrows are written anew between the slices that
are included, because an arrow of the file may end outside.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
from msgspec import Struct

from ...base.arrays import I32, I64
from ...base.regex import regex
from ...trace.build.categories import FIRST_DEPENDENCY
from ...trace.model import Trace
from ...trace.scan.json_values import NumberText, decode_strict, json_text
from .model import FlowKind, SliceFlows
from .range.sums import Area, slices_in
from .timeline import Opened

_WHOLE = regex(rb'"ph"\s*:\s*"X"')
_FLOWS = {FlowKind.LAUNCH: "ac2g", FlowKind.BACKWARD: "fwdbwd", FlowKind.DEPENDENCY: "ac2g"}


class Contents(Struct, frozen=True, eq=False):
    """The rows and slices that the exported file includes."""

    slices: I32  # ids, ascending
    rows: I64  # of the file, ascending: those slices, names, allocator events, counters
    flows: I64  # rows of the arrows whose ends both go along


def contents_of(opened: Opened, trace: Trace, area: Area) -> Contents:
    """Everything that touches an area; without chosen tracks, the allocator and counters, too."""
    timeline = opened.timeline
    slices = np.sort(slices_in(opened, area))
    there = np.zeros(len(timeline.slices), np.bool_)
    there[slices] = True
    flows = timeline.flows
    both = np.flatnonzero(there[flows.source] & there[flows.target])
    rows = [timeline.slices.raw[slices].astype(np.int64), trace.blocks.metadata.astype(np.int64)]
    if area.tracks is None:
        rows += [
            table.raw[(table.ts >= area.start) & (table.ts < area.end)].astype(np.int64)
            for table in (trace.memory, trace.counters)
        ]
    return Contents(slices, np.unique(np.concatenate(rows)), both)


def document(metadata: Mapping[str, Any], events: Iterable[bytes]) -> Iterator[bytes]:
    """The text of a trace file, piece by piece."""
    yield b"{\n"
    for key, value in metadata.items():
        text = f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=True)},\n"
        yield text.encode("ascii")
    yield b'"traceEvents": [\n'
    mark = b""
    for event in events:
        yield mark + event
        mark = b",\n"
    yield b"\n]}\n"


def events_of(
    opened: Opened, contents: Contents, texts: Iterable[tuple[int, bytes]]
) -> Iterator[bytes]:
    """The events given by ``texts`` by row of the file, each followed by the arrows it ends."""
    slices = opened.timeline.slices
    raw = slices.raw[contents.slices]
    order = np.argsort(raw)
    raw, ids = raw[order], contents.slices[order]
    arrows = _Arrows(opened.timeline.flows, contents.flows)
    for row, text in texts:
        at = _place(raw, row)
        one = int(ids[at]) if at < len(raw) and raw[at] == row else -1
        if one < 0 or (_WHOLE.search(text, 0, 400) and not arrows.touch(one)):
            yield text
            continue
        event = decode_strict(text)
        whole = event.get("ph") == "X"
        yield text if whole else _complete(event, int(slices.dur[one]))
        yield from arrows.at(one, event)


def _complete(event: Mapping[str, Any], dur: int) -> bytes:
    """A range that the file writes as two events, written as one."""
    length = NumberText(f"{dur // 1000}.{dur % 1000:03d}")
    return json_text({**event, "ph": "X", "dur": length}).encode("utf-8", "replace")


def _place(ascending: I32, number: int) -> int:
    """The index of a number, or the index where it would be inserted."""
    # Of the type of the column: else numpy would convert all of it, each time.
    return int(ascending.searchsorted(ascending.dtype.type(number)))


class _Arrows:
    """Arrows between slices, each written when its second end is reached.

    In memory are the ends that wait for another one; of the rest there are columns.
    """

    def __init__(self, flows: SliceFlows, rows: I64) -> None:
        self._flows = flows
        ends = np.concatenate([flows.source[rows], flows.target[rows]])
        order = np.argsort(ends, kind="stable")
        self._ends = ends[order]  # slices, ascending; each is the end of an arrow
        self._arrow = np.concatenate([rows, rows])[order]
        self._waiting: dict[int, tuple[Mapping[str, Any], int]] = {}  # end → place, arrows to come

    def touch(self, one: int) -> bool:
        """True if an arrow begins or ends at a slice."""
        at = _place(self._ends, one)
        return at < len(self._ends) and bool(self._ends[at] == one)

    def at(self, one: int, event: Mapping[str, Any]) -> Iterator[bytes]:
        """The arrows whose other end was reached before."""
        place = {key: event[key] for key in ("pid", "tid", "ts") if key in event}
        low, high = _place(self._ends, one), _place(self._ends, one + 1)
        to_come = 0
        for arrow in self._arrow[low:high].tolist():
            source, target = int(self._flows.source[arrow]), int(self._flows.target[arrow])
            other = target if one == source else source
            if other not in self._waiting:
                to_come += 1
                continue
            begin, end = (place, self._taken(other))[:: 1 if one == source else -1]
            kind = FlowKind(self._flows.kind[arrow])
            name = _FLOWS[kind]
            # torch tells dependencies from launches by their numbers.
            first = FIRST_DEPENDENCY if kind == FlowKind.DEPENDENCY else 1
            common = {"cat": name, "name": name, "id": first + arrow}
            yield json_text({"ph": "s", **common, **begin}).encode("utf-8", "replace")
            yield json_text({"ph": "f", "bp": "e", **common, **end}).encode("utf-8", "replace")
        if to_come:
            self._waiting[one] = (place, to_come)

    def _taken(self, other: int) -> Mapping[str, Any]:
        """The place of the other end, which was reached before."""
        place, to_come = self._waiting.pop(other)
        if to_come > 1:
            self._waiting[other] = (place, to_come - 1)
        return place
