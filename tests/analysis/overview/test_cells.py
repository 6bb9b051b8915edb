"""Cutting events at the borders of windows."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kinetoscope.analysis.overview.utilization import (
    cut,
    level,
    level_within,
    level_within_in_python,
)
from tests.conftest import requires_native

SPANS = st.lists(st.tuples(st.integers(-50, 50), st.integers(0, 40)), max_size=30)
EDGES = st.lists(st.integers(-40, 60), min_size=2, max_size=12).map(sorted)


def arrays(spans: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    ts = np.array([start for start, _ in spans], np.int64)
    return ts, ts + np.array([length for _, length in spans], np.int64)


@given(SPANS, EDGES)
def test_each_cell_gets_what_of_each_event_lies_in_it(
    spans: list[tuple[int, int]], edges: list[int]
) -> None:
    ts, end = arrays(spans)
    cells = len(edges) - 1
    expected = [
        sum(max(0, min(b, high) - max(a, low)) for a, b in zip(ts, end, strict=True))
        for low, high in pairwise(edges)
    ]
    pieces = cut(ts, end, np.array(edges, np.int64))
    assert pieces.sum_ns(cells).tolist() == expected
    assert (pieces.ns > 0).all()
    chosen = np.arange(len(ts)) % 2 == 0
    assert pieces.sum_of(chosen, cells).tolist() == pieces.of(chosen).sum_ns(cells).tolist()


@given(SPANS, EDGES, st.lists(st.floats(0, 8), min_size=30, max_size=30))
def test_levels_are_the_sum_of_what_is_open(
    spans: list[tuple[int, int]], edges: list[int], weights: list[float]
) -> None:
    ts, end = arrays(spans)
    height = np.array(weights[: len(spans)], np.float64)
    start, stop, total = level(ts, end, height)
    for at in range(-55, 95):
        expected = height[(ts <= at) & (at < end)].sum()
        here = total[(start <= at) & (at < stop)].sum()
        assert abs(here - expected) < 1e-9
    assert (start[1:] >= stop[:-1]).all()


@requires_native
@given(st.integers(0, 1 << 30), st.integers(1, 400), st.integers(0, 60))
@settings(max_examples=30, deadline=None)
def test_the_library_tells_the_same_of_levels(seed: int, gap: int, empty: int) -> None:
    random = np.random.default_rng(seed)
    # By runs, as the kernels of several streams are; many begin where others end.
    ts = np.concatenate([random.integers(0, gap, 3_000).cumsum() for _ in range(2)])
    end = ts + np.maximum(random.integers(-empty, 90, len(ts)), 0)
    height = random.random(len(ts)) * random.integers(0, 3, len(ts))
    edges = np.sort(random.integers(-9, int(ts.max()) + 99, 50))
    found = level_within(ts, end, height, edges)
    assert np.array_equal(found, level_within_in_python(ts, end, height, edges))


def test_one_event_over_two_cells() -> None:
    pieces = cut(np.array([5]), np.array([20]), np.array([0, 10, 10, 30]))
    assert pieces.sum_ns(3).tolist() == [5, 0, 10]
    assert pieces.weighted(np.array([0.5]), 3).tolist() == [2.5, 0.0, 5.0]
