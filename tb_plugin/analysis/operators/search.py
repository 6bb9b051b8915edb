"""Which rows are looked at: by their step, by words of their name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..names import of_names


def in_steps(step: NDArray[np.int32], steps: tuple[int, ...] | None) -> NDArray[np.bool_]:
    """Which rows lie in the chosen steps; None = all, also those outside steps."""
    return np.ones(len(step), np.bool_) if steps is None else np.isin(step, steps)


def named(strings: Sequence[str], codes: NDArray[np.int32], search: str) -> NDArray[np.bool_]:
    """Which codes' names hold every word of ``search``, in any case; shape as ``codes``."""
    words = search.casefold().split()

    def is_hit(name: str) -> bool:
        text = name.casefold()
        return all(word in text for word in words)

    return of_names(strings, codes, is_hit, np.bool_)
