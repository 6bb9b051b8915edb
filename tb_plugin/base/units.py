"""Numbers in sentences: three significant digits, the unit by size.

Columns and charts format for themselves; these are for prose, terminals and findings. The page has
the same forms in ``frontend/src/base/text/format.ts``: a figure reads alike in a sentence of ours
and in a chart beside it, down to the rounding of a tie.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal

NBSP = "\u00a0"

_DURATIONS = (("ns", 1), ("µs", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000))
_BYTES = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def duration(ns: float) -> str:
    """Time: ``840 ns``, ``22.9 µs``, ``59.3 ms``, ``1.02 s``, ``2 m 14 s``, ``2 h 1 m``."""
    if ns < 0:
        return "−" + duration(-ns)
    if ns >= 119.5e9:
        minutes, seconds = divmod(int(ns / 1e9 + 0.5), 60)
        if minutes < 60:
            return f"{minutes}{NBSP}m{NBSP}{seconds}{NBSP}s"
        hours, minutes = divmod(minutes + (seconds >= 30), 60)
        return f"{hours:,}{NBSP}h{NBSP}{minutes}{NBSP}m"
    for name, size in _DURATIONS[:-1]:
        # A value that would round up to four digits is written in the next unit.
        if ns < 999.5 * size:
            return f"{_nanoseconds(ns) if size == 1 else three_digits(ns / size)}{NBSP}{name}"
    return f"{three_digits(ns / 1e9)}{NBSP}s"


def size(count: float) -> str:
    """Bytes with binary units: ``98.0 MiB``, ``2.87 GiB``, ``512 B``."""
    if count < 0:
        return "−" + size(-count)
    value = float(count)
    for unit in _BYTES[:-1]:
        if value < (1024 if unit == "B" else 999.5):
            digits = rounded(value, 0) if unit == "B" else three_digits(value)
            return f"{digits}{NBSP}{unit}"
        value /= 1024
    return f"{three_digits(value)}{NBSP}{_BYTES[-1]}"


def parse_size(text: str) -> int | None:
    """Bytes meant by ``5MB``, ``512 MiB`` or ``1000000``; None when it is no size.

    MB is a million bytes; MiB, and M alone, 1,048,576.

    >>> parse_size("5 MB"), parse_size("5 MiB")
    (5000000, 5242880)
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?b)?\s*", text.lower())
    if match is None:
        return None
    base = 1000 if match[3] == "b" else 1024
    return int(float(match[1]) * base ** " kmgt".index(match[2] or " "))


def share(ratio: float) -> str:
    """A part of a whole, one decimal: ``33.4 %``; ``< 0.1 %`` instead of a rounded 0."""
    percent, sign = abs(ratio * 100), "−" if ratio < 0 else ""
    if 0 < percent < 0.05:
        return f"{'>' if sign else '<'}{NBSP}{sign}0.1{NBSP}%"
    text = rounded(percent, 1)
    return f"{sign}{'100' if text == '100.0' else '0' if text == '0.0' else text}{NBSP}%"


def count(number: int) -> str:
    """A number of things: ``2,994``; from a million on three digits, ``9.10 M``."""
    if abs(number) < 1_000_000:
        return f"{number:,}"
    if abs(number) < 999_500_000:
        return f"{three_digits(number / 1e6)}{NBSP}M"
    return f"{three_digits(number / 1e9)}{NBSP}G"


def flops(number: float) -> str:
    """Floating-point operations: ``487 MFLOP``, ``11.5 TFLOP``."""
    for factor, unit in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= 0.9995 * factor:
            return f"{three_digits(number / factor)}{NBSP}{unit}FLOP"
    return f"{round(number)}{NBSP}FLOP"


def times(ratio: float) -> str:
    """A factor: ``1.19×``, from ten on ``12×``."""
    return f"{rounded(ratio, 2 if ratio < 9.995 else 0)}×"


def plural(number: int, one: str, many: str = "") -> str:
    """``1 step``, ``6 steps``."""
    return f"{count(number)}{NBSP}{one if number == 1 else many or one + 's'}"


def ordinal(number: int) -> str:
    """A place in an order.

    >>> ordinal(2), ordinal(11), ordinal(23), ordinal(100)
    ('2nd', '11th', '23rd', '100th')
    """
    last = number % 10 if number // 10 % 10 != 1 else 0
    return f"{number}{('th', 'st', 'nd', 'rd')[last] if last < 4 else 'th'}"


def listing(items: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"


def three_digits(value: float) -> str:
    """Three significant digits, never in powers of ten: ``1.02``, ``59.3``, ``229``."""
    return rounded(value, 2 if value < 9.995 else 1 if value < 99.95 else 0)


def rounded(value: float, decimals: int) -> str:
    """A number with so many decimals, in groups of three; a tie goes away from zero.

    A tie is one in decimal digits: 57.55 as it is written, not the double that is a hair below it.

    >>> rounded(57.55, 1), rounded(1234.5, 0)
    ('57.6', '1,235')
    """
    places = Decimal(1).scaleb(-decimals)
    return f"{Decimal(repr(float(value))).quantize(places, ROUND_HALF_UP):,f}"


def _nanoseconds(ns: float) -> str:
    return rounded(ns, 0) if ns == int(ns) or ns >= 9.995 else three_digits(ns)
