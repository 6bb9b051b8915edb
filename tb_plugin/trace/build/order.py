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

from ...base.arrays import (
    I8,
    I32,
    I64,
    U8,
    ColumnTable,
    Sparse,
    combine,
    distinct,
    handed,
    take,
    where,
)
from ...base.machine import each, pieces
from ...base.native import call
from ..raw import RawEvents
from .route import Rows


class OrderedRows(Struct, frozen=True, eq=False):
    """Rows in the order of a table; group g has rows [first[g], first[g + 1])."""

    row: I32
    first: I64

    @property
    def group(self) -> I32:
        """The group of each row."""
        if len(self.first) > _FEW_GROUPS:
            groups = np.arange(len(self.first) - 1, dtype=np.int32)
            return np.repeat(groups, np.diff(self.first))
        result = np.empty(len(self.row), np.int32)
        for group, (low, high) in enumerate(pairwise(self.first.tolist())):
            result[low:high] = group
        return result


_FEW_GROUPS = 1000  # of which each is filled by itself
_NO_DUR = np.empty(0, np.int64)


def order_rows(rows: I32, group: I32, ts: I64, dur: I64 = _NO_DUR) -> OrderedRows:
    """Rows of the file by (group, ts, −dur); equal rows keep their order.

    ``group`` has a number from 0 on of each of the rows; times have an entry per row of the file,
    and durations count where they are given.
    """
    groups = int(group.max()) + 1 if len(group) else 0
    is_native = handed(rows, np.int32) and handed(group, np.int32) and handed(ts, np.int64)
    if is_native and handed(dur, np.int64, least=0):
        first, found = np.empty(groups + 1, np.int64), np.empty(len(rows), np.int32)
        done = call("kinetoscope_rows_gather", rows, group, len(rows), groups, first, found)
        if done is not None and _sort(found, first, ts, dur):
            return OrderedRows(found, first)
    return order_rows_in_python(rows, group, ts, dur)


def order_rows_in_python(rows: I32, group: I32, ts: I64, dur: I64) -> OrderedRows:
    """The reference of ``order_rows``."""
    keys: list[NDArray[Any]] = [group, ts[rows], *([-dur[rows]] if len(dur) else [])]
    order = np.lexsort(keys[::-1])
    groups = int(group.max()) + 1 if len(group) else 0
    first = np.searchsorted(group[order], np.arange(groups + 1)).astype(np.int64)
    return OrderedRows(rows[order], first)


