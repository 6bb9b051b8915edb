"""The call tree of an area of the timeline, merged by path.

A thread is taken as a whole, ops and Python frames together, since a call tree needs the callers.
The value of a node is the self time of its slices inside the area, so that no instant counts twice
and all self times sum to the value of the roots exactly. Device work has no callers; its names lie
below a box of their device.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ....base.arrays import I32, I64
from ....base.group_sums import group_sums
from ...call_tree.flame import FlameTree, merged, side_by_side
from ...call_tree.paths import SlicePaths
from ..model import DEVICE_TRACKS, SliceKind
from ..timeline import Opened
from .sums import Area, inside, slices_in

HIDDEN = "(hidden frames)"
KIND_NAMES = tuple(kind.name.lower() for kind in SliceKind)


def flame_in(opened: Opened, area: Area, metric: str) -> FlameTree:
    """The tree of an area; ``metric`` is "total" (ns) or "count" (slices)."""
    counted = metric == "count"
    host = _host(opened, area, counted=counted)
    return side_by_side([*host, *_devices(opened, area, counted=counted)])


def _tree(opened: Opened, *columns: ArrayLike) -> FlameTree:
    """A tree with names of the timeline; the code of a group is that of its label."""
    parent, name, kind, own, count = columns
    return FlameTree(
        np.asarray(parent, np.int32),
        np.asarray(name, np.int32),
        np.asarray(kind, np.int32),
        np.asarray(own, np.int64),
        np.asarray(count, np.int64),
        names=opened.timeline.names,
        labels=(HIDDEN, *(group.label for group in opened.timeline.groups)),
        kinds=KIND_NAMES,
    )


# --- the host -------------------------------------------------------------------------------------


def _host(opened: Opened, area: Area, *, counted: bool) -> list[FlameTree]:
    """All paths; those without slices in the area have the value 0.

    Time of frames that the layout hides is their callers'; where there is none, it has a box.
    """
    paths = opened.paths
    own, count = _spent(opened, area, paths)
    kind = opened.timeline.slices.kind[paths.first]
    tree = _tree(opened, paths.parent, paths.name, kind, count if counted else own, count)
    if not opened.hides:
        return [tree]
    shown, box = merged(tree, opened.layout.lane[paths.first] >= 0)
    lost = box < 0
    if not tree.own[lost].any():
        return [shown]
    sums = [tree.own[lost].sum()], [tree.count[lost].sum()]
    return [shown, _tree(opened, [-1], [len(tree.names)], [SliceKind.PYTHON], *sums)]


def _spent(opened: Opened, area: Area, paths: SlicePaths) -> tuple[I64, I64]:
    """Self time inside the area and slices that touch it, by node of the paths."""
    slices, threads = opened.timeline.slices, opened.threads
    own, count = (np.zeros(len(paths.parent), np.int64) for _ in range(2))
    # Of a thread whose slices are all hidden there is no track.
    every = range(len(threads.first) - 1)
    chosen = None if area.tracks is None else {threads.of_track.get(t) for t in area.tracks}
    for thread in (one for one in every if chosen is None or one in chosen):
        start, end = (opened.crossing(thread, at) for at in (area.start, area.end))
        node = paths.node[start.last : end.last]
        sums = group_sums(node, slices.self_ns[start.last : end.last], len(own))
        own += sums.total
        count += sums.count
        # Of what is open at an edge, only a part was spent inside.
        before = start.rows
        np.add.at(own, paths.node[before], slices.self_ns[before] - start.spent)
        np.add.at(count, paths.node[before], 1)
        np.add.at(own, paths.node[end.rows], end.spent - slices.self_ns[end.rows])
    return own, count


# --- devices --------------------------------------------------------------------------------------


def _devices(opened: Opened, area: Area, *, counted: bool) -> list[FlameTree]:
    """A box per device, and below it one per name."""
    layout = opened.layout
    groups: dict[int, list[int]] = {}
    for track in range(len(layout.tracks)) if area.tracks is None else area.tracks:
        if layout.tracks[track].kind in DEVICE_TRACKS:
            groups.setdefault(layout.tracks[track].group, []).append(track)
    found = []
    for group, tracks in sorted(groups.items()):
        where = Area(area.start, area.end, tuple(tracks))
        ids = slices_in(opened, where)
        if len(ids):
            found.append(_device(opened, group, where, ids, counted=counted))
    return found


def _device(opened: Opened, group: int, area: Area, ids: I32, *, counted: bool) -> FlameTree:
    slices, label = opened.timeline.slices, len(opened.timeline.names) + 1 + group
    code = slices.name[ids]
    sums = group_sums(code, inside(slices, ids, area.start, area.end).dur, int(code.max()) + 1)
    kind = np.zeros(len(sums.count), np.int32)
    kind[code] = slices.kind[ids]
    names = np.flatnonzero(sums.count)
    parent, count = np.zeros(len(names) + 1, np.int32), np.append(0, sums.count[names])
    parent[0] = -1
    own = count if counted else np.append(0, sums.total[names])
    kinds = np.append(SliceKind.DEVICE_OTHER, kind[names])
    return _tree(opened, parent, np.append(label, names), kinds, own, count)
