"""Columns that are declared beside the fields of a row."""

from __future__ import annotations

from typing import Annotated

import numpy as np
import pytest
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from kinetoscope.views.kernels.rows import GraphRow, KernelRow
from kinetoscope.views.table import (
    Column,
    Table,
    Values,
    as_said,
    column,
    fields_of,
    heads,
    per_step,
    recorded,
    rows_from,
    sorts,
    summed,
    table_from,
    unit_of,
)
from tests.analysis.serving.drawn import Pass, decode, facts_of

SERVED = facts_of(Pass(decode(8)), Pass(decode(8)))


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


class SummedRow(Struct, frozen=True):
    name: Annotated[str, column("Name", "The op.")]
    calls: Annotated[int | None, summed("Calls", "Number of launches.")]
    p95_ns: Annotated[int, column("p95", "A call.")]


def summed_table(step_count: int) -> Table:
    rows = (SummedRow("mm", 7, 30), SummedRow("add", None, 50))
    return table_from("t", heads(SummedRow), rows, step_count=step_count)


def test_a_sum_is_shown_per_step_and_nothing_else_is() -> None:
    shown = per_step(summed_table(4))
    assert [one.key for one in shown.columns] == ["name", "calls_per_step", "p95_ns"]
    assert shown.columns[1].label == "Calls/step"
    assert shown.columns[1].help == "Per step. Number of launches."
    assert shown.rows == (("mm", 1.75, 30), ("add", None, 50))


def test_a_sum_and_its_part_per_step_stand_side_by_side() -> None:
    shown = per_step(summed_table(2), has_sums=True)
    assert [one.key for one in shown.columns] == ["name", "calls", "calls_per_step", "p95_ns"]
    assert shown.rows == (("mm", 7, 3.5, 30), ("add", None, None, 50))


def test_without_steps_a_sum_stays_and_nothing_is_known_per_step() -> None:
    assert per_step(summed_table(0)) == summed_table(0)
    assert per_step(summed_table(0), has_sums=True).rows[0] == ("mm", 7, None, 30)


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


class SaidRow(Struct, frozen=True):
    name: str
    help: str


class SaidAnswer(Struct, frozen=True):
    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[SaidRow, ...]
    missing: dict[str, str]


SAID = SaidAnswer(
    "my step", "The step", (Column("step", "Step", "Of the step."),),
    (SaidRow("a step", "a step"),), {"step": "No step."},
)  # fmt: skip


def test_an_answer_of_a_served_model_speaks_of_iterations() -> None:
    """Keys and names are what they were."""
    said = as_said(SAID, SERVED)
    assert (said.name, said.title) == ("my step", "The iteration")
    assert said.columns == (Column("step", "Iteration", "Of the iteration."),)
    assert said.rows == (SaidRow("a step", "an iteration"),)
    assert said.missing == {"step": "No iteration."}
    assert as_said(SAID, replace(SERVED, step_source="annotation")) is SAID
    table = Table("Steps", SAID.columns, (("step", 1),))
    assert as_said(table, SERVED) == Table("Iterations", said.columns, (("step", 1),))
