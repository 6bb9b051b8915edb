"""Where do decoded events go, and how are many decoded at once?

A ``Sink`` puts events into columns when a file is scanned, into a list when events are read again.
Its ``Runs`` decode many sound events at once, with the same meaning as member by member.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import msgspec

from ..faults import FaultLog
from .column_builder import BlockPlaces, Columns, KnownPlaces
from .cursor import ScanLimits, TextWindow
from .json_values import Json, decode_strict
from .reference import add_by_reference
from .typed import TypedBlocks
from .typed_columns import OddBlock

_CUT = re.compile(rb"\}(?=[ \t\r\n]*,[ \t\r\n]*\{)")
_TAIL = 64 * 1024
_SMALL = 64 * 1024
_FEW, _MANY = 16, 4096


class Damaged(Exception):
    """A block is not strict JSON. ``at`` is near the first damaged byte; −1 when unknown.

    It only helps to find the damage sooner: nothing else depends on it.
    """

    def __init__(self, at: int = -1) -> None:
        super().__init__(at)
        self.at = at


class Runs(Protocol):
    """Takes what can be taken at once; the rest is read member by member."""

    def take(self, window: TextWindow) -> bool:
        """Hands over events from the window's position, and moves behind the last of them.

        False when that is not possible here, so that the next members must be read one by one.
        """
        ...

    def singles(self) -> int:
        """How many members to read one by one where no run is possible."""
        ...


class BlockRuns:
    """Blocks of whole events, for a decoder of JSON arrays.

    A block ends at a ``}`` that is followed by ``, {``. If that is inside a string or a nested
    value, the block has an open quote or bracket and does not decode: no wrong cut goes unnoticed.
    """

    def __init__(self, take_block: Callable[[bytes, int], None], limits: ScanLimits) -> None:
        self._take_block = take_block
        self._limits = limits
        self._span = limits.block_bytes
        self._few = _FEW

    def take(self, window: TextWindow) -> bool:
        """Hands over as many events as are surely whole, if they are strict JSON."""
        taken = self._take(window)
        if taken:
            self._few = _FEW
        return taken

    def singles(self) -> int:
        """More and more, as long as there is damage."""
        few = self._few
        self._few = min(2 * few, _MANY)
        return few

    def _take(self, window: TextWindow) -> bool:
        cut = _last_cut(window, window.pos + self._span)
        try:
            if cut < 0:
                return False
            self._block(window, cut)
        except Damaged as damage:
            self._span = min(_SMALL, self._limits.block_bytes)
            cut = _last_cut(window, window.pos + damage.at - 1) if damage.at > 0 else -1
            try:
                if cut < 0:
                    return False
                self._block(window, cut)
            except Damaged:
                return False
        else:
            self._span = min(2 * self._span, self._limits.block_bytes)
        return True

    def _block(self, window: TextWindow, cut: int) -> None:
        self._take_block(b"[" + window.data[window.pos : cut] + b"]", window.place)
        window.pos = cut


def _last_cut(window: TextWindow, stop: int) -> int:
    """Index behind the last event before ``stop`` that another one seems to follow; −1: none."""
    stop = min(stop, len(window.data))
    start = max(window.pos, stop - _TAIL)
    at = window.data.rfind(b"}", start, stop)
    while at >= 0 and not _CUT.match(window.data, at):
        at = window.data.rfind(b"}", start, at)
    return at + 1 if at >= 0 else -1


Event = Mapping[str, Json]
_AT = re.compile(r"\(byte (\d+)\)")


class Sink(Protocol):
    """Takes events in the order of the text."""

    @property
    def rows(self) -> int:
        """How many it has taken."""
        ...

    def runs(self, limits: ScanLimits) -> Runs:
        """How it takes many events at once."""
        ...

    def events(self, events: Sequence[Event], starts: Sequence[int], end: int) -> None:
        """Takes events that begin at ``starts``; the last one ends before ``end``."""
        ...


class ColumnsSink:
    """Into the columns of a RawTrace."""

    def __init__(self, columns: Columns, faults: FaultLog) -> None:
        self.columns = columns
        self._faults = faults
        self._typed = TypedBlocks(columns, faults)

    @property
    def rows(self) -> int:
        """How many it has taken."""
        return self.columns.rows

    def runs(self, limits: ScanLimits) -> Runs:
        """Block by block."""
        return BlockRuns(self.block, limits)

    def block(self, array: bytes, place: int) -> None:
        """Takes the text of a JSON array of events, what is behind its ``[`` from ``place``.

        Typed if possible, else value by value.

        Raises:
            Damaged: nothing was taken.
        """
        _check_utf8(array)
        places = BlockPlaces(array, place)
        try:
            count = self._typed.add(array, places)
        except (OddBlock, msgspec.ValidationError):
            add_block(self.columns, self._faults, array, place)
            return
        except msgspec.DecodeError as error:
            at = _AT.search(str(error))
            raise Damaged(int(at[1]) if at else -1) from None
        except RecursionError:
            raise Damaged from None
        self.columns.add_block(place, len(array) - 2, count)

    def events(self, events: Sequence[Event], starts: Sequence[int], end: int) -> None:
        """Value by value."""
        add_by_reference(self.columns, self._faults, events, KnownPlaces(starts))
        self.columns.add_block(starts[0], end - starts[0], len(events))


class ListSink:
    """Into ``kept``, as Python values."""

    def __init__(self) -> None:
        self.kept: list[Event] = []

    @property
    def rows(self) -> int:
        """How many it has taken."""
        return len(self.kept)

    def runs(self, limits: ScanLimits) -> Runs:
        """Block by block."""
        return BlockRuns(self._block, limits)

    def _block(self, array: bytes, place: int) -> None:  # noqa: ARG002  # the form of a taker
        _check_utf8(array)
        self.kept += objects(array)

    def events(self, events: Sequence[Event], starts: Sequence[int], end: int) -> None:  # noqa: ARG002
        """As they are."""
        self.kept += events


def add_block(columns: Columns, faults: FaultLog, array: bytes, place: int) -> None:
    """Appends the events of a JSON array, what is behind its ``[`` from ``place``, value by value.

    Raises:
        Damaged: it is none. Nothing was appended.
    """
    _check_utf8(array)
    events = objects(array)
    add_by_reference(columns, faults, events, BlockPlaces(array, place))
    columns.add_block(place, len(array) - 2, len(events))


def _check_utf8(array: bytes) -> None:
    # msgspec does not look at the text of keys that no column takes.
    if not array.isascii():
        try:
            array.decode("utf-8")
        except UnicodeDecodeError as error:
            raise Damaged(error.start) from None


def objects(array: bytes) -> list[dict[str, Json]]:
    """The members of a JSON array of objects.

    Raises:
        Damaged: it is none.
    """
    try:
        members = decode_strict(array)
    except ValueError:
        raise Damaged from None
    if not all(type(member) is dict for member in members):
        raise Damaged
    return list(members)
