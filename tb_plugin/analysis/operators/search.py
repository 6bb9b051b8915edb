"""Searching names: each distinct text is looked at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def named(strings: Sequence[str], codes: NDArray[np.integer], search: str) -> NDArray[np.bool_]:
    """By code: whether the text holds every word of ``search``, in any case."""
    words = search.casefold().split()
    hit = np.zeros(len(strings), np.bool_)
    seen = np.zeros(len(strings), np.bool_)
    seen[codes] = True
    for code in np.flatnonzero(seen).tolist():
        text = strings[code].casefold()
        hit[code] = all(word in text for word in words)
    return hit
