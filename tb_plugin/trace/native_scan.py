"""Runs of events through the native library; what it leaves is read as ever.

The library takes events that are strict JSON with values of the usual types, each wholly or not at
all, and stops in front of any other. So what it takes means the same as member by member.

Recorders write few other events. Where there are many, the reference reads blocks of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from .faults import FaultLog
from .limits import Limits
from .native_columns import NativeColumns
from .runs import BlockRuns, Runs
from .sinks import ColumnsSink, Event
from .window import Window

_MANY = 64
# One event read by itself costs as much as some in a block that the reference reads.
_SAMPLE, _WORTH = 16, 5
_ODD_BYTES = 64 * 1024


class NativeSink:
    """Into the columns of a RawTrace that the library grows."""

    def __init__(self, columns: NativeColumns, faults: FaultLog) -> None:
        self.columns = columns
        self._others = ColumnsSink(columns, faults)

    @property
    def rows(self) -> int:
        """How many it has taken."""
        return self.columns.rows

    def runs(self, limits: Limits) -> Runs:
        """By the library."""
        return NativeRuns(self.columns, BlockRuns(self._block, _small(limits)), limits)

    def events(self, events: Sequence[Event], starts: Sequence[int], end: int) -> None:
        """Value by value."""
        self._others.events(events, starts, end)

    def _block(self, array: bytes, place: int) -> None:
        self.columns.in_order = False
        self._others.block(array, place)


class NativeRuns:
    """Blocks of events that the library takes; where it leaves many, blocks of others."""

    def __init__(self, columns: NativeColumns, odd_runs: Runs, limits: Limits) -> None:
        self._columns = columns
        self._odd_runs = odd_runs
        self._limits = limits
        self._left = False  # It has just refused the event at this position.
        self._odd = False
        self._few = 1
        self._pause = self._tries_left_out = 0
        self._taken = self._singles = 0  # rows, and members read one by one, of late

    def take(self, window: Window) -> bool:
        """Hands over as many events of the next block as the library takes."""
        if self._odd:
            self._odd = False
            if self._take_odd(window):
                self._left = False
                return True
        if self._left:
            self._left = False
            return False
        before = self._columns.rows
        start = window.pos
        stop = min(start + self._limits.block_bytes, len(window.data))
        behind, self._left = self._columns.run(window.data, start, stop, self._limits.value_bytes)
        rows = self._columns.rows - before
        if not rows:
            self._left = False
            return False
        self._columns.add_block(window.place, behind - start, rows)
        window.pos = behind
        self._taken += rows
        self._few = 1
        return True

    def _take_odd(self, window: Window) -> bool:
        """Hands over a block of strict JSON; seldom tries to where the text is damaged instead."""
        if self._tries_left_out < self._pause:
            self._tries_left_out += 1
            return False
        before = self._columns.rows
        taken = self._odd_runs.take(window)
        worth = self._columns.rows - before > _SAMPLE
        self._pause = 0 if worth else min(2 * self._pause + 1, _MANY)
        self._tries_left_out = 0
        return taken

    def singles(self) -> int:
        """One at first, and more where the library takes nothing between them."""
        few = self._few
        self._few = min(2 * few, _MANY)
        self._singles += few
        if self._singles >= _SAMPLE:
            self._odd = self._taken < _WORTH * self._singles
            self._taken = self._singles = 0
        return few


def _small(limits: Limits) -> Limits:
    return replace(limits, block_bytes=min(limits.block_bytes, _ODD_BYTES))
