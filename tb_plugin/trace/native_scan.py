"""Runs of events through the native library; what it leaves is read as ever.

The library takes events that are strict JSON with values of the usual types, each wholly or not at
all, and stops in front of any other. So what it takes means the same as member by member.
"""

from __future__ import annotations

from collections.abc import Sequence

from .faults import FaultLog
from .limits import Limits
from .native_columns import NativeColumns
from .runs import Runs
from .sinks import Event, add_singles
from .window import Window

_MANY = 4096
_FEW_ROWS = 16


class NativeSink:
    """Into the columns of a RawTrace that the library grows."""

    def __init__(self, columns: NativeColumns, faults: FaultLog) -> None:
        self.columns = columns
        self._faults = faults

    @property
    def rows(self) -> int:
        """How many it has taken."""
        return self.columns.rows

    def runs(self, limits: Limits) -> Runs:
        """By the library."""
        return NativeRuns(self.columns, limits)

    def events(self, events: Sequence[Event], starts: Sequence[int], end: int) -> None:
        """Value by value."""
        add_singles(self.columns, self._faults, events, starts, end)


class NativeRuns:
    """Blocks of the events that the library takes."""

    def __init__(self, columns: NativeColumns, limits: Limits) -> None:
        self._columns = columns
        self._limits = limits
        self._left = False
        self._few = 1
        self._since = 0

    def take(self, window: Window) -> bool:
        """Hands over as many events of the next block as the library takes."""
        if self._left:  # It has just refused the event at this position.
            self._left = False
            return False
        before = self._columns.rows
        start = window.pos
        stop = min(start + self._limits.block_bytes, len(window.data))
        taken, self._left = self._columns.run(window.data, start, stop, self._limits.value_bytes)
        if taken == start:
            self._left = False
            return False
        rows = self._columns.rows - before
        self._columns.add_block(window.place, taken - start, rows)
        window.pos = taken
        self._since += rows
        return True

    def singles(self) -> int:
        """One at first, and more and more where runs are short."""
        self._few = 1 if self._since >= _FEW_ROWS else min(2 * self._few, _MANY)
        self._since = 0
        return self._few
