"""What would have happened if? The recorded steps replayed on the graphs of all ranks.

Every rank's junctions come as soon as their edges let them; a collective releases its members when
all that it needs have arrived and its transfer is over. So lateness spreads as it did in the job,
and an edit of one rank shows what it cost the others.

* *Solo replay*: a rank alone, every collective taking its transfer only. Its length is the rank's
  **own time**; the distance of its arrivals is the **work before arrival**. No clock is needed.
* *Joint replay*: all ranks. Ranks do not start together, so each is anchored: its clock is 0 at the
  release of the first symmetric collective, which is one instant for all.
* *Residual*: how far the joint replay without any edit is from the recording. Where its median is
  above 3 % nothing is answered.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from ....base.arrays import F64, I64
from ..matching import Matches
from ..model import SYMMETRIC, Edges, Junction, Junctions, RankDigest
from .max_plus import DeadlockError, LeveledGraph, leveled

MOST_RESIDUAL = 0.03
"""Median error of the replay above which no question is answered."""
_NEVER = np.int64(-(1 << 61))


# --- one rank -------------------------------------------------------------------------------------


def solo_arrivals(junctions: Junctions, edges: Edges, transfer: I64) -> I64:
    """When a rank alone arrives at each of its collectives, −1 where it is not in the graph.

    ``transfer`` belongs to the collectives; shape (calls,).
    """
    times = solo_times(junctions, edges, transfer)
    arrival = np.full(len(transfer), -1, np.int64)
    at = np.flatnonzero(junctions.kind == Junction.ARRIVAL)
    arrival[junctions.call[at]] = times[at]
    return arrival


def solo_times(junctions: Junctions, edges: Edges, transfer: I64) -> I64:
    """When a rank alone comes to each junction, every collective taking its transfer only."""
    graph, weight, start = _solo(junctions, edges, transfer)
    return graph.times(start, weight)


def _solo(junctions: Junctions, edges: Edges, transfer: I64) -> tuple[LeveledGraph, I64, I64]:
    arrival, release = _ends(junctions, len(transfer))
    both = np.flatnonzero((arrival >= 0) & (release >= 0))
    source = np.concatenate([edges.source.astype(np.int64), arrival[both]])
    target = np.concatenate([edges.target.astype(np.int64), release[both]])
    weight = np.concatenate([edges.weight_ns, transfer[both]])
    graph = leveled(len(junctions), source, target)
    start = np.where(np.bincount(target, minlength=len(junctions)) == 0, junctions.time_ns, _NEVER)
    return graph, weight, start.astype(np.int64)


def _ends(junctions: Junctions, calls: int) -> tuple[I64, I64]:
    """The junctions of arrival and release of each collective, −1 where there are none."""
    result = []
    for kind in (Junction.ARRIVAL, Junction.RELEASE):
        at = np.full(calls, -1, np.int64)
        rows = np.flatnonzero(junctions.kind == kind)
        at[junctions.call[rows]] = rows
        result.append(at)
    return result[0], result[1]


# --- all ranks ------------------------------------------------------------------------------------


class JointGraph(Struct, frozen=True, eq=False):
    """The graphs of all ranks, tied together by their collectives.

    Points are the junctions of digest 0, then of digest 1, …, then one exchange per collective and
    member: "all that this member needs have arrived". Edges of ranks come first, in the order of
    the digests; behind them those into and out of exchanges.
    """

    graph: LeveledGraph
    solo: LeveledGraph
    source: I64
    target: I64
    weight: I64
    start: I64  # of points that nothing leads to; very early for others
    solo_weight: I64
    first_point: I64  # (R + 1,)
    first_edge: I64  # (R + 1,)
    measured: I64  # the recorded times of all points, anchored
    matches: Matches
    arrival: I64  # (K,) points of the entries of the matches; −1 both where one is unknown
    release: I64
    steps: tuple[I64, ...]  # (S, 2) points of the start and end of each step, by digest
    transfer_ns: I64  # (I,)

    def times(self, weight: I64 | None = None) -> I64:
        """When every point comes, without an edit or with other weights."""
        return self.graph.times(self.start, self.weight if weight is None else weight)

    def entries_of(self, member: int) -> I64:
        """The entries of a member that are in its graph, in the order of the collectives."""
        here = self.matches.entries_of(member)
        return here[self.arrival[here] >= 0]

    def alone(self, weight: I64 | None = None) -> I64:
        """The same for each rank alone."""
        return self.solo.times(self.start, self.solo_weight if weight is None else weight)


class Refusal(Struct, frozen=True):
    """Why a set of recordings cannot be replayed."""

    reason: str


def joint_graph(
    digests: Sequence[RankDigest],
    matches: Matches,
    offsets: I64,
    transfer: I64,
) -> JointGraph | Refusal:
    """The joint graph; ``offsets`` are added to the times of each digest.

    ``transfer`` is of each instance.

    A call without a counterpart takes as long as it did. Of a broadcast of gloo a rank needs the
    ranks on its way to the root, and those it sends to itself; of send and receive both.
    """
    sizes = np.array([len(one.junctions) for one in digests], np.int64)
    first_point = np.concatenate([[0], np.cumsum(sizes)])
    edge_counts = np.array([len(one.edges) for one in digests], np.int64)
    first_edge = np.concatenate([[0], np.cumsum(edge_counts)])
    source = [one.edges.source + first_point[m] for m, one in enumerate(digests)]
    target = [one.edges.target + first_point[m] for m, one in enumerate(digests)]
    weight = [one.edges.weight_ns for one in digests]
    measured = np.concatenate([one.junctions.time_ns + offsets[m] for m, one in enumerate(digests)])
    arrival = np.full(len(matches.member), -1, np.int64)
    release = np.full(len(matches.member), -1, np.int64)
    local: list[tuple[int, int, int]] = []
    for m, digest in enumerate(digests):
        begin, end = _ends(digest.junctions, len(digest.calls))
        here = matches.entries_of(m)
        rows = matches.call[here]
        known = (begin[rows] >= 0) & (end[rows] >= 0)
        arrival[here[known]] = begin[rows[known]] + first_point[m]
        release[here[known]] = end[rows[known]] + first_point[m]
        alone = np.ones(len(digest.calls), np.bool_)
        alone[rows[known]] = False
        for row in np.flatnonzero(alone & (begin >= 0) & (end >= 0)).tolist():
            took = int(digest.calls.release_ns[row] - digest.calls.arrival_ns[row])
            local.append((int(begin[row] + first_point[m]), int(end[row] + first_point[m]), took))
    points, tie = _ties(digests, matches, transfer, (arrival, release), measured)
    if points == first_point[-1]:
        return Refusal("No collective is on two ranks.")
    there = np.flatnonzero(arrival >= 0)
    across = np.stack([arrival, release, transfer[matches.collective]], axis=1)[there]
    own = np.array(local, np.int64).reshape(-1, 3)
    tie, extra = np.concatenate([own, tie]), np.concatenate([own, across])
    ranks = np.concatenate(source), np.concatenate(target), np.concatenate(weight)
    all_source = np.concatenate([ranks[0], tie[:, 0]]).astype(np.int64)
    all_target = np.concatenate([ranks[1], tie[:, 1]]).astype(np.int64)
    try:
        graph = leveled(points, all_source, all_target)
        solo = leveled(
            points,
            np.concatenate([ranks[0], extra[:, 0]]).astype(np.int64),
            np.concatenate([ranks[1], extra[:, 1]]).astype(np.int64),
        )
    except DeadlockError:
        return Refusal(
            "The ranks do not call the same collectives in the same order, so each waits for "
            "another and a replay never ends."
        )
    placed = np.concatenate([measured, np.full(points - len(measured), _NEVER)])
    start = np.where(np.bincount(all_target, minlength=points) == 0, placed, _NEVER)
    return JointGraph(
        graph=graph,
        solo=solo,
        source=all_source,
        target=all_target,
        weight=np.concatenate([ranks[2], tie[:, 2]]).astype(np.int64),
        start=start.astype(np.int64),
        solo_weight=np.concatenate([ranks[2], extra[:, 2]]).astype(np.int64),
        first_point=first_point,
        first_edge=first_edge,
        measured=measured,
        matches=matches,
        arrival=arrival,
        release=release,
        steps=tuple(_step_points(one, int(first_point[m])) for m, one in enumerate(digests)),
        transfer_ns=transfer,
    )


def _ties(
    digests: Sequence[RankDigest],
    matches: Matches,
    transfer: I64,
    ends: tuple[I64, I64],
    measured: I64,
) -> tuple[int, I64]:
    """Points in all, and the edges (source, target, weight) into exchanges and out of them.

    ``ends`` are the points of arrival and release of each entry.
    """
    arrival, release = ends
    collective = matches.collective
    # In nearly all collectives each member needs all: one exchange, behind the points of ranks.
    whole = np.array([kind in _ALL_NEED_ALL for kind in matches.kind], np.bool_)
    exchange = len(measured) + np.cumsum(whole) - 1
    points = len(measured) + int(whole.sum())
    here = np.flatnonzero((arrival >= 0) & whole[collective])
    shared = exchange[collective[here]]
    tied = [
        np.stack([arrival[here], shared, np.zeros_like(shared)], axis=1),
        np.stack([shared, release[here], transfer[collective[here]]], axis=1),
    ]
    special: list[tuple[int, int, int]] = []
    for i in np.flatnonzero(~whole).tolist():
        here = np.arange(matches.first[i], matches.first[i + 1])
        here = here[arrival[here] >= 0]
        needs = _needed(digests, matches, i, here)
        if needs is None:
            for begin, end in zip(arrival[here].tolist(), release[here].tolist(), strict=True):
                special.append((begin, end, int(measured[end] - measured[begin])))
            continue
        for wanted, served in needs:
            special.extend((int(arrival[one]), points, 0) for one in wanted)
            special.append((points, int(release[served]), int(transfer[i])))
            points += 1
    return points, np.concatenate([*tied, np.array(special, np.int64).reshape(-1, 3)])


def _step_points(digest: RankDigest, first: int) -> I64:
    result = np.full((len(digest.steps), 2), -1, np.int64)
    for column, kind in enumerate((Junction.STEP_START, Junction.STEP_END)):
        rows = np.flatnonzero(digest.junctions.kind == kind)
        result[digest.junctions.step[rows], column] = rows + first
    return result


_ALL_NEED_ALL = SYMMETRIC | {"send", "expert_exchange"}


def _needed(
    digests: Sequence[RankDigest], matches: Matches, instance: int, entries: I64
) -> list[tuple[Sequence[int], int]] | None:
    """Arrivals that each member needs: (entries needed, entry). None: not modelled."""
    members = matches.member[entries].tolist()
    calls = matches.call[entries].tolist()
    pairs = zip(members, calls, strict=True)
    on_device = any(digests[m].calls.on_device[call] for m, call in pairs)
    root = int(matches.root[instance])
    if matches.kind[instance] != "broadcast" or on_device:
        return None
    if root not in members:  # of an unknown root each member waits for all, more or less
        return [(entries.tolist(), one) for one in entries.tolist()]
    first = members.index(root)
    return [(_tree_needs(entries.tolist(), first, at), one) for at, one in enumerate(entries)]


def _tree_needs(members: Sequence[int], root: int, at: int) -> list[int]:
    """The members on the way to the root of gloo's binomial tree, and the own children."""
    size = len(members)
    place = (at - root) % size
    needed = {place}
    above = place
    while above:
        above ^= 1 << (above.bit_length() - 1)
        needed.add(above)
    bit = 1 << place.bit_length()
    while place | bit < size:
        needed.add(place | bit)
        bit <<= 1
    return [members[(one + root) % size] for one in sorted(needed)]


