"""Lanes: pictures first, then any data against the definition, in Rust and in Python."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinetoscope.analysis.timeline.build.lanes import (
    TOLERANCE_NS,
    Lanes,
    assign_lanes,
    assign_lanes_in_python,
)
from tests.conftest import requires_native

Event = tuple[int, int, int]  # track, ts, dur
Assign = Callable[..., Lanes]

in_both = pytest.mark.parametrize(
    "assign", [pytest.param(assign_lanes, marks=requires_native), assign_lanes_in_python]
)

# Times around the tolerance, and around one another.
_TIMES = st.integers(0, 12) | st.integers(0, 12).map(lambda n: n * (TOLERANCE_NS // 3))
EVENTS = st.lists(st.tuples(st.integers(0, 2), _TIMES, _TIMES), max_size=40)


def run(events: list[Event], assign: Assign = assign_lanes) -> Lanes:
    """Lanes of events that are already in the order of the table."""
    table = np.array(events, np.int64).reshape(-1, 3)
    first = np.ones(len(events), bool)
    first[1:] = table[1:, 0] != table[:-1, 0]
    return assign(table[:, 1], table[:, 2], first)


def ordered(events: list[Event]) -> list[Event]:
    return sorted(events, key=lambda event: (event[0], event[1], -event[2]))


@in_both
def test_calls_inside_calls(assign: Assign) -> None:
    # step  ██████████████████
    # a       █████  █████
    # b        ██
    us = [(0, 0, 18_000), (0, 2_000, 5_000), (0, 3_000, 2_000), (0, 9_000, 5_000)]
    result = run(us, assign)
    assert result.lane.tolist() == [0, 1, 2, 1]
    assert result.displaced.tolist() == [False] * 4
    assert result.counts.tolist() == [3]


@in_both
def test_what_overlaps_is_displaced_and_what_it_holds_is_below_it(assign: Assign) -> None:
    # a  ██████████·······
    # b  ·  ███████████████     outlives a by more than the tolerance: it is not inside a
    # c  ·  · ███                inside b
    # d  ·  ·         ·    ███    a's lane is free again
    events = [(0, 0, 10_000), (0, 3_000, 15_000), (0, 5_000, 3_000), (0, 20_000, 3_000)]
    result = run(events, assign)
    assert result.lane.tolist() == [0, 1, 2, 0]
    assert result.displaced.tolist() == [False, True, False, False]
    assert result.counts.tolist() == [3]


@in_both
def test_a_small_overrun_is_no_overlap_but_nothing_is_drawn_over_it(assign: Assign) -> None:
    # call  ██████████          op outlives call by 1 µs and stays below it; next begins in call's
    # op       ████████         lane; its own op begins while the first is open: displaced
    # next            ██████
    events = [(0, 0, 10_000), (0, 3_000, 8_000), (0, 10_500, 6_000), (0, 10_600, 1_000)]
    result = run(events, assign)
    assert result.lane.tolist() == [0, 1, 0, 2]
    assert result.displaced.tolist() == [False, False, False, True]


@in_both
def test_instants_share_a_lane(assign: Assign) -> None:
    result = run([(0, 0, 9), (0, 5, 0), (0, 5, 0), (0, 9, 0), (0, 12, -7)], assign)
    assert result.lane.tolist() == [0, 1, 1, 0, 0]


@in_both
def test_tracks_do_not_mix(assign: Assign) -> None:
    result = run([(0, 0, 90), (0, 5, 80), (1, 10, 10), (2, 10, 50), (2, 20, 20)], assign)
    assert result.lane.tolist() == [0, 1, 0, 0, 1]
    assert result.counts.tolist() == [2, 1, 2]
    nothing = run([], assign)
    assert [len(nothing.lane), len(nothing.displaced), len(nothing.counts)] == [0, 0, 0]


@in_both
def test_more_open_events_than_lanes_share_the_last(assign: Assign) -> None:
    count = 65_600
    ts = np.arange(count) * 10
    dur = np.full(count, 10_000_000)
    result = assign(ts, dur, ts == 0)
    assert (result.lane == np.minimum(ts // 10, 65_535)).all()
    assert result.counts.tolist() == [65_536]


@in_both
@given(events=EVENTS)
def test_any_data_is_drawn_as_defined(assign: Assign, events: list[Event]) -> None:
    events = ordered(events)
    result = run(events, assign)
    lane = result.lane.tolist()
    for row, (track, ts, dur) in enumerate(events):
        before = [j for j in range(row) if events[j][0] == track and end(events[j]) > ts]
        around = [j for j in before if end(events[j]) + TOLERANCE_NS >= ts + dur]
        wanted = lane[max(around)] + 1 if around else 0
        busy = {lane[j] for j in before}
        assert lane[row] == min(set(range(wanted, wanted + row + 1)) - busy)
        assert result.displaced[row] == (lane[row] != wanted)
    assert_nothing_overlaps(events, lane)
    for count, track in zip(result.counts, sorted({event[0] for event in events}), strict=True):
        assert count == 1 + max(lane[j] for j in range(len(events)) if events[j][0] == track)


@in_both
@given(data=st.data())
def test_nested_calls_are_drawn_at_their_depth(assign: Assign, data: st.DataObject) -> None:
    events: list[Event] = []
    depths: list[int] = []

    def call(start: int, length: int, depth: int) -> None:
        events.append((0, start, length))
        depths.append(depth)
        at = start
        while depth < 6 and at < start + length and data.draw(st.booleans()):
            at = data.draw(st.integers(at, start + length - 1))
            inner = data.draw(st.integers(1, start + length - at))
            call(at, inner, depth + 1)
            at += inner

    call(0, 1000 * TOLERANCE_NS, 0)
    result = run(events, assign)
    assert result.lane.tolist() == depths
    assert not result.displaced.any()


@requires_native
@settings(max_examples=500)
@given(seed=st.integers(0, 2**32 - 1))
def test_both_agree_on_crowded_tracks(seed: int) -> None:
    """Twenty tracks of every kind: staircases, towers, bursts of instants, extreme times."""
    random = np.random.default_rng(seed)
    tracks = [track_of(random) for _ in range(20)]
    events = ordered([(n, *event) for n, track in enumerate(tracks) for event in track])
    rust, python = run(events), run(events, assign_lanes_in_python)
    for column in ("lane", "displaced", "counts"):
        assert np.array_equal(getattr(rust, column), getattr(python, column)), column
    assert_nothing_overlaps(events, rust.lane.tolist())


def track_of(random: np.random.Generator) -> list[tuple[int, int]]:
    size = int(random.integers(0, 60))
    span = int(random.choice([3, 50, 3 * TOLERANCE_NS, 10**6, 2**61]))
    ts = random.integers(0, span, size) - random.choice([0, span])
    dur = {
        0: random.integers(0, span, size),
        1: np.full(size, span // 2),
        2: (random.pareto(0.5, size).clip(0, 10**6) * (span // 10**6)).astype(np.int64),
        3: span - (ts - ts.min(initial=0)) + random.integers(-1, 2, size) * TOLERANCE_NS,
        4: np.where(random.random(size) < 0.5, 0, np.int64(2**63 - 1)),
    }[int(random.integers(0, 5))]
    return [(int(start), int(length)) for start, length in zip(ts, dur, strict=True)]


def assert_nothing_overlaps(events: list[Event], lane: list[int]) -> None:
    by_lane: dict[tuple[int, int], list[Event]] = {}
    for event, number in zip(events, lane, strict=True):
        by_lane.setdefault((event[0], number), []).append(event)
    for drawn in by_lane.values():
        for left, right in pairwise(drawn):
            assert end(left) <= right[1] or end(right) <= left[1]


def end(event: Event) -> int:
    return min(event[1] + max(event[2], 0), 2**63 - 1)
