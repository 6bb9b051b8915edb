"""Single events of a trace file, read again with all their keys.

A compressed file is entered at a point before the event (``io/gzip.py``); where there is none
it is inflated up to the event, half a second of CPU time per GB. In a block of strict JSON an event
is found by its position, without decoding the others. The last blocks are kept in memory for the
next event. ``event_texts`` reads many events in one pass.
"""

from __future__ import annotations

import io
import json
import threading
import zlib
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from msgspec import Struct

from ..base.arrays import I64
from ..base.errors import NotFoundError, TraceFormatError
from .io.gzip import CHUNK, NotTheFile, can_seek
from .io.source import Source, Text, TextAt
from .raw import NO_POINTS, Blocks, FaultLog, SeekIndex
from .scan.cursor import Readable, ScanLimits, TextWindow
from .scan.events import Event, EventReader
from .scan.json_values import Json, decode_strict, has_lone_surrogate, json_text, plain
from .scan.sinks import ListSink

if TYPE_CHECKING:
    from typing_extensions import Self

    from .model import Trace


def taken(text: Readable, length: int) -> bytes:
    """The next ``length`` bytes, or all there are."""
    pieces = []
    while length > 0 and (piece := text.read(min(length, CHUNK))):
        pieces.append(piece)
        length -= len(piece)
    return b"".join(pieces)


def text_piece(source: Source, offset: int, length: int) -> bytes:
    """Text [offset, offset + length), or what there is of it; all text before it is inflated.

    Raises:
        NotFoundError: there is no such file.
        OSError: it cannot be read.
    """
    with Text(source, FaultLog()) as text:
        text.skip(offset)
        return taken(text, length)


_ARRAY = msgspec.json.Decoder(list[msgspec.Raw])


def members_of(data: bytes) -> list[bytes]:
    """The texts of the events of a block; none where it is not strict JSON throughout."""
    array = b"[" + data.strip(b" \t\r\n,") + b"]"
    try:
        if not array.isascii():
            array.decode("utf-8")  # msgspec does not look at texts that it skips
        return [bytes(member) for member in _ARRAY.decode(array)]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []


BLOCKS_KEPT = 4


def place_of(blocks: Blocks, row: int) -> tuple[int, int]:
    """The block of an event, and its place in it.

    Raises:
        NotFoundError: there is no such event.
    """
    if not 0 <= row < int(blocks.first_row[-1]):
        raise NotFoundError(f"There is no event {row}.")
    block = int(np.searchsorted(blocks.first_row, row, side="right")) - 1
    return block, row - int(blocks.first_row[block])


class _Text(Struct, frozen=True):
    """A block, and the texts of its events where it is strict JSON."""

    data: bytes
    members: list[bytes]


class Rereader:
    """Single events of a file that was scanned; safe to use from several threads."""

    def __init__(self, path: str, blocks: Blocks, seek: SeekIndex = NO_POINTS) -> None:
        self._path = path
        self._blocks = blocks
        self._seek = seek
        self._kept: OrderedDict[int, _Text] = OrderedDict()
        self._lock = threading.Lock()

    def event(self, row: int) -> dict[str, Json]:
        """The whole JSON object of one event, with every key, as Python values.

        Raises:
            NotFoundError: there is no such row or file, or the file is not the one scanned.
        """
        block, index = place_of(self._blocks, row)
        event: dict[str, Json] = plain(self._found(block, index))
        return event

    def texts(self, block: int) -> list[bytes]:
        """The texts of all events of a block, as ``json`` reads them; empty for one too deep.

        Raises:
            NotFoundError: there is no such file, or it is not the one scanned.
        """
        text = self._text_of(block)
        first, behind = self._blocks.first_row[block : block + 2].tolist()
        rows = np.arange(behind - first)
        if len(text.members) == len(rows) and _are_strict(text.members, rows):
            return text.members
        events = events_in(text.data)
        if len(events) < len(rows):
            raise NotFoundError("The file has changed since it was read.")
        return [_text_of_event(event) for event in events]

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
        return text_piece(self._path, offset, length)


def events_in(data: bytes) -> list[Event]:
    """The events of the text of a block, with the repairs of the scan."""
    sink, limits = ListSink(), ScanLimits()
    window = TextWindow(io.BytesIO(data), limits.block_bytes)
    EventReader(sink, FaultLog(), limits, lambda: None).read(window)
    return sink.kept


MOST_EVENT, MOST_EVENT_DEPTH = 1 << 20, 64
_EVENTS = "events.z"


