"""Which event of a thread held each instant of some stretches of time: the innermost one open.

Of events that outlive each other (generators) it is the one that began last.

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

from ...base.arrays import I8, I32, I64, distinct_values, least_of_largest, ranked, search, where
from ...base.group_sums import group_sums
from ...base.intervals import Intervals
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

    def only(self, chosen: I64) -> HeldRows:
        """Some of them."""
        return HeldRows(
            self.row[chosen], self.window[chosen], self.idle[chosen], self.cause[chosen]
        )


_NOTHING = np.empty(0, np.int32)
_AT_ONCE = 1 << 17  # edges of events, pieces and windows
NO_SUMS = (np.empty(0, np.int64), np.empty(0, np.int64))
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
    # Few events hold something in more than one window.
    found = _by_native(trace, rows, pieces, windows, high - low + len(windows))
    return holders_in_python(trace, rows, pieces, windows) if found is None else found


def _by_native(
    trace: Trace, rows: slice, pieces: Intervals, windows: Intervals, room: int
) -> HeldRows | None:
    """The same by the library, with room for so many entries at first; None where it cannot."""
    host = trace.host
    row, window = (np.empty(room, np.int32) for _ in range(2))
    idle = np.empty(room, np.int64)
    count = call(
        "kinetoscope_exclusive",
        *(host.ts[rows], host.dur[rows], rows.stop - rows.start, rows.start),
        *(np.ascontiguousarray(pieces.start), np.ascontiguousarray(pieces.end), len(pieces)),
        *(windows.start, windows.end, len(windows)),
        *(row, window, idle, room),
    )
    if count is None:
        return None
    if count > room:  # so many there are
        return _by_native(trace, rows, pieces, windows, count)
    for column in (row, window, idle):
        column.resize(count, refcheck=False)  # in place: what was not needed goes back
    return HeldRows(row, window, idle, np.zeros(count, np.int8))


def holders_in_python(trace: Trace, rows: slice, pieces: Intervals, windows: Intervals) -> HeldRows:
    """The reference of ``holders``, of the rows of one thread; O(edges · log edges).

    One event holds all between two edges of events, pieces and windows.
    """
    ts = trace.host.ts[rows]
    end = ts + trace.host.dur[rows]
    # Most events of a busy device touch no piece, and do not matter.
    starts = np.append(pieces.start, np.iinfo(np.int64).max)
    some = where((starts[search(pieces.end, ts, "right")] < end) & (end > ts))
    ts, end = ts[some], end[some]
    edge = distinct_values(
        np.concatenate([ts, end, pieces.start, pieces.end, windows.start, windows.end])
    )
    found = [NO_SUMS]  # so many edges at a time: what is noted of them is little beside the events
    for first in range(0, len(edge) - 1, _AT_ONCE):
        part = edge[first : first + _AT_ONCE + 1]
        begin = part[:-1]
        piece = search(pieces.start, begin, "right") - 1
        inside = where((piece >= 0) & (pieces.end[piece] > begin))
        begin, length = begin[inside], np.diff(part)[inside]
        event = _last_open(ts, end, begin)
        known = event >= 0
        begin, length, event = begin[known], length[known], event[known]
        window = search(windows.start, begin, "right") - 1
        found.append(_summed(event * len(windows) + window, length))
    del edge
    keys, idle = _summed(*(np.concatenate(column) for column in zip(*found, strict=True)))
    return HeldRows(
        some[keys // len(windows)] + np.int32(rows.start),
        (keys % len(windows)).astype(np.int32),
        idle,
        np.zeros(len(keys), np.int8),
    )


def _summed(key: I64, value: I64) -> tuple[I64, I64]:
    """The distinct keys in ascending order, and the sum of each."""
    keys, group = ranked(key)
    return keys.astype(np.int64), group_sums(group, value, len(keys)).total


def _last_open(ts: I64, end: I64, at: I64) -> I64:
    """Of events in order of their start, the last begun one that is open at each instant; −1.

    The latest ends of blocks of 1, 2, 4, … events tell in which block it is: O(n + m · log n).
    """
    blocks = [end]
    while len(blocks[-1]) > 1:
        below = blocks[-1][: len(blocks[-1]) // 2 * 2]
        blocks.append(below.reshape(-1, 2).max(axis=1))
    found = np.full(len(at), -1, np.int64)
    left = np.arange(len(at))  # instants for which it is not found
    before = search(ts, at, "right").astype(np.int64)  # so many events have begun
    for level, latest in enumerate(blocks):
        odd = left[(before[left] >> level) & 1 > 0]
        block = (before[odd] >> level) - 1
        hit = latest[block] > at[odd]
        here, block = odd[hit], block[hit]
        for below in blocks[:level][::-1]:
            block = 2 * block + (below[2 * block + 1] > at[here])
        found[here] = block
        before[odd] -= 1 << level
        left = left[(found[left] < 0) & (before[left] > 0)]
    return found


def largest(values: I64, count: int) -> I64:
    """The places of the largest values, in no order."""
    if len(values) <= count:
        return np.arange(len(values))
    some = np.flatnonzero(values >= least_of_largest(values, count))
    # Several equal ones at the limit: which of them count is left to numpy.
    return some if len(some) == count else np.argpartition(values, len(values) - count)[-count:]


def covered(rows: HeldRows, total: I64, causes: int) -> tuple[I64, I64]:
    """Time by window and cause, shape (windows, causes), and what of ``total`` none of them holds.

    Never more counts than there is.
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
