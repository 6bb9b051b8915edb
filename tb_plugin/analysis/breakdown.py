"""Where does a step's time go, by the classic categories?

Each instant of a step counts for the first of these that is active anywhere, on any thread or
device: kernel, memcpy, memset, communication, runtime, DataLoader, CPU exec; what none holds is
other.
"""

from __future__ import annotations

from ..base.intervals import Intervals, merge, union
from ..trace.model import DeviceClass, Trace
from .facts import Breakdown
from .hosts import Hosts
from .stack import shares
from .windows import Windows


def breakdowns(trace: Trace, hosts: Hosts, windows: Windows) -> list[Breakdown]:
    """One breakdown per step; its eight parts sum to the step's window.

    Python frames are no category of their own and count as other, so that the figures of one
    program do not depend on whether stacks were recorded. Ranges on device tracks
    (``gpu_user_annotation``) are copies of host annotations and count nowhere.
    """
    collectives = merge(
        _device(trace, DeviceClass.COMMUNICATION), hosts.ranges(hosts.collective & ~hosts.runtime)
    )
    executed = (hosts.op | hosts.annotation) & ~hosts.loader
    layers = (
        _device(trace, DeviceClass.COMPUTE),
        _device(trace, DeviceClass.COPY),
        _device(trace, DeviceClass.MEMSET),
        collectives,
        hosts.ranges(hosts.runtime),
        hosts.ranges(hosts.loader),
        hosts.ranges(executed),
    )
    parts = [part.tolist() for part in shares(layers, windows.start, windows.end)]
    return [Breakdown(*step) for step in zip(*parts, strict=True)]


def _device(trace: Trace, klass: DeviceClass) -> Intervals:
    rows = trace.device.klass == klass
    ts = trace.device.ts[rows]
    return union(ts, ts + trace.device.dur[rows])
