"""What belongs to a slice elsewhere: its launch, its kernels, its forward or backward op."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass

import numpy as np

from .model import I32, I64, FlowKind, Flows, SliceKind, Slices


def arrows_from(flows: Flows, one: int) -> I64:
    """Rows of the arrows that begin at a slice."""
    return arrows_between(flows, one, one + 1)


def arrows_to(flows: Flows, one: int) -> I64:
    """Rows of the arrows that end at a slice."""
    order, target = flows.by_target, flows.target
    rows = range(len(order))
    low = bisect_left(rows, one, key=lambda at: target[order[at]])
    high = bisect_right(rows, one, low, key=lambda at: target[order[at]])
    return order[low:high].astype(np.int64)


def arrows_between(flows: Flows, low: int, high: int) -> I64:
    """Rows of the arrows that begin at slices [low, high)."""
    # Numbers of the type of the column: else numpy would convert all of it.
    first, last = np.searchsorted(flows.source, np.array([low, high], np.int32)).tolist()
    return np.arange(first, last)


def launch_of(flows: Flows, one: int) -> int | None:
    """The runtime call (or the op, where no call was recorded) that launched device work."""
    rows = arrows_to(flows, one)
    rows = rows[flows.kind[rows] == FlowKind.LAUNCH]
    return int(flows.source[rows[0]]) if len(rows) else None


def op_around(slices: Slices, one: int) -> int | None:
    """The innermost op around a slice, itself included."""
    at = one
    while at >= 0 and slices.kind[at] != SliceKind.OP:
        at = int(slices.parent[at])
    return at if at >= 0 else None


def launched_by(flows: Flows, slices: Slices, low: int, high: int) -> I32:
    """Device work that host slices [low, high) launched, in order of its start."""
    rows = arrows_between(flows, low, high)
    found = flows.target[rows[flows.kind[rows] == FlowKind.LAUNCH]]
    return _by_start(slices, found)


def forward_of(flows: Flows, slices: Slices, one: int) -> I32:
    """The forward ops of a backward op, or of the innermost backward op around a slice."""
    at = one
    while at >= 0:
        rows = arrows_to(flows, at)
        found = flows.source[rows[flows.kind[rows] == FlowKind.BACKWARD]]
        if len(found):
            return _by_start(slices, found)
        at = int(slices.parent[at])
    return np.empty(0, np.int32)


def backward_of(flows: Flows, slices: Slices, one: int) -> I32:
    """The backward ops of a forward op, or of the innermost one around a slice that has some."""
    at = one
    while at >= 0:
        rows = arrows_from(flows, at)
        found = flows.target[rows[flows.kind[rows] == FlowKind.BACKWARD]]
        if len(found):
            return _by_start(slices, found)
        at = int(slices.parent[at])
    return np.empty(0, np.int32)


def _by_start(slices: Slices, found: I32) -> I32:
    result: I32 = found[np.lexsort((found, slices.ts[found]))]
    return result


def ancestors_of(slices: Slices, one: int) -> list[int]:
    """The slices around it, outermost first."""
    found = []
    at = int(slices.parent[one])
    while at >= 0:
        found.append(at)
        at = int(slices.parent[at])
    return found[::-1]


@dataclass(frozen=True, slots=True)
class Peers:
    """A slice among all of its name. ``rank`` 1 is the longest; equal ones share the best rank."""

    count: int
    median: int  # by nearest rank
    rank: int


def peers_of(first: I64, by_name: I32, slices: Slices, one: int) -> Peers:
    """The slices of the same name; ``first`` and ``by_name`` are those of the name index."""
    code = int(slices.name[one])
    ids = by_name[int(first[code]) : int(first[code + 1])]
    dur = slices.dur[ids]
    middle = (len(dur) + 1) // 2 - 1
    longer = int(np.count_nonzero(dur > slices.dur[one]))
    return Peers(len(dur), int(np.partition(dur, middle)[middle]), longer + 1)
