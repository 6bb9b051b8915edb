"""A Perfetto file as a layer of text: its detection, and its JSON in pieces.

The text begins with what the first packets say, so that a look at its beginning costs no more than
that. Then the file is read twice, front to back (``native`` says why).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from msgspec import Struct

from ...base.errors import TraceFormatError
from ...base.native import AGAIN
from ..io.gzip import CHUNK, Layer, PieceStream
from ..raw import FaultLog
from ..scan.cursor import Guard, ScanLimits
from . import ORIGIN, PRINTABLE, SNIFFED
from .native import BOOT, REAL, NativeTranscoder, Notes, Transcoder, TranscoderFailed
from .wire import KEY, BadPacket, Frames, Packet

_PACKETS_SNIFFED = 64


def is_perfetto(head: bytes) -> bool:
    """True if a file that begins with ``head`` (up to ``SNIFFED`` bytes) holds Perfetto packets."""
    if head[:1] != bytes([KEY]):
        return False
    found = Frames().feed(head, last=len(head) < SNIFFED)
    packets = (one for one in islice(found, _PACKETS_SNIFFED) if isinstance(one, Packet))
    first = next((one for one in packets if one.message.ints or one.message.parts), None)
    return first is not None and not _is_text(head[: max(64, first.place + first.bytes)])


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
    frames = Frames()
    for one in islice(frames.feed(head, last=False), _PACKETS_SNIFFED):
        if not isinstance(one, Packet):
            continue
        try:
            clocks = {
                clock.number(1): clock.number(2)
                for snapshot in one.message.messages(frames.data, 6)
                for clock in snapshot.messages(frames.data, 1)
            }
        except BadPacket:
            continue
        if BOOT in clocks and REAL in clocks:
            boot, real = clocks[BOOT], clocks[REAL]
            if max(boot, real) >= 1 << 63:
                continue
            return Base(real, real) if real == boot else Base(0, real - boot)
    return Base()


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
                hint=f"{AGAIN}, or record Chrome JSON.",
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
