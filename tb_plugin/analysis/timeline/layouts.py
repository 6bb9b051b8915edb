"""Slices into lanes: one below the other where they are nested or overlap."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ...trace.lanes import Lanes, assign_lanes
from ...trace.model import HostKind, Trace
from .frames import of_others, plumbing
from .groups import Groups
from .minimap import busy_columns, columns_kept
from .model import I32, I64, Places, Track
from .slices import narrow
from .tracks import Heading, divide


@dataclass(frozen=True, slots=True, eq=False)
class Arrangement:
    """A layout before its levels of detail."""

    tracks: tuple[Track, ...]
    lane_first: I64
    order: I32
    lane: Places
    overlapping: I32  # slices that were displaced
    hidden: int  # slices that are in no lane
    is_all_of_others: bool  # no frame is the user's own: all are shown
    busy: I64  # (tracks, columns): union of the track's slices in equal parts of the trace


def arrange(
    trace: Trace,
    groups: Groups,
    ts: I64,
    dur: I64,
    layout: str,
    on_share: Callable[[float], None],
) -> Arrangement:
    """Tracks and lanes of one of ``LAYOUTS``; ``ts`` and ``dur`` by slice id.

    One track after the other, so that little is in memory at a time; ``on_share`` hears how much
    is done.
    """
    python = _python(trace, layout)
    division = divide(trace, groups, python)
    order, first = _by_track(division.track, len(division.headings))
    lane = np.full(len(ts), -1, np.int32)
    tracks: list[Track] = []
    busy, counts, overlapping = [], [np.zeros(1, np.int64)], [order[:0]]
    lanes, kept = 0, columns_kept(len(division.headings))
    for heading, low, high in zip(division.headings, first[:-1], first[1:], strict=True):
        ids = _in_time_order(order[low:high], ts, dur)
        start, length = ts[ids], dur[ids]
        found = assign_lanes(start, length, np.arange(len(ids)) == 0)
        columns = busy_columns(start, length, trace.end_ns, kept)
        displaced = ids[found.displaced]
        track = _track(heading, lanes, (start, length), found, columns, len(displaced))
        lane[ids] = found.lane
        lane[ids] += lanes
        # Of 16 bits numpy sorts by counting.
        order[low:high] = ids[np.argsort(found.lane, kind="stable")]
        counts.append(np.bincount(found.lane))
        overlapping.append(displaced)
        tracks.append(track)
        busy.append(columns)
        lanes += track.lanes
        on_share(high / len(order))
    return Arrangement(
        tracks=tuple(tracks),
        lane_first=np.cumsum(np.concatenate(counts)),
        order=order,
        lane=lane.astype(narrow(lanes)),
        overlapping=np.concatenate(overlapping),
        hidden=len(ts) - len(order),
        is_all_of_others=layout == "user" and of_others(trace) is None,
        busy=np.stack(busy) if busy else np.empty((0, kept), np.int64),
    )


def _by_track(track: Places, count: int) -> tuple[I32, list[int]]:
    """Ids of the shown slices by (track, id), and where each track begins."""
    shown: I32 = np.flatnonzero(track >= 0).astype(np.int32)
    mine = track[shown]
    first = np.concatenate([[0], np.cumsum(np.bincount(mine, minlength=count))])
    return shown[np.argsort(mine, kind="stable")], first.tolist()


def _in_time_order(ids: I32, ts: I64, dur: I64) -> I32:
    """The slices of a track by (ts, −dur, id); they nearly are."""
    start = ts[ids]
    later = start[1:] > start[:-1]
    if later.all():
        return ids
    length = dur[ids]
    if (later | ((start[1:] == start[:-1]) & (length[1:] <= length[:-1]))).all():
        return ids
    return ids[np.lexsort((ids, -length, start))]


def _python(trace: Trace, layout: str) -> I32 | None:
    """0 with the ops, 1 in a track of its own, −1 hidden, for each host row; None all together."""
    kind = trace.host.kind
    if layout == "merged":
        return None
    python: I32 = np.isin(kind, (HostKind.PYTHON, HostKind.MODULE)).astype(np.int32)
    left_out = None
    if layout == "filtered":
        left_out = plumbing(trace)
    elif layout == "user":
        left_out = of_others(trace)
    if left_out is not None:
        python[left_out] = -1
    return python


def _track(
    heading: Heading, lane: int, times: tuple[I64, I64], lanes: Lanes, busy: I64, overlaps: int
) -> Track:
    start, length = times
    return Track(
        key=heading.key,
        group=heading.group,
        kind=heading.kind,
        label=heading.label,
        detail=heading.detail,
        lane=lane,
        lanes=int(lanes.counts[0]),
        slices=len(start),
        busy_ns=int(busy.sum()),
        first_ns=int(start[0]),
        last_ns=int((start + length).max()),
        overlaps=overlaps,
        hidden=heading.hidden,
    )
