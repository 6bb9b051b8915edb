"""A verdict on step times: how often it is wrong, how often it sees what is there.

``benchmarks/diff_noise.py`` draws thousands; here are some of them, and the statistics one by one.
"""

from __future__ import annotations

import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinetoscope.analysis.diff import noise
from kinetoscope.analysis.diff.noise import (
    BUDGET,
    TimeVerdict,
    correlation,
    discoveries,
    judge_times,
    noise_of,
    t_quantile,
    two_sided,
    welch,
)

DRAWS = 80


def steps(
    generator: np.random.Generator, count: int, sigma: float, phi: float, odd: float = 0.05
) -> list[int]:
    """Step times about 100 ms: noise that lasts, and now and then a step that is far off."""
    noise = np.empty(count)
    last = generator.normal()
    for at in range(count):
        last = noise[at] = phi * last + math.sqrt(1 - phi**2) * generator.normal()
    times = 1e8 * np.exp(sigma * noise)
    times *= np.where(generator.random(count) < odd, 1 + generator.exponential(0.2, count), 1)
    return [int(one) for one in times]


def verdicts(plant: float, count: int, sigma: float, phi: float, draws: int) -> list[str]:
    generator = np.random.default_rng(count * 1000 + int(sigma * 1000))
    found: list[str] = []
    for _ in range(draws):
        base = steps(generator, count, sigma, phi)
        other = [round(one * plant) for one in steps(generator, count, sigma, phi)]
        found.append(judge_times([base], [other]).outcome)
    return found


@pytest.mark.parametrize(
    ("count", "sigma", "phi"), [(6, 0.03, 0.3), (12, 0.02, 0.5), (30, 0.04, 0.3)]
)
@pytest.mark.parametrize("plant", [1.0, 1.002])
def test_noise_is_not_called_worse(plant: float, count: int, sigma: float, phi: float) -> None:
    found = verdicts(plant, count, sigma, phi, 60)
    assert found.count("worse") <= 3
    assert found.count("better") <= 3


def quiet(generator: np.random.Generator, level: float, sigma: float, count: int) -> list[int]:
    """Step times that vary so little about a level that only the level tells recordings apart."""
    return [int(one) for one in generator.normal(level, level * sigma, count)]


def false_alarms(
    recordings: int, count: int, sigma: float, between: float, budget: float
) -> tuple[int, int]:
    """How often equal code is called worse, and better."""
    generator = np.random.default_rng(11)

    def side() -> list[list[int]]:
        levels = 1e8 * generator.normal(1, between, recordings)
        return [quiet(generator, level, sigma, count) for level in levels]

    found = [judge_times(side(), side(), budget).outcome for _ in range(DRAWS)]
    return found.count("worse"), found.count("better")


@pytest.mark.parametrize(
    ("noise_of_equal_code", "guard", "without"),
    [
        ((1, 4, 0.12, 0.0, BUDGET), "FEW_STEPS_P", 0.5),  # few steps: chance does as much
        ((1, 7, 0.12, 0.0, BUDGET), "FEW_STEPS_P", 0.5),
        ((1, 40, 0.002, 0.005, 0.005), "UNKNOWN_SPREAD", 0.0),  # levels, of which no repeat tells
        ((3, 20, 0.002, 0.03, BUDGET), "_between", lambda _: 0.0),  # levels, of which repeats tell
    ],
)
def test_equal_code_is_rarely_called_different(
    monkeypatch: pytest.MonkeyPatch,
    noise_of_equal_code: tuple[int, int, float, float, float],
    guard: str,
    without: object,
) -> None:
    """At most 5 % worse and 5 % better; without the limit against this noise, much oftener."""
    assert sum(false_alarms(*noise_of_equal_code)) <= 0.1 * DRAWS
    monkeypatch.setattr(noise, guard, without)
    assert sum(false_alarms(*noise_of_equal_code)) >= 0.2 * DRAWS


@pytest.mark.parametrize(("count", "sigma", "phi"), [(20, 0.01, 0.3), (20, 0.02, 0.3)])
def test_five_percent_are_found(count: int, sigma: float, phi: float) -> None:
    assert verdicts(1.05, count, sigma, phi, 40).count("worse") >= 38


def test_steps_without_a_change_and_with_little_noise_are_no_change() -> None:
    assert verdicts(1.0, 40, 0.005, 0.0, 20).count("no change") >= 19


