"""The main thread of a trace, with the line of the user's code that each event belongs to.

An event belongs to the innermost frame of the user's own code that is open around it: its *owner*.
A call of a library's function belongs to the code that called the library.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import I32, I64, is_among, matches, of_names
from ...base.intervals import Intervals, merge, union
from ...trace.model import HostKind, Trace
from ..host_activity import HostRole, Hosts
from ..idle.places import is_own_frame
from ..steps import Windows

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Found:
    """What a recognizer found: the time it takes, and its events."""

    kind: str
    name: str
    time: Intervals
    rows: I64  # of the host table, or of the device table where ``on_device``
    frame: str = ""
    figures: dict[str, float] = field(default_factory=dict)
    on_device: bool = False


@dataclass(frozen=True)
class HostCode:
    """The rows of the main thread, [low, high) of the host table; columns count from ``low``."""

    trace: Trace
    hosts: Hosts
    windows: Windows

    @cached_property
    def low(self) -> int:
        return int(self.hosts.first[self.hosts.main]) if self.hosts.main >= 0 else 0

    @cached_property
    def high(self) -> int:
        return int(self.hosts.first[self.hosts.main + 1]) if self.hosts.main >= 0 else 0

    @cached_property
    def ts(self) -> I64:
        return self.trace.host.ts[self.low : self.high]

    @cached_property
    def end(self) -> I64:
        return self.ts + self.trace.host.dur[self.low : self.high]

    @cached_property
    def name(self) -> I32:
        return self.trace.host.name[self.low : self.high]

    @cached_property
    def parent(self) -> I32:
        """Rows of this thread, −1 at the outside."""
        above = self.trace.host.parent[self.low : self.high].astype(np.int64) - self.low
        return np.maximum(above, -1).astype(np.int32)

    @cached_property
    def op(self) -> Mask:
        return self.hosts.op[self.low : self.high]

    @cached_property
    def frame(self) -> Mask:
        """Python frames, those of modules too."""
        return self.hosts.frame[self.low : self.high]

    @cached_property
    def module(self) -> Mask:
        result: Mask = self.trace.host.kind[self.low : self.high] == HostKind.MODULE
        return result

    @cached_property
    def top_op(self) -> Mask:
        """Ops that no op calls."""
        above = self.parent
        inner = (above >= 0) & self.op[np.maximum(above, 0)]
        result: Mask = self.op & ~inner
        return result

    @cached_property
    def owner(self) -> I32:
        """For each row the row of the frame it belongs to, itself included; −1 for none.

        Each round doubles the distance that is looked upwards.
        """
        strings = self.trace.strings
        own = self.frame & of_names(strings, self.name, is_own_frame, np.bool_)
        at = np.where(own, np.arange(len(own), dtype=np.int32), self.parent)
        while len(more := np.flatnonzero((at >= 0) & ~own[np.maximum(at, 0)])):
            at[more] = at[at[more]]
        return at

    def owner_name(self, row: int) -> str:
        """The frame that a row belongs to, as the recorder names it; "" for none."""
        at = int(self.owner[row])
        return self.trace.strings[int(self.name[at])] if at >= 0 else ""

    def named(self, pattern: re.Pattern[str]) -> Mask:
        """Rows whose name matches."""
        result: Mask = matches(self.trace.strings, self.name, pattern)
        return result

    def role(self, role: HostRole) -> Mask:
        """Rows of one role."""
        result: Mask = self.hosts.role[self.low : self.high] == role
        return result

    def time(self, rows: Mask | I64) -> Intervals:
        """When any of the rows was open."""
        return union(self.ts[rows], self.end[rows])

    def outermost(self, mask: Mask) -> I64:
        """The chosen rows that lie in no other chosen one."""
        rows = np.flatnonzero(mask)
        if not len(rows):
            return rows
        reach = np.maximum.accumulate(self.end[rows])
        first = np.ones(len(rows), np.bool_)
        first[1:] = self.ts[rows[1:]] >= reach[:-1]
        return rows[first]

    def within(self, rows: I64, time: Intervals) -> I64:
        """The rows that begin in one of the intervals."""
        if not len(time) or not len(rows):
            return rows[:0]
        at = np.searchsorted(time.start, self.ts[rows], side="right") - 1
        inside = (at >= 0) & (self.ts[rows] < time.end[np.maximum(at, 0)])
        return rows[inside]

    def by_owner(self, rows: I64, weight: I64, most: int) -> list[tuple[str, I64]]:
        """The rows by the frame they belong to, the largest weights first."""
        if not len(rows):
            return []
        at = self.owner[rows]
        code = np.where(at >= 0, self.name[np.maximum(at, 0)], -1)
        total = np.bincount(code + 1, weight, len(self.trace.strings) + 1)
        order = [int(one) for one in np.argsort(-total, kind="stable")[:most] if total[one] > 0]
        return [
            (self.trace.strings[one - 1] if one else "", rows[code == one - 1]) for one in order
        ]

    def host_rows(self, rows: I64) -> I64:
        """Rows of the host table."""
        return np.asarray(rows, np.int64) + self.low

    def steps_of(self, ts: I64) -> I64:
        """The index of the window that holds each instant; −1 for none."""
        at = np.searchsorted(self.windows.start, ts, side="right") - 1
        inside = (at >= 0) & (ts < self.windows.end[np.maximum(at, 0)])
        return np.where(inside, at, -1)

    @cached_property
    def loading(self) -> Intervals:
        """When the main thread was in the DataLoader."""
        return self.time(self.hosts.loader[self.low : self.high])

    @cached_property
    def backward(self) -> Intervals:
        """When the main thread was in ``backward()``, or ran backward ops."""
        return self.time(self.role(HostRole.BACKWARD) & (self.frame | self.op))

    def outside_of_loader(self, rows: I64) -> I64:
        """The rows that do not begin in the DataLoader: what runs there is the loader's."""
        return rows[~is_among(rows, self.within(rows, self.loading))]

    def with_backward(self, time: Intervals) -> Intervals:
        """Intervals of forward ops, and those of the backward ops that autograd made of them.

        Where that is most of the backward time, all of it: sums of gradients are linked to none.
        """
        forward = self.trace.host.forward[self.low : self.high]
        linked = np.flatnonzero(forward >= self.low)
        source = forward[linked].astype(np.int64) - self.low
        keep = source < len(self.ts)
        linked, source = linked[keep], source[keep]
        if not len(linked) or not len(time):
            return time
        mine = is_among(source, self.within(np.sort(source), time))
        of_these, of_all = self.time(linked[mine]), self.time(linked)
        if 2 * of_these.total_ns >= of_all.total_ns > 0:
            return merge(time, self.backward)
        return merge(time, of_these)
