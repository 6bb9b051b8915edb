"""The relatives of a slice: neighbours, parents, children, launches, kernels, linked ops.

Arrows are drawn around one slice, or for a range of time with those close together bundled.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct

from ...base.arrays import I32, I64
from .locate import positions_of
from .model import LANE_BLOCK, FlowKind, Places, SliceFlows, SliceKind, Slices
from .search import Neighbour, is_on, next_hit
from .timeline import Opened


def arrows_from(flows: SliceFlows, one: int) -> I64:
    """Rows of the arrows that begin at a slice."""
    return arrows_between(flows, one, one + 1)


def arrows_to(flows: SliceFlows, one: int) -> I64:
    """Rows of the arrows that end at a slice."""
    order, target = flows.by_target, flows.target
    rows = range(len(order))
    low = bisect_left(rows, one, key=lambda at: target[order[at]])
    high = bisect_right(rows, one, low, key=lambda at: target[order[at]])
    return order[low:high].astype(np.int64)


def arrows_between(flows: SliceFlows, low: int, high: int) -> I64:
    """Rows of the arrows that begin at slices [low, high)."""
    # Numbers of the type of the column: else numpy would convert all of it.
    first, last = np.searchsorted(flows.source, np.array([low, high], np.int32)).tolist()
    return np.arange(first, last)


def launch_of(flows: SliceFlows, one: int) -> int | None:
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


def launched_by(flows: SliceFlows, slices: Slices, low: int, high: int) -> I32:
    """Device work that host slices [low, high) launched, in order of its start."""
    rows = arrows_between(flows, low, high)
    found = flows.target[rows[flows.kind[rows] == FlowKind.LAUNCH]]
    return _by_start(slices, found)


def forward_of(flows: SliceFlows, slices: Slices, one: int) -> I32:
    """The forward ops of a backward op, or of the innermost backward op around a slice."""
    return _nearest_linked(slices, one, flows, arrows_to, flows.source)


def backward_of(flows: SliceFlows, slices: Slices, one: int) -> I32:
    """The backward ops of a forward op, or of the innermost one around a slice that has some."""
    return _nearest_linked(slices, one, flows, arrows_from, flows.target)


def _nearest_linked(
    slices: Slices,
    one: int,
    flows: SliceFlows,
    arrows: Callable[[SliceFlows, int], I64],
    other_end: I32,
) -> I32:
    """The other ends of the backward arrows of a slice, else of the nearest one around it."""
    at = one
    while at >= 0:
        rows = arrows(flows, at)
        found = other_end[rows[flows.kind[rows] == FlowKind.BACKWARD]]
        if len(found):
            return _by_start(slices, found)
        at = int(slices.parent[at])
    return np.empty(0, np.int32)


def _by_start(slices: Slices, found: I32) -> I32:
    result: I32 = found[np.lexsort((found, slices.ts[found]))]
    return result


def ancestors_of(slices: Slices, one: int) -> list[int]:
    """The slices around a slice, outermost first."""
    found = []
    at = int(slices.parent[one])
    while at >= 0:
        found.append(at)
        at = int(slices.parent[at])
    return found[::-1]


class Peers(Struct, frozen=True):
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


def next_in_lane(opened: Opened, one: int, *, forward: bool) -> Neighbour | None:
    """The next slice in the same lane; None at the end, and for slices that the layout hides."""
    layout = opened.layout
    lane = int(layout.lane[one])
    if lane < 0:
        return None
    first, last = int(layout.lane_first[lane]), int(layout.lane_first[lane + 1])
    at = int(positions_of(opened.timeline.slices, layout, np.array([one]))[0])
    at += 1 if forward else -1
    if not first <= at < last:
        return None
    return Neighbour(int(layout.order[at]), at - first + 1, last - first)


def next_of_name(opened: Opened, one: int, *, forward: bool) -> Neighbour | None:
    """The slice of the same name that starts next, anywhere in the trace."""
    slices = opened.timeline.slices
    code = np.array([slices.name[one]], np.intp)
    return next_hit(opened, code, None, (int(slices.ts[one]), one), forward=forward)


def parent_of(opened: Opened, one: int) -> int | None:
    """The innermost slice around a slice that the layout shows."""
    parent = int(opened.timeline.slices.parent[one])
    while parent >= 0 and opened.layout.lane[parent] < 0:
        parent = int(opened.timeline.slices.parent[parent])
    return parent if parent >= 0 else None


def child_of(opened: Opened, one: int, *, last: bool = False) -> int | None:
    """The first (or last) slice below a slice; where that is hidden, the first one below it."""
    found = children_of(opened, one)
    for child in (found[::-1] if last else found).tolist():
        shown = child if opened.layout.lane[child] >= 0 else child_of(opened, child, last=last)
        if shown is not None:
            return int(shown)
    return None


def children_of(opened: Opened, one: int) -> I64:
    """The direct children of a host slice, in order of their start."""
    if one >= opened.timeline.tables.device:
        return np.empty(0, np.int64)
    stop = behind(opened, one)
    return one + 1 + np.flatnonzero(opened.timeline.slices.parent[one + 1 : stop] == one)


def behind(opened: Opened, one: int) -> int:
    """The first slice on the thread of a host slice that starts after its end.

    What is below a slice lies between the two.
    """
    slices = opened.timeline.slices
    _, last = opened.threads.span(opened.threads.of_slice(one))
    end = int(slices.ts[one] + slices.dur[one])
    # What outlives its parent by a hair may start at its very end.
    return one + 1 + int(np.searchsorted(slices.ts[one + 1 : last], end, side="right"))


def arrows_at(opened: Opened, one: int) -> list[int]:
    """Rows of the arrows drawn for a slice: those that begin there, then those that end there.

    A host slice without an arrow stands for what was launched below it.
    """
    flows = opened.timeline.flows
    rows: list[int] = arrows_from(flows, one).tolist() + arrows_to(flows, one).tolist()
    if rows or one >= opened.timeline.tables.device:
        return rows
    below = arrows_between(flows, one, behind(opened, one))
    launches: list[int] = below[flows.kind[below] == FlowKind.LAUNCH].tolist()
    return launches


def along_arrow(opened: Opened, one: int, *, forward: bool) -> Neighbour | None:
    """The earliest slice at the other end of an arrow drawn for a slice."""
    flows, slices = opened.timeline.flows, opened.timeline.slices
    rows = np.array(arrows_at(opened, one), np.intp)
    comes = flows.target[rows] == one
    rows = rows[~comes if forward else comes]
    if not len(rows):
        return None
    others = (flows.target if forward else flows.source)[rows]
    first = others[np.lexsort((others, slices.ts[others]))[0]]
    return Neighbour(int(first), 1, len(rows))


BUNDLE_COLUMNS = 8  # so many columns of the screen wide
MOST_AROUND = 20_000  # arrows that are followed from one slice


class Bundle(Struct, frozen=True):
    """Arrows with nearly the same two places; the ends are those of the first arrow."""

    kind: int
    source: int
    target: int
    count: int


def arrows_around(opened: Opened, one: int, hops: int) -> list[Bundle]:
    """Arrows that begin or end at a slice, and those that continue from there, nearest first.

    A host slice without an arrow stands for what was launched below it.
    """
    flows = opened.timeline.flows
    found: dict[int, None] = {}  # rows, in the order in which they are met
    ends, seen = [one], {one}
    for hop in range(hops):
        rows: list[int] = []
        for end in ends:
            if hop == 0:
                rows += arrows_at(opened, end)
            else:
                rows += arrows_from(flows, end).tolist() + arrows_to(flows, end).tolist()
        new = [row for row in dict.fromkeys(rows) if row not in found]
        found.update(dict.fromkeys(new))
        both = [end for row in new for end in (int(flows.source[row]), int(flows.target[row]))]
        ends = [end for end in dict.fromkeys(both) if end not in seen]
        seen.update(ends)
        if len(found) > MOST_AROUND:
            break
    return [
        Bundle(int(flows.kind[row]), int(flows.source[row]), int(flows.target[row]), 1)
        for row in found
    ]


def bundles_in(
    opened: Opened,
    span: tuple[int, int],
    columns: int,
    kinds: Sequence[int],
    tracks: Sequence[int] | None,
    most: int,
) -> tuple[list[Bundle], int]:
    """Bundles of the arrows with an end in [start, end), the largest first, and how many arrows.

    Both ends are on the chosen tracks. Arrows of one kind share a bundle where each end lies in the
    same 16 lanes of a track and in the same eighth column of the view.
    """
    start, end = span
    timeline, layout = opened.timeline, opened.layout
    flows, slices = timeline.flows, timeline.slices
    from_, to = slices.ts[flows.source], slices.ts[flows.target]
    inside = ((from_ >= start) & (from_ < end)) | ((to >= start) & (to < end))
    inside &= np.isin(flows.kind, list(kinds))
    rows = np.flatnonzero(inside)
    for side in (flows.source, flows.target):
        rows = rows[is_on(opened, side[rows], tracks)]
    if not len(rows):
        return [], 0
    width = max((end - start) * BUNDLE_COLUMNS // columns, 1)
    shown = columns // BUNDLE_COLUMNS + 1
    key = flows.kind[rows].astype(np.int64)
    for side in (flows.source[rows], flows.target[rows]):
        # What lies beyond an edge of the view is one place there.
        column = np.clip((slices.ts[side] - start) // width, -1, shown) + 1
        key = (key * len(layout.lane_first) + _lane_block(opened, layout.lane[side])) * (shown + 2)
        key += column
    _, first, count = np.unique(key, return_index=True, return_counts=True)
    largest = np.lexsort((first, -count))[:most]
    made = [
        Bundle(int(flows.kind[row]), int(flows.source[row]), int(flows.target[row]), n)
        for row, n in zip(rows[first[largest]].tolist(), count[largest].tolist(), strict=True)
    ]
    return made, len(rows)


def _lane_block(opened: Opened, lane: Places) -> I64:
    """The first lane of each lane's block of 16 lanes of a track."""
    first = np.array([track.lane for track in opened.layout.tracks], np.int64)[
        opened.track_of_lane[lane]
    ]
    return first + (lane - first) // LANE_BLOCK * LANE_BLOCK
