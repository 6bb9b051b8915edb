"""Replayed graphs: folded by what their nodes do, or stream by stream."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from kinetoscope.analysis.recording import graph_streams
from kinetoscope.analysis.summarize import summarize
from kinetoscope.analysis.timeline.build.lanes import (
    Lanes,
    share_lanes,
    share_lanes_in_python,
)
from kinetoscope.analysis.timeline.model import FOLD_ABOVE, VARIANTS, Timeline
from kinetoscope.analysis.timeline.timeline import layout_for
from kinetoscope.trace.model import Trace
from tests.analysis.timeline.build.test_layouts import picture
from tests.analysis.timeline.checks import check_layout
from tests.analysis.timeline.made import timeline_of
from tests.conftest import requires_native
from tests.drawing import PID, draw, trace_of


def node(number: int, graph: int = 3) -> dict[str, int]:
    return {"graph id": graph, "graph node id": number}


# Two replays of one graph on four streams, and e, which no graph launched.
REPLAYS = """
    op         |ooooooooooooooooooooooooooo|
    call       |g             g            |
    gpu.7      | aaaa         aaaa  e      |
    gpu.29     |  bbbb       bbbbbb        |
    gpu.35     |   rr           rr         |
    copy.35    |      hh          hh       |
    copy.41    |      dd          dd       |
    set.41     | mm           mm           |
    gpunote.29 | nnnnn                     |
    gpunote.7  | kkkk                      |
    """
NAMES = {
    "r": "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
    "h": "Memcpy HtoD (Pinned -> Device)",
    "d": "Memcpy DtoD (Device -> Device)",
}
ARGS = {letter: node(number) for number, letter in enumerate("abrhdm", 1)}


def replays() -> Trace:
    return draw(REPLAYS, names=NAMES, args=ARGS)


def test_nodes_come_together_by_what_they_do_and_keep_their_row() -> None:
    timeline = timeline_of(replays(), "split-folded")
    rows = picture(timeline, "split-folded")
    del rows["Main thread · ops"]
    assert rows == {
        "Graphs · annotations": ["note n"],
        # In the second replay b begins first, and is below a all the same.
        "Graphs · compute": ["kernel_a kernel_a", "kernel_b kernel_b"],
        "Graphs · all_reduce": [f"{NAMES['r']} {NAMES['r']}"],
        "Graphs · copies DtoD": [f"{NAMES['d']} {NAMES['d']}"],
        "Graphs · copies HtoD": [f"{NAMES['h']} {NAMES['h']}"],
        "Graphs · memsets": ["Memset (Device) Memset (Device)"],
        # Stream 7 has work of its own, and so keeps its annotations.
        "Stream 7 · annotations": ["note k"],
        "Stream 7 · compute": ["kernel_e"],
    }
    of_track = {one.label: one for one in timeline.layouts["split-folded"].tracks}
    compute = of_track["Graphs · compute"]
    assert (compute.kind, compute.detail) == ("graph", "2\u00a0streams")
    assert compute.overlaps == 0
    assert "from 2\u00a0streams" in compute.note
    assert of_track["Graphs · all_reduce"].detail == "stream 35"


def test_as_recorded_each_stream_has_its_track() -> None:
    trace = replays()
    rows = picture(timeline_of(trace, "split-recorded"), "split-recorded")
    assert [label for label in rows if label.startswith(("Stream", "Graphs"))] == [
        "Stream 7 · annotations",
        "Stream 7 · compute",
        "Stream 29 · annotations",
        "Stream 29 · compute",
        "Stream 35 · communication",
        "Stream 41 · copies",
    ]
    # Four streams can be read as they are: without a word for it, nothing is folded.
    assert picture(timeline_of(trace)) == rows


def on_streams(count: int) -> Trace:
    return trace_of([work(stream, stream, 2, number=1) for stream in range(1, count + 1)])


def work(stream: int, ts: float, dur: float, *, number: int, device: int = 0) -> dict[str, Any]:
    return {
        "ph": "X",
        "cat": "kernel",
        "name": ("gemm", "ncclDevKernel_AllGather", "relu")[number % 3],
        "pid": device,
        "tid": stream,
        "ts": ts,
        "dur": dur,
        "args": {"device": device, "stream": stream, **(node(number) if number else {})},
    }


def test_more_than_eight_streams_of_a_device_fold_by_themselves() -> None:
    few, many = on_streams(FOLD_ABOVE), on_streams(FOLD_ABOVE + 1)
    assert (graph_streams(few), graph_streams(many)) == (8, 9)
    kinds = [
        {track.kind for track in timeline_of(one).layouts["split"].tracks} for one in (few, many)
    ]
    assert kinds == [{"stream"}, {"graph"}]


@pytest.mark.parametrize(
    ("trace", "stored"),
    [
        # Without Python frames to hide, "user" is "split"; what happens anyway need not be said.
        (on_streams(2), {"user": "split", "user-recorded": "split", "user-folded": "split-folded"}),
        (on_streams(9), {"user-folded": "split", "merged-recorded": "merged-recorded"}),
        (trace_of([work(7, 1, 2, number=0)]), {"split-folded": "split", "merged": "merged"}),
    ],
)
def test_what_is_drawn_alike_is_stored_once(trace: Trace, stored: dict[str, str]) -> None:
    facts = summarize(trace)
    assert {layout: layout_for(facts, layout) for layout in stored} == stored
    assert set(stored.values()) <= set(VARIANTS)


MOVED = """
    gpu.7      |aa  bb |
    gpu.100000 | cc dd |
    gpu.24     |  e    |
    """


def test_lanes_say_which_streams_their_work_ran_on() -> None:
    told: dict[str, dict[str, Any]] = {
        "c": {"original_stream": 29},
        "d": {"original_stream": 35},
        # As an annotation of a graph writes it: a text.
        "e": {"annotated_stream": "20"},
        "a": {"original_stream": 7},
    }
    timeline = timeline_of(draw(MOVED, args=told))
    tracks = timeline.layouts["split"].tracks
    assert [(track.label, track.detail, track.note[:22]) for track in tracks] == [
        ("Stream 7 · compute", "stream 7", ""),
        (
            "Stream 24 (captured 20) · compute",
            "stream 24 · captured as stream 20",
            "A replay may run on an",
        ),
        (
            "Stream 100000 (29, 35) · compute",
            "streams 29, 35 · lane 100000",
            "The recording assigns ",
        ),
    ]


# --- in general -----------------------------------------------------------------------------------


@st.composite
def graphs(draw_: st.DrawFn) -> list[dict[str, Any]]:
    """Nodes and other work on a few streams of two devices; much coincides, some has no length."""
    times = st.integers(0, 20)
    lengths = st.sampled_from([0, 1, 2, 3, 7, 20, 0.001])
    one = st.tuples(st.integers(1, 12), times, lengths, st.integers(0, 5), st.integers(0, 1))
    return [
        work(stream, ts, dur, number=number, device=device)
        for stream, ts, dur, number, device in draw_(st.lists(one, max_size=40))
    ]


def open_at_once(ts: np.ndarray[Any, Any], dur: np.ndarray[Any, Any]) -> int:
    """The most slices that are open when one begins, itself included."""
    rows: list[tuple[int, int]] = sorted(
        zip(ts.tolist(), dur.tolist(), strict=True), key=lambda row: (row[0], -row[1])
    )
    return max(
        1 + sum(start + length > one for start, length in rows[:place])
        for place, (one, _) in enumerate(rows)
    )


# The first is over when the third begins, which is inside the second: two rows, not three.
@example([work(1, 0, 4, number=2), work(2, 1, 9, number=5), work(3, 5, 3, number=8)])
@given(graphs())
def test_every_event_is_in_one_folded_row_and_in_one_raw_lane(events: list[dict[str, Any]]) -> None:
    trace = trace_of(events)
    sums = []
    for layout in ("split-folded", "split-recorded"):
        timeline = timeline_of(trace, layout)
        check_layout(timeline, layout, count=len(events))
        sums.append(by_group(timeline, layout))
        for track in timeline.layouts[layout].tracks:
            if track.kind != "graph":
                continue
            first, last = timeline.layouts[layout].lane_first[
                [track.lane, track.lane + track.lanes]
            ]
            ids = timeline.layouts[layout].order[first:last]
            slices = timeline.slices
            assert track.lanes == open_at_once(slices.ts[ids], slices.dur[ids]), (
                "as few as possible"
            )
    assert sums[0] == sums[1]


def by_group(timeline: Timeline, layout: str) -> dict[str, tuple[int, int]]:
    """Slices and summed durations of each device."""
    made, found = timeline.layouts[layout], defaultdict[str, list[int]](list)
    for track in made.tracks:
        first, last = made.lane_first[[track.lane, track.lane + track.lanes]]
        found[timeline.groups[track.group].key] += timeline.slices.dur[
            made.order[first:last]
        ].tolist()
    return {group: (len(dur), sum(dur)) for group, dur in found.items()}


in_both = pytest.mark.parametrize(
    "share", [pytest.param(share_lanes, marks=requires_native), share_lanes_in_python]
)


@in_both
@given(
    rows=st.lists(
        st.tuples(st.integers(-9, 12), st.integers(0, 9), st.integers(-1, 5)), max_size=40
    )
)
def test_a_row_takes_the_lane_of_its_node_or_else_the_first_free_one(
    share: Any, rows: list[tuple[int, int, int]]
) -> None:
    rows = sorted(rows, key=lambda row: (row[0], -row[1]))
    ts, dur, of = np.array(rows, np.int64).reshape(-1, 3).T
    result: Lanes = share(ts, dur, of.astype(np.int32))
    lane = result.lane.tolist()
    home: dict[int, int] = {}
    for row, (start, _, node_) in enumerate(rows):
        busy = {lane[j] for j in range(row) if rows[j][0] + rows[j][1] > start}
        first_free = min(set(range(len(rows) + 1)) - busy)
        own = home.get(node_, first_free)
        assert lane[row] == (first_free if own in busy else own)
        if node_ >= 0:
            home.setdefault(node_, lane[row])
    assert not result.displaced.any()
    assert result.counts.tolist() == ([open_at_once(ts, dur)] if rows else [])


@in_both
def test_more_open_nodes_than_lanes_share_the_last(share: Any) -> None:
    ts = np.arange(65_600)
    result = share(ts, np.full(len(ts), 10**6), np.full(len(ts), -1, np.int32))
    assert (result.lane == np.minimum(ts, 65_535)).all()


def test_nothing_is_folded_where_nothing_is() -> None:
    host = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": PID, "tid": 1, "ts": 1, "dur": 2}
    trace = trace_of([host])
    assert graph_streams(trace) == 0
    assert picture(timeline_of(trace, "split-folded"), "split-folded") == picture(
        timeline_of(trace)
    )
