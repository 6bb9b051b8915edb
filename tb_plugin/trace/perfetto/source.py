"""A Perfetto file as a layer of text: its detection, and its JSON in pieces.

The text begins with what the first packets say, so that a look at its beginning costs no more than
that. Then the file is read twice, front to back (``native`` says why).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice

from msgspec import Struct

from ...base.errors import TraceFormatError
from ...base.native import AGAIN, native
from ..io.gzip import CHUNK, Layer, PieceStream
from ..raw import FaultLog
from ..scan.cursor import Guard, ScanLimits
from . import ORIGIN, PRINTABLE
from .native import BOOT, REAL, NativeTranscoder, Notes, Transcoder, TranscoderFailed

_PACKETS_SNIFFED = 64
_MOST_VARINT_BITS = 63
_PACKET, _CLOCKS, _CLOCK = 1, 6, 1  # fields of a file, of a packet, and of a snapshot of clocks
_BYTES = 2  # wire type


class _BadPacket(ValueError):
    """The bytes are no protobuf message, or go on behind the end."""


def is_perfetto(head: bytes) -> bool:
    """True if a file that begins with ``head`` (up to ``SNIFFED`` bytes) holds Perfetto packets."""
    try:
        first = next((one for one in _packets(head) if any(_fields(one))), None)
    except _BadPacket:
        return False
    return first is not None and not _is_text(head[: max(64, head.find(first) + len(first))])


def _packets(head: bytes) -> Iterator[bytes]:
    """The first packets of a file. Raises _BadPacket."""
    for number, value in islice(_fields(head), _PACKETS_SNIFFED):
        if number != _PACKET or isinstance(value, int):
            raise _BadPacket
        yield value


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Number and value of each field of a message, in order. Raises _BadPacket."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, wire = key >> 3, key & 7
        if not number or wire not in _LENGTHS:
            raise _BadPacket
        value, at = (_LENGTHS[wire], at) if _LENGTHS[wire] else _varint(data, at)
        if not wire:
            yield number, value
            continue
        if value > len(data) - at:
            raise _BadPacket
        yield number, data[at : at + value]
        at += value


_LENGTHS = {0: 0, 1: 8, _BYTES: 0, 5: 4}
"""Wire type → bytes of a value; 0: as an integer says, which for type 0 is the value itself."""


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """An integer of at most ten bytes, and the place behind it. Raises _BadPacket."""
    value = shift = 0
    while at < len(data) and shift <= _MOST_VARINT_BITS:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & (1 << 64) - 1, at
        shift += 7
    raise _BadPacket


def _is_text(data: bytes) -> bool:
    """True if the bytes could be a part of a JSON text."""
    if not data.translate(None, PRINTABLE):
        return True
    try:
        text = data[:-4].decode("utf-8")
    except UnicodeDecodeError:
        return False
    return all(char >= " " or char in "\t\n\r" for char in text)


class Base(Struct, frozen=True):
    """Times of the text are those of the file less ``subtract``; the text says ``base_ns``."""

    subtract: int = 0
    base_ns: int | None = None


def base_of(head: bytes) -> Base:
    """When the trace began on the wall clock, by the clocks in its first packets."""
    with suppress(_BadPacket):  # a packet that ends behind the head, or damage
        for packet in _packets(head):
            clocks = {
                clock.get(1, 0): clock.get(2, 0)
                for snapshot in _messages(packet, _CLOCKS)
                for clock in map(_integers, _messages(snapshot, _CLOCK))
            }
            boot, real = clocks.get(BOOT), clocks.get(REAL)
            if boot is not None and real is not None and max(boot, real) < 1 << 63:
                return Base(real, real) if real == boot else Base(0, real - boot)
    return Base()


def _messages(message: bytes, number: int) -> Iterator[bytes]:
    """The bytes of the fields with a number. Raises _BadPacket."""
    return (one for at, one in _fields(message) if at == number and isinstance(one, bytes))


def _integers(message: bytes) -> dict[int, int]:
    """The last integer with each number. Raises _BadPacket."""
    return {number: one for number, one in _fields(message) if isinstance(one, int)}


class PerfettoText(PieceStream):
    """The JSON text of a Perfetto file."""

    def __init__(
        self,
        head: bytes,
        first: Layer,
        again: Callable[[], Layer],
        faults: FaultLog,
        stored_bytes: int,
        made: Callable[[int], Transcoder] = NativeTranscoder,
    ) -> None:
        """``first`` and what ``again`` opens have the whole file, which begins with ``head``.

        ``made`` makes the two passes over the file.

        Raises:
            TraceFormatError: while it is read: there is no native library, or it failed.
        """
        super().__init__(self._all(head, first, again))
        self._faults = faults
        self._stored = stored_bytes
        self._made = made

    def _all(self, head: bytes, first: Layer, again: Callable[[], Layer]) -> Iterator[bytes]:
        base = base_of(head)
        based = "" if base.base_ns is None else f'"baseTimeNanoseconds":{base.base_ns},'
        yield f'{{"schemaVersion":1,"displayTimeUnit":"ms",{based}"traceEvents":[\n'.encode()
        try:
            yield from self._rows(self._made(base.subtract), first, again)
        except TranscoderFailed as error:
            raise TraceFormatError(
                "perfetto",
                f"Perfetto files are read by the native library alone: {error}.",
                hint=f"{native().remedy or AGAIN}, or record Chrome JSON.",
            ) from error

    def _rows(
        self, passes: Transcoder, first: Layer, again: Callable[[], Layer]
    ) -> Iterator[bytes]:
        guard, size = Guard("The file", ScanLimits(), self._stored), 0
        while piece := first.read(CHUNK):
            passes.survey(piece, last=False)
            size += len(piece)
            guard.check(size, passes.event_bytes, passes.rows)
        passes.survey(b"", last=True)
        layer = again()
        while piece := layer.read(CHUNK):
            if text := passes.write(piece, last=False):
                yield text
        if text := passes.write(b"", last=True):
            yield text
        self._tell(passes.notes)
        writer = "torch" if passes.from_torch else "other"
        yield f'\n],"{ORIGIN}":{{"writer":"{writer}"}}}}'.encode()

    def _tell(self, notes: Notes) -> None:
        for kind, count in notes.count.items():
            place, value = notes.first[kind]
            self._faults.add(kind, _EXAMPLES[kind].format(value), place, count=count)


_EXAMPLES = {
    "bad_packet": "a packet of {} bytes",
    "oversized": "a packet",
    "truncated": "inside the last packet, of which {} bytes are there",
    "other_packet": "a packet with field {}",
    "unpaired_end": "",
    "lost_iid": "the name with the number {}",
}