def keep_events(trace: Trace, folder: Path, _: object, block: str) -> None:
    """Write the texts of the events of a block of a file into a folder.

    Neighbours are mostly wanted next, and a block takes hardly longer than one of its events.

    Raises:
        NotFoundError: the file is not the one that was read.
    """
    texts = Rereader(trace.path, trace.blocks, trace.seek).texts(int(block))
    kept = [text if _is_shown(text) else b"" for text in texts]
    (folder / _EVENTS).write_bytes(zlib.compress(msgspec.msgpack.encode(kept), 1))


def kept_events(folder: Path) -> list[bytes]:
    """The texts that ``keep_events`` wrote into a folder."""
    written = zlib.decompress((folder / _EVENTS).read_bytes())
    return msgspec.msgpack.decode(written, type=list[bytes])


def kept_event(texts: Sequence[bytes], index: int) -> dict[str, Json]:
    """An event of ``kept_events``.

    Raises:
        TraceFormatError: it is larger, or nested deeper, than what is shown.
    """
    try:
        event: dict[str, Json] = json.loads(texts[index])
    except (ValueError, RecursionError):  # also of a number with thousands of digits
        raise TraceFormatError(
            "event_too_large",
            f"It has more than {MOST_EVENT >> 20} MiB, or values nested deeper than"
            f" {MOST_EVENT_DEPTH}.",
        ) from None
    return event


def _text_of_event(event: Event) -> bytes:
    try:
        return json.dumps(plain(event)).encode("ascii")
    except (ValueError, RecursionError):
        return b""


def _is_shown(text: bytes) -> bool:
    if len(text) > MOST_EVENT:
        return False
    # Few events have as many brackets as they may have levels.
    if text.count(b"[") + text.count(b"{") <= MOST_EVENT_DEPTH:
        return True
    try:
        return _depth(json.loads(text)) <= MOST_EVENT_DEPTH
    except (ValueError, RecursionError):
        return False


def _depth(value: Json) -> int:
    """Nesting depth of a value, at most one more than the limit."""
    level, depth = [value], 0
    while level and depth <= MOST_EVENT_DEPTH:
        depth += 1
        inside = (one for one in level if isinstance(one, dict | list))
        level = [
            child
            for one in inside
            for child in (one.values() if isinstance(one, dict) else one)
            if isinstance(child, dict | list)
        ]
    return depth


_OBJECT = msgspec.json.Decoder(dict[str, Any])
JUMP_BYTES = 32 << 20
"""Distance from which on random access is faster than inflating the text in between."""


def event_texts(
    source: Source, blocks: Blocks, rows: I64, seek: SeekIndex = NO_POINTS
) -> Iterator[tuple[int, bytes]]:
    """The JSON text of some events by row, in the order of the file; ``rows`` ascend.

    The text is what the file writes, so that every digit and every argument stays; that of an event
    that had to be repaired is made anew, so it is always JSON. Only a block at a time is in memory.

    Raises:
        NotFoundError: there is no such file, or it is not the one that was scanned.
    """
    edges = np.searchsorted(rows, blocks.first_row)
    with _Pieces(source, seek) as pieces:
        for block in np.flatnonzero(np.diff(edges)).tolist():
            data = pieces.read(int(blocks.offset[block]), int(blocks.length[block]))
            first, behind = int(blocks.first_row[block]), int(blocks.first_row[block + 1])
            members = members_of(data)
            wanted = rows[edges[block] : edges[block + 1]] - first
            if len(members) != behind - first or not _are_strict(members, wanted):
                members = [json_text(event).encode("utf-8", "replace") for event in events_in(data)]
            for row in rows[edges[block] : edges[block + 1]].tolist():
                if row - first >= len(members):
                    raise NotFoundError("The file has changed since it was read.")
                yield row, members[row - first]


def _are_strict(members: list[bytes], wanted: I64) -> bool:
    """True if the texts are strict JSON: taking a block apart does not check every byte."""
    try:
        for at in wanted.tolist():
            _OBJECT.decode(members[at])
    except (msgspec.DecodeError, RecursionError, IndexError):
        return False
    return not any(has_lone_surrogate(members[at]) for at in wanted.tolist())


class _Pieces:
    """Pieces of a text, in ascending order."""

    def __init__(self, source: Source, seek: SeekIndex) -> None:
        self._source = source
        self._seek = seek
        self._text = Text(source, FaultLog())
        self._place = 0

    def read(self, offset: int, length: int) -> bytes:
        """Text [offset, offset + length); no piece begins before the end of the one before."""
        if offset - self._place > JUMP_BYTES and can_seek(self._seek, offset):
            self._text.close()
            self._text = TextAt(self._source, self._seek, offset)
        else:
            self._text.skip(offset - self._place)
        try:
            data = taken(self._text, length)
        except NotTheFile:
            raise NotFoundError("The file has changed since it was read.") from None
        self._place = offset + len(data)
        return data

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._text.close()