@given(st.lists(st.integers(1, 10**10), max_size=40))
@settings(max_examples=50)
def test_a_recording_against_itself_is_no_change(times: list[int]) -> None:
    found = judge_times([times], [times])
    assert (found.outcome, found.change_ns) == ("no change", 0)


@given(
    st.lists(st.integers(1, 10**10), min_size=1, max_size=30),
    st.lists(st.integers(1, 10**10), min_size=1, max_size=30),
)
@settings(max_examples=80)
def test_swapping_the_sides_swaps_the_change(left: list[int], right: list[int]) -> None:
    there, back = judge_times([left], [right]), judge_times([right], [left])
    assert there.change_ns == -back.change_ns
    assert (there.low_ns is None) == (back.low_ns is None)
    if there.low_ns is not None and there.high_ns is not None:
        assert there.low_ns <= there.change_ns <= there.high_ns


def test_below_four_steps_nothing_is_claimed() -> None:
    found = judge_times([[100, 100, 100]], [[200, 200, 200]])
    assert (found.outcome, found.more_steps) == ("cannot tell", 5)


def test_a_far_step_among_few_is_set_aside() -> None:
    base = [177, 176, 178, 177, 179, 177]
    other = [127, 125, 126, 170, 127, 169]
    found = judge_times([base], [other])
    assert (found.outcome, found.set_aside) == ("better", (0, 2))


def test_repeats_that_differ_forbid_a_claim() -> None:
    """One recording a side would say 4 % slower; recordings of the same code differ by as much."""
    generator = np.random.default_rng(1)

    def recording(level: float) -> list[int]:
        return [int(one) for one in generator.normal(level, level * 0.003, 20)]

    base, other = recording(1e8), recording(1.04e8)
    assert judge_times([base], [other]).outcome == "worse"
    wide = judge_times(
        [base, recording(1.05e8), recording(0.97e8)], [other, recording(0.98e8), recording(1.06e8)]
    )
    assert (wide.outcome, wide.repeats) == ("cannot tell", (3, 3))
    assert wide.more_steps == 0  # steps are not what is missing
    assert wide.more_repeats > 0


def test_more_recordings_settle_what_lies_between_recordings() -> None:
    generator = np.random.default_rng(6)

    def side(level: float, count: int) -> list[list[int]]:
        middles = level * generator.normal(1, 0.02, count)
        return [[int(one) for one in generator.normal(at, at * 0.003, 12)] for at in middles]

    asked = [judge_times(side(1e8, 3), side(1.05e8, 3)) for _ in range(30)]
    more = [min(found.more_repeats, 60) for found in asked if found.outcome == "cannot tell"]
    assert len(more) >= 6
    assert min(more) >= 1
    again = [judge_times(side(1e8, 3 + one), side(1.05e8, 3 + one)).outcome for one in more]
    assert again.count("worse") >= 0.7 * len(more)


def test_repeats_that_agree_lower_what_can_be_seen() -> None:
    generator = np.random.default_rng(2)

    def recordings(level: float) -> list[list[int]]:
        return [[int(one) for one in generator.normal(level, level * 0.001, 20)] for _ in range(4)]

    base, other = recordings(1e8), recordings(1.01e8)
    assert judge_times(base[:1], other[:1], 0.005).outcome == "cannot tell"
    assert judge_times(base, other, 0.005).outcome == "worse"


def test_more_steps_settle_it() -> None:
    """Steps that are too few to rule a change out: the number asked for is one that does it."""
    generator = np.random.default_rng(3)

    def judged(count: int) -> TimeVerdict:
        base, other = (steps(generator, count, 0.015, 0.0, 0.0) for _ in range(2))
        return judge_times([base], [other])

    asked = [found.more_steps for found in (judged(10) for _ in range(10)) if found.more_steps]
    assert len(asked) >= 5
    assert all(1 <= more < 1000 for more in asked)
    assert [judged(10 + max(asked)).outcome for _ in range(3)] == ["no change"] * 3


@given(
    st.lists(st.lists(st.integers(1, 10**10), min_size=1, max_size=14), min_size=1, max_size=3),
    st.lists(st.lists(st.integers(1, 10**10), min_size=1, max_size=14), min_size=1, max_size=3),
)
@settings(max_examples=80, deadline=None)
def test_what_cannot_be_told_names_steps_or_recordings(
    base: list[list[int]], other: list[list[int]]
) -> None:
    found = judge_times(base, other)
    named = bool(found.more_steps) + bool(found.more_repeats)
    assert named == (found.outcome == "cannot tell")


