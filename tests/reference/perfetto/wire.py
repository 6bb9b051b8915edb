"""Protobuf's wire format: the fields of a message, and the packets of a file that may be damaged.

A Perfetto file is one message with one repeated field: key ``0x0a``, a length, a packet, and again.
Where that does not hold, reading goes on at the next place at which it does.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple, TypeAlias

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
KEY = 0x0A
"""Key of a packet: field 1, with a length."""
MOST_PACKET_BYTES = 64 << 20
PACKET_FIELDS = frozenset(
    {1, 2, 6, 8, 9, 10, 11, 12, 13, 33, 35, 36, 41, 42, 43, 44, 45, 50, 52, 53, 58, 59, 60, 87, 89}
)
"""Numbers of fields with which a packet may begin, where one is looked for behind damage."""
_FIELDS_LOOKED_AT = 64
_MOST_VARINT = 10
_NO_LENGTH, _MORE = -1, -2
_MASK = (1 << 64) - 1


class BadPacket(ValueError):
    """The bytes are no protobuf message, or none of the form that they should have."""


class Field(NamedTuple):
    """A field of a message: ``value`` is an integer, or where its bytes start, up to ``end``."""

    number: int
    wire: int
    value: int
    end: int


Bytes: TypeAlias = "bytes | bytearray"


def varint(data: Bytes, at: int, end: int) -> tuple[int, int]:
    """An integer of at most ten bytes, and the place behind it.

    Raises:
        BadPacket: it does not end.
    """
    value = shift = 0
    while True:
        if at >= end or shift > 63:
            raise BadPacket
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & _MASK, at
        shift += 7


def fields(data: Bytes, at: int, end: int) -> Iterator[Field]:
    """The fields of a message at [at, end), in order.

    Raises:
        BadPacket: it is no message; what was before the fault has been yielded.
    """
    while at < end:
        key, at = varint(data, at, end)
        number, wire = key >> 3, key & 7
        if not number:
            raise BadPacket
        if wire == VARINT:
            value, at = varint(data, at, end)
            yield Field(number, wire, value, at)
            continue
        if wire == BYTES:
            length, at = varint(data, at, end)
        elif wire in (FIXED64, FIXED32):
            length = 8 if wire == FIXED64 else 4
        else:
            raise BadPacket
        if length > end - at:
            raise BadPacket
        yield Field(number, wire, at, at + length)
        at += length


class Message:
    """The fields of a message by number, without those of an unexpected wire type.

    ``ints[n]`` are the integers with number n in their order, ``parts[n]`` where the bytes of such
    fields are, ``doubles[n]`` where those of eight fixed bytes begin.
    """

    __slots__ = ("doubles", "ints", "parts")

    def __init__(self, data: Bytes, at: int, end: int) -> None:
        """Raises BadPacket."""
        self.ints: dict[int, list[int]] = {}
        self.parts: dict[int, list[tuple[int, int]]] = {}
        self.doubles: dict[int, int] = {}
        for number, wire, value, behind in fields(data, at, end):
            if wire == VARINT:
                self.ints.setdefault(number, []).append(value)
            elif wire == BYTES:
                self.parts.setdefault(number, []).append((value, behind))
            elif wire == FIXED64:
                self.doubles[number] = value

    def number(self, number: int, default: int = 0) -> int:
        """The last integer with this number."""
        found = self.ints.get(number)
        return found[-1] if found else default

    def text(self, data: Bytes, number: int) -> str:
        """The last text with this number; bytes that are no UTF-8 become U+FFFD."""
        found = self.parts.get(number)
        return text_at(data, *found[-1]) if found else ""

    def messages(self, data: Bytes, number: int) -> Iterator[Message]:
        """The messages with this number. Raises BadPacket."""
        for at, end in self.parts.get(number, ()):
            yield Message(data, at, end)

    def numbers(self, data: Bytes, number: int) -> list[int]:
        """All integers with this number, packed ones too. Raises BadPacket."""
        found = list(self.ints.get(number, ()))
        for start, end in self.parts.get(number, ()):
            at = start
            while at < end:
                value, at = varint(data, at, end)
                found.append(value)
        return found


def text_at(data: Bytes, at: int, end: int) -> str:
    """The text at [at, end); bytes that are no UTF-8 become U+FFFD."""
    return bytes(data[at:end]).decode("utf-8", "replace")


class Packet(NamedTuple):
    """A packet whose bytes start at ``place`` of the file."""

    place: int
    bytes: int
    message: Message


class Loss(NamedTuple):
    """One packet that could not be read, or, if ``wide``, bytes that may have held several."""

    place: int
    bytes: int
    kind: str  # "bad_packet", "oversized" or "truncated"
    wide: bool


class Frames:
    """The packets of a file that comes in pieces of any size."""

    def __init__(self) -> None:
        self.data = bytearray()
        """Bytes in memory: the fields of a packet point into it until the next one is taken."""
        self._offset = 0
        self._searching = False

    def feed(self, piece: bytes, *, last: bool) -> Iterator[Packet | Loss]:
        """Packets and losses that end in this piece; ``last`` if none follows."""
        self.data += piece
        at = 0
        while at < len(self.data):
            if self._searching:
                at, found = self._search(at, last=last)
                if not found:
                    break
                self._searching = False
            taken, at = self._next(at, last=last)
            if taken is None:
                break
            yield taken
        del self.data[:at]
        self._offset += at

    def _next(self, at: int, *, last: bool) -> tuple[Packet | Loss | None, int]:
        """The packet or loss at ``at``, and the place behind it; nothing if more must be read."""
        data, size = self.data, len(self.data)
        length, start = self._length(at) if data[at] == KEY else (_NO_LENGTH, at)
        if length == _NO_LENGTH or length > MOST_PACKET_BYTES:
            return self._lost(at, "bad_packet" if length == _NO_LENGTH else "oversized")
        end = start + length
        if length == _MORE or end > size:
            return self._cut(at) if last else (None, at)
        try:
            found = Message(data, start, end)
        except BadPacket:
            return self._unreadable(at, end, last=last)
        return Packet(self._offset + at, end - at, found), end

    def _unreadable(self, at: int, end: int, *, last: bool) -> tuple[Loss | None, int]:
        """No message is at [at, end): the packet is lost, or its length is wrong."""
        size = len(self.data)
        if end == size and not last:
            return None, at
        if end < size and self.data[end] != KEY:
            return self._lost(at, "bad_packet")
        return Loss(self._offset + at, end - at, "bad_packet", wide=False), end

    def _length(self, at: int) -> tuple[int, int]:
        """The length behind the key at ``at``, and where the packet starts."""
        size = len(self.data)
        try:
            return varint(self.data, at + 1, size)
        except BadPacket:
            return (_NO_LENGTH if size - at > _MOST_VARINT else _MORE), at

    def _lost(self, at: int, kind: str) -> tuple[Loss, int]:
        """The packet at ``at`` has no end that could be trusted."""
        self._searching = True
        return Loss(self._offset + at, 1, kind, wide=True), at + 1

    def _cut(self, at: int) -> tuple[Loss, int]:
        """The packet at ``at`` goes on behind the end of the file: cut, or its length is wrong."""
        if self._search(at + 1, last=True)[1]:
            return self._lost(at, "bad_packet")
        size = len(self.data)
        return Loss(self._offset + at, size - at, "truncated", wide=True), size

    def _search(self, at: int, *, last: bool) -> tuple[int, bool]:
        """Where a packet begins from ``at`` on, or from where to look when more is read."""
        size = len(self.data)
        while True:
            at = self.data.find(KEY, at)
            if at < 0:
                return size, False
            seems = self._seems_packet(at, last=last)
            if seems is None:
                return at, False
            if seems:
                return at, True
            at += 1

    def _seems_packet(self, at: int, *, last: bool) -> bool | None:
        """True if a packet begins at ``at``; None if more must be read to decide."""
        size = len(self.data)
        length, start = self._length(at)
        end = start + length
        if length == _MORE or (0 < length <= MOST_PACKET_BYTES and end >= size and not last):
            return False if last else None
        if not 0 < length <= MOST_PACKET_BYTES or end > size:
            return False
        return (end == size or self.data[end] == KEY) and self._begins_like_one(start, end)

    def _begins_like_one(self, start: int, end: int) -> bool:
        try:
            for count, field in enumerate(islice(fields(self.data, start, end), _FIELDS_LOOKED_AT)):
                if count == 0 and field.number not in PACKET_FIELDS:
                    return False
        except BadPacket:
            return False
        return True
