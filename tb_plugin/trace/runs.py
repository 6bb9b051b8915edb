"""Runs of sound events, decoded at once: the fast way, which means what member by member means."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Protocol

from .limits import Limits
from .window import Window

_CUT = re.compile(rb"\}(?=[ \t\r\n]*,[ \t\r\n]*\{)")
_TAIL = 64 * 1024
_SMALL = 64 * 1024
_FEW, _MANY = 16, 4096


class Damaged(Exception):
    """A block is not strict JSON. ``at`` is near the first damaged byte; −1 when unknown.

    It only helps to find the damage sooner: nothing else depends on it.
    """

    def __init__(self, at: int = -1) -> None:
        super().__init__(at)
        self.at = at


class Runs(Protocol):
    """Takes what can be taken at once; the rest is read member by member."""

    def take(self, window: Window) -> bool:
        """Hands over events from the window's position, and moves behind the last of them.

        False when that is not possible here, so that the next members must be read one by one.
        """
        ...

    def singles(self) -> int:
        """How many members to read one by one where no run is possible."""
        ...


class BlockRuns:
    """Blocks of whole events, for a decoder of JSON arrays.

    A block ends at a ``}`` that is followed by ``, {``. If that is inside a string or a nested
    value, the block has an open quote or bracket and does not decode: no wrong cut goes unnoticed.
    """

    def __init__(self, take_block: Callable[[bytes, int], None], limits: Limits) -> None:
        self._take_block = take_block
        self._limits = limits
        self._span = limits.block_bytes
        self._few = _FEW

    def take(self, window: Window) -> bool:
        """Hands over as many events as are surely whole, if they are strict JSON."""
        taken = self._take(window)
        if taken:
            self._few = _FEW
        return taken

    def singles(self) -> int:
        """More and more, as long as there is damage."""
        few = self._few
        self._few = min(2 * few, _MANY)
        return few

    def _take(self, window: Window) -> bool:
        cut = _last_cut(window, window.pos + self._span)
        try:
            if cut < 0:
                return False
            self._block(window, cut)
        except Damaged as damage:
            self._span = min(_SMALL, self._limits.block_bytes)
            cut = _last_cut(window, window.pos + damage.at - 1) if damage.at > 0 else -1
            try:
                if cut < 0:
                    return False
                self._block(window, cut)
            except Damaged:
                return False
        else:
            self._span = min(2 * self._span, self._limits.block_bytes)
        return True

    def _block(self, window: Window, cut: int) -> None:
        self._take_block(b"[" + window.data[window.pos : cut] + b"]", window.place)
        window.pos = cut


def _last_cut(window: Window, stop: int) -> int:
    """Index behind the last event before ``stop`` that another one seems to follow; −1: none."""
    stop = min(stop, len(window.data))
    start = max(window.pos, stop - _TAIL)
    at = window.data.rfind(b"}", start, stop)
    while at >= 0 and not _CUT.match(window.data, at):
        at = window.data.rfind(b"}", start, at)
    return at + 1 if at >= 0 else -1
