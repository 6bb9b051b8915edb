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

from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import I8, I32, I64, ColumnTable
from ...trace.model import DeviceClass, Trace
from ..host_activity import HostRole, Hosts
from ..steps import Windows
from .dependencies import Dependencies
from .gaps import learn
from .roles import CAUSE, HostCauses

_CLASSES = {
    DeviceClass.COMPUTE: "compute",
    DeviceClass.COMMUNICATION: "communication_device",
    DeviceClass.COPY: "copy",
    DeviceClass.MEMSET: "memset",
}
PATH_KINDS = (*_CLASSES.values(), *CAUSE)
"""What a part of the path is: device work by class, else a cause as of idle time."""
_FIRST_CAUSE = len(_CLASSES)
_NONE, _HOST, _DEVICE = -1, 0, 1
_STUCK = 10_000  # hops without progress, as among work of no length
_LOOK_BACK = 64  # device work looked at for what a blocking call waited for


@dataclass(frozen=True, slots=True, eq=False)
class PathParts(ColumnTable):
    """The parts of the paths of all steps, in order of time; those of a step tile its window."""

    start: I64
    end: I64
    step: I32
    kind: I8  # place in PATH_KINDS
    on: I8  # 0: ``row`` is of the host table; 1: of the device table; −1: of none
    row: I32  # −1: nothing recorded
    thread: I32  # of the host part, −1
    slack: I64  # ns until another chain is the longer one; −1: none is known
    inferred: I8  # 1: reached by a dependency that is inferred


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
        self._dts, self._dend = _view(device.ts), _view(device.ts + device.dur)
        self._launch, self._before = _view(device.launch), _view(dependencies.before)
        self._depends, self._guessed = _view(dependencies.on), _view(dependencies.inferred)
        self._in_graph = _view(dependencies.in_graph)
        self._klass = _view(device.klass)
        order = np.argsort(device.ts + device.dur, kind="stable")
        self._by_end, self._ends = _view(order), (device.ts + device.dur)[order]
        self._blocking, self._waits = _view(hosts.blocking), _view(_waiting(hosts))
        self._copied = _view(_work_of_call(trace))
        learned = [learn(trace, row) for row in range(len(trace.devices))]
        self._learned = [learned[row] for row in trace.streams.device.tolist()]
        self._stream = _view(device.stream)
        ops = np.bincount(host.thread[hosts.op], minlength=len(trace.threads))
        self._others = [t for t in np.flatnonzero(ops).tolist() if t != hosts.main]
        self._found: list[tuple[int, int, int, int, int, int, int, int]] = []

    def parts(self) -> PathParts:
        windows = self._windows
        steps = np.zeros(0, np.int32)
        for step in range(len(windows)):
            low, high = int(windows.start[step]), int(windows.end[step])
            before = len(self._found)
            if high > low:
                self._walk(low, high)
            count = len(self._found) - before
            self._found[before:] = self._found[before:][::-1]
            steps = np.concatenate([steps, np.full(count, step, np.int32)])
        columns = np.array(self._found, np.int64).reshape(-1, 8).T
        start, end, kind, on, row, thread, slack, inferred = columns
        kind = kind.copy()
        told = np.flatnonzero(kind == _NONE)  # by the event itself
        kind[told] = _FIRST_CAUSE + HostCauses(self._trace, self._hosts).of(row[told])
        return PathParts(
            start,
            end,
            steps,
            kind.astype(np.int8),
            on.astype(np.int8),
            row.astype(np.int32),
            thread.astype(np.int32),
            slack,
            inferred.astype(np.int8),
        )

    def _walk(self, low: int, high: int) -> None:
        """All parts of one step, the last first."""
        self._low, self._at = low, high
        self._slack, self._by_guess = -1, 0
        work = self._last_work(high)
        thread = self._hosts.main
        still = 0
        while self._at > low:
            was = self._at
            if work >= 0:
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
        if start < self._at:
            found = (start, self._at, kind, on, row, thread, self._slack, self._by_guess)
            self._found.append(found)
            self._at = start
            self._by_guess = 0

    def _limit(self, slack: int) -> None:
        """From here on backwards no part can gain more: then another chain is the longer one."""
        self._slack = slack if self._slack < 0 else min(self._slack, slack)

    def _last_work(self, at: int) -> int:
        """Device work that ends the step; −1 where the host does."""
        place = int(np.searchsorted(self._ends, at, side="right")) - 1
        if place < 0 or int(self._ends[place]) < at:
            return -1
        return self._by_end[place]

    # --- devices ----------------------------------------------------------------------------------

    def _device(self, work: int) -> tuple[int, int]:
        """One piece of device work, and what released it: (device row, thread)."""
        begin = self._dts[work]
        self._emit(begin, self._klass[work], _DEVICE, work)
        if self._at <= self._low:
            return -1, -1
        call = self._launch[work]
        called = self._ts[call] if call >= 0 else -1
        ahead, depends = self._before[work], self._depends[work]
        ahead_end = min(self._dend[ahead], begin) if ahead >= 0 else -1
        depends_end = min(self._dend[depends], begin) if depends >= 0 else -1
        released = sorted((ahead_end, depends_end, called))
        if released[1] >= 0:
            self._limit(released[2] - released[1])
        if max(ahead_end, depends_end) >= called and max(ahead_end, depends_end) >= 0:
            by = ahead if ahead_end >= depends_end else depends
            if by == depends and ahead_end < depends_end:
                self._by_guess = self._guessed[work]
            end = self._dend[by]
            if self._in_graph[work]:
                gap = CAUSE["graph"]
            elif begin - end <= self._learned[self._stream[work]].gap_ns:
                gap = CAUSE["kernel_gap"]
            else:
                gap = CAUSE["device_wait"]
            self._emit(end, _FIRST_CAUSE + gap, _DEVICE, work)
            return by, -1
        if call < 0:
            self._emit(self._low, _FIRST_CAUSE + CAUSE["before"], _DEVICE, work)
            return -1, -1
        thread = self._thread[call]
        usual = self._end[call] + self._learned[self._stream[work]].latency_ns
        self._emit(usual, _FIRST_CAUSE + CAUSE["device_wait"], _DEVICE, work, thread)
        self._emit(self._end[call], _FIRST_CAUSE + CAUSE["latency"], _DEVICE, work, thread)
        self._emit(called, _NONE, _HOST, call, thread)
        return -1, thread

    # --- threads ----------------------------------------------------------------------------------

    def _host(self, thread: int) -> tuple[int, int]:
        """What a thread did last, and what released it: (device row, thread)."""
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
        return -1, thread

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
            since = self._end[row]
            row = self._parent[row]
        return row, max(since, self._low)

    def _waited_for(self, call: int, start: int, at: int) -> int:
        """The device work whose end let a blocking call return; −1 where none ended in it."""
        copied = self._copied[call]
        if copied >= 0:
            return copied if start < self._dend[copied] <= at else -1
        place = int(np.searchsorted(self._ends, at, side="right")) - 1
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


def _view(column: NDArray[Any]) -> memoryview:
    return memoryview(np.ascontiguousarray(column))  # type: ignore[arg-type]


def _waiting(hosts: Hosts) -> NDArray[np.int8]:
    """Events in which a thread waits for another one: frames that wait, and backward's caller."""
    waits = hosts.with_role(HostRole.WAITING) | (hosts.with_role(HostRole.BACKWARD) & hosts.frame)
    return (waits | hosts.collective).astype(np.int8)


def _work_of_call(trace: Trace) -> I32:
    """For each host row the device work that its copy call started and waited for; −1."""
    found = np.full(max(len(trace.host), 1), -1, np.int32)
    device = trace.device
    copies = np.flatnonzero((device.klass == DeviceClass.COPY) & (device.launch >= 0))
    found[device.launch[copies]] = copies
    return found
