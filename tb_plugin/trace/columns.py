"""Small tools for columns: sparse cells by row, rows renumbered from the file to a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .raw import Sparse

I32 = NDArray[np.int32]
I64 = NDArray[np.int64]


def cells(column: Sparse | None, rows: NDArray[Any], missing: int) -> I64:
    """Values of a sparse column at these rows (any order); for few rows, it searches."""
    result = np.full(len(rows), missing, np.int64)
    if column is None or not len(column.row) or not len(rows):
        return result
    at = np.searchsorted(column.row, rows)
    np.minimum(at, len(column.row) - 1, out=at)
    found = column.row[at] == rows
    result[found] = column.value[at[found]]
    return result


def has_cell(column: Sparse | None, rows: NDArray[Any]) -> NDArray[np.bool_]:
    """Which of these rows have a value."""
    if column is None or not len(column.row):
        return np.zeros(len(rows), bool)
    at = np.minimum(np.searchsorted(column.row, rows), len(column.row) - 1)
    return np.asarray(column.row[at] == rows)


def place_of(rows: NDArray[Any], count: int) -> I32:
    """Inverse of a table's ``raw`` column: for each row of the file its row in the table, or −1."""
    place = np.full(count, -1, np.int32)
    place[rows] = np.arange(len(rows), dtype=np.int32)
    return place


def spread(column: Sparse | None, place: I32, size: int, missing: int) -> I64:
    """A sparse column of the file as a dense column of a table with ``size`` rows."""
    result = np.full(size, missing, np.int64)
    if column is not None:
        row = place[column.row]
        keep = row >= 0
        result[row[keep]] = column.value[keep]
    return result


def renumber(
    columns: Mapping[str, Sparse], place: I32, size: int, skip: Iterable[str] = ()
) -> dict[str, Sparse]:
    """The sparse columns of a table, cut out of those of the file but for those in ``skip``."""
    result = {}
    where = np.empty(size, np.int32)
    for name in columns.keys() - set(skip):
        column = columns[name]
        row = place[column.row]
        keep = np.flatnonzero(row >= 0)
        if len(keep):
            where.fill(-1)
            where[row[keep]] = keep
            rows = np.flatnonzero(where >= 0).astype(np.int32)
            result[name] = Sparse(rows, column.value[where[rows]])
    return dict(sorted(result.items()))


def dense_codes(codes: I32, size: int) -> tuple[I32, I32]:
    """Distinct codes ascending, and for each entry its index among them."""
    seen = np.zeros(size, bool)
    seen[codes] = True
    distinct = np.flatnonzero(seen).astype(np.int32)
    index = np.zeros(size, np.int32)
    index[distinct] = np.arange(len(distinct), dtype=np.int32)
    return distinct, index[codes]


def pairs_of(pid: I32, tid: I32, size: int) -> tuple[I32, I32, I32]:
    """Distinct (pid, tid) by pid and tid code, and for each entry its index among them."""
    pids, p = dense_codes(pid, size)
    tids, t = dense_codes(tid, size)
    cell = p.astype(np.int64) * max(len(tids), 1) + t
    if len(pids) * len(tids) <= 1 << 24:
        used, index = dense_codes(cell.astype(np.int32), len(pids) * len(tids))
    else:
        wide, inverse = np.unique(cell, return_inverse=True)
        used, index = wide, inverse.astype(np.int32)
    return pids[used // max(len(tids), 1)], tids[used % max(len(tids), 1)], index


def look_up(pid: I32, tid: I32, size: int, known: Mapping[tuple[int, int], int]) -> I32:
    """What ``known`` says of each (pid, tid), −1 where it says nothing; asked once per pair."""
    pids, tids, index = pairs_of(pid, tid, size)
    pairs = zip(pids.tolist(), tids.tolist(), strict=True)
    return np.array([known.get(key, -1) for key in pairs], np.int32)[index]


def by_key_then_ts(key: I32, ts: I64) -> NDArray[np.intp]:
    """Stable order by (key, ts); the two are packed into one number where they fit."""
    if not len(ts):
        return np.empty(0, np.intp)
    low = int(ts.min())
    span = int(ts.max()) - low + 1
    if (int(key.max()) + 1) * span < 1 << 62:
        packed = key.astype(np.int64)
        packed *= span
        packed += ts
        packed -= low
        return np.argsort(packed, kind="stable")
    return np.lexsort((ts, key))
