"""Where does a step's time go, seen from one device, and what did the host do while it was idle?"""

from __future__ import annotations

import numpy as np

from ..base.intervals import Intervals, intersect, length_within, union
from ..trace.columns import seen
from ..trace.model import DeviceClass, Trace
from .facts import Partition
from .hosts import Hosts, main_thread
from .names import Role
from .stack import shares
from .windows import Windows


def partitions(trace: Trace, hosts: Hosts, windows: Windows, device: int) -> list[Partition]:
    """One partition of a device (row of ``Trace.devices``) per step.

    Compute, exposed communication, exposed copy, memset and idle sum to the window; the parts of
    idle sum to idle. Idle time goes to the first that holds on a thread that launches work of this
    device: DataLoader, a blocking call, any other runtime call, an op, annotation or Python frame;
    else it is unattributed.
    """
    on_device = trace.device.device == device
    compute, communication, copies, memsets = (
        _busy(trace, on_device, klass)
        for klass in (
            DeviceClass.COMPUTE,
            DeviceClass.COMMUNICATION,
            DeviceClass.COPY,
            DeviceClass.MEMSET,
        )
    )
    layers = (compute, communication, copies, memsets, *_host_layers(trace, hosts, on_device))
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


def _busy(trace: Trace, on_device: np.ndarray, klass: DeviceClass) -> Intervals:
    rows = np.flatnonzero(on_device & (trace.device.klass == klass))
    ts = trace.device.ts[rows]
    return union(ts, ts + trace.device.dur[rows])


def _host_layers(
    trace: Trace, hosts: Hosts, on_device: np.ndarray
) -> tuple[Intervals, Intervals, Intervals, Intervals]:
    """What the launching threads did: DataLoader, blocking calls, runtime calls, everything else.

    The thread that runs the steps counts as one of them: it prepares what the others launch.
    """
    launch = trace.device.launch[on_device]
    chosen = seen(trace.host.thread[launch[launch >= 0]], max(len(trace.threads), 1))
    main = main_thread(hosts)
    if main >= 0:
        chosen[main] = True
    here = hosts.on_threads(np.flatnonzero(chosen))
    runtime = hosts.runtime & here
    blocking = runtime & hosts.with_role(Role.BLOCKING)
    executing = (hosts.op | hosts.annotation | hosts.frame) & here
    return (
        hosts.ranges(hosts.with_role(Role.DATALOADER) & here),
        hosts.ranges(blocking),
        hosts.ranges(runtime),
        hosts.ranges(executing),
    )
