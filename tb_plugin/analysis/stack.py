"""Whose turn is it? Each instant counts for the first of several sets that holds it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ..base.intervals import EMPTY, Intervals, length_within, merge, not_inside

I64 = NDArray[np.int64]


def shares(layers: Iterable[Intervals], start: I64, end: I64) -> list[I64]:
    """What each layer adds to those before it, per window; the last entry is what none holds.

    The layers are merged one by one, and each adds the growth of the whole. So the shares of a
    window sum to its length to the nanosecond, whatever the sets are. Layers that are made as they
    are asked for need not be in memory at once.

    A  ██████            6
    B     ██████         3
    –           ░░░      3  (window of 12)
    """
    covered = np.zeros(len(start), np.int64)
    whole = EMPTY
    parts = []
    for layer in layers:
        grown = covered
        if len(more := not_inside(layer, whole)):
            whole = merge(whole, more)
            grown = length_within(whole, start, end)
        parts.append(grown - covered)
        covered = grown
        del layer, more  # before the next one is made
    parts.append(end - start - covered)
    return parts
