"""Is a change of step times real, and may the code be blamed for it?

With one recording a side the unit is the step. From eight steps on, a 95 % interval of the change
of the median is formed; five to seven steps are ranked; fewer tell nothing. No step is set aside.
What is certain by its steps *differs*. Two recordings of one code differ, too, from day to day: the
code is *better* or *worse* only above ``DAY_RATIO``.

With three recordings on a side or more, the unit is the recording: the spread of their medians is
the day effect, whatever its size. Their steps are never joined. Where only one side has so many,
its spread is taken for the other side, too.

Sources: moving blocks, H. R. Künsch, "The jackknife and the bootstrap for general stationary
observations", Annals of Statistics 17 (1989); the variance of a mean of dependent values by their
lag-1 correlation, G. V. Bayley and J. M. Hammersley, "The 'effective' number of independent
observations in an autocorrelated time series", Suppl. J. R. Stat. Soc. 8 (1946); ranks, H. B. Mann
and D. R. Whitney, "On a test of whether one of two random variables is stochastically larger",
Annals of Mathematical Statistics 18 (1947); unequal variances, B. L. Welch, "The generalization of
Student's problem …", Biometrika 34 (1947); many tests at once, S. Holm, "A simple sequentially
rejective multiple test procedure", Scandinavian Journal of Statistics 6 (1979).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, TypeAlias, TypeVar

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from ...base.arrays import F64, B, median
from ...base.units import share
from ..steps import sigma_of

T = TypeVar("T")
Outcome = Literal["better", "worse", "differs", "no change", "cannot tell"]
Recordings: TypeAlias = Sequence[Sequence[int]]
"""Step times in ns of each recording of one side; the first is the one that is looked at."""

FEWEST_STEPS = 5  # below, the times of one recording are not compared at all
ENOUGH_STEPS = 8  # from here on an interval is formed
FEW_STEPS_P = 0.01
FEW_STEPS_SIGMAS = 1.5
FEWEST_RECORDINGS = 3  # of a side, so that their spread can be told
DAY_RATIO = 0.10  # of the step: so far may two recordings of one code lie apart
BUDGET = 0.02
CONFIDENCE = 0.95
LEAST_EFFECT_RATIO = 0.01  # of the step …
LEAST_EFFECT_NS = 50_000  # … or so much: a smaller change of one operator is not worth a word

_DRAWS = 2_000
_FEWEST_DRAWS = 400
_MOST_VALUES = 4_000_000
_PORTION_VALUES = 1_000_000  # that are in memory at once
_MOST_RANKED = 1_000  # steps: beyond, ranks are near enough to a normal distribution
_MEDIAN_ERROR = math.sqrt(math.pi / 2)  # of a median, against a mean's
_MOST_CORRELATION = 0.9
_LEAST_FREEDOM = 2.0  # of a trend: three steps at least are worth something
_SEED = 20_200_401


class TimeVerdict(Struct, frozen=True):
    """Comparison of the step times of two sides, in ns.

    A time is the median step; of several recordings, the mean of their median steps.
    """

    outcome: Outcome
    base_ns: float
    other_ns: float
    low_ns: float | None  # 95 % interval of the change; None where there are too few steps
    high_ns: float | None
    p: float | None  # of the rank test, where steps are few
    more_steps: int  # on each side, to be able to tell; 0 = none needed, or no number would do
    more_repeats: tuple[int, int]  # further recordings of each side that would tell
    base_steps: int
    other_steps: int
    repeats: tuple[int, int]  # recordings of each side that were judged
    reason: str  # the rule that decided
    is_equal: bool = False  # the same times on both sides, one by one

    @property
    def change_ns(self) -> float:
        """Other minus base."""
        return self.other_ns - self.base_ns

    @property
    def change_ratio(self) -> float:
        """The change, of the base."""
        return self.change_ns / self.base_ns if self.base_ns else 0.0


def judged(side: Sequence[T]) -> Sequence[T]:
    """The recordings of a side that are judged: all from three on, else the first alone."""
    return side if len(side) >= FEWEST_RECORDINGS else side[:1]


def judge_times(base: Recordings, other: Recordings, budget: float = BUDGET) -> TimeVerdict:
    """The verdict on the step times of two sides, each with at least one recording.

    ``budget``: up to this share of the base, a slower step is no loss and a faster one no gain.
    """
    sides = [[np.asarray(one, np.float64) for one in judged(side)] for side in (base, other)]
    a, b = (float(_medians(side).mean()) for side in sides)
    found = TimeVerdict(
        outcome="cannot tell",
        base_ns=a,
        other_ns=b,
        low_ns=None,
        high_ns=None,
        p=None,
        more_steps=0,
        more_repeats=(0, 0),
        base_steps=min(map(len, sides[0])),
        other_steps=min(map(len, sides[1])),
        repeats=(len(sides[0]), len(sides[1])),
        reason="",
    )
    if [one.tolist() for one in sides[0]] == [one.tolist() for one in sides[1]]:
        same = "The step times are the same, one by one."
        return replace(
            found, outcome="no change", low_ns=0.0, high_ns=0.0, reason=same, is_equal=True
        )
    if min(found.repeats) >= FEWEST_RECORDINGS and a:
        return _by_recordings(found, sides, budget)
    fewest = min(len(side[0]) for side in sides if len(side) < FEWEST_RECORDINGS)
    if fewest < FEWEST_STEPS or not a:
        reason = f"Step times are compared from {FEWEST_STEPS} steps a side on."
        return replace(found, more_steps=ENOUGH_STEPS - min(fewest, 4), reason=reason)
    if max(found.repeats) >= FEWEST_RECORDINGS:
        return _by_recordings(found, sides, budget)
    if fewest < ENOUGH_STEPS:
        return _by_ranks(found, sides[0][0], sides[1][0], budget)
    return _by_interval(found, sides[0][0], sides[1][0], budget)


def _medians(side: Sequence[F64]) -> F64:
    return np.array([median(one) if len(one) else 0.0 for one in side])


def _claimed(found: TimeVerdict, limit: float) -> TimeVerdict:
    """A change that is certain: the code's doing above a limit, a share of the base."""
    if abs(found.change_ratio) > limit:
        return replace(found, outcome="worse" if found.change_ns > 0 else "better")
    return replace(found, outcome="differs", more_repeats=_missing(found))


