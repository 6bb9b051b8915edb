"""What a value of an unusual type means ("7", 7.0 and true are integers), and JSON as one text."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

from .timestamps import NumberText, nanoseconds

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
    """Whether ``value`` is a JSON string (a ``NumberText`` is a number)."""
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
