"""A verdict on step times: both sides of each threshold, and the statistics one by one.

``benchmarks/verdict_rates.py`` draws thousands of pairs; here are some of them.
"""

from __future__ import annotations

import tracemalloc
from itertools import combinations

import numpy as np
import pytest
from benchmarks.verdict_rates import KINDS, steps
from hypothesis import given, settings
from hypothesis import strategies as st

from kinetoscope.analysis.diff import noise
from kinetoscope.analysis.diff.noise import (
    TimeVerdict,
    correlation,
    holm,
    judge_times,
    noise_of,
    p_values,
    rank_test,
    t_quantile,
    two_sided,
    welch,
)


def around(level: float, count: int, spread: float = 0.004) -> list[int]:
    """Steps evenly around a level, in an order without correlation of neighbours."""
    places = np.linspace(-spread, spread, count)
    return [round(level * (1 + one)) for one in np.random.default_rng(count).permutation(places)]


def one_against_one(count: int, change: float, spread: float = 0.004) -> TimeVerdict:
    return judge_times([around(1e8, count, spread)], [around(1e8 * (1 + change), count, spread)])


# --- one recording a side -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "outcome", "has_p", "has_interval"),
    [
        (4, "cannot tell", False, False),
        (5, "worse", True, False),
        (7, "worse", True, False),
        (8, "worse", False, True),
    ],
)
def test_the_number_of_steps_decides_the_rule(
    count: int, outcome: str, has_p: bool, has_interval: bool
) -> None:
    found = one_against_one(count, 0.2)
    assert found.outcome == outcome
    assert (found.p is not None, found.low_ns is not None) == (has_p, has_interval)
    assert found.more_steps == (4 if count == 4 else 0)


@pytest.mark.parametrize("count", [6, 20])
@pytest.mark.parametrize(
    ("change", "outcome"),
    [
        (0.018, "cannot tell"),  # within the budget of 2 %
        (0.022, "differs"),
        (0.098, "differs"),
        (0.102, "worse"),
        (-0.098, "differs"),
        (-0.102, "better"),
    ],
)
def test_the_code_is_blamed_above_ten_percent(count: int, change: float, outcome: str) -> None:
    found = one_against_one(count, change)
    assert found.outcome == outcome
    assert found.change_ratio == pytest.approx(change, abs=1e-6)
    assert found.more_repeats == ((2, 2) if outcome == "differs" else (0, 0))


def test_a_budget_above_ten_percent_is_the_limit() -> None:
    found = [
        judge_times([around(1e8, 20)], [around(1e8 * (1 + change), 20)], 0.25).outcome
        for change in (0.22, 0.28)
    ]
    assert found == ["no change", "worse"]


def test_few_steps_need_a_small_p() -> None:
    """Five against five that lie apart have p = 2 / 252; where two of them do not, 6 / 252."""
    base = [100, 101, 102, 103, 104]
    apart = judge_times([base], [[one + 30 for one in base]])
    assert apart.p == pytest.approx(2 / 252)
    assert apart.outcome == "worse"
    near = judge_times([base], [[103, 131, 132, 133, 134]])
    assert near.p is not None
    assert 0.01 < near.p < 0.03
    assert (near.outcome, near.more_steps) == ("cannot tell", 8)


@pytest.mark.parametrize(("above", "outcome"), [(1.45, "cannot tell"), (1.55, "worse")])
def test_few_steps_need_one_and_a_half_deviations(above: float, outcome: str) -> None:
    """Steps that all lie apart, with a deviation of their own that is nearly as large."""
    base = [1000.0, 1090, 1100, 1110, 1111]
    sigma = 1.4826 * 10
    wide = [1000.0, 1001, 1100, 1199, 1200]  # deviation 1.4826 × 99
    other = [one + above * 1.4826 * 99 for one in wide]
    assert sigma < 1.4826 * 99
    assert min(other) > max(base)
    assert judge_times([[round(one) for one in base]], [[round(one) for one in other]]).outcome == (
        outcome
    )


@given(
    st.lists(st.integers(1, 12), min_size=1, max_size=5),
    st.lists(st.integers(1, 12), min_size=1, max_size=5),
)
@settings(max_examples=60, deadline=None)
def test_the_p_of_ranks_is_that_of_all_ways_to_deal_them(base: list[int], other: list[int]) -> None:
    """Held against the definition: mean ranks, dealt in every way."""
    every = base + other
    ranks = [
        sum(one < value for one in every) + (sum(one == value for one in every) + 1) / 2
        for value in every
    ]
    expected = len(base) * (len(every) + 1) / 2
    off = abs(sum(ranks[: len(base)]) - expected)
    dealt = [abs(sum(one) - expected) for one in combinations(ranks, len(base))]
    p = float(np.mean([one >= off - 1e-9 for one in dealt]))
    assert rank_test(np.array(base, float), np.array(other, float)) == pytest.approx(p)


