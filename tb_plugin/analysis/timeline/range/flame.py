"""The call tree of an area of the timeline, merged by path.

A thread is taken as a whole, ops and Python frames together, since a call tree needs the callers.
The value of a node is the self time of its slices inside the area, so that no instant counts twice
and all self times sum to the value of the roots exactly. Device work has no callers; its names lie
below a box of their device.
"""

from __future__ import annotations

import numpy as np

from ....base.arrays import F64, I32, I64, U8
from ...call_tree.flame import NO_NAME, FlameBoxes, Tree, forest, pruned, tree_of
from ...call_tree.paths import SlicePaths, find_paths
from ..group_sums import group_sums
from ..model import SliceKind
from ..timeline import Opened
from .sums import Area, inside, slices_in

HIDDEN = "(hidden frames)"


def flame_in(opened: Opened, area: Area, metric: str, min_share: float) -> FlameBoxes:
    """The tree of an area; ``metric`` is "total" (ns) or "count"."""
    counted = metric == "count"
    tree = forest([*_host(opened, area, counted), *_devices(opened, area, counted)])
    return pruned(tree, opened.timeline.names, min_share)


# --- the host -------------------------------------------------------------------------------------


def _host(opened: Opened, area: Area, counted: bool) -> list[Tree]:
    """All paths; those without slices in the area have the value 0."""
    paths = opened.paths
    own, count = _spent(opened, area, paths)
    if counted:
        own = count.astype(np.float64)
    if opened.hides:
        return _without_hidden(opened, own, count)
    kind = opened.timeline.slices.kind[paths.first]
    return [tree_of((paths.parent, paths.name, kind), own, count, opened.levels)]


def _spent(opened: Opened, area: Area, paths: SlicePaths) -> tuple[F64, I64]:
    """Self time inside the area and slices that touch it, by node of the paths."""
    slices, threads = opened.timeline.slices, opened.threads
    own, count = np.zeros(len(paths.parent)), np.zeros(len(paths.parent), np.int64)
    # Of a thread whose slices are all hidden there is no track.
    every = range(len(threads.first) - 1)
    chosen = None if area.tracks is None else {threads.of_track.get(t) for t in area.tracks}
    for thread in (one for one in every if chosen is None or one in chosen):
        start, end = (opened.crossing(thread, at) for at in (area.start, area.end))
        node = paths.node[start.last : end.last]
        sums = group_sums(node, slices.self_ns[start.last : end.last], len(own))
        # They stay below 2^53 ns, 104 days of a thread: doubles hold them exactly.
        own += sums.total
        count += sums.count
        # Of what is open at an edge, only a part was spent inside.
        before = start.rows
        np.add.at(own, paths.node[before], slices.self_ns[before] - start.spent)
        np.add.at(count, paths.node[before], 1)
        np.add.at(own, paths.node[end.rows], end.spent - slices.self_ns[end.rows])
    return own, count


def _without_hidden(opened: Opened, own: F64, count: I64) -> list[Tree]:
    """The paths without the frames that the layout hides: their time becomes their callers'.

    Time of hidden frames without a caller has a box of its own.
    """
    paths = opened.paths
    hidden = opened.layout.lane[paths.first] < 0
    stands = np.where(hidden, paths.parent, np.arange(len(hidden)))  # for each the shown one
    while len(again := np.flatnonzero((stands >= 0) & hidden[stands])):
        stands[again] = paths.parent[stands[again]]
    shown = np.flatnonzero(~hidden)
    place = np.full(len(hidden) + 1, -1, np.int32)
    place[shown] = np.arange(len(shown), dtype=np.int32)
    above = paths.parent[shown]
    parent = place[np.where(above >= 0, stands[above], -1)]
    # What has lost what told it apart is one box.
    merged = find_paths(parent, np.ascontiguousarray(paths.name[shown]))
    box = np.append(merged.node, np.int32(-1))[place[stands]]
    some, boxes = box >= 0, len(merged.parent)
    kind = opened.timeline.slices.kind[paths.first[shown[merged.first]]]
    tree = tree_of(
        (merged.parent, merged.name, kind),
        np.bincount(box[some], own[some], boxes).astype(np.float64),
        np.bincount(merged.node, count[shown], boxes).astype(np.int64),
    )
    lost = own[~some].sum(keepdims=True)
    if not lost[0]:
        return [tree]
    alone = np.full(1, NO_NAME, np.int32)
    kind = np.full(1, SliceKind.PYTHON, np.uint8)
    slices = count[~some].sum(keepdims=True)
    return [tree, tree_of((alone, alone, kind), lost, slices, label=HIDDEN)]


# --- devices --------------------------------------------------------------------------------------


def _devices(opened: Opened, area: Area, counted: bool) -> list[Tree]:
    """A box per device, and below it one per name."""
    layout = opened.layout
    groups: dict[int, list[int]] = {}
    for track in range(len(layout.tracks)) if area.tracks is None else area.tracks:
        if layout.tracks[track].kind == "stream":
            groups.setdefault(layout.tracks[track].group, []).append(track)
    found = []
    for group, tracks in sorted(groups.items()):
        where = Area(area.start, area.end, tuple(tracks))
        ids = slices_in(opened, where)
        if len(ids):
            label = opened.timeline.groups[group].label
            found.append(_device(opened, label, where, ids, counted))
    return found


def _device(opened: Opened, label: str, area: Area, ids: I32, counted: bool) -> Tree:
    slices = opened.timeline.slices
    code = slices.name[ids]
    count = np.bincount(code)
    time = np.bincount(code, inside(slices, ids, area.start, area.end).dur)
    kind = np.zeros(len(count), np.uint8)
    kind[code] = slices.kind[ids]
    names = np.flatnonzero(count).astype(np.int32)
    parent: I32 = np.append(-1, np.zeros(len(names))).astype(np.int32)
    name: I32 = np.append(NO_NAME, names).astype(np.int32)
    kinds: U8 = np.append(SliceKind.DEVICE_OTHER, kind[names]).astype(np.uint8)
    own = (count if counted else time)[names].astype(np.float64)
    slices_of = np.concatenate([[0], count[names]]).astype(np.int64)
    return tree_of((parent, name, kinds), np.append(0.0, own), slices_of, label=label)
