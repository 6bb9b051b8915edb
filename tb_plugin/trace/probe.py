"""Where the JSON value at the reader's position ends, without knowing what it means."""

from __future__ import annotations

import enum
import json

from .window import Window

_FIRST = 16 * 1024
# Longest token that an error may point into the middle of: a pair of \uXXXX, -Infinity.
_TOKEN = 16


def _no_constant(_: str) -> None:
    raise json.JSONDecodeError("NaN and Infinity are no JSON", "", 0)


_DECODER = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=_no_constant)


class Found(enum.Enum):
    """What lies at the position."""

    VALUE = "a whole value"
    DAMAGE = "text that is no JSON, whatever follows"
    OPEN = "a value that the end of the text cuts off"
    OVERSIZED = "a value larger than the limit"


def probe(window: Window, limit: int) -> tuple[Found, int]:
    """What begins at ``window.pos``, and for a value the index behind it. Reads on as far as needed.

    Bytes are looked at as Latin-1, which leaves every character of JSON's grammar where it is.
    """
    size = _FIRST
    while True:
        window.fill(size)
        text = window.data[window.pos : window.pos + size].decode("latin-1")
        whole = window.eof and len(text) == window.left
        try:
            _, end = _DECODER.raw_decode(text)
        except json.JSONDecodeError as error:
            unterminated = error.msg.startswith("Unterminated string")
            if not unterminated and error.doc and error.pos < len(text) - _TOKEN:
                return Found.DAMAGE, 0
            if not error.doc:
                return Found.DAMAGE, 0
        except (RecursionError, ValueError):
            return Found.DAMAGE, 0
        else:
            # A number may go on behind the end of the window.
            if end < len(text) or whole or text[end - 1] in '}]"':
                return Found.VALUE, window.pos + end
        if whole:
            return Found.OPEN, 0
        if size >= limit:
            return Found.OVERSIZED, 0
        size = min(size * 8, limit)
