"""Collectives inside a window of the common axis: ``axis``."""

from __future__ import annotations

import numpy as np
import pytest

from kinetoscope.views.distributed.axis import _Calls, _touching


@pytest.mark.parametrize(
    ("start", "end", "found"),
    [(0, 10, []), (0, 11, [0]), (29, 40, [0]), (30, 40, []), (0, 100, [0, 1]), (60, 100, [])],
)
def test_a_collective_touches_a_window_that_shares_an_instant_with_it(
    start: int, end: int, found: list[int]
) -> None:
    row = np.array([[1, 1], [2, 3], [4, -1]], np.int32)  # the last one has a single rank
    arrival = np.array([[10, 14], [45, 40], [70, 0]])
    release = np.array([[28, 30], [60, 58], [90, 0]])
    calls = _Calls(row, np.zeros((3, 2), np.int64), arrival, release)
    assert _touching(calls, start, end).tolist() == found
