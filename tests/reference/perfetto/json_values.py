"""Values of a Perfetto file as JSON text: texts, times, numbers, arguments."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING

from kinetoscope.base.regex import regex
from tests.reference.perfetto.wire import BadPacket, Bytes, Message, text_at

from .slices import wrapped

if TYPE_CHECKING:
    from .packets import Sequence

MOST_DEPTH = 32
"""Of lists and objects in an argument."""
_ESCAPES = {
    **{code: f"\\u{code:04x}" for code in range(32)},
    ord('"'): '\\"',
    ord("\\"): "\\\\",
}
_SAFE_DIGITS = 15
"""Of as many digits, no two texts read as one number."""
_EXPONENT = regex(r"e\+?(-?)0*")


def quoted(text: str) -> str:
    """``text`` as a string of JSON."""
    return f'"{text.translate(_ESCAPES)}"'


def us(ns: int) -> str:
    """Nanoseconds as microseconds with all digits.

    >>> us(-1500)
    '-1.500'
    """
    return f"{'-' if ns < 0 else ''}{abs(ns) // 1000}.{abs(ns) % 1000:03d}"


def double_at(data: Bytes, at: int) -> float:
    """The number in eight bytes."""
    value: float = struct.unpack_from("<d", data, at)[0]
    return value


def decimal(value: float) -> str:
    """The shortest text that reads as this number, of several the least; null where it is none.

    >>> decimal(1e16), decimal(0.5), decimal(2.5e-7)
    ('1e16', '0.5', '2.5e-7')
    """
    if not math.isfinite(value):
        return "null"
    digits, mark, exponent = _EXPONENT.sub(r"e\1", repr(value)).partition("e")
    # Languages differ in which of two texts they choose that are equally near.
    while len(digits) > _SAFE_DIGITS and not digits.endswith(".0"):
        less = digits[:-1] + chr(ord(digits[-1]) - 1)
        if digits[-1] == "0" or float(f"{less}{mark}{exponent}") != value:
            break
        digits = less
    return f"{digits}{mark}{exponent}"


Interned = Callable[[dict[int, str], int], str]
"""Table and number → the quoted text, or one in its place."""


def argument(
    data: Bytes, message: Message, sequence: Sequence, interned: Interned, depth: int = 0
) -> tuple[str, str]:
    """Name and value of an argument; a list that is empty has no value at all.

    Raises:
        BadPacket: it is no message, or nested too deep.
    """
    if depth > MOST_DEPTH:
        raise BadPacket
    ints = message.ints
    name = quoted(message.text(data, 10))
    if 10 not in message.parts and 1 in ints:
        name = interned(sequence.arg_names, ints[1][-1])
    if 11 in message.parts:
        members = (
            argument(data, one, sequence, interned, depth + 1) for one in message.messages(data, 11)
        )
        return name, "{" + ",".join(f"{key}:{value}" for key, value in members) + "}"
    if 12 in message.parts:
        items = (
            argument(data, one, sequence, interned, depth + 1)[1]
            for one in message.messages(data, 12)
        )
        return name, "[" + ",".join(items) + "]"
    return name, _scalar(data, message, sequence, interned)


def _scalar(data: Bytes, message: Message, sequence: Sequence, interned: Interned) -> str:
    for number in (6, 9):
        if number in message.parts:
            return quoted(text_at(data, *message.parts[number][-1]))
    if 5 in message.doubles:
        return decimal(double_at(data, message.doubles[5]))
    for number, as_text in _OF_INTS:
        if number in message.ints:
            return as_text(message.ints[number][-1])
    if 17 in message.ints:
        return interned(sequence.arg_texts, message.ints[17][-1])
    return "[]"


def _signed(value: int) -> str:
    return str(wrapped(value))


def _pointer(value: int) -> str:
    return f'"{value:#x}"'


def _truth(value: int) -> str:
    return "true" if value else "false"


_OF_INTS: tuple[tuple[int, Callable[[int], str]], ...] = (
    (4, _signed),
    (3, str),
    (2, _truth),
    (7, _pointer),
)
