"""Layers of byte streams, and a layer that is read ahead in another thread.

isal and file reads release the interpreter lock, so on a machine with a second core the text is
there when the scan asks for it. On one core no thread is started, since it would only cost time.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Protocol, TypeAlias

from ..faults import FaultLog

CHUNK = 256 * 1024


class Layer(Protocol):
    """One step between the stored bytes and the text."""

    def read(self, n: int, /) -> bytes:
        """Up to n bytes; b"" only at the end."""
        ...

    def skip(self, n: int, /) -> None:
        """Move n bytes further."""
        ...


def skip_by_reading(layer: Layer, n: int) -> None:
    """Skip for layers that cannot seek: read and discard."""
    while n > 0 and (piece := layer.read(min(n, CHUNK))):
        n -= len(piece)


class PieceStream:
    """A layer of the pieces that an iterator yields."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._left = b""

    def read(self, n: int, /) -> bytes:
        """Up to n bytes; b"" only at the end."""
        if not self._left:
            self._left = next(self._pieces, b"")
        if len(self._left) <= n:
            data, self._left = self._left, b""
        else:
            data, self._left = self._left[:n], self._left[n:]
        return data

    def skip(self, n: int, /) -> None:
        """Moves n bytes further."""
        skip_by_reading(self, n)


class Buffered:
    """A layer that can be peeked at, and that takes bytes back."""

    def __init__(self, layer: Layer) -> None:
        self._layer = layer
        self._left = b""
        self.place = 0  # bytes that were read and not given back

    def peek(self, n: int) -> bytes:
        """The next n bytes, or all there are."""
        while len(self._left) < n and (more := self._layer.read(CHUNK)):
            self._left += more
        return self._left[:n]

    def take(self, n: int) -> bytes:
        """Reads the next n bytes, or all there are."""
        data = self.peek(n)
        self._left = self._left[n:]
        self.place += len(data)
        return data

    def read(self, n: int, /) -> bytes:
        """Up to n bytes; b"" only at the end."""
        if self._left:
            data, self._left = self._left[:n], self._left[n:]
        else:
            data = self._layer.read(n)
        self.place += len(data)
        return data

    def skip(self, n: int, /) -> None:
        """Moves n bytes further."""
        self.place += n
        left = len(self._left)
        self._left = self._left[n:]
        if n > left:
            self._layer.skip(n - left)

    def give_back(self, data: bytes) -> None:
        """Put ``data`` back in front: it is read again next."""
        self.place -= len(data)
        self._left = data + self._left


BLOCK_BYTES = 1024 * 1024
BLOCKS = 4
PIECE_BYTES = 512 * 1024

_Piece: TypeAlias = tuple[bytes, FaultLog]


class Ahead(PieceStream):
    """``layer``, read ahead by at most ``BLOCKS`` blocks.

    The layer notes its faults in ``told``; they come to ``faults`` with the piece of text at which
    it noted them. What it raises is raised here. After ``close`` no thread reads it any more.
    """

    def __init__(self, layer: Layer, told: FaultLog, faults: FaultLog) -> None:
        super().__init__(self._all_pieces())
        self._layer = layer
        self._told = told
        self._faults = faults
        self._coming: deque[Future[list[_Piece]]] = deque()
        self._worker: ThreadPoolExecutor | None = None

    def close(self) -> None:
        """Wait for the block being read; read no other."""
        if self._worker is not None:
            self._worker.shutdown(cancel_futures=True)

    def _all_pieces(self) -> Iterator[bytes]:
        while True:
            for piece, told in self._block():
                self._faults.merge(told)
                if not piece:
                    return
                yield piece

    def _block(self) -> list[_Piece]:
        # Most files have one block, which is read here.
        block = self._coming.popleft().result() if self._coming else self._read_block()
        if block[-1][0] and _cores() > 1:
            self._order()
        return block

    def _order(self) -> None:
        if self._worker is None:
            self._worker = ThreadPoolExecutor(1, "kinetoscope-inflate")
        while len(self._coming) < BLOCKS:
            self._coming.append(self._worker.submit(self._read_block))

    def _read_block(self) -> list[_Piece]:
        """A few pieces of text; an empty last one marks the end."""
        block: list[_Piece] = []
        size = 0
        while size < BLOCK_BYTES:
            piece = self._layer.read(PIECE_BYTES)
            block.append((piece, self._told.take()))
            if not piece:
                break
            size += len(piece)
        return block


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except (AttributeError, OSError):  # not every system says it
        return os.cpu_count() or 1
