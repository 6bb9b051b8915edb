"""Position of the reader in the bytes of a pickle; next instruction, and faults there."""

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
NO_KEY = "a dict has a key that is no text and no number below 2⁶¹"
COMPLETE = "values for a container that was complete"


MOST_KEY = (1 << 61) - 1
"""Integers from here on share their hash with smaller ones, and are no keys."""


def text_of(value: object, most: int | None = None) -> str:
    """A plain value as text, cut; for a container its type without its contents."""
    if isinstance(value, str):
        # Half a surrogate pair is no text that can be written.
        return value if most is None else value[:most].encode("utf-8", "replace").decode()
    if isinstance(value, int) and not -MOST_KEY < value < MOST_KEY:
        return "(number)"
    return str(value) if value is None or isinstance(value, int | float) else "(no text)"


class ByteStream(Protocol):
    """Where the bytes come from."""

    def read(self, n: int, /) -> bytes:
        """Up to n bytes; b"" only at the end."""
        ...


class PickleLimits(Struct, frozen=True):
    """Limits of a pickle. A larger one is refused with the limit that it broke.

    Attributes:
        depth: containers within each other, and open at the same time.
        pending: values read but not yet put into a container. Picklers hand over a thousand.
        kept: values inside containers, without those that were folded; in one value each counts as
            often as it is named. Containers as well.
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
    """A place in a stream; bytes before it are dropped."""

    def __init__(self, stream: ByteStream, limits: PickleLimits) -> None:
        self.stream, self.limits = stream, limits
        self.data, self.at = b"", 0
        self.before = 0  # bytes of the stream that went before data
        self.at_end = False
        self.instruction = 0  # where in data the present one begins

    @property
    def offset(self) -> int:
        """Number of bytes before the present instruction."""
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
        if n < 0:
            raise PickleDamageError(self.where("a string of less than no bytes"))
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

    def digits(self) -> int:
        """A number of protocol 0, which has truth values as well."""
        line = self.line()
        if line in (b"00", b"01"):
            return line == b"01"
        digits = line.removesuffix(b"L")
        if len(digits) > self.limits.number:
            raise self.beyond("digits in one number", self.limits.number)
        try:
            return int(digits or b"0")
        except ValueError:
            raise PickleDamageError(self.where("an integer that is none")) from None

    def float_line(self) -> float:
        """A number with a fraction, of protocol 0."""
        try:
            return float(self.line())
        except ValueError:
            raise PickleDamageError(self.where("a number that is none")) from None

    def quoted(self) -> bytes:
        """The quoted text on a line."""
        line = self.line().strip()
        if len(line) < 2 or line[:1] != line[-1:] or line[:1] not in (b"'", b'"'):
            raise PickleDamageError(self.where("a string without quotes"))
        return line[1:-1]

    def escaped(self, encoding: str, line: bytes) -> bytes:
        """The text of a line with escapes, as UTF-8."""
        return line.decode(encoding, "replace").encode("utf-8", "surrogatepass")

    def where(self, what: str) -> str:
        return f"{what} at byte {self.offset:,}"

    def beyond(self, what: str, most: int) -> TraceFormatError:
        return TraceFormatError(
            "pickle_limit",
            f"This pickle has more than {most:,} {what} at byte {self.offset:,}; it was not read.",
            hint="No file that torch writes is like this one.",
        )
