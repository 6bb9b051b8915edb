"""Columns of decimal texts → int64 nanoseconds, many at once; ``timestamps`` says what each text means."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .raw import MISSING
from .strict import decode_strict
from .timestamps import nanoseconds

_NUMBER_BYTES = b"0123456789.-\n"
_QUOTED = re.compile(rb'(?:"?-?\d{1,18}(?:\.\d{1,3})?"?\n|\n)*')  # Ascend writes ts as strings.
_POINT = ord(".")
_MAX_DIGITS = 18  # of which int64 holds any
_SCALE = np.array([1000, 100, 10, 1], np.int64)


def column_ns(texts: Sequence[object]) -> tuple[NDArray[np.int64], list[int]]:
    """The JSON texts of times in µs (buffers; empty = absent) as ns, and the rows that hold no time.

    MISSING where absent or unreadable; only the unreadable rows are listed.
    """
    joined = b"\n".join((*texts, b""))  # type: ignore[arg-type]
    if joined.translate(None, _NUMBER_BYTES):
        if not _QUOTED.fullmatch(joined):
            return _one_by_one(texts)
        joined = joined.translate(None, b'"')
    flat = np.frombuffer(joined, np.uint8)
    end = np.flatnonzero(flat == ord("\n"))
    if len(end) != len(texts):
        return _one_by_one(texts)
    length = np.diff(end, prepend=-1) - 1
    point = np.flatnonzero(flat == _POINT)
    row = np.searchsorted(end, point)
    decimals = np.zeros(len(end), np.int64)
    decimals[row] = end[row] - point - 1
    given = length > 0
    number = np.fromstring(joined.replace(b".", b""), np.int64, sep="\n")
    ns = np.full(len(end), MISSING, np.int64)
    ns[given] = number * _SCALE[np.minimum(decimals[given], 3)]
    exact = (decimals <= 3) & (length <= _MAX_DIGITS - 3 + decimals)
    unread = []
    for odd in np.flatnonzero(given & ~exact).tolist():
        value = nanoseconds(decode_strict(bytes(texts[odd])))  # type: ignore[call-overload]
        if value is None:
            unread.append(odd)
        ns[odd] = MISSING if value is None else value
    return ns, unread


def _one_by_one(texts: Sequence[object]) -> tuple[NDArray[np.int64], list[int]]:
    values = [bytes(text) for text in texts]  # type: ignore[call-overload]
    times = [nanoseconds(decode_strict(text)) if text else None for text in values]
    unread = [row for row, (text, ns) in enumerate(zip(values, times, strict=True)) if text and ns is None]
    return np.array([MISSING if ns is None else ns for ns in times], np.int64), unread
