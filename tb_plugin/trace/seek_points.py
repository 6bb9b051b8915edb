"""Makes the index by which a gzip file is entered in the middle, while the file is read.

A walker in the native library looks at the bytes that are about to be inflated and tells where the
blocks of the deflate stream begin: with isal alone nobody would know. One in some MB of text is
kept, with the text before it to which what follows it may refer.
"""

from __future__ import annotations

from collections import deque

import numpy as np
from isal import isal_zlib

from ..base.native import call
from .gunzip import Watch
from .raw import NO_POINTS, SeekIndex

SPAN_BYTES = 4 * 1024 * 1024
WINDOW_BYTES = 32 * 1024
_ROOM = 256  # points in one chunk of stored bytes; those beyond are left out
_LEVEL = 1


class SeekPoints(Watch):
    """Collects the points of one sound gzip layer; none without the native library."""

    def __init__(self) -> None:
        self._walker = call("kinetoscope_deflate_new", SPAN_BYTES)
        self._found = np.empty(_ROOM, np.int64), np.empty(_ROOM, np.int64)
        self._coming: deque[tuple[int, int]] = deque()
        self._done = 0
        self._tail = b""
        self._points: list[tuple[int, int]] = []
        self._windows: list[bytes] = []

    def member(self, place: int) -> None:
        """The window of a member begins with it."""
        self._coming.clear()
        self._tail = b""
        if self._walker is not None:
            call("kinetoscope_deflate_member", self._walker, 8 * place, self._done)

    def fed(self, data: bytes) -> None:
        """Looks for points in it; their text comes later."""
        if self._walker is None:
            return
        bits, texts = self._found
        read = (self._walker, data, len(data))
        count = call("kinetoscope_deflate_feed", *read, bits, texts, _ROOM)
        if count is None or count < 0:
            self.give_up()
        else:
            self._coming.extend(zip(bits[:count].tolist(), texts[:count].tolist(), strict=True))

    def inflated(self, piece: bytes) -> None:
        """Keeps the points in it, and what may be the window of the next."""
        if self._walker is None:
            return
        while self._coming and self._coming[0][1] <= self._done + len(piece):
            point = self._coming.popleft()
            before = point[1] - self._done
            window = piece[max(0, before - WINDOW_BYTES) : before]
            if before < WINDOW_BYTES:
                window = (self._tail + window)[-WINDOW_BYTES:]
            self._points.append(point)
            self._windows.append(isal_zlib.compress(window, _LEVEL))
        self._tail = (self._tail + piece[-WINDOW_BYTES:])[-WINDOW_BYTES:]
        self._done += len(piece)

    def give_up(self) -> None:
        """Keeps nothing, of what was seen and of what follows."""
        self.close()
        self._points, self._windows = [], []

    def close(self) -> None:
        """Ends the walk; the points that were found stay."""
        if self._walker is not None:
            call("kinetoscope_deflate_free", self._walker)
        self._walker = None
        self._coming.clear()

    def index(self) -> SeekIndex:
        """The points till now."""
        if not self._points:
            return NO_POINTS
        bits, texts = np.array(self._points, np.int64).T
        return SeekIndex(
            bit=bits.copy(),
            text=texts.copy(),
            window_end=np.cumsum([len(window) for window in self._windows], dtype=np.int64),
            window=np.frombuffer(b"".join(self._windows), np.uint8),
        )
