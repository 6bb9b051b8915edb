"""Where events are in the text: known, or found out when a fault asks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from .grammar import starts_of_members


class Places(Protocol):
    """Places of the events of a chunk."""

    @property
    def floor(self) -> int:
        """No event of the chunk begins before."""
        ...

    def of(self, index: int) -> int:
        """Where the event with this index in the chunk begins."""
        ...


class KnownPlaces:
    """Written down when the events were read."""

    def __init__(self, starts: Sequence[int]) -> None:
        self._starts = starts
        self.floor = starts[0]

    def of(self, index: int) -> int:
        """Where the event with this index in the chunk begins."""
        return self._starts[index]


class BlockPlaces:
    """In a block of strict JSON: the members of ``array``, the first of them at ``floor``."""

    def __init__(self, array: bytes, floor: int) -> None:
        self._array = array
        self._starts: list[int] = []
        self.floor = floor

    def of(self, index: int) -> int:
        """Where the event with this index in the chunk begins."""
        if not self._starts:
            self._starts = list(starts_of_members(self._array))
        return self.floor - 1 + self._starts[index]
