"""Who held what: the library and the reference agree, and every instant has one holder at most."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.analysis.idle.holders import HeldRows, holders, holders_in_python, largest
from kinetoscope.base.intervals import Intervals
from tests.conftest import requires_native

THREAD_BEFORE = 3  # rows of another thread, which come first

# Distances between edges: events that nest, pieces in windows.
STRETCHES = st.lists(st.integers(0, 9), min_size=2, max_size=12)
EVENTS = st.lists(
    st.tuples(st.integers(0, 60), st.integers(0, 40), st.integers(0, 1 << 16)), max_size=25
)


def spans(lengths: list[int], touching: bool) -> Intervals:
    """Stretches one after the other, with gaps between them or without."""
    edges = np.cumsum(lengths)
    start, end = (edges[:-1], edges[1:]) if touching else (edges[:-1:2], edges[1::2])
    some = end > start[: len(end)]
    return Intervals(start[: len(end)][some].copy(), end[some].copy())


def thread_of(events: list[tuple[int, int, int]]) -> Any:
    """A trace with one thread; a parent is any event before, whether it holds its child or not."""
    events = sorted(events, key=lambda one: (one[0], -one[1]))
    before = [0] * THREAD_BEFORE
    parent = [number % (row + 1) - 1 for row, (_, _, number) in enumerate(events)]
    above = [at + THREAD_BEFORE if at >= 0 else -1 for at in parent]
    host = SimpleNamespace(
        ts=np.array(before + [ts for ts, _, _ in events], np.int64),
        dur=np.array(before + [dur for _, dur, _ in events], np.int64),
        parent=np.array(before + above, np.int32),
    )
    return SimpleNamespace(host=host)


def entries(rows: HeldRows) -> list[tuple[int, int, int]]:
    return list(zip(rows.row.tolist(), rows.window.tolist(), rows.idle.tolist(), strict=True))


def cut(pieces: Intervals, windows: Intervals) -> Intervals:
    """What of the pieces lies in windows, cut at their edges."""
    found = [
        (max(start, low), min(end, high))
        for start, end in zip(pieces.start.tolist(), pieces.end.tolist(), strict=True)
        for low, high in zip(windows.start.tolist(), windows.end.tolist(), strict=True)
        if max(start, low) < min(end, high)
    ]
    columns = np.array(found, np.int64).reshape(-1, 2)
    return Intervals(columns[:, 0].copy(), columns[:, 1].copy())


@requires_native
@given(EVENTS, STRETCHES, STRETCHES, st.booleans())
def test_the_readers_agree(
    events: list[tuple[int, int, int]], gaps: list[int], steps: list[int], touching: bool
) -> None:
    windows = spans(steps, touching)
    pieces = cut(spans(gaps, False), windows)
    if not len(pieces) or not events:
        return
    trace = thread_of(events)
    expected = read_by("reference", trace, pieces, windows)
    found = read_by("library", trace, pieces, windows)
    assert entries(found) == entries(expected)
    assert [column.dtype for column in found] == [column.dtype for column in expected]


@pytest.mark.parametrize("reader", ["library", "reference"])
@given(events=EVENTS, gaps=STRETCHES, steps=STRETCHES, touching=st.booleans())
def test_each_instant_is_held_by_the_last_begun_one_that_is_open(
    reader: str,
    events: list[tuple[int, int, int]],
    gaps: list[int],
    steps: list[int],
    touching: bool,
) -> None:
    windows = spans(steps, touching)
    pieces = cut(spans(gaps, False), windows)
    if not len(pieces) or not events:
        return
    trace = thread_of(events)
    ts, end = (column[THREAD_BEFORE:] for column in (trace.host.ts, trace.host.ts + trace.host.dur))
    expected: Counter[tuple[int, int]] = Counter()
    for start, stop in zip(pieces.start.tolist(), pieces.end.tolist(), strict=True):
        for at in range(start, stop):
            window = np.flatnonzero((windows.start <= at) & (at < windows.end))[0]
            for row in np.flatnonzero((ts <= at) & (at < end))[-1:].tolist():
                expected[row + THREAD_BEFORE, int(window)] += 1
    found = read_by(reader, trace, pieces, windows)
    assert entries(found) == [(*key, ns) for key, ns in sorted(expected.items())]


@pytest.mark.parametrize("reader", ["library", "reference"])
def test_events_that_each_hold_something_in_two_windows(reader: str) -> None:
    """More entries than there are events and windows: each holds its first and its last ns."""
    windows = Intervals(np.array([0, 20]), np.array([20, 40]))
    nested = thread_of([(at, 40 - 2 * at, 0) for at in range(20)])
    found = read_by(reader, nested, windows, windows)
    expected = [(THREAD_BEFORE + at, window, 1) for at in range(20) for window in (0, 1)]
    assert entries(found) == expected


def read_by(reader: str, trace: Any, pieces: Intervals, windows: Intervals) -> HeldRows:
    rows = slice(THREAD_BEFORE, len(trace.host.ts))
    if reader == "reference":
        return holders_in_python(trace, rows, pieces, windows)
    hosts: Any = SimpleNamespace(first=np.array([0, rows.start, rows.stop]))
    return holders(trace, hosts, 1, pieces, windows)


HOSTILE: dict[str, Callable[[int, int], tuple[int, int]]] = {
    "nested": lambda at, all_ns: (at, 2 * all_ns - 2 * at),
    "stairs": lambda at, all_ns: (at, 2 * all_ns),
    "spread stairs": lambda at, all_ns: (at * 7, all_ns),
    "comb": lambda at, all_ns: (at * 7, all_ns - at * 7 if at % 2 else 3),
}


@pytest.mark.parametrize("reader", ["library", "reference"])
@given(
    parts=st.lists(
        st.tuples(st.sampled_from(sorted(HOSTILE)), st.integers(1, 60)), min_size=1, max_size=3
    ),
    count=st.integers(1, 80),
)
def test_what_is_held_grows_with_edges_and_not_with_events_times_windows(
    reader: str, parts: list[tuple[str, int]], count: int
) -> None:
    """Events that each lie over all windows: two entries for an event, and one for each window."""
    windows = Intervals(np.arange(count) * 100, np.arange(1, count + 1) * 100)
    all_ns = count * 100
    events = [(*HOSTILE[kind](at, all_ns), 0) for kind, many in parts for at in range(many)]
    found = read_by(reader, thread_of(events), windows, windows)
    assert len(found.row) <= 2 * len(events) + 2 * count
    first = min(ts for ts, _, _ in events)
    assert found.idle.sum() <= all_ns - min(first, all_ns), "no instant twice"


@given(st.lists(st.integers(0, 20), max_size=40), st.integers(1, 10))
def test_the_largest(values: list[int], count: int) -> None:
    found = largest(np.array(values, np.int64), count)
    assert len(set(found.tolist())) == min(count, len(values))
    assert sorted(values[at] for at in found) == sorted(values)[-count:]
