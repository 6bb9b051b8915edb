"""What the Operator and the Kernel view ask and answer alike."""

from __future__ import annotations

import math

import pytest

from kinetoscope.analysis.operators.artifact import operators_of
from kinetoscope.analysis.operators.kernels import ChosenKernels, kernel_table
from kinetoscope.analysis.summarize import summarize
from kinetoscope.base.errors import QueryError
from kinetoscope.views.shared import column_named, key_named, known, share_parts, steps_of
from tests.drawing import draw


def test_no_steps_are_everything_also_outside_of_steps() -> None:
    facts = summarize(draw("step |1111222233334444|\nop   |aaaaaaaaaaaaaaaa|"))
    assert steps_of(facts, "everything") is None
    assert steps_of(facts, "1-2") == (0, 1)  # the steps by their numbers, as the page counts
    with pytest.raises(QueryError, match="there is no step 9"):
        steps_of(facts, "9")


def test_a_column_may_have_further_names() -> None:
    others = {"count": "calls"}
    assert column_named("calls", ("name", "calls"), others) == "calls"
    assert column_named("count", ("name", "calls"), others) == "calls"
    with pytest.raises(QueryError) as raised:
        column_named("size", ("name", "calls"), others)
    assert raised.value.hint == "columns: name, calls, count"
    with pytest.raises(QueryError) as raised:
        column_named("count", ("name", "calls"))
    assert raised.value.hint == "columns: name, calls"


@pytest.mark.parametrize(
    ("text", "key"),
    [("0", 0), ("17", 17), ("", -1), ("-1", -1), ("x", -1), ("²", -1), ("٣", -1), ("9" * 20, -1)],
)
def test_the_key_of_a_row(text: str, key: int) -> None:
    assert key_named(text) == key


def test_parts_of_a_whole() -> None:
    trace = draw(
        """
        op  | aaaaaaaa |
        gpu | kkk    m |
        """
    )
    table = kernel_table(operators_of(trace), ChosenKernels())
    order = table.order("total_ns", ascending=False).tolist()
    parts = share_parts(table, table.total_ns, order, 4_000)
    assert [(part.name, part.ns, part.ratio) for part in parts] == [
        ("kernel_k", 3_000, 0.75),
        ("kernel_m", 1_000, 0.25),
    ]
    assert [part.ratio for part in share_parts(table, table.total_ns, order, 0)] == [0.0, 0.0]


def test_a_figure_that_is_not_known() -> None:
    assert (known(1.5), known(math.nan)) == (1.5, None)
