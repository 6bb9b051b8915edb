"""Which row of the file is which row of a table, and where do the cells of sparse columns go?

A table has its rows by group (thread, stream) and time. Cells of the file stand in the order of the
file. All tables together are numbered through, table by table, so that one pass puts the cells of
all of them in order:

    rows of the file   a b c d e f g        places of them   5 0 · 3 1 2 4
    cells at           b c d e                               0 · 3 1       ranks 0 · 2 1
    tables             0 b 1 e 2 f │ 3 d 4 g 5 a             first table: rows 0, 1; second: row 0

The rank of a cell is its index among all cells in the order of the tables. Columns that share
their rows, as those of one kind of event do, share the ranks. A column of the file is freed as soon
as its cells are in the tables, so that no two copies of all columns are in memory.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ...base.arrays import I32, I64, Sparse, handed, take
from ...base.machine import each
from ...base.native import call


class OrderedRows(Struct, frozen=True, eq=False):
    """Rows in the order of a table.

    Group g has rows [first[g], first[g + 1]). ``tied`` are the places whose row has the group and
    all keys of the row before; such rows keep their order.
    """

    row: I32
    first: I64
    tied: I32

    @property
    def group(self) -> I32:
        """The group of each row."""
        groups = np.arange(len(self.first) - 1, dtype=np.int32)
        return np.repeat(groups, np.diff(self.first))


_NO_DUR = np.empty(0, np.int64)


def order_rows(rows: I32, group: I32, ts: I64, dur: I64 = _NO_DUR) -> OrderedRows:
    """Rows of the file by (group, ts, −dur); what is equal stays in its order.

    ``group`` has a number from 0 on of each of the rows; times have an entry per row of the file,
    and durations count where they are given.
    """
    groups = int(group.max()) + 1 if len(group) else 0
    first, found = np.empty(groups + 1, np.int64), np.empty(len(rows), np.int32)
    tied = np.empty(len(rows), np.int32)
    is_native = handed(rows, np.int32) and handed(group, np.int32) and handed(ts, np.int64)
    if is_native and handed(dur, np.int64, least=0):
        asked = rows, group, len(rows), groups, ts, len(ts), dur, len(dur)
        count = call("kinetoscope_rows_order", *asked, first, found, tied)
        if count is not None:
            return OrderedRows(found, first, tied[:count].copy())
    return order_rows_in_python(rows, group, ts, dur)


def order_rows_in_python(rows: I32, group: I32, ts: I64, dur: I64) -> OrderedRows:
    """The reference of ``order_rows``."""
    keys: list[NDArray[Any]] = [group, ts[rows], *([-dur[rows]] if len(dur) else [])]
    order = np.lexsort(keys[::-1])
    is_tied = np.ones(max(len(order) - 1, 0), bool)
    for key in keys:
        in_order = key[order]
        is_tied &= in_order[1:] == in_order[:-1]
    groups = int(group.max()) + 1 if len(group) else 0
    first = np.searchsorted(group[order], np.arange(groups + 1)).astype(np.int64)
    return OrderedRows(rows[order], first, (np.flatnonzero(is_tied) + 1).astype(np.int32))


# --- cells of sparse columns ----------------------------------------------------------------------


class TablePlaces(Struct, frozen=True, eq=False):
    """For each row of the file its place in all tables, one behind the other; −1 = in none."""

    place: I32
    first: tuple[int, ...]  # place of each table, and behind the last one

    def of(self, rows: I32, table: int) -> I32:
        """Those of some rows of the file that are in a table, as rows of that table."""
        place = self.place[rows] - self.first[table]
        return place[(place >= 0) & (place < self.first[table + 1] - self.first[table])]


def places_in(tables: Sequence[I32], count: int) -> TablePlaces:
    """The inverse of the ``raw`` columns of some tables; the file has ``count`` rows."""
    place, first = np.full(count, -1, np.int32), [0]
    for raw in tables:
        to = place, count, raw, len(raw), first[-1]
        is_done = handed(raw, np.int32) and call("kinetoscope_rows_number", *to) is not None
        if not is_done:
            place[raw] = np.arange(first[-1], first[-1] + len(raw), dtype=np.int32)
        first.append(first[-1] + len(raw))
    return TablePlaces(place, tuple(first))


class Ranks(Struct, frozen=True, eq=False):
    """Cells in the order of the tables: their places, and for each cell its index among those.

    ``rank`` is −1 where the row of a cell is in no table, None where all are in order as they are.
    """

    place: I32
    rank: I32 | None

    def spread(self, values: NDArray[Any]) -> NDArray[Any]:
        """The values of the cells in the order of the tables."""
        if self.rank is None:
            return values
        result = np.empty(len(self.place), values.dtype)
        to = values.itemsize, self.rank, len(values), result, len(result)
        if (
            handed(values, values.dtype.type)
            and call("kinetoscope_rows_spread", values, *to) is not None
        ):
            return result
        kept = self.rank >= 0
        result[self.rank[kept]] = values[kept]
        return result


def rank_cells(rows: I32, places: TablePlaces) -> Ranks:
    """The ranks of cells in these rows of the file."""
    if handed(rows, np.int32):
        words = places.first[-1] // 64 + 1
        room = np.zeros(words, np.uint64), np.empty(words, np.int32), words
        found, rank = np.empty(len(rows), np.int32), np.empty(len(rows), np.int32)
        asked = rows, len(rows), places.place, len(places.place), *room, found, rank
        answer = call("kinetoscope_rows_rank", *asked)
        if answer is not None:
            count, is_plain = divmod(answer, 2)
            return Ranks(found[:count], None if is_plain else rank)
    return rank_cells_in_python(rows, places)


def rank_cells_in_python(rows: I32, places: TablePlaces) -> Ranks:
    """The reference of ``rank_cells``."""
    place = take(places.place, rows)
    if (place[1:] > place[:-1]).all() and (place[:1] >= 0).all():
        return Ranks(place, None)
    kept = np.flatnonzero(place >= 0)
    order = kept[np.argsort(place[kept], kind="stable")]
    rank = np.full(len(rows), -1, np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return Ranks(place[order], rank)


def split(
    columns: dict[str, Sparse], places: TablePlaces, skip: Sequence[Collection[str]]
) -> list[dict[str, Sparse]]:
    """The columns of each table, in the order of their names; ``columns`` is empty afterwards.

    ``skip`` names for each table the columns that it does without.
    """
    names = sorted(columns)
    together: dict[int, list[str]] = {}
    for name in names:
        together.setdefault(id(columns[name].row), []).append(name)
    # The longest first: what is left for the end is short.
    groups = sorted(together.values(), key=lambda group: -len(columns[group[0]].row) * len(group))
    parts: dict[str, dict[int, Sparse]] = {}
    for found in each(lambda group: _split_group(group, columns, places, skip), groups):
        parts |= found
    return [
        {name: parts[name][table] for name in names if table in parts[name]}
        for table in range(len(skip))
    ]


def _split_group(
    names: Sequence[str],
    columns: dict[str, Sparse],
    places: TablePlaces,
    skip: Sequence[Collection[str]],
) -> dict[str, dict[int, Sparse]]:
    """The parts of columns with the same rows, by name and table; the columns are taken out."""
    ranks = rank_cells(columns[names[0]].row, places)
    # Of the same type: else all places would be widened for it.
    bounds = np.searchsorted(ranks.place, np.array(places.first, ranks.place.dtype)).tolist()
    present = {
        table: (slice(low, high), ranks.place[low:high] - np.int32(places.first[table]))
        for table, (low, high) in enumerate(pairwise(bounds))
        if low < high
    }

    def parts(name: str) -> dict[int, Sparse]:
        values = columns.pop(name).value
        wanted = [table for table in present if name not in skip[table]]
        values = ranks.spread(values) if wanted else values[:0]
        return {table: Sparse(present[table][1], values[present[table][0]]) for table in wanted}

    return dict(zip(names, each(parts, names), strict=True))
