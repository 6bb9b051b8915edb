"""The call path of each row, and values inherited from enclosing rows.

A row inherits its module, its annotation and its Python frames from its ancestors. Slices with
equal paths share a *node*; nodes are numbered by the first slice that has them. In all tables here
a parent comes before its children, and −1 is no parent.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ...base.arrays import I8, I32, I64, B, distinct_values, put, take, where
from ...base.native import call
from ...trace.build.nest import depth_of

_TABLE_CELLS = 1 << 24


class SlicePaths(Struct, frozen=True, eq=False):
    """``node`` by host slice; the others by node."""

    node: I32
    parent: I32  # node; −1
    name: I32  # code
    first: I32  # the first slice of the node


def find_paths(parent: I32, name: I32) -> SlicePaths:
    """Paths of rows whose parents come before them."""
    node, node_parent, first = (np.empty(len(parent), np.int32) for _ in range(3))
    count = call("kinetoscope_paths", parent, name, len(parent), node, node_parent, first)
    if count is None:
        return find_paths_in_python(parent, name)
    first = first[:count].copy()
    return SlicePaths(node, node_parent[:count].copy(), name[first], first)


def find_paths_in_python(parent: I32, name: I32) -> SlicePaths:
    """The reference of ``find_paths``: level by level, all rows of a level together."""
    depth = depth_of(parent)
    by_depth = np.argsort(depth, kind="stable")
    bounds = (
        np.concatenate([[0], np.cumsum(np.bincount(depth))]) if len(depth) else np.zeros(1, int)
    )
    node = np.full(len(parent), -1, np.int32)
    nodes = above = 0  # made so far, and before the level above
    for low, high in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        rows = by_depth[low:high]
        outer = (
            np.zeros(len(rows), np.int64) if low == 0 else node[parent[rows]].astype(int) - above
        )
        names, code = _compact(name[rows])
        found, local = _compact(outer * len(names) + code)
        node[rows] = nodes + local
        above, nodes = nodes, nodes + len(found)
    return _numbered(node, parent, name, nodes)


def _compact(values: NDArray[Any]) -> tuple[NDArray[Any], I32]:
    """Distinct values ascending, and for each entry its place among them."""
    top = int(values.max(initial=-1)) + 1
    if top > _TABLE_CELLS:
        distinct, place = np.unique(values, return_inverse=True)
        return distinct, place.astype(np.int32)
    seen = np.zeros(top, np.bool_)
    seen[values] = True
    distinct = np.flatnonzero(seen)
    rank = np.zeros(top, np.int32)
    rank[distinct] = np.arange(len(distinct), dtype=np.int32)
    return distinct, rank[values]


def _numbered(node: I32, parent: I32, name: I32, nodes: int) -> SlicePaths:
    first = np.empty(nodes, np.int32)
    first[node[::-1]] = np.arange(len(node) - 1, -1, -1, dtype=np.int32)
    order = np.argsort(first)
    rank = np.empty(nodes, np.int32)
    rank[order] = np.arange(nodes, dtype=np.int32)
    first = first[order]
    node = rank[node]
    above = parent[first]
    return SlicePaths(
        node, np.where(above >= 0, node[above], -1).astype(np.int32), name[first], first
    )


NONE = -1


Marks = TypeVar("Marks", I32, I8)


def innermost(own: Marks, parent: I32) -> Marks:
    """``own`` of the innermost row at or above each row that has one; −1 where none has."""
    result: Marks = own.copy()
    function = "kinetoscope_tree_inherit" + ("" if own.dtype == np.int32 else "_bytes")
    if call(function, parent, result, len(result)) is None:
        return innermost_in_python(own, parent)
    return result


def innermost_in_python(own: Marks, parent: I32) -> Marks:
    """The reference of ``innermost``."""
    result: Marks = own.copy()
    for rows in _by_depth(parent):
        above = parent[rows]
        asks = (result[rows] == NONE) & (above >= 0)
        result[rows[asks]] = result[above[asks]]
    return result


def sums_below(value: I64, parent: I32) -> I64:
    """Each row's value and those of all rows below it; shape as ``value``: one column, or many."""
    total = value.astype(np.int64, copy=True)
    for column in np.atleast_2d(total):
        if call("kinetoscope_tree_sum_up", parent, column, len(column)) is None:
            return sums_below_in_python(value, parent)
    return total


def sums_below_in_python(value: I64, parent: I32) -> I64:
    """The reference of ``sums_below``."""
    total = value.astype(np.int64, copy=True)
    columns = np.atleast_2d(total)
    for rows in reversed(list(_by_depth(parent))):
        inner = rows[parent[rows] >= 0]
        for column in columns:
            np.add.at(column, parent[inner], column[inner])
    return total


def few_sums_below(rows: I32, value: I64, parent: I32) -> tuple[I32, I64]:
    """``sums_below`` for columns with values in few rows; shape (columns, rows).

    Returns the rows at or above one of them, and the columns there.
    """
    at = rows_above(rows, parent)
    place = np.zeros(len(parent), np.int32)
    put(place, at, np.arange(len(at), dtype=np.int32))
    above = take(parent, at)
    inner = where(above >= 0)
    above[inner] = take(place, take(above, inner))
    own = np.zeros((len(value), len(at)), np.int64)
    own[:, take(place, rows)] = value
    return at, sums_below(own, above)


def rows_above(rows: I32, parent: I32) -> I32:
    """Some rows and all above them, ascending."""
    mark = np.zeros(len(parent), np.bool_)
    if call("kinetoscope_tree_mark_above", parent, len(parent), rows, len(rows), mark) is None:
        return rows_above_in_python(rows, parent)
    return where(mark)


def rows_above_in_python(rows: I32, parent: I32) -> I32:
    """The reference of ``rows_above``: one step up at a time."""
    mark = np.zeros(len(parent), np.bool_)
    while len(rows):
        mark[rows] = True
        above = distinct_values(parent[rows])
        rows = above[(above >= 0) & ~mark[above]]
    return where(mark)


def call_paths(kept: B, label: I32, parent: I32) -> tuple[I32, I32, I32]:
    """The distinct paths of the rows marked ``kept``, as a trie, and the path around each row.

    Returns the trie's parents (−1 at a root, parents before children), its labels, and for each row
    its path: that of a kept row includes itself, any other row has the path of what is above it.

        main ██████████      path 0: main
        step   ██████        path 1: main > step
        mm       ██          has path 1
        step          ██     path 1 again
    """
    around, above, labels = (np.empty(len(kept), np.int32) for _ in range(3))
    given = (np.ascontiguousarray(kept), np.ascontiguousarray(label, np.int32), parent)
    count = call("kinetoscope_kept_paths", *given, len(kept), around, above, labels)
    if count is None:
        return call_paths_in_python(kept, label, parent)
    return above[:count].copy(), labels[:count].copy(), around


def call_paths_in_python(kept: B, label: I32, parent: I32) -> tuple[I32, I32, I32]:
    """The reference of ``call_paths``."""
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
