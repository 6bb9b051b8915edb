"""Headings of the timeline: processes, devices, and what the recorder says of itself."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...trace.host import OVERHEAD_PID
from ...trace.model import Device, Trace
from ..hosts import hosts_of, main_thread
from .memory_owner import memory_devices
from .model import I64, Group


@dataclass(frozen=True, slots=True)
class Groups:
    """The headings in order, and which of them is whose; −1 where there is none."""

    groups: tuple[Group, ...]
    main_thread: int  # row of ThreadTable, −1
    of_thread: tuple[int, ...]
    of_device: tuple[int, ...]  # by row of Trace.devices
    host: int  # the main process; where there is none the recorder
    recorder: int


def groups_of(trace: Trace) -> Groups:
    """The process that runs the steps first, then the busiest ones, then devices, the recorder."""
    main = main_thread(hosts_of(trace))
    count = np.bincount(trace.host.thread, minlength=len(trace.threads))
    groups: list[Group] = []
    of_pid: dict[int, int] = {}
    for pid in _processes(trace, main, count):
        of_pid[pid] = len(groups)
        groups.append(_process(trace, pid, is_main=main >= 0 and pid == trace.threads.pid[main]))
    of_device = []
    for row in _devices(trace):
        of_device.append((row, len(groups)))
        groups.append(_device(trace.devices[row]))
    recorder = -1
    if _has_recorder(trace, count) or (len(trace.memory) and not groups):
        recorder = len(groups)
        groups.append(Group("recorder", "recorder", "Recorder"))
    placed = dict(of_device)
    return Groups(
        groups=tuple(groups),
        main_thread=main,
        of_thread=tuple(of_pid.get(pid, recorder) for pid in trace.threads.pid.tolist()),
        of_device=tuple(placed.get(row, -1) for row in range(len(trace.devices))),
        host=0 if of_pid else recorder,
        recorder=recorder,
    )


def _processes(trace: Trace, main: int, count: I64) -> list[int]:
    """Codes of the pids that have host events, the most telling first."""
    busy = np.bincount(trace.host.thread, trace.host.self_ns, len(trace.threads))
    weight: dict[int, float] = {}
    for thread, pid in enumerate(trace.threads.pid.tolist()):
        if count[thread] and trace.strings[pid] != OVERHEAD_PID:
            weight[pid] = weight.get(pid, 0.0) + float(busy[thread])
    first = int(trace.threads.pid[main]) if main >= 0 else -1
    return sorted(weight, key=lambda pid: (pid != first, -weight[pid], trace.strings[pid]))


def _process(trace: Trace, pid: int, *, is_main: bool) -> Group:
    text = trace.strings[pid]
    label = f"Process {text}" if text.lstrip("-").isdecimal() else text or "Process"
    if is_main and trace.recording.rank is not None:
        label += f" · rank {trace.recording.rank}"
    return Group(f"process/{text}", "process", label)


def _devices(trace: Trace) -> list[int]:
    """Rows of the devices that something was recorded of."""
    tables = (trace.device, trace.device_annotations, trace.syncs, trace.ranges)
    found: set[int] = set(memory_devices(trace).values())
    found |= set(np.unique(trace.counters.device[trace.counters.device >= 0]).tolist())
    for table in tables:
        found |= set(np.unique(table.device[table.device >= 0]).tolist())
    return sorted(found, key=lambda row: (trace.devices[row].index, row))


def _device(device: Device) -> Group:
    label = f"{device.type} {device.index}"
    if device.name:
        label += f" · {device.name}"
    return Group(f"device/{device.type}/{device.index}", "device", label)


def _has_recorder(trace: Trace, count: I64) -> bool:
    pids = trace.threads.pid[count > 0].tolist()
    return bool(
        (trace.counters.device < 0).any()
        or (trace.ranges.device < 0).any()
        or (trace.syncs.device < 0).any()
        or (trace.device_annotations.device < 0).any()
        or any(trace.strings[pid] == OVERHEAD_PID for pid in pids)
    )
