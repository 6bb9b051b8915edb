"""Where decoded events go: into columns when a file is scanned, into a list when read again."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from .chunk import OddBlock
from .faults import FaultLog
from .limits import Limits
from .loose import add_loose
from .places import BlockPlaces, KnownPlaces
from .raw_columns import Columns
from .runs import BlockRuns, Damaged, Runs
from .strict import decode_strict
from .typed import TypedBlocks
from .values import Json

Event = Mapping[str, Json]
_AT = re.compile(r"\(byte (\d+)\)")


class Sink(Protocol):
    """Takes events in the order of the text."""

    @property
    def rows(self) -> int:
        """How many it has taken."""
        ...

    def runs(self, limits: Limits) -> Runs:
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

    def runs(self, limits: Limits) -> Runs:
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
        add_loose(self.columns, self._faults, events, KnownPlaces(starts))
        self.columns.add_block(starts[0], end - starts[0], len(events))


class ListSink:
    """Into ``kept``, as Python values."""

    def __init__(self) -> None:
        self.kept: list[Event] = []

    @property
    def rows(self) -> int:
        """How many it has taken."""
        return len(self.kept)

    def runs(self, limits: Limits) -> Runs:
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
    add_loose(columns, faults, events, BlockPlaces(array, place))
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
