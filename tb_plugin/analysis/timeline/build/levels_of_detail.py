"""Levels of detail: count, total and longest of the small slices per lane and bucket of 2^k ns.

Level k + 1 is level k with its buckets joined in pairs, and the slices that are rects of level k
but not of level k + 1. So all sums stay exact, and the cost falls with the levels. Only levels that
say in at most a fifth of the records what the small slices say are kept: a finer one is as cheap to
cut from the slices themselves.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ....base.arrays import I32, I64
from ....base.columns import narrowest
from ....base.native import call
from ..model import MAX_LEVEL, Level

LARGEST_SHARE = 0.2


class _Wide(Level, frozen=True, eq=False):
    """A level as it is computed, in wide types."""

    bucket: I64
    count: I64
    sum_ns: I64


def levels_of(
    order: I32, lane_first: I64, ts: I64, dur: I64, end_ns: int, share: float = LARGEST_SHARE
) -> Iterator[Level]:
    """The kept levels from fine to coarse; ``order`` holds ids by (lane, ts).

    ``share`` is the largest number of records for each small slice that is worth keeping.
    """
    top = min(max(end_ns, 1).bit_length(), MAX_LEVEL)
    small, records = counts(order, lane_first, ts, dur, top)
    worth = np.flatnonzero((small > 0) & (records <= share * small))
    below = None
    for number in range(int(worth[0]), top + 1) if len(worth) else ():
        size = int(records[number]), len(order) - int(small[number])
        if below is None:
            below = _first(order, lane_first, ts, dur, number, size)
        else:
            below = _next(below, lane_first, ts, dur, size)
        if number in worth:
            yield _narrowed(below)


def counts(order: I32, lane_first: I64, ts: I64, dur: I64, top: int) -> tuple[I64, I64]:
    """Of each level up to ``top`` how many slices are small, and in how many buckets they are."""
    small, records = np.empty(top + 1, np.int64), np.empty(top + 1, np.int64)
    slices = (order, len(order), lane_first, len(lane_first) - 1, ts, dur, len(ts))
    if call("kinetoscope_pyramid_count", *slices, small, records, top + 1) is not None:
        return small, records
    lane, start, length = _by_lane(order, lane_first, ts, dur)
    for level in range(top + 1):
        mine = np.flatnonzero(length < 1 << level)
        small[level], records[level] = len(mine), len(_begins(lane[mine], start[mine] >> level))
    return small, records


def _first(
    order: I32, lane_first: I64, ts: I64, dur: I64, number: int, size: tuple[int, int]
) -> _Wide:
    """A level from the slices; ``size`` is how many records and rects it has."""
    room = _room(number, len(lane_first), size)
    slices = (order, len(order), lane_first, len(lane_first) - 1, ts, dur, len(ts))
    if call("kinetoscope_pyramid_first", *slices, number, *_handed(room)) is not None:
        return room
    lane, start, length = _by_lane(order, lane_first, ts, dur)
    is_small = length < 1 << number
    at, rects = np.flatnonzero(is_small), np.flatnonzero(~is_small)
    records = BucketSums(
        lane[at], start[at] >> number, np.ones(len(at), np.int64), length[at], order[at]
    )
    return _level(number, len(lane_first), records.joined(dur), lane[rects], order[rects])


def _next(below: _Wide, lane_first: I64, ts: I64, dur: I64, size: tuple[int, int]) -> _Wide:
    """The level above another one."""
    number = below.level + 1
    room = _room(number, len(lane_first), size)
    arguments = (*_handed(below), len(lane_first) - 1, ts, dur, len(ts), number, *_handed(room))
    if call("kinetoscope_pyramid_next", *arguments) is not None:
        return room
    lanes = np.arange(len(lane_first) - 1, dtype=np.int32)
    rect_lane = np.repeat(lanes, np.diff(below.rect_first))
    is_small = dur[below.rect] < 1 << number
    joining = below.rect[is_small]
    ones = np.ones(len(joining), np.int64)
    new = BucketSums(rect_lane[is_small], ts[joining] >> number, ones, dur[joining], joining)
    lane = np.repeat(lanes, np.diff(below.bucket_first))
    old = BucketSums(lane, below.bucket >> 1, below.count, below.sum_ns, below.longest)
    records = old.merged(new).joined(dur)
    return _level(number, len(lane_first), records, rect_lane[~is_small], below.rect[~is_small])


class BucketSums(Struct, frozen=True, eq=False):
    """Sums by (lane, bucket), in this order; neighbours may be of one bucket until ``joined``."""

    lane: NDArray[np.integer]
    bucket: I64
    count: I64
    sum_ns: I64
    longest: I32

    def merged(self, other: BucketSums) -> BucketSums:
        """Both, in order; of one bucket ours come first."""
        lane = np.concatenate([self.lane, other.lane])
        bucket = np.concatenate([self.bucket, other.bucket])
        order = np.lexsort((bucket, lane))
        return BucketSums(
            lane[order],
            bucket[order],
            np.concatenate([self.count, other.count])[order],
            np.concatenate([self.sum_ns, other.sum_ns])[order],
            np.concatenate([self.longest, other.longest])[order],
        )

    def joined(self, dur: I64) -> BucketSums:
        """One record per bucket; of several longest slices the first."""
        first = _begins(self.lane, self.bucket)
        if not len(first):
            return self
        length = dur[self.longest]
        most = np.maximum.reduceat(length, first)
        group = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(self.lane))))
        hit = np.flatnonzero(length == most[group])[::-1]
        winner = np.empty(len(first), np.int64)
        winner[group[hit]] = hit
        return BucketSums(
            self.lane[first],
            self.bucket[first],
            np.add.reduceat(self.count, first),
            np.add.reduceat(self.sum_ns, first),
            self.longest[winner],
        )


def _begins(lane: NDArray[np.integer], bucket: I64) -> I64:
    """Where a bucket begins in records by (lane, bucket)."""
    begins = np.ones(len(lane), np.bool_)
    begins[1:] = (bucket[1:] != bucket[:-1]) | (lane[1:] != lane[:-1])
    return np.flatnonzero(begins)


def _by_lane(order: I32, lane_first: I64, ts: I64, dur: I64) -> tuple[I32, I64, I64]:
    """Lane, start and length of each slice in order."""
    lanes = np.arange(len(lane_first) - 1, dtype=np.int32)
    return np.repeat(lanes, np.diff(lane_first)), ts[order], dur[order]


def _level(number: int, edges: int, records: BucketSums, rect_lane: I32, rect: I32) -> _Wide:
    return _Wide(
        level=number,
        bucket_first=_csr(records.lane, edges - 1),
        bucket=records.bucket,
        count=records.count,
        sum_ns=records.sum_ns,
        longest=records.longest,
        rect_first=_csr(rect_lane, edges - 1),
        rect=rect,
    )


def _room(number: int, edges: int, size: tuple[int, int]) -> _Wide:
    records, rects = size
    return _Wide(
        level=number,
        bucket_first=np.empty(edges, np.int64),
        bucket=np.empty(records, np.int64),
        count=np.empty(records, np.int64),
        sum_ns=np.empty(records, np.int64),
        longest=np.empty(records, np.int32),
        rect_first=np.empty(edges, np.int64),
        rect=np.empty(rects, np.int32),
    )


def _handed(level: _Wide) -> tuple[I64 | I32 | int, ...]:
    """A level as the native library takes it."""
    return (
        level.bucket_first,
        level.bucket,
        level.count,
        level.sum_ns,
        level.longest,
        len(level.longest),
        level.rect_first,
        level.rect,
        len(level.rect),
    )


def _narrowed(level: _Wide) -> Level:
    return Level(
        level=level.level,
        bucket_first=level.bucket_first,
        bucket=narrowest(level.bucket),
        count=narrowest(level.count),
        sum_ns=narrowest(level.sum_ns),
        longest=level.longest,
        rect_first=level.rect_first,
        rect=level.rect,
    )


def _csr(lane: NDArray[np.integer], lanes: int) -> I64:
    count = np.bincount(lane, minlength=lanes)
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(count)])
