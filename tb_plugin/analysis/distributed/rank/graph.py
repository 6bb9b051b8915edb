"""On what did each collective of a rank wait, and how much of its own work lay between?

The events of a rank are walked in time order. Each becomes a point that comes as long after its
latest predecessor as it was recorded (its *slack*); junctions are kept, with the longest way
between them that meets no other:

* host order: the threads that issue work, merged (main waits while backward launches);
* launch → start on the device; order on a stream; start → end;
* the last work launched before a collective → its arrival;
* release → the next work on its stream, and the first work launched after a wait of a stream;
* work that is waited for → the return of the blocking call;
* on a host back end: call → range on a worker thread, release → end of the callers' gap around it.

Only what is causal in the recording is an edge. The heaviest event of each way is kept by name.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct, field

from ....base.arrays import I32, I64, of_names
from ....base.intervals import EMPTY, Intervals, complement
from ....base.regex import regex
from ....trace.model import DeviceClass, HostKind, Link, Trace
from ...host_activity import Hosts
from ...idle.places import is_own_frame
from ...steps import Windows
from ..model import Edges, Junction, Junctions, WorkPart
from .calls import Call

MOST_SOURCES = 8
"""Ways to one point that are kept: those that reach furthest in the recording."""
WAIT_NS = 150_000
"""Calling threads without an op for so long are waiting, or run code that is not recorded."""
LATE_RANGE_NS = 1_500_000
"""So much later than its waiter a range of gloo may end."""
_TOLERANCE_NS = 2_000  # clocks of host and device; whole-microsecond files
_STREAM_WAIT = regex(r"StreamWaitEvent")
_COLLECTIVE_OP = regex(r"^(c10d|_?c10d_functional(_autograd)?)::|^(nccl|xccl|hccl):")

_PARTS = len(WorkPart)
_NO_PARTS = (0,) * _PARTS


class _Way(NamedTuple):
    """The longest way from a junction to a point: its length, of what, and its heaviest event."""

    ns: int
    parts: tuple[int, ...]
    heaviest_ns: int
    heaviest: tuple[int, int, int]  # (device row, −1, −1) or (−1, start, end) of host time


_START = _Way(0, _NO_PARTS, 0, (-1, -1, -1))


class _Point(Struct):
    """A point of time, with the ways to it; a junction has the one way from itself."""

    time: int
    ways: dict[int, _Way]


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
        self, time: int, before: Iterable[_Point | None], work: WorkPart, device: int
    ) -> _Point:
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
        self, low: int, high: int, work: WorkPart, device: int
    ) -> tuple[tuple[int, ...], tuple[int, int, int]]:
        parts = [0] * _PARTS
        parts[work] = high - low
        if work is WorkPart.HOST and high > low and self._loader_start:
            loading = self._loading_before(high) - self._loading_before(low)
            parts[WorkPart.HOST] -= loading
            parts[WorkPart.LOADER] += loading
        return tuple(parts), (device, -1, -1) if device >= 0 else (-1, low, high)

    def _loading_before(self, at: int) -> int:
        """Time in the DataLoader before an instant."""
        row = bisect_right(self._loader_start, at)
        beyond = max(self._loader_end[row - 1] - at, 0) if row else 0
        return int(self._loaded[row]) - beyond

    def keep(self, point: _Point, kind: Junction, call: int = -1, step: int = -1) -> _Point:
        """Makes a junction of a point: the ways to it become edges."""
        number = len(self.kept.kind)
        self.kept.kind.append(kind)
        self.kept.step.append(int(self.step_of[call]) if call >= 0 else step)
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


# --- a rank with a device -------------------------------------------------------------------------


def build_graph(
    trace: Trace,
    hosts: Hosts,
    windows: Windows,
    calls: Sequence[Call],
    code: Callable[[str], int],
) -> Graph:
    """The graph of the steps of a rank; ``calls`` in the order of their arrival."""
    builder = GraphBuilder(trace, hosts, windows, calls, code)
    if not len(windows) or not calls:
        return builder.result("there are no collectives to replay")
    if any(call.device_rows for call in calls):
        return _DeviceWalk(builder).run()
    return _HostWalk(builder).run()


# What happens at an instant, in this order where several do: what ends first lets others begin.
_STEP, _ENDS, _RETURNS, _CALLS, _BEGINS, _ENDS_AT_ONCE, _HOST_END, _STEP_END = range(8)


def _step_events(windows: Windows) -> list[tuple[int, int, int]]:
    """The starts and ends of the steps: as the host saw them, and with their device work."""
    events = []
    for step in range(len(windows)):
        host_start, host_end = int(windows.host_start[step]), int(windows.host_end[step])
        end = int(windows.end[step])
        events.append((host_start, _STEP, step))
        events.append((max(min(host_end, end), host_start), _HOST_END, step))
        events.append((max(end, host_start), _STEP_END, step))
    return events


def steps_of(windows: Windows, at: Sequence[int]) -> I32:
    """The step in which the host was at each instant, −1 outside."""
    times = np.array(at, np.int64)
    if not len(windows):
        return np.full(len(times), -1, np.int32)
    found = np.searchsorted(windows.host_start, times, side="right") - 1
    inside = (found >= 0) & (times <= windows.end[np.maximum(found, 0)])
    return np.where(inside, found, -1).astype(np.int32)


class _DeviceWalk:
    """Launches, blocking calls and device work in the order of time."""

    def __init__(self, builder: GraphBuilder) -> None:
        self.b = builder
        self.trace = builder.trace
        device = self.trace.device
        self.device_end = device.end
        self.call_of = np.full(len(device), -1, np.int32)
        for number, call in enumerate(builder.calls):
            self.call_of[list(call.device_rows)] = number
        self.launch_ts = np.where(
            device.launch >= 0, self.trace.host.ts[np.maximum(device.launch, 0)], -1
        )
        self.last_work = self._last_work()
        self.resumes = self._resumes()
        self.awaited = self._awaited()
        self.running = {number: len(call.device_rows) for number, call in enumerate(builder.calls)}
        self.on_stream: dict[int, _Point] = {}
        self.begun: dict[int, _Point] = {}  # by row of DeviceTable
        self.ended: dict[int, _Point] = {}
        self.arrived: dict[int, _Point] = {}  # by collective
        self.released: dict[int, _Point] = {}

    def run(self) -> Graph:
        b, device, host = self.b, self.trace.device, self.trace.host
        low, high = int(b.windows.host_start[0]), int(b.windows.end[-1])
        rows = np.flatnonzero((device.ts >= low) & (device.ts <= high))
        launches = np.unique(device.launch[rows])
        launches = launches[launches >= 0]
        launches = launches[host.ts[launches] >= low]
        events: list[tuple[int, int, int]] = []
        for row in rows.tolist():
            events.append((int(device.ts[row]), _BEGINS, row))
            end = int(self.device_end[row])
            events.append((end, _ENDS if device.dur[row] else _ENDS_AT_ONCE, row))
        events.extend((int(host.ts[row]), _CALLS, row) for row in launches.tolist())
        events.extend(
            (int(host.ts[row] + host.dur[row]), _RETURNS, row)
            for row in self.awaited
            if low <= host.ts[row] and host.ts[row] + host.dur[row] <= high
        )
        return self._walk(sorted([*events, *_step_events(b.windows)]))

    def _walk(self, events: Sequence[tuple[int, int, int]]) -> Graph:
        b, device = self.b, self.trace.device
        ready_of = {int(row): call for call, row in self.last_work.items()}
        issue_of = {int(call.caller): number for number, call in enumerate(b.calls)}
        host: _Point | None = None
        host_end: dict[int, _Point] = {}
        launched: dict[int, _Point] = {}
        for time, what, row in events:
            if what == _STEP:
                before = (host, *self.on_stream.values())
                host = b.keep(
                    b.point(time, before, WorkPart.HOST, -1), Junction.STEP_START, step=row
                )
            elif what == _HOST_END:
                host = host_end[row] = b.point(time, (host,), WorkPart.HOST, -1)
            elif what == _STEP_END:
                before = (host_end[row], *self.on_stream.values())
                b.keep(b.point(time, before, WorkPart.HOST, -1), Junction.STEP_END, step=row)
            elif what == _CALLS:
                host = b.point(time, (host,), WorkPart.HOST, -1)
                if (call := issue_of.get(row)) is not None:
                    host = b.keep(host, Junction.ISSUE, call)
                launched[row] = host
            elif what == _RETURNS:
                before = (host, self.ended.get(self.awaited[row]))
                host = b.point(time, before, WorkPart.BLOCKED, -1)
            elif what == _BEGINS:
                before = (
                    launched.get(int(device.launch[row])),
                    self.on_stream.get(int(device.stream[row])),
                )
                self._begin(time, row, before, host)
            else:
                self._end(time, row, ready_of)
        return b.result(self._refused())

    def _begin(
        self, time: int, row: int, before: tuple[_Point | None, ...], host: _Point | None
    ) -> None:
        """Work begins; what no other point leads to was launched at an unknown time."""
        b, number = self.b, int(self.call_of[row])
        if number >= 0 and number in self.arrived:
            self.begun[row] = self.arrived[number]
            return
        before += tuple(self.released.get(one) for one in self.resumes.get(row, ()))
        if number >= 0:
            before += (self.ended.get(self.last_work.get(number, -1)),)
        known = before if any(one is not None for one in before) else (host,)
        point = b.point(time, known, WorkPart.LATENCY, row)
        if number >= 0:
            point = self.arrived[number] = b.keep(point, Junction.ARRIVAL, number)
        self.begun[row] = point

    def _end(self, time: int, row: int, ready_of: Mapping[int, int]) -> None:
        """Work has ended: a collective is over with its last kernel."""
        b, device = self.b, self.trace.device
        if row not in self.begun:
            return
        number = int(self.call_of[row])
        if number < 0:
            copy = device.klass[row] == DeviceClass.COPY
            work = WorkPart.COPIES if copy else WorkPart.KERNELS
            point = b.point(time, (self.begun[row],), work, row)
            if (call := ready_of.get(row)) is not None:
                point = b.keep(point, Junction.READY, call)
        else:
            self.running[number] -= 1
            if self.running[number]:
                return
            point = self.released[number] = b.keep(_Point(time, {}), Junction.RELEASE, number)
        self.ended[row] = self.on_stream[int(device.stream[row])] = point

    def _last_work(self) -> dict[int, int]:
        """For each collective the last work launched before it, where it had ended by then."""
        others = np.flatnonzero((self.call_of < 0) & (self.launch_ts >= 0))
        others = others[np.argsort(self.launch_ts[others], kind="stable")]
        result = {}
        for number, call in enumerate(self.b.calls):
            at = int(np.searchsorted(self.launch_ts[others], call.issue)) - 1
            if at >= 0 and self.device_end[others[at]] <= call.arrival + _TOLERANCE_NS:
                result[number] = int(others[at])
        return result

    def _resumes(self) -> dict[int, list[int]]:
        """Work that goes on after a wait of its stream → the collective it waited for."""
        # Waits inside the op of a collective are its own stream waiting for compute.
        host, device, b = self.trace.host, self.trace.device, self.b
        waits = of_names(
            self.trace.strings,
            host.name,
            lambda text: _STREAM_WAIT.search(text) is not None,
            np.bool_,
        )
        inside = of_names(
            self.trace.strings,
            host.name,
            lambda text: _COLLECTIVE_OP.match(text) is not None,
            np.bool_,
        )
        rows = np.flatnonzero(waits & (host.kind == HostKind.RUNTIME))
        rows = np.array([row for row in rows.tolist() if not _below(host.parent, inside, row)])
        others = np.flatnonzero((self.call_of < 0) & (self.launch_ts >= 0))
        if not len(rows) or not len(others):
            return {}
        issue = np.array([call.issue for call in b.calls], np.int64)
        release = np.array([call.release for call in b.calls], np.int64)
        result: dict[int, list[int]] = {}
        for stream in np.unique(device.stream[others]).tolist():
            here = others[device.stream[others] == stream]
            here = here[np.argsort(self.launch_ts[here], kind="stable")]
            first = np.searchsorted(self.launch_ts[here], host.ts[rows])
            for wait, at in zip(rows.tolist(), first.tolist(), strict=True):
                if at == len(here):
                    continue
                row = int(here[at])
                fits = np.flatnonzero(
                    (issue <= host.ts[wait]) & (release <= device.ts[row] + _TOLERANCE_NS)
                )
                if len(fits):
                    last = int(fits[np.argmax(release[fits])])
                    if last not in result.setdefault(row, []):
                        result[row].append(last)
        return result

    def _awaited(self) -> dict[int, int]:
        """Blocking call → the device work it returned after, the last that had ended by then."""
        host, device = self.trace.host, self.trace.device
        blocking = np.flatnonzero(self.b.hosts.blocking)
        if not len(blocking):
            return {}
        order = np.argsort(self.device_end, kind="stable")
        ends = self.device_end[order]
        result = {}
        for row in blocking.tolist():
            begin, back = int(host.ts[row]), int(host.ts[row] + host.dur[row])
            high = int(np.searchsorted(ends, back + _TOLERANCE_NS, side="right"))
            low = int(np.searchsorted(ends, begin, side="left"))
            candidates = order[low:high]
            fits = candidates[
                (self.launch_ts[candidates] <= begin) | (device.launch[candidates] == row)
            ]
            if len(fits):
                result[row] = int(fits[-1])
        return result

    def _refused(self) -> str:
        device = self.trace.device
        rows = np.flatnonzero(self.call_of >= 0)
        if (device.link[rows] == Link.GRAPH).any():
            return "collectives run inside replayed graphs, whose order on the host is not recorded"
        return ""


def _below(parent: np.ndarray, marked: np.ndarray, row: int) -> bool:
    at = int(parent[row])
    while at >= 0:
        if marked[at]:
            return True
        at = int(parent[at])
    return False


# --- a rank whose back end works on the host -----------------------------------------------------


class _HostWalk:
    """Calls, waits of the calling threads and ranges of the back end in the order of time."""

    def __init__(self, builder: GraphBuilder) -> None:
        self.b = builder
        self.trace = builder.trace
        host = self.trace.host
        callers = {int(host.thread[call.caller]) for call in builder.calls if call.caller >= 0}
        if builder.hosts.main >= 0:
            callers.add(builder.hosts.main)
        self.callers = callers
        self.gaps = self._gaps()
        self.waits = self._waits()

    def run(self) -> Graph:
        b = self.b
        low, high = int(b.windows.host_start[0]), int(b.windows.end[-1])
        events = _step_events(b.windows)
        for number, call in enumerate(b.calls):
            if low <= call.issue <= high:
                release = int(b.release[number])
                events.append((call.issue, _CALLS, number))
                events.append((call.arrival, _BEGINS, number))
                at_once = release <= call.arrival
                events.append((release, _ENDS_AT_ONCE if at_once else _ENDS, number))
        events.extend((back, _RETURNS, at) for at, (_, back, _) in enumerate(self.waits))
        host: _Point | None = None
        host_end: dict[int, _Point] = {}
        on_thread: dict[int, _Point] = {}
        issued: dict[int, _Point] = {}
        released: dict[int, _Point] = {}
        for time, what, row in sorted(events):
            if what == _STEP:
                host = b.keep(
                    b.point(time, (host,), WorkPart.HOST, -1), Junction.STEP_START, step=row
                )
            elif what == _HOST_END:
                host = host_end[row] = b.point(time, (host,), WorkPart.HOST, -1)
            elif what == _STEP_END:
                point = b.point(time, (host_end[row],), WorkPart.HOST, -1)
                b.keep(point, Junction.STEP_END, step=row)
            elif what == _CALLS:
                host = issued[row] = b.keep(
                    b.point(time, (host,), WorkPart.HOST, -1), Junction.ISSUE, row
                )
            elif what == _RETURNS:
                before = (host, *(released.get(one) for one in self.waits[row][2]))
                host = b.point(time, before, WorkPart.HOST, -1)
            elif what == _BEGINS:
                thread = self._thread(row)
                point = b.point(time, (issued[row], on_thread.get(thread)), WorkPart.QUEUE, -1)
                on_thread[thread] = b.keep(point, Junction.ARRIVAL, row)
                host = on_thread[thread] if thread in self.callers else host
            elif row in issued:
                thread = self._thread(row)
                released[row] = on_thread[thread] = b.keep(_Point(time, {}), Junction.RELEASE, row)
                host = released[row] if thread in self.callers else host
        return b.result("")

    def _thread(self, number: int) -> int:
        return int(self.trace.host.thread[self.b.calls[number].host])

    def _gaps(self) -> Intervals:
        """When no op ran on the threads that call collectives."""
        hosts, b = self.b.hosts, self.b
        working = hosts.ranges(hosts.op & ~hosts.collective, sorted(self.callers))
        if not len(working):
            return EMPTY
        return complement(working, int(b.windows.start[0]), int(b.windows.end[-1]))

    def _waits(self) -> list[tuple[int, int, tuple[int, ...]]]:
        """Gaps in which the callers waited: from, to, and for which collectives.

        A gap holds the release of a collective issued before it. The caller may wake up late: what
        follows the release is its own work. A range may end later than its waiter went on.
        """
        calls, release = self.b.calls, self.b.release
        result = []
        for low, high in zip(self.gaps.start.tolist(), self.gaps.end.tolist(), strict=True):
            if high - low < WAIT_NS:
                continue
            inside = [
                number
                for number, call in enumerate(calls)
                if low < release[number] <= high and call.issue < release[number]
                and self._thread(number) not in self.callers
            ]  # fmt: skip
            late = [
                number
                for number, call in enumerate(calls)
                if high < release[number] <= high + LATE_RANGE_NS and call.issue <= low
            ]
            if late and not inside:
                for number in late[:1]:
                    release[number] = high
                inside = late[:1]
            if inside:
                result.append((low, high, tuple(inside)))
        return result
