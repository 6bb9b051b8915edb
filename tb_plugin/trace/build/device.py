"""Tables of everything outside host threads: device work, ranges, allocator events, counters."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial

import numpy as np
from msgspec import Struct

from ...base.arrays import (
    I8,
    I32,
    I64,
    Sparse,
    dense,
    distinct,
    equal,
    lookup,
    take,
    where,
)
from ...base.machine import each, side_by_side
from ...base.regex import regex
from ..model import CounterTable, DeviceKind, EventTable, MemoryTable, RangeTable
from ..raw import COUNTER_ARGS, RawTrace, Texts
from .categories import DEVICE_LABELS, EventRole
from .devices import Devices, Streams
from .metadata import device_type
from .occupancy import Filled, fill_occupancy
from .order import order_rows
from .route import Rows

_KINDS = {
    EventRole.KERNEL: DeviceKind.KERNEL,
    EventRole.MEMCPY: DeviceKind.MEMCPY,
    EventRole.MEMSET: DeviceKind.MEMSET,
    EventRole.DEVICE_OTHER: DeviceKind.OTHER,
}
WITHOUT = ("correlation", "device", "stream")
"""Args of device work that are columns of their own."""

_COUNTERS = regex(rf"({'|'.join(DEVICE_LABELS)})[\s:_-]*(\d{{1,9}}) Counters$", re.IGNORECASE)
# CUPTI's numbers, where an exporter writes one in place of the word.
_COPY_KINDS = {"9": "HtoH"}
_MEMORY_KINDS = {
    "1": "Pageable",
    "2": "Pinned",
    "3": "Device",
    "4": "Array",
    "5": "Managed",
    "6": "Device Static",
    "7": "Managed Static",
}
_COPY_KIND = regex(r"[HDAP]to[HDAP]$")


class DeviceRows(EventTable, frozen=True, eq=False):
    """The rows of the device table in order, before sparse columns."""

    kind: I8
    stream: I32
    raw: I32


class Activity(EventTable, frozen=True, eq=False):
    """Columns of ``DeviceTable`` that need no links."""

    kind: I8
    device: I32
    stream: I32
    correlation: I64
    external_id: I64
    raw: I32
    args: dict[str, Sparse]


class Instants(Struct, frozen=True, eq=False):
    """The rows of a table of instants in the order of time; at one instant, file order."""

    ts: I64
    name: I32
    owner: I32  # thread of allocator events, device of counters
    raw: I32


def order_device(raw: RawTrace, rows: Rows, streams: Streams, start: int) -> DeviceRows:
    """Device work sorted by (stream, ts)."""
    # A row without a stream has −1: those come first.
    ordered = order_rows(rows.device, streams.of_device + np.int32(1), rows.ts)
    row = ordered.row
    kinds = lookup(_KINDS, max(EventRole) + 1, DeviceKind.OTHER)
    return DeviceRows(
        ts=take(rows.ts, row) - start,
        dur=take(rows.dur, row),
        name=take(raw.events.name, row),
        category=take(raw.events.category, row),
        kind=take(kinds, take(rows.role, row)),
        stream=ordered.group - np.int32(1),
        raw=row,
    )


def build_activity(
    texts: Texts, rows: DeviceRows, streams: Streams, args: dict[str, Sparse]
) -> Activity:
    """Device work with its ids; ``args`` are its sparse columns."""
    correlation, external_id = side_by_side(
        partial(dense, args.get("correlation"), len(rows.ts), -1),
        partial(dense, args.get("external_id"), len(rows.ts), -1),
    )
    return Activity(
        ts=rows.ts,
        dur=rows.dur,
        name=_names_by_args(texts, rows, args),
        category=rows.category,
        kind=rows.kind,
        device=take(streams.table.device, rows.stream),
        stream=rows.stream,
        correlation=correlation,
        external_id=external_id,
        raw=rows.raw,
        args={name: args[name] for name in args if name not in WITHOUT},
    )


def occupancy_of(texts: Texts, activity: Activity, devices: Devices) -> Filled:
    """The columns of occupancy of some device work; none where no kernel is among it."""
    kernels = equal(activity.kind, DeviceKind.KERNEL)
    if kernels.any():
        return fill_occupancy(texts, kernels, activity.device, devices.limits, activity.args)
    return Filled({}, computed=0, unknown=0)


def _names_by_args(texts: Texts, rows: DeviceRows, args: Mapping[str, Sparse]) -> I32:
    """The names, those of copies and sets completed from their arguments.

    Kineto calls a copy "Memcpy HtoD (Pinned -> Device)" and a set "Memset (Device)". A recorder
    that calls all of them "Memcpy" and "Memset" says the same in arguments: one name for one thing.
    """
    bare = texts.table(rows.name, lambda text: text in ("Memcpy", "Memset"), np.bool_)
    if not bare.any():
        return rows.name
    row = where(take(bare, rows.name))
    columns = ("copy_kind", "source_memory", "target_memory", "memory_kind")
    told = np.stack([dense(args.get(name), len(rows.ts), -1)[row] for name in columns])
    kinds, place = np.unique(np.vstack([told, rows.name[row]]), axis=1, return_inverse=True)
    codes = [
        texts.code(_full_name(*(texts[code] if code >= 0 else "" for code in kind)))
        for kind in kinds.T.tolist()
    ]
    name: I32 = rows.name.copy()
    name[row] = np.array(codes, np.int32)[place.reshape(-1)]
    return name


def _full_name(kind: str, source: str, target: str, memory: str, name: str) -> str:
    """Kineto's name of a copy or a set with these arguments; "" = unknown.

    >>> _full_name("HtoD", "pageable", "device", "", "Memcpy")
    'Memcpy HtoD (Pageable -> Device)'
    """
    if name == "Memset":
        memory = _memory(memory)
        return f"Memset ({memory})" if memory else name
    kind = _COPY_KINDS.get(kind, kind)
    if not _COPY_KIND.match(kind):
        return name
    source, target = _memory(source), _memory(target)
    ends = f" ({source or 'Unknown'} -> {target or 'Unknown'})" if source or target else ""
    return f"Memcpy {kind}{ends}"


def _memory(text: str) -> str:
    """A kind of memory as Kineto writes it; "" where it is not known."""
    words = text.replace("_", " ").title()
    known = _MEMORY_KINDS.get(text, words)
    return known if known in _MEMORY_KINDS.values() else ""


def counter_devices(raw: RawTrace, texts: Texts, rows: I32, devices: Devices) -> I32:
    """Device row of each counter event: its process is the device, or "GPU 0 Counters"."""
    pid = take(raw.events.pid, rows)
    by_pid = np.full(len(texts), -1, np.int32)
    for code in distinct(pid, len(texts)).tolist():
        by_pid[code] = devices.row_of_pid.get(code, -1)
        if found := _COUNTERS.match(texts[code]):
            by_pid[code] = devices.numbered(device_type(found[1]), int(found[2]))
    return take(by_pid, pid)


def order_ranges(
    raw: RawTrace, texts: Texts, rows: Rows, some: I32, stream: I32, devices: Devices, start: int
) -> RangeTable:
    """Ranges in time order, without args; ``stream`` has one entry for each of ``some`` rows."""
    order = np.argsort(rows.ts[some], kind="stable")
    row = some[order]
    device = np.full(len(texts), -1, np.int32)
    for pid, place in devices.row_of_pid.items():
        device[pid] = place
    return RangeTable(
        ts=rows.ts[row] - start,
        dur=rows.dur[row],
        name=take(raw.events.name, row),
        category=take(raw.events.category, row),
        device=take(device, take(raw.events.pid, row)),
        stream=stream[order],
        raw=row,
        args={},
    )


def order_instants(raw: RawTrace, rows: Rows, some: I32, owner: I32, start: int) -> Instants:
    """Instants in the order of time; ``owner`` has one entry for each of ``some`` rows."""
    ts = take(rows.ts, some)
    if (ts[1:] >= ts[:-1]).all():
        row = some
    else:
        order = np.argsort(ts, kind="stable")
        row, ts, owner = take(some, order), take(ts, order), take(owner, order)
    return Instants(ts=ts - start, name=take(raw.events.name, row), owner=owner, raw=row)


_OF_MEMORY = {
    "memory_bytes": 0,
    "device_type": 0,
    "device_id": -1,
    "address": 0,
    "total_allocated": -1,
    "total_reserved": -1,
}
"""Args of allocator events, and the value of a missing one."""


def build_memory(rows: Instants, args: dict[str, Sparse]) -> MemoryTable:
    """Allocator events in time order; at one instant, file order."""

    def column(name: str) -> I64:
        return dense(args.pop(name, None), len(rows.ts), _OF_MEMORY[name])

    size, kind, device, address, allocated, reserved = each(column, list(_OF_MEMORY))
    return MemoryTable(
        ts=rows.ts,
        bytes=size,
        device_type=kind.astype(np.int32),
        device_id=device.astype(np.int32),
        address=address,
        total_allocated=allocated,
        total_reserved=reserved,
        thread=rows.owner,
        raw=rows.raw,
    )


def build_counters(rows: Instants, texts: Texts, args: dict[str, Sparse]) -> CounterTable:
    """Counter samples in time order."""
    values = dense(args.get(COUNTER_ARGS), len(rows.ts), texts.code("{}")).astype(np.int32)
    return CounterTable(rows.ts, rows.name, values, rows.owner, rows.raw)
