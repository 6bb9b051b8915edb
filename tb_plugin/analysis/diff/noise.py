"""Is a change of step times real, or is it noise?

The unit is the step. Steps of one recording are not independent (a slow one often follows a slow
one), so they are drawn again in blocks, and what blocks of that length cannot carry is added. Steps
of one recording do not tell how recordings of the same code differ, either: that is known from
repeats only, and without them nothing below ``UNKNOWN_SPREAD`` of the median is claimed, and
nothing below the deviation of a step: on a busy machine, recordings lie as far apart as steps do.

A change is claimed if it is certain (all of its 95 % interval lies on one side of zero) and large
(the change of the median, as measured, is above the budget and what was said before). To ask that
all of the interval be above the budget would find a change of 5 % in 20 steps whose noise is 2 %
only two times in three. Where steps vary by more than ``RESTLESS``, the machine was not at rest:
then all of the interval has to lie beyond a limit that grows to the deviation of a step.

Sources: moving blocks, H. R. Künsch, "The jackknife and the bootstrap for general stationary
observations", Annals of Statistics 17 (1989); the variance of a mean of dependent values by their
lag-1 correlation, G. V. Bayley and J. M. Hammersley, "The 'effective' number of independent
observations in an autocorrelated time series", Suppl. J. R. Stat. Soc. 8 (1946); permutation test,
R. A. Fisher, "The Design of Experiments" (1935), §21; unequal variances, B. L. Welch, "The
generalization of Student's problem …", Biometrika 34 (1947); many tests at once, Y. Benjamini and
Y. Hochberg, "Controlling the false discovery rate", J. R. Stat. Soc. B 57 (1995).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Literal, TypeAlias

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from ...base.arrays import F64, B, median
from ...base.units import share
from ..steps import LEAST_RATIO, SIGMAS, sigma_of

Outcome = Literal["better", "worse", "no change", "cannot tell"]
Recordings: TypeAlias = Sequence[Sequence[int]]
"""Step times in ns of each recording of one side; the first is the one that is looked at."""

FEWEST_STEPS = 4  # below, times are not compared at all
ENOUGH_STEPS = 8  # from here on an interval is formed
FEW_STEPS_P = 0.02
FEW_STEPS_RATIO = 0.05  # with few steps, a smaller change is never claimed
RESTLESS = 0.03  # of the median: a larger deviation of steps tells of other work on the machine
UNKNOWN_SPREAD = 0.015  # of the median: how far two recordings of one code may lie apart
BUDGET = 0.02
CONFIDENCE = 0.95
FALSE_DISCOVERIES = 0.05
LEAST_EFFECT_RATIO = 0.01  # of the step …
LEAST_EFFECT_NS = 50_000  # … or so much: a smaller change of one operator is not worth a word

_DRAWS = 2_000
_FEWEST_DRAWS = 400
_FEWEST_REPEATS = 2  # more of each, so that their spread can be told
_MOST_VALUES = 4_000_000
_PORTION_VALUES = 1_000_000  # that are in memory at once
_MANY_WAYS = 20  # steps: from here on there are more ways to deal them than draws
_MOST_CORRELATION = 0.9
_LEAST_FREEDOM = 2.0  # of a trend: three steps at least are worth something
_SEED = 20_200_401


class TimeVerdict(Struct, frozen=True):
    """What the step times of two sides say. Times are of the median step, in ns."""

    outcome: Outcome
    base_ns: float
    other_ns: float
    low_ns: float | None  # 95 % interval of the change; None where there are too few steps
    high_ns: float | None
    noise_ratio: float | None  # smallest change that these recordings could show, of the base
    more_steps: int  # on each side, to be able to tell; 0 = none needed, or no number would do
    base_steps: int
    other_steps: int
    repeats: tuple[int, int]  # recordings of each side
    reason: str  # the rule that decided
    set_aside: tuple[int, int] = (0, 0)  # far steps of each side that took no part
    is_equal: bool = False  # the same times on both sides, one by one
    more_repeats: int = 0  # recordings of each side, where steps alone cannot tell

    @property
    def change_ns(self) -> float:
        """Other minus base."""
        return self.other_ns - self.base_ns

    @property
    def change_ratio(self) -> float:
        """The change, of the base."""
        return self.change_ns / self.base_ns if self.base_ns else 0.0


def judge_times(base: Recordings, other: Recordings, budget: float = BUDGET) -> TimeVerdict:
    """The verdict on the step times of two sides, each with at least one recording.

    ``budget``: up to this share of the base, a slower step is no loss and a faster one no gain.
    """
    sides = [_values(base), _values(other)]
    counts = [min(len(one) for one in side) for side in sides]
    a, b = (_location(side) for side in sides)

    def verdict(
        outcome: Outcome,
        reason: str,
        interval: tuple[float, float] | None = None,
        noise: float | None = None,
        more: int = 0,
    ) -> TimeVerdict:
        low, high = interval or (None, None)
        repeats = len(base), len(other)
        return TimeVerdict(
            outcome, a, b, low, high, noise, more, counts[0], counts[1], repeats, reason
        )

    if [list(one) for one in base] == [list(one) for one in other]:
        same = "The step times are the same, one by one."
        found = verdict("no change", same, (0.0, 0.0), 0.0 if a else None)
        return replace(found, is_equal=True)
    if min(counts) < FEWEST_STEPS or not a:
        reason = f"Step times are compared from {FEWEST_STEPS} steps a side on."
        return verdict("cannot tell", reason, more=max(ENOUGH_STEPS - min(counts), 0))
    if min(counts) < ENOUGH_STEPS:
        outcome, reason, aside = _by_permutation(sides)
        few = replace(verdict(outcome, reason), set_aside=aside)
        return replace(few, more_steps=ENOUGH_STEPS) if outcome == "cannot tell" else few
    spread = 0.0 if min(len(base), len(other)) > 1 else max(map(_spread, sides))
    unknown = 0.0 if min(len(base), len(other)) > 1 else max(UNKNOWN_SPREAD, spread)
    below, above = _half_widths(sides)
    needed = max(budget, unknown)
    limits = _Limits(budget, needed, min(spread, 2 * max(spread - RESTLESS, 0.0)))
    outcome, reason = _by_interval(b - a, below, above, a, limits)
    noise = max((below + above) / 2 / a, unknown)
    found = verdict(outcome, reason, (b - a - below, b - a + above), noise)
    if outcome != "cannot tell":
        return found
    least = min(counts), min(len(base), len(other))
    more, again = _what_settles(
        least, max(below, above) / a, _between(sides) / a, abs(b - a) / a, limits
    )
    return replace(found, more_steps=more, more_repeats=again)


def _spread(side: Sequence[F64]) -> float:
    """The deviation of the steps of a recording by the median distance, of their median."""
    one = side[0]
    middle = float(np.median(one))
    return sigma_of(one) / middle if middle else 0.0


class _Limits(Struct, frozen=True):
    """Limits of a verdict, of the base."""

    budget: float
    needed: float  # a smaller change of the median is not claimed
    beyond: float  # all of the interval lies beyond it; 0 on a machine at rest


def _by_interval(  # noqa: PLR0911  # one line a verdict
    change: float, below: float, above: float, base_ns: float, limits: _Limits
) -> tuple[Outcome, str]:
    """The verdict from a change and its interval, which reaches so far below and above it."""
    low, high = change - below, change + above
    budget, least = limits.budget * base_ns, limits.needed * base_ns
    beyond = limits.beyond * base_ns
    edge = f"beyond {share(limits.beyond)}" if beyond else "on one side of zero"
    certain = (
        f"The change of the median is above {share(limits.needed)} of the step, and all of its"
        f" interval lies {edge}."
    )
    if change > least and low > beyond:
        return "worse", certain
    if change < -least and high < -beyond:
        return "better", certain
    if -budget <= low and high <= budget:
        return "no change", f"All of the interval lies within ±{share(limits.budget)} of the step."
    if abs(change) > least and beyond:
        text = f"Steps that vary so much tell of other work: the interval has to lie {edge}."
        return "cannot tell", text
    if abs(change) > least:
        return "cannot tell", "The interval of the change reaches over zero."
    if abs(change) > budget:
        text = f"Without repeats, changes of up to {share(limits.needed)} are not claimed."
        return "cannot tell", text
    return "cannot tell", f"The interval reaches over the limit of {share(limits.budget)}."


def _what_settles(
    counts: tuple[int, int], half: float, between: float, change: float, limits: _Limits
) -> tuple[int, int]:
    """Further steps a side, or further recordings, until the interval is short enough to decide.

    The width falls with the root of their number. It has to fit between the change and the limit
    that it must not reach, or between the change and the budget where the change is smaller; of a
    change beside its limit, a quarter of the budget is taken. A change between the two limits is
    decided by repeats alone, and so is one that is lost between the recordings of one side.
    ``counts``: steps and recordings a side; all others are shares of the base.
    """
    steps, recordings = counts
    budget = limits.budget
    if budget < change <= max(limits.needed, limits.beyond):
        return 0, _FEWEST_REPEATS
    room = change - limits.beyond if change > limits.needed else budget - change
    square = max(room, budget / 4) ** 2
    if 2 * between**2 > square:
        return 0, max(1, math.ceil(recordings * (half**2 / square - 1)))
    of_steps = (half**2 - between**2) / (square - between**2)
    return max(1, math.ceil(steps * (of_steps - 1))), 0


def _values(side: Recordings) -> list[F64]:
    return [np.asarray(one, np.float64) for one in side]


def _location(side: Sequence[F64]) -> float:
    """The median over recordings of the median step."""
    found = [float(median(one)) for one in side if len(one)]
    return float(median(found)) if found else 0.0


def _by_permutation(sides: list[list[F64]]) -> tuple[Outcome, str, tuple[int, int]]:
    """The verdict from four to seven steps: how far do they lie apart, dealt to two sides at will?

    All ways to deal them are tried; where there are more than ``_DRAWS``, so many by chance. Far
    steps are set aside before, as long as four are left on each side; how many says the last.
    """
    every = [np.concatenate(side) for side in sides]
    base, other = (_without_outliers(side) for side in every)
    aside = len(every[0]) - len(base), len(every[1]) - len(other)
    everything = np.concatenate([base, other])
    count, of_base = len(everything), len(base)
    if count < _MANY_WAYS and math.comb(count, of_base) <= _DRAWS:
        chosen = np.array(list(combinations(range(count), of_base)))
        dealt = everything[chosen].sum(axis=1)
    else:
        dealt = _dealt_by_chance(everything, of_base)
    change = (everything.sum() - dealt) / (count - of_base) - dealt / of_base
    seen = float(other.mean() - base.mean())
    middle = float(np.median(base))
    as_far = change >= seen - 1e-6 if seen > 0 else change <= seen + 1e-6
    p = float(np.mean(as_far))
    left = " that are left" if any(aside) else ""
    few = f"the {len(base)} and {len(other)} steps{left}"
    if p <= FEW_STEPS_P and abs(seen) > FEW_STEPS_RATIO * middle:
        how = f"T{few[1:]}, dealt to two sides at random, lie so far apart with p = {p:.3f}."
        return ("worse" if seen > 0 else "better"), how, aside
    how = (
        f"From {few} a change is claimed above {share(FEW_STEPS_RATIO)} and with p ≤ {FEW_STEPS_P}"
    )
    return "cannot tell", f"{how}; here p = {p:.3f}.", aside


def _dealt_by_chance(values: F64, of_base: int) -> F64:
    """The sum of what one side gets, in many draws."""
    generator = np.random.default_rng(_SEED)
    sums = []
    for draws in _portions(len(values)):
        by_lot = generator.random((draws, len(values)))
        chosen = np.argpartition(by_lot, of_base, axis=1)[:, :of_base]
        sums.append(values[chosen].sum(axis=1))
    return np.concatenate(sums)


def _portions(count: int) -> list[int]:
    """Draws of so many values each, in portions that are small in memory; fewer of long ones."""
    draws = min(_DRAWS, max(_FEWEST_DRAWS, _MOST_VALUES // count))
    most = max(1, _PORTION_VALUES // count)
    return [min(most, draws - done) for done in range(0, draws, most)]


def _without_outliers(values: F64) -> F64:
    """The values without those beyond 3.5 σ and 5 % of the median, if four are left."""
    middle = float(np.median(values))
    limit = max(SIGMAS * sigma_of(values), LEAST_RATIO * middle)
    kept = values[np.abs(values - middle) <= limit]
    return kept if len(kept) >= FEWEST_STEPS else values


def _half_widths(sides: list[list[F64]]) -> tuple[float, float]:
    """How far the interval of the change reaches below and above it, in ns."""
    generator = np.random.default_rng(_SEED)
    drawn = [_drawn_locations(side, generator) for side in sides]
    draws = min(map(len, drawn))
    change = drawn[1][:draws] - drawn[0][:draws]
    tail = (1 - CONFIDENCE) / 2 * 100
    low, high = np.percentile(change, [tail, 100 - tail])
    middle = float(_location(sides[1]) - _location(sides[0]))
    few = 1 + 1.3 / (sum(len(one) for side in sides for one in side) - 2)  # Student's t for normal
    stretch = few * max(_uncarried(one) for side in sides for one in side)
    between = _between(sides)
    below, above = (max(middle - low, 0.0) * stretch, max(high - middle, 0.0) * stretch)
    return math.hypot(below, between), math.hypot(above, between)


def _drawn_locations(side: list[F64], generator: np.random.Generator) -> F64:
    """The location of a side in many draws of its recordings' steps in blocks."""
    portions = _portions(max(map(len, side)))
    medians = [_drawn_medians(one, portions, generator) for one in side]
    return np.asarray(np.median(np.stack(medians), axis=0))


