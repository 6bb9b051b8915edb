"""Microseconds as the file writes them → int64 nanoseconds, exactly.

The decimal text is the truth: "4370504323436.782" µs is 4370504323436782 ns. What is finer than
1 ns is rounded half to even. A double would lose that beyond 2^43 µs (101 days), and epoch times
lie far beyond; so no time ever becomes a double.
"""

from __future__ import annotations

import re
from decimal import ROUND_HALF_EVEN, Context, Decimal

from .raw import MISSING, NO_DUR

MAX_NS = 2**63 - 1
_PLAIN = re.compile(r"(-?)(\d{1,18})(?:\.(\d{1,3}))?", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,6})?", re.ASCII)
_MAX_CHARS = 1000
_WIDE = Context(prec=2 * _MAX_CHARS)


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
        if len(text) > _MAX_CHARS or not _NUMBER.fullmatch(text):
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
