"""Whose turn is it? Each instant counts for the first of several sets that holds it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..base.intervals import Intervals, length_within, merge

I64 = NDArray[np.int64]


def shares(layers: Sequence[Intervals], start: I64, end: I64) -> list[I64]:
    """What each layer adds to those before it, per window; the last entry is what none holds.

    The layers are merged one by one, and each adds the growth of the whole. So the shares of a
    window sum to its length to the nanosecond, whatever the sets are.

    A  ██████            6
    B     ██████         3
    –           ░░░      3  (window of 12)
    """
    covered = np.zeros(len(start), np.int64)
    whole: Intervals | None = None
    parts = []
    for layer in layers:
        if len(layer):
            whole = layer if whole is None else merge(whole, layer)
            grown = length_within(whole, start, end)
            parts.append(grown - covered)
            covered = grown
        else:
            parts.append(np.zeros(len(start), np.int64))
    parts.append(end - start - covered)
    return parts
