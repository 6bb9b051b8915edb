"""Columns that are declared beside the fields of a row."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import pytest
from msgspec import Struct
from numpy.typing import NDArray

from kinetoscope.views.kernels.rows import GraphRow, KernelRow
from kinetoscope.views.table import (
    Column,
    Values,
    column,
    fields_of,
    heads,
    recorded,
    rows_from,
    sorts,
    unit_of,
)


class Source(Struct, frozen=True):
    mean_ns: NDArray[np.float64]
    count: NDArray[np.int64]
    wide: bool = False


def _counts(source: Source, at: NDArray[np.intp]) -> Values:
    return recorded(source.count[at])


def _is_wide(source: Source) -> bool:
    return source.wide


class DrawnRow(Struct, frozen=True):
    mean_ns: Annotated[float | None, column("Mean", "Total by calls.")]
    calls: Annotated[int | None, column("Calls", "How often.", is_minor=True, of=_counts)]
    name: Annotated[str, column("Name", "The name.", kind="name", when=_is_wide, of=_counts)]
    key: Annotated[str, column(of=_counts)]


SOURCE = Source(np.array([1.5, np.nan, 7.0]), np.array([4, -1, 9]))
WIDE = Source(SOURCE.mean_ns, SOURCE.count, wide=True)


def test_rows_are_made_column_by_column() -> None:
    first, second = rows_from(DrawnRow, SOURCE, np.array([2, 1]))
    assert (first.mean_ns, first.calls) == (7.0, 9)
    assert (second.mean_ns, second.calls) == (None, None), "NaN and −1 are not known"


def test_the_head_of_a_column_follows_from_its_line() -> None:
    mean, calls = heads(DrawnRow, SOURCE)
    assert mean == Column(
        "mean_ns", "Mean", "Total by calls.", "value", False, True, True, True, "ns"
    )
    assert (calls.key, calls.is_minor, calls.unit) == ("calls", True, "")
    assert [one.key for one in heads(DrawnRow, WIDE)] == [
        "mean_ns", "calls", "name",
    ]  # fmt: skip
    assert sorts(DrawnRow) == ("mean_ns", "calls"), "a name is sorted by only where it says so"


def test_a_row_that_extends_another_has_its_columns_too() -> None:
    own = [field.head.key for field in fields_of(KernelRow)]
    assert [field.head.key for field in fields_of(GraphRow)][: len(own)] == own


@pytest.mark.parametrize(
    ("key", "unit"),
    [
        ("ns", "ns"),
        ("dur_ns", "ns"),
        ("columns", ""),
        ("bandwidth_bytes_per_s", "bytes/s"),
        ("total_bytes", "bytes"),
        ("step_ratio", "ratio"),
        ("occupancy_percent", "%"),
        ("power_w", "W"),
        ("energy_j", "J"),
        ("calls", ""),
    ],
)
def test_the_key_carries_the_unit(key: str, unit: str) -> None:
    assert unit_of(key) == unit
