"""The call tree of an area, merged by path.

A thread is taken as a whole, ops and Python frames together: a tree without the callers would be
none. What a node is worth is the self time of its slices inside the area, so that no instant counts
twice and all self times sum to the value of the roots exactly. Device work has no callers; its
names lie below a box of their device.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .crossing import open_at, spent_before
from .flame_tree import NO_NAME, Flame, Node, pruned, summed
from .model import F64, I64, SliceKind
from .opened import Opened
from .paths import Paths
from .select import Area, inside, slices_in

HIDDEN = "(hidden frames)"


def flame_in(opened: Opened, area: Area, metric: str, min_share: float) -> Flame:
    """The tree of an area; ``metric`` is "total" (ns) or "count"."""
    nodes = _host_nodes(opened, area)
    nodes += _device_nodes(opened, area, len(nodes))
    if metric == "count":
        for node in nodes:
            node.own = float(node.slices)
    return pruned(summed(nodes), min_share)


# --- the host -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Worth:
    """Self time inside the area and slices that touch it, by node of the paths."""

    own: F64
    count: I64


def _host_nodes(opened: Opened, area: Area) -> list[Node]:
    """Nodes of the paths that occur, callers of them included."""
    paths = opened.paths
    worth = _spent(opened, area, paths)
    used = worth.count > 0
    above = np.flatnonzero(used)
    while len(above):
        above = np.unique(paths.parent[above])
        above = above[above >= 0]
        above = above[~used[above]]
        used[above] = True
    return _merged(opened, paths, np.flatnonzero(used), worth)


def _spent(opened: Opened, area: Area, paths: Paths) -> _Worth:
    slices, threads = opened.timeline.slices, opened.threads
    own, count = np.zeros(len(paths.parent)), np.zeros(len(paths.parent), np.int64)
    tracks = threads.of_track if area.tracks is None else area.tracks
    until_start = spent_before(opened, area.start)
    until_end = spent_before(opened, area.end)
    for thread in sorted({threads.of_track[t] for t in tracks if t in threads.of_track}):
        open_, first = open_at(opened, thread, area.start)
        still_open, last = open_at(opened, thread, area.end)
        node = paths.node[first:last]
        # Sums stay below 2^53 ns, 104 days of a thread: doubles hold them exactly.
        own += np.bincount(node, slices.self_ns[first:last], len(own))
        count += np.bincount(node, minlength=len(count))
        for row in open_.tolist():
            own[paths.node[row]] += until_end.get(row, int(slices.self_ns[row])) - until_start[row]
            count[paths.node[row]] += 1
        for row in still_open[still_open >= first].tolist():
            own[paths.node[row]] += until_end[row] - int(slices.self_ns[row])
    return _Worth(own, count)


def _merged(opened: Opened, paths: Paths, used: NDArray[np.intp], worth: _Worth) -> list[Node]:
    """The nodes without the frames that the layout hides: their time is their callers'."""
    names, kinds = opened.timeline.names, opened.timeline.slices.kind
    first = paths.first[used]
    rows = zip(
        used.tolist(),
        paths.parent[used].tolist(),
        paths.name[used].tolist(),
        kinds[first].tolist(),
        (opened.layout.lane[first] < 0).tolist(),
        worth.own[used].tolist(),
        worth.count[used].tolist(),
        strict=True,
    )
    nodes: list[Node] = []
    known: dict[tuple[int, int], int] = {}  # (place of the parent, name) → place in ``nodes``
    place: dict[int, int] = {-1: -1}  # node of the paths → place of what stands for it

    def at(parent: int, name: int, text: str, kind: int) -> int:
        found = known.get((parent, name))
        if found is None:
            found = known[parent, name] = len(nodes)
            nodes.append(Node(parent, name, text, kind))
        return found

    for node, parent, name, kind, is_hidden, own, count in rows:
        above = place[parent]
        if not is_hidden:
            place[node] = at(above, name, names[name], kind)
            nodes[place[node]].slices += count
        elif above < 0 and own:
            place[node] = -1
            nodes[at(-1, NO_NAME, HIDDEN, SliceKind.PYTHON)].own += own
            continue
        else:
            place[node] = above
        if place[node] >= 0:
            nodes[place[node]].own += own
    return nodes


# --- devices --------------------------------------------------------------------------------------


def _device_nodes(opened: Opened, area: Area, at: int) -> list[Node]:
    """A box per device, and below it one per name; the first one has the place ``at``."""
    layout, timeline = opened.layout, opened.timeline
    groups: dict[int, list[int]] = {}
    for track in range(len(layout.tracks)) if area.tracks is None else area.tracks:
        if layout.tracks[track].kind == "stream":
            groups.setdefault(layout.tracks[track].group, []).append(track)
    nodes: list[Node] = []
    for group, tracks in sorted(groups.items()):
        ids = slices_in(opened, Area(area.start, area.end, tuple(tracks)))
        if not len(ids):
            continue
        code = timeline.slices.name[ids]
        time = np.bincount(code, inside(timeline.slices, ids, area.start, area.end).dur)
        count = np.bincount(code)
        kind = np.empty(len(count), np.uint8)
        kind[code] = timeline.slices.kind[ids]
        root = at + len(nodes)
        nodes.append(Node(-1, NO_NAME, timeline.groups[group].label, SliceKind.DEVICE_OTHER))
        for name in np.flatnonzero(count).tolist():
            node = Node(root, name, timeline.names[name], int(kind[name]))
            node.own, node.slices = float(time[name]), int(count[name])
            nodes.append(node)
    return nodes