def anchors(
    digests: Sequence[RankDigest], matches: Matches, shift: I64, *, by_clock: bool
) -> I64 | Refusal:
    """Offsets that put the times of all digests on one clock.

    On devices the release of the first symmetric collective is one instant for all its members;
    groups that share ranks carry it on. Releases of host back ends are no instants: there the
    clock of the host is used.
    """
    if by_clock:
        return shift
    count = len(digests)
    offset = np.zeros(count, np.int64)
    known = np.zeros(count, np.bool_)
    symmetric = np.flatnonzero(matches.symmetric)
    release, first = matches.calls(digests, "release_ns"), matches.first.tolist()
    while not known.all():
        before = int(known.sum())
        for i in symmetric.tolist():
            here = slice(first[i], first[i + 1])
            members = matches.member[here]
            if len(members) < 2 or known[members].all():
                continue
            ends = release[here]
            if not known.any():
                instant = 0
            elif known[members].any():
                told = known[members]
                instant = int(np.median(ends[told] + offset[members[told]]))
            else:
                continue
            new = ~known[members]
            offset[members[new]] = instant - ends[new]
            known[members[new]] = True
        if int(known.sum()) == before:
            return Refusal(
                "No chain of symmetric collectives leads from every rank to every other."
            )
    return offset


def shortest(digests: Sequence[RankDigest], matches: Matches) -> I64:
    """The transfer of each collective: the shortest time that a member is in it.

    The last to arrive waits for nobody. Where a member has no digest, the shortest of the others is
    an upper bound.
    """
    took = matches.calls(digests, "release_ns") - matches.calls(digests, "arrival_ns")
    return matches.least(took)


