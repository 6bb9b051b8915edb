"""Sums over the slices of each name, made once: a search then only adds some of them up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .group_sums import group_sums
from .minimap import edges
from .model import I32, I64, Layout, Timeline

_CHUNK = 1 << 21
MOST_CELLS = 1 << 22
"""Of a table, for whoever decides whether to make one."""


@dataclass(frozen=True, slots=True, eq=False)
class ByTrack:
    """Shape (names, tracks): how many slices, and their summed durations."""

    counts: I64
    totals: I64


def by_track(timeline: Timeline, layout: Layout, track_of_lane: NDArray[Any]) -> ByTrack:
    """What a layout shows of each name on each of its tracks."""
    slices = timeline.slices
    names, tracks = len(timeline.names), len(layout.tracks)
    counts, totals = (np.zeros((names * tracks,), np.int64) for _ in range(2))
    for low in range(0, len(slices), _CHUNK):
        part = slice(low, low + _CHUNK)
        track = track_of_lane[layout.lane[part]]
        # Behind all cells is one for what the layout hides.
        cell = np.where(track >= 0, slices.name[part] * np.int32(tracks) + track, names * tracks)
        sums = group_sums(cell.astype(np.int32), slices.dur[part], names * tracks + 1)
        counts += sums.count[:-1]
        totals += sums.total[:-1]
    return ByTrack(counts.reshape(names, tracks), totals.reshape(names, tracks))


def by_column(timeline: Timeline, columns: int) -> I32:
    """How many slices of each name start in each column of the minimap; shape (names, columns)."""
    names, slices = len(timeline.names), timeline.slices
    result = np.zeros(names * columns, np.int32)
    for low in range(0, len(slices), _CHUNK):
        part = slice(low, low + _CHUNK)
        cell = slices.name[part].astype(np.int64) * columns
        cell += columns_of(slices.ts[part], timeline.end_ns, columns)
        result += np.bincount(cell, minlength=names * columns).astype(np.int32)
    return result.reshape(names, columns)


def columns_of(ts: I64, end_ns: int, columns: int) -> I64:
    """The column of each instant of [0, end_ns], as ``minimap.edges`` divides it.

    Column c begins at ⌊c · end / columns⌋, so ``ts`` is in ⌈(ts + 1) · columns / end⌉ − 1.
    """
    if (end_ns + 1) * columns >= 1 << 63:
        inner = edges(end_ns, columns)[1:-1]
        return np.searchsorted(inner, ts, side="right").astype(np.int64)
    place = ts + 1
    place *= columns
    place -= 1
    place //= max(end_ns, 1)
    return np.clip(place, 0, columns - 1, out=place)
