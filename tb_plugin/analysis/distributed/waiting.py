"""Waiting in collectives: the last rank to arrive in each, and its cost for the others.

Of a collective in which its members meet (a symmetric one; on a host back end a broadcast, too)
with starts s and ends e of its members, S being the latest start:

    wait_r   = clip(S − s_r, 0, e_r − s_r)     transfer = min over r of e_r − S, at least 0
    blame[last][r] += wait_r

so a column of the blame matrix sums to what a rank waited (its *synchronizing time*), and a row to
what it made others wait. The first holds by definition and is kept as a check.

Where clocks cannot be compared, durations tell: who is in a collective for the shortest time came
last, and what others are in it longer they waited.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ...base.arrays import I32, I64
from .clocks import Clocks, extents
from .matching import Matches
from .model import RankDigest
from .rank.exposure import PARTS


class Waiting(Struct, frozen=True, eq=False):
    """Waits of collectives in which ranks meet; R digests, S steps, I instances, K entries."""

    by_clock: bool  # else by durations
    blame_ns: I64  # (R, R): [last][who waited]
    exposed_ns: I64  # (R, R): of that, while nothing computed
    synchronizing_ns: I64  # (R,)
    waiting_ns: I64  # (R, S)
    transferring_ns: I64  # (R, S): time in them that is no wait
    times_last: I64  # (R,), of those that did not begin at one instant on all ranks
    instances: int  # such collectives on two ranks or more
    last: I32  # (I,) digest, the first of those that are equal; −1: no meeting
    tied: I64  # (I,) others that are as late as the last, to the nanosecond
    skew_ns: I64  # (I,) between the first and the last start; −1
    transfer_ns: I64  # (I,) −1 unknown
    wait_ns: I64  # (K,)


def wait(digests: Sequence[RankDigest], matches: Matches, clocks: Clocks) -> Waiting:
    """Waits of all collectives in which ranks meet; O(calls)."""
    count = len(digests)
    steps = max((len(one.steps) for one in digests), default=0)
    meets = matches.meetings(digests) if clocks.comparable else matches.symmetric
    chosen = meets & (matches.count > 1)
    arrival, release = extents(digests, matches, clocks.shift_ns)
    whole, transfer, last, tied, skew = _waits(
        matches, arrival, release, chosen, by_clock=clocks.comparable
    )
    collective, member = matches.collective, matches.member
    blame = np.zeros((count, count), np.int64)
    known = np.flatnonzero(last[collective] >= 0)
    np.add.at(blame, (last[collective[known]], member[known]), whole[known])
    step = matches.calls(digests, "step")
    inside = np.flatnonzero(chosen[collective] & (step >= 0))
    place = member[inside], step[inside]
    waiting, moving = np.zeros((count, steps), np.int64), np.zeros((count, steps), np.int64)
    np.add.at(waiting, place, whole[inside])
    np.add.at(moving, place, (release - arrival - whole)[inside])
    return Waiting(
        by_clock=clocks.comparable,
        blame_ns=blame,
        exposed_ns=_exposed(digests, matches, whole, last),
        synchronizing_ns=blame.sum(axis=0),
        waiting_ns=waiting,
        transferring_ns=moving,
        times_last=np.bincount(last[skew > 0], minlength=count).astype(np.int64),
        instances=int(chosen.sum()),
        last=last,
        tied=tied,
        skew_ns=skew,
        transfer_ns=transfer,
        wait_ns=whole,
    )


def _waits(
    matches: Matches, arrival: I64, release: I64, chosen: NDArray[np.bool_], *, by_clock: bool
) -> tuple[I64, I64, I32, I64, I64]:
    """Of each entry the wait; of each collective the transfer, the last, its ties, the lateness."""
    dur, collective = release - arrival, matches.collective
    shortest = matches.least(dur)
    if by_clock:
        begin = arrival
        latest = matches.most(arrival)
        waits = np.clip(latest[collective] - arrival, 0, dur)
        spare = matches.least(release) - latest
        transfer = np.where(spare > 0, spare, shortest)
    else:
        begin = -dur  # who came later is in it for a shorter time
        waits = dur - shortest[collective]
        transfer = shortest
    whole: I64 = np.where(chosen[collective], waits, 0)
    moved: I64 = np.where(chosen, transfer, shortest)
    latest = matches.most(begin)
    late = np.flatnonzero(begin == latest[collective])
    first = late[np.unique(collective[late], return_index=True)[1]]
    tied = np.where(chosen, np.bincount(collective[late], minlength=len(chosen)) - 1, 0)
    last = np.where(chosen, matches.member[first], -1).astype(np.int32)
    skew = np.where(chosen, latest - matches.least(begin), -1)
    return whole, moved, last, tied, skew


def _exposed(digests: Sequence[RankDigest], matches: Matches, waits: I64, last: I32) -> I64:
    """The blame for waits in which nothing computed; compute is known by eighths of a call."""
    result = np.zeros((len(digests), len(digests)), np.int64)
    by = last[matches.collective]
    for m, digest in enumerate(digests):
        here = matches.entries_of(m)
        here = here[(waits[here] > 0) & (by[here] >= 0)]
        rows = matches.call[here]
        dur = np.maximum(digest.calls.release_ns[rows] - digest.calls.arrival_ns[rows], 1)
        share = waits[here] / dur * PARTS
        parts = np.clip(share[:, None] - np.arange(PARTS), 0, 1)
        covered = (digest.calls.covered[rows] * parts).sum(axis=1)
        own = np.maximum(waits[here] - covered, 0).astype(np.int64)
        np.add.at(result[:, m], by[here], own)
    return result
