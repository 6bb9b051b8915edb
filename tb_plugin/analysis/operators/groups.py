"""Rows of a table in groups: which rows are chosen, the figures of each group, and their order.

Shared by the tables of calls and of kernels. Rows are chosen by step and by words of their name.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ...base.arrays import F64, I32, I64, ColumnTable, of_names, seen
from ...base.group_sums import GroupRanks, group_ranks, group_sums
from .model import OperatorColumns


def in_steps(step: NDArray[np.int32], steps: tuple[int, ...] | None) -> NDArray[np.bool_]:
    """True for rows in the chosen steps; None = all, including those outside steps."""
    if steps is None:
        return np.ones(len(step), np.bool_)
    wanted = np.zeros(max([int(step.max(initial=0)), *steps]) + 2, np.bool_)
    wanted[list(steps)] = True
    return wanted[step]  # the last one stands for −1


def named(strings: Sequence[str], codes: NDArray[np.int32], search: str) -> NDArray[np.bool_]:
    """True for codes whose names hold every word of ``search``, in any case; shape as ``codes``."""
    words = search.casefold().split()
    return of_names(strings, codes, lambda name: _holds(name, words), np.bool_)


def _holds(name: str, words: Sequence[str]) -> bool:
    text = name.casefold()
    return all(word in text for word in words)


class NamesFound(Struct, frozen=True, eq=False):
    """Names of one kind that match: their codes, best first, and how many there are in all."""

    codes: NDArray[np.intp]
    count: int


def names_found(operators: OperatorColumns, kind: str, search: str, limit: int) -> NamesFound:
    """The names of a kind (of ``sums_by_name``) that hold every word of ``search``, in any case.

    The name itself comes first, then names by their time. Costs time linear in distinct names.
    """
    sums, strings = operators.sums_by_name[kind], operators.strings
    words, whole = search.casefold().split(), search.strip().casefold()
    known = np.flatnonzero(sums.count)
    hits = known[[_holds(strings[code], words) for code in known.tolist()]]
    exact = np.array([strings[code].casefold() == whole for code in hits.tolist()], np.bool_)
    order = np.lexsort((hits, -sums.ns[hits], ~exact))
    return NamesFound(hits[order[:limit]], len(hits))


Rows = NDArray[np.integer]


class GroupMembers(ColumnTable, frozen=True, eq=False, dict=True):
    """Rows of a table by group; every group has a member.

    Sums and ranks are computed in one pass each: a million rows are not sorted.
    """

    key: I64
    rows: I64  # of the table that the groups were made of, ascending
    code: I32  # the group of each of these rows: a place in ``key``
    length: I64  # of these rows: what ranks are of
    table_rows: int  # number of rows of the table

    @cached_property
    def size(self) -> I64:
        """Members of each group."""
        return np.bincount(self.code, minlength=len(self)).astype(np.int64)

    @cached_property
    def ranks(self) -> GroupRanks:
        """Least, middle and largest length of each group; places are those of ``rows``."""
        return group_ranks(self.code, self.length, self.size)

    def sums(self, value: NDArray[np.integer] | NDArray[np.bool_]) -> I64:
        """Exact sum of a column of the table per group."""
        if self._are_many:
            whole = value.astype(np.int64, copy=False)
            return group_sums(self._of_all, whole, len(self) + 1).total[:-1]
        return group_sums(self.code, value[self.rows].astype(np.int64), len(self)).total

    def real_sums(self, value: F64) -> F64:
        """Sum of a real column per group; NaN counts as 0."""
        many = self._are_many
        code, some = (self._of_all, value) if many else (self.code, value[self.rows])
        found = np.bincount(code, np.nan_to_num(some), len(self) + many)
        return np.asarray(found[: len(self)], np.float64)

    def any(self, mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """True for groups with a marked member."""
        return seen(self.code[mask[self.rows]], len(self))

    @property
    def _are_many(self) -> bool:
        """True if adding the whole column is faster than picking out the members."""
        return 2 * len(self.rows) > self.table_rows

    @cached_property
    def _of_all(self) -> I32:
        """The group of every row of the table; rows outside are in one more, the last."""
        if len(self.rows) == self.table_rows:
            return self.code
        found = np.full(self.table_rows, len(self), np.int32)
        found[self.rows] = self.code
        return found

    def longest(self) -> I64:
        """The member of each group with the greatest length, of equal ones the first."""
        return self.rows[self.ranks.longest]

    @cached_property
    def _by_group(self) -> tuple[NDArray[np.intp], I64]:
        """Places in ``rows``, group by group and ascending by length; where each group begins."""
        first = np.concatenate([np.zeros(1, np.int64), np.cumsum(self.size)])
        return np.lexsort((self.length, self.code)), first

    def of(self, group: int) -> I64:
        """The members of one group, ascending by length."""
        order, first = self._by_group
        return self.rows[order[first[group] : first[group + 1]]]


def group(rows: Rows, key: NDArray[np.integer], length: NDArray[np.integer]) -> GroupMembers:
    """Groups of ``rows`` by ``key``; both columns, like ``length`` ≥ 0, are of the whole table."""
    count = len(key)
    if len(rows) == count:  # all of them
        rows = np.arange(len(key))
    else:
        rows = rows if (rows[1:] > rows[:-1]).all() else np.sort(rows)
        key, length = key[rows], length[rows]
    dense, code = _dense(key)
    numbers = rows.astype(np.int64, copy=False)
    return GroupMembers(dense, numbers, code, length.astype(np.int64, copy=False), count)


def _dense(keys: NDArray[np.integer]) -> tuple[I64, I32]:
    """The distinct keys, ascending, and the index of each row's key among them."""
    if len(keys) and int(keys.min()) >= 0 and int(keys.max()) < 4 * len(keys) + 1024:
        some = seen(keys, int(keys.max()) + 1)
        number = np.cumsum(some, dtype=np.int32) - np.int32(1)
        return np.flatnonzero(some).astype(np.int64), number[keys]
    dense, code = np.unique(keys, return_inverse=True)
    return dense.astype(np.int64), code.astype(np.int32)


