"""Which event of a thread held each instant of some stretches of time: the innermost one open.

    device  ▒▒▒▒▒                     ▒▒▒▒
    thread    ├ aten::copy_ ───────┤
                ├ hipMemcpy… ────┤├ launch ┤
    holder       ↑ hipMemcpy…     ↑ launch

So every instant has at most one holder, and what the holders hold sums to what was asked about.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ...base.arrays import I8, I32, I64, least_of_largest, where
from ...base.group_sums import group_sums
from ...base.intervals import Intervals, length_before
from ...base.native import call
from ...trace.model import Trace
from ..host_activity import Hosts


class HeldRows(NamedTuple):
    """Time under single events: one entry per event and window that it touches."""

    row: I32  # of the host table
    window: I32
    idle: I64  # ns, of the instants at which this was the innermost open event
    cause: I8  # place in IDLE_CAUSES

    def of(self, cause: I8) -> HeldRows:
        """The same, with these causes."""
        return self._replace(cause=cause)


_ROOM_PER_WINDOW = 64  # for events that reach over its edges
_NOTHING = np.empty(0, np.int32)
NO_ROWS = HeldRows(_NOTHING, _NOTHING, np.empty(0, np.int64), np.empty(0, np.int8))


def together(parts: Sequence[HeldRows]) -> HeldRows:
    """All entries of several."""
    if len(parts) < 2:
        return parts[0] if parts else NO_ROWS
    return HeldRows(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def holders(
    trace: Trace, hosts: Hosts, thread: int, pieces: Intervals, windows: Intervals
) -> HeldRows:
    """The time that each event of a thread holds, per window; causes are 0.

    ``windows`` are disjoint and in order, and hold all pieces.
    """
    low, high = int(hosts.first[thread]), int(hosts.first[thread + 1])
    if low == high or not len(pieces):
        return NO_ROWS
    rows = slice(low, high)
    room = high - low + _ROOM_PER_WINDOW * len(windows)
    found = _by_native(trace, rows, pieces, windows, room)
    return holders_in_python(trace, rows, pieces, windows) if found is None else found


def _by_native(
    trace: Trace, rows: slice, pieces: Intervals, windows: Intervals, room: int
) -> HeldRows | None:
    """The same by the library; None where it cannot."""
    host = trace.host
    row, window = (np.empty(room, np.int32) for _ in range(2))
    idle = np.empty(room, np.int64)
    count = call(
        "kinetoscope_exclusive",
        *(host.ts[rows], host.dur[rows], host.parent[rows], rows.stop - rows.start, rows.start),
        *(np.ascontiguousarray(pieces.start), np.ascontiguousarray(pieces.end), len(pieces)),
        *(windows.start, windows.end, len(windows)),
        *(row, window, idle, room),
    )
    if count is None:
        return None
    if count > room:  # so much is needed
        return _by_native(trace, rows, pieces, windows, count)
    return HeldRows(row[:count], window[:count], idle[:count], np.zeros(count, np.int8))


def holders_in_python(trace: Trace, rows: slice, pieces: Intervals, windows: Intervals) -> HeldRows:
    """The reference of ``holders``, of the rows of one thread."""
    low, high = rows.start, rows.stop
    some, entries = _touched(trace, rows, pieces, windows)
    # What a child holds, its parent does not; a parent touches what its child touches.
    at = np.full(high - low, -1, np.int32)  # of an event: its place in ``some``
    at[some] = np.arange(len(some), dtype=np.int32)
    parent = trace.host.parent[low:high][some] - np.int32(low)
    above = np.where(parent >= 0, at[np.maximum(parent, 0)], -1)[entries.event]
    del at, parent
    child = np.flatnonzero(above >= 0)
    above = above[child]
    entry = entries.first[above] + entries.window[child] - entries.first_window[above]
    inside = (entries.window[child] >= entries.first_window[above]) & (
        entry < entries.first[above + 1]
    )
    held = np.bincount(entry[inside], entries.idle[child[inside]], len(entries.idle))
    del above, child, entry, inside
    own = entries.idle - held.astype(np.int64)
    del held
    keep = np.flatnonzero(own > 0)
    row = some[entries.event[keep]] + np.int32(low)
    return HeldRows(row, entries.window[keep], own[keep], np.zeros(len(keep), np.int8))


class _Entries(NamedTuple):
    """Events by the windows they touch; those of event i are [first[i], first[i + 1])."""

    first: I64
    first_window: I32  # of each event
    event: I32  # of each entry
    window: I32
    idle: I64


def _touched(
    trace: Trace, rows: slice, pieces: Intervals, windows: Intervals
) -> tuple[I32, _Entries]:
    """The events of a thread that touch the pieces, and how much of each window they cover."""
    ts = trace.host.ts[rows]
    end = ts + trace.host.dur[rows]
    # The pieces that an event touches: [begin, stop). Events are in order of their start, and
    # most events of a busy device touch none.
    begin = np.bincount(np.searchsorted(ts, pieces.end), minlength=len(ts) + 1)[:-1]
    np.cumsum(begin, out=begin)
    far = np.iinfo(np.int64).max
    starts = np.append(pieces.start, far)
    some = where(starts[begin] < end)
    begin, ts, end = begin[some], ts[some], end[some]
    stop = begin + 1  # most touch one piece
    more = np.flatnonzero(starts[stop] < end)
    stop[more] = np.searchsorted(pieces.start, end[more], side="left")
    passed = np.concatenate([np.zeros(1, np.int64), np.cumsum(pieces.end - pieces.start)])
    idle = passed[stop] - passed[begin]
    idle -= np.maximum(ts - pieces.start[begin], 0)
    idle -= np.maximum(pieces.end[stop - 1] - end, 0)
    window = (np.searchsorted(windows.start, pieces.start, side="right") - 1).astype(np.int32)
    first, last = window[begin], window[stop - 1]
    del starts, begin, stop, more, passed, window
    return some, _by_window(windows, pieces, ts, end, first, last, idle)


def _by_window(
    windows: Intervals, pieces: Intervals, ts: I64, end: I64, low: I32, high: I32, idle: I64
) -> _Entries:
    """Time under events, cut at the edges of the windows [low, high] that each touches."""
    spans = high - low + 1
    first = np.concatenate([np.zeros(1, np.int64), np.cumsum(spans)])
    events = np.arange(len(ts), dtype=np.int32)
    if not (spans > 1).any():
        return _Entries(first, low, events, low, idle)
    event = np.repeat(events, spans)
    window = (np.arange(len(event)) - first[event] + low[event]).astype(np.int32)
    cut = np.flatnonzero(spans[event] > 1)
    values = idle[event]
    values[cut] = length_before(pieces, np.minimum(end[event[cut]], windows.end[window[cut]]))
    values[cut] -= length_before(pieces, np.maximum(ts[event[cut]], windows.start[window[cut]]))
    return _Entries(first, low, event, window, values)


def largest(values: I64, count: int) -> I64:
    """The places of the largest values, in no order."""
    if len(values) <= count:
        return np.arange(len(values))
    some = np.flatnonzero(values >= least_of_largest(values, count))
    # Several equal ones at the limit: which of them count is left to numpy.
    return some if len(some) == count else np.argpartition(values, len(values) - count)[-count:]


def covered(rows: HeldRows, total: I64, causes: int) -> tuple[I64, I64]:
    """Time by window and cause, shape (windows, causes), and what of ``total`` none of them holds.

    Events that outlive each other (generators) may hold an instant twice: never more counts than
    there is.
    """
    key = rows.window * np.int32(causes) + rows.cause
    cells = group_sums(key, rows.idle, len(total) * causes).total.reshape(len(total), causes)
    room = total.copy()
    for cause in range(causes):
        np.minimum(cells[:, cause], room, out=cells[:, cause])
        room -= cells[:, cause]
    return cells, room


def outermost_first(parent: I32, rows: I32) -> I64:
    """The way down to each event: shape (levels, rows), from its root to itself, then −1."""
    levels = [rows]
    while (levels[-1] >= 0).any():
        at = levels[-1]
        levels.append(np.where(at >= 0, parent[np.maximum(at, 0)].astype(np.int64), -1))
    chain = np.stack(levels[:-1])  # from itself upwards
    length = (chain >= 0).sum(axis=0)
    at = length - 1 - np.arange(len(chain))[:, None]
    found = chain[np.maximum(at, 0), np.arange(len(rows))]
    return np.where(at >= 0, found, -1)
