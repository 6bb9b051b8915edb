"""Which chain of work and waiting makes a step as long as it is? An exact tiling of the step.

A walk backwards, from the end of the step to its start. What ends last was released by something:
device work by what ran before it on its stream, by a dependency, or by its launch, whichever came
last; a thread by what it did before, or by the device or the thread that it waited for. So each
instant of the step belongs to one part of the path, and the parts sum to the step.

    thread   ├ op ──┤├ launch ┤                 ├ sync ───────────┤├ op ┤
    device                     ▒▒▒▒▒▒▒▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓
    path      op     launch  λ  kernel  kernel                 ↑ late return, op

It is *a* critical path: where two chains are nearly as long, shortening one does not shorten the
step. The ``slack`` of a part says by how much it can get shorter until another chain is the longer
one: the least that any release after it came before the next-best one.
Dependencies between streams are followed where they are recorded. Those that are only inferred, by
the order of calls or because a collective ends just before, can be left out.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ...base.arrays import I32, I64, Mask, distinct_values, is_among, is_any
from ...base.intervals import length_within
from ...trace.model import DeviceClass, Trace
from ..device_work import DeviceWork
from ..host_activity import HostRole, Hosts
from ..steps import Windows
from .dependencies import Dependencies
from .gaps import learn
from .model import CAUSE, PATH_CLASSES, PathParts
from .roles import HostCauses

_FIRST_CAUSE = len(PATH_CLASSES)
_NONE, _HOST, _DEVICE = -1, 0, 1
_STUCK = 10_000  # hops without progress, as among work of no length
_WIDTH = 8  # columns of a part in the walk
_SINGLE = 8  # parts of a thread in a row that are taken one by one …
_CHUNK = 2048  # … before they are taken together: events of a thread
_SILENT = tuple(_FIRST_CAUSE + CAUSE[name] for name in ("python", "uninstrumented"))
_FAR = np.iinfo(np.int64).max
_LOOK_BACK = 64  # device work looked at for what a blocking call waited for


def critical_path(
    trace: Trace, hosts: Hosts, windows: Windows, dependencies: Dependencies
) -> PathParts:
    """The critical path of each step; O(parts · log n)."""
    return _Walk(trace, hosts, windows, dependencies).parts()


class _Walk:
    """The walk; columns are read through memory views, whose items are plain integers."""

    def __init__(
        self, trace: Trace, hosts: Hosts, windows: Windows, dependencies: Dependencies
    ) -> None:
        self._trace, self._hosts, self._windows = trace, hosts, windows
        host, device = trace.host, trace.device
        self._ts, self._end = _view(host.ts), _view(host.ts + host.dur)
        self._parent, self._thread = _view(host.parent), _view(host.thread)
        self._first = hosts.first.tolist()
        ends = device.ts + device.dur
        self._dts, self._dend = _view(device.ts), _view(ends)
        self._launch, self._klass = _view(device.launch), _view(device.klass)
        order = np.argsort(ends, kind="stable")
        self._by_end, self._ends = _view(order), _view(ends[order])
        waits = _waiting(hosts)
        self._blocking, self._waits = _view(hosts.blocking), _view(waits)
        self._leaves = _Leaves(trace, hosts, (waits > 0) | hosts.blocking)
        self._copied = _view(_work_of_call(trace))
        learned = [learn(DeviceWork(trace, row)) for row in range(len(trace.devices))]
        of_stream = [learned[row] for row in trace.streams.device.tolist()]
        self._latency = [one.latency_ns for one in of_stream]
        self._stream = _view(device.stream)
        gap_ns = np.array([one.gap_ns for one in of_stream], np.int64)[device.stream]
        self._releases = _Releases.of(trace, dependencies, gap_ns)
        ops = np.bincount(host.thread[hosts.op], minlength=len(trace.threads))
        self._others = [t for t in np.flatnonzero(ops).tolist() if t != hosts.main]
        self._found = array("q")  # the columns of PathParts without the step, part after part
        self._blocks: list[I64] = []  # what was found before, shape (parts, 8)

    def parts(self) -> PathParts:
        windows = self._windows
        steps: list[I32] = []
        tables: list[I64] = [np.empty((0, _WIDTH), np.int64)]
        for step in range(len(windows)):
            low, high = int(windows.start[step]), int(windows.end[step])
            if high > low:
                self._walk(low, high)
                self._flush()
                tables.append(np.concatenate(self._blocks)[::-1])
                steps.append(np.full(len(tables[-1]), step, np.int32))
                self._blocks = []
                self._leaves.forget()
        start, end, kind, on, row, thread, slack, inferred = np.concatenate(tables).T
        kind = kind.copy()
        told = np.flatnonzero(kind == _NONE)  # by the event itself
        kind[told] = _FIRST_CAUSE + HostCauses(self._trace, self._hosts).of(row[told])
        if not len(self._trace.device):
            waits = is_any(kind, _SILENT) & self._under_way(start, end)
            kind[waits] = _FIRST_CAUSE + CAUSE["communication"]
        return PathParts(
            start.copy(),
            end.copy(),
            np.concatenate([np.zeros(0, np.int32), *steps]),
            kind.astype(np.int8),
            on.astype(np.int8),
            row.astype(np.int32),
            thread.astype(np.int32),
            slack.copy(),
            inferred.astype(np.int8),
        )

    def _under_way(self, start: I64, end: I64) -> Mask:
        """True for parts that collectives of any thread fill for the most part.

        Without a device the breakdown counts such time as communication, where no op runs.
        """
        hosts = self._hosts
        return 2 * length_within(hosts.ranges(hosts.collective), start, end) > end - start

    def _flush(self) -> None:
        """The path so far as a separate block."""
        self._blocks.append(np.array(self._found, np.int64).reshape(-1, _WIDTH))
        self._found = array("q")

    def _walk(self, low: int, high: int) -> None:
        """All parts of one step, the last first."""
        self._low, self._at = low, high
        self._slack, self._by_guess = -1, 0
        work = self._last_work(high)
        thread = self._hosts.main
        still = self._hops = 0
        while self._at > low:
            was = self._at
            if work >= 0:
                self._hops = 0
                work, thread = self._device(work)
            elif thread >= 0:
                work, thread = self._host(thread)
            else:
                self._emit(low, CAUSE["unattributed"] + _FIRST_CAUSE)
            still = still + 1 if self._at == was else 0
            if still > _STUCK:
                self._emit(low, CAUSE["unattributed"] + _FIRST_CAUSE)

    def _emit(
        self, start: int, kind: int, on: int = _NONE, row: int = -1, thread: int = -1
    ) -> None:
        """The part [start, now), as far as it lies in the step; then it is ``start``."""
        start = max(start, self._low)
        at = self._at
        if start < at:
            self._found.extend((start, at, kind, on, row, thread, self._slack, self._by_guess))
            self._at = start
            self._by_guess = 0

    def _limit(self, slack: int) -> None:
        """From here on backwards no part can gain more: then another chain is the longer one."""
        self._slack = slack if self._slack < 0 else min(self._slack, slack)

    def _last_work(self, at: int) -> int:
        """Device work that ends the step; −1 where the host does."""
        place = bisect_right(self._ends, at) - 1
        if place < 0 or self._ends[place] < at:
            return -1
        return self._by_end[place]

    # --- devices ----------------------------------------------------------------------------------

    def _device(self, work: int) -> tuple[int, int]:
        """One piece of device work, and what released it: (device row, thread)."""
        begin = self._dts[work]
        self._emit(begin, self._klass[work], _DEVICE, work)
        if self._at <= self._low:
            return -1, -1
        releases = self._releases
        if releases.slack[work] >= 0:
            self._limit(releases.slack[work])
        by = releases.by[work]
        if by >= 0:
            self._by_guess |= releases.inferred[work]
            self._emit(self._dend[by], releases.gap[work], _DEVICE, work)
            return by, -1
        call = self._launch[work]
        if call < 0:
            self._emit(self._low, _FIRST_CAUSE + CAUSE["before"], _DEVICE, work)
            return -1, -1
        thread = self._thread[call]
        usual = self._end[call] + self._latency[self._stream[work]]
        self._emit(usual, _FIRST_CAUSE + CAUSE["device_wait"], _DEVICE, work, thread)
        self._emit(self._end[call], _FIRST_CAUSE + CAUSE["latency"], _DEVICE, work, thread)
        self._emit(self._ts[call], _NONE, _HOST, call, thread)
        return -1, thread

    # --- threads ----------------------------------------------------------------------------------

    def _host(self, thread: int) -> tuple[int, int]:
        """The last event of a thread, and its release: (device row, thread)."""
        at = self._at
        row, start = self._leaf(thread, at)
        if row < 0:
            return self._nothing(thread, start)
        if self._blocking[row]:
            work = self._waited_for(row, start, at)
            if work >= 0:
                self._emit(self._dend[work], _FIRST_CAUSE + CAUSE["blocking"], _HOST, row, thread)
                self._limit(self._dend[work] - start)
                return work, -1
        if self._waits[row]:
            other, until = self._other(thread, start, at)
            if other >= 0:
                self._emit(until, _NONE, _HOST, row, thread)
                self._limit(until - start)
                return -1, other
        self._emit(start, _NONE, _HOST, row, thread)
        self._hops += 1
        if self._hops > _SINGLE and self._at > self._low:
            self._run(thread)
        return -1, thread

    def _run(self, thread: int) -> None:
        """Walk back along the thread to the last instant when another may have released it."""
        found = self._leaves.before(thread, self._low, self._at)
        if found is None:
            return
        start, row = found
        if len(row) < _SINGLE:
            self._hops = 0
        block = np.empty((len(row), _WIDTH), np.int64)
        block[:, 0], block[0, 1], block[1:, 1] = start, self._at, start[:-1]
        block[:, 2:] = (_NONE, _HOST, 0, thread, self._slack, 0)
        block[:, 4] = row
        block[0, 7] = self._by_guess
        self._flush()
        self._blocks.append(block)
        self._at, self._by_guess = int(start[-1]), 0

    def _nothing(self, thread: int, start: int) -> tuple[int, int]:
        """A thread recorded nothing since ``start``: another one may have handed over to it."""
        main = self._hosts.main
        kind = _FIRST_CAUSE + CAUSE["uninstrumented"]
        other, until = self._other(thread, start, self._at)
        if thread != main and main >= 0:
            row, since = self._leaf(main, self._at)
            if row >= 0 or since >= max(until, start):
                self._by_main(row, max(since, start, self._low), main)
                return -1, main if self._at <= max(since, self._low) else thread
        if other >= 0:
            self._emit(until, kind, thread=thread)
            return -1, other
        self._emit(start, kind, thread=thread)
        return -1, thread

    def _by_main(self, row: int, since: int, main: int) -> None:
        """The main thread's turn, as far back as the other thread recorded nothing."""
        if row >= 0:
            self._emit(since, _NONE, _HOST, row, main)
        else:
            self._emit(since, _FIRST_CAUSE + CAUSE["uninstrumented"], thread=main)

    def _leaf(self, thread: int, at: int) -> tuple[int, int]:
        """The innermost event open just before an instant, and since when; row −1: none was."""
        low = self._first[thread]
        row = bisect_left(self._ts, at, low, self._first[thread + 1]) - 1
        if row < low:
            return -1, self._low
        since = self._ts[row]
        while row >= 0 and self._end[row] < at:
            since = max(since, self._end[row])
            row = self._parent[row]
        return row, max(since, self._low)

    def _waited_for(self, call: int, start: int, at: int) -> int:
        """The device work whose end let a blocking call return; −1 where none ended in it."""
        copied = self._copied[call]
        if copied >= 0:
            return copied if start < self._dend[copied] <= at else -1
        place = bisect_right(self._ends, at) - 1
        for one in range(place, max(-1, place - _LOOK_BACK), -1):
            work = self._by_end[one]
            if self._dend[work] <= start:
                return -1
            launch = self._launch[work]
            if launch < 0 or self._ts[launch] < self._ts[call]:
                return work
        return -1

    def _other(self, thread: int, start: int, at: int) -> tuple[int, int]:
        """The thread of ops that ran last before an instant, and until when; −1: none did."""
        best, until = -1, start
        for other in self._others:
            if other == thread:
                continue
            row, since = self._leaf(other, at)
            last = at if row >= 0 else since
            if last > until:
                best, until = other, last
        return best, until


