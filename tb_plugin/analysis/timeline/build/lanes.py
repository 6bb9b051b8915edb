"""The lane of each slice of a track, so that no two slices of a lane overlap.

Rows are sorted by (track, ts, −dur, place in the file). The parent of a row is the latest started
event before it that is still open at ``ts`` and contains it; an overrun of up to 2 µs counts as
contained. A row is put on the lane under its parent, or on the first one, unless something there is
still open: then it is *displaced*, to the next lane below that is free.

      A ███████████████████████
      B   ███████████                 B and C overlap: both are children of A,
      C        ·   ████████████       and C is displaced

So on any data: nothing is dropped, no two events of a lane overlap, a child is below its parent;
and where events are properly nested the lane is the depth of the call. Where 65,536 events are open
at once the last lane takes what finds no other, the only case in which events are drawn over.

``share_lanes`` is for events of which none is inside another: the nodes of replayed graphs. There
are as many lanes as events run at once, and a node keeps the lane of its first replay where that is
free.

      replay  A ████   C ████       A ████
                B ████              B ████████      B in its lane, although it is the first to begin
      lanes   0 A      C            1 B, 0 A
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from heapq import heappop, heappush

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ....base.arrays import I32, I64
from ....base.native import call

TOLERANCE_NS = 2000  # for the drawing alone; whose time is whose is a matter of ``nest``
LAST_LANE = 0xFFFF
_LATEST = np.iinfo(np.int64).max
_CHUNK = 65536  # rows that are Python numbers at a time


class Lanes(Struct, frozen=True, eq=False):
    """``lane`` and ``displaced`` per row, ``counts`` per track."""

    lane: NDArray[np.uint16]
    displaced: NDArray[np.bool_]
    counts: NDArray[np.int32]


def assign_lanes(ts: I64, dur: I64, first: NDArray[np.bool_]) -> Lanes:
    """Lanes of rows sorted by (track, ts, −dur); ``first`` marks the first row of each track.

    However the events overlap, a row takes about 15 ns, and 2 µs without the native library.
    What has a negative duration is drawn as an instant.
    """
    ts, dur = np.ascontiguousarray(ts, np.int64), np.ascontiguousarray(dur, np.int64)
    first = np.ascontiguousarray(first, bool)
    lane = np.empty(len(ts), np.uint16)
    displaced = np.empty(len(ts), bool)
    done = call("kinetoscope_lanes", ts, dur, first, len(ts), TOLERANCE_NS, lane, displaced)
    if done is None:
        return assign_lanes_in_python(ts, dur, first)
    return _lanes(lane, displaced, first)


def assign_lanes_in_python(ts: I64, dur: I64, first: NDArray[np.bool_]) -> Lanes:
    """The reference of ``assign_lanes``."""
    row = np.dtype([("lane", np.uint16), ("displaced", bool)])
    found = np.fromiter(_sweep(ts, dur, first), row, len(ts))
    return _lanes(found["lane"].copy(), found["displaced"].copy(), first)


def share_lanes(ts: I64, dur: I64, node: I32) -> Lanes:
    """Lanes of one track's rows, sorted by (ts, −dur): as few as possible, and nothing displaced.

    ``node`` holds codes from 0 on of what is repeated, −1 for none. A row takes the lane of the
    first row of its node if that is free, else the first free one: interval partitioning, which
    needs as many lanes as rows are open at once, whichever of the free ones it takes.
    """
    ts, dur = np.ascontiguousarray(ts, np.int64), np.ascontiguousarray(dur, np.int64)
    node = np.ascontiguousarray(node, np.int32)
    lane = np.empty(len(ts), np.uint16)
    nodes = int(node.max(initial=-1)) + 1
    if call("kinetoscope_shared_lanes", ts, dur, node, len(ts), nodes, lane) is None:
        return share_lanes_in_python(ts, dur, node)
    return _shared(lane)


def share_lanes_in_python(ts: I64, dur: I64, node: I32) -> Lanes:
    """The reference of ``share_lanes``."""
    return _shared(np.fromiter(_partition(ts, dur, node), np.uint16, len(ts)))


def _shared(lane: NDArray[np.uint16]) -> Lanes:
    track = np.zeros(len(lane), np.bool_)
    track[:1] = True
    return _lanes(lane, np.zeros(len(lane), np.bool_), track)


def _partition(ts: I64, dur: I64, node: I32) -> Iterator[int]:
    """Lane of each row."""
    busy: list[tuple[int, int]] = []  # a heap: until when, which lane
    free: list[int] = []  # in order
    first: dict[int, int] = {}
    for at in range(0, len(ts), _CHUNK):
        part = slice(at, at + _CHUNK)
        for start, length, of in zip(
            ts[part].tolist(), dur[part].tolist(), node[part].tolist(), strict=True
        ):
            while busy and busy[0][0] <= start:
                insort(free, heappop(busy)[1])
            place = bisect_left(free, first.get(of, 0))
            if place == len(free) or (of in first and free[place] != first[of]):
                place = 0
            # Lanes are taken from the top, so those that were ever taken are free or busy.
            lane = free.pop(place) if free else len(busy)
            if lane <= LAST_LANE:
                heappush(busy, (min(start + max(length, 0), _LATEST), lane))
            lane = min(lane, LAST_LANE)
            if of >= 0:
                first.setdefault(of, lane)
            yield lane


def _lanes(
    lane: NDArray[np.uint16], displaced: NDArray[np.bool_], first: NDArray[np.bool_]
) -> Lanes:
    tracks = np.flatnonzero(first)
    counts = np.maximum.reduceat(lane, tracks).astype(np.int32) + 1 if len(tracks) else lane[:0]
    return Lanes(lane, displaced, counts.astype(np.int32, copy=False))


def _sweep(ts: I64, dur: I64, first: NDArray[np.bool_]) -> Iterator[tuple[int, bool]]:
    """Lane of each row, and whether it is displaced."""
    # Open events by end and lane. Whoever starts later and ends no earlier hides those before it,
    # so ends only fall from the bottom to the top, and each row is put on and taken off once.
    open_: list[tuple[int, int]] = []
    busy: list[tuple[int, int]] = []  # a heap: until when, which lane
    free: list[int] = []  # in order
    for start, length, begins in _rows(ts, dur, first):
        if begins:
            open_, busy, free = [], [], []
        end = min(start + max(length, 0), _LATEST)
        while busy and busy[0][0] <= start:
            insort(free, heappop(busy)[1])
        while open_ and (open_[-1][0] <= start or open_[-1][0] + TOLERANCE_NS < end):
            open_.pop()
        wanted = open_[-1][1] + 1 if open_ else 0
        at = bisect_left(free, wanted)
        # Lanes are taken from the top, so those that were ever taken are free or busy.
        lane = free.pop(at) if at < len(free) else len(free) + len(busy)
        if lane <= LAST_LANE:
            heappush(busy, (end, lane))
        lane = min(lane, LAST_LANE)
        while open_ and open_[-1][0] <= end:
            open_.pop()
        open_.append((end, lane))
        yield lane, lane != wanted


def _rows(ts: I64, dur: I64, first: NDArray[np.bool_]) -> Iterator[tuple[int, int, bool]]:
    for at in range(0, len(ts), _CHUNK):
        part = slice(at, at + _CHUNK)
        yield from zip(ts[part].tolist(), dur[part].tolist(), first[part].tolist(), strict=True)
