"""Forward and backward passes inside ``Optimizer.step``: closures, as Lightning and LBFGS run them.

    Optimizer.step  ├─────────────────────────────────┤
    ops                 ├ f ┤ ├ f ┤ ├ b ┤ ├ b ┤  ├ u ┤
    closure             ├─────────────────────┤

A closure begins with a module or with an op whose backward is recorded. It ends with the last
backward op before the next such begin, so an optimizer that calls its closure again (LBFGS) has
its own work in between. Without a recorded begin the closure starts with the range. What an inner
range of the optimizer holds (``zero_grad``) is no part of the closure.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from ...base.arrays import I32, I64, Mask, distinct_values, equal, where
from ...base.intervals import EMPTY, Intervals, holds, length_within, union
from ...trace.model import HostKind, Trace
from ..call_tree.paths import innermost


class Closures(Struct, frozen=True, eq=False):
    """When closures ran; masks have shape (host rows,)."""

    time: Intervals
    rows: Mask  # whose time is a closure's
    within: Mask  # ranges of the optimizer in a closure, which keep their time


def closures_of(trace: Trace, optimizer: Mask, backward: Mask) -> Closures:
    """The closures of a trace.

    ``optimizer`` marks ranges of ``Optimizer.step`` and ``zero_grad``, ``backward`` ops of
    autograd; shape (host rows,).
    """
    host = trace.host
    around = _ranges_around(trace, where(optimizer))
    begins, ends = _forward(trace, around), _backward(trace, around, where(backward))
    if not len(begins) + len(ends):
        nothing = np.zeros(len(host), np.bool_)
        return Closures(EMPTY, nothing, nothing)
    time = _spans(trace, around, begins, ends)
    inside = holds(time, host.ts) & (around >= 0)
    calling = distinct_values(around[np.concatenate([begins, ends])])
    calling = calling[calling >= 0]
    inside[calling] = False
    within = inside & optimizer
    rows: Mask = inside.copy()
    rows[rows] = ~within[around[rows]]
    # The rest of a range that calls closures counts as what most of it is.
    start, end = host.ts[calling], host.ts[calling] + host.dur[calling]
    rows[calling[2 * length_within(time, start, end) >= end - start]] = True
    return Closures(time, rows, within)


def _ranges_around(trace: Trace, ranges: I32) -> I32:
    """The innermost range of the optimizer around each host row, -1 without; empty without any.

    Lightning's own profiler begins a step inside ``Optimizer.step``: what follows in the range is
    below the step then, and belongs to the range by time.
    """
    host = trace.host
    own = np.full(len(host) if len(ranges) else 0, -1, np.int32)
    if not len(ranges):
        return own
    own[ranges] = ranges
    around = innermost(own, host.parent)
    start, end = host.ts[ranges], host.ts[ranges] + host.dur[ranges]
    for thread in distinct_values(host.thread[ranges]):
        here = where(host.thread[ranges] == thread)
        last = np.maximum.accumulate(end[here])
        here = here[np.append(True, start[here[1:]] >= last[:-1])]  # the outermost by time
        cut = (around < 0) & (host.thread == thread)
        rows = where(cut & holds(union(start[here], end[here]), host.ts))
        holder = here[np.searchsorted(start[here], host.ts[rows], side="right") - 1]
        is_inside = host.ts[rows] + host.dur[rows] <= end[holder]
        around[rows[is_inside]] = ranges[holder[is_inside]]
    return around


def _forward(trace: Trace, around: I32) -> I64:
    """Modules, and ops that autograd links to a backward op, in ranges of the optimizer."""
    if not len(around):
        return np.zeros(0, np.int64)
    host = trace.host
    rows = distinct_values(host.forward[host.forward >= 0])
    rows = rows[around[rows] >= 0]
    while True:  # up to the outermost op
        above = host.parent[rows]
        is_op = (above >= 0) & (around[above] >= 0) & (host.kind[above] == HostKind.OP)
        if not is_op.any():
            break
        rows = distinct_values(np.where(is_op, above, rows))
    modules = where(equal(host.kind, HostKind.MODULE) & (around >= 0))
    return np.concatenate([rows, modules]).astype(np.int64)


def _backward(trace: Trace, around: I32, backward: I32) -> I64:
    """Backward ops in ranges of the optimizer, or on another thread while a closure is open."""
    if not len(around):
        return np.zeros(0, np.int64)
    host = trace.host
    inside = around[backward] >= 0
    called = distinct_values(around[_forward(trace, around)])
    there = holds(union(host.ts[called], host.ts[called] + host.dur[called]), host.ts[backward])
    there &= ~np.isin(host.thread[backward], host.thread[called])
    return backward[inside | there].astype(np.int64)


def _spans(trace: Trace, around: I32, begins: I64, ends: I64) -> Intervals:
    """From each begin that follows an end, to the last end of its run."""
    host = trace.host
    rows = np.concatenate([begins, ends])
    is_end = np.repeat([False, True], [len(begins), len(ends)])
    order = np.argsort(host.ts[rows], kind="stable")
    rows, is_end = rows[order], is_end[order]
    # Work of another thread belongs to the range that began before it.
    called = np.maximum.accumulate(around[rows])
    first = np.diff(called, prepend=-1) != 0
    start = np.where(first & is_end, host.ts[called], host.ts[rows])
    first[1:] |= is_end[:-1] & ~is_end[1:]
    at = np.flatnonzero(first)
    return union(start[at], np.maximum.reduceat(host.ts[rows] + host.dur[rows], at))
