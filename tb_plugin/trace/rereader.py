"""Events of one file again and again: what was found for one is kept for the next."""

from __future__ import annotations

import io
import threading
from collections import OrderedDict
from contextlib import suppress

import numpy as np

from ..base.errors import NotFoundError
from .events import EventReader
from .faults import FaultLog
from .inflate import TextAt
from .limits import Limits
from .raw import NO_POINTS, Blocks, SeekIndex
from .seek import NotTheFile, can_seek
from .seeking import SeekableText, taken
from .sinks import Event, ListSink
from .strict import plain
from .values import Json
from .window import Window

BLOCKS_KEPT = 4


class Rereader:
    """The events of a file that was scanned; several threads may ask."""

    def __init__(self, path: str, blocks: Blocks, seek: SeekIndex = NO_POINTS) -> None:
        self._path = path
        self._blocks = blocks
        self._seek = seek
        self._text = SeekableText(path)
        self._kept: OrderedDict[int, list[Event]] = OrderedDict()
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
        events = self._events(block)
        index = row - int(blocks.first_row[block])
        if index >= len(events):
            raise NotFoundError("The file has changed since it was read.")
        event: dict[str, Json] = plain(events[index])
        return event

    def _events(self, block: int) -> list[Event]:
        with self._lock:
            if block in self._kept:
                self._kept.move_to_end(block)
                return self._kept[block]
        offset, length = int(self._blocks.offset[block]), int(self._blocks.length[block])
        events = events_in(self._read(offset, length))
        with self._lock:
            self._kept[block] = events
            while len(self._kept) > BLOCKS_KEPT:
                self._kept.popitem(last=False)
        return events

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
