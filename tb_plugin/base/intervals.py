"""Sets of half-open intervals [start, end) in int64 nanoseconds.

A set is normal when its intervals are sorted, disjoint, non-empty and do not touch. Every function
returns normal sets; lengths of normal sets may be added without counting an instant twice.
"""

from __future__ import annotations

import numpy as np

from .arrays import I32, I64, ColumnTable, Mask, chunks, handed, search, take
from .native import call


class Intervals(ColumnTable, frozen=True, eq=False):
    """A normal set: ``start[i] < end[i] < start[i + 1]``."""

    start: I64
    end: I64

    @property
    def total_ns(self) -> int:
        """Length of the set."""
        return int((self.end - self.start).sum())


_CHUNK = 1 << 16
_MANY = 1 << 12  # rows for which a call is worth it
_LONG_RUN = 64
"""Runs in ascending order that are so long on average are worth a union each."""
_FEW_RUNS = 16  # which are merged one by one

EMPTY = Intervals(np.empty(0, np.int64), np.empty(0, np.int64))


def union(start: I64, end: I64) -> Intervals:
    """Normal set of all given intervals, in any order; empty and negative ones are skipped.

    A: ██████          ██
    B:    █████
    =  ████████        ██
    """
    keep = end > start
    if not keep.all():
        start, end = start[keep], end[keep]
    if not len(start):
        return EMPTY
    return _of_runs(start, end)


def union_where(mask: Mask, ts: I64, dur: I64) -> Intervals:
    """Normal set of the events [ts, ts + dur) at which a mask holds."""
    start, end = np.empty(len(ts), np.int64), np.empty(len(ts), np.int64)
    count = None
    if len(ts) >= _MANY:
        count = call("kinetoscope_union", ts, dur, mask, len(ts), start, end)
    if count is None:
        return union_where_in_python(mask, ts, dur)
    return _shrunk(_of_runs(start[:count], end[:count]))


def union_of(rows: I32 | I64, ts: I64, dur: I64) -> Intervals:
    """Normal set of the events [ts, ts + dur) in some rows, in any order."""
    columns_fit = handed(ts, np.int64, least=0) and handed(dur, np.int64, least=0)
    if columns_fit and any(handed(rows, width, _MANY) for width in (np.int32, np.int64)):
        start, end = np.empty(len(rows), np.int64), np.empty(len(rows), np.int64)
        asked = ts, dur, len(ts), rows, rows.itemsize, len(rows)
        count = call("kinetoscope_union_of", *asked, start, end)
        if count is not None:
            return _shrunk(_of_runs(start[:count], end[:count]))
    begun = take(ts, rows)
    return union(begun, begun + take(dur, rows))


def union_where_in_python(mask: Mask, ts: I64, dur: I64) -> Intervals:
    """The reference of ``union_where``."""
    parts = []
    # Few bytes at a time: the union of a part is small, and the part stays in the cache.
    for part in chunks(len(ts)):
        rows = np.flatnonzero(mask[part])
        begun = ts[part][rows]
        parts.append(union(begun, begun + dur[part][rows]))
    return merge(*parts)


def _of_runs(start: I64, end: I64) -> Intervals:
    """Union of intervals that ascend by runs, none of them empty: tables are in order by lane."""
    if not len(start):
        return EMPTY
    back = np.flatnonzero(start[1:] < start[:-1]) + 1
    if not len(back) or len(back) > len(start) // _LONG_RUN:
        return _in_any_order(start, end)
    bounds = zip([0, *back.tolist()], [*back.tolist(), len(start)], strict=True)
    runs = [_in_any_order(start[low:high], end[low:high]) for low, high in bounds]
    # Of many, what is left of each is little, and sorted together.
    return merge(*runs) if len(runs) <= _FEW_RUNS else merge_in_python(*runs)


def _shrunk(found: Intervals) -> Intervals:
    """The same, where it is a small part of larger columns without these."""
    whole = found.start.base
    if whole is None or 2 * len(found) >= len(whole):
        return found
    return Intervals(found.start.copy(), found.end.copy())


def _in_any_order(start: I64, end: I64) -> Intervals:
    if (start[1:] > end[:-1]).all():
        return Intervals(start, end)
    if (start[1:] < start[:-1]).any():
        order = np.argsort(start, kind="stable")
        start = start[order]
        end = end[order]
        del order
    return _of_sorted(start, end)


def _of_sorted(start: I64, end: I64) -> Intervals:
    """Union of intervals in the order of their starts; at least one, none of them empty."""
    reach = np.maximum.accumulate(end)
    first = np.empty(len(start), bool)
    first[0] = True
    np.greater(start[1:], reach[:-1], out=first[1:])
    if first.all():
        return Intervals(start, end)
    head = np.flatnonzero(first)
    last = np.append(head[1:] - 1, len(start) - 1)
    return Intervals(start[head], reach[last])


