"""The slices of each name in order of time."""

from __future__ import annotations

import numpy as np

from ...base.native import call
from .model import I32, I64, NameIndex

_BITS = 26
_LOW = (1 << _BITS) - 1


def index_names(name: I32, ts: I64, dur: I64, names: int) -> NameIndex:
    """``name`` is the code of each slice's name, below ``names``."""
    first = np.zeros(names + 1, np.int64)
    np.cumsum(np.bincount(name, minlength=names), out=first[1:])
    rows, sum_ns = np.empty(len(name), np.int32), np.empty(names, np.int64)
    arguments = (name, ts, dur, len(name), first, names, rows, sum_ns)
    if call("kinetoscope_by_name", *arguments) is not None:
        return NameIndex(first, rows, sum_ns)
    by_time = np.argsort(ts, kind="stable").astype(np.int32)
    code = name[by_time]
    # Of 16 bits numpy sorts by counting.
    order = np.argsort(code.astype(np.uint16) if names <= 1 << 16 else code, kind="stable")
    return NameIndex(first, by_time[order], sums_by(name, dur, names))


def sums_by(code: I32, value: I64, count: int) -> I64:
    """Exact sums of non-negative integers by code, of up to 2^27 rows.

    Doubles hold 53 bits, so values are added in parts of 26 bits and of the rest.
    """
    low = np.bincount(code, (value & _LOW).astype(np.float64), count)
    high = np.bincount(code, (value >> _BITS).astype(np.float64), count)
    result: I64 = low.astype(np.int64) + (high.astype(np.int64) << _BITS)
    return result
