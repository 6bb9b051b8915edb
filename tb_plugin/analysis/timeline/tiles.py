"""The contents of one tile for some lanes: rects that touch it, and small slices by bucket.

They are cut from the coarsest kept level that is fine enough, or, where none is kept, from the
slices themselves. A slice that starts before the tile belongs to it only as a rect: a small one is
counted in the bucket of its start and nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ...base.arrays import I32, I64
from .build.levels_of_detail import BucketSums
from .locate import between, bisect, ranges
from .model import LANE_BLOCK, TILE_BUCKETS, Block, Layout, Level, Slices, Timeline

_TILE_BITS = TILE_BUCKETS.bit_length() - 1
_LATEST = (1 << 63) - 1


class Tile(Struct, frozen=True, eq=False):
    """The window [start, end) and its buckets of 2^level ns."""

    level: int
    number: int

    @property
    def bucket(self) -> int:
        """Its first bucket, counted from time 0."""
        return min(self.number << _TILE_BITS, _LATEST)

    @property
    def start(self) -> int:
        return min(self.number << (self.level + _TILE_BITS), _LATEST)

    @property
    def end(self) -> int:
        return min((self.number + 1) << (self.level + _TILE_BITS), _LATEST)


def cut(timeline: Timeline, layout: Layout, level: int, tile: int, track: int, lane: int) -> Block:
    """Up to 16 lanes of a track, from ``lane`` (counted within the track) on.

    Raises:
        IndexError: there is no such track or lane.
    """
    return cut_blocks(timeline, layout, level, tile, [(track, lane)])[0]


def cut_blocks(
    timeline: Timeline, layout: Layout, level: int, tile: int, blocks: Sequence[tuple[int, int]]
) -> list[Block]:
    """One tile of many lane blocks, each given as track and first lane.

    Raises:
        IndexError: there is no such track or lane.
    """
    spans = [_lanes(layout, track, lane) for track, lane in blocks]
    lanes = np.concatenate([np.arange(low, high) for low, high in spans] or [np.empty(0, np.int64)])
    window = Tile(level, tile)
    content = _content(timeline.slices, layout, window, lanes)
    columns = _columns(timeline.slices, window, len(lanes), *content)
    made = []
    at = 0
    for place, (low, high) in zip(blocks, spans, strict=True):
        made.append(_block(window, place, range(at, at + high - low), columns))
        at += high - low
    return made


def _lanes(layout: Layout, track: int, lane: int) -> tuple[int, int]:
    if not 0 <= track < len(layout.tracks):
        raise IndexError(f"there is no track {track}")
    one = layout.tracks[track]
    if not 0 <= lane < one.lanes:
        raise IndexError(f"track {track} has no lane {lane}")
    return one.lane + lane, one.lane + min(lane + LANE_BLOCK, one.lanes)


def _content(
    slices: Slices, layout: Layout, tile: Tile, lanes: I64
) -> tuple[tuple[I64, I32], BucketSums]:
    """Rects (lane, id) and buckets, sorted by lane and time; lanes count in ``lanes``."""
    kept = [number for number in layout.levels if number <= tile.level]
    if not kept:
        return _from_slices(slices, layout, tile, lanes)
    return _from_level(slices, layout.levels[max(kept)], tile, lanes)


def _from_slices(
    slices: Slices, layout: Layout, tile: Tile, lanes: I64
) -> tuple[tuple[I64, I32], BucketSums]:
    at, lane = ranges(*between(slices, layout, lanes, tile.start, tile.end))
    ids = layout.order[at]
    is_rect = slices.dur[ids] >= 1 << tile.level
    small = ~is_rect & (slices.ts[ids] >= tile.start)
    sums = _ones(slices, tile, lane[small], ids[small]).joined(slices.dur)
    return (lane[is_rect], ids[is_rect]), sums


def _from_level(
    slices: Slices, level: Level, tile: Tile, lanes: I64
) -> tuple[tuple[I64, I32], BucketSums]:
    lane, ids = _rects(slices, level, tile, lanes)
    records = _records(level, tile, lanes)
    if level.level == tile.level:
        return (lane, ids), records
    is_rect = slices.dur[ids] >= 1 << tile.level
    small = ~is_rect & (slices.ts[ids] >= tile.start)
    both = _ones(slices, tile, lane[small], ids[small])
    return (lane[is_rect], ids[is_rect]), records.merged(both).joined(slices.dur)


def _rects(slices: Slices, level: Level, tile: Tile, lanes: I64) -> tuple[I64, I32]:
    """Rects of a kept level that touch the tile."""
    first, last = level.rect_first[lanes], level.rect_first[lanes + 1]
    low = bisect(first, last, lambda at, _: slices.ts[level.rect[at]] < tile.start)
    high = bisect(low, last, lambda at, _: slices.ts[level.rect[at]] < tile.end)
    before = np.flatnonzero(low > first)
    ids = level.rect[low[before] - 1]
    low[before] -= slices.ts[ids] + slices.dur[ids] > tile.start
    at, lane = ranges(low, high)
    return lane, level.rect[at]


def _records(level: Level, tile: Tile, lanes: I64) -> BucketSums:
    first, last = level.bucket_first[lanes], level.bucket_first[lanes + 1]
    start, end = tile.start >> level.level, ((tile.end - 1) >> level.level) + 1
    low = bisect(first, last, lambda at, _: level.bucket[at] < start)
    high = bisect(low, last, lambda at, _: level.bucket[at] < end)
    at, lane = ranges(low, high)
    bucket = level.bucket[at].astype(np.int64) >> (tile.level - level.level)
    return BucketSums(
        lane,
        bucket - tile.bucket,
        level.count[at].astype(np.int64),
        level.sum_ns[at].astype(np.int64),
        level.longest[at],
    )


def _ones(slices: Slices, tile: Tile, lane: I64, ids: I32) -> BucketSums:
    """Each slice as a sum of one."""
    bucket = (slices.ts[ids] >> tile.level) - tile.bucket
    return BucketSums(lane, bucket, np.ones(len(ids), np.int64), slices.dur[ids], ids)


class _Columns(Struct, frozen=True, eq=False):
    """The columns shared by all blocks of a request; ``*_first`` by lane, ``*_before`` summed."""

    rect_first: I64
    rect: I32
    x0: NDArray[np.float32]
    x1: NDArray[np.float32]
    bucket_first: I64
    bucket: NDArray[np.uint16]
    count: NDArray[np.uint32]
    busy: NDArray[np.uint8]
    longest: I32
    count_before: I64
    ns_before: I64


def _columns(
    slices: Slices, tile: Tile, lanes: int, rects: tuple[I64, I32], parts: BucketSums
) -> _Columns:
    lane, ids = rects
    ts, dur = slices.ts[ids], slices.dur[ids]
    begins = ts >= tile.start
    left = ts - tile.start
    width = float(1 << tile.level)
    edges = np.arange(lanes + 1)
    rect_first, bucket_first = np.searchsorted(lane, edges), np.searchsorted(parts.lane, edges)
    return _Columns(
        rect_first=rect_first,
        rect=ids,
        x0=_clipped(left / width),
        x1=_clipped((left + dur) / width),
        bucket_first=bucket_first,
        bucket=parts.bucket.astype(np.uint16),
        count=parts.count.astype(np.uint32),
        # Rounded up: what is busy at all is not shown as idle.
        busy=np.minimum(np.ceil(parts.sum_ns * (255 / width)), 255).astype(np.uint8),
        longest=parts.longest,
        count_before=_before(begins, rect_first) + _before(parts.count, bucket_first),
        ns_before=_before(dur * begins, rect_first) + _before(parts.sum_ns, bucket_first),
    )


def _before(values: NDArray[Any], first: I64) -> I64:
    """The sum of all values before each of these places."""
    sums = np.zeros(len(values) + 1, np.int64)
    np.cumsum(values, out=sums[1:])
    result: I64 = sums[first]
    return result


def _block(tile: Tile, place: tuple[int, int], lanes: range, all_: _Columns) -> Block:
    """The part of the answer for some neighbouring lanes."""
    edges = slice(lanes.start, lanes.stop + 1)
    rect_first, bucket_first = all_.rect_first[edges], all_.bucket_first[edges]
    rects = slice(rect_first[0], rect_first[-1])
    buckets = slice(bucket_first[0], bucket_first[-1])
    return Block(
        track=place[0],
        lane=place[1],
        level=tile.level,
        tile=tile.number,
        rect_first=(rect_first - rect_first[0]).astype(np.uint32),
        x0=all_.x0[rects],
        x1=all_.x1[rects],
        rect=all_.rect[rects],
        bucket_first=(bucket_first - bucket_first[0]).astype(np.uint32),
        bucket=all_.bucket[buckets],
        count=all_.count[buckets],
        busy=all_.busy[buckets],
        longest=all_.longest[buckets],
        slice_count=int(all_.count_before[lanes.stop] - all_.count_before[lanes.start]),
        sum_ns=int(all_.ns_before[lanes.stop] - all_.ns_before[lanes.start]),
    )


def _clipped(x: NDArray[np.float64]) -> NDArray[np.float32]:
    return np.clip(x, 0.0, float(TILE_BUCKETS)).astype(np.float32)
