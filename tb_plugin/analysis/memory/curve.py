"""How much was allocated and reserved, when, and for what? Curves of any range, with few points.

A curve is a staircase: a point holds until the next one. Of many events those are kept that change
what is seen: of each column of pixels the first, the last, the lowest, the highest, and the highest
reserved. So no peak is lost, both ends are exact, and every point is an event.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ...base.arrays import I32, I64, B
from ...base.group_sums import group_sums
from .model import BEFORE, NONE, Category, MemoryColumns, MemoryDevice

_A_COLUMN = 5  # points of a column of pixels, at most


class Curve(Struct, frozen=True, eq=False):
    """Points in order of time; the first is at the start of the range, the last at its end.

    ``row`` is the event after which the values hold, counted from the first of the device; −1 for
    what held before it.
    """

    ts: I64
    row: I64
    allocated: I64
    reserved: I64  # −1 where not recorded
    events: int  # of the range
    peak: int  # index of the point with the highest ``allocated``, the first of several


def rows_between(columns: MemoryColumns, device: MemoryDevice, start: int, end: int) -> slice:
    """Events of a device in [start, end), counted from its first."""
    ts = columns.events.ts[device.events]
    low, high = np.searchsorted(ts, [start, end]).tolist()
    return slice(low, high)


def curve(columns: MemoryColumns, device: MemoryDevice, start: int, end: int, points: int) -> Curve:
    """The staircase in [start, end), of at most about ``points`` points."""
    events, mine = columns.events, device.events
    ts, allocated, reserved = events.ts[mine], events.allocated[mine], events.reserved[mine]
    span = rows_between(columns, device, start, end)
    inner = np.arange(span.start, span.stop)
    if len(inner) > points:
        columns_of_pixels = max(points // _A_COLUMN, 1)
        inner = span.start + kept_rows(
            ts[span], allocated[span], reserved[span], (start, end), columns_of_pixels
        )
    row = np.concatenate([[span.start - 1], inner, [span.stop - 1]])
    at = np.concatenate([[start], ts[inner], [max(end, start)]])
    before = total_before(columns, device)
    values = np.where(row >= 0, allocated[row.clip(0)], before) if len(ts) else np.full(2, before)
    # What was reserved before the first event is at least what was reserved after it.
    held = reserved[row.clip(0)] if len(ts) else np.full(2, NONE, np.int64)
    return Curve(at, row, values, held, span.stop - span.start, int(values.argmax()))


def total_before(columns: MemoryColumns, device: MemoryDevice) -> int:
    """The total before the first event of a device."""
    events = columns.events
    if device.first == device.stop:
        return device.base_bytes
    return int(events.allocated[device.first] - events.bytes[device.first])


def kept_rows(
    ts: I64, allocated: I64, reserved: I64, span: tuple[int, int], count: int
) -> NDArray[np.intp]:
    """The events that ``count`` columns of pixels need, ascending."""
    start, end = span
    edges = start + (end - start) * np.arange(count + 1, dtype=np.float64) / count
    first = np.searchsorted(ts, edges[:-1].astype(np.int64))
    first[0] = 0
    first = first[np.append(np.diff(first) > 0, first[-1] < len(ts))]
    column = np.zeros(len(ts), np.int32)
    column[first[1:]] = 1
    np.cumsum(column, out=column)
    last = np.append(first[1:], len(ts)) - 1
    chosen = [first, last]
    for values, extreme in (
        (allocated, np.maximum.reduceat(allocated, first)),
        (allocated, np.minimum.reduceat(allocated, first)),
        (reserved, np.maximum.reduceat(reserved, first)),
    ):
        hit = np.flatnonzero(values == extreme[column])
        chosen.append(hit[np.flatnonzero(np.diff(column[hit], prepend=-1))])
    found = np.zeros(len(ts), bool)
    for rows in chosen:
        found[rows] = True
    return np.flatnonzero(found)


# --- what for -------------------------------------------------------------------------------------


class LayerKeys(Struct, frozen=True, eq=False):
    """Layers of the curve: each block has a number below ``count``."""

    count: int
    of_event: NDArray[np.integer]  # by event of the device
    of_stray: NDArray[np.integer]  # by stray of the device
    base: I64  # bytes before the first event, by key


def strays_of(columns: MemoryColumns, device: MemoryDevice) -> slice:
    """The strays of a device."""
    low, high = np.searchsorted(columns.strays.event, [device.first, device.stop]).tolist()
    return slice(low, high)


def base_by_category(columns: MemoryColumns, device: MemoryDevice) -> I64:
    """Memory from before the first event, by Category; sums to ``base_bytes``."""
    if columns.told_base:
        return np.array(columns.told_base, np.int64)
    base = np.zeros(len(Category), np.int64)
    blocks = columns.blocks
    there = pre_window(columns, device)
    np.add.at(base, blocks.category[there], blocks.bytes[there])
    kept = device.kept_bytes
    base[Category.PARAMETER if kept >= 0 else Category.UNKNOWN] += kept - device.kept_states_bytes
    base[Category.OPTIMIZER] += device.kept_states_bytes
    return base


def pre_window(columns: MemoryColumns, device: MemoryDevice) -> slice:
    """The blocks that were there before the recording began: the first of the device."""
    many = int(np.searchsorted(columns.blocks.start[device.blocks], BEFORE, side="right"))
    return slice(device.first_block, device.first_block + many)


def by_category(columns: MemoryColumns, device: MemoryDevice) -> LayerKeys:
    """The keys are those of Category."""
    return LayerKeys(
        len(Category),
        columns.event_category[device.events],
        columns.strays.category[strays_of(columns, device)],
        base_by_category(columns, device),
    )


class OwnerLayer(Struct, frozen=True):
    """Owners, such as modules, that are one layer: one with those inside it, or it alone."""

    owner: int
    members: tuple[int, ...]
    is_whole: bool  # with all that are inside it


def owner_layers(
    above: Mapping[int, int], held: Mapping[int, int], most: int
) -> tuple[OwnerLayer, ...]:
    """At most ``most`` layers that hold everything, the largest first.

    ``above`` is the owner around each, ``held`` the bytes of each by itself. It begins with the
    outermost owners; the largest layer that can be divided is divided into those inside it, until
    one more would be too many. Without ``above`` each owner is a layer, and the smallest are
    left out.
    """
    inside: dict[int, list[int]] = {}
    total: dict[int, int] = {}
    for owner, own in held.items():
        at: int | None = owner
        while at is not None:
            total[at] = total.get(at, 0) + own
            at = above.get(at)
    for owner in total:
        inside.setdefault(above.get(owner, NONE), []).append(owner)
    whole = set(inside.get(NONE, ()))
    alone: set[int] = set()
    while True:
        parts = {one: len(inside[one]) + (held.get(one, 0) > 0) for one in whole if one in inside}
        room = most - len(whole) - len(alone)
        fit = [one for one, count in parts.items() if count - 1 <= room]
        if not fit:
            break
        largest = max(fit, key=lambda one: (total[one], -one))
        whole.remove(largest)
        whole.update(inside[largest])
        if held.get(largest, 0) > 0:
            alone.add(largest)
    layers = [
        *(OwnerLayer(one, _with_inside(one, inside), is_whole=True) for one in whole),
        *(OwnerLayer(one, (one,), is_whole=False) for one in alone),
    ]
    layers.sort(key=lambda one: (-sum(held.get(at, 0) for at in one.members), one.owner))
    return tuple(layers[:most])


def _with_inside(owner: int, inside: Mapping[int, list[int]]) -> tuple[int, ...]:
    found = [owner]
    for one in found:  # grows as it goes
        found.extend(inside.get(one, ()))
    return tuple(found)


def by_code(
    columns: MemoryColumns,
    device: MemoryDevice,
    code_of_block: I32,
    chosen: Sequence[Sequence[int]],
) -> LayerKeys:
    """Keys 0 … of the chosen codes of blocks; the last one is everything else."""
    count = len(chosen) + 1
    key = np.full(len(columns.strings) + 1, count - 1, np.int16)  # the last one stands for −1
    for number, codes in enumerate(chosen):
        key[list(codes)] = number
    of_block = key[code_of_block]
    block = columns.events.block[device.events]
    of_event = np.append(of_block, key[-1:])[block]  # the last one stands for −1
    there = pre_window(columns, device)
    base = np.zeros(count, np.int64)
    np.add.at(base, of_block[there], columns.blocks.bytes[there])
    base[-1] += device.base_bytes - base.sum()
    # A stray of a category cancels out with one of the unknown, or is unknown itself.
    mine = strays_of(columns, device)
    strays = np.full(mine.stop - mine.start, count - 1, np.int16)
    return LayerKeys(count, of_event, strays, base)


def layers_at(columns: MemoryColumns, device: MemoryDevice, row: I64, keys: LayerKeys) -> I64:
    """Bytes of each key after each of these events (ascending, −1: before the first).

    Shape (keys, rows); sums over keys to ``allocated`` exactly.
    """
    strays = columns.strays
    mine = strays_of(columns, device)
    top = int(row[-1]) + 1 if len(row) else 0
    size = columns.events.bytes[device.first : device.first + top]
    # The first of the rows at or after each event.
    place = np.repeat(np.arange(len(row)), np.diff(row, prepend=-1))
    cell = place * keys.count + keys.of_event[:top]
    change = group_sums(cell.astype(np.int32), size, len(row) * keys.count).total
    event = strays.event[mine].astype(np.int64) - device.first
    known = event < top
    cell = np.searchsorted(row, event[known]) * keys.count + keys.of_stray[known]
    np.add.at(change, cell, strays.bytes[mine][known])
    grid = change.reshape(len(row), keys.count)
    return np.asarray(keys.base[:, None] + np.cumsum(grid, axis=0).T)


def layer_totals(columns: MemoryColumns, device: MemoryDevice, category: Category) -> I64:
    """Bytes of one category after each event of a device."""
    change = np.where(
        columns.event_category[device.events] == category, columns.events.bytes[device.events], 0
    )
    strays, mine = columns.strays, strays_of(columns, device)
    own = strays.category[mine] == category
    np.add.at(change, strays.event[mine][own] - device.first, strays.bytes[mine][own])
    total: I64 = np.cumsum(change) + base_by_category(columns, device)[category]
    return total


def highest(columns: MemoryColumns, device: MemoryDevice, without: Category, span: slice) -> int:
    """The highest total of a device in a range if one category took nothing."""
    rest = columns.events.allocated[device.events] - layer_totals(columns, device, without)
    base = device.base_bytes - int(base_by_category(columns, device)[without])
    before = int(rest[span.start - 1]) if span.start else base
    return int(rest[span].max(initial=before))


def second_peak(allocated: I64, first: int, mask: B) -> int:
    """The highest total apart from the first peak; the row, −1 where the curve has no other.

    Apart is what the curve reaches after it has fallen, on either side, by a quarter of its range
    from the peak. ``mask`` says where to look: in the step of the peak.
    """
    if not len(allocated):
        return NONE
    top = int(allocated[first])
    limit = top - (top - int(allocated[mask].min(initial=top))) // 4
    low = np.flatnonzero(allocated < limit)
    before, after = low[low < first], low[low > first]
    apart = mask.copy()
    apart[(before[-1] + 1 if len(before) else 0) : (after[0] if len(after) else len(allocated))] = (
        False
    )
    rows = np.flatnonzero(apart)
    return int(rows[allocated[rows].argmax()]) if len(rows) else NONE
