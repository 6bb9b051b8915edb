"""Replayed graphs by what their nodes do, where each of hundreds of streams would hold a few.

A captured graph is replayed on as many streams as it has branches, and the driver chooses them. A
track for each says little and fills screens. Folded, the nodes of a device are one track for
compute, one for each kind of collective, one for each direction of copies, and one for memsets:

      stream 7   ██    ██             Graphs · compute     ██ ▓▓ ██ ░░
      stream 29     ▓▓     A     →    Graphs · all_reduce         A
      stream 35           ░░                                ▒▒               what runs at once lies
      stream 41     ▒▒                                                       in rows below

Times stay as they are, and every node is in exactly one row (``lanes.share_lanes``). Work that no
graph launched stays on its stream. Device annotations of streams whose work is all folded come
together in one track.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ....base.arrays import I32, I64, dense, distinct, distinct_values, of_names
from ....base.units import plural
from ....trace.model import DeviceClass, Trace
from ...idle.costs import copy_kind
from ...recording import graph_streams, replayed
from ..model import FOLD_ABOVE, FOLDED

_ORDER = (DeviceClass.COMPUTE, DeviceClass.COMMUNICATION, DeviceClass.COPY, DeviceClass.MEMSET)
_WORDS = {
    DeviceClass.COMPUTE: "compute",
    DeviceClass.COMMUNICATION: "communication",
    DeviceClass.COPY: "copies",
    DeviceClass.MEMSET: "memsets",
}


def is_folded(trace: Trace, layout: str) -> bool:
    """True if a layout folds the streams of graphs, as its name says or the recording decides."""
    _, _, asked = layout.partition("-")
    return asked == FOLDED if asked else graph_streams(trace) > FOLD_ABOVE


class FoldedTrack(Struct, frozen=True):
    """One track of nodes of graphs, or of the annotations of their streams."""

    device: int  # row of Trace.devices
    place: int  # among those of its device
    stem: str  # "compute", "all_reduce", "copies-HtoD", "memsets"; "annotations"
    label: str
    streams: tuple[int, ...]  # rows of StreamTable whose work it holds


class Folding(Struct, frozen=True, eq=False):
    """Folded tracks: work first, annotations last."""

    tracks: tuple[FoldedTrack, ...]
    work: I32  # track of each row of DeviceTable; −1 for what stays on its stream
    annotations: I32  # track of annotations by row of StreamTable; −1 for a stream that stays


def fold(trace: Trace) -> Folding:
    """The tracks of a recording's graphs; columns by row of ``DeviceTable`` and ``StreamTable``."""
    device = trace.device
    nodes = replayed(trace)
    rows = np.flatnonzero(nodes)
    work = np.full(len(device.ts), -1, np.int32)
    stems, of_row = _stems(trace, rows)
    cells = device.device[rows].astype(np.int64) * len(stems) + of_row
    used = distinct_values(cells)
    place = np.searchsorted(used, cells)
    work[rows] = place
    tracks = []
    for number, cell in enumerate(used.tolist()):
        owner, stem = divmod(cell, len(stems))
        streams = distinct(device.stream[rows[place == number]], len(trace.streams)).tolist()
        key, label = stems[stem]
        tracks.append(FoldedTrack(owner, stem, key, label, tuple(streams)))
    return _with_annotations(trace, tracks, work, nodes)


def _stems(trace: Trace, rows: NDArray[np.intp]) -> tuple[list[tuple[str, str]], I64]:
    """Key and label of each kind of work, in the order in which they are shown; that of each row.

    Collectives go by the name of their kernel, copies by direction.
    """
    klass, name = trace.device.klass[rows], trace.device.name[rows]
    found: dict[tuple[int, str], int] = {}
    kind = np.zeros(len(rows), np.int64)
    for order, one in enumerate(_ORDER):
        mine = np.flatnonzero(klass == one)

        def ask(text: str, order: int = order, one: DeviceClass = one) -> int:
            return found.setdefault((order, _stem(one, text)), len(found))

        kind[mine] = of_names(trace.strings, name[mine], ask, np.int64)
    shown = sorted(found)
    rank = np.zeros(len(found), np.int64)
    for place, pair in enumerate(shown):
        rank[found[pair]] = place
    return [(stem, f"Graphs · {stem.replace('-', ' ')}") for _, stem in shown], rank[kind]


def _stem(klass: DeviceClass, name: str) -> str:
    """The key of the work of a class by a kernel or copy of this name.

    >>> _stem(DeviceClass.COPY, "Memcpy HtoD (Pinned -> Device)")
    'copies-HtoD'
    """
    if klass == DeviceClass.COMMUNICATION:
        # Most recordings replay no collective, and many patterns are compiled by it.
        from ...distributed.rank.calls import OTHER, kind_of

        kind = kind_of(name)
        return _WORDS[klass] if kind == OTHER else kind
    kind = copy_kind(name)[0] if klass == DeviceClass.COPY else ""
    return f"{_WORDS[klass]}-{kind}" if kind else _WORDS[klass]


def _with_annotations(
    trace: Trace, tracks: list[FoldedTrack], work: I32, nodes: NDArray[np.bool_]
) -> Folding:
    """Adds a track for the annotations of streams all of whose work is folded."""
    count = len(trace.streams)
    every = np.bincount(trace.device.stream, minlength=count)
    folded = np.bincount(trace.device.stream[nodes], minlength=count)
    gone = np.flatnonzero((folded > 0) & (folded == every))
    annotated = np.zeros(count, np.bool_)
    annotated[distinct_values(trace.device_annotations.stream) if count else []] = True
    annotations = np.full(count, -1, np.int32)
    for owner in distinct_values(trace.streams.device[gone]).tolist():
        mine = gone[trace.streams.device[gone] == owner]
        mine = mine[annotated[mine]]
        if len(mine):
            annotations[mine] = len(tracks)
            streams = tuple(mine.tolist())
            tracks.append(FoldedTrack(owner, -1, "annotations", "Graphs · annotations", streams))
    return Folding(tuple(tracks), work, annotations)


def node_codes(trace: Trace, rows: NDArray[Any]) -> I32:
    """Codes of the nodes that rows of ``DeviceTable`` are replays of; −1 where no id was written.

    A node is known by the ids of its graph and of itself, which stay the same from replay to
    replay. Two that shared a code would only wish for one lane.
    """
    graph, node = (
        dense(trace.device.args.get(name), len(trace.device.ts), 0)[rows]
        for name in ("graph_id", "graph_node_id")
    )
    codes = np.full(len(rows), -1, np.int32)
    known = np.flatnonzero(node > 0)
    if len(known):
        key = (graph[known].astype(np.int64) << 32) ^ node[known].astype(np.int64)
        codes[known] = np.unique(key, return_inverse=True)[1].reshape(-1)
    return codes


def note_of(track: FoldedTrack) -> str:
    """Description of a folded track, in a sentence or two."""
    streams = plural(len(track.streams), "stream")
    if track.stem == "annotations":
        return f"Annotations of {streams} on which graphs alone ran."
    return (
        f"Nodes of replayed graphs, from {streams}: in as few rows as what runs at once needs,"
        " times as recorded. A node keeps its row from replay to replay where that is free."
    )