def _missing(found: TimeVerdict) -> tuple[int, int]:
    """Recordings that each side lacks to tell how far those of one code lie apart."""
    base, other = (max(FEWEST_RECORDINGS - one, 0) for one in found.repeats)
    return base, other


# --- one recording a side -------------------------------------------------------------------------


def _by_ranks(found: TimeVerdict, base: F64, other: F64, budget: float) -> TimeVerdict:
    """The verdict from five to seven steps."""
    p = rank_test(base, other)
    least = FEW_STEPS_SIGMAS * max(sigma_of(base), sigma_of(other))
    found = replace(found, p=p)
    if p <= FEW_STEPS_P and abs(found.change_ns) > max(least, budget * found.base_ns):
        return _claimed(replace(found, reason=_ONE_RECORDING), max(DAY_RATIO, budget))
    reason = f"So few steps need p ≤ {FEW_STEPS_P} and {FEW_STEPS_SIGMAS:g} deviations of a step."
    return replace(found, more_steps=ENOUGH_STEPS, reason=reason)


_ONE_RECORDING = f"One recording a side: a change above {share(DAY_RATIO)} is the code's."


def rank_test(base: F64, other: F64) -> float:
    """P of ranks that lie at least as far apart, two-sided; exact, with mean ranks for ties.

    All ways to deal the ranks are counted by their sum. Beyond ``_MOST_RANKED`` steps the normal
    approximation is taken.
    """
    few, many = sorted((base, other), key=len)
    count = len(few) + len(many)
    _, place, times = np.unique(
        np.concatenate([few, many]), return_inverse=True, return_counts=True
    )
    twice = (2 * np.cumsum(times) - times + 1)[place]  # two times the mean rank: an integer
    expected = len(few) * (count + 1)
    off = abs(int(twice[: len(few)].sum()) - expected)
    if count > _MOST_RANKED:
        ties = float((times**3 - times).sum()) / (count * (count - 1))
        square = len(few) * len(many) * (count + 1 - ties) / 3  # of twice the sum
        return math.erfc(off / math.sqrt(2 * square))
    ways = np.zeros((len(few) + 1, 2 * len(few) * count + 1))
    ways[0, 0] = 1.0
    for rank in twice.tolist():
        ways[1:, rank:] += ways[:-1, : ways.shape[1] - rank]
    sums = np.abs(np.arange(ways.shape[1]) - expected)
    return float(ways[-1, sums >= off].sum() / ways[-1].sum())


