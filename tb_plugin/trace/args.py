"""What an argument of an event becomes: which column, which value, and what was odd about it."""

from __future__ import annotations

from collections.abc import Mapping

from .raw import FLOAT_ARGS, INT_ARGS, TEXT_ARGS
from .values import INT64, Json, float_value, int_value, is_text, json_text

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
