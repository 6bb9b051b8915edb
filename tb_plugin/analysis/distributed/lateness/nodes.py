"""Is a whole node late: do all its ranks take longer by themselves than those of other nodes?

A slow node (its power, its cooling, another program on its cores) makes several ranks late at once.
None of them stands out then: without one of them the others are as late. So nodes are compared as
ranks are, by the medians of their ranks, and a node is named only where all of this holds:

* it has two ranks or more, and there are two other nodes at least, so that there is a median peer;
* the median of its ranks' own time is above that of all other ranks by at least 2 % and the error
  of the replay on devices, 10 % on host back ends, and so are two thirds of its ranks;
* that is beyond what ranks and steps differ by anyway, as it is asked of one rank;
* that median is the longest of all nodes in two thirds of at least three steps;
* without the excess of its ranks the steps would be shorter by at least 2 %, and by twice what any
  other node's, or any rank's alone, excess costs.

Where the replay is refused for its error, lateness at collectives decides as it does for ranks. Of
two nodes it is said which one's ranks take longer, and nobody is named.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from ....base.arrays import F64, I64
from ....base.units import duration, share
from ....trace.worker_names import node_of
from ...steps import sigma_of
from ..matching import Matches
from ..model import RankDigest
from ..waiting import Waiting
from .causes import cause_of, own_parts
from .excess import end_excess, without_excess
from .replay import JointGraph, Residual, lengths
from .stragglers import (
    CLEARLY,
    LEAST_GAIN,
    LEAST_STEPS,
    LONGEST_IN,
    OUTLIER,
    OwnTime,
    Verdict,
    by_step,
    is_beyond_chance,
    late_cost,
    least_share,
    mean_length,
)

MOST_NODES = 4
"""Nodes that are replayed without their excess: those with most of it."""
MOST_OF_ITS_RANKS = 2 / 3


class Node(Struct, frozen=True):
    """A machine and the digests of the ranks that ran on it."""

    name: str
    members: tuple[int, ...]


def nodes_of(digests: Sequence[RankDigest], labels: Sequence[str]) -> tuple[Node, ...]:
    """The nodes of a run in the order of their first rank.

    A node is the host name of the recording, else that of the worker's name; a rank of neither is
    on no node.
    """
    found: dict[str, list[int]] = {}
    for m, one in enumerate(digests):
        name = one.host_name or node_of(labels[m])[0]
        if name:
            found.setdefault(name, []).append(m)
    return tuple(Node(name, tuple(members)) for name, members in found.items())


def rows_of(nodes: Sequence[Node], count: int) -> list[int]:
    """The row of the node of each of so many digests; −1 on none."""
    result = [-1] * count
    for number, node in enumerate(nodes):
        for m in node.members:
            result[m] = number
    return result


class _Beside(Struct, frozen=True):
    """The own time of a node's ranks beside that of all others."""

    above: float  # of the median of the others, as a share
    late: int  # how many of its ranks are above by enough
    longest_in: int  # steps in which the median of its ranks is the longest of all nodes
    steps: int


def node_verdict(
    digests: Sequence[RankDigest],
    matches: Matches,
    waiting: Waiting,
    nodes: Sequence[Node],
    joint: JointGraph | None,
    own: OwnTime | None,
    error: Residual | None,
    refused: str,
) -> Verdict | None:
    """The node that makes the others wait by its ranks' own work; None where there is none."""
    placed = sum(len(one.members) for one in nodes)
    if len(nodes) < 2 or placed < len(digests) or joint is None or own is None:
        return None
    by_replay = not refused and error is not None
    least = least_share(digests, error if by_replay else None)
    beside = [_beside_others(own, nodes, number, least) for number in range(len(nodes))]
    late = [
        number
        for number, (node, one) in enumerate(zip(nodes, beside, strict=True))
        if len(node.members) > 1
        and one.above >= least
        and is_beyond_chance(own, node.members, one.above)
        and one.late >= MOST_OF_ITS_RANKS * len(node.members)
        and one.longest_in >= (LONGEST_IN if by_replay else 1 / 2) * one.steps
    ]
    if not late:
        return None
    number = late[0]  # no other is the longest as often
    cost = late_cost(matches, waiting, np.array(rows_of(nodes, len(digests)), np.int64))
    if by_replay and error is not None:
        gain = _gain(joint, own, matches, nodes, number, error.median)
    else:
        gain = -1 if _stands_out(digests, waiting, nodes, number, cost) else None
    if gain is None:
        return None
    steps = max((len(one.steps) for one in digests), default=1)
    ceiling = int(cost[number]) // max(steps, 1)
    return _said(digests, nodes, number, beside[number], own, joint, gain, ceiling)


