"""What lies at the reader's position, reading on as far as that needs."""

from __future__ import annotations

import enum

from .grammar import CutOff, NotJson, end_of_value
from .window import Window

_FIRST = 2 * 1024


class Found(enum.Enum):
    """What lies at the position."""

    VALUE = "a whole value"
    DAMAGE = "text that is no JSON, whatever follows"
    OPEN = "a value that the end of the text cuts off"
    OVERSIZED = "a value larger than the limit"


def probe(window: Window, limit: int) -> tuple[Found, int]:
    """What begins at ``window.pos``, and the length of a whole value, else −1."""
    size = min(_FIRST, limit)
    while True:
        window.fill(size)
        text = window.data[window.pos : window.pos + size].decode("latin-1")
        whole = window.eof and len(text) == window.left
        try:
            # At the end of the text a blank tells that a number does not go on.
            return Found.VALUE, min(end_of_value(text + " " * whole), len(text))
        except NotJson:
            return Found.DAMAGE, -1
        except CutOff:
            if whole:
                return Found.OPEN, -1
            if size >= limit:
                return Found.OVERSIZED, -1
        size = min(size * 8, limit)
