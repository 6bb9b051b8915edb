"""The longest stretch of a frame without a child, frame by frame and of many at once."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.analysis.advice import host as module
from kinetoscope.analysis.advice.host import longest_gaps

EVENTS = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 12), st.integers(0, 1 << 16)),
    min_size=1,
    max_size=40,
)


@pytest.mark.parametrize("most", [1, 7, 1 << 18])
@given(EVENTS)
def test_the_longest_stretch_without_a_child(most: int, events: list[tuple[int, int, int]]) -> None:
    events.sort(key=lambda one: one[0])
    parent = [number % (at + 1) - 1 for at, (_, _, number) in enumerate(events)]
    ts, end = [one[0] for one in events], [one[0] + one[1] for one in events]
    code: Any = SimpleNamespace(
        ts=np.array(ts, np.int64), end=np.array(end, np.int64), parent=np.array(parent, np.int32)
    )
    rows = [row for row in range(len(events)) if parent[row] >= 0]
    expected = []
    for row in rows:
        children = [one for one in range(row + 1) if parent[one] == parent[row]]
        free, stretches = ts[parent[row]], []
        for place, one in enumerate(children):
            stretches.append((ts[one] - free, free, ts[one]))
            free = end[one] if not place else max(free, end[one])
        _, low, high = max(stretches, key=lambda one: one[0])
        expected.append((low, high))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_ROWS", most)
        above = np.array([parent[row] for row in rows], np.int64)
        found = longest_gaps(code, above, np.array(rows, np.int64))
    assert list(zip(*(side.tolist() for side in found), strict=True)) == expected
