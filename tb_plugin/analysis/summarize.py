"""The summary of a trace for the first screen, computed once, at ingest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import I64, distinct_values, is_any, take
from ..base.intervals import Intervals, length_within
from ..base.machine import side_by_side
from ..trace.model import Device, Trace
from .advice.claims import patterns_of
from .compile.build import compiled_facts
from .counters.measured import step_counters
from .counters.samples import Series, counters_of
from .device_work import DeviceWork, used_devices
from .facts import (
    Breakdown,
    Communication,
    CopySum,
    DeviceFacts,
    DeviceStep,
    Facts,
    Held,
    HostPartition,
    IdleTables,
    LaunchSums,
    Learned,
    Longest,
    PeakEvent,
    Spot,
    StepCounter,
    StepFacts,
)
from .host_activity import Hosts, hosts_of, traits
from .idle.causes import CauseTable, IdleCauses
from .idle.costs import communication, copies, launches, lead
from .idle.names import HeldNames, host_held, parallel
from .overview.attribution import (
    breakdowns,
    device_shares,
    host_partitions,
    longest_activity,
    partitions,
)
from .overview.utilization import StepGauges, gauges
from .recording import classified, counts, health_of, recording_facts, unavailable
from .serving.iterations import iterations_of
from .serving.model import IterationFacts
from .speed_of_light.devices import peak_of
from .steps import Windows, step_windows

# c10 DeviceType → the type of device as the trace names it.
_MEMORY_TYPES = {1: "GPU", 6: "GPU", 12: "XPU", 13: "MPS", 18: "HPU", 20: ""}


def summarize(trace: Trace) -> Facts:
    """The facts of a trace: a few kilobytes per step, whatever the size of the file."""
    works = used_devices(trace)
    hosts, windows, *series = side_by_side(
        lambda: hosts_of(trace),
        lambda: step_windows(trace),
        *(partial(_counters, work) for work in works),
    )
    counters = {work.device: one for work, one in zip(works, series, strict=True)}
    names = HeldNames(trace, hosts)
    causes = IdleCauses(names, windows)
    # What takes longest begins first, before them what has no steps that another thread could take.
    # Only one of them gives numbers to names.
    (
        on_host,
        patterns,
        (idle, held),
        measured,
        by_category,
        (spent, threads),
        (rows, recording, of_run, of_classes, peaks),
    ) = side_by_side(
        lambda: None if works else host_partitions(trace, hosts, windows),
        lambda: patterns_of(hosts, works, counters, windows),
        lambda: (
            {work.device: causes.of_device(work) for work in works},
            [()] * len(windows) if works else host_held(names, windows),
        ),
        lambda: {
            work.device: _Measured.of(hosts, work, windows, counters[work.device]) for work in works
        },
        lambda: breakdowns(hosts, works, windows),
        lambda: parallel(trace, hosts, windows),
        lambda: side_by_side(
            lambda: counts(trace),
            lambda: recording_facts(trace),
            lambda: traits(trace, hosts),
            lambda: classified(trace),
            lambda: [_peaks(trace, device) for device in trace.devices],
        ),
    )
    of_host = _HostSteps(by_category, on_host, held, spent, threads)
    iterations = iterations_of(trace, works, windows, names)
    steps = _steps(trace, windows, idle, measured, of_host, iterations)
    devices = _device_facts(trace, peaks, idle, measured)
    first = next((device for device in devices if device.used), None)
    return Facts(
        path=trace.path,
        base_ns=trace.base_ns,
        duration_ns=trace.end_ns,
        torch_era=trace.recording.torch_era,
        device_type=first.type if first else "CPU",
        rank=trace.recording.rank,
        world_size=trace.recording.world_size,
        host_name=trace.recording.host_name,
        step_source=trace.steps.source,
        step_family=trace.steps.family,
        steps=steps,
        devices=devices,
        traits=of_run,
        counts=rows,
        classified=of_classes,
        unavailable=unavailable(
            steps,
            trace.steps.source,
            devices,
            rows,
            recording,
            trace.recording.torch_era,
            trace.health.notes,
        ),
        health=health_of(trace, recording.accelerator),
        recording=recording,
        idle=IdleTables(names.table(), names.places.table(), causes.following),
        patterns=patterns,
        head_ns=windows.head_ns,
        tail_ns=windows.tail_ns,
        iterations=iterations,
        compiled=compiled_facts(trace),
    )


class _Measured(NamedTuple):
    """Figures of one device, by step."""

    gauges: list[StepGauges]
    launches: list[LaunchSums]
    collectives: list[Communication]
    copies: list[tuple[CopySum, ...]]
    longest: list[tuple[Longest, ...]]
    shares: list[I64]
    counters: list[tuple[StepCounter, ...]]
    lead_ns: tuple[int, int, int] | None
    first_work_ns: int | None
    series: tuple[Series, ...]  # what was sampled of it

    @classmethod
    def of(
        cls, hosts: Hosts, work: DeviceWork, windows: Windows, series: tuple[Series, ...]
    ) -> _Measured:
        """``series``: samples of the device's counters."""
        # In the order of the fields: what takes longest begins first.
        columns = side_by_side(
            lambda: gauges(work, windows),
            lambda: launches(work, windows),
            lambda: communication(work, hosts, windows),
            lambda: copies(work, windows),
            lambda: longest_activity(work, windows),
            lambda: device_shares(work, windows),
            lambda: step_counters(work, windows, series),
            lambda: lead(work),
        )
        return cls._make((*columns, work.first_work_ns, series))


