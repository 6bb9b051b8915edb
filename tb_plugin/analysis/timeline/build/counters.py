"""Counter tracks: memory, utilization, SM efficiency, queues, and counters in the file."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator

import numpy as np

from ....base.arrays import F64, I64, distinct_values
from ....base.intervals import length_within, union
from ....trace.model import DeviceClass, Link, Trace
from ...device_work import DeviceWork, used_devices
from ...overview.utilization import level, sparse_of
from ..model import Counter
from ..tracks import HOST, TrackGroups, memory_devices

_MOST_BUCKETS = 100
_RECORDER_SPAN = "PyTorch Profiler ("
# The one series that the second engine of torch computes and writes as if it were a counter.
_CYCLES = "Cycles (Current Kernel)"
_UNITS = {"W": "W", "C": "°C", "MHz": "MHz", "%": "%"}
_COMPUTED = (
    "Computed by the recorder, not measured: the duration of the kernel that starts here times the"
    " median SM clock of the recording."
)

_AS_RECORDED = "As recorded in the file."
_WITHOUT_UNIT = "As recorded in the file, which does not say in what unit."


def series_of(trace: Trace, groups: TrackGroups) -> list[Counter]:
    """All series of a trace, group by group, before their levels of detail."""
    found = [
        *_utilization(trace, groups),
        *_sm_efficiency(trace, groups),
        *_queues(trace, groups),
        *_memory(trace, groups),
        *_recorded(trace, groups),
    ]
    return sorted(found, key=lambda one: one.group)


def _utilization(trace: Trace, groups: TrackGroups) -> Iterator[Counter]:
    begun, end = recorded_span(trace)
    heads = {work.device: work.head_ns for work in used_devices(trace)}
    for device, rows in _kernels(trace):
        start = max(begun, heads.get(device, 0))
        ts = trace.device.ts[rows]
        busy = union(ts, ts + trace.device.dur[rows])
        edges = utilization_edges(start, end)
        if len(edges) < 2:
            continue
        length = np.diff(edges)
        share = length_within(busy, edges[:-1], edges[1:]) / length
        yield Counter(
            key=f"{_key(trace, device)}/utilization",
            group=groups.of_device[device],
            kind="utilization",
            label=f"{_name(trace, device)} utilization",
            unit="ratio",
            definition="Share of time in which at least one kernel runs, in buckets of"
            f" {int(length[0]):,} ns."
            + (" Before, the device was on work launched earlier." if start > begun else ""),
            ts=edges,
            value=np.append(share, 0.0),
        )


def utilization_edges(start: int, end: int) -> I64:
    """Borders of buckets of 10^n ns, more than 10 and up to 100 of them; the last may be longer."""
    size = 1
    while (end - start) // size > _MOST_BUCKETS:
        size *= 10
    count = (end - start) // size
    edges = start + size * np.arange(count + 1, dtype=np.int64)
    edges[-1] = end
    return edges if count else edges[:0]


def recorded_span(trace: Trace) -> tuple[int, int]:
    """The recorded time span, by the recorder's own event; else the whole trace."""
    for ts, dur, name in zip(
        trace.ranges.ts.tolist(), trace.ranges.dur.tolist(), trace.ranges.name.tolist(), strict=True
    ):
        if dur and trace.text(name).startswith(_RECORDER_SPAN):
            return ts, ts + dur
    return 0, trace.end_ns


def _sm_efficiency(trace: Trace, groups: TrackGroups) -> Iterator[Counter]:
    for device, rows in _kernels(trace):
        have, blocks = sparse_of(trace, "blocks_per_sm", rows)
        have &= blocks > 0
        if not have.any():
            continue
        ts = trace.device.ts[rows][have]
        start, stop, height = level(ts, ts + trace.device.dur[rows][have], blocks[have])
        at, value = steps(start, stop, np.minimum(height, 1.0))
        yield Counter(
            key=f"{_key(trace, device)}/sm_efficiency",
            group=groups.of_device[device],
            kind="sm_efficiency",
            label=f"{_name(trace, device)} est. SM efficiency",
            unit="ratio",
            definition="Thread blocks per SM of the kernels that run at an instant, added up, at"
            " most 1: the share of SMs that have work.",
            ts=at,
            value=value,
        )


