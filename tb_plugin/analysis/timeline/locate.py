"""The position of slices in a layout, and the slices at a place and time.

All searches are for many lanes at once, by a bisection in step, so that only the pages of mapped
files are read that it visits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import I32, I64
from .model import Layout, Slices

Ids = NDArray[Any]


def lanes_of(layout: Layout, ids: Ids) -> I32:
    """The lane of each slice, counted through all tracks; −1 where the layout hides it."""
    return layout.lane[ids].astype(np.int32)


def tracks_of(layout: Layout, ids: Ids) -> I32:
    """The track of each slice; −1 where the layout hides it."""
    lanes = lanes_of(layout, ids)
    first = np.array([track.lane for track in layout.tracks], np.int64)
    result: I32 = (np.searchsorted(first, lanes, side="right") - 1).astype(np.int32)
    return result


def positions_of(slices: Slices, layout: Layout, ids: Ids) -> I64:
    """The position of each slice in ``layout.order``; −1 where the layout hides it."""
    lanes = lanes_of(layout, ids)
    shown = np.flatnonzero(lanes >= 0)
    wanted, lane = np.asarray(ids)[shown], lanes[shown]
    ts = slices.ts[wanted]

    def is_before(at: I64, which: I64) -> NDArray[np.bool_]:  # noqa: ARG001  # all of them
        there = layout.order[at]
        start = slices.ts[there]
        # Of instants at one time the ids ascend.
        return np.asarray((start < ts) | ((start == ts) & (there < wanted)))

    result = np.full(len(lanes), -1, np.int64)
    result[shown] = bisect(layout.lane_first[lane], layout.lane_first[lane + 1], is_before)
    return result


def first_from(slices: Slices, layout: Layout, lanes: Ids, instant: int | I64) -> I64:
    """For each lane the position in ``layout.order`` of its first slice from an instant on.

    It is the end of the lane where no slice starts then or later.
    """

    def is_before(at: I64, which: I64) -> NDArray[np.bool_]:  # noqa: ARG001  # all of them
        return np.asarray(slices.ts[layout.order[at]] < instant)

    return bisect(layout.lane_first[lanes], layout.lane_first[np.asarray(lanes) + 1], is_before)


def between(slices: Slices, layout: Layout, lanes: Ids, start: int, end: int) -> tuple[I64, I64]:
    """For each lane the positions [low, high) of the slices that touch [start, end).

    Instants count where they are; a slice that started before ``start`` counts when it goes on.
    """
    low = first_from(slices, layout, lanes, start)
    high = first_from(slices, layout, lanes, max(start, end))
    # Slices of a lane do not overlap, so only the last one before can reach into the range.
    before = np.flatnonzero(low > layout.lane_first[lanes])
    ids = layout.order[low[before] - 1]
    low[before] -= slices.ts[ids] + slices.dur[ids] > start
    return low, high


def bisect(low: I64, high: I64, is_before: Callable[[I64, I64], NDArray[np.bool_]]) -> I64:
    """For each range [low, high) the first place for which ``is_before`` is false.

    ``is_before(at, which)`` is asked about one place ``at`` of each range ``which``; within a range
    it is true up to some place, and false from there. Of an empty range any place is asked about,
    and nothing follows.
    """
    low, high = np.array(low, np.int64), np.array(high, np.int64)
    which = np.arange(len(low))
    open_ = low < high
    # A place that exists, for ranges that are at their end.
    some = int(low[open_.argmax()]) if open_.any() else 0
    while open_.any():
        middle = np.where(open_, (low + high) >> 1, some)
        before = is_before(middle, which) & open_
        low = np.where(before, middle + 1, low)
        high = np.where(before | ~open_, high, middle)
        open_ = low < high
    return low


def ranges(low: I64, high: I64) -> tuple[I64, I64]:
    """The numbers of all ranges [low, high), concatenated, and the range of each."""
    count = np.maximum(high - low, 0)
    which = np.repeat(np.arange(len(count)), count)
    before = np.cumsum(count) - count
    return np.arange(len(which)) + (low - before)[which], which


def slices_of_rows(slices: Slices, rows: I64) -> I64:
    """The slices of rows of the file; −1 where a row is none, or is −1."""
    result = np.full(len(rows), -1, np.int64)
    order = np.argsort(rows)
    found = np.flatnonzero(np.isin(slices.raw, rows[rows >= 0]))
    raw = slices.raw[found]
    low = np.searchsorted(rows, raw, side="left", sorter=order)
    high = np.searchsorted(rows, raw, side="right", sorter=order)
    for one, first, behind in zip(found.tolist(), low.tolist(), high.tolist(), strict=True):
        result[order[first:behind]] = one
    return result
