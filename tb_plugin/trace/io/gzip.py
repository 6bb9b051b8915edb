"""The text of a gzip stream, from its start or from an event on.

The stream may have several members, may be truncated, damaged, or followed by other bytes. Members
as parallel compressors write them (BGZF, pigz -i, files put together) are inflated side by side.

Random access inflates some MB for one event instead of everything before it. Its index is made
while the file is read: of one block of the deflate stream in 16 MB of text or more it has the
place, and the 32 KiB of text before it to which later bytes may refer. isal does not report where
blocks begin. So the native library looks where one seems to begin among the bytes that are inflated
next; they are inflated up to there, which tells the place in the text, and the first text behind it
is inflated once more, from there on: only where both are the same a block begins. Without the
native library, and for files in several layers or with damaged gzip, the index is empty: then
everything before the event is inflated.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import NamedTuple, Protocol

import numpy as np
from isal import igzip_lib, isal_zlib

from ...base import machine
from ...base.native import call
from ...base.regex import regex
from ..raw import NO_POINTS, FaultLog, SeekIndex

# --- layers of bytes ------------------------------------------------------------------------------

CHUNK = 256 * 1024


class Layer(Protocol):
    """One step between the stored bytes and the text."""

    def read(self, n: int, /) -> bytes:
        """Up to n bytes; b"" only at the end."""
        ...

    def skip(self, n: int, /) -> None:
        """Move n bytes further."""
        ...


def skip_by_reading(layer: Layer, n: int) -> None:
    """Skip for layers that cannot seek: read and discard."""
    while n > 0 and (piece := layer.read(min(n, CHUNK))):
        n -= len(piece)


class PieceStream:
    """A layer of the pieces that an iterator yields."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._left = b""

    def read(self, n: int, /) -> bytes:
        """Up to n bytes; b"" only at the end."""
        if not self._left:
            self._left = next(self._pieces, b"")
        if len(self._left) <= n:
            data, self._left = self._left, b""
        else:
            data, self._left = self._left[:n], self._left[n:]
        return data

    def skip(self, n: int, /) -> None:
        """Moves n bytes further."""
        skip_by_reading(self, n)


class Buffered:
    """A layer that can be peeked at, and that takes bytes back."""

    def __init__(self, layer: Layer) -> None:
        self._layer = layer
        self._data = b""
        self._at = 0  # What lies before it in the data is read.
        self.place = 0  # bytes that were read and not given back

    @property
    def _left(self) -> int:
        return len(self._data) - self._at

    def peek(self, n: int) -> bytes:
        """The next n bytes, or all there are."""
        while self._left < n and (more := self._layer.read(CHUNK)):
            self._data = self._data[self._at :] + more
            self._at = 0
        return self._data[self._at : self._at + n]

    def take(self, n: int) -> bytes:
        """Reads the next n bytes, or all there are."""
        data = self.peek(n)
        self._at += len(data)
        self.place += len(data)
        return data

    def read(self, n: int, /) -> bytes:
        """Up to n bytes; b"" only at the end."""
        if self._left:
            return self.take(min(n, self._left))
        data = self._layer.read(n)
        self.place += len(data)
        return data

    def skip(self, n: int, /) -> None:
        """Moves n bytes further."""
        self.place += n
        here = min(n, self._left)
        self._at += here
        if n > here:
            self._layer.skip(n - here)

    def give_back(self, data: bytes) -> None:
        """Put ``data`` back in front: it is read again next."""
        self.place -= len(data)
        if self._data.endswith(data, 0, self._at):  # as it mostly is: nothing is copied
            self._at -= len(data)
        else:
            self._data = data + self._data[self._at :]
            self._at = 0


# --- from the start -------------------------------------------------------------------------------


GZIP_MAGIC = b"\x1f\x8b"
MEMBER_MAGIC = GZIP_MAGIC + b"\x08"  # with deflate, the only method there is
FED_BYTES = 64 * 1024
TEXT_CHUNK = 1024 * 1024
CAREFUL_CHUNK = 4096
TRAILER_BYTES = 8
TOGETHER_BYTES = 1024 * 1024  # of members that are inflated side by side
TOGETHER_TEXT = 16 * 1024 * 1024  # of theirs, for each thread
_TEXT_FIELD = 4096
# A header as compressors write it: no reserved flag, a level and a system that there are.
_HEADER = regex(rb"\x1f\x8b\x08[\x00-\x1f].{4}[\x00\x02\x04][\x00-\x0d\xff]", re.DOTALL)


