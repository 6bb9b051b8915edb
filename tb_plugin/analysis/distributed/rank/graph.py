"""Waits of each collective of a rank, and the work of that rank between them.

The events of a rank are walked in time order. Each becomes a point that comes as long after its
latest predecessor as it was recorded (its *slack*); junctions are kept, with the longest way
between them that meets no other:

* host order: the threads that issue work, merged (main waits while backward launches);
* launch → start on the device; order on a stream; start → end;
* the last work launched before a collective → its arrival;
* release → the next work on its stream, the first work launched after a wait of a stream, and what
  begins within 10 µs behind it and more than 2 µs behind all else that it is known to wait for;
* work that is waited for → the return of the blocking call;
* on a host back end: call → range on a worker thread, release → end of the callers' gap around it.

Only what is causal in the recording is an edge. The heaviest event of each way is kept by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import repeat

import numpy as np

from ....base.arrays import I64, of_names
from ....base.intervals import EMPTY, Intervals, complement
from ....base.regex import regex
from ....trace.model import DeviceClass, HostKind, Link, Trace
from ...host_activity import Hosts
from ...steps import Windows
from ..model import Junction, WorkPart
from .calls import Call
from .exposure import working_ops
from .points import Graph, GraphBuilder, Point

WAIT_NS = 150_000
"""Calling threads without an op for so long are waiting, or run code that is not recorded."""
LATE_RANGE_NS = 1_500_000
"""So much later than its waiter a range of gloo may end."""
_TOLERANCE_NS = 2_000  # clocks of host and device; whole-microsecond files
_FOLLOWS_NS = 10_000
"""Longest time from a release to the work that waited for it, recorded or not."""
_STREAM_WAIT = regex(r"StreamWaitEvent")
# To look up a member of an enum takes as long as to make a point.
_HOST, _BLOCKED, _LATENCY = WorkPart.HOST, WorkPart.BLOCKED, WorkPart.LATENCY
_KERNELS, _COPIES, _QUEUE = WorkPart.KERNELS, WorkPart.COPIES, WorkPart.QUEUE
_COPY = DeviceClass.COPY
_COLLECTIVE_OP = regex(r"^(c10d|_?c10d_functional(_autograd)?)::|^(nccl|xccl|hccl):")


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
        self.begin = self._begins()
        self.last_work = self._last_work()
        for number, row in self.last_work.items():
            mine = list(builder.calls[number].device_rows)
            end = np.full(len(mine), self.device_end[row])
            self.begin[mine] = _snapped(self.begin[mine], end, self.device_end[mine])
        self.resumes = self._resumes()
        self.awaited = self._awaited()
        self.running = {number: len(call.device_rows) for number, call in enumerate(builder.calls)}
        self.stream: list[int] = device.stream.tolist()
        self.is_copy: list[bool] = (device.klass == _COPY).tolist()
        self.number_of: list[int] = self.call_of.tolist()
        self.on_stream: dict[int, Point] = {}
        self.begun: dict[int, Point] = {}  # by row of DeviceTable
        self.ended: dict[int, Point] = {}
        self.arrived: dict[int, Point] = {}  # by collective
        self.released: dict[int, Point] = {}
        self.latest: Point | None = None  # release

    def run(self) -> Graph:
        b, device, host = self.b, self.trace.device, self.trace.host
        low, high = int(b.windows.host_start[0]), int(b.windows.end[-1])
        rows = np.flatnonzero((device.ts >= low) & (device.ts <= high))
        launches = np.unique(device.launch[rows])
        launches = launches[launches >= 0]
        launches = launches[host.ts[launches] >= low]
        begin, end = self.begin[rows], self.device_end[rows]
        ends = np.where(end > begin, _ENDS, _ENDS_AT_ONCE)
        events: list[tuple[int, int, int]] = [
            *zip(begin.tolist(), repeat(_BEGINS), rows.tolist()),
            *zip(end.tolist(), ends.tolist(), rows.tolist(), strict=True),
            *zip(host.ts[launches].tolist(), repeat(_CALLS), launches.tolist()),
        ]
        events.extend(
            (int(host.ts[row] + host.dur[row]), _RETURNS, row)
            for row in self.awaited
            if low <= host.ts[row] and host.ts[row] + host.dur[row] <= high
        )
        return self._walk(sorted([*events, *_step_events(b.windows)]))

    def _walk(self, events: Sequence[tuple[int, int, int]]) -> Graph:
        b = self.b
        ready_of = {int(row): call for call, row in self.last_work.items()}
        issue_of = {int(call.caller): number for number, call in enumerate(b.calls)}
        host: Point | None = None
        host_end: dict[int, Point] = {}
        launched: dict[int, Point] = {}
        launch: list[int] = self.trace.device.launch.tolist()
        for time, what, row in events:
            if what == _STEP:
                before = (host, *self.on_stream.values())
                host = b.keep(b.point(time, before, _HOST, -1), Junction.STEP_START, step=row)
            elif what == _HOST_END:
                host = host_end[row] = b.point(time, (host,), _HOST, -1)
            elif what == _STEP_END:
                before = (host_end[row], *self.on_stream.values())
                b.keep(b.point(time, before, _HOST, -1), Junction.STEP_END, step=row)
            elif what == _CALLS:
                host = b.point(time, (host,), _HOST, -1)
                if (call := issue_of.get(row)) is not None:
                    host = b.keep(host, Junction.ISSUE, call)
                launched[row] = host
            elif what == _RETURNS:
                before = (host, self.ended.get(self.awaited[row]))
                host = b.point(time, before, _BLOCKED, -1)
            elif what == _BEGINS:
                before = (
                    launched.get(launch[row]),
                    self.on_stream.get(self.stream[row]),
                )
                self._begin(time, row, before, host)
            else:
                self._end(time, row, ready_of)
        return b.result(self._refused())

    def _begin(
        self, time: int, row: int, before: tuple[Point | None, ...], host: Point | None
    ) -> None:
        """Work begins; what no other point leads to was launched at an unknown time."""
        b, number = self.b, self.number_of[row]
        if number >= 0 and number in self.arrived:
            self.begun[row] = self.arrived[number]
            return
        if row in self.resumes:
            before += tuple(self.released.get(one) for one in self.resumes[row])
        if number >= 0:
            before += (self.ended.get(self.last_work.get(number, -1)),)
        latest = max((one.time for one in before if one is not None), default=-1)
        if self.latest is not None and time - self.latest.time <= _FOLLOWS_NS:
            before += (self.latest,) if self.latest.time > latest + _TOLERANCE_NS else ()
        known = before if any(one is not None for one in before) else (host,)
        point = b.point(time, known, _LATENCY, row)
        if number >= 0:
            point = self.arrived[number] = b.keep(point, Junction.ARRIVAL, number)
        self.begun[row] = point

    def _end(self, time: int, row: int, ready_of: Mapping[int, int]) -> None:
        """Work has ended: a collective is over with its last kernel."""
        b = self.b
        if row not in self.begun:
            return
        number = self.number_of[row]
        if number < 0:
            work = _COPIES if self.is_copy[row] else _KERNELS
            point = b.point(time, (self.begun[row],), work, row)
            if (call := ready_of.get(row)) is not None:
                point = b.keep(point, Junction.READY, call)
        else:
            self.running[number] -= 1
            if self.running[number]:
                return
            point = b.keep(Point(time, {}), Junction.RELEASE, number)
            self.released[number] = self.latest = point
        self.ended[row] = self.on_stream[self.stream[row]] = point

    def _begins(self) -> I64:
        """Begin of work: the end of earlier work that it overlaps by no more than clock error.

        That is earlier work of its stream, and collectives: spans that are written in whole or
        fractions of a microsecond overlap by rounding alone.
        """
        device = self.trace.device
        begin: I64 = device.ts.astype(np.int64)
        order = np.lexsort((device.ts, device.stream))
        same = np.diff(device.stream[order]) == 0
        before = np.where(same, self.device_end[order[:-1]], 0)
        later, ends = order[1:], np.sort(self.device_end[self.call_of >= 0])
        begin[later] = _snapped(begin[later], before, self.device_end[later])
        if len(ends):
            next_end = ends[np.minimum(np.searchsorted(ends, begin), len(ends) - 1)]
            return np.where(
                self.call_of < 0, _snapped(begin, next_end, self.device_end), begin
            ).astype(np.int64)
        return begin

    def _last_work(self) -> dict[int, int]:
        """For each collective the last work launched before it, where it had ended by then."""
        others = np.flatnonzero((self.call_of < 0) & (self.launch_ts >= 0))
        others = others[np.argsort(self.launch_ts[others], kind="stable")]
        issues = np.array([call.issue for call in self.b.calls], np.int64)
        before = np.searchsorted(self.launch_ts[others], issues) - 1
        result = {}
        for number, (call, at) in enumerate(zip(self.b.calls, before.tolist(), strict=True)):
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


def _snapped(begin: I64, end: I64, own_end: I64) -> I64:
    """``begin``, or ``end`` where that is no more than the tolerance later."""
    near = (end > begin) & (end <= begin + _TOLERANCE_NS) & (end <= own_end)
    return np.where(near, end, begin).astype(np.int64)


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
        free: dict[int, int] = {}  # thread → when its last range ended
        for number, call in enumerate(b.calls):
            if low <= call.issue <= high:
                release, thread = int(b.release[number]), self._thread(number)
                ended = free.get(thread, 0)
                near = call.arrival < ended <= call.arrival + _TOLERANCE_NS
                begin = min(ended, release) if near else call.arrival
                free[thread] = max(ended, release)
                events.append((call.issue, _CALLS, number))
                events.append((begin, _BEGINS, number))
                at_once = release <= begin
                events.append((release, _ENDS_AT_ONCE if at_once else _ENDS, number))
        events.extend((back, _RETURNS, at) for at, (_, back, _) in enumerate(self.waits))
        host: Point | None = None
        host_end: dict[int, Point] = {}
        on_thread: dict[int, Point] = {}
        issued: dict[int, Point] = {}
        released: dict[int, Point] = {}
        for time, what, row in sorted(events):
            if what == _STEP:
                host = b.keep(b.point(time, (host,), _HOST, -1), Junction.STEP_START, step=row)
            elif what == _HOST_END:
                host = host_end[row] = b.point(time, (host,), _HOST, -1)
            elif what == _STEP_END:
                point = b.point(time, (host_end[row],), _HOST, -1)
                b.keep(point, Junction.STEP_END, step=row)
            elif what == _CALLS:
                host = issued[row] = b.keep(b.point(time, (host,), _HOST, -1), Junction.ISSUE, row)
            elif what == _RETURNS:
                before = (host, *(released.get(one) for one in self.waits[row][2]))
                host = b.point(time, before, _HOST, -1)
            elif what == _BEGINS:
                thread = self._thread(row)
                point = b.point(time, (issued[row], on_thread.get(thread)), _QUEUE, -1)
                on_thread[thread] = b.keep(point, Junction.ARRIVAL, row)
                host = on_thread[thread] if thread in self.callers else host
            elif row in issued:
                thread = self._thread(row)
                released[row] = on_thread[thread] = b.keep(Point(time, {}), Junction.RELEASE, row)
                host = released[row] if thread in self.callers else host
        return b.result("")

    def _thread(self, number: int) -> int:
        return int(self.trace.host.thread[self.b.calls[number].host])

    def _gaps(self) -> Intervals:
        """When no op ran on the threads that call collectives."""
        hosts, b = self.b.hosts, self.b
        works = working_ops(self.trace, hosts)
        working = hosts.ranges(works, sorted(self.callers))
        if not len(working):
            return EMPTY
        return complement(working, int(b.windows.start[0]), int(b.windows.end[-1]))

    def _waits(self) -> list[tuple[int, int, tuple[int, ...]]]:
        """Gaps in which the callers waited: from, to, and for which collectives.

        A gap holds the release of a collective issued before it, and ends with the next call: who
        waits for each of several collectives waits between two calls. The caller may wake up late:
        what follows the release is its own work. A range may end later than its waiter went on.
        """
        calls, release = self.b.calls, self.b.release
        issues = np.unique(np.array([call.issue for call in calls], np.int64))
        result = []
        for low, high in _cut(self.gaps, issues):
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
                if high < release[number] <= high + LATE_RANGE_NS
                and call.issue <= low
                and call.arrival < high
            ]
            if late and not inside:
                for number in late[:1]:
                    release[number] = high
                inside = late[:1]
            if inside:
                result.append((low, high, tuple(inside)))
        return result


def _cut(gaps: Intervals, at: I64) -> list[tuple[int, int]]:
    """The gaps in pieces that hold none of the instants (ascending) inside."""
    result = []
    for low, high in zip(gaps.start.tolist(), gaps.end.tolist(), strict=True):
        inside = at[np.searchsorted(at, low, "right") : np.searchsorted(at, high)].tolist()
        result += list(zip([low, *inside], [*inside, high], strict=True))
    return result
