"""Sets in order of priority."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.analysis.overview.attribution import shares
from kinetoscope.base.intervals import union

SPANS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 15)), max_size=8)


@given(st.lists(SPANS, max_size=5), st.integers(0, 30), st.integers(0, 30))
def test_every_instant_counts_for_the_first_set_that_holds_it(
    layers: list[list[tuple[int, int]]], low: int, length: int
) -> None:
    sets = [
        union(
            np.array([a for a, _ in layer], np.int64), np.array([a + n for a, n in layer], np.int64)
        )
        for layer in layers
    ]
    owner = [
        next(
            (i for i, layer in enumerate(layers) if any(a <= at < a + n for a, n in layer)),
            len(layers),
        )
        for at in range(low, low + length)
    ]
    expected = [owner.count(i) for i in range(len(layers) + 1)]
    result = shares(sets, np.array([low]), np.array([low + length]))
    assert [int(part[0]) for part in result] == expected
