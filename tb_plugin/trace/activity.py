"""Tables of all that is not on a host thread: device work, ranges, allocator events, counters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .categories import Role
from .columns import by_key_then_ts, dense, take
from .devices import Devices
from .model import CounterTable, DeviceKind, MemoryTable, RangeTable
from .parts import Part
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
WITHOUT = ("correlation", "device", "stream")
"""Args of device work that are columns of their own."""


@dataclass(frozen=True, slots=True, eq=False)
class DeviceRows:
    """The rows of the device table in their order, before anything sparse is known of them."""

    ts: I64
    dur: I64
    name: I32
    category: I32
    kind: I8
    stream: I32
    raw: I32


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


@dataclass(frozen=True, slots=True, eq=False)
class Instants:
    """The rows of a table of instants in the order of time; at one instant, file order."""

    ts: I64
    name: I32
    thread: I32
    raw: I32


def order_device(raw: RawTrace, rows: Rows, streams: Streams, start: int) -> DeviceRows:
    """Device work sorted by (stream, ts)."""
    part = rows.device
    order = by_key_then_ts(streams.of_device, part.ts)
    row = take(part.row, order)
    kinds = np.full(max(Role) + 1, DeviceKind.OTHER, np.int8)
    for role, kind in _KINDS.items():
        kinds[role] = kind
    return DeviceRows(
        ts=take(part.ts, order) - start,
        dur=take(part.dur, order),
        name=take(raw.events.name, row),
        category=take(raw.events.category, row),
        kind=take(kinds, take(rows.role, row)),
        stream=take(streams.of_device, order),
        raw=row,
    )


def build_activity(rows: DeviceRows, streams: Streams, args: dict[str, Sparse]) -> Activity:
    """Device work with its ids; ``args`` are its sparse columns."""
    return Activity(
        ts=rows.ts,
        dur=rows.dur,
        name=rows.name,
        category=rows.category,
        kind=rows.kind,
        device=take(streams.table.device, rows.stream),
        stream=rows.stream,
        correlation=dense(args.pop("correlation", None), len(rows.ts), -1),
        external_id=dense(args.get("external_id"), len(rows.ts), -1),
        raw=rows.raw,
        args={name: column for name, column in args.items() if name not in WITHOUT},
    )


def order_ranges(
    raw: RawTrace, texts: Texts, part: Part, stream: I32, devices: Devices, start: int
) -> RangeTable:
    """Ranges in time order, without args; ``stream`` has one entry for each row of ``part``."""
    order = np.argsort(part.ts, kind="stable")
    row = part.row[order]
    device = np.full(len(texts), -1, np.int32)
    for pid, place in devices.row_of_pid.items():
        device[pid] = place
    return RangeTable(
        ts=part.ts[order] - start,
        dur=part.dur[order],
        name=take(raw.events.name, row),
        category=take(raw.events.category, row),
        device=take(device, take(raw.events.pid, row)),
        stream=stream[order],
        raw=row,
        args={},
    )


def order_instants(raw: RawTrace, part: Part, thread: I32, start: int) -> Instants:
    """Instants in the order of time; ``thread`` has one entry for each row of ``part``, or none."""
    order = np.argsort(part.ts, kind="stable")
    row = take(part.row, order)
    return Instants(
        ts=take(part.ts, order) - start,
        name=take(raw.events.name, row),
        thread=take(thread, order) if len(thread) else thread,
        raw=row,
    )


def build_memory(rows: Instants, args: dict[str, Sparse]) -> MemoryTable:
    """Allocator events in time order; at one instant, file order."""

    def column(name: str, missing: int) -> I64:
        return dense(args.pop(name, None), len(rows.ts), missing)

    return MemoryTable(
        ts=rows.ts,
        bytes=column("memory_bytes", 0),
        device_type=column("device_type", 0).astype(np.int32),
        device_id=column("device_id", -1).astype(np.int32),
        address=column("address", 0),
        total_allocated=column("total_allocated", -1),
        total_reserved=column("total_reserved", -1),
        thread=rows.thread,
        raw=rows.raw,
    )


def build_counters(rows: Instants, texts: Texts, args: dict[str, Sparse]) -> CounterTable:
    """Counter samples in time order."""
    values = dense(args.get(COUNTER_ARGS), len(rows.ts), texts.code("{}")).astype(np.int32)
    return CounterTable(rows.ts, rows.name, values, rows.raw)
