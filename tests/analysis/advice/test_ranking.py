"""Which finding comes first: the one that says why, and what reads in a loop claim."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kinetoscope.analysis.advice import check_all
from kinetoscope.analysis.advice.claims import specific_first
from kinetoscope.analysis.advice.rule import RULES
from kinetoscope.analysis.findings import Finding, Severity
from kinetoscope.analysis.steps import select
from kinetoscope.analysis.summarize import summarize
from tests.analysis.advice.checks import finding
from tests.analysis.advice.drawn import Part, conversion, host, matmul, run
from tests.drawing import Event, trace_of

GENERAL = {"LA2", "FN1"}


def reading(count: int, pause: float = 1.0) -> Part:
    """So many reads of 2 µs, with pauses."""

    def part(at: float) -> Iterator[Event]:
        for i in range(count):
            yield host("op", "aten::item", at + 10 + i * (2 + pause), 2)

    return part


def test_rules_that_only_say_that_time_passes_are_marked() -> None:
    assert {rule.id for rule in RULES if rule.general} == GENERAL


@pytest.mark.parametrize(("count", "claimed"), [(120, 119 * 3 + 2), (16, 15 * 3 + 2), (15, 30)])
def test_without_frames_sixteen_reads_in_a_row_claim_the_pauses_between(
    count: int, claimed: int
) -> None:
    found = finding(run(reading(count), matmul, stacks=False), "SY1")
    assert found is not None
    assert found.gain is not None
    assert found.gain.ns_per_step == claimed * 1000


@pytest.mark.parametrize(("pause", "claimed"), [(99.0, 19 * 101 + 2), (101.0, 20 * 2)])
def test_a_long_pause_ends_a_loop(pause: float, claimed: int) -> None:
    events = [
        one
        for step in range(4)
        for at in [step * 2500.0]
        for one in (host("note", f"ProfilerStep#{step}", at, 2500), *reading(20, pause)(at))
    ]
    chosen = select(summarize(trace_of(events)), limits={"read_back_ratio": 0.01})
    found = next(one for one in check_all(chosen)[0] if one.id == "SY1")
    assert found.gain is not None
    assert found.gain.ns_per_step == claimed * 1000


@pytest.mark.parametrize(
    ("name", "took", "pause", "claimed"),
    [
        ("aten::unbind", 50.0, 99.0, 20 * 2 + 19 * 4 + 99 + 50),
        ("aten::unbind", 50.0, 100.0, 20 * 2 + 19 * 4),
        ("aten::unbind", 200.0, 199.0, 20 * 2 + 19 * 4 + 199 + 200),
        ("aten::unbind", 200.0, 200.0, 20 * 2 + 19 * 4),
        ("aten::mul", 50.0, 1.0, 20 * 2 + 19 * 4),
    ],
)
def test_taking_a_tensor_apart_belongs_to_the_loop(
    name: str, took: float, pause: float, claimed: int
) -> None:
    """Also without frames: iterating over a tensor makes one of each of its values."""

    def iterating(at: float) -> Iterator[Event]:
        yield host("op", name, at + 10, took)
        for i in range(20):
            yield host("op", "aten::item", at + 10 + took + pause + i * 6, 2)

    found = finding(run(iterating, stacks=False), "SY1")
    assert found is not None
    assert found.gain is not None
    assert found.gain.ns_per_step == claimed * 1000


def test_another_op_between_ends_a_loop() -> None:
    def mixed(at: float) -> Iterator[Event]:
        for i in range(60):
            yield host("op", "aten::item", at + 10 + i * 6, 2)
            yield host("op", "aten::mul", at + 13 + i * 6, 2)

    found = finding(run(mixed, stacks=False), "SY1")
    assert found is not None
    assert found.gain is not None
    assert found.gain.ns_per_step == 120_000


def test_reads_come_before_the_row_of_tiny_ops_that_they_are() -> None:
    found, _ = check_all(select(summarize(run(reading(150), matmul, stacks=False))))
    assert [one.id for one in found][:2] == ["SY1", "LA2"]


def test_copies_in_the_backward_pass_belong_to_conversions() -> None:
    def backward(at: float) -> Iterator[Event]:
        yield host("op", "autograd::engine::evaluate_function: MmBackward0", at + 500, 100)
        yield host("op", "aten::contiguous", at + 520, 30)
        yield host("op", "aten::clone", at + 522, 26)
        yield host("op", "aten::copy_", at + 524, 22)

    found = finding(run(conversion(6, 50), backward), "DT4")
    assert found is not None
    assert found.gain is not None
    assert found.gain.ns_per_step == (6 * 50 + 30) * 1000
    assert "these copies alone" in found.gain.method
    assert finding(run(backward, matmul), "DT4") is None  # alone, nobody asked for them


@pytest.mark.parametrize(("between", "fires"), [(15, False), (16, True)])
def test_the_layout_for_attention_is_no_conversion(between: int, fires: bool) -> None:
    def laid_out(at: float) -> Iterator[Event]:
        yield host("op", "aten::contiguous", at + 10, 300)
        yield host("op", "aten::clone", at + 20, 280)
        yield host("op", "aten::copy_", at + 30, 260)
        for i in range(between):
            yield host("op", "aten::view", at + 320 + 4 * i, 2)
        yield host("op", "aten::scaled_dot_product_attention", at + 500, 40)

    assert (finding(run(laid_out), "DT4") is not None) == fires


def said(rule: str, severity: Severity, frame: str = "") -> Finding:
    return Finding(rule, "", severity, 0.8, "", "", (), None, "", (), "", frame=frame)


@pytest.mark.parametrize(
    ("severity", "frame", "first"),
    [
        ("high", "train.py(3): keep", "ME3"),
        ("medium", "train.py(3): keep", "ME3"),
        ("low", "train.py(3): keep", "FN1"),
        ("high", "train.py(9): other", "FN1"),
        ("high", "", "FN1"),
    ],
)
def test_the_cause_of_the_same_frame_comes_first(
    severity: Severity, frame: str, first: str
) -> None:
    chosen = select(summarize(run(matmul)))
    found = [said("FN1", "high", "train.py(3): keep"), said("ME3", severity, frame)]
    assert specific_first(chosen, found, GENERAL)[0].id == first
    assert specific_first(chosen, found[::-1], GENERAL)[0].id == "ME3"
