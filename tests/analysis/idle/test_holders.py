"""Who held what: the library and the reference agree, and every instant has one holder at most."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.analysis.idle import holders as module
from kinetoscope.analysis.idle.holders import HeldRows, holders, holders_in_python, largest
from kinetoscope.base.intervals import Intervals
from kinetoscope.base.native import native

THREAD_BEFORE = 3  # rows of another thread, which come first
needs_native = pytest.mark.skipif(native().library is None, reason="no native library here")

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


def held(events: list[tuple[int, int, int]], pieces: Intervals, windows: Intervals) -> HeldRows:
    trace: Any = thread_of(events)
    hosts: Any = SimpleNamespace(first=np.array([0, THREAD_BEFORE, THREAD_BEFORE + len(events)]))
    return holders(trace, hosts, 1, pieces, windows)


@needs_native
@given(EVENTS, STRETCHES, STRETCHES, st.booleans())
def test_the_readers_agree(
    events: list[tuple[int, int, int]], gaps: list[int], steps: list[int], touching: bool
) -> None:
    windows = spans(steps, touching)
    pieces = cut(spans(gaps, False), windows)
    if not len(pieces) or not events:
        return
    trace = thread_of(events)
    rows = slice(THREAD_BEFORE, THREAD_BEFORE + len(events))
    expected = holders_in_python(trace, rows, pieces, windows)
    found = held(events, pieces, windows)
    assert entries(found) == entries(expected)
    assert [column.dtype for column in found] == [column.dtype for column in expected]


def test_little_room_is_enough_at_the_second_try(monkeypatch: pytest.MonkeyPatch) -> None:
    # Two windows, and both events are in both: four entries.
    events, windows = [(0, 10, 0), (1, 8, 1)], Intervals(np.array([0, 5]), np.array([5, 10]))
    monkeypatch.setattr(module, "_ROOM_PER_WINDOW", 0)
    found = entries(held(events, windows, windows))
    assert found == [(3, 0, 1), (3, 1, 1), (4, 0, 4), (4, 1, 4)]


@given(st.lists(st.integers(0, 20), max_size=40), st.integers(1, 10))
def test_the_largest(values: list[int], count: int) -> None:
    found = largest(np.array(values, np.int64), count)
    assert len(set(found.tolist())) == min(count, len(values))
    assert sorted(values[at] for at in found) == sorted(values)[-count:]
