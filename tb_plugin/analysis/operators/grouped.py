"""What tables of calls and of kernels have in common: the figures of groups, and their order."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .group import Groups
from .model import Operators

I32 = NDArray[np.int32]
I64 = NDArray[np.int64]
F64 = NDArray[np.float64]

# What rows call a column → its name here.
_COLUMNS = {"calls": "count", "ratio": "total_ns"}


@dataclass(frozen=True, eq=False)
class Grouped(ABC):
    """Groups of rows; every column has one entry per group, in the order of the keys."""

    operators: Operators
    groups: Groups
    group_by: str

    @property
    @abstractmethod
    def row_name(self) -> I32:
        """Code of the name of each row that was grouped."""

    @property
    @abstractmethod
    def row_ns(self) -> I64:
        """How long each of the rows lasted; the groups are ascending by it."""

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
        """Total by count."""
        return self.total_ns / np.maximum(self.count, 1)

    @cached_property
    def p50_ns(self) -> I64:
        """Half of them take no longer."""
        return self.groups.quantile(self.row_ns, 0.5)

    @cached_property
    def p95_ns(self) -> I64:
        """95 % of them take no longer."""
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
