"""When does each point of a graph come, if each comes as soon as all before it have?

    time[v] = max over edges (u → v) of time[u] + weight

The points are put into levels: all edges of a level come from earlier ones, so a level is one
operation on columns, however many ranks there are. O(edges) in all, plus one step per level.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from ....base.arrays import I64, rows_between


class DeadlockError(ValueError):
    """Some points wait for one another: no order of time fits the edges."""

    def __init__(self, points: I64) -> None:
        super().__init__(f"{len(points)} points wait for one another")
        self.points = points


class LeveledGraph(Struct, frozen=True, eq=False):
    """A graph whose edges are in the order in which they are evaluated."""

    points: int
    order: I64  # permutation of the edges as they were given
    source: I64  # of the edges in that order
    target: I64
    heads: tuple[tuple[int, int, I64, I64], ...]  # per level: edges from, to, first edge, point

    def times(self, start: I64, weight: I64) -> I64:
        """The time of every point.

        ``start`` is the time of points without an edge to them, and the least time of all others;
        ``weight`` belongs to the edges as they were given. Shapes (points,), (edges,).
        """
        time: I64 = start.copy()
        ordered = weight[self.order]
        for low, high, first, point in self.heads:
            reach = time[self.source[low:high]] + ordered[low:high]
            time[point] = np.maximum(np.maximum.reduceat(reach, first), time[point])
        return time

    def into(self, point: int) -> I64:
        """The edges to a point, as they were given."""
        return self.order[np.flatnonzero(self.target == point)]


def leveled(points: int, source: I64, target: I64) -> LeveledGraph:
    """The graph of edges ``source`` → ``target``.

    Raises:
        DeadlockError: edges lead in a circle.
    """
    by_source = np.argsort(source, kind="stable")
    first = np.searchsorted(source[by_source], np.arange(points + 1))
    waiting = np.bincount(target, minlength=points)
    level = np.zeros(points, np.int64)
    front = np.flatnonzero(waiting == 0)
    done, number = len(front), 0
    while len(front):
        number += 1
        edges = by_source[rows_between(first[front], first[front + 1])]
        reached, times = np.unique(target[edges], return_counts=True)
        waiting[reached] -= times
        front = reached[waiting[reached] == 0]
        level[front] = number
        done += len(front)
    if done < points:
        raise DeadlockError(np.flatnonzero(waiting > 0))
    order = np.lexsort((target, level[target]))
    ordered_target = target[order]
    of_level = level[ordered_target]
    heads = []
    for at in range(1, number + 1):
        low, high = np.searchsorted(of_level, (at, at + 1)).tolist()
        if low == high:
            continue
        here = ordered_target[low:high]
        starts = np.flatnonzero(np.diff(here, prepend=-1))
        heads.append((low, high, starts.astype(np.int64), here[starts]))
    return LeveledGraph(points, order, source[order], ordered_target, tuple(heads))
