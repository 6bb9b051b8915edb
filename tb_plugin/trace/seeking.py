"""Pieces of the text of a file again and again, without inflating all that is before them.

A compressed file is inflated up to the farthest piece that was asked for, once. Every 16 MB of text
the state of inflating is kept (48 KB each), and the next piece begins from there.
"""

from __future__ import annotations

import os
import threading
import zlib
from bisect import bisect_right
from dataclasses import dataclass, replace
from typing import Any, BinaryIO

from .faults import FaultLog
from .gunzip import GZIP_MAGIC
from .inflate import Text
from .layers import CHUNK
from .window import Readable

SPACING = 16 << 20
MOST_KEPT = 512
_GZIP = 31  # zlib: with header and trailer


def taken(text: Readable, length: int) -> bytes:
    """The next ``length`` bytes, or all there are."""
    pieces = []
    while length > 0 and (piece := text.read(min(length, CHUNK))):
        pieces.append(piece)
        length -= len(piece)
    return b"".join(pieces)


@dataclass(frozen=True, slots=True)
class _State:
    """Inflating stands here: ``text`` bytes were written, the file goes on at ``stored``."""

    text: int
    stored: int
    inflate: Any  # a decompressobj, to be copied
    left: bytes  # read from the file, not yet inflated


class SeekableText:
    """The text of a file that lies on a disk; several threads may ask."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._seen: tuple[int, int] | None = None
        self._states: list[_State] = []

    def read(self, offset: int, length: int) -> bytes:
        """Text [offset, offset + length), or what there is of it.

        Raises:
            NotFoundError: there is no such file.
            OSError: it cannot be read.
        """
        with self._lock:
            if os.path.isfile(self._path):
                found = self._from_states(offset, length)
                if found is not None:
                    return found
        with Text(self._path, FaultLog()) as text:
            text.skip(offset)
            return taken(text, length)

    def _from_states(self, offset: int, length: int) -> bytes | None:
        """The piece, if the file is one that plain inflating understands so far."""
        with open(self._path, "rb") as file:
            now = os.fstat(file.fileno())
            seen = (now.st_size, now.st_mtime_ns)
            if seen != self._seen:
                self._seen, self._states = seen, self._first_state(file)
            if not self._states:
                return None
            try:
                return self._inflated(file, offset, length)
            except zlib.error:
                return None  # damaged: what is left of it is known by those who repair

    def _first_state(self, file: BinaryIO) -> list[_State]:
        """The beginning of a gzip file that holds a text; nothing for other files."""
        head = file.read(4096)
        if not head.startswith(GZIP_MAGIC):
            return []
        inflate = zlib.decompressobj(_GZIP)
        try:
            text = inflate.decompress(head, 8)
        except zlib.error:
            return []
        # Layers below, and texts that are not UTF-8, begin with other bytes.
        plain = text[:1].isascii() and text[:2] != GZIP_MAGIC and b"\0" not in text
        return [_State(0, 0, zlib.decompressobj(_GZIP), b"")] if plain and text else []

    def _inflated(self, file: BinaryIO, offset: int, length: int) -> bytes:
        at = bisect_right(self._states, offset, key=lambda state: state.text) - 1
        state = self._states[at]
        file.seek(state.stored)
        inflate, left, place = state.inflate.copy(), state.left, state.text
        pieces: list[bytes] = []
        while place < offset + length:
            data = left or file.read(CHUNK)
            if not data:
                break
            piece = inflate.decompress(data, CHUNK)
            pieces.append(piece[max(offset - place, 0) : offset + length - place])
            place += len(piece)
            left = inflate.unconsumed_tail
            if inflate.eof:
                left = inflate.unused_data or file.read(CHUNK)
                if not left.startswith(GZIP_MAGIC):
                    break  # no further member: what follows is no text
                inflate = zlib.decompressobj(_GZIP)
            self._keep(_State(place, file.tell(), inflate, left))
        return b"".join(pieces)

    def _keep(self, now: _State) -> None:
        if now.text >= self._states[-1].text + SPACING and len(self._states) < MOST_KEPT:
            self._states.append(replace(now, inflate=now.inflate.copy()))
