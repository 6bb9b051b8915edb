"""Where does a step's time go without device activity, seen from the thread that runs it?"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ..base.intervals import Intervals, intersect, length_within, merge, subtract
from ..trace.model import HostKind, Trace
from .facts import HostPartition
from .hosts import Hosts
from .names import Role
from .stack import shares
from .windows import Windows


def host_partitions(trace: Trace, hosts: Hosts, windows: Windows) -> list[HostPartition]:
    """One partition per step; all parts sum to the window.

    What really ran counts before ranges that only mark code, on this thread or on another. Each
    instant counts for the first that holds on the main thread: work inside the DataLoader, calls of
    collectives, compilation, work inside the optimizer, backward ops, other ops and module calls
    (forward), runtime calls, Python frames that do not merely wait; then backward ops of another
    thread, collectives under way on any thread; then waiting: in ``backward()``, in other Python
    frames, in the optimizer, in the DataLoader. What is left is uninstrumented, even where the user
    marked it: an annotation says nothing of what runs.

    ``communication`` is so the part of the classic category that no work of the main thread covers,
    and ``overlap`` the part that some does: both sum to the classic one where no device works.
    """
    (
        loading,
        calls,
        compiling,
        optimizing,
        own,
        others,
        runtime,
        frames,
        ahead,
        under_way,
        calling,
        waiting,
        optimizer,
        loader,
        rest,
    ) = shares(_layers(trace, hosts), windows.start, windows.end)
    communication = calls + under_way
    anywhere = length_within(hosts.ranges(hosts.collective), windows.start, windows.end)
    columns = (
        loading + loader,
        others,
        own + ahead + calling,
        optimizing + optimizer,
        communication,
        compiling,
        runtime,
        frames + waiting,
        rest,
        anywhere - communication,
    )
    return [HostPartition(*step) for step in zip(*(c.tolist() for c in columns), strict=True)]


def _layers(trace: Trace, hosts: Hosts) -> Iterator[Intervals]:
    here = [hosts.main] if hosts.main >= 0 else []

    def of(mask: NDArray[np.bool_]) -> Intervals:
        return hosts.ranges(mask, here)

    backward, module = hosts.with_role(Role.BACKWARD), trace.host.kind == HostKind.MODULE
    loader, optimizer = of(hosts.loader), of(hosts.with_role(Role.OPTIMIZER))
    calling, ops = of(backward & hosts.frame), of(hosts.op & ~hosts.collective)
    # The frame that called backward waits too: a thread of autograd may do the work.
    waits = hosts.frame & (hosts.with_role(Role.WAITING) | backward)
    waiting = of(waits)
    waiting = subtract(waiting, of(hosts.frame & ~waits & _begun_inside(trace, waiting)))
    modules, frames = (subtract(of(mask), waiting) for mask in (module, hosts.frame & ~module))
    runtime = of(hosts.runtime)
    worked = merge(ops, runtime, modules, frames)
    yield intersect(loader, worked)
    yield of(hosts.collective & ~hosts.under_way)
    yield of(hosts.with_role(Role.COMPILE))
    yield intersect(optimizer, worked)
    yield merge(of(backward & hosts.op), intersect(calling, frames))
    yield merge(ops, modules)
    yield runtime
    yield frames
    yield hosts.ranges(backward & hosts.op)
    yield hosts.ranges(hosts.collective)
    yield calling
    yield waiting
    yield optimizer
    yield loader


def _begun_inside(trace: Trace, ranges: Intervals) -> NDArray[np.bool_]:
    """Which host events begin inside a range, after its first instant."""
    if not len(ranges):
        return np.zeros(len(trace.host), np.bool_)
    at = np.searchsorted(ranges.start, trace.host.ts, side="left") - 1
    inside: NDArray[np.bool_] = (at >= 0) & (trace.host.ts < ranges.end[at])
    return inside
