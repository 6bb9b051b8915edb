"""What lies at the reader's position, reading on as far as that needs."""

from __future__ import annotations

import enum
from typing import NamedTuple

from .grammar import CutOff, NotJson, end_of_value
from .window import Window

FIRST_BYTES = 2 * 1024
"""A look so far is always free."""


class Found(enum.Enum):
    """What lies at the position."""

    VALUE = "a whole value"
    DAMAGE = "text that is no JSON, whatever follows"
    OPEN = "a value that the end of the text cuts off"
    OVERSIZED = "a value larger than the limit"


class Probe(NamedTuple):
    """What was found at a position."""

    found: Found
    length: int  # of a whole value, else −1
    seen: int  # bytes that were looked at


def probe(window: Window, limit: int, spare: int) -> Probe:
    """What begins at ``window.pos``.

    A value larger than ``limit`` is oversized. ``spare`` is how far a look may be in vain: beyond
    it, a value that does not end counts as damage.
    """
    most = min(limit, max(FIRST_BYTES, spare))
    size = min(FIRST_BYTES, most)
    seen = 0
    while True:
        window.fill(size)
        text = window.data[window.pos : window.pos + size].decode("latin-1")
        whole = window.eof and len(text) == window.left
        seen += len(text)
        try:
            # At the end of the text a blank tells that a number does not go on.
            length = min(end_of_value(text + " " * whole), len(text))
        except NotJson:
            return Probe(Found.DAMAGE, -1, seen)
        except CutOff:
            if whole:
                return Probe(Found.OPEN, -1, seen)
            if size >= most:
                return Probe(Found.OVERSIZED if most == limit else Found.DAMAGE, -1, seen)
        else:
            return Probe(Found.VALUE, length, length)
        size = min(size * 8, most)
