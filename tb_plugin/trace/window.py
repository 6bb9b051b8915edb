"""The part of the text that is in memory, and the moves of a reader over it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from .faults import FaultLog
from .grammar import BLANK

READ_BLOCKS = 4
_COMMENT_BYTES = 64 * 1024
_MAX_BLANKS = 1024 * 1024
_MAX_SEEN = 1000


class Readable(Protocol):
    """What yields the text."""

    def read(self, n: int, /) -> bytes:
        """Up to n bytes; b"" only at the end."""
        ...


class Window:
    """``data[pos:]`` is read but not used; ``offset`` is the place of ``data[0]`` in the text.

    Nothing that a reader decides may depend on how much is in memory: it asks for what it needs.
    """

    def __init__(
        self, text: Readable, block_bytes: int, watch: Callable[[], None] = lambda: None
    ) -> None:
        """``watch`` is called whenever more was read."""
        self._text = text
        self._block_bytes = block_bytes
        self._watch = watch
        self._no_comment_end = 0  # Up to this place of the text no comment ends.
        self.data = b""
        self.pos = 0
        self.offset = 0
        self.eof = False

    @property
    def place(self) -> int:
        """Of ``pos`` in the text."""
        return self.offset + self.pos

    @property
    def left(self) -> int:
        """Bytes in memory from ``pos``."""
        return len(self.data) - self.pos

    def fill(self, want: int) -> None:
        """Makes ``left >= want``, unless the text ends before. Drops what is used."""
        if self.eof or self.left >= want:
            return
        pieces = [self.data[self.pos :]]
        have = len(pieces[0])
        while have < want:
            piece = self._text.read(max(want, READ_BLOCKS * self._block_bytes) - have)
            if not piece:
                self.eof = True
                break
            pieces.append(piece)
            have += len(piece)
        self.offset += self.pos
        self.pos = 0
        self.data = b"".join(pieces)
        self._watch()

    def grow(self) -> bool:
        """Reads more behind what is there; False at the end of the text."""
        before = self.left
        self.fill(before + max(before, self._block_bytes))
        return self.left > before

    def peek(self) -> bytes:
        """Moves to the next byte that is no white space, and shows it; b"" at the end."""
        while True:
            blank = BLANK.match(self.data, self.pos)
            self.pos = blank.end() if blank else self.pos
            if self.pos < len(self.data) or self.eof:
                return self.data[self.pos : self.pos + 1]
            self.fill(self._block_bytes)

    def peek_behind(self, length: int) -> bytes:
        """The first byte that is no white space from ``length`` bytes further on; does not move.

        b"" at the end of the text, and behind more white space than anybody writes.
        """
        while True:
            blank = BLANK.match(self.data, self.pos + length)
            blanks = blank.end() - blank.start() if blank else 0
            if blanks > _MAX_BLANKS:
                return b""
            at = self.pos + length + blanks
            if at < len(self.data) or not self.grow():
                return self.data[at : at + 1]

    def gap(self, faults: FaultLog) -> bytes:
        """Moves over white space and comments; the next byte."""
        while self.peek() == b"/":
            place = self.place
            comment = self.take_comment()
            if not comment:
                break
            faults.add("comment", comment, place)
        return self.data[self.pos : self.pos + 1]

    def take_comment(self) -> bytes:
        """Moves behind the comment at the position, and returns it; b"" when there is none."""
        self.fill(_COMMENT_BYTES)
        start, most = self.pos, min(self.pos + _COMMENT_BYTES, len(self.data))
        if self.data.startswith(b"//", start):
            end = self.data.find(b"\n", start, most)
            self.pos = end if end >= 0 else most
        elif self.data.startswith(b"/*", start):
            end = self.data.find(b"*/", max(start + 2, self._no_comment_end - self.offset), most)
            if end >= 0:
                self.pos = end + 2
            else:
                self._no_comment_end = max(self._no_comment_end, self.offset + most - 1)
        return self.data[start : self.pos]

    def seen(self, length: int) -> str:
        """The next ``length`` bytes as an example of a fault, which are read where they are not."""
        length = min(length, _MAX_SEEN)
        self.fill(length)
        return self.data[self.pos : self.pos + length].decode("utf-8", "replace")