class InflateObserver:
    """Callbacks during inflation; the default does nothing."""

    def member(self, place: int) -> None:
        """Called where the deflate stream of a member begins, with its byte in the layer."""

    def feeds(self, data: bytes) -> int:
        """Number of bytes of ``data``, the next ones of the member, to inflate before the rest.

        Called when all text before is inflated; bytes behind the stream may be among the data.
        """
        return len(data)

    def inflated(self, piece: bytes) -> None:
        """Called with the next piece of the text."""

    def give_up(self) -> None:
        """Called at damage or another layer: the bytes seen so far do not make the text."""


class Gunzip(PieceStream):
    """The text of all members of the gzip stream that ``open_layer()`` begins.

    isal inflates, and loses what one call had inflated when that call fails. Then the stream is
    opened once more, inflated in small steps, and continued from where isal had come to, up to the
    damaged byte.
    """

    def __init__(
        self,
        open_layer: Callable[[], Layer],
        faults: FaultLog,
        watch: InflateObserver | None = None,
    ) -> None:
        self._open = open_layer
        self._faults = faults
        self._watch = watch or InflateObserver()
        super().__init__(self._all_pieces())

    def _all_pieces(self) -> Iterator[bytes]:
        done = 0
        found = FaultLog()
        try:
            for piece in self._members(_fast, found, self._watch):
                done += len(piece)
                yield piece
            self._faults.merge(found)
            return
        except isal_zlib.IsalError:  # type: ignore[misc]  # the stub says it is a variable
            self._watch.give_up()
        try:
            for piece in self._members(_careful, self._faults, InflateObserver()):
                if rest := piece[done:]:
                    yield rest
                done = max(0, done - len(piece))
        except zlib.error as error:
            self._faults.add("gzip_corrupt", str(error))

    def _members(
        self,
        inflate: Callable[[Buffered, InflateObserver], Iterator[bytes]],
        faults: FaultLog,
        watch: InflateObserver,
    ) -> Iterator[bytes]:
        source = Buffered(self._open())
        members = 0
        together = inflate is _fast and machine.thread_count() > 1
        while source.peek(1):
            if members and together:
                data = source.peek(TOGETHER_BYTES)
                found = _sound_members(data)
                together = bool(found)
                at = 0
                for member in found:
                    watch.member(source.place + at + member.header)
                    for piece in member.pieces:
                        watch.inflated(piece)
                        yield piece
                    at += member.size
                source.take(at)
                members += len(found)
                if found:
                    continue
            if source.peek(3) != MEMBER_MAGIC and members:
                head = source.peek(64)
                what = "zero bytes" if not head.strip(b"\0") else str(head[:16])
                faults.add("gzip_trailing", f"after {members} member(s): {what}")
                return
            members += 1
            if not _skip_header(source):
                faults.add("gzip_truncated", "inside a gzip header")
                return
            crc = size = 0
            watch.member(source.place)
            for piece in inflate(source, watch):
                watch.inflated(piece)
                crc = isal_zlib.crc32(piece, crc)
                size += len(piece)
                yield piece
            trailer = source.take(TRAILER_BYTES)
            if len(trailer) < TRAILER_BYTES:
                faults.add("gzip_truncated", f"after {size} bytes of text in member {members}")
                return
            if trailer != _trailer(crc, size):
                faults.add("gzip_checksum", f"of member {members}, {size} bytes of text")


class _Member(NamedTuple):
    """A member that was inflated wholly, with the right checksum and length."""

    header: int  # its bytes
    size: int  # with header and trailer
    pieces: list[bytes]


