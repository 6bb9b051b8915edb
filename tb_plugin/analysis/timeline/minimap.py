"""How busy each track is over the whole trace, in columns of equal width."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...base.intervals import Intervals, length_before
from .model import F64, I64, U8, Narrow

COLUMNS = 4096
"""Kept; what divides it is exact, other numbers of columns share them out evenly."""
MOST_CELLS = 1 << 22  # of all tracks: where there are thousands, each keeps fewer columns

_CHUNK = 1 << 20  # slices at a time


def columns_kept(tracks: int) -> int:
    """How many columns are kept where there are so many tracks; a power of two.

    >>> columns_kept(12), columns_kept(5000)
    (4096, 512)
    """
    return min(COLUMNS, 1 << max((MOST_CELLS // max(tracks, 1)).bit_length() - 1, 0))


def edges(end_ns: int, columns: int) -> I64:
    """Where the columns of [0, end_ns) begin and end; one more than columns."""
    return np.array([column * end_ns // columns for column in range(columns + 1)], np.int64)


def busy_columns(ts: I64, dur: I64, end_ns: int, columns: int) -> I64:
    """Length of the union of slices, which are in order of their start, within each column.

    What a slice adds to the union begins where all before it have ended.
    """
    bounds = edges(end_ns, columns)
    before = np.zeros(columns + 1, np.int64)
    reached = 0
    for at in range(0, len(ts), _CHUNK):
        start = ts[at : at + _CHUNK]
        end = np.maximum.accumulate(start + dur[at : at + _CHUNK])
        np.maximum(end, reached, out=end)
        start = np.maximum(start, np.concatenate([[reached], end[:-1]]))
        before += length_before(Intervals(start, end), bounds)
        reached = int(end[-1])
    return np.diff(before)


def share(busy: Narrow, end_ns: int, columns: int) -> F64:
    """Busy share 0 … 1 of each track in so many columns; shape (tracks, columns)."""
    widths = np.diff(edges(end_ns, columns))
    passed = np.concatenate(
        [np.zeros((len(busy), 1), np.int64), np.cumsum(busy, axis=1, dtype=np.int64)], axis=1
    )
    kept = busy.shape[1]
    at = np.arange(columns + 1) * (kept / columns)
    low = np.minimum(at.astype(np.int64), kept - 1)
    before = passed[:, low] + (at - low) * busy[:, low]
    result: F64 = np.minimum(np.diff(before, axis=1) / np.maximum(widths, 1), 1.0)
    return result


def as_bytes(shares: F64) -> NDArray[np.uint8]:
    """0 … 255, rounded up: what is busy at all is not shown as idle."""
    result: U8 = np.ceil(np.round(shares * 255, 6)).astype(np.uint8)
    return result