def _by_interval(found: TimeVerdict, base: F64, other: F64, budget: float) -> TimeVerdict:
    """The verdict from eight steps on."""
    below, above = _half_widths(base, other)
    low, high = found.change_ns - below, found.change_ns + above
    change, least = abs(found.change_ratio), budget * found.base_ns
    found = replace(found, low_ns=low, high_ns=high)
    if (low > 0 or high < 0) and change > budget:
        return _claimed(replace(found, reason=_ONE_RECORDING), max(DAY_RATIO, budget))
    if -least <= low and high <= least:
        reason = f"The whole interval lies within ±{share(budget)} of the step."
        return replace(found, outcome="no change", reason=reason)
    if budget < change <= max(DAY_RATIO, budget):
        reason = "The interval of the change includes zero."
        return replace(found, more_repeats=_missing(found), reason=reason)
    reason = (
        "The interval of the change includes zero."
        if change > budget
        else f"The interval reaches over the limit of {share(budget)}."
    )
    more = _times_as_many(max(below, above) / found.base_ns, change, budget)
    steps = min(len(base), len(other))
    return replace(found, more_steps=max(1, math.ceil(steps * (more - 1))), reason=reason)


def _times_as_many(half: float, change: float, budget: float) -> float:
    """Factor of values that makes the interval short enough to decide.

    Its width falls with the root of their number. It has to be shorter than the change; where that
    is within the budget, shorter than what is left of it, of which a quarter is taken at least.
    All are shares of the base.
    """
    room = change if change > budget else max(budget - change, budget / 4)
    return (half / max(room, 1e-9)) ** 2


def _half_widths(base: F64, other: F64) -> tuple[float, float]:
    """Distances from the change of the median down and up to the ends of its interval, in ns.

    The steps are drawn again in blocks; what blocks of that length cannot carry is added. Short
    recordings are drawn too much alike: the interval is never shorter than that of medians of
    normal steps with the same deviation.
    """
    generator = np.random.default_rng(_SEED)
    drawn = [_drawn_medians(side, generator) for side in (base, other)]
    draws = min(map(len, drawn))
    tail = (1 - CONFIDENCE) / 2 * 100
    low, high = np.percentile(drawn[1][:draws] - drawn[0][:draws], [tail, 100 - tail])
    middle = float(np.median(other) - np.median(base))
    few = 1 + 1.3 / (len(base) + len(other) - 2)  # Student's t for normal
    stretch = few * max(_uncarried(base), _uncarried(other))
    least = _interval([_median_error(base), _median_error(other)])
    return max((middle - low) * stretch, least), max((high - middle) * stretch, least)


def _median_error(values: F64) -> tuple[float, float]:
    """The squared error of the median of normal steps, and its degrees of freedom."""
    r = correlation(values)
    effective = len(values) * (1 - r) / (1 + r)
    error = _MEDIAN_ERROR * sigma_of(values) * (1 + 1.5 / len(values))  # of a short recording
    return error**2 / effective, max(effective - 1, _LEAST_FREEDOM)


def _interval(parts: Sequence[tuple[float, float]]) -> float:
    """Half of the 95 % interval of a sum: squared errors with their degrees of freedom (Welch)."""
    square = sum(error for error, _ in parts)
    if not square:
        return 0.0
    freedom = square**2 / sum(error**2 / free for error, free in parts)
    return t_quantile(freedom) * math.sqrt(square)


