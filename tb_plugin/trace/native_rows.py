"""Rows moved and found by the native library; ``columns`` is the reference.

Each function says None, or False, where the reference has to do it: without the library, for few
rows, and for arrays of other types than columns have.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..base.native import call

_MANY = 1 << 12  # rows for which a call is worth it
_WIDTHS = (1, 4, 8)
_ROWS = (np.dtype(np.int32), np.dtype(np.int64))

Mask = NDArray[np.bool_]


def take(column: NDArray[Any], rows: NDArray[Any]) -> NDArray[Any] | None:
    """``column[rows]``."""
    if not (_are_rows(rows) and _is_plain(column)):
        return None
    result = np.empty(len(rows), column.dtype)
    to = rows, rows.itemsize, len(rows), result
    done = call("kinetoscope_rows_take", column, len(column), column.itemsize, *to)
    return None if done is None else result


def put(column: NDArray[Any], rows: NDArray[Any], values: NDArray[Any]) -> bool:
    """``column[rows] = values``, if they are of one type."""
    if not (_are_rows(rows) and _is_plain(column) and _is_plain(values)):
        return False
    if values.dtype != column.dtype or len(values) != len(rows):
        return False
    to = rows, rows.itemsize, len(rows), values
    return call("kinetoscope_rows_put", column, len(column), column.itemsize, *to) is not None


def where(mask: Mask) -> NDArray[np.int32] | None:
    """The rows at which a mask holds, ascending."""
    if len(mask) < _MANY or not mask.flags.c_contiguous:
        return None
    result = np.empty(np.count_nonzero(mask), np.int32)
    done = call("kinetoscope_rows_find", mask, len(mask), result, len(result))
    return None if done is None else result


def seen(codes: NDArray[Any], size: int) -> Mask | None:
    """Which of the codes below ``size`` occur."""
    if codes.dtype != np.int32 or not _are_rows(codes):
        return None
    result = np.zeros(size, bool)
    done = call("kinetoscope_rows_mark", codes, len(codes), result, size)
    return None if done is None else result


def is_any(column: NDArray[Any], values: Sequence[int]) -> Mask | None:
    """Where a column of integers has one of a few values."""
    if len(column) < _MANY or column.dtype.kind not in "iu" or not _is_plain(column):
        return None
    wanted = np.array(values, column.dtype)
    result = np.empty(len(column), bool)
    to = wanted, len(wanted), result
    done = call("kinetoscope_rows_equal_any", column, column.itemsize, len(column), *to)
    return None if done is None else result


def _are_rows(rows: NDArray[Any]) -> bool:
    return len(rows) >= _MANY and rows.dtype in _ROWS and rows.flags.c_contiguous


def _is_plain(column: NDArray[Any]) -> bool:
    kind, width = column.dtype.kind, column.itemsize
    return kind in "iufb" and width in _WIDTHS and column.flags.c_contiguous
