"""``budget``: each line of a budget, on both sides of its limit."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

import pytest

from kinetoscope.analysis.diff.budget import (
    Budget,
    BudgetCase,
    Checked,
    check_budget,
    source_line,
    worst,
)
from kinetoscope.analysis.diff.changes import ItemChange, changes
from kinetoscope.analysis.diff.sides import kernel_items, operator_items
from kinetoscope.analysis.diff.verdict import compare
from kinetoscope.base.errors import QueryError
from tests.analysis.diff.training import Plant, training

STEPS = 20
TWO_COPIES = Plant(times={"aten::copy_": 2}, slower={"aten::mm": 1.3})


@cache
def checked(*, same: bool = False) -> Checked:
    """One operator is slower and one runs twice, or nothing changed."""
    base, other = training(1, STEPS), training(2, STEPS, Plant() if same else TWO_COPIES)
    operators = changes([operator_items(base)], [operator_items(other)], "self_ns", base.mean_ns)
    kernels = changes([kernel_items(base)], [kernel_items(other)], "device_self_ns", base.mean_ns)
    return Checked(base, other, compare(base, other), operators, kernels)


def case(name: str, budget: Budget, *, same: bool = False) -> BudgetCase:
    return next(one for one in check_budget(checked(same=same), budget) if one.name == name)


def row(name: str) -> ItemChange:
    return next(one for one in checked().operators if one.name == name)


def test_the_step_is_the_first_case() -> None:
    cases = check_budget(checked(), Budget())
    assert [(one.name, one.outcome) for one in cases] == [("step time", "worse")]
    assert [(one.name, one.outcome) for one in check_budget(checked(same=True), Budget())] == [
        ("step time", "ok")
    ]


@pytest.mark.parametrize(
    ("name", "beside", "outcome"),
    [
        ("aten::mm", 1e-6, "ok"),
        ("aten::mm", -1e-6, "cannot tell"),  # slower on one day alone
        ("aten::copy_", 1e-6, "ok"),
        ("aten::copy_", -1e-6, "worse"),  # one call a step more is the code's doing
    ],
)
def test_an_operator_may_grow_by_its_share(name: str, beside: float, outcome: str) -> None:
    share = row(name).other.ns / row(name).base.ns - 1
    found = case(f"operator {name}", Budget(operators={name: share + beside}))
    assert found.outcome == outcome
    if outcome == "worse":
        assert "1 → 2 calls per step" in found.evidence[0].replace("\u00a0", " ")


@pytest.mark.parametrize(
    ("counts", "outcome"), [({"launches": 0.17}, "ok"), ({"launches": 0.16}, "worse")]
)
def test_a_count_may_grow_by_its_share(counts: Mapping[str, float], outcome: str) -> None:
    """Six launches a step became seven: 16.7 % more."""
    found = case("count launches", Budget(counts=counts))
    assert found.outcome == outcome
    assert "6 → 7" in found.text.replace("\u00a0", " ")


def test_equal_counts_keep_a_budget_of_nothing() -> None:
    assert case("count launches", Budget(counts={"launches": 0}), same=True).outcome == "ok"


def test_a_count_that_grew_names_the_operators_that_did() -> None:
    found = case("count launches", Budget(counts={"launches": 0}))
    assert found.evidence[0].startswith("copy")
    assert "1 → 2 per step" in found.evidence[0].replace("\u00a0", " ")


def test_what_is_in_neither_recording() -> None:
    found = case("operator aten::mn", Budget(operators={"aten::mn": 0}))
    assert (found.outcome, found.text) == (
        "cannot tell",
        "It is in neither recording. Did you mean aten::mm?",
    )
    collectives = case("count collectives", Budget(counts={"collectives": 0}))
    assert collectives.outcome == "ok"
    with pytest.raises(QueryError, match="parts: there is no computed_ns"):
        check_budget(checked(), Budget(parts={"computed_ns": 0}))


def test_of_one_recording_a_side_a_part_cannot_be_told_from_the_day() -> None:
    grown = case("part compute_ns", Budget(parts={"compute_ns": 0.01}))
    assert grown.outcome == "cannot tell"
    assert "recordings a side tell the code from the day" in grown.text
    assert case("part compute_ns", Budget(parts={"compute_ns": 0.3})).outcome == "ok"


def test_without_totals_of_an_allocator_no_peak_is_known() -> None:
    found = case("peak memory", Budget(peak_memory=0))
    assert found.outcome == "cannot tell"
    assert "profile_memory" in found.text


def test_the_worst_of_the_cases_counts() -> None:
    ok, worse, unknown = (BudgetCase("", one, "") for one in ("ok", "worse", "cannot tell"))
    assert worst([ok, unknown, worse]) == "worse"
    assert worst([ok, unknown]) == "cannot tell"
    assert worst([ok]) == "ok"


def test_without_stacks_no_line_is_known() -> None:
    assert source_line(checked().other, "aten::mm") == ""
