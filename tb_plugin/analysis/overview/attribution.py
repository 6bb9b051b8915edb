"""Where does a step's time go? Three divisions of the same step, each exact.

``breakdowns``: by the classic categories. Each instant counts for the first of these that is active
anywhere, on any thread or device: kernel, memcpy, memset, communication, runtime, DataLoader, CPU
exec; an instant without any of them is other.

``partitions``: seen from one device, with the activity of the host while the device was idle.

``host_partitions``: without device activity, seen from the thread that runs the step.

All three use ``shares``: each instant counts for the first of several sets that contains it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import I64, equal
from ...base.group_sums import first_largest
from ...base.intervals import (
    EMPTY,
    Intervals,
    intersect,
    length_within,
    merge,
    not_inside,
)
from ...trace.model import DeviceClass, HostKind, Trace
from ..device_work import DeviceWork
from ..facts import Breakdown, HostPartition, Longest, Partition
from ..host_activity import HostRole, Hosts
from ..steps import Windows


def shares(layers: Iterable[Intervals], start: I64, end: I64) -> list[I64]:
    """Time that each layer adds to those before it, per window; the last entry is the remainder.

    The layers are merged one by one, and each adds the growth of the whole. So the shares of a
    window sum to its length to the nanosecond, whatever the sets are. Layers that are made as they
    are asked for need not be in memory at once.

    A  ██████            6
    B     ██████         3
    –           ░░░      3  (window of 12)
    """
    covered = np.zeros(len(start), np.int64)
    whole = EMPTY
    parts = []
    for layer in layers:
        grown = covered
        if len(more := not_inside(layer, whole)):
            whole = merge(whole, more)
            grown = length_within(whole, start, end)
        parts.append(grown - covered)
        covered = grown
        del layer, more  # before the next one is made
    parts.append(end - start - covered)
    return parts


def breakdowns(hosts: Hosts, works: Sequence[DeviceWork], windows: Windows) -> list[Breakdown]:
    """One breakdown per step; its eight parts sum to the step's window.

    Python frames are no category of their own and count as other, so that the figures of one
    program do not depend on whether stacks were recorded. Ranges on device tracks
    (``gpu_user_annotation``) are copies of host annotations and count nowhere.
    """
    parts = [
        part.tolist()
        for part in shares(_breakdown_layers(hosts, works), windows.start, windows.end)
    ]
    return [Breakdown(*step) for step in zip(*parts, strict=True)]


def _breakdown_layers(hosts: Hosts, works: Sequence[DeviceWork]) -> Iterator[Intervals]:
    yield merge(*(work.compute for work in works))
    yield merge(*(work.copies for work in works))
    yield merge(*(work.memsets for work in works))
    # A range that is left open while other work is launched says nothing: the device tells.
    told = hosts.ranges(hosts.collective & ~hosts.left_open)
    yield merge(*(work.communication for work in works), told)
    yield hosts.ranges(hosts.runtime)
    yield hosts.ranges(hosts.loader)
    yield hosts.ranges((hosts.op | hosts.annotation) & ~hosts.loader)


def device_shares(work: DeviceWork, windows: Windows) -> list[I64]:
    """Work of a device by step: the columns of its partitions without causes of idle time.

    Compute, exposed communication, exposed copy, memset and idle sum to the window; the last column
    is the communication that computing hides.
    """
    layers = (work.compute, work.communication, work.copies, work.memsets)
    parts = shares(layers, windows.start, windows.end)
    both = intersect(work.compute, work.communication)
    return [*parts, length_within(both, windows.start, windows.end)]


def partitions(
    device: Sequence[I64], causes: NDArray[np.int64], start_up_ns: I64
) -> list[Partition]:
    """One partition of a device per step.

    ``device`` is what ``device_shares`` tells of it, ``causes`` the idle time by step and cause, in
    the order of ``IDLE_CAUSES`` (``idle/causes``), without the start-up in each step.
    """
    *work, idle, overlap = device
    columns = (*work, idle - start_up_ns, overlap, *causes.T, start_up_ns)
    return [Partition(*step) for step in zip(*(c.tolist() for c in columns), strict=True)]


_PARTS = (
    (DeviceClass.COMPUTE, "compute_ns"),
    (DeviceClass.COMMUNICATION, "exposed_communication_ns"),
    (DeviceClass.COPY, "exposed_copy_ns"),
    (DeviceClass.MEMSET, "memset_ns"),
)


def longest_activity(work: DeviceWork, windows: Windows) -> list[tuple[Longest, ...]]:
    """Per step, the longest activity of each class of a device that began in its window."""
    ts, dur = work.ts, work.dur
    window = windows.of(ts)
    found: list[list[Longest]] = [[] for _ in range(len(windows))]
    for klass, part in _PARTS:
        chosen = np.flatnonzero(equal(work.klass, klass) & (window >= 0))
        longest = first_largest(window[chosen], dur[chosen], len(windows))
        for step in np.flatnonzero(longest >= 0).tolist():
            row = chosen[longest[step]]
            found[step].append(Longest(part, int(ts[row]), int(dur[row])))
    return [tuple(one) for one in found]


def host_partitions(trace: Trace, hosts: Hosts, windows: Windows) -> list[HostPartition]:
    """One partition per step; all parts sum to the window.

    Each instant counts for the first that holds on the main thread: the DataLoader's range,
    whatever runs or waits in it; calls of collectives; compilation; ops and runtime calls of the
    optimizer; backward ops; other ops (forward); runtime calls. Then for backward ops of another
    thread, and collectives under way on any thread. Then for ops around calls of collectives, which
    may wait for these; the rest of the optimizer,
    ``backward()``, modules (forward), and Python frames. Passes that the optimizer calls, as
    closures, are forward and backward. What is left is uninstrumented, even where the user marked
    it: an annotation says nothing of what runs.

    What only stacks record comes last, so that they change no part that is recorded without them.

    ``communication`` is so the part of the classic category that no op of the main thread covers,
    and ``overlap`` the part that some does: both sum to the classic one where no device works.
    """
    (
        loader,
        calls,
        compiling,
        optimizing,
        own,
        ops,
        runtime,
        ahead,
        under_way,
        around_own,
        around,
        around_ahead,
        optimizer,
        calling,
        modules,
        frames,
        rest,
    ) = shares(_host_layers_by_rank(trace, hosts), windows.start, windows.end)
    communication = calls + under_way
    anywhere = length_within(hosts.ranges(hosts.collective), windows.start, windows.end)
    columns = (
        loader,
        ops + around + modules,
        own + ahead + around_own + around_ahead + calling,
        optimizing + optimizer,
        communication,
        compiling,
        runtime,
        frames,
        rest,
        anywhere - communication,
    )
    return [HostPartition(*step) for step in zip(*(c.tolist() for c in columns), strict=True)]


def _around(trace: Trace, inner: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """True for events around any of these."""
    found = np.zeros(len(inner), np.bool_)
    rows = trace.host.parent[np.flatnonzero(inner)]
    while len(rows := rows[rows >= 0]):
        found[rows] = True
        rows = trace.host.parent[rows]
    return found


def _host_layers_by_rank(trace: Trace, hosts: Hosts) -> Iterator[Intervals]:
    here = [hosts.main] if hosts.main >= 0 else []

    def of(mask: NDArray[np.bool_]) -> Intervals:
        return hosts.ranges(mask, here)

    backward = hosts.with_role(HostRole.BACKWARD)
    optimizer, runtime = hosts.optimizing(here), of(hosts.runtime)
    # An op around a call of a collective may wait for it, as FSDP does in backward.
    work = hosts.op & ~hosts.collective
    calls = _around(trace, hosts.op & hosts.collective)
    ops = of(work & ~calls)
    yield of(hosts.loader)
    yield of(hosts.collective & ~hosts.under_way)
    yield of(hosts.with_role(HostRole.COMPILE))
    yield intersect(optimizer, merge(ops, runtime))
    yield intersect(of(backward & work), ops)
    yield ops
    yield runtime
    yield intersect(hosts.ranges(backward & work), hosts.ranges(work & ~calls))
    yield hosts.ranges(hosts.collective)
    yield of(backward & work)
    yield of(work)
    yield hosts.ranges(backward & work)
    yield optimizer
    yield of(backward & hosts.frame)
    yield of(equal(trace.host.kind, HostKind.MODULE))
    yield of(hosts.frame)
