"""Arrows to be drawn: around one slice, or of a view, those close together as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .links import arrows_from, arrows_to
from .model import I64, LANE_BLOCK, Places
from .moves import arrows_at
from .opened import Opened
from .search import is_on

BUNDLE_COLUMNS = 8  # so many columns of the screen wide
MOST_AROUND = 20_000  # arrows that are followed from one slice


@dataclass(frozen=True, slots=True)
class Bundle:
    """Arrows from about one place to about another; the ends are those of the first one."""

    kind: int
    source: int
    target: int
    count: int


def arrows_around(opened: Opened, one: int, hops: int) -> list[Bundle]:
    """Arrows that begin or end at a slice, and those that go on from there, nearest first.

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
    """The first lane of the 16 lanes of a track that each lane is among."""
    first = np.array([track.lane for track in opened.layout.tracks], np.int64)[
        opened.track_of_lane[lane]
    ]
    return first + (lane - first) // LANE_BLOCK * LANE_BLOCK
