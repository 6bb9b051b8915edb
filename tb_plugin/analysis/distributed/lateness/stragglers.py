"""Which rank is late by itself, and what would be gained without that?

A rank is named only where all of this holds (design: own time, replay, what-if):

* there are at least three ranks, so that there is a median peer;
* its own time is above the median of the others by at least 2 % and the error of the replay on
  devices, 10 % on host back ends;
* that is beyond what ranks and steps differ by anyway: 3.5 times the standard error of a rank's
  mean, from the spread of its peers;
* it has the longest own time in two thirds of the steps, of which there are at least three (with
  fewer it is "late in this recording");
* without its excess the steps would be shorter by at least 2 %, and by twice what any other rank's
  excess costs.

Where the replay is refused for its error, lateness at collectives decides instead: a rank whose
blame stands out (z > 3.5), is worth 2 % of the steps, which is last in half of them or more, and
whose own time is above that of its peers as well. Lateness from before the recording is *brought
in*: it is said, and nobody is blamed for it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from ....base.arrays import F64, I32, I64
from ....base.units import duration, share
from ...steps import sigma_of
from ..matching import Matches
from ..model import RankDigest
from ..waiting import Waiting
from .causes import LatenessCause, OwnParts, cause_of, own_parts
from .excess import end_excess, excess, without_excess, work_before_arrival
from .replay import JointGraph, Residual, lengths

DEVICE_SHARE, HOST_SHARE = 0.02, 0.10
LEAST_GAIN = 0.02
CLEARLY = 2.0
LONGEST_IN = 2 / 3
LEAST_STEPS = 3
OUTLIER = 3.5
NORMAL = math.sqrt(math.pi / 2)
"""Standard deviation / mean distance, of what is normally distributed."""
MOST_CANDIDATES = 8
TIE_NS = 20_000
MOST_LATE_NS = 2_000_000_000


class OwnTime(Struct, frozen=True, eq=False):
    """What each rank needs by itself; R digests, S steps, K entries of the matches."""

    own_ns: F64  # (R, S), NaN absent
    measured_ns: F64  # (R, S)
    joint_ns: F64  # (R, S): replayed together, NaN where the replay is refused
    work_ns: I64  # (K,): own work before each arrival, −1 unknown
    excess_ns: I64  # (K,): beyond the median of the peers
    lateness_ns: I32  # (K,): replayed arrival after the first of the group, to 2 s; −1 absent
    brought_in_ns: I64  # (R,): how much later than the first it began, by the anchored clocks
    longest_in: I64  # (R,): steps in which it has the longest own time
    gain_ns: I64  # (R,): shorter steps without its excess, per step; −1 not computed
    usual_gain_ns: I64  # (R,): the same of the median step: one slow step does not count
    chosen: tuple[tuple[int, ...], ...]  # steps that count, by digest


class Verdict(Struct, frozen=True):
    """Whether a rank makes the others wait, in a sentence and as data."""

    kind: str  # "persistent", "recording", "after", "brought_in", "none", "unknown"
    member: int  # digest, −1
    sentence: str
    cause: LatenessCause | None
    gain_ns: int  # per step; −1 not available
    ceiling_ns: int  # per step by lateness at collectives alone; −1 not available
    method: str  # "replay", "lateness", ""
    first_late: tuple[int, int]  # digest and instance of the first lateness by own work; −1
    node: int = -1  # a whole node is late: its row of the nodes; ``member`` is −1 then


def own_time(
    digests: Sequence[RankDigest],
    joint: JointGraph,
    matches: Matches,
    *,
    with_gains: bool,
) -> OwnTime:
    """Own times, lateness and gains of all ranks; a gain costs a replay for each candidate."""
    alone, together = joint.alone(), joint.times()
    chosen = tuple(_chosen(one) for one in digests)
    own, measured = lengths(joint, alone), lengths(joint, joint.measured)
    work = work_before_arrival(joint, alone)
    over = excess(digests, matches, work)
    count = len(digests)
    known, of = joint.arrival >= 0, matches.collective
    times = together[joint.arrival]
    first = matches.least(np.where(known, times, np.iinfo(np.int64).max))
    several = matches.sum_of(known.astype(np.int64)) > 1
    late = np.where(known & several[of], np.minimum(times - first[of], MOST_LATE_NS), -1)
    gain, usual = np.full(count, -1, np.int64), np.full(count, -1, np.int64)
    if with_gains:
        end_over = end_excess(joint, alone)
        before = lengths(joint, together)
        for m in _candidates(over, matches):
            after = lengths(joint, joint.times(without_excess(joint, alone, over, end_over, [m])))
            gain[m] = round(mean_length(before, chosen) - mean_length(after, chosen))
            usual[m] = round(float(np.median(by_step(before, chosen) - by_step(after, chosen))))
    starts = np.array([joint.measured[steps[0, 0]] if len(steps) and steps[0, 0] >= 0 else 0
                       for steps in joint.steps])  # fmt: skip
    return OwnTime(
        own_ns=own,
        measured_ns=measured,
        joint_ns=lengths(joint, together) if with_gains else np.full_like(own, np.nan),
        work_ns=work,
        excess_ns=over,
        lateness_ns=late.astype(np.int32),
        brought_in_ns=starts - starts.min(),
        longest_in=_longest_in(own, chosen),
        gain_ns=gain,
        usual_gain_ns=usual,
        chosen=chosen,
    )


def _chosen(digest: RankDigest) -> tuple[int, ...]:
    usual = np.flatnonzero(digest.steps.excluded == 0)
    return tuple((usual if len(usual) else np.arange(len(digest.steps))).tolist())


def by_step(spans: F64, chosen: Sequence[Sequence[int]]) -> F64:
    """The mean length over the ranks of each step that any of them has; (steps,)."""
    masked = np.full_like(spans, np.nan)
    for m, steps in enumerate(chosen):
        masked[m, list(steps)] = spans[m, list(steps)]
    used = ~np.isnan(masked).all(axis=0)
    result: F64 = np.nanmean(masked[:, used], axis=0) if used.any() else np.zeros(1)
    return result


def mean_length(spans: F64, chosen: Sequence[Sequence[int]]) -> float:
    """The mean length of the chosen steps, over ranks first.

    Ranks leave a step together, at its last collective: a mean over them is steadier than the
    longest.
    """
    return float(by_step(spans, chosen).mean())


def _longest_in(own: F64, chosen: Sequence[Sequence[int]]) -> I64:
    result = np.zeros(len(own), np.int64)
    for step in range(own.shape[1]):
        here = [m for m in range(len(own)) if step in chosen[m] and not np.isnan(own[m, step])]
        if len(here) > 1:
            result[here[int(np.argmax(own[here, step]))]] += 1
    return result


def _candidates(over: I64, matches: Matches) -> list[int]:
    """The ranks with most work beyond their peers: at most so many are replayed without it."""
    total = np.zeros(len(matches.unmatched), np.int64)
    np.add.at(total, matches.member, over)
    order = np.argsort(-total, kind="stable")
    return [int(m) for m in order[:MOST_CANDIDATES] if total[m] > 0]


def verdict(
    digests: Sequence[RankDigest],
    matches: Matches,
    waiting: Waiting,
    joint: JointGraph | None,
    own: OwnTime | None,
    error: Residual | None,
    refused: str,
) -> Verdict:
    """Who is named, if anybody."""
    count = len(digests)
    if count < 2 or not waiting.instances:
        return _nobody("unknown", "Fewer than two ranks share a collective in these recordings.")
    ceiling = late_ceiling(digests, matches, waiting)
    if count == 2:
        return _two(digests, waiting, ceiling)
    if joint is None or own is None:
        return _by_lateness(digests, waiting, None, ceiling, None)
    parts = own_parts(joint, joint.alone(), own.chosen)
    if refused or error is None:
        return _by_lateness(digests, waiting, own, ceiling, (joint, parts))
    return _by_replay(digests, matches, own, error, ceiling, (joint, parts))


def _by_replay(
    digests: Sequence[RankDigest],
    matches: Matches,
    own: OwnTime,
    error: Residual,
    ceiling: I64,
    ways: tuple[JointGraph, OwnParts],
) -> Verdict:
    length = mean_length(own.measured_ns, own.chosen)
    least = least_share(digests, error)
    gains = np.maximum(own.usual_gain_ns, 0)
    # Some rank always has the longest of many steps: what removing anybody gains is no gain.
    noise = float(np.median(gains))
    for m in np.argsort(-gains, kind="stable").tolist()[:2]:
        above = above_peers(own, m)
        others = np.delete(gains, m)
        if (
            above >= least
            and is_beyond_chance(own, [m], above)
            and gains[m] >= LEAST_GAIN * length
            and gains[m] >= CLEARLY * int(others.max(initial=0))
            and gains[m] > max(error.median * length, noise)
            and is_often_longest(own, m)
        ):
            return _named(digests, matches, own, m, ceiling, ways, int(own.gain_ns[m]), "replay")
    return _none(own, digests, length, "No rank makes the steps longer by its own work.")


def _by_lateness(
    digests: Sequence[RankDigest],
    waiting: Waiting,
    own: OwnTime | None,
    ceiling: I64,
    ways: tuple[JointGraph, OwnParts] | None,
) -> Verdict:
    """The rule on lateness at collectives, backed by own time where that is known."""
    blame = waiting.blame_ns.sum(axis=1)
    m = int(np.argmax(blame))
    stands_out = blame[m] - float(np.median(blame)) > OUTLIER * sigma_of(blame)
    per_step = [np.diff(np.stack([one.steps.start_ns, one.steps.end_ns]), axis=0)[0].sum()
                for one in digests]  # fmt: skip
    total = float(np.median(per_step))
    steps = max((len(one.steps) for one in digests), default=0)
    often = int(waiting.times_last[m]) * 2 >= max(waiting.instances, 1)
    cost = int(ceiling[m]) * steps
    if stands_out and often and total > 0 and cost >= LEAST_GAIN * total:
        if own is None:
            return _nobody(
                "unknown",
                f"{_rank(digests, m)} is last in {waiting.times_last[m]} of {waiting.instances} "
                "collectives. Whether its own work takes longer is not available, because these "
                "recordings cannot be replayed.",
                int(ceiling[m]),
            )
        longest = own.longest_in[m] * 2 >= steps_in_common(own)
        if above_peers(own, m) >= least_share(digests, None) and longest and ways is not None:
            return _named(digests, None, own, m, ceiling, ways, -1, "lateness")
    if own is None:
        return _nobody("unknown", "No rank stands out as the last at collectives.")
    said = "No rank needs so much more time of its own that it is last at most collectives."
    return _none(own, digests, total / max(steps, 1), said)


def _named(
    digests: Sequence[RankDigest],
    matches: Matches | None,
    own: OwnTime,
    m: int,
    ceiling: I64,
    ways: tuple[JointGraph, OwnParts],
    gain: int,
    method: str,
) -> Verdict:
    cause = cause_of(digests, ways[0], ways[1], own.chosen, m)
    steps = steps_in_common(own)
    persistent = steps >= LEAST_STEPS
    often = f"in {own.longest_in[m]} of {steps} steps" if persistent else "in this recording"
    text = (
        f"{_rank(digests, m)} needs {share(above_peers(own, m))} more time of its own than the "
        f"median of the other ranks, and the longest of all {often}"
    )
    if cause is not None:
        text += f": {cause.text}"
    if gain >= 0:
        length = mean_length(own.measured_ns, own.chosen)
        text += f". Without that, steps would be {duration(gain)} ({share(gain / length)}) shorter"
    return Verdict(
        kind="persistent" if persistent else "recording",
        member=m,
        sentence=text + ".",
        cause=cause,
        gain_ns=gain,
        ceiling_ns=int(ceiling[m]),
        method=method,
        first_late=_first_late(matches, own, m),
    )


def _first_late(matches: Matches | None, own: OwnTime, m: int) -> tuple[int, int]:
    """The first collective to which the rank brings an excess of its own work that is no tie."""
    if matches is None:
        return m, -1
    here = matches.entries_of(m)
    late = here[(own.excess_ns[here] > TIE_NS) & (own.lateness_ns[here] > TIE_NS)]
    return m, int(matches.collective[late[0]]) if len(late) else -1


def _two(digests: Sequence[RankDigest], waiting: Waiting, ceiling: I64) -> Verdict:
    m = int(np.argmax(waiting.times_last))
    often = int(waiting.times_last[m])
    if often * 3 < 2 * waiting.instances:
        return _nobody("none", "Neither of the two ranks is last at two thirds of the collectives.")
    return Verdict(
        kind="after",
        member=-1,
        sentence=(
            f"{_rank(digests, m)} arrives after {_rank(digests, 1 - m).lower()} at {often} of "
            f"{waiting.instances} collectives. With two ranks there is no median to compare with, "
            "so nobody is named."
        ),
        cause=None,
        gain_ns=-1,
        ceiling_ns=int(ceiling[m]),
        method="",
        first_late=(-1, -1),
    )


def _none(own: OwnTime, digests: Sequence[RankDigest], length: float, said: str) -> Verdict:
    """``said``, without a name; a late start from before the recording is told instead."""
    late = int(np.argmax(own.brought_in_ns))
    brought = int(own.brought_in_ns[late] - np.median(own.brought_in_ns))
    if brought > max(LEAST_GAIN * length, TIE_NS) and above_peers(own, late) <= HOST_SHARE:
        return _nobody(
            "brought_in",
            f"No rank is slow by itself in this recording. {_rank(digests, late)} began its first "
            f"step {duration(int(own.brought_in_ns[late]))} after the first rank: that lateness "
            "comes from before the recording.",
        )
    return _nobody("none", said)


def _nobody(kind: str, sentence: str, ceiling: int = -1) -> Verdict:
    return Verdict(kind, -1, sentence, None, -1, ceiling, "", (-1, -1))


def late_ceiling(digests: Sequence[RankDigest], matches: Matches, waiting: Waiting) -> I64:
    """Per rank and step what lateness cost at most: to the second latest, where it was last."""
    cost = late_cost(matches, waiting, np.arange(len(digests)))
    steps = max((len(one.steps) for one in digests), default=1)
    return cost // max(steps, 1)


def late_cost(matches: Matches, waiting: Waiting, place: I64) -> I64:
    """What lateness cost at most, by the place of the rank that was last, in all collectives.

    ``place`` (R,) is the rank itself or the set that it belongs to, −1 for none. What counts is the
    time up to the latest rank of another place.
    """
    late = np.where(waiting.last >= 0, place[waiting.last], -1)
    of, most = late[matches.collective], np.iinfo(np.int64).max
    is_other = (of >= 0) & (place[matches.member] != of)
    others = matches.least(np.where(is_other, waiting.wait_ns, most))
    result = np.zeros(int(place.max(initial=-1)) + 1, np.int64)
    known = np.flatnonzero((late >= 0) & (others < most))
    np.add.at(result, late[known], others[known])
    return result


def above_peers(own: OwnTime, m: int) -> float:
    """Own time beyond the median of the others, as a share of that median; of the median step."""
    shares = []
    for step in own.chosen[m]:
        others = np.array([row[step] for r, row in enumerate(own.own_ns)
                           if r != m and step in own.chosen[r]])  # fmt: skip
        known = others[~np.isnan(others)]
        if len(known) and not np.isnan(own.own_ns[m, step]) and np.median(known) > 0:
            shares.append(float(own.own_ns[m, step]) / float(np.median(known)) - 1)
    return float(np.median(shares)) if shares else 0.0


def least_share(digests: Sequence[RankDigest], error: Residual | None) -> float:
    """By how much own time must be above that of the peers; ``error`` is that of a replay."""
    if not digests[0].on_device:
        return HOST_SHARE
    return max(DEVICE_SHARE, error.median) if error is not None else DEVICE_SHARE


def is_beyond_chance(own: OwnTime, members: Sequence[int], above: float) -> bool:
    """Whether ranks are further above their peers than ranks and steps differ by anyway."""
    return above >= OUTLIER * usual_spread(own, members)


def is_often_longest(own: OwnTime, m: int) -> bool:
    """Whether a rank has the longest own time in most of the steps."""
    return bool(own.longest_in[m] >= LONGEST_IN * steps_in_common(own))


def usual_spread(own: OwnTime, members: Sequence[int]) -> float:
    """By how much the mean own time of the other ranks differs from their median, as a share.

    The standard error by all steps of all others, or the spread of their means if that is larger:
    ranks may differ by the same in every step.
    """
    steps = [step for step in own.chosen[0] if not np.isnan(own.own_ns[:, step]).any()]
    others = np.delete(own.own_ns, list(members), axis=0)[:, steps]
    if not others.size or len(others) < 2:
        return 0.0
    beside = others / np.maximum(np.median(others, axis=0), 1) - 1
    # By mean distances, which one odd step does not stretch as it does squares.
    each = NORMAL * float(np.abs(beside).mean()) / math.sqrt(len(steps))
    means = NORMAL * float(np.abs(beside.mean(axis=1)).mean())
    return max(each, means)


def steps_in_common(own: OwnTime) -> int:
    """How many steps are compared: in each of them, one rank has the longest own time."""
    return int(own.longest_in.sum())


def _rank(digests: Sequence[RankDigest], m: int) -> str:
    rank = digests[m].rank
    return f"Rank {rank}" if rank >= 0 else f"Worker {m}"
