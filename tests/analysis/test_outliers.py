"""Unusual steps."""

from __future__ import annotations

from kinetoscope.analysis.steps import outliers
from kinetoscope.analysis.summarize import summarize
from tests.drawing import trace_of


def of(*lengths: int) -> list[int]:
    """Indexes of the outliers among steps of these lengths in µs."""
    events, at = [], 0
    for number, length in enumerate(lengths):
        common = {"ph": "X", "pid": 1, "tid": 1, "ts": at, "args": {}}
        name = f"ProfilerStep#{number}"
        events += [
            {**common, "cat": "user_annotation", "name": name, "dur": length},
            {**common, "cat": "cpu_op", "name": "aten::mm", "dur": 1},
        ]
        at += length
    return [i for i, odd in enumerate(outliers(summarize(trace_of(events)))) if odd]


def test_far_from_the_median() -> None:
    assert of(100, 101, 99, 100, 130, 100) == [4]
    assert of(100, 101, 99, 100, 60, 100) == [4]


def test_within_five_percent_nothing_is_unusual() -> None:
    assert of(100, 100, 100, 100, 104) == []


def test_a_wide_spread_is_usual() -> None:
    assert of(100, 140, 90, 120, 150, 80) == []


def test_two_steps_tell_nothing() -> None:
    assert of(100, 900) == []


def test_a_warm_up_step_is_an_outlier_but_no_yardstick() -> None:
    assert of(900, 100, 101, 99) == [0]