def _drawn_medians(values: F64, generator: np.random.Generator) -> F64:
    """The median in many draws of the steps in blocks."""
    draws = min(_DRAWS, max(_FEWEST_DRAWS, _MOST_VALUES // len(values)))
    most = max(1, _PORTION_VALUES // len(values))
    portions = [min(most, draws - done) for done in range(0, draws, most)]
    drawn = (values[_block_rows(len(values), count, generator)] for count in portions)
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
    """Factor by which the lag-1 correlation widens the interval of blocks of this length."""
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


def noise_of(values: Sequence[int]) -> float | None:
    """Half width of the interval of one recording's median, of it; None below eight steps."""
    one = np.asarray(values, np.float64)
    middle = float(np.median(one)) if len(one) else 0.0
    if len(one) < ENOUGH_STEPS or not middle:
        return None
    return _interval([_median_error(one)]) / middle


# --- three recordings a side ----------------------------------------------------------------------


def _by_recordings(
    found: TimeVerdict, sides: Sequence[Sequence[F64]], budget: float
) -> TimeVerdict:
    """The verdict from the medians of three recordings and more of one side, or of both."""
    medians = [_medians(side)[None, :] for side in sides]
    square, freedom = (float(one[0]) for one in _spread(*medians))
    alone = [side[0] for side in sides if len(side) < FEWEST_RECORDINGS]
    half = math.hypot(
        t_quantile(freedom) * math.sqrt(square),
        *(_interval([_median_error(one)]) for one in alone),
    )
    low, high = found.change_ns - half, found.change_ns + half
    limit, change = max(half / found.base_ns, budget), abs(found.change_ratio)
    reason = f"Recordings of one code differ by up to {share(half / found.base_ns)} here."
    found = replace(found, low_ns=low, high_ns=high, reason=reason)
    if change > limit:
        return _claimed(found, limit)
    if change * found.base_ns + half <= budget * found.base_ns:
        return replace(found, outcome="no change")
    if alone:
        return replace(found, more_repeats=_missing(found))
    more = _times_as_many(half / found.base_ns, change, budget) - 1
    base, other = (max(1, math.ceil(count * more)) for count in found.repeats)
    return replace(found, more_repeats=(base, other))


def _spread(base: F64, other: F64) -> tuple[F64, F64]:
    """The squared error of the change of each row (rows, recordings), and its freedom.

    Where one side has too few recordings, those of the other tell the spread of both.
    """
    parts = [
        (side.var(axis=1, ddof=1), side.shape[1])
        for side in (base, other)
        if side.shape[1] >= FEWEST_RECORDINGS
    ]
    if len(parts) == 1:
        variance, count = parts[0]
        square = variance * (1 / base.shape[1] + 1 / other.shape[1])
        return square, np.full(len(square), count - 1.0)
    errors = [(variance / count, count - 1.0) for variance, count in parts]
    square = errors[0][0] + errors[1][0]
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = square**2 / sum(error**2 / free for error, free in errors)
    return square, np.nan_to_num(freedom, nan=1.0)


# --- many operators at once -----------------------------------------------------------------------


def p_values(base: Sequence[F64], other: Sequence[F64]) -> F64:
    """P that both have the same mean, for each row; NaN: cannot tell.

    One table (rows, steps) for each judged recording. With three of a side or more the recordings
    are tested, else the steps of one against those of the other.
    """
    if max(len(base), len(other)) < FEWEST_RECORDINGS:
        return welch(base[0], other[0])
    means = [np.stack([one.mean(axis=1) for one in side], axis=1) for side in (base, other)]
    square, freedom = _spread(*means)
    return _two_sided(means[1].mean(axis=1) - means[0].mean(axis=1), square, freedom)


def welch(base: F64, other: F64) -> F64:
    """P that both have the same mean, for each row of two tables (rows, steps); NaN: cannot tell.

    Neighbouring steps count for less than independent ones. Rows that repeat exactly on both sides
    differ for certain, or not at all: p is 0 or 1.
    """
    rows = len(base)
    if base.shape[1] < FEWEST_STEPS or other.shape[1] < FEWEST_STEPS:
        p = np.full(rows, np.nan)
        if min(base.shape[1], other.shape[1]) > 1:
            still = (np.ptp(base, axis=1) == 0) & (np.ptp(other, axis=1) == 0)
            p[still] = (base[still, 0] == other[still, 0]).astype(np.float64)
        return p
    parts = [_square_error(side) for side in (base, other)]
    square = parts[0][0] + parts[1][0]
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = square**2 / sum(error**2 / free for error, free in parts)
    return _two_sided(other.mean(axis=1) - base.mean(axis=1), square, freedom)


def _two_sided(change: F64, square: F64, freedom: F64) -> F64:
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.abs(change) / np.sqrt(square)
    p = np.array([two_sided(x, f) for x, f in zip(t.tolist(), freedom.tolist(), strict=True)])
    return np.where(square > 0, p, (change == 0).astype(np.float64))


def _square_error(side: F64) -> tuple[F64, F64]:
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


def holm(p: F64, rate: float = 1 - CONFIDENCE) -> B:
    """Which of many tests are positive if one false one is to be rarer than ``rate``; no NaN is."""
    found = np.zeros(len(p), np.bool_)
    known = np.flatnonzero(~np.isnan(p))
    order = known[np.argsort(p[known], kind="stable")]
    passed = p[order] <= rate / np.arange(len(order), 0, -1)
    found[order[np.logical_and.accumulate(passed)]] = True
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