@pytest.mark.parametrize(
    ("count", "sigma", "draws"), [(6, 0.01, 20), (8, 0.01, 160), (20, 0.03, 50)]
)
def test_what_is_not_found_is_found_after_what_it_asks_for(
    count: int, sigma: float, draws: int
) -> None:
    """5 % in too few steps: never "no change", and recording what is asked for shows it."""
    generator = np.random.default_rng(count)

    def recording(steps_in_it: int, plant: float = 1.0) -> list[int]:
        return [round(one * plant) for one in steps(generator, steps_in_it, sigma, 0.3)]

    missed = again = 0
    for _ in range(draws):
        base, other = recording(count), recording(count, 1.05)
        found = judge_times([base], [other])
        if found.outcome == "worse":
            continue
        assert found.outcome == "cannot tell"
        missed += 1
        longer = count + min(found.more_steps, 1000)
        bases = [recording(longer)] if found.more_steps else [base, recording(count)]
        others = [recording(longer, 1.05)] if found.more_steps else [other, recording(count, 1.05)]
        for _ in range(found.more_repeats - 1):
            bases.append(recording(count))
            others.append(recording(count, 1.05))
        again += judge_times(bases, others).outcome == "worse"
    assert missed >= 5
    assert again >= 0.7 * missed


def test_a_change_that_only_repeats_can_settle() -> None:
    """3 % more, for certain, but steps lie 4 % apart, and so might recordings of equal code."""
    generator = np.random.default_rng(8)
    base, other = (
        [int(one) for one in generator.normal(level, 0.04e8, 400)] for level in (1e8, 1.03e8)
    )
    found = judge_times([base], [other])
    assert (found.outcome, found.more_steps, found.more_repeats) == ("cannot tell", 0, 2)
    assert "Without repeats" in found.reason
    again = judge_times([base, base[::-1]], [other, other[::-1]])
    assert again.outcome == "worse"


def test_lag_one_correlation() -> None:
    generator = np.random.default_rng(4)
    still = generator.normal(size=2000)
    lasting = np.empty(2000)
    last = 0.0
    for at, one in enumerate(generator.normal(size=2000)):
        last = lasting[at] = 0.6 * last + 0.8 * one
    assert correlation(1e8 + 1e6 * still) == pytest.approx(0, abs=0.06)
    assert correlation(1e8 + 1e6 * lasting) == pytest.approx(0.6, abs=0.08)


def test_noise_of_one_recording_needs_eight_steps() -> None:
    assert noise_of([100] * 7) is None
    assert noise_of([100] * 8) == 0


@pytest.mark.parametrize(
    ("t", "freedom", "p"),
    [(12.706, 1, 0.05), (2.776, 4, 0.05), (2.228, 10, 0.05), (3.169, 10, 0.01)],
)
def test_students_distribution(t: float, freedom: float, p: float) -> None:
    """Values of the usual table."""
    assert two_sided(t, freedom) == pytest.approx(p, rel=0.01)
    if p == 0.05:
        assert t_quantile(freedom) == pytest.approx(t, rel=0.001)


def test_welch_on_many_rows() -> None:
    generator = np.random.default_rng(5)
    same = generator.normal(100, 5, (200, 12)), generator.normal(100, 5, (200, 12))
    assert np.mean(welch(*same) < 0.05) < 0.1
    assert np.mean(welch(same[0], same[1] + 30) < 0.001) > 0.9
    exact = np.full((2, 6), 4.0), np.array([[4.0] * 6, [5.0] * 6])
    assert welch(*exact).tolist() == [1.0, 0.0]
    assert np.isnan(welch(np.ones((1, 1)), np.zeros((1, 1)))).all()


def test_false_discoveries_are_held_down() -> None:
    """The largest p below its share of 5 %, and all smaller ones: Benjamini and Hochberg."""
    p = np.array([0.001, 0.04, 0.012, np.nan, 0.9])
    assert discoveries(p).tolist() == [True, False, True, False, False]


@pytest.mark.parametrize("counts", [(5, 20_000), (20_000, 20_000)])
def test_many_steps_take_little_memory(counts: tuple[int, int]) -> None:
    generator = np.random.default_rng(1)
    sides = [(10**7 + generator.integers(0, 10**5, count)).tolist() for count in counts]
    judge_times((sides[0],), (sides[1],))  # what is imported or made once
    tracemalloc.start()
    try:
        judge_times((sides[0],), (sides[1],))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 64 << 20
