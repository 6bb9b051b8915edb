"""One event in full, found again in the file."""

from __future__ import annotations

from contextlib import suppress

import numpy as np

from kinetoscope.base.errors import NotFoundError
from kinetoscope.trace.io.gzip import NotTheFile, can_seek
from kinetoscope.trace.io.source import Source, Text, TextAt
from kinetoscope.trace.raw import NO_POINTS, Blocks, FaultLog, SeekIndex
from kinetoscope.trace.scan.cursor import ScanLimits, TextWindow
from kinetoscope.trace.scan.events import Event, EventReader
from kinetoscope.trace.scan.json_values import Json, plain
from kinetoscope.trace.scan.sinks import ListSink


def read_event(
    source: Source, blocks: Blocks, row: int, seek: SeekIndex = NO_POINTS
) -> dict[str, Json]:
    """The whole JSON object of one event, with every key, as Python values.

    Goes to the block that holds the row and decodes it alone, with the repairs of the scan. A plain
    file is read there at once; a gzip file is inflated from the last point of ``seek`` before it,
    or from its start.

    Raises:
        NotFoundError: there is no such row, or the file is not the one that was scanned.
    """
    if not 0 <= row < int(blocks.first_row[-1]):
        raise NotFoundError(f"There is no event {row}.")
    block = int(np.searchsorted(blocks.first_row, row, side="right")) - 1
    offset, length = int(blocks.offset[block]), int(blocks.length[block])
    index = row - int(blocks.first_row[block])
    kept: list[Event] = []
    if can_seek(seek, offset):
        with suppress(NotTheFile), TextAt(source, seek, offset) as text:
            kept = _events(_Part(text, length))
    if index >= len(kept):
        with Text(source, FaultLog()) as text:
            text.skip(offset)
            kept = _events(_Part(text, length))
    if index >= len(kept):
        raise NotFoundError("The file has changed since it was read.")
    event: dict[str, Json] = plain(kept[index])
    return event


def _events(part: _Part) -> list[Event]:
    sink = ListSink()
    limits = ScanLimits()
    EventReader(sink, FaultLog(), limits, lambda: None).read(TextWindow(part, limits.block_bytes))
    return sink.kept


class _Part:
    """The next ``length`` bytes of a text."""

    def __init__(self, text: Text, length: int) -> None:
        self._text = text
        self._left = length

    def read(self, n: int, /) -> bytes:
        """Up to n bytes; b"" only at the end."""
        piece = self._text.read(min(n, self._left))
        self._left -= len(piece)
        return piece