def steps(start: I64, stop: I64, height: F64) -> tuple[I64, F64]:
    """Samples of segments in order of time, with 0 where there is none."""
    if not len(start):
        return start, height
    ends = np.append(stop[:-1] < start[1:], True)
    at = np.concatenate([start, stop[ends]])
    value = np.concatenate([height, np.zeros(int(ends.sum()))])
    order = np.argsort(at, kind="stable")
    return _without_repeats(at[order], value[order], 0.0)


def _queues(trace: Trace, groups: TrackGroups) -> Iterator[Counter]:
    """Launched work that has not begun, and the lead of calls over their work."""
    launch = trace.device.launch
    before = trace.device.link == Link.PROLOGUE
    for device in distinct_values(trace.device.device[launch >= 0]).tolist():
        mine = trace.device.device == device
        rows = _first_of_calls(trace, np.flatnonzero(mine & (launch >= 0)))
        begun = trace.device.ts[rows]
        called = np.minimum(trace.host.ts[launch[rows]], begun)
        # Launched before the recording began: in the queue until it begins.
        early = trace.device.ts[mine & before]
        at = np.concatenate([called, np.zeros_like(early), begun, early])
        change = np.repeat([1, -1], len(rows) + len(early))
        order = np.argsort(at, kind="stable")
        at, waiting = at[order], np.cumsum(change[order])
        last = np.append(at[1:] != at[:-1], True)
        ts, value = _without_repeats(at[last], waiting[last].astype(np.float64), 0.0)
        yield Counter(
            key=f"{_key(trace, device)}/queued",
            group=groups.of_device[device],
            kind="queue",
            label=f"{_name(trace, device)} queue",
            unit="count",
            definition="Launches whose call has begun and whose work has not; a graph replay counts"
            " as one. Launches from before the recording count from its start.",
            ts=ts,
            value=value,
        )
        yield _run_ahead(trace, groups, device, rows)


def _first_of_calls(trace: Trace, rows: I64) -> I64:
    """Of the work of one call what begins first; in order of its begin."""
    call, ts = trace.device.launch[rows], trace.device.ts[rows]
    order = np.lexsort((ts, call))
    rows = rows[order[np.flatnonzero(np.diff(call[order], prepend=-1))]]
    return np.asarray(rows[np.argsort(trace.device.ts[rows], kind="stable")])


def _run_ahead(trace: Trace, groups: TrackGroups, device: int, rows: I64) -> Counter:
    """From a call's return to the begin of its work, at that begin."""
    call = trace.device.launch[rows]
    ts = trace.device.ts[rows]
    ahead = np.maximum(ts - trace.host.ts[call] - trace.host.dur[call], 0)
    last = np.append(ts[1:] != ts[:-1], True)
    at, value = _without_repeats(ts[last], ahead[last].astype(np.float64), -1.0)
    return Counter(
        key=f"{_key(trace, device)}/run_ahead",
        group=groups.of_device[device],
        kind="queue",
        label=f"{_name(trace, device)} run-ahead",
        unit="ns",
        definition="From a launch's return to the begin of its work, for the work that began last:"
        " near zero, the host cannot keep ahead of the device.",
        ts=at,
        value=value,
    )


def _memory(trace: Trace, groups: TrackGroups) -> Iterator[Counter]:
    memory = trace.memory
    owners = memory_devices(trace)
    for kind, number in memory.allocating_devices():
        rows = np.flatnonzero((memory.device_type == kind) & (memory.device_id == number))
        device = owners.get((kind, number))
        group = groups.of_device[device] if device is not None else groups.host
        where = _name(trace, device) if device is not None else _place(kind, number)
        key = _key(trace, device) if device is not None else f"memory/{kind}/{number}"
        for stem, label, definition, ts, value in _totals(trace, rows):
            if not (stem == "reserved" and kind == HOST and not value.any()):
                yield Counter(
                    f"{key}/{stem}", group, "memory", f"{where} {label}", "bytes", definition,
                    ts, value,
                )  # fmt: skip


