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

import numpy as np
from msgspec import Struct

from ...base.arrays import I64
from ...base.intervals import union
from .bandwidth import Bandwidth, message_bytes
from .matching import Matches, RunGroup
from .model import RankDigest


class Pictures(Struct, frozen=True, eq=False):
    """Times by worker and step; R digests, S steps."""

    overlap_ns: I64  # (R, S, 4): computation, overlap, communication, other
    transfer_ns: I64  # (R, S, 2): transfer, synchronizing
    shortest_ns: tuple[I64, ...]  # by digest and call: the least time of any member; −1 no other


def pictures(digests: Sequence[RankDigest], matches: Matches) -> Pictures:
    """The sums of a run; O(calls × log)."""
    shortest = _shortest(digests, matches)
    return Pictures(
        overlap_ns=np.stack([_overlap(one) for one in digests])
        if digests
        else np.zeros((0, 0, 4), np.int64),
        transfer_ns=np.stack([_transfer(one, shortest[m]) for m, one in enumerate(digests)])
        if digests
        else np.zeros((0, 0, 2), np.int64),
        shortest_ns=tuple(shortest),
    )


def _overlap(one: RankDigest) -> I64:
    steps = one.steps
    alone = steps.compute_ns - steps.overlap_ns
    communication = steps.communication_ns - steps.overlap_ns
    rest = steps.length_ns - alone - steps.overlap_ns - communication
    return np.stack([alone, steps.overlap_ns, communication, rest], axis=1)


def _shortest(digests: Sequence[RankDigest], matches: Matches) -> list[I64]:
    """For each call of each digest the shortest time that a member is in it; −1 unmatched."""
    result: list[I64] = [np.full(len(one.calls), -1, np.int64) for one in digests]
    took = matches.calls(digests, "release_ns") - matches.calls(digests, "arrival_ns")
    collective = matches.collective
    least, shared = matches.least(took)[collective], (matches.count > 1)[collective]
    for m in range(len(digests)):
        here = matches.entries_of(m)
        here = here[shared[here]]
        result[m][matches.call[here]] = least[here]
    return result


def _transfer(one: RankDigest, shortest: I64) -> I64:
    """Transfer and synchronizing time per step; a call without counterpart counts as transfer."""
    calls = one.calls
    took = np.where(shortest >= 0, shortest, calls.release_ns - calls.arrival_ns)
    result = np.zeros((len(one.steps), 2), np.int64)
    for step in range(len(one.steps)):
        here = np.flatnonzero(calls.step == step)
        end = calls.release_ns[here]
        moved = union(end - took[here], end).total_ns
        result[step] = moved, union(calls.arrival_ns[here], end).total_ns - moved
    return result


class OperationRow(Struct, frozen=True):
    """All calls of one operation in one group, over chosen steps, by one worker or by several.

    Times of one worker are unions, so calls at the same time count once; those of several are sums.
    """

    group: int  # of the run, −1 where no group of the run has the ranks that this one names
    kind: str
    calls: int
    alone: int  # of these, calls that no other recording has
    bytes: int  # as nccl-tests reckons sizes; −1 where a call does not say how much
    latency_ns: int
    transfer_ns: int  # −1 where no other worker has any of the calls
    algorithm_gbps: float  # median of the collectives; NaN not available
    bus_gbps: float


class _Sums(Struct):
    calls: int = 0
    alone: int = 0
    bytes: int = 0
    unknown: int = 0  # calls of unknown size
    latency_ns: int = 0
    transfer_ns: int = 0


def operations(  # what a run is made of
    digests: Sequence[RankDigest],
    groups: Sequence[RunGroup],
    matches: Matches,
    speed: Bandwidth,
    shortest: Sequence[I64],
    members: Sequence[int],
    steps: I64,
) -> tuple[OperationRow, ...]:
    """The calls of some workers by group and operation, those that took longest first.

    ``steps`` are rows of the steps; without any step in the run, whatever was recorded counts.
    """
    found: dict[tuple[int, str], _Sums] = {}
    instances: dict[tuple[int, str], list[I64]] = {}
    collective = matches.collective
    by_ranks = {group.ranks: number for number, group in reversed(tuple(enumerate(groups)))}
    for m in members:
        one = digests[m]
        calls = one.calls
        inside = np.isin(calls.step, steps) if len(one.steps) else np.ones(len(calls), np.bool_)
        instance = np.full(len(calls), -1, np.int64)
        here = matches.entries_of(m)
        instance[matches.call[here]] = collective[here]
        own = np.array([by_ranks.get(group.ranks, -1) for group in one.groups] + [-1], np.int64)
        group = np.where(
            instance >= 0, matches.group[instance] if len(matches) else -1, own[calls.group]
        )
        for key in np.unique(np.stack([group, calls.kind], axis=1)[inside], axis=0).tolist():
            mine = np.flatnonzero(inside & (group == key[0]) & (calls.kind == key[1]))
            name = (key[0], one.text(key[1]))
            size = len(groups[key[0]].ranks) if key[0] >= 0 else 0
            sizes = _sizes(one, mine, instance, name[1], size, speed)
            begin, end = calls.arrival_ns[mine], calls.release_ns[mine]
            known = mine[shortest[m][mine] >= 0]
            end_known = calls.release_ns[known]
            total = found.setdefault(name, _Sums())
            total.calls += len(mine)
            total.alone += len(mine) - len(known)
            total.bytes += int(sizes[sizes > 0].sum())
            total.unknown += int((sizes <= 0).sum())
            total.latency_ns += int(union(begin, end).total_ns)
            total.transfer_ns += int(union(end_known - shortest[m][known], end_known).total_ns)
            instances.setdefault(name, []).append(instance[known])
    rows = []
    for (group_row, kind), total in found.items():
        matched = np.unique(np.concatenate(instances[group_row, kind]))
        rows.append(
            OperationRow(
                group=group_row,
                kind=kind,
                calls=total.calls,
                alone=total.alone,
                bytes=total.bytes if total.bytes and not total.unknown else -1,
                latency_ns=total.latency_ns,
                transfer_ns=total.transfer_ns if total.alone < total.calls else -1,
                algorithm_gbps=_median(speed.algorithm_gbps[matched]),
                bus_gbps=_median(speed.bus_gbps[matched]),
            )
        )
    return tuple(sorted(rows, key=lambda row: -row.latency_ns))


def _sizes(
    one: RankDigest, rows: I64, instance: I64, kind: str, ranks: int, speed: Bandwidth
) -> I64:
    """Bytes of each call by the run's bandwidth; for an unmatched call, its recorded size."""
    sizes = np.full(len(rows), -1, np.int64)
    matched = instance[rows] >= 0
    sizes[matched] = speed.bytes[instance[rows][matched]]
    for at in np.flatnonzero(~matched).tolist():
        given = int(one.calls.in_bytes[rows[at]]), int(one.calls.out_bytes[rows[at]])
        sizes[at] = message_bytes(kind, *given, ranks) or -1
    return sizes


def _median(values: np.ndarray) -> float:
    known = values[~np.isnan(values)]
    return float(np.median(known)) if len(known) else float("nan")
