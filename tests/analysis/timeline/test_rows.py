"""Slices found again by their rows of the file."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from kinetoscope.analysis.timeline.locate import slices_of_rows


def test_slices_are_found_by_their_rows_of_the_file() -> None:
    """Slice 2 is of no row: what is asked for with −1 is nobody's slice, not that one."""
    slices: Any = SimpleNamespace(raw=np.array([7, 3, -1, 12], np.int32))
    rows = np.array([12, -1, 7, 99, 7], np.int64)
    assert slices_of_rows(slices, rows).tolist() == [3, -1, 0, -1, 0]
    assert slices_of_rows(slices, rows[:0]).tolist() == []
