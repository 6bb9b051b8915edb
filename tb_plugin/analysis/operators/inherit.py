"""What a row takes over from what is around it: its module, its annotation, its Python frames."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from .model import Stacks

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


def call_paths(frame: B, name: I32, parent: I32, depth: Depth) -> tuple[Stacks, I32]:
    """The distinct paths of the rows marked ``frame``, and the path around each row.

    A frame's own path includes itself; any other row has the path of what is above it, −1 = none.

        main ██████████      path 0: main
        step   ██████        path 1: main > step
        mm       ██          has path 1
        step          ██     path 1 again
    """
    path = np.full(len(name), NONE, np.int32)
    parents: list[I32] = []
    frames: list[I32] = []
    depths: list[I32] = []
    known: dict[tuple[int, int], int] = {}
    for rows in by_depth(depth):
        above = parent[rows]
        around = np.where(above >= 0, path[above], NONE).astype(np.int32)
        path[rows] = around
        is_frame = frame[rows]
        inner, outer = rows[is_frame], around[is_frame]
        if not len(inner):
            continue
        key = (outer.astype(np.int64) << 32) | name[inner].astype(np.int64)
        distinct, index = np.unique(key, return_inverse=True)
        ids = np.empty(len(distinct), np.int32)
        for at, pair in enumerate(
            zip((distinct >> 32).tolist(), (distinct & 0xFFFFFFFF).tolist(), strict=True)
        ):
            # The same path may occur below other kinds of rows, at another depth.
            number = known.setdefault(pair, len(known))
            if number == len(known) - 1 and len(frames) < len(known):
                parents.append(np.int32(pair[0]))
                frames.append(np.int32(pair[1]))
                depths.append(np.int32(depths[pair[0]] + 1 if pair[0] >= 0 else 0))
            ids[at] = number
        path[inner] = ids[index]
    return (
        Stacks(np.array(parents, np.int32), np.array(frames, np.int32), np.array(depths, np.int32)),
        path,
    )
