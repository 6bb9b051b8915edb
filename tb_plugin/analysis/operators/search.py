"""Searching names by words."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..names import of_names


def named(strings: Sequence[str], codes: NDArray[np.int32], search: str) -> NDArray[np.bool_]:
    """Which codes' names hold every word of ``search``, in any case; shape as ``codes``."""
    words = search.casefold().split()

    def is_hit(name: str) -> bool:
        text = name.casefold()
        return all(word in text for word in words)

    return of_names(strings, codes, is_hit, np.bool_)
