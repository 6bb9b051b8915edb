"""When does each event begin, and how long does it last? Some have no usable time.

A writer that lost a time stamp writes 0, or something else far from the recording. One such event
would stretch the axis to days; so an event is *timeless* when it lies further from the middle half
of all events than an hour and than a hundred times the length of that half.

      0                                            4 370 761 960 s
      █ timeless                                   ░░▓▓▓▓▓▓▓▓░░░ the recording

The axis follows from the duration events of the whole file (``bounds``). Timeless rows are left out
and counted; a duration that reaches too far, or is negative, becomes 0 ns (``settle_times``).
A begin event lasts until the end event that closes it (``pair``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from ...base.arrays import (
    I32,
    I64,
    ColumnTable,
    Mask,
    are_thousands,
    chunks,
    extent,
    last_end,
    put,
    take,
)
from ...base.machine import each
from ..raw import END, MISSING, NO_DUR, RawEvents, Texts

# --- begin and end events -------------------------------------------------------------------------


class Pairs(Struct, frozen=True, eq=False):
    """``begin[i]`` ends at ``end_ts[i]``; ``open`` never ends; the rows count in the file."""

    begin: I32
    end_ts: I64
    open: I32
    stray_ends: int

    @staticmethod
    def none() -> Pairs:
        """No pairs: a file without begin and end events."""
        empty = np.empty(0, np.int32)
        return Pairs(empty, np.empty(0, np.int64), empty, 0)


def pair(events: RawEvents, rows: I32, texts: Texts) -> Pairs:
    """Match the ends among ``rows`` with the begins, thread by thread, in the order of time.

    Kineto writes whole ranges; other tools write such pairs. The last open begin ends first, unless
    the end names another one:

        B aten::mm ──┐
        B aten::t ─┐ │
        E ─────────┘ │
        E ───────────┘

    At one instant, file order decides: writers emit an end before the next begin.
    """
    order = rows[np.argsort(events.ts[rows], kind="stable")]
    unnamed = texts.code("")
    threads: dict[tuple[int, int], _Open] = {}
    begin: list[int] = []
    end_ts: list[int] = []
    stray = 0
    for row, phase, pid, tid, name, ts in zip(
        order.tolist(),
        events.phase[order].tolist(),
        events.pid[order].tolist(),
        events.tid[order].tolist(),
        events.name[order].tolist(),
        events.ts[order].tolist(),
        strict=True,
    ):
        thread = threads.get((pid, tid))
        if thread is None:
            thread = threads[pid, tid] = _Open(unnamed)
        if phase != END:
            thread.add(row, name)
            continue
        closed = thread.close(name)
        if closed < 0:
            stray += 1
        else:
            begin.append(closed)
            end_ts.append(ts)
    left = sorted(row for thread in threads.values() for row in thread.left())
    return Pairs(
        np.array(begin, np.int32), np.array(end_ts, np.int64), np.array(left, np.int32), stray
    )


class _Open:
    """The open begins of one thread, by name; a step costs the same however many there are."""

    def __init__(self, unnamed: int) -> None:
        self._unnamed = unnamed
        self._rows: list[int] = []  # in order; what an end closed by its name stays for a while
        self._names: list[int] = []
        self._places: dict[int, list[int]] = {}  # name → places of what is open

    def add(self, row: int, name: int) -> None:
        """Add a begin event."""
        self._places.setdefault(name, []).append(len(self._rows))
        self._rows.append(row)
        self._names.append(name)

    def close(self, name: int) -> int:
        """The row that an end closes: the last begin of its name; of any name if it has none."""
        self._forget_closed()
        if name == self._unnamed:
            name = self._names[-1] if self._names else name
        candidates = [self._places.get(one) or [-1] for one in (name, self._unnamed)]
        places = max(candidates, key=lambda one: one[-1])
        return self._rows[places.pop()] if places[-1] >= 0 else -1

    def left(self) -> list[int]:
        """The rows without an end."""
        return [self._rows[place] for places in self._places.values() for place in places]

    def _forget_closed(self) -> None:
        while self._rows and (self._places[self._names[-1]] or [-1])[-1] != len(self._rows) - 1:
            self._rows.pop()
            self._names.pop()


# --- the time axis --------------------------------------------------------------------------------


FAR_NS = 3_600_000_000_000
FAR_RATIO = 100
# The year 2043; differences of times inside it fit int64.
EDGE_NS = 1 << 61


class Bounds(Struct, frozen=True):
    """First and last plausible instant, as written in the file."""

    low: int
    high: int


def bounds(ts: I64) -> Bounds:
    """The plausible range of times, judged by the middle half of the time stamps that are not 0.

    ``ts`` are the stamps of duration events as written; ``MISSING`` and 0 do not vote.
    """
    votes = ts[(ts != MISSING) & (ts != 0)]
    votes = votes[(votes > -EDGE_NS) & (votes < EDGE_NS)]
    if not len(votes):
        return Bounds(-FAR_NS, FAR_NS)
    first, last = len(votes) // 4, (3 * len(votes)) // 4
    part = np.partition(votes, (first, last))
    low, high = int(part[first]), int(part[last])
    margin = max(FAR_NS, FAR_RATIO * (high - low))
    return Bounds(max(low - margin, -EDGE_NS), min(high + margin, EDGE_NS))


def believable(ts: I64, limits: Bounds) -> NDArray[np.bool_]:
    """True for stamps that are on the time axis."""
    return np.asarray((ts >= limits.low) & (ts <= limits.high) & (ts != MISSING))


def resolution_ns(columns: Sequence[I64], rows: Sequence[I32]) -> int:
    """1000 when every stamp and duration is a whole µs, as recorders wrote until 2024; else 1.

    The ``columns`` have an entry per row of the file; asked are those in one of the lists ``rows``.
    """
    if not all(are_thousands(column, some) for some in rows for column in columns):
        return 1
    return 1000 if any(len(some) for some in rows) else 1


def base_ns(metadata: Mapping[str, Any]) -> int:
    """``baseTimeNanoseconds``, which the writer subtracted from every stamp; 0 without it."""
    value = metadata.get("baseTimeNanoseconds", 0)
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return 0


def on_one_axis(
    events: RawEvents, metadata: Mapping[str, Any], bases: Sequence[tuple[int, Any]]
) -> RawEvents:
    """The events of several traces in one file, with the stamps of all on the axis of the first.

    ``bases``: the first row of each trace behind the first, and its ``baseTimeNanoseconds``; where
    one of the two is missing, stamps stay as they are written.
    """
    ts = events.ts
    for number, (first, base) in enumerate(bases):
        behind = bases[number + 1][0] if number + 1 < len(bases) else len(events)
        shift = base_ns({"baseTimeNanoseconds": base}) - base_ns(metadata)
        if base is None or "baseTimeNanoseconds" not in metadata or not 0 < abs(shift) < EDGE_NS:
            continue
        if ts is events.ts:
            ts = ts.copy()
        part = ts[first:behind]
        moves = (part > -EDGE_NS) & (part < EDGE_NS)  # not what is missing, or beyond all times
        part[moves] += shift
    return events if ts is events.ts else replace(events, ts=ts)


OPEN = np.iinfo(np.int64).min
"""Duration of a range that never ended: it lasts until the end of all others."""


class EventRows(ColumnTable, frozen=True, eq=False):
    """Rows of the file, ascending; ``ts`` as written, ``dur`` of ranges (of instants, empty)."""

    row: I32
    ts: I64
    dur: I64

    def of(self, keep: Mask) -> EventRows:
        """Some of the rows."""
        return EventRows(
            self.row[keep], self.ts[keep], self.dur[keep] if len(self.dur) else self.dur
        )


class Settled(Struct, frozen=True, eq=False):
    """Tables with plausible times and durations, and the number of rows without."""

    ranges: tuple[EventRows, ...]
    instants: tuple[EventRows, ...]
    ignored: Mapping[str, int]
    negative: int
    absurd: int
    without_dur: int


class SettledRows(Struct, frozen=True, eq=False):
    """Rows of the file by table, with plausible times, and what ``Settled`` says of the others."""

    ranges: tuple[I32, ...]
    instants: tuple[I32, ...]
    dur: I64  # of each row of the file; those of ranges are corrected
    start: int  # the first time stamp of all
    settled: Settled


_ALL_SETTLED = Settled((), (), {}, 0, 0, 0)


def settle_rows(
    ranges: Sequence[I32], instants: Sequence[I32], ts: I64, dur: I64, last_open: int
) -> SettledRows:
    """``settle_times`` of rows of the file; where nothing is to be done, nothing is copied."""
    asked = [(ts, rows) for rows in (*ranges, *instants) if len(rows)]
    lasting = [(dur, rows) for rows in ranges if len(rows)]
    found = each(lambda one: extent(*one), asked + lasting)
    stamped, lasting_from = found[: len(asked)], found[len(asked) :]
    if not stamped:
        return SettledRows(tuple(ranges), tuple(instants), dur, 0, _ALL_SETTLED)
    low, high = min(low for low, _ in stamped), max(high for _, high in stamped)
    longest = max((longest for _, longest in lasting_from), default=0)
    if min((least for least, _ in lasting_from), default=0) >= 0 and _is_near(low, high, longest):
        return SettledRows(tuple(ranges), tuple(instants), dur, low, _ALL_SETTLED)
    nothing = np.empty(0, np.int64)
    settled = settle_times(
        [EventRows(rows, take(ts, rows), take(dur, rows)) for rows in ranges],
        [EventRows(rows, take(ts, rows), nothing) for rows in instants],
        last_open,
    )
    dur = dur.copy()
    for part in settled.ranges:
        put(dur, part.row, part.dur)
    left = (*settled.ranges, *settled.instants)
    return SettledRows(
        tuple(part.row for part in settled.ranges),
        tuple(part.row for part in settled.instants),
        dur,
        min((int(part.ts.min()) for part in left if len(part)), default=0),
        settled,
    )


def settle_times(
    ranges: Sequence[EventRows], instants: Sequence[EventRows], last_open: int
) -> Settled:
    """Leave out rows without a plausible time, and correct durations, in place.

    ``last_open`` is the last start of a range that never ended.
    """
    limits = _limits(ranges, instants)
    ignored: dict[str, int] = {}
    if limits is not None:
        everything = (*ranges, *instants)
        missing = sum(int(np.count_nonzero(part.ts == MISSING)) for part in everything)
        before = sum(len(part) for part in everything)
        ranges = [part.of(believable(part.ts, limits)) for part in ranges]
        instants = [part.of(believable(part.ts, limits)) for part in instants]
        far = before - missing - sum(len(part) for part in (*ranges, *instants))
        if missing:
            ignored["event without a time stamp"] = missing
        if far:
            ignored["event without a believable time"] = far
    _close(ranges, last_open)
    counts = np.zeros(3, np.int64)
    for part in ranges:
        counts += _mend(part, limits)
    negative, absurd, without = counts.tolist()
    return Settled(tuple(ranges), tuple(instants), ignored, negative, absurd, without)


def _limits(ranges: Sequence[EventRows], instants: Sequence[EventRows]) -> Bounds | None:
    """The plausible range of times; None where every event is inside and no check is needed."""
    stamped = [part.ts for part in (*ranges, *instants) if len(part)]
    if not stamped:
        return None
    low = min(int(ts.min()) for ts in stamped)
    high = max(int(ts.max()) for ts in stamped)
    longest = max((int(part.dur.max()) for part in ranges if len(part)), default=0)
    if _is_near(low, high, longest):
        return None
    voters = [part.ts for part in ranges if len(part)]
    return bounds(np.concatenate(voters) if voters else instants[0].ts)


def _is_near(low: int, high: int, longest: int) -> bool:
    """True if all times are plausible; a range of an hour is always near its middle half."""
    return low > -EDGE_NS and high + max(longest, 0) < min(low + FAR_NS, EDGE_NS)


def _close(ranges: Sequence[EventRows], last_open: int) -> None:
    """Extend ranges that never ended to the end of all others."""
    opened = [part.dur == OPEN for part in ranges]
    if not any(mask.any() for mask in opened):
        return
    whole = [part.of(part.dur >= 0) for part in ranges]
    ends = [last_end(part.ts, part.dur) for part in whole if len(part)]
    end = max(ends) if ends else last_open
    for part, mask in zip(ranges, opened, strict=True):
        part.dur[mask] = np.maximum(end - part.ts[mask], 0)


def _mend(part: EventRows, limits: Bounds | None) -> tuple[int, int, int]:
    """Corrected durations, and how many were negative, absurdly long, or missing."""
    short = long = missing = 0
    for piece in chunks(len(part)):
        ts, dur = part.ts[piece], part.dur[piece]
        if (below := dur < 0).any():
            short += int(np.count_nonzero(below))
            missing += int(np.count_nonzero(dur == NO_DUR))
        if limits is not None:
            far = dur > limits.high - np.clip(ts, limits.low, limits.high)
            long += int(np.count_nonzero(far))
            dur[far] = 0
        np.maximum(dur, 0, out=dur)
    return short - missing, long, missing
