"""The meaning of JSON values of unusual types, and exact numbers.

``arg_value`` says which column value an argument becomes, and what was odd about it: "7", 7.0 and
true are integers. ``decode_strict`` loses nothing: numbers with a fraction keep their text.

Times are µs as decimal text and become int64 ns exactly: "4370504323436.782" µs is
4370504323436782 ns. What is finer than 1 ns is rounded half to even. A double would lose digits
beyond 2^43 µs (101 days), and epoch times lie far beyond; so no time ever becomes a double.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Any, TypeAlias

from ...base.regex import regex
from ..raw import FLOAT_ARGS, INT_ARGS, MISSING, NO_DUR, TEXT_ARGS

MAX_NS = 2**63 - 1
_PLAIN = regex(r"(-?)(\d{1,18})(?:\.(\d{1,3}))?", re.ASCII)
_NUMBER = regex(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,6})?", re.ASCII)
_MAX_DIGITS = 1000
_WIDE = Context(prec=2 * _MAX_DIGITS)


class NumberText(str):
    """A JSON number with a fraction or an exponent, kept as it is written."""

    __slots__ = ()


def nanoseconds(value: object) -> int | None:
    """Exact ns of a ts or dur in µs: an int, a number's text, or a string that holds a number.

    None when it is neither, or does not fit int64 (whose least value means *missing*).
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        ns = value * 1000
        return ns if -MAX_NS <= ns <= MAX_NS else None
    return _parse(value) if isinstance(value, str) else None


def _parse(text: str) -> int | None:
    plain = _PLAIN.fullmatch(text)
    if plain:
        sign, whole, fraction = plain.groups()
        ns = int(whole) * 1000 + (int(fraction.ljust(3, "0")) if fraction else 0)
        ns = -ns if sign else ns
    else:
        text = text.strip(" \t\r\n")
        if len(text) > _MAX_DIGITS or not _NUMBER.fullmatch(text):
            return None
        number = Decimal(text)
        if number.adjusted() > 18:
            return None
        if number.adjusted() < -6:
            return 0
        ns = int(number.scaleb(3, _WIDE).to_integral_value(ROUND_HALF_EVEN))
    return ns if -MAX_NS <= ns <= MAX_NS else None


def ts_ns(value: object) -> int:
    """Start of an event, MISSING when unreadable."""
    ns = nanoseconds(value)
    return MISSING if ns is None else ns


def dur_ns(value: object) -> int:
    """Duration, NO_DUR when unreadable. −1 ns becomes −2, so that it stays apart from NO_DUR."""
    ns = nanoseconds(value)
    if ns is None:
        return NO_DUR
    return -2 if ns == NO_DUR else ns


Json: TypeAlias = Any
"""A decoded JSON value; its numbers with a fraction may be ``NumberText``."""

INT64 = range(-(2**63), 2**63)
_MAX_CHARS = 40


def whole_number(value: object) -> int | None:
    """The integer that is written as a JSON number without fraction and exponent; None for others.

    −0 is one of them: only its text is kept apart from 0.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return 0 if isinstance(value, NumberText) and value == "-0" else None


def int_value(value: object) -> int | None:
    """The integer that an argument means: 7, true, 7.0, "7", "0x1f"; None when it means none."""
    if isinstance(value, int):
        return int(value)
    text = value.strip(" \t\r\n") if isinstance(value, str) else ""
    if not text.isascii() or len(text) > _MAX_CHARS or "_" in text:
        return None
    if text[:2] in ("0x", "0X"):
        return _parsed(text, 16)
    if text.lstrip("+-").isdecimal():
        return _parsed(text, 10)
    thousandths = nanoseconds(text)
    return None if thousandths is None or thousandths % 1000 else thousandths // 1000


def _parsed(text: str, base: int) -> int | None:
    try:
        return int(text, base)
    except ValueError:
        return None


def float_value(value: object) -> float | None:
    """The number that an argument means; None when it means none, or none that is finite.

    There is one zero: −0 is 0.
    """
    if not isinstance(value, (int, str)) or (isinstance(value, str) and "_" in value):
        return None
    try:
        real = float(value) + 0.0
    except (ValueError, OverflowError):
        return None
    return real if -float("inf") < real < float("inf") else None


def canonical_int(text: str) -> int | None:
    """``text`` as an int64 if it is written as JSON writes it: "7" is 7, "007" stays a text."""
    if len(text) > _MAX_CHARS or not text.isascii() or not text.removeprefix("-").isdecimal():
        return None
    number = int(text)
    return number if number in INT64 and str(number) == text else None


def is_text(value: object) -> bool:
    """True if ``value`` is a JSON string (a ``NumberText`` is a number)."""
    return isinstance(value, str) and not isinstance(value, NumberText)


def json_text(value: Json) -> str:
    """``value`` as JSON without white space; numbers as the file wrote them.

    Raises:
        RecursionError: it is nested too deep.
    """
    if isinstance(value, NumberText):
        return str(value)
    if isinstance(value, dict):
        members = (f"{json.dumps(k, ensure_ascii=False)}:{json_text(v)}" for k, v in value.items())
        return "{" + ",".join(members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(json_text, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def shown(value: Json) -> str:
    """``value`` as an example of a fault."""
    try:
        return json_text(value)
    except RecursionError:
        return "a value nested too deep"


_SURROGATE = regex(rb"\\u[dD][89a-fA-F]")
# Every escape but those that name half a surrogate pair.
_ESCAPE = regex(
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
    """True if ``int_or_text`` reads the text of this integer as an int: it is short enough."""
    return number.bit_length() <= 4 * _INT_CHARS and len(str(number)) <= _INT_CHARS


_DECODER = json.JSONDecoder(
    parse_float=NumberText, parse_int=int_or_text, parse_constant=_no_constant
)


def has_lone_surrogate(text: bytes) -> bool:
    """True if otherwise valid JSON names half a surrogate pair."""
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


COLUMN: Mapping[str, str] = {**INT_ARGS, **FLOAT_ARGS, **TEXT_ARGS}
ORDER: Mapping[str, int] = {key: order for order, key in enumerate(COLUMN)}
"""Of two spellings of one column in one event the first in the tables counts."""


def arg_value(key: str, value: Json) -> tuple[int | float | str | None, str]:
    """The value in the column (a text not yet coded; None = none), and a kind of fault or ""."""
    if value is None:
        return None, ""
    if key in INT_ARGS:
        number = int_value(value)
        return (None, "odd_arg") if number is None else fit_int64(number)
    if key in FLOAT_ARGS:
        real = float_value(value)
        return real, "odd_arg" if real is None else ""
    return text_value(value)


def text_value(value: Json) -> tuple[str | None, str]:
    """A text as it is, everything else as JSON."""
    if is_text(value):
        return str(value), ""
    try:
        return json_text(value), ""
    except RecursionError:
        return None, "odd_arg"


def fit_int64(number: int) -> tuple[int | None, str]:
    """``number`` as an int64: itself, the same 64 bits if it is below 2^64, or None."""
    if number in INT64:
        return number, ""
    return (number - 2**64 if 0 < number < 2**64 else None), "wide_int"
