"""What does a rank do beyond its peers, and how would it have gone without that?

The *excess* of a rank before a collective is its own work there beyond the median of the ranks that
make the same calls. Without it, the rank comes to each of its collectives after the work of its
median peer: the excess is taken off the way that binds its arrival in the solo replay, and where
another way binds it then, off that one, until its own work is that of its peers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from ....base.arrays import I64
from ..matching import Matches
from ..model import RankDigest
from .max_plus import LeveledGraph, leveled
from .peers import calls_in_order, others_median
from .replay import JointGraph

LEAST_PEERS = 3
ROUNDS = 8
"""Number of searches for another way that binds an arrival once the longest is shorter."""


def work_before_arrival(joint: JointGraph, alone: I64) -> I64:
    """Own work before each entry (K,): the distance of solo arrivals; −1 unknown."""
    result = np.full(len(joint.arrival), -1, np.int64)
    for m in range(len(joint.steps)):
        here = joint.entries_of(m)
        times = alone[joint.arrival[here]]
        order = np.argsort(times, kind="stable")
        begin = joint.steps[m][0, 0] if len(joint.steps[m]) else -1
        first = alone[begin] if begin >= 0 else times.min(initial=0)
        result[here[order]] = np.diff(times[order], prepend=first)
    return result


def excess(digests: Sequence[RankDigest], matches: Matches, work: I64) -> I64:
    """Per entry (K,) the work beyond the median of its peers; 0 where unknown.

    Peers are the ranks that call the same operations in the same order in every step, three at
    least: their n-th calls are compared, whatever groups these are in. Else the other members are.
    Of a run of two ranks each is compared with the other.
    """
    least = min(LEAST_PEERS, len(digests))
    order = [calls_in_order(one, matches, m) for m, one in enumerate(digests)]
    result = beyond_others(work, matches.collective, least)
    alike: dict[tuple[tuple[int, str], ...], list[int]] = {}
    for m, (_, tokens) in enumerate(order):
        alike.setdefault(tokens, []).append(m)
    for tokens, members in alike.items():
        if len(members) < LEAST_PEERS or not tokens:
            continue
        rows = np.array([order[m][0] for m in members]).T.ravel()  # entries by call, then peer
        call = np.repeat(np.arange(len(tokens)), len(members))
        result[rows] = beyond_others(work[rows], call)
    return result


def beyond_others(work: I64, of: I64, least: int = LEAST_PEERS) -> I64:
    """Distance of each above the median of the others of the same ``of``; needs ``least``.

    Both have shape (n,); ``of`` ascends. What is unknown (−1) is 0, and counts for nobody.
    """
    result = np.zeros(len(work), np.int64)
    known = np.flatnonzero(work >= 0)
    count = np.bincount(of[known], minlength=1)[of[known]]
    # Of many ranks few are in a collective: rows with equally many are put side by side.
    for members in np.unique(count[count >= least]).tolist():
        here = known[count == members]
        values = work[here].astype(np.float64).reshape(-1, members)
        over = np.maximum(values - others_median(values), 0)
        result[here] = np.nan_to_num(over).astype(np.int64).ravel()
    return result


class _RankAlone(Struct, frozen=True, eq=False):
    """The solo replay of one rank; points and edges are its own, counted from 0."""

    graph: LeveledGraph
    start: I64
    source: I64
    target: I64
    transfers: I64  # of its collectives, behind its own edges
    into: Mapping[int, list[int]]  # point → edges to it
    released: Mapping[int, int]  # release → arrival

    def times(self, weight: I64) -> I64:
        return self.graph.times(self.start, np.concatenate([weight, self.transfers]))


def _rank_alone(joint: JointGraph, member: int) -> _RankAlone:
    first, end = joint.first_point[member : member + 2].tolist()
    low, high = joint.first_edge[member : member + 2].tolist()
    source, target = np.empty_like(joint.solo.source), np.empty_like(joint.solo.target)
    source[joint.solo.order], target[joint.solo.order] = joint.solo.source, joint.solo.target
    ranks = int(joint.first_edge[-1])  # behind the edges of all ranks are the transfers
    mine = ranks + np.flatnonzero((source[ranks:] >= first) & (source[ranks:] < end))
    rows = np.concatenate([np.arange(low, high), mine])
    own_source, own_target = source[rows] - first, target[rows] - first
    into: dict[int, list[int]] = {}
    for edge, point in enumerate(own_target[: high - low].tolist()):
        into.setdefault(point, []).append(edge)
    return _RankAlone(
        graph=leveled(end - first, own_source, own_target),
        start=joint.start[first:end],
        source=own_source,
        target=own_target,
        transfers=joint.solo_weight[mine],
        into=into,
        released=dict(
            zip(own_target[high - low :].tolist(), own_source[high - low :].tolist(), strict=True)
        ),
    )


def without_excess(
    joint: JointGraph,
    alone: I64,
    excess_ns: I64,
    end_excess: Mapping[int, I64],
    members: Sequence[int],
) -> I64:
    """Weights of the joint graph with the excess of some ranks taken off.

    It is taken off the binding way back from each arrival, and from the end of each step, in the
    solo replay: host and device edges alike, no further back than the arrival before. Where
    another way binds the arrival then, it is taken off that one too: slow kernels are on all ways
    that lead over them, and a rank like its median peer is late on none.
    """
    weight: I64 = joint.weight.copy()
    for member in members:
        low, high = joint.first_edge[member : member + 2].tolist()
        weight[low:high] = _without_excess_of(joint, alone, excess_ns, end_excess, member)
    return weight


def _without_excess_of(
    joint: JointGraph, alone: I64, excess_ns: I64, end_excess: Mapping[int, I64], member: int
) -> I64:
    """The weights of a rank's own edges without its excess."""
    first = int(joint.first_point[member])
    low, high = joint.first_edge[member : member + 2].tolist()
    one = _rank_alone(joint, member)
    wanted = _usual_work(joint, alone, excess_ns, end_excess, member)
    own: I64 = joint.weight[low:high].copy()
    for _ in range(ROUNDS):
        times = one.times(own)
        before = own.copy()
        for point, since, work in wanted:
            over = int(times[point - first] - times[since - first]) - work
            floor = int(times[since - first])
            _take_off(one, times, own, point - first, over, floor)
        if (own == before).all():
            break
    return own