def _drawn_medians(values: F64, portions: Sequence[int], generator: np.random.Generator) -> F64:
    drawn = (values[_block_rows(len(values), draws, generator)] for draws in portions)
    return np.concatenate([np.median(rows, axis=1, overwrite_input=True) for rows in drawn])


def _block_rows(count: int, draws: int, generator: np.random.Generator) -> NDArray[np.int64]:
    """Rows of moving blocks that together are as many as there are values; (draws, count)."""
    block = _block(count)
    blocks = -(-count // block)
    start = generator.integers(0, count - block + 1, (draws, blocks))
    rows = (start[:, :, None] + np.arange(block)).reshape(draws, -1)
    return np.asarray(rows[:, :count])


def _block(count: int) -> int:
    return math.ceil(round(math.pow(count, 1 / 3), 9))


def _uncarried(values: F64) -> float:
    """How much wider the interval is than blocks of this length say, from the lag-1 correlation."""
    r = correlation(values)
    block = _block(len(values))
    carried = 1 + 2 * sum((1 - lag / block) * r**lag for lag in range(1, block))
    return math.sqrt((1 + r) / (1 - r) / carried)


def correlation(values: F64) -> float:
    """Lag-1 correlation of neighbours, 0 … 0.9; far values count as three deviations.

    Corrected for the bias of short series: F. H. C. Marriott and J. A. Pope, "Bias in the
    estimation of autocorrelations", Biometrika 41 (1954).
    """
    count = len(values)
    middle = float(np.median(values))
    sigma = sigma_of(values)
    if count < FEWEST_STEPS or not sigma:
        return 0.0
    z = np.clip((values - middle) / sigma, -3, 3)
    z -= z.mean()
    square = float((z * z).sum())
    if not square:
        return 0.0
    r = float((z[1:] * z[:-1]).sum()) / square
    return min(max(r + (1 + 3 * r) / count, 0.0), _MOST_CORRELATION)


def _between(sides: list[list[F64]]) -> float:
    """What further recordings of one side say: t · their pooled deviation, of the change.

    0 where there is one recording a side; then ``UNKNOWN_SPREAD`` stands for it.
    """
    medians = [np.array([np.median(one) for one in side]) for side in sides]
    freedom = sum(len(one) - 1 for one in medians)
    if not freedom:
        return 0.0
    square = sum(float(((one - one.mean()) ** 2).sum()) for one in medians) / freedom
    weight = sum(1 / len(one) for one in medians)
    return t_quantile(freedom) * math.sqrt(square * weight)


def noise_of(values: Sequence[int]) -> float | None:
    """Half width of the interval of one recording's median, of it; None below eight steps."""
    one = np.asarray(values, np.float64)
    middle = float(np.median(one)) if len(one) else 0.0
    if len(one) < ENOUGH_STEPS or not middle:
        return None
    drawn = _drawn_locations([one], np.random.default_rng(_SEED))
    low, high = np.percentile(drawn, [2.5, 97.5])
    return float(high - low) / 2 * _uncarried(one) / middle


# --- many operators at once -----------------------------------------------------------------------


def welch(base: F64, other: F64) -> F64:
    """P that both have the same mean, for each row of two tables (rows, steps); NaN: cannot tell.

    Neighbouring steps count for less than independent ones. Rows that repeat exactly on both sides
    differ for certain, or not at all: p is 0 or 1.
    """
    rows = len(base)
    if base.shape[1] < FEWEST_STEPS + 1 or other.shape[1] < FEWEST_STEPS + 1:
        p = np.full(rows, np.nan)
        if min(base.shape[1], other.shape[1]) > 1:
            still = (np.ptp(base, axis=1) == 0) & (np.ptp(other, axis=1) == 0)
            p[still] = (base[still, 0] == other[still, 0]).astype(np.float64)
        return p
    change = other.mean(axis=1) - base.mean(axis=1)
    parts = [square_error(side) for side in (base, other)]
    square = parts[0][0] + parts[1][0]
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = square**2 / sum(error**2 / free for error, free in parts)
        t = np.abs(change) / np.sqrt(square)
    p = np.array([two_sided(x, f) for x, f in zip(t.tolist(), freedom.tolist(), strict=True)])
    return np.where(square > 0, p, (change == 0).astype(np.float64))


def square_error(side: F64) -> tuple[F64, F64]:
    """The squared error of the mean of each row (rows, steps), and its degrees of freedom."""
    count = side.shape[1]
    centred = side - side.mean(axis=1, keepdims=True)
    square = (centred**2).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        r = np.nan_to_num((centred[:, 1:] * centred[:, :-1]).sum(axis=1) / square)
    r = np.clip(r + (1 + 3 * r) / count, 0, _MOST_CORRELATION)
    effective = count * (1 - r) / (1 + r)
    variance = square / (count - 1)
    return variance / effective, np.maximum(effective - 1, _LEAST_FREEDOM)


def discoveries(p: F64, rate: float = FALSE_DISCOVERIES) -> B:
    """Which of many tests are positive if at most this share of positives may be false."""
    found = np.zeros(len(p), np.bool_)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    passed = np.flatnonzero(p[order] <= rate * np.arange(1, len(order) + 1) / max(len(order), 1))
    if len(passed):
        found[order[: passed[-1] + 1]] = True
    return found


def two_sided(t: float, freedom: float) -> float:
    """P(|T| ≥ t) of Student's distribution.

    M. Abramowitz and I. A. Stegun, "Handbook of Mathematical Functions", 26.7.1 and 26.5.8.
    """
    if math.isnan(t) or math.isnan(freedom):
        return 1.0
    if math.isinf(t):
        return 0.0
    return _incomplete_beta(freedom / 2, 0.5, freedom / (freedom + t * t))


def t_quantile(freedom: float) -> float:
    """The t beyond which Student's distribution has 5 % on both sides together."""
    low, high = 1.9, 13.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if two_sided(middle, freedom) > 1 - CONFIDENCE else (low, middle)
    return high


def _incomplete_beta(a: float, b: float, x: float) -> float:
    """I_x(a, b) by its continued fraction, on the side where it converges fast."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(b, a, 1 - x)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    # From the last term of the fraction to the first: 200 are enough for every a and b in use.
    tail = 1.0
    for m in range(200, 0, -1):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m - 1) * (a + b + m - 1) * x / ((a + 2 * m - 2) * (a + 2 * m - 1))
        tail = 1 + odd / (1 + even / tail)
    return front / a / tail
