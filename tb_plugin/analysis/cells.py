"""Sums over consecutive windows: every event is cut at the borders of the windows it touches.

The windows of the steps and the gaps between them are cells of one ruler, so what is summed over
all cells is what lies between the first start and the last end, counted once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

I64 = NDArray[np.int64]
F64 = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """Events cut at the borders of cells; shape (pieces,)."""

    event: I64  # index of the event
    cell: I64
    ns: I64  # length of the piece, > 0

    def sum_ns(self, cells: int) -> I64:
        """Length per cell, exact: float64 holds every integer below 2^53 ns, 104 days."""
        return np.bincount(self.cell, self.ns, cells).astype(np.int64)

    def weighted(self, weight: F64, cells: int) -> F64:
        """Σ weight · length per cell; ``weight`` is per event."""
        return np.bincount(self.cell, self.ns * weight[self.event], cells).astype(np.float64)

    def sum_of(self, chosen: NDArray[np.bool_], cells: int) -> I64:
        """Length per cell of the pieces of the chosen events."""
        ns = np.where(chosen[self.event], self.ns, 0)
        return np.bincount(self.cell, ns, cells).astype(np.int64)

    def of(self, chosen: NDArray[np.bool_]) -> Pieces:
        """The pieces of the chosen events."""
        keep = chosen[self.event]
        return Pieces(self.event[keep], self.cell[keep], self.ns[keep])


def cut(ts: I64, end: I64, edges: I64) -> Pieces:
    """Cuts the events [ts, end) at ``edges`` (ascending, repeats allowed); the rest is left out.

    edges  0     10      30
    event     ████████          [5, 20)
    =  cell 0: 5, cell 1: 10
    """
    cells = len(edges) - 1
    if cells < 1 or not len(ts):
        nothing = np.zeros(0, np.int64)
        return Pieces(nothing, nothing, nothing)
    first = np.maximum(np.searchsorted(edges, ts, side="right") - 1, 0)
    last = np.minimum(np.searchsorted(edges, end, side="left") - 1, cells - 1)
    crossing = last != first
    if not crossing.any():
        event, cell = np.arange(len(ts)), first
    else:
        count = np.maximum(last - first + 1, 0)
        event = np.repeat(np.arange(len(ts)), count)
        before = np.repeat(np.cumsum(count) - count, count)
        cell = np.arange(len(event)) - before + first[event]
        ts, end = ts[event], end[event]
    ns = np.minimum(end, edges[cell + 1]) - np.maximum(ts, edges[cell])
    keep = ns > 0
    if keep.all():
        return Pieces(event, cell, ns)
    return Pieces(event[keep], cell[keep], ns[keep])


def level(ts: I64, end: I64, height: F64) -> tuple[I64, I64, F64]:
    """The sum of the heights of what is open, as consecutive segments (start, end, height).

    heights  A ██████       0.5
             B    ██████    0.75
             = 0.5, 1.25, 0.75
    """
    at = np.concatenate([ts, end])
    change = np.concatenate([height, -height])
    opened = np.concatenate([np.ones(len(ts), np.int64), np.full(len(end), -1, np.int64)])
    order = np.argsort(at, kind="stable")
    at, total = at[order], np.cumsum(change[order])
    # What floating sums leave behind when nothing is open is no height.
    total[np.cumsum(opened[order]) == 0] = 0.0
    segment_start, segment_end = at[:-1], at[1:]
    keep = (segment_end > segment_start) & (total[:-1] > 0)
    return segment_start[keep], segment_end[keep], total[:-1][keep]
