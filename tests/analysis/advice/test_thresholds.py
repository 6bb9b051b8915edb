"""Both sides of fixed shares in ``waits`` and ``launches``, which no user can set."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from kinetoscope.analysis.advice import launches
from kinetoscope.analysis.advice.waits import compute_bound, repeats
from kinetoscope.analysis.facts import Partition
from kinetoscope.analysis.steps import Selection


@pytest.mark.parametrize(
    ("compute", "other", "is_bound"),
    [
        (0.50, 0.09, True),
        (0.49, 0.09, False),
        (0.50, 0.10, False),
        (0.84, 0.10, False),
        (0.85, 0.10, True),
    ],
)
def test_a_step_is_bound_by_kernels_that_fill_it_or_that_nothing_rivals(
    compute: float, other: float, is_bound: bool
) -> None:
    assert compute_bound(compute, other) is is_bound


@pytest.mark.parametrize(
    ("source", "steps", "calls", "is_repeated"),
    [
        ("profiler_step", 8, 4, True),
        ("profiler_step", 8, 3, False),
        ("whole_trace", 8, 2, True),
        ("whole_trace", 8, 1, False),
    ],
)
def test_a_call_repeats_in_half_of_the_steps(
    source: str, steps: int, calls: int, is_repeated: bool
) -> None:
    held = SimpleNamespace(
        count=calls, idle_ns=100, longest=SimpleNamespace(first="", longest_ns=99)
    )
    assert repeats(selection(count=steps, source=source), cast("Any", held)) is is_repeated


@pytest.mark.parametrize(("longest", "is_repeated"), [(50, True), (51, False)])
def test_a_start_is_no_repetition(longest: int, is_repeated: bool) -> None:
    start = SimpleNamespace(first="cudaMalloc", longest_ns=longest)
    held = SimpleNamespace(count=8, idle_ns=100, longest=start)
    assert repeats(selection(count=8), cast("Any", held)) is is_repeated


@pytest.mark.parametrize(
    ("short_ns", "count", "is_bound"),
    [(500, 40, True), (499, 40, False), (500, 39, False)],
)
def test_many_short_gaps_of_half_of_the_idle_time_are_launches(
    short_ns: int, count: int, is_bound: bool
) -> None:
    part = Partition(idle_ns=900, exposed_copy_ns=60, memset_ns=40)
    idle = SimpleNamespace(short_ns=short_ns, short_count=count)
    assert launches._launch_bound(selection(count=2, partition=part, idle=idle)) is is_bound


@pytest.mark.parametrize(
    ("longest_ns", "is_first"), [(1_000_000, True), (999_999, False), (1_500_000, True)]
)
def test_a_first_call_is_long_and_half_of_the_idle_time(longest_ns: int, is_first: bool) -> None:
    part = Partition(idle_ns=2_000_000)
    top = SimpleNamespace(
        kind="runtime", name="x", longest=SimpleNamespace(first="name", longest_ns=longest_ns)
    )
    assert launches._is_first(selection(partition=part, held=(top,))) is is_first
    wide = Partition(idle_ns=2 * longest_ns + 2)
    assert launches._is_first(selection(partition=wide, held=(top,))) is False


def selection(**given: Any) -> Selection:
    facts = SimpleNamespace(step_source=given.pop("source", "profiler_step"))
    return cast("Selection", SimpleNamespace(facts=facts, **given))
