"""The summary of a trace for the first screen, computed once, at ingest."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import I64, distinct_values, is_any
from ..trace.model import Device, Trace
from .facts import (
    DeviceFacts,
    DeviceStep,
    Facts,
    IdleTables,
    Learned,
    PeakEvent,
    Spot,
    StepFacts,
)
from .host_activity import hosts_of, traits
from .idle.causes import CauseTable, IdleCauses
from .idle.costs import communication, copies, launches, lead
from .idle.names import HeldNames, host_held, parallel
from .overview.attribution import breakdowns, host_partitions, longest_activity, partitions
from .overview.utilization import gauges
from .patterns.products import peak_of
from .patterns.recognize import patterns_of
from .recording import classified, counts, recording_facts, unavailable
from .steps import Windows, step_windows

# c10 DeviceType → the type of device as the trace names it.
_MEMORY_TYPES = {1: "GPU", 6: "GPU", 12: "XPU", 13: "MPS", 18: "HPU", 20: ""}


def summarize(trace: Trace) -> Facts:
    """The facts of a trace: a few kilobytes per step, whatever the size of the file."""
    hosts = hosts_of(trace)
    windows = step_windows(trace)
    names = HeldNames(trace, hosts)
    causes = IdleCauses(names, windows)
    idle = {row: causes.of_device(row) for row, one in enumerate(trace.devices) if one.used}
    steps = _steps(names, windows, idle)
    devices = _device_facts(trace, idle)
    rows = counts(trace)
    recording = recording_facts(trace)
    used = [device for device in devices if device.used]
    return Facts(
        path=trace.path,
        base_ns=trace.base_ns,
        duration_ns=trace.end_ns,
        torch_era=trace.recording.torch_era,
        device_type=used[0].type if used else "CPU",
        rank=trace.recording.rank,
        world_size=trace.recording.world_size,
        host_name=trace.recording.host_name,
        step_source=trace.steps.source,
        step_family=trace.steps.family,
        steps=steps,
        devices=devices,
        traits=traits(trace, hosts),
        counts=rows,
        classified=classified(trace),
        unavailable=unavailable(steps, trace.steps.source, devices, rows, recording),
        health=trace.health,
        recording=recording,
        idle=IdleTables(names.table(), names.places.table(), causes.following),
        patterns=patterns_of(trace, hosts, windows),
    )


def _steps(
    names: HeldNames, windows: Windows, idle: Mapping[int, CauseTable]
) -> tuple[StepFacts, ...]:
    trace, hosts = names.trace, names.hosts
    by_category = breakdowns(trace, hosts, windows)
    used = tuple(idle)
    on_host = None if used else host_partitions(trace, hosts, windows)
    parts = {row: partitions(trace, windows, row, idle[row].ns) for row in used}
    longest = {row: longest_activity(trace, windows, row) for row in used}
    measures = {row: gauges(trace, windows, row) for row in used}
    collectives = {row: communication(trace, hosts, windows, row) for row in used}
    copied = {row: copies(trace, windows, row) for row in used}
    launched = {row: launches(trace, windows, row) for row in used}
    held = [()] * len(windows) if used else host_held(names, windows)
    spent, threads = parallel(trace, hosts, windows)
    return tuple(
        StepFacts(
            index=i,
            number=int(trace.steps.number[i]),
            name=trace.text(int(trace.steps.name[i])),
            host_start_ns=int(windows.host_start[i]),
            host_end_ns=int(windows.host_end[i]),
            start_ns=int(windows.start[i]),
            end_ns=int(windows.end[i]),
            breakdown=by_category[i],
            devices=tuple(
                DeviceStep(
                    row,
                    parts[row][i],
                    measures[row][i].window,
                    measures[row][i].gap,
                    idle[row].idle[i],
                    longest[row][i],
                    collectives[row][i],
                    copied[row][i],
                    launched[row][i],
                )
                for row in used
            ),
            host=on_host[i] if on_host is not None else None,
            launches=int(windows.launches[i]),
            device_events=int(windows.device_events[i]),
            host_held=held[i],
            parallel_ns=int(spent[i]),
            threads=int(threads[i]),
            excluded=windows.excluded[i],
        )
        for i in range(len(windows))
    )


def _device_facts(trace: Trace, idle: Mapping[int, CauseTable]) -> tuple[DeviceFacts, ...]:
    """Per row of ``Trace.devices``: was it used, and how full did its memory get?"""
    return tuple(
        DeviceFacts(
            index=device.index,
            type=device.type,
            vendor=device.vendor,
            name=device.name,
            memory_bytes=device.memory_bytes,
            capability=device.capability,
            used=device.used,
            peak_allocated_bytes=_highest(trace, device, trace.memory.total_allocated),
            peak_reserved_bytes=_highest(trace, device, trace.memory.total_reserved),
            least_allocated_bytes=_lowest(trace, device, trace.memory.total_allocated),
            peak_event=_peak_event(trace, device),
            has_peak=peak_of(device) is not None,
            learned=idle[row].learned if row in idle else Learned(),
            lead_ns=lead(trace, row) if row in idle else None,
        )
        for row, device in enumerate(trace.devices)
    )


def _totals(trace: Trace, device: Device, totals: I64) -> I64:
    """The allocator events with a total of this device, as rows.

    Memory of the host is never a device's: it carries device id −1 and another type.
    """
    memory = trace.memory
    types = [code for code, name in _MEMORY_TYPES.items() if name in ("", device.type)]
    rows = is_any(memory.device_type, types) & (memory.device_id >= 0) & (totals >= 0)
    rows &= memory.device_id == _allocator_id(trace, device, memory.device_id[rows])
    return np.flatnonzero(rows)


def _highest(trace: Trace, device: Device, totals: I64) -> int | None:
    rows = _totals(trace, device, totals)
    return int(totals[rows].max()) if len(rows) else None


def _lowest(trace: Trace, device: Device, totals: I64) -> int | None:
    rows = _totals(trace, device, totals)
    return int(totals[rows].min()) if len(rows) else None


def _peak_event(trace: Trace, device: Device) -> PeakEvent | None:
    """What the host was in when the device's allocated total was highest; None without totals."""
    memory, host = trace.memory, trace.host
    rows = _totals(trace, device, memory.total_allocated)
    if not len(rows):
        return None
    row = int(rows[memory.total_allocated[rows].argmax()])
    ts = int(memory.ts[row])
    around = np.flatnonzero(
        (host.thread == memory.thread[row]) & (host.ts <= ts) & (host.ts + host.dur > ts)
    )
    if not len(around):
        return PeakEvent("[memory]", Spot(-1, int(memory.raw[row])), ts, 0)
    inner = int(around[-1])
    return PeakEvent(
        trace.strings[host.name[inner]],
        Spot(inner, int(host.raw[inner])),
        int(host.ts[inner]),
        int(host.dur[inner]),
    )


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