def paired(outer: NDArray[np.integer], inner: NDArray[np.integer]) -> I64:
    """Two columns of codes ≥ −1 as one key; ``unpaired`` takes it apart."""
    return (outer.astype(np.int64) + 1) << 32 | (inner.astype(np.int64) + 1)


def unpaired(key: int) -> tuple[int, int]:
    """The two codes of a key."""
    return (key >> 32) - 1, (key & 0xFFFFFFFF) - 1


# What rows call a column → its name here.
_COLUMNS = {"calls": "count", "ratio": "total_ns"}


class Grouped(Struct, frozen=True, eq=False, dict=True):
    """Groups of rows; every column has one entry per group, in the order of the keys."""

    operators: OperatorColumns
    groups: GroupMembers
    group_by: str

    @property
    def row_name(self) -> I32:
        """Code of the name of each row that was grouped."""
        raise NotImplementedError

    @property
    def row_ns(self) -> I64:
        """Duration of each row, which ranks of the groups are of."""
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self.groups)

    @cached_property
    def sample(self) -> I64:
        """One row of each group, the longest."""
        return self.groups.longest()

    @cached_property
    def count(self) -> I64:
        """Rows of each group."""
        return self.groups.size

    @cached_property
    def name(self) -> I32:
        """Code of the name of the longest."""
        return self.row_name[self.sample]

    @cached_property
    def total_ns(self) -> I64:
        """Sum of the durations."""
        return self.groups.sums(self.row_ns)

    @property
    def min_ns(self) -> I64:
        """The shortest."""
        return self.groups.ranks.least

    @property
    def max_ns(self) -> I64:
        """The longest."""
        return self.groups.ranks.most

    @cached_property
    def mean_ns(self) -> F64:
        """Total divided by count."""
        return self.total_ns / np.maximum(self.count, 1)

    @property
    def p50_ns(self) -> I64:
        """The median."""
        return self.groups.ranks.median

    @property
    def p95_ns(self) -> I64:
        """The 95th percentile."""
        return self.groups.ranks.p95

    def text(self, code: int) -> str:
        """The string behind a code."""
        return self.operators.strings[code]

    def order(self, sort_by: str, *, ascending: bool) -> NDArray[np.intp]:
        """The groups by a column; equal ones by name, then by key; NaN last."""
        names = [self.text(code) for code in self.name.tolist()]
        place = {text: at for at, text in enumerate(sorted(set(names)))}
        by_name = np.array([place[text] for text in names], np.int64)
        column = by_name if sort_by == "name" else getattr(self, _COLUMNS.get(sort_by, sort_by))
        value = np.asarray(column, np.float64)
        value = value if ascending else -value
        return np.lexsort((by_name, np.where(np.isnan(value), np.inf, value)))
