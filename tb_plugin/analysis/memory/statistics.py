"""How much did each op allocate, of any range of time? The seven figures of the classic table.

An allocator event belongs to the innermost op that runs on its thread at that instant. *Self*
counts the events of the op alone, the others those of the ops inside it, too; a release counts for
the op that runs when it happens. Events outside of all ops have a row of their own, so the self
increases of all rows sum to the change of the curve.

Chains of ops are few where events are many: events are added up by chain, then along the chains.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from ...base.arrays import I32, I64
from ...base.group_sums import group_sums
from ..call_tree.paths import sums_below
from .curve import rows_between
from .model import NONE, MemoryColumns, MemoryDevice


class Statistics(Struct, frozen=True, eq=False):
    """One row per name of an op, in any order; shape (n,)."""

    name: I32  # code, −1 outside of ops
    calls: I64  # that touch the range; −1 outside of ops
    increase_bytes: I64  # allocated less released, with ops inside
    self_increase_bytes: I64
    allocations: I64
    self_allocations: I64
    allocation_bytes: I64  # releases aside
    self_allocation_bytes: I64
    strings: Sequence[str]

    def __len__(self) -> int:
        return len(self.name)

    def text(self, code: int) -> str:
        """The name of a code, "" outside of ops."""
        return self.strings[code] if code >= 0 else ""


def statistics(columns: MemoryColumns, device: MemoryDevice, start: int, end: int) -> Statistics:
    """The ops of a device with an event in [start, end)."""
    events, paths, mine = columns.events, columns.paths, device.events
    span = rows_between(columns, device, start, end)
    rows = slice(mine.start + span.start, mine.start + span.stop)
    path, size = events.path[rows], events.bytes[rows]
    count = len(paths)
    cell = path + 1  # the first one is outside of ops
    grows = size > 0
    born = cell[grows]
    every, grown = (
        group_sums(cell, size, count + 1),
        group_sums(born, size[grows], count + 1),
    )
    own = np.stack([every.total, grown.count, grown.total])
    seen = every.count
    below = np.stack([sums_below(row[1:], paths.parent) for row in own])
    touched = sums_below(seen[1:].astype(np.int64), paths.parent) > 0
    names = len(columns.strings)
    used = np.flatnonzero(np.bincount(paths.name[touched], minlength=names))
    place = np.zeros(names, np.int64)
    place[used] = np.arange(len(used))
    group = place[paths.name[touched]]
    total = np.stack([_sums(group, row[touched], len(used)) for row in below])
    self_ = np.stack([_sums(group, row[1:][touched], len(used)) for row in own])
    calls = calls_between(columns, start, end)[used]
    if columns.is_snapshot:
        calls = np.full(len(used), NONE)  # it tells allocations, and no calls
    name = used.astype(np.int32)
    if seen[0]:
        outside = own[:, :1]
        total, self_ = np.hstack([total, outside]), np.hstack([self_, outside])
        name, calls = np.append(name, np.int32(NONE)), np.append(calls, NONE)
    return Statistics(
        name=name,
        calls=calls,
        increase_bytes=total[0],
        self_increase_bytes=self_[0],
        allocations=total[1],
        self_allocations=self_[1],
        allocation_bytes=total[2],
        self_allocation_bytes=self_[2],
        strings=columns.strings,
    )


def _sums(group: I64, value: I64, count: int) -> I64:
    found = np.zeros(count, np.int64)
    np.add.at(found, group, value)
    return found


def calls_between(columns: MemoryColumns, start: int, end: int) -> I64:
    """Number of calls of each name that touch [start, end); by code."""
    ops, names = columns.ops, len(columns.strings)
    begun = ops.name_by_start[: np.searchsorted(ops.start, end)]
    over = ops.name_by_end[: np.searchsorted(ops.end, start, side="right")]
    return np.bincount(begun, minlength=names) - np.bincount(over, minlength=names)
