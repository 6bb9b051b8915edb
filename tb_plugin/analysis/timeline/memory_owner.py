"""Whose memory an allocator event speaks of."""

from __future__ import annotations

import numpy as np

from ...trace.model import Trace

# c10 DeviceType → the type of device as the trace names it; "" fits any.
_TYPES = {1: "GPU", 6: "GPU", 12: "XPU", 13: "MPS", 18: "HPU", 20: ""}
HOST = 0  # c10 DeviceType of the CPU


def memory_devices(trace: Trace) -> dict[tuple[int, int], int]:
    """(device type, device id) of allocator events → row of ``Trace.devices``, where one fits.

    On AMD the allocator counts the devices that the process sees and the tracer those of the
    machine: where one device worked and one allocated, they are the same.
    """
    memory = trace.memory
    pairs = np.unique(np.stack([memory.device_type, memory.device_id], axis=1), axis=0).tolist()
    ours = [(kind, number) for kind, number in pairs if kind != HOST and number >= 0]
    used = [row for row, device in enumerate(trace.devices) if device.used]
    if len(ours) == 1 and len(used) == 1:
        return {ours[0]: used[0]}
    found = {}
    for kind, number in ours:
        for row, device in enumerate(trace.devices):
            if device.index == number and _TYPES.get(kind, device.type) in ("", device.type):
                found[kind, number] = row
                break
    return found
