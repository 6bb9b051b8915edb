"""Columns of decimal texts → int64 ns, many at once; ``timestamps`` says what each means."""

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
_SCALE = np.array([1000, 100, 10, 1], np.int64)  # by the number of decimals
_LIMIT = np.array([9 * 10**15, 9 * 10**16, 9 * 10**17, 9 * 10**18], np.int64)  # within int64 ns


def column_ns(texts: Sequence[object]) -> tuple[NDArray[np.int64], list[int]]:
    """The JSON texts of times in µs (buffers; empty = absent) as ns, and the rows without a time.

    MISSING where absent or unreadable; only the unreadable rows are listed.

    Raises:
        ValueError: a text is no strict JSON.
    """
    joined = b"\n".join(texts) + b"\n"  # type: ignore[arg-type]
    if joined.translate(None, _NUMBER_BYTES):
        if not _QUOTED.fullmatch(joined):
            return _one_by_one(texts)
        joined = joined.translate(None, b'"')
    flat = np.frombuffer(joined, np.uint8)
    end = np.flatnonzero(flat == ord("\n"))
    point = np.flatnonzero(flat == ord("."))
    row = np.searchsorted(end, point)
    decimals = np.zeros(len(end), np.int64)
    decimals[row] = end[row] - point - 1
    given = np.flatnonzero(np.diff(end, prepend=-1) > 1)
    decimals = decimals[given]
    number = np.fromstring(joined.replace(b".", b""), np.int64, sep="\n")
    kind = np.minimum(decimals, 3)
    ns = np.full(len(texts), MISSING, np.int64)
    ns[given] = number * _SCALE[kind]
    # Beyond int64 the number is its limit; beyond three decimals it must be rounded.
    odd = given[(decimals > 3) | (number > _LIMIT[kind]) | (number < -_LIMIT[kind])]
    ns[odd], unread = _read([texts[row] for row in odd.tolist()])
    return ns, odd[unread].tolist()


def _one_by_one(texts: Sequence[object]) -> tuple[NDArray[np.int64], list[int]]:
    given = [row for row, text in enumerate(texts) if bytes(text)]  # type: ignore[call-overload]
    ns = np.full(len(texts), MISSING, np.int64)
    ns[given], unread = _read([texts[row] for row in given])
    return ns, [given[at] for at in unread]


def _read(texts: Sequence[object]) -> tuple[NDArray[np.int64], list[int]]:
    """The ns of texts that are there, MISSING where there is no time, and which those are."""
    times = [nanoseconds(decode_strict(bytes(text))) for text in texts]  # type: ignore[call-overload]
    unread = [row for row, time in enumerate(times) if time is None]
    return np.array([MISSING if time is None else time for time in times], np.int64), unread
