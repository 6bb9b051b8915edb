"""Timelines for tests: made on disk as ever and opened, or of bare lanes."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
from hypothesis import strategies as st

from kinetoscope.analysis.timeline.build import levels_of_detail
from kinetoscope.analysis.timeline.build.artifact import make, open_timeline
from kinetoscope.analysis.timeline.model import (
    DEFAULT_LAYOUT,
    Layout,
    NameIndex,
    SliceFlows,
    Slices,
    Tables,
    Timeline,
    Track,
)
from kinetoscope.trace.model import Trace

T = TypeVar("T")
Lane = Sequence[tuple[int, int]]
"""Slices of one lane as (ts, dur) in order of time; none overlaps another."""


@st.composite
def lanes(draw_: st.DrawFn) -> Lane:
    """One lane: gaps and durations of all sizes, instants and neighbours that touch among them."""
    size = st.one_of(st.integers(0, 3), st.integers(0, 5000), st.integers(0, 1 << 22))
    at = 0
    found = []
    for gap, dur in draw_(st.lists(st.tuples(size, size), max_size=60)):
        found.append((at + gap, dur))
        at += gap + dur
    return found


many = st.lists(lanes(), min_size=1, max_size=20)
"""Lanes of a track."""


def timeline_of(trace: Trace, layout: str = DEFAULT_LAYOUT) -> Timeline:
    """The timeline of a trace in one layout."""
    return timelines_of(trace, (layout,))[layout]


def timelines_of(trace: Trace, layouts: Sequence[str]) -> dict[str, Timeline]:
    """The timelines of a trace by layout; what they share is made once."""
    return made(trace, layouts, open_timeline)


def made(trace: Trace, layouts: Sequence[str], open_: Callable[[Path], T]) -> dict[str, T]:
    """What the folder of each layout is opened as; the folders are gone afterwards."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for variant in dict.fromkeys((DEFAULT_LAYOUT, *layouts)):
            place = Path(folder, f"timeline-{variant}")
            place.mkdir()
            make(trace, place, lambda _: None, variant)
        # What is mapped stays readable when its file is gone.
        return {layout: open_(Path(folder, f"timeline-{layout}")) for layout in layouts}


def timeline_of_lanes(lanes: Sequence[Lane], share: float = 1.0) -> Timeline:
    """A timeline of one track with these lanes; ids run lane by lane.

    ``share`` says which levels are kept: 1.0 all that say less than the slices, 0.0 none.
    """
    every = [slice_ for lane in lanes for slice_ in lane]
    ts, dur = (np.array([s[i] for s in every], np.int64) for i in (0, 1))
    first = np.concatenate([[0], np.cumsum([len(lane) for lane in lanes])]).astype(np.int64)
    order = np.arange(len(every), dtype=np.int32)
    end = int((ts + dur).max(initial=0))
    busy = np.zeros((1, 4096), np.int64)
    track = Track("t", 0, "thread", "t", "", 0, len(lanes), len(every), 0, 0, end, 0)
    layout = Layout(
        name=DEFAULT_LAYOUT,
        tracks=(track,),
        lane_first=first,
        order=order,
        lane=np.repeat(np.arange(len(lanes), dtype=np.int16), np.diff(first)),
        levels={
            one.level: one for one in levels_of_detail.levels_of(order, first, ts, dur, end, share)
        },
        busy=busy,
    )
    none, empty = np.full(len(every), -1, np.int32), np.empty(0, np.int32)
    bytes_ = np.zeros(len(every), np.uint8)
    return Timeline(
        base_ns=0,
        start_ns=0,
        end_ns=end,
        events=len(every),
        names=("slice",),
        slices=Slices(ts, dur, none + 1, bytes_, bytes_, none, dur, none, order),
        tables=Tables(0, *[len(every)] * 5),
        groups=(),
        layouts={DEFAULT_LAYOUT: layout},
        counters=(),
        flows=SliceFlows(empty, empty, empty.astype(np.uint8), empty),
        index=NameIndex(np.array([0, len(every)]), order, np.array([dur.sum()])),
        steps=(),
        warnings=(),
    )
