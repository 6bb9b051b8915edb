"""Events of one file again and again: what was found for one is kept for the next."""

from __future__ import annotations

import io
import threading
from collections import OrderedDict
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from ..base.errors import NotFoundError
from .events import EventReader
from .faults import FaultLog
from .inflate import TextAt
from .limits import Limits
from .members import members_of
from .raw import NO_POINTS, Blocks, SeekIndex
from .seek import NotTheFile, can_seek
from .seeking import SeekableText, taken
from .sinks import Event, ListSink
from .strict import decode_strict, plain
from .values import Json
from .window import Window

BLOCKS_KEPT = 4


@dataclass(frozen=True, slots=True)
class _Text:
    """A block, and the texts of its events where it is strict JSON."""

    data: bytes
    members: list[bytes]


class Rereader:
    """The events of a file that was scanned; several threads may ask."""

    def __init__(self, path: str, blocks: Blocks, seek: SeekIndex = NO_POINTS) -> None:
        self._path = path
        self._blocks = blocks
        self._seek = seek
        self._text = SeekableText(path)
        self._kept: OrderedDict[int, _Text] = OrderedDict()
        self._lock = threading.Lock()

    def event(self, row: int) -> dict[str, Json]:
        """The whole JSON object of one event, with every key, as Python values.

        Raises:
            NotFoundError: there is no such row or file, or the file is not the one scanned.
        """
        blocks = self._blocks
        if not 0 <= row < int(blocks.first_row[-1]):
            raise NotFoundError(f"There is no event {row}.")
        block = int(np.searchsorted(blocks.first_row, row, side="right")) - 1
        index = row - int(blocks.first_row[block])
        event: dict[str, Json] = plain(self._found(block, index))
        return event

    def _found(self, block: int, index: int) -> Event:
        """An event of a block: decoded alone, if the block is strict JSON."""
        text = self._text_of(block)
        count = int(self._blocks.first_row[block + 1] - self._blocks.first_row[block])
        if len(text.members) == count:
            with suppress(ValueError):
                event = decode_strict(text.members[index])
                if isinstance(event, dict):
                    return event
        events = events_in(text.data)
        if index >= len(events):
            raise NotFoundError("The file has changed since it was read.")
        return events[index]

    def _text_of(self, block: int) -> _Text:
        with self._lock:
            if block in self._kept:
                self._kept.move_to_end(block)
                return self._kept[block]
        data = self._read(int(self._blocks.offset[block]), int(self._blocks.length[block]))
        text = _Text(data, members_of(data))
        with self._lock:
            self._kept[block] = text
            while len(self._kept) > BLOCKS_KEPT:
                self._kept.popitem(last=False)
        return text

    def _read(self, offset: int, length: int) -> bytes:
        if can_seek(self._seek, offset):
            with (
                suppress(NotTheFile, NotFoundError),
                TextAt(self._path, self._seek, offset) as text,
            ):
                return taken(text, length)
        return self._text.read(offset, length)


def events_in(data: bytes) -> list[Event]:
    """The events of the text of a block, with the repairs of the scan."""
    sink, limits = ListSink(), Limits()
    window = Window(io.BytesIO(data), limits.block_bytes)
    EventReader(sink, FaultLog(), limits, lambda: None).read(window)
    return sink.kept