class _Releases(Struct, frozen=True):
    """By device row: what let it begin. The views are of plain integers."""

    by: memoryview  # the work before it; −1: its call, or nothing known
    gap: memoryview  # place in PATH_KINDS of the time between
    slack: memoryview  # ns by which the next-best release came earlier; −1: there is none
    inferred: memoryview

    @staticmethod
    def of(trace: Trace, found: Dependencies, gap_ns: I64) -> _Releases:
        """``gap_ns``: gap of each row's stream between two pieces of queued work."""
        device = trace.device
        begin, end = device.ts, device.ts + device.dur

        def ends(rows: I32) -> I64:
            return np.where(rows >= 0, np.minimum(end[rows], begin), -1)

        ahead, depends = ends(found.before), ends(found.on)
        called = np.full(len(begin), -1, np.int64)
        known = np.flatnonzero(device.launch >= 0)
        called[known] = trace.host.ts[device.launch[known]]
        work = np.maximum(ahead, depends)
        last = np.maximum(work, called)
        second = np.maximum(np.minimum(ahead, depends), np.minimum(work, called))
        by_work = (work >= called) & (work >= 0)
        by = np.where(ahead >= depends, found.before, found.on)
        gap = np.where(begin - end[by] <= gap_ns, CAUSE["kernel_gap"], CAUSE["device_wait"])
        gap[found.in_graph > 0] = CAUSE["graph"]
        return _Releases(
            _view(np.where(by_work, by, -1)),
            _view(_FIRST_CAUSE + gap),
            _view(np.where(second >= 0, last - second, -1)),
            _view(np.where(ahead < depends, found.inferred, 0)),
        )


