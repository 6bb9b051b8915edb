"""The critical path of the steps in a window of time, as wide as the screen can show."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from msgspec import Meta, Struct

from ...analysis.idle.artifact import IDLE, IdleColumns
from ...analysis.idle.critical_path import PATH_KINDS
from ..legend import path_kind
from ..view import Subject
from .common import check_range


class PathBandQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """A window of time, and how many columns it has on the screen."""

    start_ns: Annotated[int, Meta(ge=-(1 << 62), le=1 << 62)]
    end_ns: Annotated[int, Meta(ge=-(1 << 62), le=1 << 62)]
    columns: Annotated[int, Meta(ge=16, le=4096)] = 1024
    inferred: bool = True  # follow dependencies that are only inferred, too


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
    has_device = subject.facts.device_type != "CPU"
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
    kinds = [path_kind(kind, has_device=has_device) for kind in PATH_KINDS]
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
