"""Strict JSON → Python values that lose nothing: numbers with a fraction keep their text."""

from __future__ import annotations

import json
import re

from .timestamps import NumberText
from .values import Json

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
# Every escape but those that name half a surrogate pair.
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u(?![dD][89a-fA-F])|[^u])",
    re.DOTALL,
)
_INT_CHARS = 400  # Longer integers fit no column, and Python limits how long it reads.


def _no_constant(_: str) -> None:
    raise ValueError("NaN and Infinity are no JSON")


def int_or_text(text: str) -> int | NumberText:
    """An integer as an int if Python reads it and loses nothing."""
    return NumberText(text) if len(text) > _INT_CHARS or text == "-0" else int(text)


def is_read_as_int(number: int) -> bool:
    """Whether ``int_or_text`` makes an int of the text of it; other decoders know no end."""
    return number.bit_length() <= 4 * _INT_CHARS and len(str(number)) <= _INT_CHARS


_DECODER = json.JSONDecoder(
    parse_float=NumberText, parse_int=int_or_text, parse_constant=_no_constant
)


def has_lone_surrogate(text: bytes) -> bool:
    """Whether half a surrogate pair is named in JSON that is sound apart from that."""
    return bool(_SURROGATE.search(text)) and b"\\" in _ESCAPE.sub(b"", text)


def decode_strict(text: bytes) -> Json:
    """The JSON value in ``text``; of equal keys the last counts.

    Raises:
        ValueError: it is not JSON, not UTF-8, names half a surrogate pair, or is nested too deep.
    """
    if has_lone_surrogate(text):
        raise ValueError("half a surrogate pair")
    try:
        return _DECODER.decode(text.decode("utf-8"))
    except RecursionError:
        raise ValueError("too deep") from None


def decode_lenient(text: str, *, controls: bool) -> tuple[Json, int]:
    """The JSON value in ``text`` and how many NaN and Infinity it has, which are null.

    Control characters in strings are accepted on demand.

    Raises:
        json.JSONDecodeError: it is not JSON, or names half a surrogate pair.
        RecursionError: it is nested too deep.
    """
    if has_lone_surrogate(text.encode("utf-8", "surrogatepass")):
        raise json.JSONDecodeError("half a surrogate pair", "", 0)
    constants: list[str] = []
    decoder = json.JSONDecoder(
        parse_float=NumberText,
        parse_int=int_or_text,
        parse_constant=constants.append,
        strict=not controls,
    )
    return decoder.decode(text), len(constants)


def plain(value: Json) -> Json:
    """``value`` with numbers as ordinary ints and floats; null where one is no finite float.

    Raises:
        RecursionError: it is nested too deep.
    """
    if isinstance(value, NumberText):
        real = float(value)
        return real if -float("inf") < real < float("inf") else None
    if isinstance(value, dict):
        return {key: plain(member) for key, member in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    return value
