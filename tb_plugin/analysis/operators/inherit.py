"""What a row takes over from what is around it: its module, its annotation, its Python frames."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

B = NDArray[np.bool_]
I32 = NDArray[np.int32]
Depth = NDArray[np.integer]

NONE = -1


def by_depth(depth: Depth) -> Iterator[NDArray[np.intp]]:
    """The rows of each depth, outermost first."""
    order = np.argsort(depth, kind="stable")
    edges = np.flatnonzero(np.diff(depth[order])) + 1
    yield from np.split(order, edges)


def innermost(own: I32, parent: I32, depth: Depth) -> I32:
    """``own`` of the innermost row at or above each row that has one; −1 where none has."""
    result: I32 = own.copy()
    for rows in by_depth(depth):
        above = parent[rows]
        asks = (result[rows] == NONE) & (above >= 0)
        result[rows[asks]] = result[above[asks]]
    return result


def call_paths(
    kept: B, label: NDArray[np.integer], parent: I32, depth: Depth
) -> tuple[I32, NDArray[np.int64], I32]:
    """The distinct paths of the rows marked ``kept``, as a trie, and the path around each row.

    Returns the trie's parents (−1 at a root, parents before children), its labels, and for each row
    its path: that of a kept row includes itself, any other row has the path of what is above it.

        main ██████████      path 0: main
        step   ██████        path 1: main > step
        mm       ██          has path 1
        step          ██     path 1 again
    """
    path = np.full(len(label), NONE, np.int32)
    parents: list[int] = []
    labels: list[int] = []
    known: dict[tuple[int, int], int] = {}
    for rows in by_depth(depth):
        above = parent[rows]
        around = np.where(above >= 0, path[above], NONE).astype(np.int32)
        path[rows] = around
        inside = kept[rows]
        inner = rows[inside]
        outer, own = around[inside], label[inner]
        order = np.lexsort((own, outer))
        outer, own = outer[order], own[order]
        new = np.ones(len(order), np.bool_)
        new[1:] = (outer[1:] != outer[:-1]) | (own[1:] != own[:-1])
        ids = []
        for pair in zip(outer[new].tolist(), own[new].tolist(), strict=True):
            # The same path may occur at another depth, below rows that are not kept.
            number = known.setdefault(pair, len(parents))
            if number == len(parents):
                parents.append(pair[0])
                labels.append(pair[1])
            ids.append(number)
        path[inner[order]] = np.array(ids, np.int32)[np.cumsum(new) - 1] if ids else NONE
    return np.array(parents, np.int32), np.array(labels, np.int64), path
