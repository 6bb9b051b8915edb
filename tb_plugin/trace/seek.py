"""Entering a gzip file in the middle: a few MB are inflated for an event, and not all before it.

``seek_points`` makes the index on the way, where there is the native library. Without it, and of
files in several layers or with damaged gzip, there are no points: then all is inflated up to the
event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from isal import igzip_lib, isal_zlib

from .faults import FaultLog
from .gunzip import MEMBER_MAGIC, Gunzip, Watch, inflated
from .layers import CHUNK, Buffered, Layer, Pieces
from .raw import SeekIndex

TRAILER_BYTES = 8
# Blocks without text, lowest bit first (RFC 1951, 3.2): with fixed codes, 10 bits; and with codes
# of its own for the two literals and the two distances that it must have, 95 bits.
_FIXED_CODES = 0b010
_OWN_CODES = 0x4357_FC10_0000_0000_0081_E104


class NotTheFile(Exception):
    """The file is not the one of the index, or was damaged since."""


def can_seek(seek: SeekIndex, offset: int) -> bool:
    """Whether there is a point before an offset of the text."""
    return len(seek) > 0 and int(seek.text[0]) <= offset


def text_at(open_file: Callable[[], Layer], seek: SeekIndex, offset: int) -> Layer:
    """The text from ``offset`` on, of the file whose stored bytes ``open_file()`` begins.

    Reading it raises ``NotTheFile``.
    """
    return Pieces(_pieces_at(open_file, seek, offset))


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
    yield from inflated(source, inflate, Watch())
    source.take(TRAILER_BYTES)
    if source.peek(len(MEMBER_MAGIC)) == MEMBER_MAGIC:

        def members() -> Layer:
            layer = open_file()
            layer.skip(source.place)
            return layer

        more = Gunzip(members, FaultLog())
        yield from iter(lambda: more.read(CHUNK), b"")


def _led_to(bits: int, byte: bytes) -> bytes:
    """``byte``, of which the first ``bits`` belong to what is before the point.

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