class _Leaves:
    """Open event of each thread, from one edge of an event to the next; in chunks of events."""

    def __init__(self, trace: Trace, hosts: Hosts, stops: NDArray[np.bool_]) -> None:
        self._host, self._first, self._stops = trace.host, hosts.first.tolist(), stops
        self._chunks: dict[int, tuple[I64, I32, I32]] = {}

    def before(self, thread: int, low: int, at: int) -> tuple[I64, I32] | None:
        """From an instant back to another: when each event's turn began, and its row.

        It ends at events that others may have let return, at the begin of a chunk, and where the
        thread recorded nothing.
        """
        first, beyond = self._first[thread], self._first[thread + 1]
        row = first + int(np.searchsorted(self._host.ts[first:beyond], at)) - 1
        if row < first:
            return None
        begin = row - (row - first) % _CHUNK
        if begin not in self._chunks:
            self._chunks[begin] = self._chunk(begin, min(begin + _CHUNK, beyond), beyond)
        edge, leaf, stop = self._chunks[begin]
        last = int(np.searchsorted(edge, at)) - 1
        least = max(int(stop[last]) + 1, int(np.searchsorted(edge, low, side="right")) - 1)
        if last < max(least, 0):
            return None
        turn = slice(last, least - 1 if least else None, -1)
        return np.maximum(edge[turn], low), leaf[turn]

    def _chunk(self, begin: int, stop: int, beyond: int) -> tuple[I64, I32, I32]:
        """Edges of some events, the open event after each, and the last place where a run ends."""
        host = self._host
        ts, end = host.ts[begin:stop], host.ts[begin:stop] + host.dur[begin:stop]
        high = int(host.ts[stop]) if stop < beyond else _FAR
        around = distinct_values(host.parent[begin:stop])
        around = around[(around >= 0) & (around < begin)]
        outer = [end]
        while len(around):  # what is open from before
            outer.append(host.ts[around] + host.dur[around])
            around = distinct_values(host.parent[around])
            around = around[around >= 0]
        ends = np.concatenate(outer)
        edge = distinct_values(np.concatenate([ts, ends[(ends > ts[0]) & (ends < high)]]))
        until = np.append(edge[1:], high)
        leaf = (begin + np.searchsorted(ts, until) - 1).astype(np.int32)
        some = np.arange(len(leaf))
        while len(some):
            over = host.ts[leaf[some]] + host.dur[leaf[some]] < until[some]
            some = some[over]
            leaf[some] = host.parent[leaf[some]]
            some = some[leaf[some] >= 0]
        # An end outside of what is innermost changes nothing.
        turn = np.diff(leaf, prepend=leaf[0] - 1) != 0
        turn |= is_among(edge, ts)
        edge, leaf = edge[turn], leaf[turn]
        place = np.arange(len(leaf), dtype=np.int32)
        ends_run = (leaf < 0) | self._stops[leaf]
        return edge, leaf, np.maximum.accumulate(np.where(ends_run, place, np.int32(-1)))

    def forget(self) -> None:
        """Drop the chunks; another step has others."""
        self._chunks.clear()


def _view(column: NDArray[Any]) -> memoryview:
    return memoryview(np.ascontiguousarray(column))  # type: ignore[arg-type]


def _waiting(hosts: Hosts) -> NDArray[np.int8]:
    """Events in which a thread waits for another one: frames that wait, and backward's caller.

    Waiting in the DataLoader is the DataLoader's time.
    """
    waits = hosts.with_role(HostRole.WAITING) | (hosts.with_role(HostRole.BACKWARD) & hosts.frame)
    return ((waits | hosts.collective) & ~hosts.in_loader).astype(np.int8)


def _work_of_call(trace: Trace) -> I32:
    """For each host row the device work that its copy call started and waited for; −1."""
    found = np.full(max(len(trace.host), 1), -1, np.int32)
    device = trace.device
    copies = np.flatnonzero((device.klass == DeviceClass.COPY) & (device.launch >= 0))
    found[device.launch[copies]] = copies
    return found
