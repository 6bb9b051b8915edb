"""Joins by number: which row of a table carries an id, for many ids at once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .columns import put, take

I32 = NDArray[np.int32]
I64 = NDArray[np.int64]

_DENSE = 1 << 20


def join(key: I64, row: I32, wanted: I64) -> I32:
    """For each wanted id the row that carries it, −1 where none does; ids below 1 carry nothing.

    Where several rows carry one id, the last of ``key`` counts: sort the best to the end.
    """
    result = np.full(len(wanted), -1, np.int32)
    useful = key > 0
    key, row = key[useful], row[useful]
    ask = np.flatnonzero(wanted > 0)
    if not len(key) or not len(ask):
        return result
    low, high = int(key.min()), int(key.max())
    ask = ask[(wanted[ask] >= low) & (wanted[ask] <= high)]
    if high - low < max(_DENSE, 8 * len(key)):
        table = np.full(high - low + 1, -1, np.int32)
        table[key - low] = row
        result[ask] = table[wanted[ask] - low]
        return result
    order = np.argsort(key, kind="stable")
    key, row = key[order], row[order]
    at = np.searchsorted(key, wanted[ask], side="right") - 1
    found = (at >= 0) & (key[at] == wanted[ask])
    result[ask[found]] = row[at[found]]
    return result


def in_common(owner: NDArray[np.integer], size: int) -> NDArray[np.bool_]:
    """Which entries have their owner, a number below ``size``, in common with another entry."""
    last = np.zeros(size, np.int32)
    put(last, owner, np.arange(len(owner), dtype=np.int32))
    beaten = owner[take(last, owner) != np.arange(len(owner))]
    several = np.zeros(size, bool)
    several[beaten] = True
    return np.asarray(take(several, owner))


def repeated(key: I64) -> NDArray[np.bool_]:
    """Which ids above 0 occur more than once."""
    result = np.zeros(len(key), bool)
    useful = np.flatnonzero(key > 0)
    if not len(useful):
        return result
    ids = key[useful]
    low, high = int(ids.min()), int(ids.max())
    if high - low < max(_DENSE, 8 * len(ids)):
        result[useful] = in_common(ids - low, high - low + 1)
        return result
    order = useful[np.argsort(ids, kind="stable")]
    same = key[order[1:]] == key[order[:-1]]
    result[order[1:][same]] = True
    result[order[:-1][same]] = True
    return result
