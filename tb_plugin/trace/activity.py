"""Tables of all that is not on a host thread: device work, ranges, allocator events, counters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .categories import Role
from .columns import by_key_then_ts, cells, place_of, renumber, spread
from .devices import Devices
from .model import CounterTable, DeviceKind, MemoryTable, RangeTable
from .raw import COUNTER_ARGS, RawTrace, Sparse
from .rows import Rows
from .streams import Streams
from .texts import Texts

I8 = NDArray[np.int8]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]

_KINDS = {
    Role.KERNEL: DeviceKind.KERNEL,
    Role.MEMCPY: DeviceKind.MEMCPY,
    Role.MEMSET: DeviceKind.MEMSET,
    Role.DEVICE_OTHER: DeviceKind.OTHER,
}


@dataclass(frozen=True, slots=True, eq=False)
class Activity:
    """Columns of ``DeviceTable`` that need no links."""

    ts: I64
    dur: I64
    name: I32
    category: I32
    kind: I8
    device: I32
    stream: I32
    correlation: I64
    external_id: I64
    raw: I32
    args: dict[str, Sparse]

    @property
    def end(self) -> I64:
        """``ts + dur``."""
        return self.ts + self.dur


def build_activity(raw: RawTrace, rows: Rows, streams: Streams, start: int) -> Activity:
    """Device work sorted by (stream, ts)."""
    events = raw.events
    order = by_key_then_ts(streams.of_device, events.ts[rows.device])
    row, stream = rows.device[order], streams.of_device[order]
    place = place_of(row, len(events))
    kinds = np.full(max(Role) + 1, DeviceKind.OTHER, np.int8)
    for role, kind in _KINDS.items():
        kinds[role] = kind
    args = renumber(raw.ints, place, len(row), ("correlation", "device", "stream"))
    args |= renumber(raw.floats, place, len(row))
    args |= renumber(raw.texts, place, len(row))
    return Activity(
        ts=events.ts[row] - start,
        dur=rows.dur[row],
        name=events.name[row],
        category=events.category[row],
        kind=kinds[rows.role[row]],
        device=streams.table.device[stream],
        stream=stream,
        correlation=spread(raw.ints.get("correlation"), place, len(row), -1),
        external_id=spread(raw.ints.get("external_id"), place, len(row), -1),
        raw=row,
        args=args,
    )


def build_ranges(
    raw: RawTrace, row: I32, dur: I64, stream: I32, devices: Devices, start: int
) -> RangeTable:
    """Ranges in time order; ``row`` counts in the file, ``stream`` has one entry for each."""
    events = raw.events
    order = np.argsort(events.ts[row], kind="stable")
    row, stream = row[order], stream[order]
    place = place_of(row, len(events))
    args = renumber(raw.ints, place, len(row))
    args |= renumber(raw.floats, place, len(row))
    args |= renumber(raw.texts, place, len(row))
    device = [devices.row_of_pid.get(pid, -1) for pid in events.pid[row].tolist()]
    return RangeTable(
        ts=events.ts[row] - start,
        dur=dur[row],
        name=events.name[row],
        category=events.category[row],
        device=np.array(device, np.int32),
        stream=stream,
        raw=row,
        args=args,
    )


def build_memory(raw: RawTrace, rows: Rows, thread: I32, start: int) -> MemoryTable:
    """Allocator events in time order; at one instant, file order."""
    events = raw.events
    order = np.argsort(events.ts[rows.memory], kind="stable")
    row = rows.memory[order]
    place = place_of(row, len(events))

    def column(name: str, missing: int) -> I64:
        return spread(raw.ints.get(name), place, len(row), missing)

    return MemoryTable(
        ts=events.ts[row] - start,
        bytes=column("memory_bytes", 0),
        device_type=column("device_type", 0).astype(np.int32),
        device_id=column("device_id", -1).astype(np.int32),
        address=column("address", 0),
        total_allocated=column("total_allocated", -1),
        total_reserved=column("total_reserved", -1),
        thread=thread[order],
        raw=row,
    )


def build_counters(raw: RawTrace, texts: Texts, rows: Rows, start: int) -> CounterTable:
    """Counter samples in time order."""
    events = raw.events
    row = rows.counters[np.argsort(events.ts[rows.counters], kind="stable")]
    values = cells(raw.texts.get(COUNTER_ARGS), row, texts.code("{}")).astype(np.int32)
    return CounterTable(events.ts[row] - start, events.name[row], values, row)
