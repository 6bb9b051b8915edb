"""Which event is inside which, and how much time does each have to itself?

Rows are sorted by (thread, ts, −dur). Three facts about a row i, all exact on any data:

* its *outer* event: the latest started one before it that is still open at ``ts[i]``;
* its *parent*: the innermost open event that contains it. An overrun up to the tolerance counts as
  contained: 5 ns where stamps are exact, 1 µs where they were rounded to µs, and 1 µs between
  events of different clocks (Python frames, ops, runtime calls) as long as more of the child lies
  inside than outside. A row whose outer event does not contain it *overlaps* it, is reported in
  ``overrun``, and hangs below the next event that does contain it, or at the root;
* its *exclusive* time: the instants at which it is the latest started event still open. Never
  negative; over a thread it sums to the union of its events.

      A ███████████████████████      outer(B) = A = parent(B)
      B   ███████████                C outlives B: outer(C) = B, parent(C) = A
      C          ███████████
        AABBBBBBBCCCCCCCCCCCAAA      exclusive

The native library does it in one pass with a stack. The reference here does without a loop over
rows. Searching the outer event: start at the row before and jump to that row's own candidate while
the candidate is closed. What lies between is closed too and stays closed, since starts only grow;
so the jumps of all rows can be made together, and the result is the one of a stack.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ...base.arrays import I8, I16, I32, I64, Sparse, last_end
from ...base.machine import each, thread_count
from ...base.native import call

Flags = NDArray[np.bool_]

EXACT_NS = 5
ROUNDED_NS = 1000
TWO_CLOCKS_NS = 1000
LEAST_ROWS = 100_000  # of which it pays to nest parts side by side
_NEAR, _FAR_ROWS = 16, 1 << 16  # a part may differ by a 16th; a cut is looked for in so many rows
MAX_DEPTH = np.iinfo(np.int16).max
# So many rounds mean thousands of nested levels: then a plain loop over the rows is faster.
_PATIENCE = 1000
_NEVER = np.iinfo(np.int64).max


class Nesting(Struct, frozen=True, eq=False):
    """Outer event, parent and overrun of each row; an overrun row outlives its outer event."""

    outer: I32
    parent: I32
    depth: I16
    self_ns: I64
    overrun: Sparse


def nest(ts: I64, dur: I64, first: Flags, clock: I8, tolerance_ns: int) -> Nesting:
    """Nest rows sorted by (thread, ts, −dur); no ``dur`` is negative.

    ``first`` marks the first row of each thread; ``clock`` is a number per source of time stamps.
    """
    ts, dur = np.ascontiguousarray(ts, np.int64), np.ascontiguousarray(dur, np.int64)
    first = np.ascontiguousarray(first, bool)
    rows = len(ts)
    clock = np.ascontiguousarray(clock, np.int8)
    outer, parent = np.empty(rows, np.int32), np.empty(rows, np.int32)
    depth, self_ns = np.empty(rows, np.int16), np.empty(rows, np.int64)
    # Room for the worst that costs nothing where nothing is written.
    row, over = np.empty(rows, np.int32), np.empty(rows, np.int64)

    def nested(part: slice) -> slice | None:
        """The overruns of some rows."""
        read = (ts[part], dur[part], first[part], clock[part], part.stop - part.start)
        limits = (tolerance_ns, TWO_CLOCKS_NS)
        write = (outer[part], parent[part], depth[part], self_ns[part], row[part], over[part])
        count = call("kinetoscope_nest", *read, *limits, *write)
        if count is None:
            return None
        found = slice(part.start, part.start + count)
        if part.start:
            row[found] += np.int32(part.start)
            for column in (outer[part], parent[part]):
                np.add(column, np.int32(part.start), out=column, where=column >= 0)
        return found

    done = each(nested, _parts(ts, dur, first))
    if None in done:
        return nest_in_python(ts, dur, first, clock, tolerance_ns)
    overrun = Sparse(*(np.concatenate([column[part] for part in done]) for column in (row, over)))
    return Nesting(outer, parent, depth, self_ns, overrun)


def _parts(ts: I64, dur: I64, first: Flags) -> list[slice]:
    """About equal parts of the rows, as many as threads may be used; no event is in two of them."""
    rows, count = len(first), thread_count()
    if rows < LEAST_ROWS or count < 2:
        return [slice(0, rows)]
    begins, bounds = np.append(np.flatnonzero(first), rows), [0]
    for wanted in (part * rows // count for part in range(1, count)):
        thread = int(np.searchsorted(begins, wanted, side="right"))
        low, high = begins[thread - 1 : thread + 1].tolist()
        bound = low if wanted - low <= high - wanted else high
        if abs(bound - wanted) > rows // count // _NEAR and wanted > bounds[-1]:
            found = _first_alone(ts, dur, max(low, bounds[-1]), slice(wanted, high))
            bound = bound if found is None else found
        if bound > bounds[-1]:
            bounds.append(bound)
    if bounds[-1] < rows:
        bounds.append(rows)
    return [slice(*part) for part in pairwise(bounds)]


def _first_alone(ts: I64, dur: I64, low: int, among: slice) -> int | None:
    """The first of some rows at whose start no event from row ``low`` on is open; None if far."""
    end = last_end(ts[low : among.start], dur[low : among.start])
    some = slice(among.start, min(among.stop, among.start + _FAR_ROWS))
    ends = np.maximum.accumulate(np.append(end, ts[some] + dur[some]))
    alone = np.flatnonzero(ends[:-1] <= ts[some])
    return among.start + int(alone[0]) if len(alone) else None


def nest_in_python(ts: I64, dur: I64, first: Flags, clock: I8, tolerance_ns: int) -> Nesting:
    """The reference of ``nest``."""
    end = ts + dur
    outer = outer_rows_in_python(ts, end, first)
    parent, overrun = _parents(ts, end, first, outer, clock, tolerance_ns)
    return Nesting(outer, parent, depth_of(parent), exclusive(ts, end, first, outer), overrun)


def outer_rows_in_python(ts: I64, end: I64, first: Flags) -> I32:
    """For each row the latest started earlier row of its thread still open then, or −1."""
    outer = np.arange(-1, len(ts) - 1, dtype=np.int32)
    outer[first] = -1
    active = np.flatnonzero(~first)
    active = active[end[active - 1] <= ts[active]]
    rounds = 0
    while len(active):
        rounds += 1
        if rounds > _PATIENCE:
            return _outer_rows_by_stack(ts, end, first)
        jumped = outer[outer[active]]
        outer[active] = jumped
        going = jumped >= 0
        active, jumped = active[going], jumped[going]
        active = active[end[jumped] <= ts[active]]
    return outer


def _outer_rows_by_stack(ts: I64, end: I64, first: Flags) -> I32:
    outer: list[int] = []
    stack: list[int] = []
    ends = end.tolist()
    for row, (start, new_thread) in enumerate(zip(ts.tolist(), first.tolist(), strict=True)):
        if new_thread:
            stack.clear()
        while stack and ends[stack[-1]] <= start:
            stack.pop()
        outer.append(stack[-1] if stack else -1)
        stack.append(row)
    return np.array(outer, np.int32)


def _parents(
    ts: I64, end: I64, first: Flags, outer: I32, clock: I8, tolerance_ns: int
) -> tuple[I32, Sparse]:
    parent = outer.copy()
    inner = np.flatnonzero(outer >= 0)
    above = outer[inner]
    over = end[inner] > end[above] + tolerance_ns
    row = inner[over]
    above = above[over]
    del inner, over
    late = ~_contains(ts, end, clock, above, row, tolerance_ns)
    row, above = row[late], above[late]
    overrun = Sparse(row.astype(np.int32), end[row] - end[above])
    rounds = 0
    while len(row):
        rounds += 1
        if rounds > _PATIENCE:
            parent[row] = _parents_by_stacks(ts, end, first, clock, tolerance_ns)[row]
            break
        above = outer[above]
        held = above < 0
        held[~held] = _contains(ts, end, clock, above[~held], row[~held], tolerance_ns)
        parent[row[held]] = above[held]
        row, above = row[~held], above[~held]
    return parent, overrun


def _parents_by_stacks(ts: I64, end: I64, first: Flags, clock: I8, tolerance_ns: int) -> I32:
    # For each clock the events that can still contain one to come, as (−ends, rows). Whoever starts
    # later and ends no earlier contains whatever those before it do: −ends only grow.
    open_: dict[int, tuple[list[int], list[int]]] = {}
    parents: list[int] = []
    columns = (column.tolist() for column in (ts, end, clock, first))
    for row, (start, stop, own, new_thread) in enumerate(zip(*columns, strict=True)):
        if new_thread:
            open_.clear()
        least = stop - tolerance_ns
        of_two = min(least, max(stop - TWO_CLOCKS_NS, start + (stop - start + 1) // 2))
        parent = -1
        for other, (ends, rows) in open_.items():
            ends_by = max(start + 1, least if other == own else of_two)
            found = bisect_right(ends, -ends_by)
            parent = max(parent, rows[found - 1] if found else -1)
        parents.append(parent)
        ends, rows = open_.setdefault(own, ([], []))
        while ends and -ends[-1] <= stop:
            ends.pop()
            rows.pop()
        ends.append(-stop)
        rows.append(row)
    return np.array(parents, np.int32)


def _contains(
    ts: I64, end: I64, clock: I8, above: I32, row: NDArray[np.intp], tolerance_ns: int
) -> NDArray[np.bool_]:
    """True if ``above``, which started before ``row``, contains it within the tolerance."""
    stop = end[above]
    inside = stop - ts[row]
    over = end[row] - stop
    fits = over <= tolerance_ns
    fits |= (clock[above] != clock[row]) & (over <= TWO_CLOCKS_NS) & (over <= inside)
    return np.asarray(fits & (inside > 0))


def depth_of(parent: I32) -> I16:
    """Number of ancestors; the path is halved in every round."""
    depth = (parent >= 0).astype(np.int16)
    above = parent.copy()
    active = np.flatnonzero(above >= 0)
    active = active[above[above[active]] >= 0]
    while len(active):
        up = above[active]
        # Both sides are read before either is written.
        gained, higher = depth[up], above[up]
        total = depth[active].astype(np.int32) + gained
        depth[active] = np.minimum(total, MAX_DEPTH)
        above[active] = higher
        active = active[higher >= 0]
    return depth


def exclusive(ts: I64, end: I64, first: Flags, outer: I32) -> I64:
    """Time at which each row is the latest started open one of its thread.

    Between the starts of two rows the owner is the former; as it ends, its outer event; and so on.
    """
    following = np.full(len(ts), _NEVER, np.int64)
    if len(ts):
        following[:-1] = np.where(first[1:], _NEVER, ts[1:])
    result = np.minimum(end, following) - ts
    gap = np.flatnonzero((end < following) & (outer >= 0))
    owner = outer[gap]
    now = end[gap]
    stop = following[gap]
    del following, gap
    rounds = 0
    while len(owner):
        rounds += 1
        if rounds > _PATIENCE:
            _share_by_loop(result, end, outer, owner, now, stop)
            break
        close = end[owner]
        open_ = close > now
        till = np.minimum(close, stop)
        np.add.at(result, owner[open_], till[open_] - now[open_])
        now = np.maximum(now, till)
        owner = outer[owner]
        going = (now < stop) & (owner >= 0)
        owner, now, stop = owner[going], now[going], stop[going]
    return result


def _share_by_loop(result: I64, end: I64, outer: I32, owner: I32, now: I64, stop: I64) -> None:
    ends, above = end.tolist(), outer.tolist()
    for row, start, limit in zip(owner.tolist(), now.tolist(), stop.tolist(), strict=True):
        at, instant = row, start
        while at >= 0 and instant < limit:
            till = min(ends[at], limit)
            if till > instant:
                result[at] += till - instant
                instant = till
            at = above[at]


def innermost_at(end: I64, outer: I32, at: I64, start: NDArray[np.intp]) -> I32:
    """The latest started row that is open at an instant; −1 where there is none.

    ``start`` is for each instant the last row of its thread that started by then, or −1.
    """
    found = start.astype(np.int32)
    active = np.flatnonzero(found >= 0)
    active = active[end[found[active]] <= at[active]]
    while len(active):
        up = outer[found[active]]
        found[active] = up
        going = up >= 0
        active, up = active[going], up[going]
        active = active[end[up] <= at[active]]
    return found
