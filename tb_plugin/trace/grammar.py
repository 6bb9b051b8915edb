"""JSON's grammar over bytes: what may stand between values, and where a value ends.

Bytes are looked at as Latin-1, which leaves every character of the grammar where it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

BLANK = re.compile(rb"[ \t\r\n]*")
_GAP = re.compile(r"[ \t\r\n,]*")

# Longest token that an error may point into the middle of: a pair of \uXXXX, -Infinity.
_TOKEN = 16


class NotJson(ValueError):
    """No text that follows could make a JSON value of this."""


class CutOff(ValueError):
    """The value goes on behind the end of the text."""


def _no_constant(_: str) -> None:
    raise NotJson


_DECODER = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=_no_constant)


def end_of_value(text: str) -> int:
    """Index behind the JSON value at the start of ``text``.

    Raises:
        NotJson: what is there is no JSON, or is nested too deep.
        CutOff: ``text`` ends before the value does.
    """
    try:
        end = _DECODER.raw_decode(text)[1]
    except json.JSONDecodeError as error:
        if error.msg.startswith("Unterminated string") or error.pos >= len(text) - _TOKEN:
            raise CutOff from None
        raise NotJson from None
    except RecursionError:
        raise NotJson from None
    if end == len(text) and text[end - 1] not in '}]"':
        raise CutOff  # A number may go on.
    return end


def starts_of_members(array: bytes) -> Iterator[int]:
    """Index of each member of a valid JSON array."""
    text = array.decode("latin-1")
    at = _after(text, 1)
    while at < len(text) - 1:
        yield at
        at = _after(text, _DECODER.raw_decode(text, at)[1])


def _after(text: str, at: int) -> int:
    gap = _GAP.match(text, at)
    return gap.end() if gap else at
