"""Where do decoded events go? Into columns when a file is scanned, into a list when read again."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ...base.regex import regex
from ..raw import FaultLog
from .column_builder import BlockPlaces, Columns, KnownPlaces
from .cursor import ScanLimits
from .events import BlockRuns, Damaged, Event, Runs
from .json_values import Json, decode_strict
from .reference import add_by_reference
from .typed import OddBlock, TypedBlocks

_AT = regex(r"\(byte (\d+)\)")


class ColumnsSink:
    """A sink into the columns of a RawTrace."""

    def __init__(self, columns: Columns, faults: FaultLog) -> None:
        self.columns = columns
        self._faults = faults
        self._typed = TypedBlocks(columns, faults)

    @property
    def rows(self) -> int:
        """The number of events taken."""
        return self.columns.rows

    def runs(self, limits: ScanLimits) -> Runs:
        """Decode block by block."""
        return BlockRuns(self.block, limits)

    def block(self, array: bytes, place: int) -> None:
        """Take the text of a JSON array of events, from behind its ``[`` at ``place``.

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
        """Take events value by value."""
        add_by_reference(self.columns, self._faults, events, KnownPlaces(starts))
        self.columns.add_block(starts[0], end - starts[0], len(events))


class ListSink:
    """A sink into ``kept``, as Python values."""

    def __init__(self) -> None:
        self.kept: list[Event] = []

    @property
    def rows(self) -> int:
        """The number of events taken."""
        return len(self.kept)

    def runs(self, limits: ScanLimits) -> Runs:
        """Decode block by block."""
        return BlockRuns(self._block, limits)

    def _block(self, array: bytes, place: int) -> None:  # noqa: ARG002  # the form of a taker
        _check_utf8(array)
        self.kept += objects(array)

    def events(self, events: Sequence[Event], starts: Sequence[int], end: int) -> None:  # noqa: ARG002
        """Keep the events as they are."""
        self.kept += events


def add_block(columns: Columns, faults: FaultLog, array: bytes, place: int) -> None:
    """Append the events of a JSON array, from behind its ``[`` at ``place``, value by value.

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
