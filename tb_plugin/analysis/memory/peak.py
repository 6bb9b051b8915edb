"""What is alive at an instant, and what would be the highest total without it?

``alive`` divides the total after one event by category, module, op and size. ``peaks`` finds the
highest total of a device, and the second one that would be left if the first were lowered.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from ...base.arrays import I64, equal_rows
from .categories import NO_RULE, PERSISTENT, STATES_BEFORE, TOLD_BY_TORCH
from .curve import by_category, layers_at, second_peak
from .model import BEFORE, NONE, Category, MemoryColumns, MemoryDevice


class Peaks(NamedTuple):
    """Events of a device, counted from its first, after which its total is highest."""

    first: int  # −1: before its first event; of a range possibly the event before it
    second: int  # the highest apart from it, in its step, see second_peak; −1: there is none


def peaks(columns: MemoryColumns, device: MemoryDevice, span: slice | None = None) -> Peaks:
    """The two peaks of a device; for a range, of its events and the memory held before them."""
    span = span or slice(0, device.stop - device.first)
    allocated = columns.events.allocated[device.events][span]
    before = span.start - 1
    if not len(allocated):
        return Peaks(before, NONE)
    first = int(allocated.argmax())
    if total_after(columns, device, before) > int(allocated[first]):
        return Peaks(before, span.start + first)
    ts = columns.events.ts[device.events][span]
    step = step_at(columns, int(ts[first]))
    mask = np.ones(len(ts), bool)
    if step >= 0:
        mask = (ts >= columns.steps.start[step]) & (ts < columns.steps.end[step])
    second = second_peak(allocated, first, mask)
    return Peaks(span.start + first, span.start + second if second >= 0 else NONE)


def total_after(columns: MemoryColumns, device: MemoryDevice, row: int) -> int:
    """The total of a device after an event, counted from its first; −1 is before it."""
    return device.base_bytes if row < 0 else int(columns.events.allocated[device.first + row])


def step_at(columns: MemoryColumns, ts: int) -> int:
    """The step that holds an instant on the host; −1 where none does, or none is marked."""
    steps = columns.steps
    if not steps.marked:
        return NONE
    at = int(np.searchsorted(steps.start, ts, side="right")) - 1
    return at if at >= 0 and ts < int(steps.end[at]) else NONE


class AliveGroup(Struct, frozen=True, eq=False):
    """Blocks of one category, module, op and size that are alive at an instant."""

    category: Category
    module: int  # code, −1
    path: int  # row of OpPaths, −1
    bytes: int  # of one
    count: int
    block: int  # row of MemoryBlocks: the first of them; −1 for what no block stands for
    rule: int  # row of RULES

    @property
    def total_bytes(self) -> int:
        """Their sum."""
        return self.bytes * self.count


def alive(columns: MemoryColumns, device: MemoryDevice, row: int) -> tuple[AliveGroup, ...]:
    """Contents of the total after an event, the largest first; they sum to it exactly.

    ``row`` counts from the first event of the device; −1 is before it. What was there before the
    recording began and is never released, and what no event explains, are groups of one.
    """
    blocks, mine = columns.blocks, device.blocks
    event = row + device.first
    ts = int(columns.events.ts[event]) if row >= 0 else BEFORE
    born = blocks.allocation[mine] <= event if row >= 0 else blocks.start[mine] == BEFORE
    release = blocks.release[mine]
    open_ = np.where(release >= 0, release > event, blocks.end[mine] > ts)
    rows = np.flatnonzero(born & open_) + mine.start
    groups = list(_grouped(columns, rows))
    sums = np.zeros(len(Category), np.int64)
    for one in groups:
        sums[one.category] += one.total_bytes
    at = np.array([row], np.int64)
    wanted = layers_at(columns, device, at, by_category(columns, device))[:, 0]
    for category in Category:
        rest = int(wanted[category] - sums[category])
        if rest:
            rule = TOLD_BY_TORCH if columns.told_base else _rule_of_rest(category)
            groups.append(AliveGroup(category, NONE, NONE, rest, 1, NONE, rule))
    return tuple(sorted(groups, key=lambda one: -one.total_bytes))


def _rule_of_rest(category: Category) -> int:
    return {Category.PARAMETER: PERSISTENT, Category.OPTIMIZER: STATES_BEFORE}.get(
        category, NO_RULE
    )


def _grouped(columns: MemoryColumns, rows: I64) -> Iterator[AliveGroup]:
    blocks = columns.blocks
    keys = (
        blocks.bytes[rows], blocks.path[rows], blocks.module[rows], blocks.rule[rows],
        blocks.category[rows],
    )  # fmt: skip
    for same in equal_rows(*keys):
        at = int(rows[same[0]])
        yield AliveGroup(
            Category(int(blocks.category[at])),
            int(blocks.module[at]),
            int(blocks.path[at]),
            int(blocks.bytes[at]),
            len(same),
            at,
            int(blocks.rule[at]),
        )


def most_reserved(columns: MemoryColumns, device: MemoryDevice, span: slice) -> int:
    """The most reserved memory in a range; without a history the reserved memory at its end."""
    reserved = columns.events.reserved[device.events][max(span.start - 1, 0) : span.stop]
    if span.start > 0:
        return int(reserved.max(initial=0))
    spans = slice(device.first_segment, device.stop_segment)
    before = columns.segments.start[spans] == BEFORE
    base = int(columns.segments.bytes[spans][before].sum())
    return int(reserved.max(initial=base))
