"""Busy share over the whole trace: a union, exact, in as many columns as asked for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.analysis.timeline.build import lane_layout
from kinetoscope.base.intervals import length_within, union
from tests.analysis.timeline.made import timeline_of
from tests.drawing import draw


def test_a_drawn_track() -> None:
    timeline = timeline_of(
        draw(
            """
            op   |aaaa    bbbb    |
            op   | cc             |
            gpu  |     k         k|
            """
        )
    )
    busy = lane_layout.share(timeline.layouts["split"].busy, timeline.end_ns, 16)
    assert busy[0].tolist() == [1.0] * 4 + [0.0] * 4 + [1.0] * 4 + [0.0] * 4
    assert busy[1].tolist() == [0.0] * 5 + [1.0] + [0.0] * 9 + [1.0]
    assert lane_layout.as_bytes(busy)[0].tolist() == [255] * 4 + [0] * 4 + [255] * 4 + [0] * 4


def test_a_little_is_not_nothing() -> None:
    assert lane_layout.as_bytes(np.array([[0.0, 1e-5, 0.5, 1.0]])).tolist() == [[0, 1, 128, 255]]


slices = st.lists(st.tuples(st.integers(0, 9000), st.integers(0, 3000)), max_size=40)


@given(slices, st.sampled_from([16, 64, 1024, 4096]))
def test_columns_are_unions(drawn: list[tuple[int, int]], columns: int) -> None:
    ts, dur = np.array(sorted(drawn), np.int64).reshape(-1, 2).T
    end = int((ts + dur).max(initial=1))
    busy = lane_layout.busy_columns(ts, dur, end, lane_layout.COLUMNS)
    whole = union(ts, ts + dur)
    assert int(busy.sum()) == whole.total_ns
    edges = lane_layout.edges(end, columns)
    exact = length_within(whole, edges[:-1], edges[1:]) / np.maximum(np.diff(edges), 1)
    assert np.allclose(lane_layout.share(busy[None, :], end, columns)[0], exact)


def test_thousands_of_tracks_keep_less(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [lane_layout.columns_kept(tracks) for tracks in (0, 1, 1024, 1025, 1 << 23)] == [
        4096, 4096, 4096, 2048, 1,
    ]  # fmt: skip
    monkeypatch.setattr(lane_layout, "MOST_CELLS", 16)
    layout = timeline_of(draw("op |aa  aaaa|")).layouts["split"]
    assert layout.busy.shape == (1, 16)
    assert lane_layout.share(layout.busy, 8000, 32)[0].sum() == 32 * 6 / 8


def test_many_slices_come_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    ts = np.array([0, 5, 6, 20, 21, 40])
    dur = np.array([10, 100, 1, 1, 0, 3])
    expected = lane_layout.busy_columns(ts, dur, 105, 64)
    monkeypatch.setattr(lane_layout, "_CHUNK", 2)
    assert np.array_equal(lane_layout.busy_columns(ts, dur, 105, 64), expected)


@given(st.integers(0, 1 << 62), st.sampled_from([16, 1000, 4096]))
def test_columns_tile_the_trace(end: int, columns: int) -> None:
    edges = lane_layout.edges(end, columns)
    assert (edges[0], edges[-1], len(edges)) == (0, end, columns + 1)
    assert (np.diff(edges) >= 0).all()


def test_a_trace_without_length() -> None:
    nothing = np.zeros(1, np.int64)
    busy = lane_layout.busy_columns(nothing, nothing, 0, 64)
    assert lane_layout.share(busy[None, :], 0, 16).tolist() == [[0.0] * 16]
