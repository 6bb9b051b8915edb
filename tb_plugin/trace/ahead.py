"""A layer that another thread reads, some blocks ahead of the one that uses it.

isal inflates, and files are read, while others run. So the text is there when the scan asks for it,
where there is a second core. With one there is no other thread, since it would only cost.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeAlias

from .faults import FaultLog
from .layers import Layer, Pieces

BLOCK_BYTES = 1024 * 1024
BLOCKS = 4
PIECE_BYTES = 512 * 1024

_Piece: TypeAlias = tuple[bytes, FaultLog]


class Ahead(Pieces):
    """``layer``, of which at most ``BLOCKS`` blocks are in memory that nobody asked for.

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
        """Waits for the block that is being read, and lets all others be."""
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
        """Some pieces of text; the last one of all is empty."""
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
