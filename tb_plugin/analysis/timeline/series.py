"""A counter as one tile shows it: at most one point per bucket, no peak lost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .counter_levels import cut_counter
from .model import F64, Timeline


@dataclass(frozen=True, slots=True, eq=False)
class SeriesTile:
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
