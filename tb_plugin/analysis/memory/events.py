"""Which allocations and releases were there, of which device, and which belong together?

``sort_events`` puts the allocator events in order by device; ``hosts_of_events`` finds the host
event in which each happened; ``pair`` makes blocks of them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ...base.arrays import I32, I64, B, take
from ...trace.build.nest import innermost_at, nest
from ...trace.model import MemoryTable, Trace
from ..timeline.tracks import HOST, memory_devices
from .model import BEFORE, NEVER, NONE

# c10 DeviceType → its name in torch
TYPE_NAMES = {
    0: "cpu", 1: "cuda", 2: "mkldnn", 3: "opengl", 4: "opencl", 5: "ideep", 6: "hip", 7: "fpga",
    8: "maia", 9: "xla", 10: "vulkan", 11: "metal", 12: "xpu", 13: "mps", 14: "meta", 15: "hpu",
    16: "ve", 17: "lazy", 18: "ipu", 19: "mtia", 20: "privateuse1",
}  # fmt: skip
SHARED = "cpu:shared"


class Counted(Struct, frozen=True, eq=False):
    """The events of one counter, in order of time: rows of ``Trace.memory``."""

    key: str
    label: str
    kind: int
    number: int
    capacity_bytes: int | None
    rows: I64


MOST_BYTES = 1 << 50
"""No device has more: an event, or a total, beyond it is damaged."""
_LAST_ADDRESS = 1 << 62


def sort_events(trace: Trace) -> tuple[Counted, ...]:
    """The events of each device, accelerators first, the host last; damaged ones left out."""
    return tuple(sorted(_counted(trace), key=lambda one: (one.kind == HOST, one.kind, one.number)))


def damaged(memory: MemoryTable) -> B:
    """Events of a size that no device has."""
    return np.asarray((memory.bytes >= MOST_BYTES) | (memory.bytes <= -MOST_BYTES))


def known_addresses(memory: MemoryTable, rows: I64) -> I64:
    """The addresses of events; 0 where none was recorded, or none that a block can have."""
    address = memory.address[rows]
    return np.where((address > 0) & (address < _LAST_ADDRESS), address, 0)


def has_totals(memory: MemoryTable, rows: I64) -> bool:
    """True if all of these events carry a plausible total."""
    total = memory.total_allocated[rows]
    return bool(((total >= 0) & (total < MOST_BYTES)).all())


def _counted(trace: Trace) -> Iterator[Counted]:
    memory, owners = trace.memory, memory_devices(trace)
    sound = ~damaged(memory)
    for kind, number in memory.allocating_devices():
        rows = np.flatnonzero(sound & (memory.device_type == kind) & (memory.device_id == number))
        if not len(rows):
            continue
        if kind == HOST:
            yield from _of_host(memory, rows, number)
            continue
        name = TYPE_NAMES.get(kind, f"type{kind}")
        key = f"{name}:{number}" if number >= 0 else name
        row = owners.get((kind, number))
        if row is None:
            place = f" {number}" if number >= 0 else ""
            yield Counted(key, f"{_shown(name)}{place}", kind, number, None, rows)
            continue
        device = trace.devices[row]
        label = f"{device.type} {device.index}" + (f" · {device.name}" if device.name else "")
        yield Counted(key, label, kind, number, _capacity(trace, row), rows)


def _capacity(trace: Trace, row: int) -> int | None:
    """The memory of a device; of one the file does not describe, that of all others of its type."""
    device = trace.devices[row]
    others = {one.memory_bytes for one in trace.devices if one.type == device.type} - {None}
    found = device.memory_bytes or (others.pop() if len(others) == 1 else None)
    return found if found and 0 < found < MOST_BYTES else None


def _shown(name: str) -> str:
    return {"cuda": "GPU", "hip": "GPU", "privateuse1": "PrivateUse1"}.get(name, name.upper())


def _of_host(memory: MemoryTable, rows: I64, number: int) -> Iterator[Counted]:
    shared = mapped_files(memory, rows)
    for key, label, mine in (
        ("cpu", "CPU", rows[~shared]),
        (SHARED, "CPU, shared memory", rows[shared]),
    ):
        if len(mine):
            yield Counted(key, label, HOST, number, None, mine)


def mapped_files(memory: MemoryTable, rows: I64) -> B:
    """Which events of the host are of files mapped into memory, by which workers share tensors.

    torch reports them beside its allocator's events, with a total of 0 and their own size as
    reserved; those of the allocator continue its total:

        bytes       +64    +8     −8    −64
        allocated    64     0      0      0
        reserved      0     8      0      0
                     ↑      ↑ mapped      ↑ 64 − 64: of the allocator
    """
    size, total = memory.bytes[rows], memory.total_allocated[rows]
    reserved = memory.total_reserved[rows]
    born = (size > 0) & (total == 0) & (reserved == size)
    # A release that leaves nothing is the allocator's if the total before it was its size, and if
    # it is the first such since.
    left = (size < 0) & (total == 0) & (reserved == 0)
    plain = ~born & ~left
    last = np.maximum.accumulate(np.where(plain, np.arange(len(rows)), -1))
    fits = left & (last >= 0)
    fits[fits] = total[last[fits]] == -size[fits]
    first = np.flatnonzero(fits)
    fits[first[1:][last[first[1:]] == last[first[:-1]]]] = False
    mapped = born | (left & ~fits & (last >= 0))
    # Before the first total there is nothing to continue: one release may be the allocator's.
    ahead = left & (last < 0)
    if mapped.any() or np.count_nonzero(ahead) > 1:
        mapped |= ahead
    return np.asarray(mapped)


def hosts_of_events(trace: Trace) -> I32:
    """The innermost host event around each allocator event, on its thread; −1 where none is open.

    An event lasts from its start up to, but without, its end.
    """
    host, memory = trace.host, trace.memory
    if not len(host):
        return np.full(len(memory), NONE, np.int32)
    first = np.ones(len(host), bool)
    np.not_equal(host.thread[1:], host.thread[:-1], out=first[1:])
    end = host.ts + host.dur
    outer = nest(host.ts, host.dur, first, np.zeros(len(host), np.int8), 0).outer
    threads = np.arange(len(trace.threads) + 1, dtype=host.thread.dtype)
    begin = np.searchsorted(host.thread, threads).tolist()
    start = np.full(len(memory), NONE, np.int64)
    for thread in range(len(trace.threads)):
        rows = np.flatnonzero(memory.thread == thread)
        low, high = begin[thread], begin[thread + 1]
        if len(rows) and high > low:
            at = low - 1 + np.searchsorted(host.ts[low:high], memory.ts[rows], side="right")
            start[rows] = np.where(at >= low, at, NONE)
    return innermost_at(end, outer, memory.ts, start)


class EventPairs(Struct, frozen=True, eq=False):
    """Blocks of one device in order of allocation; events count from the first of the device.

    ``lost`` are blocks whose release was not recorded: their address was given out again.
    """

    allocation: I64  # event, −1
    release: I64  # event, −1
    start: I64
    end: I64
    bytes: I64
    lost: NDArray[np.intp]
    lost_event: I64  # with which each of them shows


def pair(ts: I64, size: I64, address: I64) -> EventPairs:
    """Allocations with their releases, by address.

        +a  +b  −a  −c  +b
        ├───────┤                a block
            ├───────────┤        b, whose release is not in the recording
        ────────────┤            c, there before the recording began
                        ├─…      b again

    A release of an address that was released before is a block of which nothing else is known: it
    has no length. Events of no bytes are no blocks.
    """
    order = np.argsort(address, kind="stable")
    order = order[(size[order] != 0) & (address[order] != 0)]
    grows = size[order] > 0
    same = np.zeros(len(order), bool)  # as the next event of the address
    np.equal(address[order[1:]], address[order[:-1]], out=same[:-1])
    following = np.append(order[1:], NONE)
    freed_next = same & ~np.append(grows[1:], True)
    born = np.flatnonzero(grows)
    ends = freed_next[born]
    taken_again = same[born] & ~ends
    release = np.where(ends, following[born], NONE)
    end = np.where(same[born], ts[following[born]], NEVER)
    # Releases without an allocation before them.
    before = np.concatenate([[False], same[:-1]]) if len(order) else same
    grown_before = np.concatenate([[False], grows[:-1]]) if len(order) else same
    alone = np.flatnonzero(~grows & ~(before & grown_before))
    unknown = before[alone]
    start = np.where(unknown, ts[order[alone]], BEFORE)
    allocation = np.concatenate([order[born], np.full(len(alone), NONE)])
    result_release = np.concatenate([release, order[alone]])
    result_start = np.concatenate([ts[order[born]], start])
    key = np.where(allocation >= 0, allocation, result_release)
    rank = np.lexsort((key, result_start))
    place = np.empty(len(rank), np.intp)
    place[rank] = np.arange(len(rank))
    again = np.flatnonzero(taken_again)
    return EventPairs(
        allocation=allocation[rank],
        release=result_release[rank],
        start=result_start[rank],
        end=np.concatenate([end, ts[order[alone]]])[rank],
        bytes=np.abs(take(size, key[rank])) if len(rank) else size[:0],
        lost=place[again],
        lost_event=following[born[again]],
    )
