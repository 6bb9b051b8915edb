"""Where does a step's time go, by the classic categories?

Each instant of a step counts for the first of these that is active anywhere, on any thread or
device: kernel, memcpy, memset, communication, runtime, DataLoader, CPU exec; what none holds is
other.
"""

from __future__ import annotations

from collections.abc import Iterator

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
    parts = [part.tolist() for part in shares(_layers(trace, hosts), windows.start, windows.end)]
    return [Breakdown(*step) for step in zip(*parts, strict=True)]


def _layers(trace: Trace, hosts: Hosts) -> Iterator[Intervals]:
    yield _device(trace, DeviceClass.COMPUTE)
    yield _device(trace, DeviceClass.COPY)
    yield _device(trace, DeviceClass.MEMSET)
    # A range that is left open while other work is launched says nothing: the device tells.
    told = hosts.ranges(hosts.collective & ~hosts.left_open)
    yield merge(_device(trace, DeviceClass.COMMUNICATION), told)
    yield hosts.ranges(hosts.runtime)
    yield hosts.ranges(hosts.loader)
    yield hosts.ranges((hosts.op | hosts.annotation) & ~hosts.loader)


def _device(trace: Trace, klass: DeviceClass) -> Intervals:
    rows = trace.device.klass == klass
    ts = trace.device.ts[rows]
    return union(ts, ts + trace.device.dur[rows])