def _sound_members(data: bytes) -> list[_Member]:
    """The members at the beginning of ``data`` that are followed by another one, side by side.

    Where members begin is guessed by their headers: what lies between two of these is a member, or
    the guess was wrong. At the first that is not sound it ends; reading goes on there as if nobody
    had looked ahead.
    """
    starts = [match.start() for match in _HEADER.finditer(data, 0, TOGETHER_BYTES)]
    if len(starts) < 2 or starts[0]:
        return []
    spans = list(pairwise(starts))
    most = max(1, -(-len(spans) // machine.thread_count()))
    runs = [spans[at : at + most] for at in range(0, len(spans), most)]
    found: list[_Member] = []
    inflated = machine.side_by_side(*(partial(_inflated_run, data, run) for run in runs))
    for run, members in zip(runs, inflated, strict=True):
        found += members
        if len(members) < len(run):
            break
    return found


def _inflated_run(data: bytes, spans: Sequence[tuple[int, int]]) -> list[_Member]:
    """The members in these parts of ``data``, up to the first that is not sound or too large."""
    members: list[_Member] = []
    left = TOGETHER_TEXT
    for low, high in spans:
        member = _whole_member(data[low:high], left)
        if member is None:
            break
        members.append(member)
        left -= sum(map(len, member.pieces))
    return members


def _whole_member(data: bytes, most: int) -> _Member | None:
    source = Buffered(PieceStream(iter([data])))
    if not _skip_header(source):
        return None
    stream, trailer = data[source.place : -TRAILER_BYTES], data[-TRAILER_BYTES:]
    inflate = igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_DEFLATE)
    pieces: list[bytes] = []
    crc = size = 0
    try:
        while not inflate.eof and size <= most:
            piece = inflate.decompress(b"" if pieces else stream, TEXT_CHUNK)
            if not piece and not inflate.eof:
                return None
            crc = isal_zlib.crc32(piece, crc)
            size += len(piece)
            pieces.append(piece)
    except isal_zlib.IsalError:  # type: ignore[misc]  # the stub says it is a variable
        return None
    sound = inflate.eof and not inflate.unused_data and trailer == _trailer(crc, size)
    return _Member(source.place, len(data), [one for one in pieces if one]) if sound else None


def _trailer(crc: int, size: int) -> bytes:
    return crc.to_bytes(4, "little") + (size & 0xFFFFFFFF).to_bytes(4, "little")


def _fast(source: Buffered, watch: InflateObserver) -> Iterator[bytes]:
    """The text of one member; leaves ``source`` at its trailer, or at its end."""
    return inflated(source, igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_DEFLATE), watch)


def inflated(
    source: Buffered, inflate: igzip_lib.IgzipDecompressor, watch: InflateObserver
) -> Iterator[bytes]:
    """The text of a deflate stream; leaves ``source`` behind it."""
    while not inflate.eof:
        data = b""
        if inflate.needs_input:
            data = source.take(FED_BYTES)
            if not data:
                return
            most = watch.feeds(data)
            source.give_back(data[most:])
            data = data[:most]
        if piece := inflate.decompress(data, TEXT_CHUNK):
            yield piece
    source.give_back(inflate.unused_data)


def _careful(source: Buffered, _: InflateObserver) -> Iterator[bytes]:
    """As ``_fast``, with all the text before the first byte that cannot be inflated."""
    inflate = zlib.decompressobj(-zlib.MAX_WBITS)
    while not inflate.eof:
        data = source.read(CAREFUL_CHUNK)
        if not data:
            return
        before = inflate.copy()
        try:
            yield inflate.decompress(data)
        except zlib.error:
            for byte in data:
                yield before.decompress(bytes((byte,)))
            raise
    source.give_back(inflate.unused_data)


def _skip_header(source: Buffered) -> bool:
    """Reads one gzip header (RFC 1952); False when it is not all there."""
    head = source.take(10)
    if len(head) < 10:
        return False
    flags = head[3]
    if flags & 4:  # extra field
        size = int.from_bytes(source.take(2), "little")
        if len(source.take(size)) < size:
            return False
    for bit in (8, 16):  # file name, comment: up to a zero byte
        while flags & bit:
            some = source.peek(_TEXT_FIELD)
            end = some.find(b"\0") + 1
            source.take(end or len(some))
            if end:
                break
            if not some:
                return False
    return not flags & 2 or len(source.take(2)) == 2


