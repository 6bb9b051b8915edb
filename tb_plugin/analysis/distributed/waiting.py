"""Who waited for whom? For each collective the last to arrive, and what it cost the others.

Of a symmetric collective with starts s and ends e of its members, S being the latest start:

    wait_r   = clip(S − s_r, 0, e_r − s_r)     transfer = min over r of e_r − S, at least 0
    blame[last][r] += wait_r

so a column of the blame matrix sums to what a rank waited (its *synchronizing time*), and a row to
what it made others wait. The first holds by definition and is kept as a check.

Where clocks cannot be compared, durations tell: who is in a collective for the shortest time came
last, and what others are in it longer they waited.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import F64, I32, I64
from .clocks import Clocks, extents
from .matching import Matches
from .model import RankDigest
from .rank.exposure import PARTS

CELLS = 1 << 20
"""Collectives × ranks that are looked at together."""


@dataclass(frozen=True, slots=True, eq=False)
class Waiting:
    """Waits of symmetric collectives; R digests, S steps, I instances."""

    by_clock: bool  # else by durations
    blame_ns: I64  # (R, R): [last][who waited]
    exposed_ns: I64  # (R, R): of that, while nothing computed
    synchronizing_ns: I64  # (R,)
    waiting_ns: I64  # (R, S)
    transferring_ns: I64  # (R, S): time in symmetric collectives that is no wait
    times_last: I64  # (R,)
    instances: int  # symmetric collectives on two ranks or more
    last: I32  # (I,) digest, −1: not symmetric, or nobody was clearly last
    skew_ns: I64  # (I,) between the first and the last start; −1
    transfer_ns: I64  # (I,) −1 unknown
    wait_ns: I64  # (I, R) 0 where absent


def wait(digests: Sequence[RankDigest], matches: Matches, clocks: Clocks) -> Waiting:
    """Waits of all symmetric collectives; O(instances × ranks)."""
    count = len(digests)
    steps = max((len(one.steps) for one in digests), default=0)
    chosen = matches.symmetric & ((matches.row >= 0).sum(axis=1) > 1)
    whole = np.zeros(matches.row.shape, np.int64)
    transfer = np.full(len(matches), -1, np.int64)
    last, skew = np.full(len(matches), -1, np.int32), np.full(len(matches), -1, np.int64)
    # A few at a time: a table of all of them on a thousand ranks takes a hundred megabytes.
    for low in range(0, len(matches), max(CELLS // max(count, 1), 1)):
        part = slice(low, low + max(CELLS // max(count, 1), 1))
        whole[part], transfer[part], last[part], skew[part] = _waits(
            digests, matches.part(part), clocks, chosen[part]
        )
    blame = np.zeros((count, count), np.int64)
    known = np.flatnonzero(last >= 0)
    for i in known.tolist():
        blame[last[i]] += whole[i]
    waiting, moving = np.zeros((count, steps), np.int64), np.zeros((count, steps), np.int64)
    for m, digest in enumerate(digests):
        here = np.flatnonzero((matches.row[:, m] >= 0) & chosen)
        rows = matches.row[here, m]
        step = digest.calls.step[rows]
        inside = step >= 0
        np.add.at(waiting[m], step[inside], whole[here[inside], m])
        took = digest.calls.release_ns[rows] - digest.calls.arrival_ns[rows]
        rest = (took - whole[here, m])[inside]
        np.add.at(moving[m], step[inside], rest)
    return Waiting(
        by_clock=clocks.comparable,
        blame_ns=blame,
        exposed_ns=_exposed(digests, matches, whole, last),
        synchronizing_ns=blame.sum(axis=0),
        waiting_ns=waiting,
        transferring_ns=moving,
        times_last=np.bincount(last[known], minlength=count).astype(np.int64),
        instances=int(chosen.sum()),
        last=last,
        skew_ns=skew,
        transfer_ns=transfer,
        wait_ns=whole,
    )


def _waits(
    digests: Sequence[RankDigest], matches: Matches, clocks: Clocks, chosen: NDArray[np.bool_]
) -> tuple[I64, I64, I32, I64]:
    """Of each collective the waits by rank, the transfer, who came last and how late."""
    arrival, release = extents(digests, matches, clocks.shift_ns)
    dur = release - arrival
    if clocks.comparable:
        begin = arrival
        latest = _nanmax(arrival)
        waits = np.clip(latest[:, None] - arrival, 0, dur)
        spare = _nanmin(release) - latest
        transfer = np.where(spare > 0, spare, _nanmin(dur))
    else:
        begin = -dur  # who came later is in it for a shorter time
        transfer = _nanmin(dur)
        waits = dur - transfer[:, None]
    whole: I64 = np.nan_to_num(np.where(chosen[:, None], waits, np.nan)).astype(np.int64)
    moved = np.where(chosen, np.nan_to_num(transfer, nan=-1), _nanmin(dur)).astype(np.int64)
    return whole, moved, *_last(begin, chosen)


def _last(begin: F64, chosen: NDArray[np.bool_]) -> tuple[I32, I64]:
    """The last of each collective, and how long after the first it came."""
    last = np.full(len(begin), -1, np.int32)
    skew = np.full(len(begin), -1, np.int64)
    rows = np.flatnonzero(chosen)
    if len(rows):
        last[rows] = np.nanargmax(begin[rows], axis=1)
        skew[rows] = np.nanmax(begin[rows], axis=1) - np.nanmin(begin[rows], axis=1)
    return last, skew


def _exposed(digests: Sequence[RankDigest], matches: Matches, waits: I64, last: I32) -> I64:
    """The blame for waits in which nothing computed; compute is known by eighths of a call."""
    result = np.zeros((len(digests), len(digests)), np.int64)
    for m, digest in enumerate(digests):
        here = np.flatnonzero((matches.row[:, m] >= 0) & (waits[:, m] > 0) & (last >= 0))
        rows = matches.row[here, m]
        dur = np.maximum(digest.calls.release_ns[rows] - digest.calls.arrival_ns[rows], 1)
        share = waits[here, m] / dur * PARTS
        parts = np.clip(share[:, None] - np.arange(PARTS), 0, 1)
        covered = (digest.calls.covered[rows] * parts).sum(axis=1)
        own = np.maximum(waits[here, m] - covered, 0).astype(np.int64)
        np.add.at(result[:, m], last[here], own)
    return result


def _nanmax(values: F64) -> F64:
    result: F64 = np.max(np.where(np.isnan(values), -np.inf, values), axis=1, initial=-np.inf)
    return result


def _nanmin(values: F64) -> F64:
    result: F64 = np.min(np.where(np.isnan(values), np.inf, values), axis=1, initial=np.inf)
    return result
