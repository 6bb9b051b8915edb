"""Interval sets against sets of instants: slow, obvious, and the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.base import intervals as module
from kinetoscope.base.intervals import (
    EMPTY,
    Intervals,
    clip,
    complement,
    intersect,
    length_before,
    length_within,
    merge,
    not_inside,
    subtract,
    union,
    union_of,
    union_where,
)
from kinetoscope.base.native import native

SPANS = st.lists(st.tuples(st.integers(-20, 20), st.integers(-3, 8)), max_size=15)
Spans = list[tuple[int, int]]


@pytest.fixture(params=["library", "reference"], autouse=True, scope="module")
def reader(request: pytest.FixtureRequest) -> Iterator[None]:
    """All of it by the library, however few intervals there are, and without it."""
    if request.param == "library" and native().library is None:
        pytest.skip(f"no native library: {native().reason}")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_MANY", 0 if request.param == "library" else 1 << 62)
        yield


def of(spans: Spans) -> Intervals:
    """The set of (start, length) pairs."""
    start = np.array([start for start, _ in spans], np.int64)
    return union(start, start + np.array([length for _, length in spans], np.int64))


def instants(spans: Spans) -> set[int]:
    return {instant for start, length in spans for instant in range(start, start + length)}


def covered(intervals: Intervals) -> set[int]:
    pairs = zip(intervals.start.tolist(), intervals.end.tolist(), strict=True)
    return {instant for start, end in pairs for instant in range(start, end)}


def assert_normal(intervals: Intervals) -> None:
    assert (intervals.start < intervals.end).all(), "no empty interval"
    assert (intervals.end[:-1] < intervals.start[1:]).all(), "sorted, disjoint, not touching"


def test_union_drawn() -> None:
    # A: ██████          ██
    # B:    █████
    result = union(np.array([0, 3, 16]), np.array([6, 8, 18]))
    assert list(zip(result.start.tolist(), result.end.tolist(), strict=True)) == [(0, 8), (16, 18)]
    assert result.total_ns == 10


@given(st.integers(0, 1 << 31), st.integers(1, 4), st.integers(70, 200))
def test_union_of_lanes_each_in_order(seed: int, lanes: int, length: int) -> None:
    """Tables come so: what one lane covers is found without sorting it."""
    random = np.random.default_rng(seed)
    start = np.sort(random.integers(0, 500, (lanes, length)), axis=1).ravel()
    spans = list(zip(start.tolist(), random.integers(0, 9, len(start)).tolist(), strict=True))
    result = of(spans)
    assert_normal(result)
    assert covered(result) == instants(spans)


def test_intervals_that_touch_become_one() -> None:
    result = union(np.array([0, 5]), np.array([5, 9]))
    assert (result.start.tolist(), result.end.tolist()) == ([0], [9])


def test_nothing() -> None:
    assert len(union(np.array([4, 9]), np.array([4, 3]))) == 0
    assert len(merge()) == 0
    assert EMPTY.total_ns == 0
    assert length_within(EMPTY, np.array([0]), np.array([9])).tolist() == [0]


@given(SPANS)
def test_union_covers_each_instant_once(spans: Spans) -> None:
    result = of(spans)
    assert_normal(result)
    assert covered(result) == instants(spans)
    assert result.total_ns == len(instants(spans))


@given(SPANS, SPANS)
def test_what_lies_in_no_interval_of_another_set(a: Spans, b: Spans) -> None:
    one, other = of(a), of(b)
    kept = not_inside(one, other)
    expected = [
        (start, end)
        for start, end in zip(one.start.tolist(), one.end.tolist(), strict=True)
        if not set(range(start, end)) <= covered(other)
    ]
    assert list(zip(kept.start.tolist(), kept.end.tolist(), strict=True)) == expected


@given(SPANS, SPANS)
def test_set_operations(a: Spans, b: Spans) -> None:
    for result, expected in (
        (merge(of(a), of(b)), instants(a) | instants(b)),
        (intersect(of(a), of(b)), instants(a) & instants(b)),
        (subtract(of(a), of(b)), instants(a) - instants(b)),
    ):
        assert_normal(result)
        assert covered(result) == expected


@given(SPANS, st.integers(-25, 25), st.integers(-25, 25))
def test_clip_and_complement_share_out_a_window(spans: Spans, low: int, high: int) -> None:
    window = set(range(low, high))
    inside, outside = clip(of(spans), low, high), complement(of(spans), low, high)
    assert covered(inside) == instants(spans) & window
    assert covered(outside) == window - instants(spans)
    assert inside.total_ns + outside.total_ns == len(window)


@given(SPANS, st.lists(st.tuples(st.integers(-25, 25), st.integers(-25, 25)), max_size=8))
def test_length_within_windows(spans: Spans, windows: Spans) -> None:
    low = np.array([a for a, _ in windows], np.int64)
    high = np.array([b for _, b in windows], np.int64)
    expected = [len(instants(spans) & set(range(a, b))) for a, b in windows]
    assert length_within(of(spans), low, high).tolist() == expected
    before = [len([instant for instant in instants(spans) if instant < a]) for a, _ in windows]
    assert length_before(of(spans), low).tolist() == before


@given(SPANS, st.integers(0, 2**15))
def test_the_union_of_chosen_events(spans: Spans, chosen: int) -> None:
    start = np.array([start for start, _ in spans], np.int64)
    length = np.array([length for _, length in spans], np.int64)
    mask = np.array([chosen >> at & 1 for at in range(len(spans))], np.bool_)
    found = union_where(mask, start, length)
    assert_normal(found)
    assert covered(found) == instants([span for at, span in enumerate(spans) if mask[at]])


@given(SPANS, st.lists(st.integers(0, 2**15), max_size=20), st.sampled_from([np.int32, np.int64]))
def test_the_union_of_some_rows(spans: Spans, numbers: list[int], width: type) -> None:
    start = np.array([start for start, _ in spans], np.int64)
    length = np.array([length for _, length in spans], np.int64)
    rows: Any = np.array([number % len(spans) for number in numbers if spans], width)
    found = union_of(rows, start, length)
    assert_normal(found)
    assert covered(found) == instants([spans[row] for row in rows.tolist()])


@given(st.lists(SPANS, max_size=7))
def test_the_union_of_several_sets(sets: list[Spans]) -> None:
    found = merge(*map(of, sets))
    assert_normal(found)
    assert covered(found) == {instant for spans in sets for instant in instants(spans)}
