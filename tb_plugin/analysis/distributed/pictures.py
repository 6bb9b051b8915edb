"""The sums over workers and steps that the Distributed view has always shown.

* Computation and communication: what only computed, what did both, what only communicated, and the
  rest of each step. They sum to the step.
* Synchronizing and data transfer: of a collective, the shortest time that any member is in it is
  its transfer; what others are in it longer, they wait. Each member's transfer is the last part of
  its own time. So the PyTorch profiler's plugin for TensorBoard defined it; it needs no clock.
* Operations: calls, sizes, time and transfer, with bandwidth by ``bandwidth``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...base.arrays import I64
from ...base.intervals import union
from .bandwidth import Bandwidth
from .matching import Matches
from .model import RankDigest

OVERLAP_PARTS = ("computation", "overlapping", "communication", "other")
TRANSFER_PARTS = ("transfer", "synchronizing")


@dataclass(frozen=True, slots=True)
class OperationRow:
    """All calls of one operation in one group by one worker."""

    digest: int
    group: int
    kind: str
    calls: int
    bytes: int  # −1 where no call says how much
    latency_ns: int  # union
    transfer_ns: int  # union of the transfers, −1 where no other worker has the calls
    algorithm_gbps: float  # median of its calls; NaN not available
    bus_gbps: float


@dataclass(frozen=True, slots=True, eq=False)
class Pictures:
    """Times by worker and step; R digests, S steps."""

    overlap_ns: I64  # (R, S, 4): OVERLAP_PARTS
    transfer_ns: I64  # (R, S, 2): TRANSFER_PARTS
    operations: tuple[OperationRow, ...]


def pictures(
    digests: Sequence[RankDigest],
    matches: Matches,
    speed: Bandwidth,
) -> Pictures:
    """The sums of a run; O(calls × log)."""
    shortest = _shortest(digests, matches)
    rows: list[OperationRow] = []
    for m, one in enumerate(digests):
        rows.extend(_operations(m, one, matches, (shortest[m], speed)))
    return Pictures(
        overlap_ns=np.stack([_overlap(one) for one in digests])
        if digests
        else np.zeros((0, 0, 4), np.int64),
        transfer_ns=np.stack([_transfer(one, shortest[m]) for m, one in enumerate(digests)])
        if digests
        else np.zeros((0, 0, 2), np.int64),
        operations=tuple(rows),
    )


def _overlap(one: RankDigest) -> I64:
    steps = one.steps
    alone = steps.compute_ns - steps.overlap_ns
    communication = steps.communication_ns - steps.overlap_ns
    rest = (steps.end_ns - steps.start_ns) - alone - steps.overlap_ns - communication
    return np.stack([alone, steps.overlap_ns, communication, rest], axis=1)


def _shortest(digests: Sequence[RankDigest], matches: Matches) -> list[I64]:
    """For each call of each digest the shortest time that a member is in it; −1 unmatched."""
    result: list[I64] = [np.full(len(one.calls), -1, np.int64) for one in digests]
    least = np.full(len(matches), np.iinfo(np.int64).max)
    for m, one in enumerate(digests):
        here = np.flatnonzero(matches.row[:, m] >= 0)
        rows = matches.row[here, m]
        np.minimum.at(least, here, one.calls.release_ns[rows] - one.calls.arrival_ns[rows])
    for m in range(len(digests)):
        here = np.flatnonzero(matches.row[:, m] >= 0)
        result[m][matches.row[here, m]] = least[here]
    return result


def _transfer(one: RankDigest, shortest: I64) -> I64:
    """Transfer and synchronizing time per step; a call nobody else has counts as transfer."""
    calls = one.calls
    took = np.where(shortest >= 0, shortest, calls.release_ns - calls.arrival_ns)
    result = np.zeros((len(one.steps), 2), np.int64)
    for step in range(len(one.steps)):
        here = np.flatnonzero(calls.step == step)
        end = calls.release_ns[here]
        moved = union(end - took[here], end).total_ns
        result[step] = moved, union(calls.arrival_ns[here], end).total_ns - moved
    return result


def _operations(
    m: int,
    one: RankDigest,
    matches: Matches,
    how: tuple[I64, Bandwidth],
) -> list[OperationRow]:
    shortest, speed = how
    calls = one.calls
    instance = np.full(len(calls), -1, np.int64)
    here = np.flatnonzero(matches.row[:, m] >= 0)
    instance[matches.row[here, m]] = here
    group = np.full(len(calls), -1, np.int64)
    group[instance >= 0] = matches.group[instance[instance >= 0]]
    rows = []
    for key in sorted({(int(g), int(k)) for g, k in zip(group, calls.kind, strict=True)}):
        mine = np.flatnonzero((group == key[0]) & (calls.kind == key[1]))
        begin, end = calls.arrival_ns[mine], calls.release_ns[mine]
        known = mine[shortest[mine] >= 0]
        matched = instance[known]
        sized = calls.in_bytes[mine][calls.in_bytes[mine] >= 0]
        rows.append(
            OperationRow(
                digest=m,
                group=key[0],
                kind=one.text(key[1]),
                calls=len(mine),
                bytes=int(sized.sum()) if len(sized) else -1,
                latency_ns=union(begin, end).total_ns,
                transfer_ns=union(
                    calls.release_ns[known] - shortest[known], calls.release_ns[known]
                ).total_ns
                if len(known)
                else -1,
                algorithm_gbps=_median(speed.algorithm_gbps[matched]),
                bus_gbps=_median(speed.bus_gbps[matched]),
            )
        )
    return rows


def _median(values: np.ndarray) -> float:
    known = values[~np.isnan(values)]
    return float(np.median(known)) if len(known) else float("nan")
