"""Nesting: pictures first, then any data against the definition, in Rust and in Python."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinetoscope.base.arrays import I8, I64
from kinetoscope.base.errors import KinetoscopeError
from kinetoscope.base.intervals import union
from kinetoscope.trace.build import nest as nesting
from kinetoscope.trace.build.nest import (
    Nesting,
    innermost_at,
    nest,
    nest_in_python,
    outer_rows_in_python,
)
from kinetoscope.trace.read import read
from tests.conftest import TRACES, requires_native, requires_traces

Event = tuple[int, int, int]  # thread, ts, dur
Nest = Callable[..., Nesting]

in_both = pytest.mark.parametrize(
    "how", [pytest.param(nest, marks=requires_native), nest_in_python]
)

EVENTS = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 12), st.integers(0, 12)), max_size=40)


def run(
    how: Nest, events: list[Event], tolerance: int = 0, clocks: list[int] | None = None
) -> Nesting:
    """Nest events that are already in the order of the table."""
    thread, ts, dur = np.array(events, np.int64).reshape(-1, 3).T
    first = np.ones(len(events), bool)
    first[1:] = thread[1:] != thread[:-1]
    clock = np.array(clocks or [0] * len(events), np.int8)
    return how(ts, dur, first, clock, tolerance)


def ordered(events: list[Event]) -> list[Event]:
    return sorted(events, key=lambda event: (event[0], event[1], -event[2]))


@in_both
def test_calls_inside_calls(how: Nest) -> None:
    # main   ██████████████████
    # a        █████
    # b         ██    c ███
    result = run(how, [(0, 0, 18), (0, 2, 5), (0, 3, 2), (0, 10, 3)])
    assert result.parent.tolist() == [-1, 0, 1, 0]
    assert result.depth.tolist() == [0, 1, 2, 1]
    assert result.self_ns.tolist() == [10, 3, 2, 3]
    assert len(result.overrun.row) == 0


@in_both
def test_threads_do_not_mix(how: Nest) -> None:
    result = run(how, [(0, 0, 100), (1, 10, 10), (1, 12, 2)])
    assert result.parent.tolist() == [-1, -1, 1]
    assert result.self_ns.tolist() == [100, 8, 2]


@in_both
def test_an_event_that_outlives_what_encloses_it_hangs_higher(how: Nest) -> None:
    # step    ████████████████████
    # enter   ████
    # range     ███████████████      begins in enter, outlives it: a child of step
    # op           ███
    result = run(how, [(0, 0, 20), (0, 0, 4), (0, 2, 15), (0, 5, 3)])
    assert result.parent.tolist() == [-1, 0, 0, 2]
    assert result.self_ns.tolist() == [3, 2, 12, 3]
    assert result.overrun.row.tolist() == [2]
    assert result.overrun.value.tolist() == [13]


@in_both
def test_coroutines_that_end_together_are_no_children_of_each_other(how: Nest) -> None:
    # a ███████████
    # b   ███████████
    result = run(how, [(0, 0, 11), (0, 2, 11)])
    assert result.parent.tolist() == [-1, -1]
    assert result.depth.tolist() == [0, 0]
    assert result.self_ns.tolist() == [2, 11], "the instants both cover belong to the later one"


@in_both
def test_what_continues_after_a_later_event_gets_its_time_back(how: Nest) -> None:
    # a ██████████████
    # b   ██████
    # c      ██████        outlives b; then a goes on
    result = run(how, [(0, 0, 14), (0, 2, 6), (0, 5, 6)])
    assert result.parent.tolist() == [-1, 0, 0]
    assert result.self_ns.tolist() == [2 + 3, 3, 6]


@in_both
def test_an_overrun_within_the_tolerance_is_no_overlap(how: Nest) -> None:
    rounded = [(0, 10_000, 2_000), (0, 11_000, 2_000)]
    assert run(how, rounded, tolerance=1000).parent.tolist() == [-1, 0]
    assert run(how, rounded, tolerance=5).parent.tolist() == [-1, -1]
    assert run(how, rounded, tolerance=1000).self_ns.tolist() == [1_000, 2_000], "of 3 µs in all"


@in_both
def test_two_clocks_may_disagree_by_less_than_a_microsecond(how: Nest) -> None:
    frame_in_op = [(0, 0, 10_000), (0, 100, 10_300)]
    assert run(how, frame_in_op, 5, [0, 1]).parent.tolist() == [-1, 0]
    assert run(how, frame_in_op, 5, [0, 0]).parent.tolist() == [-1, -1]
    # A frame that begins just before the op ends was called after it.
    frame_after_op = [(0, 0, 10_000), (0, 9_900, 800)]
    assert run(how, frame_after_op, 5, [0, 1]).parent.tolist() == [-1, -1]


@in_both
def test_events_of_no_length(how: Nest) -> None:
    # At one instant: the long one first; one without length holds nothing.
    result = run(how, [(0, 5, 3), (0, 5, 0), (0, 5, 0), (0, 8, 0)])
    assert result.parent.tolist() == [-1, 0, 0, -1]
    assert result.self_ns.tolist() == [3, 0, 0, 0]


@in_both
@given(events=EVENTS)
def test_outer_is_the_latest_started_event_still_open(how: Nest, events: list[Event]) -> None:
    events = ordered(events)
    if not events:
        return
    outer = run(how, events).outer.tolist()
    for row, (thread, ts, _) in enumerate(events):
        open_ = [
            j for j in range(row) if events[j][0] == thread and events[j][1] + events[j][2] > ts
        ]
        assert outer[row] == max(open_, default=-1)


@in_both
@given(events=EVENTS, slack=st.integers(0, 3))
def test_parent_is_the_innermost_open_event_that_contains(
    how: Nest, events: list[Event], slack: int
) -> None:
    events = ordered(events)
    if not events:
        return
    result = run(how, events, slack)
    for row, (thread, ts, dur) in enumerate(events):
        around = [
            j
            for j in range(row)
            if events[j][0] == thread
            and events[j][1] + events[j][2] > ts
            and events[j][1] + events[j][2] + slack >= ts + dur
        ]
        assert result.parent[row] == max(around, default=-1)
        above = int(result.parent[row])
        assert result.depth[row] == (result.depth[above] + 1 if above >= 0 else 0)
        late = result.outer[row] >= 0 and result.parent[row] != result.outer[row]
        assert late == (row in result.overrun.row)


@in_both
@given(events=EVENTS)
def test_exclusive_time_belongs_to_the_latest_started(how: Nest, events: list[Event]) -> None:
    events = ordered(events)
    if not events:
        return
    expected = [0] * len(events)
    for thread in {event[0] for event in events}:
        for instant in range(25):
            covering = [
                row
                for row, (owner, ts, dur) in enumerate(events)
                if owner == thread and ts <= instant < ts + dur
            ]
            if covering:
                expected[max(covering)] += 1
    assert run(how, events).self_ns.tolist() == expected


@in_both
@given(events=EVENTS)
def test_exclusive_times_sum_to_the_union_of_the_thread(how: Nest, events: list[Event]) -> None:
    events = ordered(events)
    if not events:
        return
    self_ns = run(how, events).self_ns
    assert (self_ns >= 0).all()
    thread, ts, dur = (np.array(column, np.int64) for column in zip(*events, strict=True))
    for owner in np.unique(thread):
        mine = thread == owner
        assert self_ns[mine].sum() == union(ts[mine], (ts + dur)[mine]).total_ns


@given(seed=st.integers(0, 2**32 - 1))
def test_the_loops_for_hostile_data_give_the_same(seed: int) -> None:
    columns = hostile(np.random.default_rng(seed))
    fast = nest_in_python(*columns)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nesting, "_PATIENCE", 0)
        assert_same(nest_in_python(*columns), fast)


@requires_native
@settings(max_examples=300)
@given(seed=st.integers(0, 2**32 - 1))
def test_both_agree_on_hostile_data(seed: int) -> None:
    ts, dur, first, clock, tolerance = hostile(np.random.default_rng(seed))
    assert_same(
        nest(ts, dur, first, clock, tolerance), nest_in_python(ts, dur, first, clock, tolerance)
    )


@requires_native
@given(seed=st.integers(0, 2**32 - 1), threads=st.integers(2, 12))
def test_parts_nested_side_by_side_are_nested_as_all_at_once(seed: int, threads: int) -> None:
    columns = hostile(np.random.default_rng(seed))
    whole = nest(*columns)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nesting, "LEAST_ROWS", 1)
        patch.setattr(nesting, "thread_count", lambda: threads)
        assert_same(nest(*columns), whole)


@pytest.mark.parametrize(
    ("sizes", "threads", "expected"),
    [
        ([4, 4], 2, [4, 4]),
        ([5, 2, 1], 2, [5, 3]),
        ([2, 1, 5], 2, [3, 5]),
        ([8], 3, [8]),
        ([1, 1, 1, 1], 3, [1, 1, 2]),
        ([1, 1], 9, [1, 1]),
    ],
)
def test_parts_hold_whole_threads(
    sizes: list[int], threads: int, expected: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nesting, "LEAST_ROWS", 1)
    monkeypatch.setattr(nesting, "thread_count", lambda: threads)
    first = np.concatenate([np.arange(size) == 0 for size in sizes])
    open_ = np.arange(len(first)), np.full(len(first), 100)
    assert [part.stop - part.start for part in nesting._parts(*open_, first)] == expected


@pytest.mark.parametrize(
    ("dur", "threads", "expected"),
    [
        ([1, 1, 1, 1, 1, 1, 1, 1], 4, [2, 2, 2, 2]),
        ([1, 1, 4, 1, 1, 1, 1, 1], 2, [6, 2]),
        ([1, 9, 1, 1, 1, 1, 1, 1], 2, [8]),
        ([9, 1, 1, 1, 1, 1, 1, 1], 2, [8]),
        ([1, 1, 1, 1, 0, 2, 1, 1], 3, [2, 3, 3]),
    ],
)
def test_a_thread_is_cut_where_no_event_is_open(
    dur: list[int], threads: int, expected: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nesting, "LEAST_ROWS", 1)
    monkeypatch.setattr(nesting, "thread_count", lambda: threads)
    ts, first = np.arange(len(dur)), np.arange(len(dur)) == 0
    parts = nesting._parts(ts, np.array(dur), first)
    assert [part.stop - part.start for part in parts] == expected


@requires_native
@requires_traces
def test_both_agree_on_every_real_trace() -> None:
    nested = 0
    for path in sorted(TRACES.rglob("*.*")):
        try:
            host = read(path).host
        except KinetoscopeError:
            continue
        first = np.ones(len(host), bool)
        np.not_equal(host.thread[1:], host.thread[:-1], out=first[1:])
        clock = (host.kind % 3).astype(np.int8)
        columns = (host.ts, host.dur, first, clock)
        for tolerance in (nesting.EXACT_NS, nesting.ROUNDED_NS):
            assert_same(nest(*columns, tolerance), nest_in_python(*columns, tolerance))
        nested += len(host)
    assert nested


def hostile(
    random: np.random.Generator,
) -> tuple[I64, I64, nesting.Flags, I8, int]:
    """Ten threads: towers, staircases, instants, overruns by about the tolerances."""
    size = int(random.integers(1, 400))
    span = int(random.choice([5, 100, 5_000, 10**7, 2**60]))
    thread = np.sort(random.integers(0, 10, size))
    ts = random.integers(0, span, size)
    dur = random.integers(0, span, size) >> random.integers(0, 40, size)
    to_a_common_end = random.random(size) < random.choice([0, 0.5, 1])
    dur[to_a_common_end] = (span - ts + random.integers(-1200, 1200, size)).clip(0)[to_a_common_end]
    dur[random.random(size) < random.choice([0, 0.1, 0.6])] = 0
    order = np.lexsort((-dur, ts, thread))
    first = np.ones(size, bool)
    np.not_equal(thread[1:], thread[:-1], out=first[1:])
    clock = random.integers(0, random.integers(1, 4), size).astype(np.int8)
    return ts[order], dur[order], first, clock, int(random.choice([0, 5, 1000]))


def assert_same(left: Nesting, right: Nesting) -> None:
    for column in ("outer", "parent", "depth", "self_ns"):
        mine, other = getattr(left, column), getattr(right, column)
        assert mine.dtype == other.dtype
        assert np.array_equal(mine, other), column
    assert left.overrun.row.tolist() == right.overrun.row.tolist()
    assert left.overrun.value.tolist() == right.overrun.value.tolist()


@in_both
def test_a_staircase_of_many_levels(how: Nest) -> None:
    # Every event contains the next: more levels than recursion or int16 can hold.
    levels = 50_000
    events = [(0, level, 2 * (levels - level)) for level in range(levels)] + [(0, 3 * levels, 1)]
    result = run(how, events)
    assert result.parent.tolist() == [*range(-1, levels - 1), -1]
    assert result.depth.max() == np.iinfo(np.int16).max
    assert result.self_ns.sum() == 2 * levels + 1


@given(EVENTS, st.lists(st.integers(-1, 26), max_size=10))
def test_innermost_at_an_instant(events: list[Event], instants: list[int]) -> None:
    events = ordered([(0, ts, dur) for _, ts, dur in events])
    if not events:
        return
    ts = np.array([event[1] for event in events])
    end = ts + np.array([event[2] for event in events])
    first = np.zeros(len(events), bool)
    first[0] = True
    at = np.array(instants, np.int64)
    found = innermost_at(
        end, outer_rows_in_python(ts, end, first), at, np.searchsorted(ts, at, side="right") - 1
    )
    for instant, row in zip(instants, found.tolist(), strict=True):
        open_ = [j for j in range(len(events)) if ts[j] <= instant < end[j]]
        assert row == max(open_, default=-1)
