"""Points of time of a rank, and the longest ways between its junctions.

A point comes as long after its latest predecessor as it was recorded (its *slack*). Junctions are
kept, with the longest way between them that meets no other; the heaviest event of each way is kept
by name.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct, field

from ....base.arrays import I32, I64
from ....trace.model import HostKind, Trace
from ...host_activity import Hosts
from ...idle.places import is_own_frame
from ...steps import Windows
from ..model import Edges, Junction, Junctions, WorkPart
from .calls import Call

MOST_SOURCES = 8
"""Ways to one point that are kept: those that reach furthest in the recording."""

_PARTS = len(WorkPart)
_HOST, _LOADER = WorkPart.HOST.value, WorkPart.LOADER.value
_BITS = 64  # of each part in the sum of all: they are added as one number


class _Way(NamedTuple):
    """The longest way from a junction to a point: its length, of what, and its heaviest event."""

    ns: int
    parts: int  # Σ part · 2^(its number · _BITS)
    heaviest_ns: int
    heaviest: tuple[int, int, int]  # (device row, −1, −1) or (−1, start, end) of host time

    def then(self, more: _Way) -> _Way:
        """This way and another one behind it; of two events of one length the first stays."""
        heavier = more if more.heaviest_ns > self.heaviest_ns else self
        return _Way(
            self.ns + more.ns, self.parts + more.parts, heavier.heaviest_ns, heavier.heaviest
        )


_START = _Way(0, 0, 0, (-1, -1, -1))


class Point(Struct):
    """A point of time, with the ways to it; a junction has the one way from itself.

    All ways end with ``last``: most points follow a single one, and share its ways.
    """

    time: int
    ways: Mapping[int, _Way]
    last: _Way = _START


class _Kept(Struct):
    kind: list[int] = field(default_factory=list)
    step: list[int] = field(default_factory=list)
    call: list[int] = field(default_factory=list)
    time: list[int] = field(default_factory=list)
    source: list[int] = field(default_factory=list)
    target: list[int] = field(default_factory=list)
    way: list[_Way] = field(default_factory=list)


class Graph(Struct, frozen=True):
    """The junctions and edges of a rank, and when each collective was really over for it."""

    junctions: Junctions
    edges: Edges
    release: I64  # of each call: ``Call.release``, or the earlier instant its waiter went on
    refused: str  # why it cannot be replayed, "" where it can


class GraphBuilder:
    """Walks one trace. ``texts`` gives the code of a text in the digest."""

    def __init__(
        self,
        trace: Trace,
        hosts: Hosts,
        windows: Windows,
        calls: Sequence[Call],
        code: Callable[[str], int],
    ) -> None:
        self.trace = trace
        self.hosts = hosts
        self.windows = windows
        self.calls = calls
        self.code = code
        self.kept = _Kept()
        self.release = np.array([one.release for one in calls], np.int64)
        self.step_of = steps_of(windows, [one.issue for one in calls])
        loader = hosts.ranges(hosts.loader)
        self._loader_start: list[int] = loader.start.tolist()
        self._loader_end: list[int] = loader.end.tolist()
        self._loaded = [0, *np.cumsum(loader.end - loader.start).tolist()]

    # --- points -----------------------------------------------------------------------------------

    def point(
        self, time: int, before: Iterable[Point | None], work: WorkPart, device: int
    ) -> Point:
        """A point after some others: its slack counts as ``work``."""
        known = [one for one in before if one is not None and one.time <= time]
        if not known:
            return Point(time, {})
        ways, last = known[0].ways, known[0].last
        latest = known[0].time
        if len(known) > 1:
            latest = max(one.time for one in known)
            ways, last = self._longest(known), _START
        if time > latest:
            last = last.then(self._slack(latest, time, work, device))
        return Point(time, ways, last)

    def _longest(self, known: Sequence[Point]) -> Mapping[int, _Way]:
        """The longest way from each source to one of several points."""
        ways: dict[int, _Way] = {}
        for one in known:
            last = one.last
            for source, way in one.ways.items():
                best = ways.get(source)
                if best is None or way.ns + last.ns > best.ns:
                    ways[source] = way.then(last) if last.ns else way
        if len(ways) > MOST_SOURCES:
            reach = sorted(ways, key=lambda source: self.kept.time[source] + ways[source].ns)
            ways = {source: ways[source] for source in reach[-MOST_SOURCES:]}
        return ways

    def _slack(self, low: int, high: int, work: int, device: int) -> _Way:
        loading = 0
        if work == _HOST and self._loader_start:
            loading = self._loading_before(high) - self._loading_before(low)
        slack = high - low
        parts = (slack - loading << work * _BITS) + (loading << _LOADER * _BITS)
        return _Way(slack, parts, slack, (device, -1, -1) if device >= 0 else (-1, low, high))

    def _loading_before(self, at: int) -> int:
        """Time in the DataLoader before an instant."""
        row = bisect_right(self._loader_start, at)
        beyond = max(self._loader_end[row - 1] - at, 0) if row else 0
        return int(self._loaded[row]) - beyond

    def keep(self, point: Point, kind: Junction, call: int = -1, step: int = -1) -> Point:
        """Makes a junction of a point: the ways to it become edges."""
        number = len(self.kept.kind)
        self.kept.kind.append(kind)
        self.kept.step.append(int(self.step_of[call]) if call >= 0 else step)
        self.kept.call.append(call)
        self.kept.time.append(point.time)
        for source, way in point.ways.items():
            self.kept.source.append(source)
            self.kept.target.append(number)
            self.kept.way.append(way.then(point.last))
        return Point(point.time, {number: _START})

    # --- the result -------------------------------------------------------------------------------

    def result(self, refused: str) -> Graph:
        kept = self.kept
        names = [self._named(way) for way in kept.way]
        return Graph(
            Junctions(
                kind=np.array(kept.kind, np.int8),
                step=np.array(kept.step, np.int32),
                call=np.array(kept.call, np.int32),
                time_ns=np.array(kept.time, np.int64),
            ),
            Edges(
                source=np.array(kept.source, np.int32),
                target=np.array(kept.target, np.int32),
                weight_ns=np.array([way.ns for way in kept.way], np.int64),
                parts=np.array(list(map(_parts_of, kept.way)), np.int64).reshape(-1, _PARTS),
                op=np.array([op for op, _ in names], np.int32),
                line=np.array([line for _, line in names], np.int32),
                op_ns=np.array([way.heaviest_ns for way in kept.way], np.int64),
            ),
            self.release,
            refused,
        )

    def _named(self, way: _Way) -> tuple[int, int]:
        """The heaviest event of a way and the line that led to it, as codes of the digest."""
        device, low, high = way.heaviest
        if device >= 0:
            op = int(self.trace.device.op[device])
            name = self.trace.text(int(self.trace.device.name[device]))
            return self.code(name), self.code(self._frame(op))
        if low < 0:
            return self.code(""), self.code("")
        row = self._deepest(low, high)
        if row < 0:
            return self.code(""), self.code("")
        frame = self._frame(row)
        is_op = self.trace.host.kind[row] not in (HostKind.PYTHON, HostKind.MODULE)
        return self.code(self.trace.text(int(self.trace.host.name[row])) if is_op else ""), (
            self.code(frame)
        )

    def _deepest(self, low: int, high: int) -> int:
        """The innermost event of the step's thread in the middle of a stretch of time."""
        host, main = self.trace.host, self.hosts.main
        if main < 0:
            return -1
        middle = (low + high) // 2
        first, last = self.hosts.first[main : main + 2].tolist()
        row = int(np.searchsorted(host.ts[first:last], middle, side="right")) - 1 + first
        while row >= first and host.ts[row] + host.dur[row] < middle:
            row = int(host.parent[row])
        return -1 if row < first or self.hosts.marker[row] else int(row)

    def _frame(self, row: int) -> str:
        """The innermost Python frame around a host event that is the user's own, "" for none."""
        host = self.trace.host
        while row >= 0:
            if host.kind[row] == HostKind.PYTHON:
                name = self.trace.text(int(host.name[row]))
                if is_own_frame(name):
                    return name
            row = int(host.parent[row])
        return ""


def _parts_of(way: _Way) -> list[int]:
    return [way.parts >> part * _BITS & (1 << _BITS) - 1 for part in range(_PARTS)]


def steps_of(windows: Windows, at: Sequence[int]) -> I32:
    """The step in which the host was at each instant, −1 outside."""
    times = np.array(at, np.int64)
    if not len(windows):
        return np.full(len(times), -1, np.int32)
    found = np.searchsorted(windows.host_start, times, side="right") - 1
    inside = (found >= 0) & (times <= windows.end[np.maximum(found, 0)])
    return np.where(inside, found, -1).astype(np.int32)
