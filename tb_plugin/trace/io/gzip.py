"""The text of a gzip stream: several members, truncated, damaged, or followed by other bytes."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator

from isal import igzip_lib, isal_zlib

from ..faults import FaultLog
from .streams import CHUNK, Buffered, Layer, PieceStream

GZIP_MAGIC = b"\x1f\x8b"
MEMBER_MAGIC = GZIP_MAGIC + b"\x08"  # with deflate, the only method there is
TEXT_CHUNK = 512 * 1024
CAREFUL_CHUNK = 4096
_TEXT_FIELD = 4096


class InflateObserver:
    """Callbacks during inflation; the default does nothing."""

    def member(self, place: int) -> None:
        """Called where the deflate stream of a member begins, with its byte in the layer."""

    def fed(self, data: bytes) -> None:
        """Called before ``data`` is inflated; bytes behind the stream may be among it."""

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
        while source.peek(1):
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
            trailer = source.take(8)
            if len(trailer) < 8:
                faults.add("gzip_truncated", f"after {size} bytes of text in member {members}")
                return
            if trailer != crc.to_bytes(4, "little") + (size & 0xFFFFFFFF).to_bytes(4, "little"):
                faults.add("gzip_checksum", f"of member {members}, {size} bytes of text")


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
            data = source.read(CHUNK)
            if not data:
                return
            watch.fed(data)
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
