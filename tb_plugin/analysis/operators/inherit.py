"""What a row takes over from what is around it: its module, its annotation, its Python frames.

Parents come before their rows in all tables here; −1 is no parent.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ...base.native import call
from ...trace.columns import put, take, where
from ...trace.nest import depth_of
from ..timeline.paths import find_paths

B = NDArray[np.bool_]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]

NONE = -1


def innermost(own: I32, parent: I32) -> I32:
    """``own`` of the innermost row at or above each row that has one; −1 where none has."""
    result: I32 = own.copy()
    if call("kinetoscope_tree_inherit", parent, result, len(result)) is None:
        return innermost_in_python(own, parent)
    return result


def innermost_in_python(own: I32, parent: I32) -> I32:
    """The reference of ``innermost``."""
    result: I32 = own.copy()
    for rows in _by_depth(parent):
        above = parent[rows]
        asks = (result[rows] == NONE) & (above >= 0)
        result[rows[asks]] = result[above[asks]]
    return result


def sums_below(value: I64, parent: I32) -> I64:
    """Each row's value and those of all rows below it; shape as ``value``."""
    total = value.astype(np.int64, copy=True)
    if call("kinetoscope_tree_sum_up", parent, total, len(total)) is None:
        return sums_below_in_python(value, parent)
    return total


def sums_below_in_python(value: I64, parent: I32) -> I64:
    """The reference of ``sums_below``."""
    total = value.astype(np.int64, copy=True)
    for rows in reversed(list(_by_depth(parent))):
        above = parent[rows]
        inner = above >= 0
        np.add.at(total, above[inner], total[rows[inner]])
    return total


def call_paths(kept: B, label: I32, parent: I32) -> tuple[I32, I32, I32]:
    """The distinct paths of the rows marked ``kept``, as a trie, and the path around each row.

    Returns the trie's parents (−1 at a root, parents before children), its labels, and for each row
    its path: that of a kept row includes itself, any other row has the path of what is above it.

        main ██████████      path 0: main
        step   ██████        path 1: main > step
        mm       ██          has path 1
        step          ██     path 1 again
    """
    rows = where(kept)
    number = np.full(len(kept), NONE, np.int32)
    put(number, rows, np.arange(len(rows), dtype=np.int32))
    around = innermost(number, parent)
    paths = find_paths(_or_none(around, take(parent, rows)), take(label, rows))
    return paths.parent, paths.name, _or_none(paths.node, around)


def _or_none(column: I32, rows: I32) -> I32:
    """``column[rows]``, −1 where the row is −1."""
    if not len(column):
        return np.full(len(rows), NONE, np.int32)
    found = take(column, np.maximum(rows, 0))
    found[rows < 0] = NONE
    return found


def _by_depth(parent: I32) -> Iterator[NDArray[np.intp]]:
    """The rows of each depth, outermost first."""
    depth = depth_of(parent)
    order = np.argsort(depth, kind="stable")
    edges = np.flatnonzero(np.diff(depth[order])) + 1
    yield from np.split(order, edges)
