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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import F64, I32, I64
from .matching import Matches
from .max_plus import DeadlockError, LeveledGraph, leveled
from .model import SYMMETRIC, Edges, Junction, Junctions, RankDigest

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
