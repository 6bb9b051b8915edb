"""Searches in many lanes at once, against looking at every slice."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.analysis.timeline import locate
from tests.analysis.timeline.made import Lane, many, timeline_of, timeline_of_lanes
from tests.drawing import draw


def test_where_drawn_slices_are() -> None:
    timeline = timeline_of(
        draw(
            """
            op   |aaaa bb |
            op   | c      |
            gpu  |   kk   |
            """
        )
    )
    layout, slices = timeline.layouts["split"], timeline.slices
    ids = np.arange(4)
    names = [timeline.names[code] for code in slices.name]
    assert names == ["aten::a", "aten::c", "aten::b", "kernel_k"]
    assert locate.lanes_of(layout, ids).tolist() == [0, 1, 0, 2]
    assert locate.tracks_of(layout, ids).tolist() == [0, 0, 0, 1]
    assert locate.positions_of(slices, layout, ids).tolist() == [0, 2, 1, 3]
    low, high = locate.between(slices, layout, np.arange(3), 3500, 5000)
    assert list(zip(low.tolist(), high.tolist(), strict=True)) == [(0, 1), (3, 3), (3, 4)]


def test_hidden_slices_are_nowhere() -> None:
    name = "torch/nn/modules/module.py(1773): _call_impl"
    timeline = timeline_of(draw("frame |ffff|", names={"f": name}), "filtered")
    layout = timeline.layouts["filtered"]
    ids = np.array([0])
    assert locate.lanes_of(layout, ids).tolist() == [-1]
    assert locate.tracks_of(layout, ids).tolist() == [-1]
    assert locate.positions_of(timeline.slices, layout, ids).tolist() == [-1]


@given(many)
def test_every_slice_is_found_where_it_is(lanes: Sequence[Lane]) -> None:
    timeline = timeline_of_lanes(lanes)
    layout = timeline.layouts["split"]
    found = locate.positions_of(timeline.slices, layout, layout.order)
    assert found.tolist() == list(range(len(layout.order)))


@given(many, st.data())
def test_what_touches_a_range(lanes: Sequence[Lane], data: st.DataObject) -> None:
    timeline = timeline_of_lanes(lanes)
    layout = timeline.layouts["split"]
    edges = {edge for lane in lanes for ts, dur in lane for edge in (ts, ts + dur)}
    instant = st.one_of(st.sampled_from(sorted(edges | {0})), st.integers(-5, 1 << 23))
    start, end = sorted([data.draw(instant), data.draw(instant)])
    low, high = locate.between(timeline.slices, layout, np.arange(len(lanes)), start, end)
    first = 0
    for lane, (begin, stop) in zip(lanes, zip(low, high, strict=True), strict=True):
        inside = [
            number
            for number, (ts, dur) in enumerate(lane, start=first)
            if (start <= ts < end) or (ts < start < ts + dur)
        ]
        assert list(range(begin, stop)) == inside
        first += len(lane)


def test_ranges_behind_one_another() -> None:
    at, which = locate.ranges(np.array([3, 7, 9]), np.array([5, 7, 10]))
    assert (at.tolist(), which.tolist()) == ([3, 4, 9], [0, 0, 2])
