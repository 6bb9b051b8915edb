"""The time axis of a trace: where it starts, how fine it is, and which events have no time at all.

A writer that lost a time stamp writes 0, or something else far from the recording. One such event
would stretch the axis to days; so an event is *timeless* when it lies further from the middle half
of all events than an hour and than a hundred times the length of that half.

      0                                            4 370 761 960 s
      █ timeless                                   ░░▓▓▓▓▓▓▓▓░░░ the recording
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .raw import MISSING, RawEvents

I64 = NDArray[np.int64]

FAR_NS = 3_600_000_000_000
FAR_RATIO = 100
# The year 2043; differences of times inside it fit int64.
EDGE_NS = 1 << 61
_BLOCK = 1 << 16


@dataclass(frozen=True, slots=True)
class Bounds:
    """First and last believable instant, as written in the file."""

    low: int
    high: int


def bounds(ts: I64) -> Bounds:
    """Where events can be, judged by the middle half of the time stamps that are not 0.

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
    """Which stamps are on the time axis."""
    return np.asarray((ts >= limits.low) & (ts <= limits.high) & (ts != MISSING))


def resolution_ns(*columns: I64) -> int:
    """1000 when every stamp and duration is a whole µs, as recorders wrote until 2024; else 1."""
    for column in columns:
        for low in range(0, len(column), _BLOCK):
            part = column[low : low + _BLOCK]
            # A product of a quotient: the processor divides by a constant faster than it takes the
            # remainder.
            if (part // 1000 * 1000 != part).any():
                return 1
    return 1000 if any(len(column) for column in columns) else 1


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
