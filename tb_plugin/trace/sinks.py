"""Where decoded events go: into columns when a file is scanned, into a list when one event is read again."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

from .faults import FaultLog
from .grammar import starts_of_members
from .loose import add_loose
from .raw_columns import RawColumns
from .strict import decode_strict
from .typed import OddBlock, TypedBlocks

_AT = re.compile(r"\(byte (\d+)\)")


class Damaged(Exception):  # noqa: N818
    """A block is not strict JSON. ``at`` is near the first damaged byte; −1 when that is not known."""

    def __init__(self, at: int = -1) -> None:
        super().__init__(at)
        self.at = at


class Sink(Protocol):
    """Takes events in the order of the text."""

    def block(self, array: bytes, place: int) -> None:
        """Takes the text of a JSON array of events; its first event is at ``place``, one byte behind ``[``.

        Raises:
            Damaged: nothing was taken.
        """
        ...

    def events(self, events: Sequence[Mapping[str, Any]], places: Sequence[int], end: int) -> None:
        """Takes events with the places where they begin; the last one ends before ``end``."""
        ...


class ColumnsSink:
    """Into the columns of a RawTrace."""

    def __init__(self, columns: RawColumns, faults: FaultLog) -> None:
        self._columns = columns
        self._faults = faults
        self._typed = TypedBlocks(columns, faults)

    def block(self, array: bytes, place: int) -> None:
        """Typed if possible, else value by value."""
        _check_utf8(array)
        places = Places(array, place)
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

    def events(self, events: Sequence[Mapping[str, Any]], places: Sequence[int], end: int) -> None:
        """Value by value."""
        add_loose(self._columns, self._faults, events, places.__getitem__)
        self._columns.add_block(places[0], end - places[0], len(events))


class ListSink:
    """Into ``kept``, as Python values."""

    def __init__(self) -> None:
        self.kept: list[Mapping[str, Any]] = []

    def block(self, array: bytes, place: int) -> None:
        """Value by value."""
        _check_utf8(array)
        self.kept += objects(array)

    def events(self, events: Sequence[Mapping[str, Any]], places: Sequence[int], end: int) -> None:
        """As they are."""
        self.kept += events


def _check_utf8(array: bytes) -> None:
    # msgspec does not look at the text of keys that no column takes.
    if not array.isascii():
        try:
            array.decode("utf-8")
        except UnicodeDecodeError as error:
            raise Damaged(error.start) from None


def objects(array: bytes) -> list[dict[str, Any]]:
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
    return members  # type: ignore[no-any-return]


class Places:
    """Where the events of a block begin in the text; found only when somebody asks."""

    def __init__(self, array: bytes, place: int) -> None:
        self._array = array
        self._place = place
        self._starts: list[int] = []

    def __call__(self, index: int) -> int:
        """Place of the event with this index."""
        if not self._starts:
            self._starts = list(starts_of_members(self._array))
        return self._place - 1 + self._starts[index]
