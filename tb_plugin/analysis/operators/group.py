"""Rows of a table: calls or activities with one key, and their figures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
F64 = NDArray[np.float64]
Rows = NDArray[np.integer]

_SPAN_BITS = 40  # lengths up to 18 minutes sort with their group in one pass


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Members by group, ascending by length within each; every group has a member.

    ``member`` are rows of the table the groups were made of; group g holds
    ``member[first[g]:first[g + 1]]``.
    """

    key: I64
    member: I64
    first: I64

    def __len__(self) -> int:
        return len(self.key)

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
        """Sum of a real column per group; NaN counts as nothing."""
        if not len(self):
            return np.zeros(0)
        return np.add.reduceat(np.nan_to_num(value[self.member]), self.first[:-1])

    def any(self, mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Whether some member of each group is marked."""
        return np.asarray(self.sums(mask) > 0)

    def shortest(self) -> I64:
        """The member of each group with the least length."""
        return self.member[self.first[:-1]]

    def longest(self) -> I64:
        """The member of each group with the greatest length."""
        return self.member[self.first[1:] - 1]

    def quantile(self, length: NDArray[np.integer], share: float) -> I64:
        """The least length that so large a share of the members does not exceed (nearest rank)."""
        size = self.size
        rank = np.ceil(share * size).astype(np.int64).clip(1, np.maximum(size, 1))
        found: I64 = length[self.member[self.first[:-1] + rank - 1]].astype(np.int64)
        return found

    def of(self, group: int) -> I64:
        """The members of one group, ascending by length."""
        return self.member[self.first[group] : self.first[group + 1]]


def group(rows: Rows, key: NDArray[np.integer], length: NDArray[np.integer]) -> Groups:
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
    return Groups(dense, rows[order].astype(np.int64), first.astype(np.int64))


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
