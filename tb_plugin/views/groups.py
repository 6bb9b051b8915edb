"""What the Operator and the Kernel view ask and answer alike: steps, columns, keys, shares."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from ..analysis.facts import Facts
from ..analysis.operators.grouped import Grouped
from ..analysis.selection import parse_steps
from ..base.errors import QueryError
from .figures import SharePart

_NO_OTHERS: Mapping[str, str] = MappingProxyType({})


def steps_of(facts: Facts, text: str) -> tuple[int, ...] | None:
    """The chosen steps; None = everything that is recorded, also outside steps.

    Raises:
        QueryError: there are no such steps.
    """
    return None if text.strip() == "" else parse_steps(text, facts)


def column_named(
    text: str, columns: Collection[str], others: Mapping[str, str] = _NO_OTHERS
) -> str:
    """The column to sort by; ``others`` are further names of columns.

    Raises:
        QueryError: there is no such column.
    """
    column = others.get(text, text)
    if column not in columns:
        also = f"; also {', '.join(others)}" if others else ""
        raise QueryError(
            f"sort_by: there is no column {text[:40]!r}",
            hint=f"Columns: {', '.join(columns)}{also}.",
        )
    return column


def key_named(text: str) -> int:
    """The key of a row from its text; −1 where it is none."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else -1


def no_such_row() -> QueryError:
    """What is said of a key that no row has."""
    return QueryError("key: there is no such row", hint="Take the key of a row of the table.")


def share_parts(
    table: Grouped, ns: NDArray[np.int64], groups: Iterable[int], whole_ns: int
) -> tuple[SharePart, ...]:
    """Some groups of a table as parts of a whole; ``ns`` is a column of the table."""
    return tuple(
        SharePart(
            table.text(int(table.name[at])),
            int(ns[at]),
            int(ns[at]) / whole_ns if whole_ns else 0.0,
        )
        for at in groups
    )


def known(value: float) -> float | None:
    """A figure, None where it is not a number."""
    return None if math.isnan(value) else value