def _sort(rows: I32, first: I64, ts: I64, dur: I64) -> bool:
    """Sort the rows of each group, on several threads; False where the library does not.

    Long groups are cut. What is written in the order of time is hardly ever merged at a cut.
    """
    parts = len(pieces(len(rows))) if len(first) <= _FEW_GROUPS else 1
    most = -(-len(rows) // parts)
    tasks: list[list[int]] = [[0]]
    cut: list[list[int]] = []
    if parts == 1:
        tasks = [first.tolist()]
    for low, high in pairwise(first.tolist() if parts > 1 else []):
        count = max(1, -(-(high - low) // most))
        ends = [low + part * (high - low) // count for part in range(1, count + 1)]
        for end in ends:
            if len(tasks[-1]) > 1 and end - tasks[-1][0] > most:
                tasks.append([tasks[-1][-1]])
            tasks[-1].append(end)
        if count > 1:
            cut.append([low, *ends])

    def run(bounds: list[int], are_sorted: int) -> int | None:
        part, at = rows[bounds[0] : bounds[-1]], np.array(bounds, np.int64) - bounds[0]
        keys = ts, len(ts), dur, len(dur)
        return call("kinetoscope_rows_sort", part, len(part), at, len(at), *keys, are_sorted)

    return None not in (*each(lambda one: run(one, 0), tasks), *each(lambda one: run(one, 1), cut))


# --- columns of a table ---------------------------------------------------------------------------


class FilledTimes(ColumnTable, frozen=True, eq=False):
    """Times of a table of events; ``tied`` are rows that begin and last as the one before."""

    ts: I64
    dur: I64
    tied: I32


def fill_times(rows: Rows, row: I32) -> FilledTimes:
    """Times of these rows of the file, which count from the start of all."""
    if not (handed(row, np.int32) and handed(rows.ts, np.int64) and handed(rows.dur, np.int64)):
        return fill_times_in_python(rows, row)
    count = len(row)
    ts, dur, tied = np.empty(count, np.int64), np.empty(count, np.int64), np.empty(count, np.int32)

    def fill(part: slice) -> I32 | None:
        before = int(row[part.start - 1]) if part.start else -1
        asked = row[part], part.stop - part.start, before, rows.start
        to = ts[part], dur[part], tied[part]
        equal = call("kinetoscope_rows_fill_times", *asked, rows.ts, rows.dur, len(rows.ts), *to)
        return None if equal is None else tied[part][:equal] + np.int32(part.start)

    done = each(fill, pieces(count))
    if any(equal is None for equal in done):
        return fill_times_in_python(rows, row)
    return FilledTimes(ts, dur, np.concatenate(done))


def fill_times_in_python(rows: Rows, row: I32) -> FilledTimes:
    """The reference of ``fill_times``."""
    ts, dur = take(rows.ts, row), take(rows.dur, row)
    tied = np.zeros(len(row), bool)
    tied[1:] = (ts[1:] == ts[:-1]) & (dur[1:] == dur[:-1])
    return FilledTimes(ts - rows.start, dur, where(tied))


class FilledNames(ColumnTable, frozen=True, eq=False):
    """Columns of a table of events that say what they are."""

    name: I32
    category: I32
    kind: I8
    names: I32  # the codes that occur in ``name``


def fill_names(events: RawEvents, role: U8, row: I32, kinds: Kinds) -> FilledNames:
    """Kinds of these rows of the file; ``role`` has an entry for every row."""
    if not (handed(row, np.int32) and handed(events.name, np.int32)):
        return fill_names_in_python(events, role, row, kinds)
    count = len(row)
    name, category = np.empty(count, np.int32), np.empty(count, np.int32)
    kind = np.empty(count, np.uint8)
    file = events.name, events.category, role, len(role)

    def fill(part: slice) -> U8 | None:
        found = np.zeros(len(kinds.index), np.uint8)
        by = kinds.index, found, len(found), kinds.table, len(kinds.table)
        to = name[part], category[part], kind[part]
        done = call(
            "kinetoscope_rows_fill_names", row[part], part.stop - part.start, *file, *by, *to
        )
        return None if done is None else found

    seen = each(fill, pieces(count))
    if any(found is None for found in seen):
        return fill_names_in_python(events, role, row, kinds)
    return FilledNames(name, category, kind.view(np.int8), where(np.logical_or.reduce(seen)))


def fill_names_in_python(events: RawEvents, role: U8, row: I32, kinds: Kinds) -> FilledNames:
    """The reference of ``fill_names``."""
    name = take(events.name, row)
    kind = kinds.of(name, take(role, row))
    return FilledNames(name, take(events.category, row), kind, distinct(name, len(kinds.index)))


class Kinds(Struct, frozen=True, eq=False):
    """Kinds of events by name and role: ``table[index[name] + role]``."""

    index: I32
    table: U8

    def of(self, name: I32, role: U8) -> I8:
        """The kinds of some events."""
        return combine(name, role, self.index, self.table).view(np.int8)


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
    """The columns of each table, in the order they are given in; ``columns`` is empty afterwards.

    ``skip`` names for each table the columns that it does without.
    """
    names = list(columns)
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
    if not len(ranks.place):
        for name in names:
            del columns[name]
        return {name: {} for name in names}
    # Of the same type: else all places would be widened for it.
    bounds = np.searchsorted(ranks.place, np.array(places.first, ranks.place.dtype)).tolist()
    present = {
        table: (slice(low, high), ranks.place[low:high])
        for table, (low, high) in enumerate(pairwise(bounds))
        if low < high
    }
    for table, (_, rows) in present.items():
        if first := places.first[table]:
            np.subtract(rows, np.int32(first), out=rows)  # places become rows

    def parts(name: str) -> dict[int, Sparse]:
        values = columns.pop(name).value
        wanted = [table for table in present if name not in skip[table]]
        values = ranks.spread(values) if wanted else values[:0]
        return {table: Sparse(present[table][1], values[present[table][0]]) for table in wanted}

    return dict(zip(names, each(parts, names), strict=True))


# --- numbers of one table -------------------------------------------------------------------------


def take_numbers(
    column: Sparse, places: TablePlaces, kind: I8, kinds: Sequence[int]
) -> tuple[I32 | I64, Sparse, Sparse]:
    """A column of the first table, on rows of some kinds, as wide as it is; elsewhere −1.

    Then those rows whose number is above 0, and the cells of all other tables.
    """
    wanted = np.zeros(256, np.uint8)
    wanted[list(kinds)] = 1
    dtype, count = column.value.dtype, len(column.row)
    if handed(column.row, np.int32) and dtype in (np.int32, np.int64):
        result: I32 | I64 = np.full(len(kind), -1, dtype)
        row, value = np.empty(count, np.int32), np.empty(count, dtype)
        cells = column.row, np.ascontiguousarray(column.value), dtype.itemsize, count
        of_kind = kind, wanted, result, len(result)
        asked = *cells, places.place, len(places.place), *of_kind
        left = call("kinetoscope_rows_spread_wanted", *asked, row, value)
        if left is not None:
            rest = Sparse(row[:left].copy(), value[:left].copy())
            to = row[left:], value[left:], dtype.itemsize, count - left
            found = call("kinetoscope_rows_find_positive", kind, wanted, result, len(kind), *to)
            if found is not None:
                some = slice(left, left + found)
                return result, Sparse(row[some], value[some]), rest
    return take_numbers_in_python(column, places, kind, wanted)


def take_numbers_in_python(
    column: Sparse, places: TablePlaces, kind: I8, wanted: U8
) -> tuple[I32 | I64, Sparse, Sparse]:
    """The reference of ``take_numbers``; ``wanted`` has an entry for each kind."""
    result: I32 | I64 = np.full(len(kind), -1, column.value.dtype)
    place = places.place[column.row]
    own = (place >= 0) & (place < len(kind))
    rest = Sparse(column.row[~own], column.value[~own])
    place, value = place[own], column.value[own]
    kept = wanted[kind[place]] > 0
    result[place[kept]] = value[kept]
    row = where((wanted[kind] > 0) & (result > 0))
    return result, Sparse(row, result[row]), rest