def _said(
    digests: Sequence[RankDigest],
    nodes: Sequence[Node],
    number: int,
    beside: _Beside,
    own: OwnTime,
    joint: JointGraph,
    gain: int,
    ceiling: int,
) -> Verdict:
    node = nodes[number]
    count = len(node.members)
    which = f"The {count}" if beside.late == count else f"{beside.late} of the {count}"
    persistent = beside.steps >= LEAST_STEPS
    often = f"in {beside.longest_in} of {beside.steps} steps" if persistent else "in this recording"
    text = f"{which} ranks of node {node.name} need {share(beside.above)} more time of their own "
    if len(nodes) == 2:
        text += (
            f"than those of node {nodes[1 - number].name}, {often}. With two nodes there is no "
            "median to compare with, so none is named."
        )
        return Verdict("after", -1, text, None, -1, ceiling, "", (-1, -1))
    text += f"than the median of the other ranks, and the longest of all nodes {often}"
    others = [m for m in range(len(digests)) if m not in node.members]
    usual = np.nanmean(own.own_ns[list(node.members)], axis=1)
    middle = node.members[int(np.argsort(usual, kind="stable")[count // 2])]
    parts = own_parts(joint, joint.alone(), own.chosen)
    cause = cause_of(digests, joint, parts, own.chosen, middle, others)
    if cause is not None:
        text += f". Of rank {digests[middle].rank}, one of them, {cause.text}"
    if gain >= 0:
        length = mean_length(own.measured_ns, own.chosen)
        text += (
            f". Were all its ranks like the others, steps would be {duration(gain)} "
            f"({share(gain / length)}) shorter"
        )
    return Verdict(
        kind="persistent" if persistent else "recording",
        member=-1,
        sentence=text + ".",
        cause=cause,
        gain_ns=gain,
        ceiling_ns=ceiling,
        method="replay" if gain >= 0 else "lateness",
        first_late=(-1, -1),
        node=number,
    )


def _beside_others(own: OwnTime, nodes: Sequence[Node], number: int, least: float) -> _Beside:
    """The own time of a node's ranks beside that of all others, in the steps that count."""
    masked: F64 = np.full_like(own.own_ns, np.nan)
    for m, steps in enumerate(own.chosen):
        masked[m, list(steps)] = own.own_ns[m, list(steps)]
    masked = masked[:, ~np.isnan(masked).any(axis=0)]
    if not masked.shape[1]:
        return _Beside(0.0, 0, 0, 0)
    mine = list(nodes[number].members)
    others = np.setdiff1d(np.arange(len(masked)), mine)
    usual = np.maximum(np.median(masked[others], axis=0), 1)
    shares = np.median(masked[mine] / usual - 1, axis=1)
    by_node = np.array([np.median(masked[list(one.members)], axis=0) for one in nodes])
    longest = int((by_node.argmax(axis=0) == number).sum())
    return _Beside(float(np.median(shares)), int((shares >= least).sum()), longest, masked.shape[1])


def _gain(
    joint: JointGraph,
    own: OwnTime,
    matches: Matches,
    nodes: Sequence[Node],
    number: int,
    error: float,
) -> int | None:
    """What a step gains without the excess of a node's ranks; None where that is no clear gain."""
    excess = np.zeros(len(own.own_ns), np.int64)
    np.add.at(excess, matches.member, own.excess_ns)
    by_excess = sorted(
        (other for other in range(len(nodes)) if other != number),
        key=lambda other: -int(excess[list(nodes[other].members)].sum()),
    )
    alone = joint.alone()
    over = end_excess(joint, alone)
    before = lengths(joint, joint.times())

    def without(members: Sequence[int]) -> F64:
        weight = without_excess(joint, alone, own.excess_ns, over, members)
        return lengths(joint, joint.times(weight))

    def usual(after: F64) -> float:
        return float(np.median(by_step(before, own.chosen) - by_step(after, own.chosen)))

    length = mean_length(own.measured_ns, own.chosen)
    after = without(nodes[number].members)
    gain = usual(after)
    others = [usual(without(nodes[other].members)) for other in by_excess[: MOST_NODES - 1]]
    most = max([float(own.usual_gain_ns.max(initial=0)), 0.0, *others])
    if gain < max(LEAST_GAIN * length, CLEARLY * most) or gain <= error * length:
        return None
    return round(mean_length(before, own.chosen) - mean_length(after, own.chosen))


def _stands_out(
    digests: Sequence[RankDigest],
    waiting: Waiting,
    nodes: Sequence[Node],
    number: int,
    cost: I64,
) -> bool:
    """Whether one node's lateness at collectives alone is beyond doubt, as it is asked of ranks."""
    times = np.array([waiting.times_last[list(one.members)].sum() for one in nodes])
    spans = [int((one.steps.end_ns - one.steps.start_ns).sum()) for one in digests]
    return bool(
        cost[number] - float(np.median(cost)) > OUTLIER * sigma_of(cost)
        and times[number] * 2 >= max(waiting.instances, 1)
        and cost[number] >= LEAST_GAIN * float(np.median(spans))
    )