def _counters(work: DeviceWork) -> tuple[Series, ...]:
    """The counters of a device; what several parts ask of its work is known then."""
    side_by_side(lambda: work.busy, lambda: work.returned, lambda: work.by_time)
    return counters_of(work.trace, work.device)


class _HostSteps(NamedTuple):
    """Figures of the host, by step."""

    by_category: list[Breakdown]
    partition: list[HostPartition] | None
    held: list[tuple[Held, ...]]
    parallel_ns: I64
    threads: I64


def _steps(
    trace: Trace,
    windows: Windows,
    idle: Mapping[int, CauseTable],
    measured: Mapping[int, _Measured],
    host: _HostSteps,
    iterations: tuple[IterationFacts, ...],
) -> tuple[StepFacts, ...]:
    used = tuple(idle)
    labels = {one.index: one.label for one in iterations if trace.steps.source == "iteration"}
    parts = {}
    for row in used:
        start_up = length_within(idle[row].start_up, windows.start, windows.end)
        parts[row] = partitions(measured[row].shares, idle[row].ns, start_up)
    return tuple(
        StepFacts(
            index=i,
            number=int(trace.steps.number[i]),
            name=labels.get(i) or trace.text(int(trace.steps.name[i])),
            host_start_ns=int(windows.host_start[i]),
            host_end_ns=int(windows.host_end[i]),
            start_ns=int(windows.start[i]),
            end_ns=int(windows.end[i]),
            breakdown=host.by_category[i],
            devices=tuple(
                DeviceStep(
                    row,
                    parts[row][i],
                    measured[row].gauges[i].window,
                    measured[row].gauges[i].gap,
                    idle[row].idle[i],
                    measured[row].longest[i],
                    measured[row].collectives[i],
                    measured[row].copies[i],
                    measured[row].launches[i],
                    measured[row].counters[i],
                )
                for row in used
            ),
            host=host.partition[i] if host.partition is not None else None,
            launches=int(windows.launches[i]),
            device_events=int(windows.device_events[i]),
            host_held=host.held[i],
            parallel_ns=int(host.parallel_ns[i]),
            threads=int(host.threads[i]),
            excluded=windows.excluded[i],
        )
        for i in range(len(windows))
    )


def _device_facts(
    trace: Trace,
    peaks: Sequence[Mapping[str, Any]],
    idle: Mapping[int, CauseTable],
    measured: Mapping[int, _Measured],
) -> tuple[DeviceFacts, ...]:
    """Per row of ``Trace.devices``: was it used, and how full did its memory get (``peaks``)?"""
    return tuple(
        DeviceFacts(
            index=device.index,
            type=device.type,
            vendor=device.vendor,
            name=device.name,
            memory_bytes=device.memory_bytes,
            capability=device.capability,
            used=device.used,
            **peaks[row],
            has_peak=peak_of(device) is not None,
            learned=idle[row].learned if row in idle else Learned(),
            lead_ns=measured[row].lead_ns if row in measured else None,
            counters=tuple(one.facts for one in measured[row].series) if row in measured else (),
            first_work_ns=measured[row].first_work_ns if row in measured else None,
            start_up=_spans(idle[row].start_up) if row in idle else (),
        )
        for row, device in enumerate(trace.devices)
    )


def _spans(some: Intervals) -> tuple[tuple[int, int], ...]:
    return tuple(zip(some.start.tolist(), some.end.tolist(), strict=True))


def _totals(trace: Trace, device: Device, totals: I64) -> I64:
    """The allocator events with a total of this device, as rows.

    Memory of the host is never a device's: it carries device id −1 and another type.
    """
    memory = trace.memory
    if not len(memory):
        return np.zeros(0, np.int64)
    types = [code for code, name in _MEMORY_TYPES.items() if name in ("", device.type)]
    rows = is_any(memory.device_type, types) & (memory.device_id >= 0) & (totals >= 0)
    rows &= memory.device_id == _allocator_id(trace, device, memory.device_id[rows])
    return np.flatnonzero(rows)


def _peaks(trace: Trace, device: Device) -> dict[str, Any]:
    """Peak memory of a device, and its time."""
    memory = trace.memory
    rows = _totals(trace, device, memory.total_allocated)
    allocated = take(memory.total_allocated, rows)
    reserved = take(memory.total_reserved, _totals(trace, device, memory.total_reserved))
    return {
        "peak_allocated_bytes": int(allocated.max()) if len(allocated) else None,
        "peak_reserved_bytes": int(reserved.max()) if len(reserved) else None,
        "least_allocated_bytes": int(allocated.min()) if len(allocated) else None,
        "peak_event": _peak_event(trace, int(rows[allocated.argmax()])) if len(rows) else None,
    }


def _peak_event(trace: Trace, row: int) -> PeakEvent:
    """The host's activity at an allocator event."""
    memory, host = trace.memory, trace.host
    ts = int(memory.ts[row])
    low, high = np.searchsorted(host.thread, memory.thread[row] + np.array([0, 1], np.int32))
    high = low + np.searchsorted(host.ts[low:high], ts, side="right")
    around = low + np.flatnonzero(host.ts[low:high] + host.dur[low:high] > ts)
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
