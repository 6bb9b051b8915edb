"""Where does a step's time go, seen from one device, and what did the host do while it was idle?"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

import numpy as np

from ..base.intervals import Intervals, intersect, length_within, union
from ..trace.columns import seen
from ..trace.model import DeviceClass, Trace
from .devices import rows_of
from .facts import Partition
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
