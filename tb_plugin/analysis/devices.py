"""Which devices does the file list, which were used, and how full did their memory get?"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import distinct_values, is_any
from ..trace.model import Device, Trace
from .facts import DeviceFacts

# c10 DeviceType → the type of device as the trace names it.
_MEMORY_TYPES = {1: "GPU", 6: "GPU", 12: "XPU", 13: "MPS", 18: "HPU", 20: ""}


def device_facts(trace: Trace) -> tuple[DeviceFacts, ...]:
    """One entry per row of ``Trace.devices``."""
    return tuple(
        DeviceFacts(
            index=device.index,
            type=device.type,
            vendor=device.vendor,
            name=device.name,
            memory_bytes=device.memory_bytes,
            capability=device.capability,
            used=device.used,
            peak_allocated_bytes=_extreme(trace, device, trace.memory.total_allocated, np.max),
            peak_reserved_bytes=_extreme(trace, device, trace.memory.total_reserved, np.max),
            least_allocated_bytes=_extreme(trace, device, trace.memory.total_allocated, np.min),
        )
        for device in trace.devices
    )


def rows_of(trace: Trace, device: int) -> slice:
    """The rows of a device (row of ``Trace.devices``) in the table of device activity.

    The table is in order by stream, and streams are in order by device.
    """
    low, high = np.searchsorted(trace.device.device, (device, device + 1)).tolist()
    return slice(low, high)


def _extreme(
    trace: Trace,
    device: Device,
    totals: NDArray[np.int64],
    chosen: Callable[[NDArray[np.int64]], np.int64],
) -> int | None:
    """The highest or lowest total recorded for this device; None where there is none.

    Memory of the host is never a device's: it carries device id −1 and another type.
    """
    memory = trace.memory
    types = [code for code, name in _MEMORY_TYPES.items() if name in ("", device.type)]
    rows = is_any(memory.device_type, types) & (memory.device_id >= 0) & (totals >= 0)
    rows &= memory.device_id == _allocator_id(trace, device, memory.device_id[rows])
    return int(chosen(totals[rows])) if rows.any() else None


def _allocator_id(trace: Trace, device: Device, ids: NDArray[np.int32]) -> int:
    """The number of a device in allocator events.

    On AMD the allocator counts the devices that the process sees and the tracer those of the
    machine: where one device worked and one allocated, they are the same.
    """
    used = [one for one in trace.devices if one.used]
    known = distinct_values(ids)
    if len(used) == 1 and len(known) == 1:
        return int(known[0]) if device is used[0] else -1
    return device.index