def test_ranks_of_many_steps_are_near_to_normal() -> None:
    generator = np.random.default_rng(2)
    few, many = generator.normal(1.2, 1, 7), generator.normal(0, 1, 990)
    exact = rank_test(few, many)
    assert exact == rank_test(many, few)
    near = rank_test(few, np.concatenate([many, many[:20]]))
    assert near == pytest.approx(exact, rel=0.2)


def test_steps_that_take_turns_are_not_told_from_a_change() -> None:
    """Every other step is three times as long: the median depends on which are more."""
    base, other = [100, 300] * 4 + [100], [300, 100] * 4 + [300]
    assert judge_times([base], [other]).outcome == "cannot tell"


@given(st.lists(st.integers(1, 10**10), max_size=40))
@settings(max_examples=50)
def test_a_recording_against_itself_is_no_change(times: list[int]) -> None:
    found = judge_times([times], [times])
    assert (found.outcome, found.change_ns, found.is_equal) == ("no change", 0, True)


@given(
    st.lists(st.integers(1, 10**10), min_size=1, max_size=30),
    st.lists(st.integers(1, 10**10), min_size=1, max_size=30),
)
@settings(max_examples=60, deadline=None)
def test_swapping_the_sides_swaps_the_change(left: list[int], right: list[int]) -> None:
    there, back = judge_times([left], [right]), judge_times([right], [left])
    assert there.change_ns == -back.change_ns
    assert there.p == back.p
    assert (there.low_ns is None) == (back.low_ns is None)
    if there.low_ns is not None and there.high_ns is not None:
        assert there.low_ns <= there.change_ns <= there.high_ns


def test_steps_without_a_change_and_with_little_noise_are_no_change() -> None:
    assert one_against_one(40, 0.0001).outcome == "no change"
    assert one_against_one(7, 0.0001).outcome == "cannot tell"


@pytest.mark.parametrize(("change", "asked"), [(0.001, "steps"), (0.06, "recordings")])
def test_what_is_asked_for_where_noise_hides_the_change(change: float, asked: str) -> None:
    found = one_against_one(10, change, spread=0.2)
    assert found.outcome == "cannot tell"
    assert (found.more_steps > 0, found.more_repeats) == (
        (True, (0, 0)) if asked == "steps" else (False, (2, 2))
    )


@given(
    st.lists(st.lists(st.integers(1, 10**10), min_size=1, max_size=14), min_size=1, max_size=4),
    st.lists(st.lists(st.integers(1, 10**10), min_size=1, max_size=14), min_size=1, max_size=4),
)
@settings(max_examples=80, deadline=None)
def test_what_is_not_decided_names_steps_or_recordings(
    base: list[list[int]], other: list[list[int]]
) -> None:
    found = judge_times(base, other)
    named = bool(found.more_steps) + any(found.more_repeats)
    assert named == (found.outcome in ("cannot tell", "differs"))


# --- recordings -----------------------------------------------------------------------------------


def days(factor: float, *levels: float) -> list[list[int]]:
    return [around(1e8 * factor * one, 6) for one in levels]


CALM = (1.0, 1.004, 0.996, 1.002, 0.998)


@pytest.mark.parametrize(("recordings", "outcome"), [(2, "differs"), (3, "worse")])
def test_three_recordings_a_side_need_no_ten_percent(recordings: int, outcome: str) -> None:
    sides = days(1, *CALM[:recordings]), days(1.05, *CALM[:recordings])
    found = judge_times(*sides)
    assert found.outcome == outcome
    assert found.repeats == ((3, 3) if recordings == 3 else (1, 1))
    means = [float(np.mean([np.median(one) for one in side])) for side in sides]
    if recordings == 3:
        assert [found.base_ns, found.other_ns] == pytest.approx(means)


@pytest.mark.parametrize(("change", "outcome"), [(0.018, "cannot tell"), (0.022, "worse")])
def test_recordings_claim_above_two_percent(change: float, outcome: str) -> None:
    assert judge_times(days(1, *CALM), days(1 + change, *CALM)).outcome == outcome


@pytest.mark.parametrize(("spread", "outcome"), [(0.02, "worse"), (0.06, "cannot tell")])
def test_recordings_claim_beyond_their_own_spread(spread: float, outcome: str) -> None:
    """10 % more: medians that lie 2 % apart show it, and those that lie 6 % apart do not."""
    levels = (1 - spread, 1.0, 1 + spread)
    found = judge_times(days(1, *levels), days(1.1, *levels))
    assert found.outcome == outcome
    half = 2.776 * spread * (1 + 1.1**2) ** 0.5 / 3**0.5 * 1e8  # Welch, four degrees of freedom
    assert found.low_ns == pytest.approx(0.1e8 - half, rel=0.01, abs=1e5)
    assert (sum(found.more_repeats) > 0) == (outcome == "cannot tell")


