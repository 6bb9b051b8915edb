"""Streams of bytes that lie on top of one another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

CHUNK = 256 * 1024


class Layer(Protocol):
    """One step between the stored bytes and the text."""

    def read(self, n: int, /) -> bytes:
        """Up to n bytes; b"" only at the end."""
        ...

    def skip(self, n: int, /) -> None:
        """Moves n bytes further."""
        ...


def skip_by_reading(layer: Layer, n: int) -> None:
    """For layers that have no shorter way."""
    while n > 0 and (piece := layer.read(min(n, CHUNK))):
        n -= len(piece)


class Pieces:
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
    """A layer that can be looked at before it is read, and that takes bytes back."""

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
        """The next bytes to be read are ``data`` again."""
        self.place -= len(data)
        self._left = data + self._left