def merge(*sets: Intervals) -> Intervals:
    """Union of normal sets."""
    some = [s for s in sets if len(s)]
    while len(some) > 2:  # by twos, so that each instant is in few of the sets between
        pairs = zip(some[::2], some[1::2], strict=False)
        some = [_merge_two(*pair) for pair in pairs] + some[len(some) // 2 * 2 :]
    if len(some) < 2:
        return some[0] if some else EMPTY
    return _merge_two(*some)


def _merge_two(a: Intervals, b: Intervals) -> Intervals:
    found = _by_native("kinetoscope_merge", a, b)
    return merge_in_python(a, b) if found is None else found


def merge_in_python(*sets: Intervals) -> Intervals:
    """The reference of ``merge``, of sets that are not empty."""
    return _in_any_order(
        np.concatenate([s.start for s in sets]), np.concatenate([s.end for s in sets])
    )


def _by_native(name: str, a: Intervals, b: Intervals) -> Intervals | None:
    """Result of a function of the library on two sets; None if the reference has to compute it."""
    room = len(a) + len(b)
    if room < _MANY:
        return None
    sides = [np.ascontiguousarray(side) for one in (a, b) for side in (one.start, one.end)]
    start, end = np.empty(room, np.int64), np.empty(room, np.int64)
    count = call(name, *sides[:2], len(a), *sides[2:], len(b), start, end)
    if count is None:
        return None
    if 2 * count < room:  # the rest would be kept for nothing
        return Intervals(start[:count].copy(), end[:count].copy())
    return Intervals(start[:count], end[:count])


def intersect(a: Intervals, b: Intervals) -> Intervals:
    """Instants in both sets.

    A: ██████   ███
    B:    ███████
    =     ███   █
    """
    found = _by_native("kinetoscope_intersect", a, b) if len(a) and len(b) else EMPTY
    return intersect_in_python(a, b) if found is None else found


def intersect_in_python(a: Intervals, b: Intervals) -> Intervals:
    """The reference of ``intersect``."""
    ia, ib = overlaps(a, b)
    if not len(ia):
        return EMPTY
    return Intervals(np.maximum(a.start[ia], b.start[ib]), np.minimum(a.end[ia], b.end[ib]))


def overlaps(a: Intervals, b: Intervals) -> tuple[I64, I64]:
    """The pairs (index in A, index in B) of intervals with instants in common, in their order."""
    if not len(a) or not len(b):
        nothing = np.empty(0, np.int64)
        return nothing, nothing
    # For each a, the range of b that overlaps it; sets are disjoint, so the ranges are contiguous.
    low = search(b.end, a.start, "right")
    high = search(b.start, a.end)
    count = np.maximum(high - low, 0)
    ia = np.repeat(np.arange(len(a)), count)
    # Of the pairs of one a the first has its lowest b, each further one the next.
    ib = np.arange(len(ia)) + np.repeat(low - (np.cumsum(count) - count), count)
    return ia, ib


def not_inside(a: Intervals, b: Intervals) -> Intervals:
    """The intervals of A that lie in no interval of B; each whole.

    A: ██  ███   █
    B: ███  ████
    =      ███   █
    """
    if not len(a) or not len(b):
        return a
    keep = np.empty(len(a), bool)
    for low in range(0, len(a), _CHUNK):
        part = slice(low, low + _CHUNK)
        before = search(b.start, a.start[part], "right") - 1
        # Where it is −1 it reads the last interval, which begins later.
        keep[part] = (before < 0) | (b.end[before] < a.end[part])
    return a if keep.all() else Intervals(a.start[keep], a.end[keep])


def subtract(a: Intervals, b: Intervals) -> Intervals:
    """Instants in A and not in B."""
    if not len(a) or not len(b):
        return a
    low, high = int(a.start[0]), int(a.end[-1])
    return intersect(a, complement(b, low, high))


def complement(a: Intervals, low: int, high: int) -> Intervals:
    """Instants of [low, high) not in A."""
    inside = clip(a, low, high)
    start = np.concatenate([np.array([low], np.int64), inside.end])
    end = np.concatenate([inside.start, np.array([high], np.int64)])
    keep = end > start
    return Intervals(start[keep], end[keep])


def clip(a: Intervals, low: int, high: int) -> Intervals:
    """Instants of A in [low, high)."""
    start, end = np.maximum(a.start, low), np.minimum(a.end, high)
    keep = end > start
    return Intervals(start[keep], end[keep])


def holds(a: Intervals, at: I64) -> Mask:
    """Which instants lie in A."""
    before = search(a.start, at, "right") - 1
    # At −1 the last entry is read: an end before all.
    result: Mask = at < np.append(a.end, np.iinfo(np.int64).min)[before]
    return result


def length_within(a: Intervals, low: I64, high: I64) -> I64:
    """Length of A inside each window [low[i], high[i]); quick where windows ascend."""
    if len(a) + len(low) >= _MANY:
        start, end, begin, stop = (
            np.ascontiguousarray(side, np.int64) for side in (a.start, a.end, low, high)
        )
        found = np.empty(len(low), np.int64)
        asked = start, end, len(a), begin, stop, len(low), found
        if call("kinetoscope_length_within", *asked) is not None:
            return found
    return length_within_in_python(a, low, high)


def length_within_in_python(a: Intervals, low: I64, high: I64) -> I64:
    """The reference of ``length_within``; O((n + w) log n).

    Prefix sums of the lengths give the length before any instant; a window is their difference.
    """
    return length_before(a, np.maximum(high, low)) - length_before(a, low)


def length_before(a: Intervals, at: I64) -> I64:
    """Length of A inside (−∞, at[i])."""
    if not len(a):
        return np.zeros(len(at), np.int64)
    passed = np.concatenate([np.zeros(1, np.int64), np.cumsum(a.end - a.start)])
    index = search(a.start, at, "right")
    last = np.maximum(index - 1, 0)
    beyond = np.where(index > 0, np.maximum(a.end[last] - at, 0), 0)
    result: I64 = passed[index] - beyond
    return result
