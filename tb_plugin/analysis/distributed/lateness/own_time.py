"""What does each rank need by itself, and what would be gained if one were like its peers?

The own time of a step is its length in the solo replay: without waiting for others. A rank is
*above* its peers by the share by which its own time without transfers exceeds the median of theirs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from ....base.arrays import F64, I32, I64
from ..matching import Matches
from ..model import RankDigest
from .excess import end_excess, excess, without_excess, work_before_arrival
from .peers import above_peers, peers_of
from .replay import JointGraph, lengths

DEVICE_SHARE, HOST_SHARE = 0.02, 0.10
LEAST_GAIN = 0.02
CLEARLY = 2.0
LONGEST_IN = 2 / 3
OUTLIER = 3.5
NORMAL = math.sqrt(math.pi / 2)
"""Standard deviation / mean distance of a normal distribution."""
MOST_CANDIDATES = 8
TIE_NS = 20_000
MOST_LATE_NS = 2_000_000_000


class OwnTime(Struct, frozen=True, eq=False):
    """Own time of each rank; R digests, S steps, K entries of the matches."""

    own_ns: F64  # (R, S), NaN absent
    measured_ns: F64  # (R, S)
    work_ns: I64  # (K,): own work before each arrival, −1 unknown
    excess_ns: I64  # (K,): beyond the median of the peers
    lateness_ns: I32  # (K,): replayed arrival after the first of the group, to 2 s; −1 absent
    brought_in_ns: I64  # (R,): how much later than the first it began, by the anchored clocks
    gain_ns: I64  # (R,): shorter steps without its excess, per step; −1 not computed
    chosen: tuple[tuple[int, ...], ...]  # steps that count, by digest
    steps: tuple[int, ...]  # those that all digests have
    peers: tuple[I64, ...]  # digests that each is compared with, itself among them
    bare_ns: F64  # (R, S): own time without transfers, which slow links make longer
    above: F64  # (R, S): that beyond the median of the other peers, as a share of it


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
    weight = joint.solo_weight.copy()
    weight[joint.first_edge[-1] :] = 0
    bare = lengths(joint, joint.alone(weight))
    work = work_before_arrival(joint, alone)
    over = excess(digests, matches, work)
    count, peers = len(digests), peers_of(digests, matches)
    known, of = joint.arrival >= 0, matches.collective
    times = together[joint.arrival]
    first = matches.least(np.where(known, times, np.iinfo(np.int64).max))
    several = matches.sum_of(known.astype(np.int64)) > 1
    late = np.where(known & several[of], np.minimum(times - first[of], MOST_LATE_NS), -1)
    gain = np.full(count, -1, np.int64)
    if with_gains:
        end_over = end_excess(joint, alone)
        before = lengths(joint, together)
        for m in _candidates(over, matches):
            after = lengths(joint, joint.times(without_excess(joint, alone, over, end_over, [m])))
            gain[m] = round(mean_length(before, chosen) - mean_length(after, chosen))
    row = _first_of_all(joint)
    starts = np.array([joint.measured[steps[row, 0]] if len(steps) and steps[row, 0] >= 0 else 0
                       for steps in joint.steps])  # fmt: skip
    return OwnTime(
        own_ns=own,
        measured_ns=measured,
        work_ns=work,
        excess_ns=over,
        lateness_ns=late.astype(np.int32),
        brought_in_ns=starts - starts.min(),
        gain_ns=gain,
        chosen=chosen,
        steps=tuple(step for step in _common(chosen) if not np.isnan(own[:, step]).any()),
        peers=peers,
        bare_ns=bare,
        above=above_peers(bare, peers),
    )


def _first_of_all(joint: JointGraph) -> int:
    """The first step that all ranks recorded; 0 where there is none."""
    least = min((len(steps) for steps in joint.steps), default=0)
    begins = (all(steps[row, 0] >= 0 for steps in joint.steps) for row in range(least))
    return next((row for row, has in enumerate(begins) if has), 0)


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


def _common(chosen: Sequence[Sequence[int]]) -> list[int]:
    return sorted(set.intersection(*map(set, chosen))) if chosen else []


def _candidates(over: I64, matches: Matches) -> list[int]:
    """The ranks with most work beyond their peers: at most so many are replayed without it."""
    total = np.zeros(len(matches.unmatched), np.int64)
    np.add.at(total, matches.member, over)
    order = np.argsort(-total, kind="stable")
    return [int(m) for m in order[:MOST_CANDIDATES] if total[m] > 0]


def least_share(digests: Sequence[RankDigest]) -> float:
    """By how much own time must be above that of the peers."""
    return DEVICE_SHARE if all(one.on_device for one in digests) else HOST_SHARE


def usual_above(own: OwnTime, members: Sequence[int]) -> float:
    """Own time of ranks beyond that of their peers, of the median step; the median of the ranks."""
    above = own.above[list(members)][:, list(own.steps)]
    known = above[~np.isnan(above).any(axis=1)]
    return float(np.median(np.median(known, axis=1))) if known.size else 0.0


def is_beyond_chance(
    own: OwnTime, members: Sequence[int], above: float, steps: Sequence[int] | None = None
) -> bool:
    """True if ranks are further above their peers than ranks and steps differ anyway."""
    return above > 0 and above >= OUTLIER * usual_spread(own, members, steps)


def usual_spread(
    own: OwnTime, members: Sequence[int] = (), steps: Sequence[int] | None = None
) -> float:
    """By how much the mean own time of a rank is beside that of its peers; 0 where not known.

    The standard error by all steps of all ranks but some, or the spread of their means if that is
    larger: ranks may differ by the same in every step. By mean distances, which one odd step does
    not stretch as it does squares.
    """
    steps = own.steps if steps is None else steps
    rest = np.setdiff1d(np.arange(len(own.own_ns)), members)
    left: dict[int, I64] = {}  # without the members, which may be half of the peers
    for m in rest.tolist():
        mine = own.peers[m]
        if id(mine) not in left:
            left[id(mine)] = np.searchsorted(rest, np.setdiff1d(mine, members))
    peers = [left[id(own.peers[m])] for m in rest.tolist()]
    others = above_peers(own.bare_ns[rest][:, list(steps)], peers)
    others = others[~np.isnan(others).any(axis=1)]
    if others.shape[0] < 2 or not others.shape[1]:
        return 0.0
    each = NORMAL * float(np.abs(others).mean()) / math.sqrt(others.shape[1])
    return max(each, NORMAL * float(np.abs(others.mean(axis=1)).mean()))


def is_often_longest(
    own: OwnTime, members: Sequence[int], steps: Sequence[int] | None = None
) -> bool:
    """True if in two thirds of the steps ranks take longer than each of their other peers."""
    steps = own.steps if steps is None else steps
    rest = np.setdiff1d(np.arange(len(own.above)), members)
    here = own.above[:, list(steps)]
    peers = [np.intersect1d(own.peers[m], rest) for m in members]
    longer = [
        (here[m] > np.nan_to_num(here[near], nan=-np.inf).max(axis=0, initial=-np.inf))
        for m, near in zip(members, peers, strict=True)
    ]
    return bool(len(steps) and np.all(longer, axis=0).mean() >= LONGEST_IN)
