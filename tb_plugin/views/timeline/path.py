"""The critical path of the steps in a window of time: its parts as a band, and its arrows."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from msgspec import Meta, Struct

from ...analysis.idle.model import IDLE, PATH_KINDS, IdleColumns, PathParts
from ...base.arrays import I32
from ..legend import path_kind
from ..shared import option
from ..view import Subject
from .common import check_range, opened_of, ref
from .contract import LayoutName, SliceRef

MOST_ARROWS = 200


class PathBandQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """A window of time, and how many columns it has on the screen."""

    start_ns: Annotated[int, Meta(ge=-(1 << 62), le=1 << 62)]
    end_ns: Annotated[int, Meta(ge=-(1 << 62), le=1 << 62)]
    columns: Annotated[int, Meta(ge=16, le=4096)] = 1024
    inferred: Annotated[bool, option("follow dependencies that are only inferred, too")] = True


class PathPiece(Struct, frozen=True):
    """One part of the path, or all of a column that are too narrow to see: the longest speaks."""

    ts: int
    dur_ns: int
    kind: str
    label: str  # "Python code"
    category: str
    ghost: bool  # the host, or the device waiting
    name: str  # "" nothing recorded
    slice: int  # −1: none
    slack_ns: int  # −1: not limited
    inferred: bool  # reached by a dependency that is inferred
    parts: int


class PathBand(Struct, frozen=True):
    """The path in a window; outside of steps there is none."""

    pieces: tuple[PathPiece, ...]
    inferred: int  # dependencies of the recording that are inferred


class PathArrowsQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """A window of time, and the layout in which the arrows are drawn."""

    start_ns: Annotated[int, Meta(ge=-(1 << 62), le=1 << 62)]
    end_ns: Annotated[int, Meta(ge=-(1 << 62), le=1 << 62)]
    layout: LayoutName = "split"
    inferred: bool = True


class PathArrow(Struct, frozen=True):
    """Where the path goes over from a thread or stream to another one."""

    source: SliceRef
    target: SliceRef
    leave_ns: int  # the instant within ``source`` …
    arrive_ns: int  # … and within ``target``
    label: str  # what the path does then: "Compute", "Blocking call"
    slack_ns: int  # of the part that is left; −1: not limited
    inferred: bool


class PathArrows(Struct, frozen=True):
    """The arrows of the path in a window; of many those that begin the longest parts."""

    arrows: tuple[PathArrow, ...]  # in order of time
    count: int  # all that there are


def path_arrows(subject: Subject, query: PathArrowsQuery) -> PathArrows:
    """The arrows of critical paths that begin in a window.

    Raises:
        QueryError: the window is empty.
        BeingRead: the paths are being made.
    """
    check_range(query.start_ns, query.end_ns)
    opened = opened_of(subject, query.layout)
    parts, number = _chosen(subject.other_artifact(IDLE), inferred=query.inferred)
    low = int(np.searchsorted(parts.end, query.start_ns, side="right"))
    high = int(np.searchsorted(parts.start, query.end_ns, side="left"))
    # Parts of no slice are passed over, and those that the layout hides.
    at = low + np.flatnonzero(number[low:high] >= 0)
    track = opened.track_of_lane[opened.layout.lane[number[at]]]
    at, track = at[track >= 0], track[track >= 0]
    # The ops and the Python frames of a thread are two tracks and one place.
    place = np.where(parts.on[at] == 0, -1 - parts.thread[at], track)
    goes = np.flatnonzero((np.diff(place) != 0) & (parts.step[at[1:]] == parts.step[at[:-1]]))
    count = len(goes)
    if count > MOST_ARROWS:
        length = (parts.end - parts.start)[at[goes + 1]]
        goes = np.sort(goes[np.argsort(-length, kind="stable")[:MOST_ARROWS]])
    found = []
    for left, entered in zip(at[goes].tolist(), at[goes + 1].tolist(), strict=True):
        source, target = ref(opened, int(number[left])), ref(opened, int(number[entered]))
        found.append(
            PathArrow(
                source=source,
                target=target,
                leave_ns=_within(source, int(parts.end[left])),
                arrive_ns=_within(target, int(parts.start[entered])),
                label=path_kind(PATH_KINDS[parts.kind[entered]], subject.facts).label,
                slack_ns=int(parts.slack[left]),
                inferred=bool(parts.inferred[left] or parts.inferred[entered]),
            )
        )
    return PathArrows(tuple(found), count)


def _within(one: SliceRef, at: int) -> int:
    return min(max(at, one.ts), one.ts + one.dur)


def _chosen(columns: IdleColumns, *, inferred: bool) -> tuple[PathParts, I32]:
    """The path, with or without inferred parts, and the slice of each part."""
    if inferred or not columns.inferred_count:
        return columns.path, columns.path_names.slice
    return columns.certain, columns.certain_names.slice


def path_band(subject: Subject, query: PathBandQuery) -> PathBand:
    """The parts of critical paths in a window, at most two for each column.

    Raises:
        QueryError: the window is empty.
        BeingRead: the paths are being made.
    """
    check_range(query.start_ns, query.end_ns)
    columns: IdleColumns = subject.other_artifact(IDLE)
    parts, names = columns.path, columns.path_names
    if not query.inferred and columns.inferred_count:
        parts, names = columns.certain, columns.certain_names
    low = int(np.searchsorted(parts.end, query.start_ns, side="right"))
    high = int(np.searchsorted(parts.start, query.end_ns, side="left"))
    if low >= high:
        return PathBand((), columns.inferred_count)
    start, end = parts.start[low:high], parts.end[low:high]
    width = max(1.0, (query.end_ns - query.start_ns) / query.columns)
    column = ((start - query.start_ns) // width).astype(np.int64)
    # Neighbours narrower than a column are one piece with those of the same column.
    wide = end - start >= width
    new = np.ones(len(start), np.bool_)
    new[1:] = wide[1:] | wide[:-1] | (np.diff(column) != 0) | (start[1:] != end[:-1])
    head = np.flatnonzero(new)
    group = np.cumsum(new) - 1
    order = np.lexsort((start - end, group))
    longest = low + order[head]
    last = np.append(head[1:], len(start)) - 1
    kinds = [path_kind(kind, subject.facts) for kind in PATH_KINDS]
    pieces = tuple(
        PathPiece(
            ts=ts,
            dur_ns=until - ts,
            kind=PATH_KINDS[kind],
            label=kinds[kind].label,
            category=kinds[kind].category,
            ghost=kinds[kind].ghost,
            name=columns.strings[name] if name >= 0 else "",
            slice=number,
            slack_ns=slack,
            inferred=bool(inferred),
            parts=count,
        )
        for ts, until, kind, name, number, slack, inferred, count in zip(
            start[head].tolist(),
            end[last].tolist(),
            parts.kind[longest].tolist(),
            names.name[longest].tolist(),
            names.slice[longest].tolist(),
            parts.slack[longest].tolist(),
            parts.inferred[longest].tolist(),
            np.diff(np.append(head, len(start))).tolist(),
            strict=True,
        )
    )
    return PathBand(pieces, columns.inferred_count)