def _totals(trace: Trace, rows: I64) -> Iterator[tuple[str, str, str, I64, F64]]:
    """Stem, label, definition and samples of the allocator events of one device."""
    memory = trace.memory
    known = rows[memory.total_allocated[rows] >= 0]
    if len(known):
        text = "Bytes in use, as the allocator counted them at each allocation and release."
        yield (
            "allocated",
            "allocated memory",
            text,
            *_samples(memory.ts[known], memory.total_allocated[known]),
        )
    else:
        text = (
            "Bytes allocated less bytes released since the recording began: this recorder wrote no"
            " totals."
        )
        total = np.cumsum(memory.bytes[rows])
        yield "allocated", "memory, change", text, *_samples(memory.ts[rows], total)
    known = rows[memory.total_reserved[rows] >= 0]
    if len(known):
        text = "Bytes that the allocator holds, in use or ready to be used again."
        yield (
            "reserved",
            "reserved memory",
            text,
            *_samples(memory.ts[known], memory.total_reserved[known]),
        )


def _samples(ts: I64, value: I64) -> tuple[I64, F64]:
    return ts, value.astype(np.float64)


def _recorded(trace: Trace, groups: TrackGroups) -> Iterator[Counter]:
    """Counter events of the file: one series for each key of their values."""
    ts: dict[tuple[int, str, str], list[int]] = {}
    values: dict[tuple[int, str, str], list[float]] = {}
    texts: dict[int, dict[str, float]] = {}
    counters = trace.counters
    columns = (counters.ts, counters.device, counters.name, counters.values)
    for at, device, code, told in zip(*(one.tolist() for one in columns), strict=True):
        if told not in texts:
            texts[told] = _numbers(trace.text(told))
        for key, value in texts[told].items():
            ts.setdefault((device, trace.text(code), key), []).append(at)
            values.setdefault((device, trace.text(code), key), []).append(value)
    for (device, name, key), instants in ts.items():
        label = name if key in ("", name) else f"{name} · {key}"
        yield Counter(
            key=f"{_key(trace, device)}/{name}/{key}" if device >= 0 else f"counter/{name}/{key}",
            group=groups.of_device[device] if device >= 0 else groups.recorder,
            kind="counter",
            label=f"{_name(trace, device)} {label}" if device >= 0 else label,
            unit=_unit_in(name),
            definition=_defined(name),
            ts=np.array(instants, np.int64),
            value=np.array(values[device, name, key], np.float64),
        )


def _defined(name: str) -> str:
    if name == _CYCLES:
        return _COMPUTED
    return _AS_RECORDED if _unit_in(name) else _WITHOUT_UNIT


def _unit_in(name: str) -> str:
    """The unit that a recorder wrote behind a counter's name; "" where it wrote none.

    >>> _unit_in("SM Clock (MHz)"), _unit_in("NVLink TX")
    ('MHz', '')
    """
    return next((unit for end, unit in _UNITS.items() if name.endswith(f" ({end})")), "")


def _numbers(text: str) -> dict[str, float]:
    """The numbers of a sample; other values are skipped."""
    try:
        told = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(told, dict):
        told = {"": told}
    found = {}
    for key, value in told.items():
        try:
            number = float(value) if isinstance(value, int | float | str) else math.nan
        except (ValueError, OverflowError):
            continue
        if math.isfinite(number):
            found[key] = number
    return found


def _kernels(trace: Trace) -> Iterator[tuple[int, I64]]:
    for device in distinct_values(trace.device.device).tolist():
        rows = DeviceWork(trace, device).rows(DeviceClass.COMPUTE, DeviceClass.COMMUNICATION)
        if len(rows):
            yield device, rows


def _key(trace: Trace, device: int) -> str:
    one = trace.devices[device]
    return f"device/{one.type}/{one.index}"


def _name(trace: Trace, device: int) -> str:
    one = trace.devices[device]
    return f"{one.type} {one.index}"


def _place(kind: int, number: int) -> str:
    return "Host" if kind == HOST else f"Device {number} (type {kind})"


def _without_repeats(ts: I64, value: F64, before: float) -> tuple[I64, F64]:
    """The samples that change the value; ``before`` precedes the first one."""
    changes = np.diff(value, prepend=before) != 0
    if len(changes):
        changes[0] = True
    return ts[changes], value[changes]
