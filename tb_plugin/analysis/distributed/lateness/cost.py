"""What does a late rank cost in a step? The time in which others were held for it alone.

Of a collective in which all ranks meet, only the time from the second-latest rank to the latest is
the fault of the latest, and only as far as the others were held meanwhile (computed nothing), in
the mean of the others. Collectives that wait for the same rank overlap: in a step their union
counts.

    rank 0  ████░░░░░░░░░░░░   ready first
    rank 1  ███████░░░░░░░░░   second-latest
    rank 2  ████████████        the latest: costs from 7 to 12

A rank is ready when it calls (back ends of the host) or when its kernel begins (devices). Kernels
of a collective end together, so on devices lengths tell who came last, and no clock is needed.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ....base.arrays import F64, I64
from ..clocks import Clocks
from ..matching import Matches, on_one_host
from ..model import RankDigest
from ..rank.exposure import PARTS

_NEVER = np.iinfo(np.int64).min


def late_cost(
    digests: Sequence[RankDigest], matches: Matches, clocks: Clocks, place: I64 | None = None
) -> I64:
    """Time that each rank cost in each step (places, S), ns.

    ``place`` (R,) is the set of ranks that counts as one (a node, several late ranks), the rank
    itself by default; −1 for none.
    """
    place = np.arange(len(digests)) if place is None else place
    steps = max((len(one.steps) for one in digests), default=0)
    result = np.zeros((int(place.max(initial=-1)) + 1, steps), np.int64)
    meets = matches.meetings(digests) & (matches.count > 1)
    if not meets.any() or not steps:
        return result
    some = matches.some(np.flatnonzero(meets))
    of, member = some.collective, some.member
    arrival, release = some.calls(digests, "arrival_ns"), some.calls(digests, "release_ns")
    on_device = some.calls(digests, "on_device") == 1
    issue = np.where(on_device, arrival, some.calls(digests, "issue_ns"))
    by_length = on_device | (not clocks.comparable)
    ready = np.where(by_length, issue - release, issue + clocks.shift_ns[member])
    late, last = _lateness(some, ready, place)
    unsure = np.where(by_length, 0, uncertainty(digests, clocks)[member])
    late = np.where(on_device[last], late, late - 2 * some.most(unsure))
    known = np.flatnonzero(late > 0)
    if not len(known):
        return result
    # Of each other member the last `late` ns before the latest was ready, as far as it was held.
    latest = ready[last][of]
    until = latest + np.where(by_length, release, -clocks.shift_ns[member])
    since = until - np.maximum(late, 0)[of]
    covered = some.calls(digests, "covered")
    held = _uncovered(np.maximum(since, issue), until, arrival, release, covered)
    is_other = place[member] != place[member[last]][of]
    others = np.maximum(some.sum_of(is_other.astype(np.int64)), 1)
    cost = some.sum_of(np.where(is_other, held, 0)) // others
    step = some.calls(digests, "step")[last]
    known = known[(cost[known] > 0) & (step[known] >= 0) & (place[member[last[known]]] >= 0)]
    end = (issue + clocks.shift_ns[member])[last[known]]
    where = place[member[last[known]]] * steps + step[known]
    result.ravel()[:] = _union(where, end - cost[known], end, result.size)
    return result


def _lateness(some: Matches, ready: I64, place: I64) -> tuple[I64, I64]:
    """Delay of the last entry behind the latest of another place, and that entry."""
    latest = some.most(ready)
    at_last = np.flatnonzero(ready == latest[some.collective])
    last = at_last[np.unique(some.collective[at_last], return_index=True)[1]]
    is_other = place[some.member] != place[some.member[last]][some.collective]
    second = some.most(np.where(is_other, ready, _NEVER))
    return np.where(second > _NEVER, latest - second, 0), last


def uncertainty(digests: Sequence[RankDigest], clocks: Clocks) -> I64:
    """By how much instants of each rank may be off those of others; 0 on one host."""
    if on_one_host(digests) and not clocks.fitted:
        return np.zeros(len(digests), np.int64)
    return np.maximum(clocks.uncertainty_ns, 0)


def _uncovered(since: I64, until: I64, arrival: I64, release: I64, covered: I64) -> I64:
    """Time between two instants in which a rank computed nothing; known by eighths of a call.

    Before the call begins on its thread it waits behind another collective, and computes nothing.
    """
    span = np.maximum(release - arrival, 1).astype(np.float64)[:, None]
    edge = arrival[:, None] + span * np.arange(PARTS + 1) / PARTS
    low = np.clip(since[:, None], edge[:, :-1], edge[:, 1:])
    high = np.clip(until[:, None], edge[:, :-1], edge[:, 1:])
    busy = covered / np.maximum(span / PARTS, 1)
    inside: F64 = (np.maximum(high - low, 0) * (1 - np.clip(busy, 0, 1))).sum(axis=1)
    before = np.maximum(np.minimum(until, arrival) - since, 0)
    return np.rint(inside).astype(np.int64) + before


def _union(where: I64, start: I64, end: I64, count: int) -> I64:
    """The union of intervals by the cell that each belongs to."""
    order = np.lexsort((start, where))
    where, start, end = where[order], start[order], end[order]
    base = int(start.min(initial=0))
    room = int(end.max(initial=0)) - base + 1
    shifted = where * room - base
    reach = np.maximum.accumulate(shifted + end)
    begun = shifted + start
    fresh: NDArray[np.int64] = np.maximum(
        shifted + end - np.maximum(begun, np.concatenate([[0], reach[:-1]])), 0
    )
    result = np.zeros(count, np.int64)
    np.add.at(result, where, fresh)
    return result