# --- random access --------------------------------------------------------------------------------

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
    yield from inflated(source, _entering(_window(seek, point)), InflateObserver())
    source.take(TRAILER_BYTES)
    if source.peek(len(MEMBER_MAGIC)) == MEMBER_MAGIC:

        def members() -> Layer:
            layer = open_file()
            layer.skip(source.place)
            return layer

        more = Gunzip(members, FaultLog())
        yield from iter(lambda: more.read(CHUNK), b"")


def _entering(window: bytes) -> igzip_lib.IgzipDecompressor:
    """For a stream from a block on that has this text before it."""
    return igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_DEFLATE, zdict=window)


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


SPAN_BYTES = 16 * 1024 * 1024  # inflated in some milliseconds; a point costs half of one
WINDOW_BYTES = 32 * 1024
TRIED_BYTES = 4 * 1024
_LEVEL = 1


class _Tried(NamedTuple):
    """A possible block: its bit in the file, and the text that it would begin with."""

    bit: int
    text: bytes


class SeekPoints(InflateObserver):
    """The points of one sound gzip layer; none without the native library.

    They do not depend on how many members are inflated side by side: those have points at their
    beginnings alone, as has all but the first one of a file up to the size of such members.
    """

    def __init__(self) -> None:
        self._next = SPAN_BYTES  # No point lies before it.
        self._done = 0
        self._last = b""  # The text of the member so far, or at least a window of its end.
        self._members = self._member = self._place = 0
        self._seen = b""  # The byte in which a block seems to begin, unless it begins with it.
        self._bit: int | None = None  # of that block; all text before it is inflated next
        self._tried: _Tried | None = None
        self._points: list[tuple[int, int]] = []
        self._windows: list[bytes] = []
        self._given_up = call("kinetoscope_deflate_block", b"", 0) is None

    def member(self, place: int) -> None:
        """Start a member: its window begins with it."""
        self._last = b""
        self._bit = self._tried = None
        self._members += 1
        self._member = self._place = place
        if self._done >= self._next:
            self._keep(8 * place)

    def feeds(self, data: bytes) -> int:
        """Cut ``data`` where a block seems to begin, if a point is wanted there."""
        most = len(data)
        if self._bit is not None:
            self._try(self._bit, data)
            self._bit = None
        elif self._done >= self._next and not self._given_up and self._may_have_points():
            found = call("kinetoscope_deflate_block", data, len(data))
            if found is None:
                self.give_up()
            elif found:
                self._bit = 8 * self._place + found - 1
                most = (found + 6) // 8  # with the byte in which it begins
                self._seen = data[most - 1 : most] if self._bit % 8 else b""
        self._place += most
        return most

    def _may_have_points(self) -> bool:
        return self._members == 1 or self._place - self._member >= TOGETHER_BYTES

    def _try(self, bit: int, data: bytes) -> None:
        """Inflate the beginning of the block."""
        begun = self._seen + data
        entered = _led_to(bit % 8, begun[:1]) + begun[1:]
        inflate = _entering(self._before())
        try:
            self._tried = _Tried(bit, inflate.decompress(entered, TRIED_BYTES))
        except isal_zlib.IsalError:  # type: ignore[misc]  # the stub says it is a variable
            self._tried = None

    def inflated(self, piece: bytes) -> None:
        """Keep the point that the piece proves, and the possible window of the next one."""
        if self._tried and self._tried.text and piece.startswith(self._tried.text[: len(piece)]):
            self._keep(self._tried.bit)
        self._tried = None
        # Most pieces are larger than a window, and few windows are asked for: none is cut out here.
        self._last = piece if len(piece) >= WINDOW_BYTES else self._before() + piece
        self._done += len(piece)

    def _before(self) -> bytes:
        """The text to which later bytes of the member may refer."""
        return self._last[-WINDOW_BYTES:]

    def _keep(self, bit: int) -> None:
        """A block begins at this bit of the file, behind the text that is done."""
        if not self._given_up:
            self._points.append((bit, self._done))
            self._windows.append(isal_zlib.compress(self._before(), _LEVEL))
            self._next = self._done + SPAN_BYTES

    def give_up(self) -> None:
        """Drop all points found, and ignore the rest."""
        self._given_up = True
        self._points, self._windows = [], []

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
