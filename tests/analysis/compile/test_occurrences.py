"""analysis/compile/occurrences: steps in which code is compiled for the first time are warm-up."""

from __future__ import annotations

import pytest

from kinetoscope.analysis.compile.occurrences import compilations_in
from kinetoscope.analysis.facts import Facts
from kinetoscope.analysis.headline import verdict
from kinetoscope.analysis.steps import select
from kinetoscope.analysis.summarize import summarize
from tests.drawing import draw

NAMES = {"C": "entire_frame_compile (dynamo_timed)", "R": "Torch-Compiled Region: 0/0"}
# Steps of 300 µs. Compiled for 100 µs in the second step; in the fourth for 3 µs or 4 µs.
STEPS = f"""
    step |{"1" * 300}{"2" * 300}{"3" * 300}{"4" * 300}|
    op   |{"a" * 290}{" " * 10}{"C" * 100}{"a" * 190}{" " * 10}{"a" * 290}{" " * 10}{{}}{"a" * 280}|
    op   |{" " * 310}t{" " * 589}u{" " * 50}|
"""


def _facts(least: str, *, second: str = "0/0", fourth: str = "1/0") -> Facts:
    twin = "entire_frame_compile_data: fn_name=x, compile_id="
    names = {**NAMES, "t": twin + second, "u": twin + fourth}
    return summarize(draw(STEPS.format(least.ljust(10)), names=names))


def test_each_compilation_is_its_outermost_range() -> None:
    trace = draw(
        STEPS.format("CCCC"), names={**NAMES, "t": "x compile_id=0/0", "u": "compile_id=1/2"}
    )
    assert compilations_in(trace) == [("0/0", 300_000, 100_000), ("1/2", 900_000, 4000)]


@pytest.mark.parametrize(
    ("least", "second", "fourth", "left_out"),
    [
        ("CCCC", "0/0", "1/0", [1, 3]),
        ("CCC", "0/0", "1/0", [1]),  # 1 % of a step, and no more
        ("CCCC", "0/1", "1/0", [3]),  # what is compiled again belongs to the steps
        ("CCCC", "0/1", "0/2", []),
    ],
)
def test_a_step_of_first_compilation_is_left_out(
    least: str, second: str, fourth: str, left_out: list[int]
) -> None:
    steps = _facts(least, second=second, fourth=fourth).steps
    assert [one.index for one in steps if one.excluded == "warm-up"] == left_out


def test_where_every_step_compiles_none_is_left_out() -> None:
    picture = "step |1111222|\nop |CC  CCC|\nop |t   u  |"
    names = {**NAMES, "t": "x compile_id=0/0", "u": "x compile_id=1/0"}
    facts = summarize(draw(picture, names=names))
    assert [one.excluded for one in facts.steps] == [None, None]
    said = verdict(select(facts, "", None, {})).sentence.detail
    assert "Compilation per step: 2.50 µs first, which is warm-up." in said.replace("\u00a0", " ")


def test_the_detail_tells_first_from_again_and_counts_what_is_left_out() -> None:
    facts = _facts("CCCC", fourth="0/3")
    usual = verdict(select(facts, "", None, {})).sentence.detail.replace("\u00a0", " ")
    assert "Step 2 is left out as warm-up: first compilation takes 100 µs." in usual
    assert "Compilation per step: 1.33 µs again." not in usual  # less than 1 % of the steps
    every = verdict(select(facts, "all", None, {})).sentence.detail.replace("\u00a0", " ")
    assert "Compilation per step: 25.0 µs first, which is warm-up; 1.00 µs again." in every
    assert "left out" not in every


@pytest.mark.parametrize(
    ("identity", "chosen", "told"),
    [("0/1", "", "90.0 µs again"), ("0/0", "all", "90.0 µs first, which is warm-up")],
)
def test_compilation_in_a_step_unlike_the_others_is_told_of_all(
    identity: str, chosen: str, told: str
) -> None:
    """Three steps of 40 µs run forward; the second, of 400 µs, compiles for 360 µs."""
    picture = f"""
        step |{"1" * 40}{"2" * 400}{"3" * 40}{"4" * 40}|
        op   |{"a" * 40}{"C" * 360}{"b" * 40}{"a" * 40}{"b" * 39} |
        op   |{" " * 41}t{" " * 478}|
    """
    twin = f"entire_frame_compile_data: fn_name=x, compile_id={identity}"
    facts = summarize(draw(picture, names={**NAMES, "t": twin}))
    said = verdict(select(facts, chosen, None, {})).sentence
    assert said.agreement.replace("\u00a0", " ") == "in 3 of 4 steps"
    for text in (said.detail, said.beyond):
        plain = text.replace("\u00a0", " ")
        assert plain.endswith(f"Step 2 alone takes 400 µs. Compilation per step: {told}.")
        assert "left out" not in plain


def test_phases_that_nothing_ties_to_a_function_are_counted() -> None:
    names = {**NAMES, "D": "backend_compile (dynamo_timed)"}
    facts = summarize(draw("op |CCCCC RR  DD|\nop | DD         |", names=names)).compiled
    assert facts is not None
    assert (facts.phases_ns, facts.occurrences) == (7000, ())