@pytest.mark.parametrize(
    ("levels", "outcome"),
    [(CALM, "worse"), (CALM[:2], "differs"), ((0.97, 1.0, 1.04, 0.95, 1.04), "cannot tell")],
)
def test_a_baseline_tells_the_day_effect_for_both(levels: tuple[float, ...], outcome: str) -> None:
    """One recording, 4 % slower, against a baseline of several."""
    assert judge_times(days(1, *levels), days(1.04, 1.0)).outcome == outcome


def test_a_baseline_that_differs_more_than_ten_percent_replaces_them() -> None:
    levels = (0.9, 1.0, 1.12)
    assert judge_times(days(1, *levels), days(1.2, 1.0)).outcome == "cannot tell"
    assert judge_times(days(1, 1.0), days(1.2, 1.0)).outcome == "worse"


# --- rates ----------------------------------------------------------------------------------------


def rates(count: int, sigma: float, plant: float, draws: int) -> list[str]:
    generator = np.random.default_rng(count * 1000 + int(sigma * 1000))
    found: list[str] = []
    for at in range(draws):
        base, other = (steps(generator, KINDS[at % 4], count, sigma) for _ in range(2))
        found.append(judge_times([base], [[round(one * plant) for one in other]]).outcome)
    return found


@pytest.mark.parametrize(("count", "sigma"), [(6, 0.2), (8, 0.1), (8, 0.2), (30, 0.1)])
def test_equal_code_is_hardly_ever_called_different(count: int, sigma: float) -> None:
    found = rates(count, sigma, 1.0, 60)
    assert found.count("worse") + found.count("better") <= 3


def test_short_recordings_need_more_than_steps_drawn_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Eight steps drawn again are too much alike: alone, they would make more false claims."""
    monkeypatch.setattr(noise, "_median_error", lambda values: (0.0, 2.0))
    found = rates(8, 0.2, 1.0, 60)
    assert found.count("worse") + found.count("better") >= 5


@pytest.mark.parametrize(("count", "sigma"), [(6, 0.01), (8, 0.03), (20, 0.03)])
def test_twenty_percent_are_found(count: int, sigma: float) -> None:
    assert rates(count, sigma, 1.2, 40).count("worse") >= 34


def test_lag_one_correlation() -> None:
    generator = np.random.default_rng(4)
    still = generator.normal(size=2000)
    lasting = np.empty(2000)
    last = 0.0
    for at, one in enumerate(generator.normal(size=2000)):
        last = lasting[at] = 0.6 * last + 0.8 * one
    assert correlation(1e8 + 1e6 * still) == pytest.approx(0, abs=0.06)
    assert correlation(1e8 + 1e6 * lasting) == pytest.approx(0.6, abs=0.08)


def test_correlated_steps_widen_the_interval() -> None:
    rising = [round(1e8 * (1 + 0.001 * at)) for at in range(20)]
    mixed = np.random.default_rng(1).permutation(rising).tolist()
    wide, narrow = (judge_times([one], [[2 * t for t in one]]) for one in (rising, mixed))
    assert wide.low_ns is not None
    assert narrow.low_ns is not None
    assert wide.change_ns - wide.low_ns > 2 * (narrow.change_ns - narrow.low_ns)


def test_noise_of_one_recording_needs_eight_steps() -> None:
    assert noise_of([100] * 7) is None
    assert noise_of([100] * 8) == 0
    assert noise_of(around(1e8, 8, 0.02)) == pytest.approx(0.02, rel=0.7)


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
    assert np.isnan(welch(same[0][:1, :4], same[1][:1, :4])).all(), "four steps"
    assert not np.isnan(welch(same[0][:1, :5], same[1][:1, :5])).any(), "five"


def test_rows_of_several_recordings_are_tested_by_recording() -> None:
    """Steps that are alike within a recording, whose levels lie apart, prove nothing."""
    levels = (100.0, 103.0, 97.0)
    base, other = (
        [np.full((1, 9), level + more) + np.arange(9) * 0.01 for level in levels]
        for more in (0.0, 4.0)
    )
    (p,) = p_values(base, other).tolist()
    t = 4 / (2 * 3**2 / 3) ** 0.5  # each side: variance 9, three recordings
    assert p == pytest.approx(two_sided(t, 4), rel=1e-6)
    assert p_values(base[:1], other[:1])[0] < 0.001, "one of each"


def test_one_false_claim_among_many_is_rare() -> None:
    """Each p below 5 % of those that are left, from the smallest on: Holm."""
    p = np.array([0.012, 0.04, 0.001, np.nan, 0.9])
    assert holm(p).tolist() == [True, False, True, False, False]
    assert holm(np.array([0.02, 0.03, 0.04])).tolist() == [False, False, False]
    assert holm(np.array([0.016, 0.024, 0.051])).tolist() == [True, True, False]


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
