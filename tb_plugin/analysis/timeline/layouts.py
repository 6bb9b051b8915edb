"""Slices into lanes: one below the other where they are nested or overlap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...trace.lanes import Lanes, assign_lanes
from ...trace.model import HostKind, Trace
from .frames import plumbing
from .groups import Groups
from .minimap import COLUMNS, busy_columns
from .model import I32, I64, Places, Track
from .slices import narrow
from .tracks import Heading, divide

_NEVER = np.iinfo(np.int64).min


@dataclass(frozen=True, slots=True, eq=False)
class Arrangement:
    """A layout before its levels of detail."""

    tracks: tuple[Track, ...]
    lane_first: I64
    order: I32
    lane: Places
    overlapping: I32  # slices that were displaced
    hidden: int  # slices that are in no lane
    busy: I64  # (tracks, columns): union of the track's slices in equal parts of the trace


def arrange(trace: Trace, groups: Groups, ts: I64, dur: I64, layout: str) -> Arrangement:
    """Tracks and lanes of one of ``LAYOUTS``; ``ts`` and ``dur`` by slice id."""
    division = divide(trace, groups, _python(trace, layout))
    rows = in_track_order(division.track, ts, dur)
    track = division.track[rows]
    start, length = ts[rows], dur[rows]
    first = np.ones(len(rows), np.bool_)
    np.not_equal(track[1:], track[:-1], out=first[1:])
    lanes = assign_lanes(start, length, first)
    bounds = np.append(np.flatnonzero(first), len(rows))
    columns = [
        busy_columns(start[low:high], length[low:high], trace.end_ns)
        for low, high in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
    ]
    busy = np.stack(columns) if columns else np.empty((0, COLUMNS), np.int64)
    tracks = _tracks(division.headings, bounds, start, length, lanes, busy)
    first_lane = np.array([one.lane for one in tracks], np.int64)
    count = int(lanes.counts.sum())
    lane_of_row = (first_lane[track] + lanes.lane).astype(narrow(count))
    order = np.argsort(lane_of_row, kind="stable")
    lane = np.full(len(ts), -1, lane_of_row.dtype)
    lane[rows] = lane_of_row
    per_lane = np.bincount(lane_of_row, minlength=count)
    return Arrangement(
        tracks=tracks,
        lane_first=np.concatenate([[0], np.cumsum(per_lane)]).astype(np.int64),
        order=rows[order],
        lane=lane,
        overlapping=rows[lanes.displaced],
        hidden=len(ts) - len(rows),
        busy=busy,
    )


def in_track_order(track: I32, ts: I64, dur: I64) -> I32:
    """Ids of the shown slices by (track, ts, −dur, id)."""
    shown: I32 = np.flatnonzero(track >= 0).astype(np.int32)
    # Of 16 bits numpy sorts by counting.
    key = track[shown].astype(narrow(int(track.max(initial=0)) + 1))
    ids: I32 = shown[np.argsort(key, kind="stable")]
    key, start, length = track[ids], ts[ids], dur[ids]
    wrong = (start[1:] == start[:-1]) & (length[1:] > length[:-1])
    wrong |= start[1:] < start[:-1]
    wrong &= key[1:] == key[:-1]
    for one in np.unique(key[1:][wrong]).tolist():
        part = slice(*np.searchsorted(key, [one, one + 1]).tolist())
        mine = np.asarray(ids[part])
        ids[part] = mine[np.lexsort((mine, -length[part], start[part]))]
    return ids


def _python(trace: Trace, layout: str) -> I32 | None:
    """0 with the ops, 1 in a track of its own, −1 hidden, for each host row; None all together."""
    kind = trace.host.kind
    if layout == "merged":
        return None
    python = ((kind == HostKind.PYTHON) | (kind == HostKind.MODULE)).astype(np.int32)
    if layout == "filtered":
        python[plumbing(trace)] = -1
    return python


def _tracks(
    headings: tuple[Heading, ...], bounds: I64, ts: I64, dur: I64, lanes: Lanes, busy: I64
) -> tuple[Track, ...]:
    made = []
    lane = 0
    for number, heading in enumerate(headings):
        low, high = int(bounds[number]), int(bounds[number + 1])
        made.append(
            Track(
                key=heading.key,
                group=heading.group,
                kind=heading.kind,
                label=heading.label,
                detail=heading.detail,
                lane=lane,
                lanes=int(lanes.counts[number]),
                slices=high - low,
                busy_ns=int(busy[number].sum()),
                first_ns=int(ts[low]),
                last_ns=int((ts[low:high] + dur[low:high]).max()),
                overlaps=int(np.count_nonzero(lanes.displaced[low:high])),
            )
        )
        lane += int(lanes.counts[number])
    return tuple(made)
