"""From one slice to its neighbours: in the lane, of the same name, above, below, along an arrow."""

from __future__ import annotations

import numpy as np

from .links import arrows_between, arrows_from, arrows_to
from .model import I64, FlowKind
from .opened import Opened
from .places import positions_of
from .search import Neighbour, next_hit


def next_in_lane(opened: Opened, one: int, *, forward: bool) -> Neighbour | None:
    """The slice beside it in its lane; None at the end, and for what the layout hides."""
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
    """The innermost slice around it that the layout shows."""
    parent = int(opened.timeline.slices.parent[one])
    while parent >= 0 and opened.layout.lane[parent] < 0:
        parent = int(opened.timeline.slices.parent[parent])
    return parent if parent >= 0 else None


def child_of(opened: Opened, one: int, *, last: bool = False) -> int | None:
    """The first (or last) slice below it; where the layout hides that, what is below it."""
    found = children_of(opened, one)
    for child in (found[::-1] if last else found).tolist():
        shown = child if opened.layout.lane[child] >= 0 else child_of(opened, child, last=last)
        if shown is not None:
            return int(shown)
    return None


def children_of(opened: Opened, one: int) -> I64:
    """The slices right below a host slice, in order of their start."""
    if one >= opened.timeline.tables.device:
        return np.empty(0, np.int64)
    stop = behind(opened, one)
    return one + 1 + np.flatnonzero(opened.timeline.slices.parent[one + 1 : stop] == one)


def behind(opened: Opened, one: int) -> int:
    """The first slice of a host slice's thread that starts when that one has ended, or later.

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
    """The earliest slice that a drawn arrow leads to, or that one comes from."""
    flows, slices = opened.timeline.flows, opened.timeline.slices
    rows = np.array(arrows_at(opened, one), np.intp)
    comes = flows.target[rows] == one
    rows = rows[~comes if forward else comes]
    if not len(rows):
        return None
    others = (flows.target if forward else flows.source)[rows]
    first = others[np.lexsort((others, slices.ts[others]))[0]]
    return Neighbour(int(first), 1, len(rows))
