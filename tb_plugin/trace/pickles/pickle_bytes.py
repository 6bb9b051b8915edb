"""Where is the reader in the bytes of a pickle? What comes next, and what is wrong there."""

from __future__ import annotations

import struct
from typing import Protocol

from msgspec import Struct

from ...base.errors import TraceFormatError

CHUNK = 1 << 20
AHEAD = 512
"""Bytes that are in memory before an opcode is looked at: more than any short argument needs."""


U1, U2, U4, U8 = map(struct.Struct, ("<B", "<H", "<I", "<Q"))
I4, F8 = struct.Struct("<i"), struct.Struct(">d")
LACKS = "an instruction lacks its values"
NO_DICT = "values for a dict that is none"
NO_LIST = "values for a list that is none"
NO_VALUE = "a dict has a key without a value"


class ByteStream(Protocol):
    """Where the bytes come from."""

    def read(self, n: int, /) -> bytes:
        """Up to n bytes; b"" only at the end."""
        ...


class PickleLimits(Struct, frozen=True):
    """What a pickle may cost. Beyond it, it is refused with the limit that it broke.

    Attributes:
        depth: containers that are open within each other.
        pending: values read but not yet put into a container. Picklers hand over a thousand.
        kept: values inside containers, without those that were folded.
        text: bytes of one string.
        number: bytes or digits of one integer.
    """

    depth: int = 200
    pending: int = 200_000
    kept: int = 4_000_000
    text: int = 64 << 20
    number: int = 40


LIMITS = PickleLimits()


class PickleDamageError(Exception):
    """The bytes from here on are no pickle."""


class PickleBytes:
    """A place in a stream; what is behind it is forgotten."""

    def __init__(self, stream: ByteStream, limits: PickleLimits) -> None:
        self.stream, self.limits = stream, limits
        self.data, self.at = b"", 0
        self.before = 0  # bytes of the stream that went before data
        self.at_end = False
        self.instruction = 0  # where in data the present one begins

    @property
    def offset(self) -> int:
        """How many bytes stand before the present instruction."""
        return self.before + self.instruction

    def some(self) -> tuple[bytes, int]:
        """The bytes in memory, and where instructions in them may begin at most."""
        self.refill(AHEAD + 1)
        if self.at >= len(self.data):
            raise PickleDamageError(f"it ends after {self.before + self.at:,} bytes")
        return self.data, len(self.data) - (0 if self.at_end else AHEAD)

    def refill(self, n: int) -> None:
        """Have n bytes in memory from here on, unless the stream ends before."""
        if len(self.data) - self.at >= n or self.at_end:
            return
        pieces = [self.data[self.at :]]
        have = len(pieces[0])
        while have < n or len(pieces) == 1:
            piece = self.stream.read(max(CHUNK, n - have))
            if not piece:
                self.at_end = True
                break
            pieces.append(piece)
            have += len(piece)
        self.before += self.at
        self.instruction -= self.at
        self.data, self.at = b"".join(pieces), 0

    def take(self, n: int) -> bytes:
        """The next n bytes."""
        if n > self.limits.text:
            raise self.beyond("bytes in one string", self.limits.text)
        if len(self.data) - self.at < n:
            self.refill(n)
            if len(self.data) - self.at < n:
                claim = f"a string claims {n:,} bytes, and {len(self.data) - self.at:,} are left"
                raise PickleDamageError(self.where(claim))
        self.at += n
        return self.data[self.at - n : self.at]

    def number(self, form: struct.Struct) -> int:
        """An argument of a fixed width."""
        value: int = form.unpack_from(self.data, self.at)[0]
        self.at += form.size
        return value

    def line(self) -> bytes:
        """The bytes up to the end of the line: an argument of protocol 0."""
        end = self.data.find(b"\n", self.at)
        while end < 0 and not self.at_end:
            if len(self.data) - self.at > self.limits.text:
                raise self.beyond("bytes in one string", self.limits.text)
            self.refill(len(self.data) - self.at + CHUNK)
            end = self.data.find(b"\n", self.at)
        if end < 0:
            raise PickleDamageError(self.where("a line has no end"))
        line, self.at = self.data[self.at : end], end + 1
        return line

    def where(self, what: str) -> str:
        return f"{what} at byte {self.offset:,}"

    def beyond(self, what: str, most: int) -> TraceFormatError:
        return TraceFormatError(
            "pickle_limit",
            f"This pickle has more than {most:,} {what} at byte {self.offset:,}; it was not read.",
            hint="No file that torch writes is like this one.",
        )
