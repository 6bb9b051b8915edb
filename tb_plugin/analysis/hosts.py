"""Who was busy on the host, as interval sets: built once, asked by several questions."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..base.intervals import Intervals, merge, union
from ..trace.model import DeviceClass, HostKind, Link, Trace
from .names import BACKEND_RANGE, COPY_CALL, NEED_NOT_WAIT, PAGEABLE, Role, matches, roles_of

Mask = NDArray[np.bool_]

_ROWS = 1 << 16
_LONG_CALL_NS = 50_000  # no call that only enqueues a copy takes so long


@dataclass(frozen=True, slots=True, eq=False)
class Hosts:
    """The host events of a trace with their roles; masks have shape (host rows,)."""

    trace: Trace
    first: NDArray[np.int64]  # row of each thread, and behind the last one the number of rows
    main: int  # the thread that runs the steps, see ``main_thread``
    role: NDArray[np.int8]  # Role
    marker: Mask  # ranges that mark steps: no work themselves
    op: Mask
    annotation: Mask
    frame: Mask  # Python frames, those of modules too
    runtime: Mask
    collective: Mask  # calls of collectives, and ranges of collectives under way
    under_way: Mask  # of those, ranges that a back end keeps open: no work of their thread
    left_open: Mask  # of those, ranges in which ops of their thread launch what computes
    loader: Mask  # of the DataLoader; kinds are not asked
    blocking: Mask  # runtime calls that wait for the device, or may; see ``_blocking``
    executing: Mask  # ops, annotations, Python frames

    def ranges(self, mask: Mask, threads: Iterable[int] | None = None) -> Intervals:
        """When any of the chosen events was open, on all threads or on some."""
        host = self.trace.host
        spans = [(0, len(host))]
        if threads is not None:
            spans = [(int(self.first[t]), int(self.first[t + 1])) for t in threads]
        parts = []
        for low, high in spans:
            # Few bytes at a time: the union of a part is small, and the part stays in the cache.
            for start in range(low, high, _ROWS):
                part = slice(start, min(start + _ROWS, high))
                rows = np.flatnonzero(mask[part])
                ts = host.ts[part][rows]
                parts.append(union(ts, ts + host.dur[part][rows]))
        return merge(*parts)

    def with_role(self, role: Role) -> Mask:
        """Events of one role; kinds are not asked."""
        result: Mask = self.role == role
        return result


def hosts_of(trace: Trace) -> Hosts:
    """Sorts the host events of a trace by kind and role."""
    host = trace.host
    role = roles_of(trace.strings, host.name)
    marker = role == Role.STEP
    marker[trace.steps.host[trace.steps.host >= 0]] = True
    runtime = host.kind == HostKind.RUNTIME
    collective = (role == Role.COMMUNICATION) & ~runtime
    collective[trace.collectives.host[trace.collectives.host >= 0]] = True
    role[collective] = Role.COMMUNICATION
    op = (host.kind == HostKind.OP) & ~marker
    annotation = (host.kind == HostKind.ANNOTATION) & ~marker
    frame = (host.kind == HostKind.PYTHON) | (host.kind == HostKind.MODULE)
    under_way = collective & matches(trace.strings, host.name, BACKEND_RANGE)
    return Hosts(
        trace=trace,
        first=np.searchsorted(host.thread, np.arange(len(trace.threads) + 1)).astype(np.int64),
        main=_main_thread(trace, op),
        role=role,
        marker=marker,
        op=op,
        annotation=annotation,
        frame=frame,
        runtime=runtime,
        collective=collective,
        under_way=under_way,
        left_open=_left_open(trace, under_way),
        loader=role == Role.DATALOADER,
        blocking=_blocking(trace, runtime, role),
        executing=op | annotation | frame,
    )


def _blocking(trace: Trace, runtime: Mask, role: NDArray[np.int8]) -> Mask:
    """Runtime calls in which the host waits for the device.

    * calls whose name says so: synchronizations, plain copies, allocations;
    * calls that copy from or to pageable memory, however they are called: the driver goes through
      a buffer of its own, and the host stands by;
    * calls that copy and last until the copy has ended.

        cudaMemcpyAsync ███████████████          waits
        DtoH                        ███

    A copy that need not be waited for (pinned memory, device to device) may end within its call by
    chance: the call waits where it is long, or mostly the copy.
    """
    host, device = trace.host, trace.device
    result: Mask = runtime & (role == Role.BLOCKING)
    copies = np.flatnonzero(
        (device.klass == DeviceClass.COPY) & (device.launch >= 0) & (device.link != Link.GRAPH)
    )
    call = device.launch[copies]
    keep = runtime[call] & matches(trace.strings, host.name[call], COPY_CALL)
    copies, call = copies[keep], call[keep]
    if not len(copies):
        return result
    names = device.name[copies]
    ts, end = device.ts[copies], device.ts[copies] + device.dur[copies]
    begun, returned = host.ts[call], host.ts[call] + host.dur[call]
    spans = (begun <= ts) & (end <= returned) & (returned > begun)
    by_chance = matches(trace.strings, names, NEED_NOT_WAIT)
    by_chance &= (returned - begun < _LONG_CALL_NS) & (2 * (end - ts) < returned - begun)
    waits = matches(trace.strings, names, PAGEABLE) | (spans & ~by_chance)
    result[call[waits]] = True
    return result


def _left_open(trace: Trace, under_way: Mask) -> Mask:
    """Ranges of collectives below which ops launch work that computes: nobody waits in them."""
    result = np.zeros(len(trace.host), np.bool_)
    if not under_way.any():
        return result
    computing = (trace.device.klass == DeviceClass.COMPUTE) & (trace.device.op >= 0)
    at: NDArray[np.integer] = np.unique(trace.device.op[computing])
    while len(at):
        above = np.unique(trace.host.parent[at])
        at = above[above >= 0]
        hit = under_way[at]
        result[at[hit]] = True
        at = at[~hit]
    return result


def main_thread(hosts: Hosts) -> int:
    """The thread that runs the steps, else the one with most op time; −1 when there is no event."""
    return hosts.main


def _main_thread(trace: Trace, op: Mask) -> int:
    host = trace.host
    if not len(host):
        return -1
    marked = trace.steps.host[trace.steps.host >= 0]
    if len(marked):
        return int(np.bincount(host.thread[marked]).argmax())
    busy = _time_by_thread(trace, op)
    if not busy.any():
        busy = _time_by_thread(trace, np.ones(len(host), np.bool_))
    return int(busy.argmax())


def _time_by_thread(trace: Trace, mask: Mask) -> NDArray[np.int64]:
    """The exclusive time of the chosen events per thread, in ns."""
    host = trace.host
    total = np.zeros(len(trace.threads), np.int64)
    for low in range(0, len(host), _ROWS):
        part = slice(low, low + _ROWS)
        rows = np.flatnonzero(mask[part])
        time = np.bincount(host.thread[part][rows], host.self_ns[part][rows], len(total))
        total += time.astype(np.int64)
    return total
