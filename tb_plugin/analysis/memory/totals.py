"""What do blocks leave unexplained of a total, and what would the peak be without a category?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import msgspec
import numpy as np
from msgspec import Struct

from ...base.arrays import I8, I64
from .curve import layer_totals
from .events import EventPairs
from .model import Category, MemoryBlocks, MemoryColumns, MemoryDevice, MemoryEvents, Strays

T = TypeVar("T", bound=Struct)


def strays_between(
    device: MemoryDevice, events: MemoryEvents, blocks: MemoryBlocks, pairs: EventPairs
) -> Strays:
    """Difference between the changes of the blocks and those of the total."""
    rows: list[I64] = []
    kinds: list[I8] = []
    sizes: list[I64] = []

    def add(row: I64, category: I8 | int, size: I64) -> None:
        kept = np.flatnonzero(size != 0)
        rows.append(row[kept])
        sizes.append(size[kept])
        kinds.append(np.broadcast_to(np.asarray(category, np.int8), row.shape)[kept])

    mine = device.events
    first = int(events.allocated[mine.start] - events.bytes[mine.start])
    jump = np.diff(events.allocated[mine], prepend=first) - events.bytes[mine]
    add(np.arange(mine.start, mine.stop), Category.UNKNOWN, jump)
    # A release of another size than its allocation.
    ends = np.flatnonzero((blocks.allocation >= 0) & (blocks.release >= 0))
    release = blocks.release[ends].astype(np.int64)
    differs = -events.bytes[release] - blocks.bytes[ends]
    add(release, blocks.category[ends], differs)
    add(release, Category.UNKNOWN, -differs)
    # A block whose release was lost ends when its address is given out again.
    again = pairs.lost_event + mine.start
    add(again, blocks.category[pairs.lost], -blocks.bytes[pairs.lost])
    add(again, Category.UNKNOWN, blocks.bytes[pairs.lost])
    row = np.concatenate(rows)
    order = np.argsort(row, kind="stable")
    return Strays(
        row[order].astype(np.int32), np.concatenate(kinds)[order], np.concatenate(sizes)[order]
    )


def with_totals(columns: MemoryColumns, device: MemoryDevice, states: int) -> MemoryDevice:
    """The figures that take a walk over all events."""
    if not device.has_addresses:
        return device
    gradients = int(layer_totals(columns, device, Category.GRADIENT).max(initial=0))
    kept = max(device.kept_bytes, 0)
    # What was kept is parameters and the optimizer's states; gradients are as large as parameters.
    of_states = min(states * gradients, max(kept - gradients, 0)) if gradients else 0
    return msgspec.structs.replace(device, gradient_bytes=gradients, kept_states_bytes=of_states)


def joined(kind: type[T], tables: Sequence[T]) -> T:
    """Tables of several devices as one."""
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(table, name) for table in tables])
        if tables
        else np.empty(0, np.int32)
        for name in kind.__struct_fields__
    }
    return kind(**columns)
