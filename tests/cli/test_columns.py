"""Numbers in a table for people: one unit, digits that align, and never a zero that is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.cli.entry import one_line, printable
from kinetoscope.cli.render import Cell, written
from kinetoscope.views.table import Column, Table


def column(key: str, *values: Cell, label: str = "x") -> tuple[str, ...]:
    """Heading and cells of a table with this column only."""
    (only,) = written(Table("t", (Column(key, label),), tuple((value,) for value in values)))
    return (only.heading, *only.cells)


@pytest.mark.parametrize(
    ("key", "values", "expected"),
    [
        ("dur_ns", (59_300_000, 97_700, 0, None), ("x (ms)", "59.30", "0.10", "0", "–")),
        ("dur_ns", (840, 7), ("x (ns)", "840", "7")),
        ("dur_ns", (5_000_000_000, 4_000_000), ("x (s)", "5.000", "0.004")),
        ("dur_ns", (5_000_000_000, 400_000), ("x (s)", "5.000", "<0.001")),
        ("dur_ns", (5_000_000_000, -400_000), ("x (s)", "5.000", ">-0.001")),
        ("dur_ns", (None,), ("x (ns)", "–")),
        ("dur_ns", (0,), ("x (ns)", "0")),
        ("memory_bytes", (34_089_730_048,), ("x (GiB)", "31.75")),
        ("gain_ratio", (0.334, 0.0004, 0, 1.0), ("x", "33.4 %", "< 0.1 %", "0 %", "100 %")),
        ("event_count", (1_853_000, 7), ("x", "1,853,000", "7")),
        ("name", ("aten::mm", None), ("x", "aten::mm", "–")),
    ],
)
def test_a_column(key: str, values: tuple[Cell, ...], expected: tuple[str, ...]) -> None:
    assert column(key, *values) == expected


def test_the_unit_of_a_heading_is_replaced_not_repeated() -> None:
    assert column("dur_ns", 5_000_000, label="Mean (ns)")[0] == "Mean (ms)"


def test_all_times_of_a_table_share_their_unit() -> None:
    columns = (Column("a_ns", "A"), Column("b_ns", "B"))
    a, b = written(Table("t", columns, ((5_000_000, 2_000),)))
    assert (a.heading, b.heading) == ("A (ms)", "B (ms)")
    assert (a.cells, b.cells) == (("5.000",), ("0.002",))


@given(st.lists(st.integers(-(10**15), 10**15), min_size=1))
def test_only_zero_is_written_as_zero(values: list[int]) -> None:
    for value, text in zip(values, column("dur_ns", *values)[1:], strict=True):
        digits = text.strip("-<>").replace(",", "")
        assert (float(digits) == 0) is (value == 0)


@given(st.text())
def test_texts_are_printable_on_one_line(text: str) -> None:
    for shown in (printable(text), one_line(text)):
        assert "\x1b" not in shown
        assert len(shown.splitlines()) <= 1
        shown.encode()
