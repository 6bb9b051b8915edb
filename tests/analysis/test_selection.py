"""Which steps and which device are looked at."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from kinetoscope.analysis.facts import Breakdown, Facts, Gauges, total_of
from kinetoscope.analysis.steps import busiest, parse_steps, select, step_parameter
from kinetoscope.analysis.summarize import summarize
from kinetoscope.base.errors import QueryError
from tests.drawing import draw

#                     warm-up  ·    ·    ·   cut off
SIX = "step |111111111122222333334444455555666 |\n op   |a         b    c    d    e       |"


@pytest.fixture(name="facts", scope="module")
def six_steps() -> Facts:
    return summarize(draw(SIX))


@pytest.mark.parametrize(
    ("text", "indexes"),
    [
        ("", (1, 2, 3, 4)),
        ("  ", (1, 2, 3, 4)),
        ("all", (0, 1, 2, 3, 4, 5)),
        ("3", (2,)),
        ("2-5", (1, 2, 3, 4)),
        ("2–5", (1, 2, 3, 4)),
        ("1,4-6", (0, 3, 4, 5)),
        (" 4 - 5 , 1 ", (0, 3, 4)),
        ("2,2,1-2", (0, 1)),
        ("i0", (0,)),
        ("i0-2", (0, 1, 2)),
        ("i1-i2,6", (1, 2, 5)),
    ],
)
def test_steps_of_a_query(facts: Facts, text: str, indexes: tuple[int, ...]) -> None:
    assert parse_steps(text, facts) == indexes


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("x", "'x'"),
        ("1,,2", "''"),
        ("-1", "'-1'"),
        ("1-", "'1-'"),
        ("5-2", "'5-2'"),
        ("7", "7"),
        ("0", "0"),
        ("1-99", "99"),
        ("i6", "i6"),
        ("3-i5", "'3-i5'"),
        ("٣", "step"),
        ("9" * 500, "9"),
        ("<script>", "script"),
    ],
)
def test_a_query_without_meaning_is_named(facts: Facts, text: str, named: str) -> None:
    with pytest.raises(QueryError) as error:
        parse_steps(text, facts)
    assert named in error.value.message
    assert error.value.hint
    assert len(error.value.message) < 120


@given(st.text(max_size=12))
def test_any_text_is_steps_or_a_query_error(text: str) -> None:
    facts = _FACTS
    with contextlib.suppress(QueryError):
        assert set(parse_steps(text, facts)) <= set(range(6))


_FACTS = summarize(draw(SIX))


def test_what_is_not_there_is_answered_with_what_is() -> None:
    """By the numbers that the page shows, not by places."""
    with pytest.raises(QueryError) as error:
        parse_steps("0", _FACTS)
    assert (error.value.message, error.value.hint) == (
        "steps: there is no step 0",
        "Steps of this recording: 1 to 6.",
    )


def test_numbers_that_repeat() -> None:
    """A number means all steps that have it; one alone goes by its place."""
    facts = _FACTS
    steps = [structs.replace(step, number=step.index % 3 + 7) for step in facts.steps]
    repeated = structs.replace(facts, steps=tuple(steps))
    assert parse_steps("7", repeated) == (0, 3)
    assert parse_steps("8-9", repeated) == (1, 2, 4, 5)
    assert step_parameter(repeated, 3) == "i3"
    assert parse_steps("i3", repeated) == (3,)
    assert [step_parameter(facts, index) for index in range(6)] == list("123456")


def test_where_all_are_left_out_all_are_shown() -> None:
    facts = summarize(
        draw("step |1111|\n op |a   |", args={"1": {"finished": False}}),
    )
    assert facts.steps[0].excluded == "incomplete"
    assert parse_steps("", facts) == (0,)


def test_a_trace_without_time_has_no_steps() -> None:
    facts = summarize(draw(""))
    assert parse_steps("", facts) == ()
    with pytest.raises(QueryError):
        parse_steps("0", facts)


class TestDevice:
    PICTURE = """
        step   |1111111111|
        call   |ab        |
        gpu3   |  aaa     |
        gpu5   |   bbbbb  |
        """

    def test_the_busiest_is_chosen(self) -> None:
        facts = summarize(draw(self.PICTURE))
        chosen = busiest(facts)
        assert chosen is not None
        assert facts.devices[chosen].index == 5
        assert select(facts).device == chosen

    def test_another_one_may_be(self) -> None:
        facts = summarize(draw(self.PICTURE))
        row = next(i for i, one in enumerate(facts.devices) if one.index == 3)
        total = select(facts, device=row).partition
        assert total is not None
        assert total.compute_ns == 3000

    def test_one_without_activity_may_not(self) -> None:
        with pytest.raises(QueryError, match="device 7"):
            select(summarize(draw(self.PICTURE)), device=7)

    def test_a_run_on_the_host_has_none(self) -> None:
        selection = select(summarize(draw("step |111|\n op |aa |")))
        assert selection.device is None
        assert selection.partition is None
        assert selection.host is not None


def test_sums() -> None:
    total = total_of([Breakdown(kernel_ns=2, other_ns=1), Breakdown(kernel_ns=3)], Breakdown())
    assert total == Breakdown(kernel_ns=5, other_ns=1)
    assert total_of([], Gauges()) == Gauges()
    assert total_of([Gauges(busy_ns=1), Gauges(sm_ns=0.5)], Gauges()) == Gauges(
        busy_ns=1, sm_ns=0.5
    )
