"""JSON lines, one event each, as the members of a list: what ends a line becomes a comma.

A comma takes the place of a line break, byte for byte, so that every place in the text stays right.
"""

from __future__ import annotations

import re

from .window import Readable

_BREAK = re.compile(rb"(?<=\})([ \t\r]*)\n(?=[ \t\r\n]*\{)")
_OPEN_END = re.compile(rb"\}[ \t\r\n]*\Z")
_TAIL = 4096  # Who writes more blanks between two lines gets along without the comma.


class EventLines:
    """``begun`` and what ``text`` goes on with; a line break between two objects is a comma."""

    def __init__(self, begun: bytes, text: Readable) -> None:
        self._waiting = begun  # Read, and not yet looked through.
        self._text = text
        self._ready = b""

    def read(self, n: int, /) -> bytes:
        """Up to n bytes; b"" only at the end."""
        while not self._ready:
            more = self._text.read(n)
            text = _BREAK.sub(rb"\1,", self._waiting + more)
            # What follows the last object may begin in what is read next.
            tail = _OPEN_END.search(text, max(0, len(text) - _TAIL)) if more else None
            cut = tail.start() if tail else len(text)
            self._ready, self._waiting = text[:cut], text[cut:]
            if not more:
                break
        data, self._ready = self._ready[:n], self._ready[n:]
        return data
