"""One series of values, reduced to buckets of time without losing a peak.

A value holds until the next sample. Of each bucket with a sample: the lowest and the highest value
that held in it, that of its left edge included, the last one, and the mean over the part of the
bucket in which there was a value. In buckets without a sample the last value goes on.

A counter as one tile shows it: at most one point per bucket, no peak lost.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ...base.arrays import F64, I64
from .model import MAX_LEVEL, TILE_BUCKETS, Counter, CounterLevel, Timeline

LARGEST_SHARE = 0.1


def thinned(ts: I64, value: F64, level: int) -> CounterLevel:
    """One level of all samples, which are in order of time."""
    number = ts >> level
    first = np.flatnonzero(np.concatenate([[len(ts) > 0], number[1:] != number[:-1]]))
    if not len(first):
        return CounterLevel(level, number, value, value, value, value)
    bucket = number[first]
    left, right = bucket << level, (bucket + 1) << level
    low, high = np.minimum.reduceat(value, first), np.maximum.reduceat(value, first)
    until = np.minimum(
        np.append(ts[1:], right[-1]), np.repeat(right, np.diff(np.append(first, len(ts))))
    )
    area = np.add.reduceat(value * (until - ts), first)
    begin = ts[first].copy()
    entered = np.flatnonzero((first > 0) & (ts[first] > left))
    held = value[first[entered] - 1]
    low[entered] = np.minimum(low[entered], held)
    high[entered] = np.maximum(high[entered], held)
    area[entered] += held * (ts[first[entered]] - left[entered])
    begin[entered] = left[entered]
    last = value[np.append(first[1:], len(ts)) - 1]
    mean = np.clip(area / np.maximum(right - begin, 1), low, high)
    return CounterLevel(level, bucket, low, high, last, mean)


def levels_of(ts: I64, value: F64, end_ns: int) -> dict[int, CounterLevel]:
    """The levels with at most a tenth of the samples, up to a single bucket."""
    kept = {}
    for level in range(min(max(end_ns, 1).bit_length(), MAX_LEVEL) + 1):
        records = 1 + int(np.count_nonzero(np.diff(ts >> level))) if len(ts) else 0
        if 0 < records <= LARGEST_SHARE * len(ts):
            kept[level] = thinned(ts, value, level)
    return kept


def cut_counter(counter: Counter, level: int, tile: int) -> tuple[CounterLevel, float]:
    """One tile of a series, and the value that holds at its left edge (NaN: none yet).

    ``bucket`` counts in the tile, 0 … 511.
    """
    start = tile * TILE_BUCKETS
    kept = counter.levels.get(level)
    if kept is None:
        low, high = _between(counter.ts, start << level, (start + TILE_BUCKETS) << level)
        # The sample before goes along: its value holds in the first bucket.
        before = max(low - 1, 0)
        made = thinned(counter.ts[before:high], counter.value[before:high], level)
        kept = _part(made, *_between(made.bucket, start, start + TILE_BUCKETS))
        held = counter.value[low - 1] if low else np.nan
    else:
        low, high = _between(kept.bucket, start, start + TILE_BUCKETS)
        held = kept.last[low - 1] if low else np.nan
        kept = _part(kept, low, high)
    shifted = CounterLevel(level, kept.bucket - start, kept.low, kept.high, kept.last, kept.mean)
    return shifted, float(held)


def _between(sorted_: NDArray[np.int64], low: int, high: int) -> tuple[int, int]:
    most = np.iinfo(np.int64).max
    found = np.searchsorted(sorted_, np.array([min(low, most), min(high, most)], np.int64))
    return int(found[0]), int(found[1])


def _part(level: CounterLevel, low: int, high: int) -> CounterLevel:
    part = slice(low, high)
    return CounterLevel(
        level.level,
        level.bucket[part],
        level.low[part],
        level.high[part],
        level.last[part],
        level.mean[part],
    )


class SeriesTile(Struct, frozen=True, eq=False):
    """Points of one series in one tile; ``x`` counts in buckets from its left edge."""

    series: int
    level: int
    tile: int
    held: float | None  # value that holds at the left edge; None: no sample yet
    x: NDArray[np.uint16]
    low: F64
    high: F64
    last: F64
    mean: F64  # weighted by time


def series_tile(timeline: Timeline, series: int, level: int, tile: int) -> SeriesTile:
    """One tile of a series.

    Raises:
        IndexError: there is no such series.
    """
    cut, held = cut_counter(timeline.counters[series], level, tile)
    return SeriesTile(
        series=series,
        level=level,
        tile=tile,
        held=None if np.isnan(held) else held,
        x=cut.bucket.astype(np.uint16),
        low=cut.low,
        high=cut.high,
        last=cut.last,
        mean=cut.mean,
    )
