"""The rows of a table as they are in the file, with times that make sense.

The clock of a file is judged by all of its duration events (``clock.bounds``). What is too far from
them is left out and counted; a duration that reaches too far, or below zero, becomes 0 ns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .clock import EDGE_NS, FAR_NS, Bounds, believable, bounds
from .columns import Mask, chunks, last_end
from .raw import MISSING, NO_DUR

I32 = NDArray[np.int32]
I64 = NDArray[np.int64]

OPEN = np.iinfo(np.int64).min
"""Duration of a range that never ended: it lasts until the end of all others."""


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """Rows of the file, ascending; ``ts`` as written, ``dur`` of ranges (of instants, empty)."""

    row: I32
    ts: I64
    dur: I64

    def __len__(self) -> int:
        return len(self.row)

    def of(self, keep: Mask) -> Part:
        """Some of the rows."""
        return Part(self.row[keep], self.ts[keep], self.dur[keep] if len(self.dur) else self.dur)


@dataclass(frozen=True, slots=True, eq=False)
class Settled:
    """Parts with believable times and durations, and how many had others."""

    ranges: tuple[Part, ...]
    instants: tuple[Part, ...]
    ignored: Mapping[str, int]
    negative: int
    absurd: int
    without_dur: int


def settle_times(ranges: Sequence[Part], instants: Sequence[Part], last_open: int) -> Settled:
    """Leave out what has no believable time, and mend durations, in place.

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


def _limits(ranges: Sequence[Part], instants: Sequence[Part]) -> Bounds | None:
    """Where events can be; None where nothing is far from anything, so that nobody need ask."""
    stamped = [part.ts for part in (*ranges, *instants) if len(part)]
    if not stamped:
        return None
    low = min(int(ts.min()) for ts in stamped)
    high = max(int(ts.max()) for ts in stamped)
    longest = max((int(part.dur.max()) for part in ranges if len(part)), default=0)
    # What lies within an hour is within an hour of its middle half.
    if low > -EDGE_NS and high + max(longest, 0) < min(low + FAR_NS, EDGE_NS):
        return None
    voters = [part.ts for part in ranges if len(part)]
    return bounds(np.concatenate(voters) if voters else instants[0].ts)


def _close(ranges: Sequence[Part], last_open: int) -> None:
    """Ranges that never ended last until the end of all others."""
    opened = [part.dur == OPEN for part in ranges]
    if not any(mask.any() for mask in opened):
        return
    whole = [part.of(part.dur >= 0) for part in ranges]
    ends = [last_end(part.ts, part.dur) for part in whole if len(part)]
    end = max(ends) if ends else last_open
    for part, mask in zip(ranges, opened, strict=True):
        part.dur[mask] = np.maximum(end - part.ts[mask], 0)


def _mend(part: Part, limits: Bounds | None) -> tuple[int, int, int]:
    """Durations that make sense; how many were negative, absurdly long, or missing."""
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
