"""Where does a step's time go, seen from one device, and what did the host do while it was idle?"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import numpy as np

from ..base.intervals import Intervals, intersect, length_within, union
from ..trace.columns import seen
from ..trace.model import DeviceClass, Trace
from .devices import rows_of
from .facts import Longest, Partition
from .hosts import Hosts
from .stack import shares
from .windows import Windows


def partitions(trace: Trace, hosts: Hosts, windows: Windows, device: int) -> list[Partition]:
    """One partition of a device (row of ``Trace.devices``) per step.

    Compute, exposed communication, exposed copy, memset and idle sum to the window; the parts of
    idle sum to idle. Idle time goes to the first that holds on a thread that launches work of this
    device: DataLoader, a blocking call, any other runtime call, an op, annotation or Python frame;
    else it is unattributed.
    """
    rows = rows_of(trace, device)
    compute, communication, copies, memsets = (
        _busy(trace, rows, klass)
        for klass in (
            DeviceClass.COMPUTE,
            DeviceClass.COMMUNICATION,
            DeviceClass.COPY,
            DeviceClass.MEMSET,
        )
    )
    layers = chain((compute, communication, copies, memsets), _host_layers(trace, hosts, rows))
    compute_, exposed, copy_, memset_, loader, sync, runtime, executing, unattributed = shares(
        layers, windows.start, windows.end
    )
    idle = loader + sync + runtime + executing + unattributed
    overlap = length_within(intersect(compute, communication), windows.start, windows.end)
    columns = (
        compute_,
        exposed,
        copy_,
        memset_,
        idle,
        overlap,
        loader,
        runtime,
        sync,
        executing,
        unattributed,
    )
    return [Partition(*step) for step in zip(*(c.tolist() for c in columns), strict=True)]


_PARTS = (
    (DeviceClass.COMPUTE, "compute_ns"),
    (DeviceClass.COMMUNICATION, "exposed_communication_ns"),
    (DeviceClass.COPY, "exposed_copy_ns"),
    (DeviceClass.MEMSET, "memset_ns"),
)


def longest_activity(trace: Trace, windows: Windows, device: int) -> list[tuple[Longest, ...]]:
    """Per step, the longest activity of each class of a device that began in its window."""
    rows = rows_of(trace, device)
    ts, dur = trace.device.ts[rows], trace.device.dur[rows]
    found: list[list[Longest]] = [[] for _ in range(len(windows))]
    for klass, part in _PARTS:
        chosen = np.flatnonzero(trace.device.klass[rows] == klass)
        window = np.searchsorted(windows.start, ts[chosen], side="right") - 1
        inside = (window >= 0) & (ts[chosen] < windows.end[np.maximum(window, 0)])
        chosen, window = chosen[inside], window[inside]
        order = np.lexsort((-dur[chosen], window))
        first = np.flatnonzero(np.diff(window[order], prepend=-1))
        for at in order[first].tolist():
            row = chosen[at]
            found[int(window[at])].append(Longest(part, int(ts[row]), int(dur[row])))
    return [tuple(one) for one in found]


def _busy(trace: Trace, rows: slice, klass: DeviceClass) -> Intervals:
    chosen = np.flatnonzero(trace.device.klass[rows] == klass)
    ts = trace.device.ts[rows][chosen]
    return union(ts, ts + trace.device.dur[rows][chosen])


def _host_layers(trace: Trace, hosts: Hosts, rows: slice) -> Iterator[Intervals]:
    """What the launching threads did: DataLoader, blocking calls, runtime calls, everything else.

    The thread that runs the steps counts as one of them: it prepares what the others launch.
    """
    launch = trace.device.launch[rows]
    chosen = seen(trace.host.thread[launch[launch >= 0]], max(len(trace.threads), 1))
    if hosts.main >= 0:
        chosen[hosts.main] = True
    threads = np.flatnonzero(chosen).tolist() if len(trace.threads) else []
    for mask in (hosts.loader, hosts.blocking, hosts.runtime, hosts.executing):
        yield hosts.ranges(mask, threads)
