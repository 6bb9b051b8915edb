"""A Perfetto file as a layer of text: how it is told from other files, and its JSON in pieces.

The text begins with what the first packets say, so that a look at its beginning costs no more than
that. Then the file is read twice, front to back (``writer`` says why).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Protocol

from msgspec import Struct

from ..io.gzip import CHUNK, Layer, PieceStream
from ..raw import FaultLog
from ..scan.cursor import Guard, ScanLimits
from . import ORIGIN, PRINTABLE, SNIFFED
from .native import NativeTranscoder, TranscoderFailed
from .packets import BOOT, REAL
from .survey import Notes, Survey
from .wire import KEY, BadPacket, Frames, Packet
from .writer import RowWriter

_PACKETS_SNIFFED = 64


def is_perfetto(head: bytes) -> bool:
    """Whether a file that begins with ``head`` (up to ``SNIFFED`` bytes) holds Perfetto packets."""
    if head[:1] != bytes([KEY]):
        return False
    found = Frames().feed(head, last=len(head) < SNIFFED)
    packets = (one for one in islice(found, _PACKETS_SNIFFED) if isinstance(one, Packet))
    first = next((one for one in packets if one.message.ints or one.message.parts), None)
    return first is not None and not _is_text(head[: max(64, first.place + first.bytes)])


def _is_text(data: bytes) -> bool:
    """Whether bytes could be a part of a JSON text."""
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


class Transcoder(Protocol):
    """Two passes over a file; what the first finds is used by the second."""

    @property
    def notes(self) -> Notes:
        """What was odd in both passes."""
        ...

    @property
    def rows(self) -> int:
        """Rows that the first pass has seen so far."""
        ...

    @property
    def event_bytes(self) -> int:
        """Bytes of packets that made rows."""
        ...

    @property
    def from_torch(self) -> bool:
        """Whether torch wrote the file."""
        ...

    def survey(self, piece: bytes, *, last: bool) -> None:
        """First pass: the next bytes of the file."""
        ...

    def write(self, piece: bytes, *, last: bool) -> bytes:
        """Second pass: the next bytes of the file; the text of the rows that they end."""
        ...


class ReferenceTranscoder:
    """The passes in Python."""

    def __init__(self, subtract: int) -> None:
        self._subtract = subtract
        self._survey = Survey()
        self._writer: RowWriter | None = None

    @property
    def notes(self) -> Notes:
        """What was odd in both passes."""
        return self._survey.notes.merged(self._writer.notes if self._writer else Notes())

    @property
    def rows(self) -> int:
        """Rows that the first pass has seen so far."""
        return self._survey.rows

    @property
    def event_bytes(self) -> int:
        """Bytes of packets that made rows."""
        return self._survey.event_bytes

    @property
    def from_torch(self) -> bool:
        """Whether torch wrote the file."""
        return self._survey.packets.from_torch

    def survey(self, piece: bytes, *, last: bool) -> None:
        """First pass: the next bytes of the file."""
        self._survey.feed(piece, last=last)

    def write(self, piece: bytes, *, last: bool) -> bytes:
        """Second pass: the next bytes of the file; the text of the rows that they end."""
        if self._writer is None:
            self._writer = RowWriter(self._survey, self._subtract)
        return self._writer.feed(piece, last=last)


Made = Callable[[int], Transcoder]
"""Makes the passes; raises TranscoderFailed where they cannot be used."""


class PerfettoText(PieceStream):
    """The JSON text of a Perfetto file."""

    def __init__(
        self,
        head: bytes,
        first: Layer,
        again: Callable[[], Layer],
        faults: FaultLog,
        stored_bytes: int,
        readers: Sequence[Made] = (NativeTranscoder, ReferenceTranscoder),
    ) -> None:
        """``first`` and what ``again`` opens have the whole file, which begins with ``head``.

        Of the readers the first is used that does not fail: all give the same text.
        """
        super().__init__(self._all(head, first, again))
        self._faults = faults
        self._stored = stored_bytes
        self._readers = readers

    def _all(self, head: bytes, first: Layer, again: Callable[[], Layer]) -> Iterator[bytes]:
        base = base_of(head)
        based = "" if base.base_ns is None else f'"baseTimeNanoseconds":{base.base_ns},'
        yield f'{{"schemaVersion":1,"displayTimeUnit":"ms",{based}"traceEvents":[\n'.encode()
        sent = 0
        for made in self._readers:
            begun = 0  # what a reader that failed has given already is not given again
            with suppress(TranscoderFailed):
                for piece in self._rows(made(base.subtract), first, again):
                    begun += len(piece)
                    if begun > sent:
                        yield piece[max(0, len(piece) - (begun - sent)) :]
                        sent = begun
                return
            first = again()

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