class Residual(Struct, frozen=True, eq=False):
    """|replayed − measured| / measured length of each rank's steps."""

    median: float
    most: float
    by_step: F64  # (R, S), NaN absent
    early: int  # releases before the last arrival by more than a tie, per step


def residual(joint: JointGraph, matches: Matches, tie_ns: int) -> Residual:
    """Error of a replay without an edit against the recording."""
    plain = lengths(joint, joint.times())
    real = lengths(joint, joint.measured)
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.abs(plain - real) / real
    points = joint.measured
    steps = max(max((len(one) for one in joint.steps), default=1), 1)
    known = joint.arrival >= 0
    last = matches.most(np.where(known, points[joint.arrival], _NEVER))
    first = matches.least(np.where(known, points[joint.release], -_NEVER))
    several = matches.symmetric & (matches.sum_of(known.astype(np.int64)) > 1)
    early = int((several & (first < last - tie_ns)).sum())
    if np.isnan(error).all():
        return Residual(float("nan"), float("nan"), error, early)
    return Residual(float(np.nanmedian(error)), float(np.nanmax(error)), error, -(-early // steps))


def lengths(joint: JointGraph, times: I64) -> F64:
    """Lengths of the steps (R, S), NaN where a digest has none."""
    most = max((len(one) for one in joint.steps), default=0)
    result = np.full((len(joint.steps), most), np.nan)
    for m, points in enumerate(joint.steps):
        for step, (start, end) in enumerate(points.tolist()):
            if start < 0 or end < 0:
                continue
            begin = int(times[start])
            if step and points[step - 1, 1] >= 0:
                begin = max(begin, int(times[points[step - 1, 1]]))
            result[m, step] = int(times[end]) - begin
    return result
