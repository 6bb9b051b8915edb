"""Levels of detail: per lane and bucket of 2^k ns how many small slices, how long, which longest.

Level k + 1 is level k with its buckets joined in pairs, and the slices that are rects of level k
but not of level k + 1. So all sums stay exact, and the cost falls with the levels. Only levels that
say in at most a quarter of the records what the small slices say are kept: a finer one is as cheap
to cut from the slices themselves.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .files import narrowest
from .model import I32, I64, MAX_LEVEL, Level

LARGEST_SHARE = 0.25


def levels_of(
    order: I32, lane_first: I64, ts: I64, dur: I64, end_ns: int, share: float = LARGEST_SHARE
) -> dict[int, Level]:
    """The kept levels; ``ts`` and ``dur`` are in the order of ``order``: by (lane, ts).

    ``share`` is the largest number of records for each small slice that is worth keeping.
    """
    top = min(max(end_ns, 1).bit_length(), MAX_LEVEL)
    lane = np.repeat(np.arange(len(lane_first) - 1, dtype=np.int32), np.diff(lane_first))
    finest = _finest(lane, ts, dur, top, share)
    kept = {}
    if finest is not None:
        for level, small in _build(order, lane, lane_first, ts, dur, finest, top):
            if len(level.bucket) <= share * small:
                kept[level.level] = level
    return kept


def _finest(lane: I32, ts: I64, dur: I64, top: int, share: float) -> int | None:
    """The level from which on levels are worth their room."""
    low, high = 0, top + 1
    while low < high:
        middle = (low + high) // 2
        small = np.flatnonzero(dur < 1 << middle)
        bucket, lanes = ts[small] >> middle, lane[small]
        count = int(np.count_nonzero((bucket[1:] != bucket[:-1]) | (lanes[1:] != lanes[:-1])))
        if len(small) and count + 1 <= share * len(small):
            high = middle
        else:
            low = middle + 1
    return low if low <= top else None


def _build(
    order: I32, lane: I32, lane_first: I64, ts: I64, dur: I64, finest: int, top: int
) -> Iterator[tuple[Level, int]]:
    """Each level from ``finest`` to ``top``, and how many small slices it stands for."""
    lanes = len(lane_first) - 1
    is_small = dur < 1 << finest
    at = np.flatnonzero(is_small)
    rects = np.flatnonzero(~is_small)
    records = _Records(
        lane[at], ts[at] >> finest, np.ones(len(at), np.int64), dur[at], order[at], dur[at]
    ).joined()
    for level in range(finest, top + 1):
        if level > finest:
            shrunk = dur[rects] < 1 << level
            joining = rects[shrunk]
            rects = rects[~shrunk]
            one = np.ones(len(joining), np.int64)
            new = _Records(
                lane[joining], ts[joining] >> level, one, dur[joining], order[joining], dur[joining]
            )
            records = records.coarser().merged(new).joined()
        made = Level(
            level=level,
            bucket_first=_csr(records.lane, lanes),
            bucket=narrowest(records.bucket),
            count=narrowest(records.count),
            sum_ns=narrowest(records.sum_ns),
            longest=records.longest,
            rect_first=_csr(lane[rects], lanes),
            rect=order[rects],
        )
        yield made, len(lane) - len(rects)


class _Records:
    """Sums by (lane, bucket), in this order; neighbours may be of one bucket until ``joined``."""

    def __init__(
        self, lane: I32, bucket: I64, count: I64, sum_ns: I64, longest: I32, longest_ns: I64
    ) -> None:
        self.lane = lane
        self.bucket = bucket
        self.count = count
        self.sum_ns = sum_ns
        self.longest = longest
        self.longest_ns = longest_ns

    def coarser(self) -> _Records:
        """The buckets of the next level, not yet joined."""
        return _Records(
            self.lane, self.bucket >> 1, self.count, self.sum_ns, self.longest, self.longest_ns
        )

    def merged(self, other: _Records) -> _Records:
        """Both, in order; of one bucket ours come first."""
        lane = np.concatenate([self.lane, other.lane])
        bucket = np.concatenate([self.bucket, other.bucket])
        span = int(bucket.max(initial=0)) + 1
        if int(lane.max(initial=0)) < (1 << 62) // span:
            order = np.argsort(lane * np.int64(span) + bucket, kind="stable")
        else:
            order = np.lexsort((bucket, lane))
        return _Records(
            lane[order],
            bucket[order],
            np.concatenate([self.count, other.count])[order],
            np.concatenate([self.sum_ns, other.sum_ns])[order],
            np.concatenate([self.longest, other.longest])[order],
            np.concatenate([self.longest_ns, other.longest_ns])[order],
        )

    def joined(self) -> _Records:
        """One record per bucket."""
        if not len(self.lane):
            return self
        begins = np.ones(len(self.lane), np.bool_)
        begins[1:] = (self.bucket[1:] != self.bucket[:-1]) | (self.lane[1:] != self.lane[:-1])
        first = np.flatnonzero(begins)
        most = np.maximum.reduceat(self.longest_ns, first)
        group = np.cumsum(begins) - 1
        hit = np.flatnonzero(self.longest_ns == most[group])
        winner = np.empty(len(first), np.int64)
        winner[group[hit][::-1]] = hit[::-1]  # the first of several
        return _Records(
            self.lane[first],
            self.bucket[first],
            np.add.reduceat(self.count, first),
            np.add.reduceat(self.sum_ns, first),
            self.longest[winner],
            most,
        )


def _csr(lane: I32, lanes: int) -> I64:
    count = np.bincount(lane, minlength=lanes)
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(count)])
