"""Random access to a gzip file: inflate a few MB for one event instead of everything before it.

The index is made while the file is read. A walker in the native library looks at the bytes that are
about to be inflated and finds where the blocks of the deflate stream begin, which isal does not
report. One block in some MB of text is kept, with the 32 KiB of text before it to which later bytes
may refer.

Without the native library, and for files in several layers or with damaged gzip, the index is
empty: then everything before the event is inflated.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

import numpy as np
from isal import igzip_lib, isal_zlib

from ...base.native import call
from ..faults import FaultLog
from ..raw import NO_POINTS, SeekIndex
from .gzip import MEMBER_MAGIC, Gunzip, InflateObserver, inflated
from .streams import CHUNK, Buffered, Layer, PieceStream

TRAILER_BYTES = 8
# Blocks without text, lowest bit first (RFC 1951, 3.2): with fixed codes, 10 bits; and with codes
# of its own for the two literals and the two distances that it must have, 95 bits.
_FIXED_CODES = 0b010
_OWN_CODES = 0x4357_FC10_0000_0000_0081_E104


class NotTheFile(Exception):
    """The file does not match the index, or was damaged since."""


def can_seek(seek: SeekIndex, offset: int) -> bool:
    """True if a point lies at or before an offset of the text."""
    return len(seek) > 0 and int(seek.text[0]) <= offset


def text_at(open_file: Callable[[], Layer], seek: SeekIndex, offset: int) -> Layer:
    """The text from ``offset`` on, of the file whose stored bytes ``open_file()`` begins.

    Reading it raises ``NotTheFile``.
    """
    return PieceStream(_pieces_at(open_file, seek, offset))


def _pieces_at(open_file: Callable[[], Layer], seek: SeekIndex, offset: int) -> Iterator[bytes]:
    point = int(np.searchsorted(seek.text, offset, side="right")) - 1
    before = offset - int(seek.text[point])
    try:
        for piece in _pieces(open_file, seek, point):
            if before < len(piece):
                yield piece[before:]
            before = max(0, before - len(piece))
    except isal_zlib.IsalError as error:  # type: ignore[misc]  # the stub says it is a variable
        raise NotTheFile(str(error)) from error


def _pieces(open_file: Callable[[], Layer], seek: SeekIndex, point: int) -> Iterator[bytes]:
    byte, bits = divmod(int(seek.bit[point]), 8)
    source = Buffered(open_file())
    source.skip(byte)
    source.give_back(_led_to(bits, source.take(1)))
    inflate = igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_DEFLATE, zdict=_window(seek, point))
    yield from inflated(source, inflate, InflateObserver())
    source.take(TRAILER_BYTES)
    if source.peek(len(MEMBER_MAGIC)) == MEMBER_MAGIC:

        def members() -> Layer:
            layer = open_file()
            layer.skip(source.place)
            return layer

        more = Gunzip(members, FaultLog())
        yield from iter(lambda: more.read(CHUNK), b"")


def _led_to(bits: int, byte: bytes) -> bytes:
    """Pads ``byte``, of which the first ``bits`` belong to the text before the point.

    In their place end blocks without text. So the stream keeps its place in the bytes, on which
    stored blocks depend.
    """
    blocks, count = (_OWN_CODES, 95) if bits % 2 else (0, 0)
    while count % 8 != bits:
        blocks |= _FIXED_CODES << count
        count += 10
    blocks |= int.from_bytes(byte, "little") >> bits << count
    return blocks.to_bytes((count - bits) // 8 + 1, "little")


def _window(seek: SeekIndex, point: int) -> bytes:
    first = int(seek.window_end[point - 1]) if point else 0
    return isal_zlib.decompress(seek.window[first : int(seek.window_end[point])].tobytes())


SPAN_BYTES = 4 * 1024 * 1024
WINDOW_BYTES = 32 * 1024
_ROOM = 256  # points in one chunk of stored bytes; those beyond are left out
_LEVEL = 1


class SeekPoints(InflateObserver):
    """The points of one sound gzip layer; none without the native library."""

    def __init__(self) -> None:
        self._walker = call("kinetoscope_deflate_new", SPAN_BYTES)
        self._found = np.empty(_ROOM, np.int64), np.empty(_ROOM, np.int64)
        self._coming: deque[tuple[int, int]] = deque()
        self._done = 0
        self._tail = b""
        self._points: list[tuple[int, int]] = []
        self._windows: list[bytes] = []

    def member(self, place: int) -> None:
        """Start a member: its window begins with it."""
        self._coming.clear()
        self._tail = b""
        if self._walker is not None:
            call("kinetoscope_deflate_member", self._walker, 8 * place, self._done)

    def fed(self, data: bytes) -> None:
        """Look for points in the bytes; their text comes later."""
        if self._walker is None:
            return
        bits, texts = self._found
        read = (self._walker, data, len(data))
        count = call("kinetoscope_deflate_feed", *read, bits, texts, _ROOM)
        if count is None or count < 0:
            self.give_up()
        else:
            self._coming.extend(zip(bits[:count].tolist(), texts[:count].tolist(), strict=True))

    def inflated(self, piece: bytes) -> None:
        """Keep the points in the piece, and the possible window of the next point."""
        if self._walker is None:
            return
        while self._coming and self._coming[0][1] <= self._done + len(piece):
            point = self._coming.popleft()
            before = point[1] - self._done
            window = piece[max(0, before - WINDOW_BYTES) : before]
            if before < WINDOW_BYTES:
                window = (self._tail + window)[-WINDOW_BYTES:]
            self._points.append(point)
            self._windows.append(isal_zlib.compress(window, _LEVEL))
        self._tail = (self._tail + piece[-WINDOW_BYTES:])[-WINDOW_BYTES:]
        self._done += len(piece)

    def give_up(self) -> None:
        """Drop all points found, and ignore the rest."""
        self.close()
        self._points, self._windows = [], []

    def close(self) -> None:
        """End the walk; the points found so far stay."""
        if self._walker is not None:
            call("kinetoscope_deflate_free", self._walker)
        self._walker = None
        self._coming.clear()

    def index(self) -> SeekIndex:
        """The points found so far."""
        if not self._points:
            return NO_POINTS
        bits, texts = np.array(self._points, np.int64).T
        return SeekIndex(
            bit=bits.copy(),
            text=texts.copy(),
            window_end=np.cumsum([len(window) for window in self._windows], dtype=np.int64),
            window=np.frombuffer(b"".join(self._windows), np.uint8),
        )
