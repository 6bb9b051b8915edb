"""The part of the text that is in memory, and the moves of a reader over it."""

from __future__ import annotations

import re
from typing import Protocol

_BLANK = re.compile(rb"[ \t\r\n]*")


class Readable(Protocol):
    """What yields the text: up to n bytes, b"" only at the end."""

    def read(self, n: int, /) -> bytes: ...  # noqa: D102


class Window:
    """``data[pos:]`` is read but not used; ``offset`` is the place of ``data[0]`` in the text."""

    def __init__(self, text: Readable, block_bytes: int) -> None:
        self._text = text
        self.block_bytes = block_bytes
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
            piece = self._text.read(max(1, want - have))
            if not piece:
                self.eof = True
                break
            pieces.append(piece)
            have += len(piece)
        self.offset += self.pos
        self.pos = 0
        self.data = b"".join(pieces)

    def grow(self) -> bool:
        """Reads more behind what is there; False at the end of the text."""
        before = self.left
        self.fill(max(before * 2, before + self.block_bytes))
        return self.left > before

    def skip_blank(self) -> None:
        """Moves to the next byte that is no white space, or to the end."""
        while True:
            match = _BLANK.match(self.data, self.pos)
            self.pos = match.end() if match else self.pos
            if self.pos < len(self.data) or self.eof:
                return
            self.fill(self.block_bytes)

    def peek(self) -> bytes:
        """The next byte that is no white space; b"" at the end."""
        self.skip_blank()
        return self.data[self.pos : self.pos + 1]
