"""Rows of a table in groups: which rows are chosen, the figures of each group, and their order.

Shared by the tables of calls and of kernels. Rows are chosen by step and by words of their name.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ...base.arrays import F64, I32, I64, ColumnTable, of_names
from .model import OperatorColumns


def in_steps(step: NDArray[np.int32], steps: tuple[int, ...] | None) -> NDArray[np.bool_]:
    """True for rows in the chosen steps; None = all, including those outside steps."""
    return np.ones(len(step), np.bool_) if steps is None else np.isin(step, steps)


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

_SPAN_BITS = 40  # lengths up to 18 minutes sort with their group in one pass


class GroupMembers(ColumnTable, frozen=True, eq=False):
    """Members by group, ascending by length within each; every group has a member.

    ``member`` are rows of the table the groups were made of; group g holds
    ``member[first[g]:first[g + 1]]``.
    """

    key: I64
    member: I64
    first: I64

    @property
    def size(self) -> I64:
        """Members of each group."""
        return np.diff(self.first)

    def sums(self, value: NDArray[np.integer] | NDArray[np.bool_]) -> I64:
        """Exact sum of a column of the table per group."""
        if not len(self):
            return np.zeros(0, np.int64)
        return np.add.reduceat(value[self.member].astype(np.int64, copy=False), self.first[:-1])

    def real_sums(self, value: F64) -> F64:
        """Sum of a real column per group; NaN counts as 0."""
        if not len(self):
            return np.zeros(0)
        return np.add.reduceat(np.nan_to_num(value[self.member]), self.first[:-1])

    def any(self, mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """True for groups with a marked member."""
        return np.asarray(self.sums(mask) > 0)

    def shortest(self) -> I64:
        """The member of each group with the least length."""
        return self.member[self.first[:-1]]

    def longest(self) -> I64:
        """The member of each group with the greatest length."""
        return self.member[self.first[1:] - 1]

    def quantile(self, length: NDArray[np.integer], share: float) -> I64:
        """The least length that this share of the members does not exceed (nearest rank)."""
        size = self.size
        rank = np.ceil(share * size).astype(np.int64).clip(1, np.maximum(size, 1))
        found: I64 = length[self.member[self.first[:-1] + rank - 1]].astype(np.int64)
        return found

    def of(self, group: int) -> I64:
        """The members of one group, ascending by length."""
        return self.member[self.first[group] : self.first[group + 1]]


def group(rows: Rows, key: NDArray[np.integer], length: NDArray[np.integer]) -> GroupMembers:
    """Groups of ``rows`` by ``key``; both columns, like ``length`` ≥ 0, are of the whole table."""
    keys = key[rows]
    spans = length[rows]
    dense, code = _dense(keys)
    if len(spans) and int(spans.max()) >= 1 << _SPAN_BITS:
        order = np.lexsort((spans, code))
    else:
        order = np.argsort(code.astype(np.int64) << _SPAN_BITS | spans.astype(np.int64))
    code = code[order]
    first = np.concatenate([np.flatnonzero(np.diff(code, prepend=-1)), [len(code)]])
    return GroupMembers(dense, rows[order].astype(np.int64), first.astype(np.int64))


def _dense(keys: NDArray[np.integer]) -> tuple[I64, NDArray[np.integer]]:
    """The distinct keys, ascending, and the index of each row's key among them."""
    if len(keys) and int(keys.min()) >= 0 and int(keys.max()) < 4 * len(keys) + 1024:
        seen = np.zeros(int(keys.max()) + 1, np.bool_)
        seen[keys] = True
        number = np.cumsum(seen) - 1
        return np.flatnonzero(seen).astype(np.int64), number[keys]
    dense, code = np.unique(keys, return_inverse=True)
    return dense.astype(np.int64), code


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
        """Duration of each row; the groups are in ascending order of it."""
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

    @cached_property
    def min_ns(self) -> I64:
        """The shortest."""
        return self.row_ns[self.groups.shortest()]

    @cached_property
    def max_ns(self) -> I64:
        """The longest."""
        return self.row_ns[self.sample]

    @cached_property
    def mean_ns(self) -> F64:
        """Total divided by count."""
        return self.total_ns / np.maximum(self.count, 1)

    @cached_property
    def p50_ns(self) -> I64:
        """The median."""
        return self.groups.quantile(self.row_ns, 0.5)

    @cached_property
    def p95_ns(self) -> I64:
        """The 95th percentile."""
        return self.groups.quantile(self.row_ns, 0.95)

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
