"""On what did each collective of a rank wait, and how much of its own work lay between?

The events of a rank are walked in the order of time. Each becomes a point that comes as long after
its latest predecessor as it did in the recording (its *slack*); the points that matter are kept as
junctions, with the longest way between them that meets no other:

* host order: the threads that issue work, merged in the order of time, as the main thread waits
  while the backward thread launches;
* launch → start on the device; order on a stream; start → end;
* the last work launched before a collective → its arrival;
* release → the next work on its stream, and the first work launched after a wait of a stream;
* work that is waited for → the return of the blocking call;
* on a host back end: call → range on a worker thread, and release → the end of the gap of the
  calling threads that holds it.

Only what is causal in the recording is an edge. Longest ways are kept per source, the heaviest
event of each by name, so that what a rank did too long can be said in words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ...base.arrays import I64, of_names
from ...base.intervals import EMPTY, Intervals, complement, length_within, union
from ...trace.model import DeviceClass, HostKind, Link, Trace
from ..host_activity import Hosts
from ..steps import Windows
from .calls import Call
from .model import Edges, Junction, Junctions, Work

MOST_SOURCES = 8
"""Ways to one point that are kept: those that reach furthest in the recording."""
WAIT_NS = 150_000
"""Calling threads without an op for so long are waiting, or run code that is not recorded."""
LATE_RANGE_NS = 1_500_000
"""So much later than its waiter a range of gloo may end."""
WAKE_UP_NS = 3_000_000
"""So long after a release a thread that waited for it goes on at the latest."""
_TOLERANCE_NS = 2_000  # clocks of host and device; whole-microsecond files
_STREAM_WAIT = re.compile(r"StreamWaitEvent")
_COLLECTIVE_OP = re.compile(r"^(c10d|_?c10d_functional(_autograd)?)::|^(nccl|xccl|hccl):")

_PARTS = len(Work)
_NO_PARTS = (0,) * _PARTS


class _Way(NamedTuple):
    """The longest way from a junction to a point: its length, of what, and its heaviest event."""

    ns: int
    parts: tuple[int, ...]
    heaviest_ns: int
    heaviest: tuple[int, int, int]  # (device row, −1, −1) or (−1, start, end) of host time


_START = _Way(0, _NO_PARTS, 0, (-1, -1, -1))


@dataclass(slots=True)
class _Point:
    """A point of time, with the ways to it; a junction has the one way from itself."""

    time: int
    ways: dict[int, _Way]


@dataclass(slots=True)
class _Kept:
    kind: list[int] = field(default_factory=list)
    step: list[int] = field(default_factory=list)
    call: list[int] = field(default_factory=list)
    time: list[int] = field(default_factory=list)
    source: list[int] = field(default_factory=list)
    target: list[int] = field(default_factory=list)
    way: list[_Way] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Graph:
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
        code: _Codes,
    ) -> None:
        self.trace = trace
        self.hosts = hosts
        self.windows = windows
        self.calls = calls
        self.code = code
        self.kept = _Kept()
        self.release = np.array([one.release for one in calls], np.int64)
        self._loader = hosts.ranges(hosts.loader)
        self._step = 0

    # --- points -----------------------------------------------------------------------------------

    def _point(self, time: int, before: Iterable[_Point | None], work: Work, device: int) -> _Point:
        """A point after some others: its slack counts as ``work``."""
        known = [one for one in before if one is not None and one.time <= time]
        if not known:
            return _Point(time, {})
        latest = max(one.time for one in known)
        slack = time - latest
        parts, heaviest = self._parts(latest, time, work, device)
        ways: dict[int, _Way] = {}
        for one in known:
            for source, way in one.ways.items():
                best = ways.get(source)
                if best is None or way.ns > best.ns:
                    ways[source] = way
        if slack:
            ways = {
                source: _Way(
                    way.ns + slack,
                    tuple(map(int.__add__, way.parts, parts)),
                    *(
                        (slack, heaviest)
                        if slack > way.heaviest_ns
                        else (way.heaviest_ns, way.heaviest)
                    ),
                )
                for source, way in ways.items()
            }
        if len(ways) > MOST_SOURCES:
            reach = sorted(ways, key=lambda source: self.kept.time[source] + ways[source].ns)
            ways = {source: ways[source] for source in reach[-MOST_SOURCES:]}
        return _Point(time, ways)

    def _parts(
        self, low: int, high: int, work: Work, device: int
    ) -> tuple[tuple[int, ...], tuple[int, int, int]]:
        parts = [0] * _PARTS
        parts[work] = high - low
        if work is Work.HOST and high > low and len(self._loader):
            loading = int(length_within(self._loader, np.array([low]), np.array([high]))[0])
            parts[Work.HOST] -= loading
            parts[Work.LOADER] += loading
        return tuple(parts), (device, -1, -1) if device >= 0 else (-1, low, high)

    def _keep(self, point: _Point, kind: Junction, call: int) -> _Point:
        """Makes a junction of a point: the ways to it become edges."""
        number = len(self.kept.kind)
        self.kept.kind.append(kind)
        self.kept.step.append(self._step)
        self.kept.call.append(call)
        self.kept.time.append(point.time)
        for source, way in point.ways.items():
            self.kept.source.append(source)
            self.kept.target.append(number)
            self.kept.way.append(way)
        return _Point(point.time, {number: _START})

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
                parts=np.array([way.parts for way in kept.way], np.int64).reshape(-1, _PARTS),
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
        while row >= first and host.end[row] < middle:
            row = int(host.parent[row])
        if row < first or self.hosts.marker[row]:
            return -1
        return row

    def _frame(self, row: int) -> str:
        """The innermost Python frame around a host event that is the user's own, "" for none."""
        from ..idle.causes import is_own_frame  # noqa: PLC0415

        host = self.trace.host
        while row >= 0:
            if host.kind[row] == HostKind.PYTHON:
                name = self.trace.text(int(host.name[row]))
                if is_own_frame(name):
                    return name
            row = int(host.parent[row])
        return ""
