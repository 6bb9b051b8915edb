"""The text is there when the scan asks for it: other threads inflate what comes next.

isal and file reads release the interpreter lock, so where there is a second core a thread reads
ahead. On one core no thread is started.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from ...base import machine
from ..raw import FaultLog
from .gzip import Layer, PieceStream

if TYPE_CHECKING:
    from concurrent.futures import Future, ThreadPoolExecutor

BLOCK_BYTES = 1024 * 1024
BLOCKS_PER_THREAD, MORE_BLOCKS, MOST_BLOCKS = 4, 6, 34  # more than the scan takes at once
PIECE_BYTES = 512 * 1024

_Piece: TypeAlias = tuple[bytes, FaultLog]


class Ahead(PieceStream):
    """``layer``, read ahead by some blocks for each thread of the scan.

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
        if block[-1][0] and self._most:
            self._order()
        return block

    @cached_property
    def _most(self) -> int:
        """Blocks to read ahead. Asked once a file: the answer is read from files of the system."""
        others = machine.thread_count() - 1
        return others and min(BLOCKS_PER_THREAD * others + MORE_BLOCKS, MOST_BLOCKS)

    def _order(self) -> None:
        if self._worker is None:
            from concurrent.futures import ThreadPoolExecutor  # most files have one block

            self._worker = ThreadPoolExecutor(1, "kinetoscope-inflate")
        while len(self._coming) < self._most:
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
