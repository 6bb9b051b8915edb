"""Where decoded events go: into columns when a file is scanned, into a list when read again."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from .chunk import OddBlock
from .faults import FaultLog
from .loose import add_loose
from .places import BlockPlaces, KnownPlaces
from .raw_columns import RawColumns
from .strict import decode_strict
from .typed import TypedBlocks
from .values import Json

Event = Mapping[str, Json]
_AT = re.compile(r"\(byte (\d+)\)")


class Damaged(Exception):
    """A block is not strict JSON. ``at`` is near the first damaged byte; −1 when unknown.

    It only helps to find the damage sooner: nothing else depends on it.
    """

    def __init__(self, at: int = -1) -> None:
        super().__init__(at)
        self.at = at


class Sink(Protocol):
    """Takes events in the order of the text."""

    @property
    def rows(self) -> int:
        """How many it has taken."""
        ...

    def block(self, array: bytes, place: int) -> None:
        """Takes the text of a JSON array of events, what is behind its ``[`` from ``place``.

        Raises:
            Damaged: nothing was taken.
        """
        ...

    def events(self, events: Sequence[Event], starts: Sequence[int], end: int) -> None:
        """Takes events that begin at ``starts``; the last one ends before ``end``."""
        ...


class ColumnsSink:
    """Into the columns of a RawTrace."""

    def __init__(self, columns: RawColumns, faults: FaultLog) -> None:
        self._columns = columns
        self._faults = faults
        self._typed = TypedBlocks(columns, faults)

    @property
    def rows(self) -> int:
        """How many it has taken."""
        return self._columns.rows

    def block(self, array: bytes, place: int) -> None:
        """Typed if possible, else value by value."""
        _check_utf8(array)
        places = BlockPlaces(array, place)
        try:
            count = self._typed.add(array, places)
        except (OddBlock, msgspec.ValidationError):
            events = objects(array)
            add_loose(self._columns, self._faults, events, places)
            count = len(events)
        except msgspec.DecodeError as error:
            at = _AT.search(str(error))
            raise Damaged(int(at[1]) if at else -1) from None
        except RecursionError:
            raise Damaged from None
        self._columns.add_block(place, len(array) - 2, count)

    def events(self, events: Sequence[Event], starts: Sequence[int], end: int) -> None:
        """Value by value."""
        add_loose(self._columns, self._faults, events, KnownPlaces(starts))
        self._columns.add_block(starts[0], end - starts[0], len(events))


class ListSink:
    """Into ``kept``, as Python values."""

    def __init__(self) -> None:
        self.kept: list[Event] = []

    @property
    def rows(self) -> int:
        """How many it has taken."""
        return len(self.kept)

    def block(self, array: bytes, place: int) -> None:  # noqa: ARG002  # the form of Sink
        """Value by value."""
        _check_utf8(array)
        self.kept += objects(array)

    def events(self, events: Sequence[Event], starts: Sequence[int], end: int) -> None:  # noqa: ARG002
        """As they are."""
        self.kept += events


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