def _usual_work(
    joint: JointGraph, alone: I64, excess_ns: I64, end_excess: Mapping[int, I64], member: int
) -> list[tuple[int, int, int]]:
    """Points that are in excess, the arrival before each, and the work between without it."""
    here = joint.entries_of(member)
    points = joint.arrival[here]
    order = np.argsort(alone[points], kind="stable")
    here, points = here[order], points[order]
    steps = joint.steps[member]
    begin = int(steps[0, 0]) if len(steps) and steps[0, 0] >= 0 else -1
    found = []
    since = begin
    for i, point in zip(here.tolist(), points.tolist(), strict=True):
        over = int(excess_ns[i])
        if over > 0 and since >= 0:
            found.append((point, since, int(alone[point] - alone[since]) - over))
        since = point
    for (_, end), over in zip(steps.tolist(), end_excess.get(member, ()), strict=False):
        at = int(np.searchsorted(alone[points], alone[end])) if end >= 0 else 0
        if at and over > 0:
            since = int(points[at - 1])
            found.append((end, since, int(alone[end] - alone[since]) - int(over)))
    return found


def _take_off(
    one: _RankAlone, times: I64, weight: I64, point: int, amount: int, floor: int
) -> None:
    while amount > 0 and times[point] > floor:
        if point in one.released:
            point = one.released[point]
            continue
        edges = one.into.get(point)
        if not edges:
            return
        edge = max(edges, key=lambda at: int(times[one.source[at]]) + int(weight[at]))
        before = int(one.source[edge])
        free = min(int(weight[edge]), int(times[point]) - max(int(times[before]), floor))
        taken = max(min(free, amount), 0)
        # The last part of all ways to a point is the same events: it is gone from each of them.
        weight[edges] -= np.minimum(weight[edges], taken)
        amount -= taken
        point = before


def end_excess(joint: JointGraph, alone: I64) -> dict[int, I64]:
    """Own work after the last collective of each step beyond the median of the peers."""
    rest: list[list[float]] = []
    for m, steps in enumerate(joint.steps):
        times = np.sort(alone[joint.arrival[joint.entries_of(m)]])
        row = []
        for _, end in steps.tolist():
            if end < 0:
                row.append(float("nan"))
                continue
            at = int(np.searchsorted(times, alone[end]))
            row.append(float(alone[end] - times[at - 1]) if at else float("nan"))
        rest.append(row)
    most = max((len(row) for row in rest), default=0)
    table = np.array([row + [float("nan")] * (most - len(row)) for row in rest])
    if len(rest) < 2:  # nobody to compare with
        return {}
    with np.errstate(invalid="ignore"):
        over = np.nan_to_num(np.maximum(table - others_median(table.T).T, 0)).astype(np.int64)
    return {m: over[m, : len(row)] for m, row in enumerate(rest) if row}
