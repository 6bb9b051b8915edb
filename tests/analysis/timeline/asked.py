"""Timelines to be asked: opened as the view opens them, drawn or of random events."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

from kinetoscope.analysis.timeline.model import DEFAULT_LAYOUT
from kinetoscope.analysis.timeline.timeline import Opened, opened
from kinetoscope.trace.model import Trace
from tests.analysis.timeline.made import made
from tests.drawing import draw, trace_of

US = 1000
"""Random events begin and end at whole µs, so a tick of one µs is one instant to every question."""


def ask(trace: Trace, layout: str = DEFAULT_LAYOUT) -> Opened:
    """The timeline of a trace, opened in a layout."""
    return made(trace, (layout,), opened)[layout]


def drawn(picture: str, layout: str = DEFAULT_LAYOUT, **options: Any) -> Opened:
    """The timeline of a drawn trace."""
    return ask(draw(picture, **options), layout)


def find(of: Opened, name: str, turn: int = 0) -> int:
    """The slice of a name, or the ``turn``-th of several."""
    names = of.timeline.names
    hits = [i for i, code in enumerate(of.timeline.slices.name.tolist()) if names[code] == name]
    return hits[turn]


def track(of: Opened, kind: str, turn: int = 0) -> int:
    """The number of a track."""
    return [n for n, one in enumerate(of.layout.tracks) if one.kind == kind][turn]


# --- random traces --------------------------------------------------------------------------------

FRAMES = ("train.py(1): step", "torch/nn/modules/module.py(9): _call_impl", "<built-in len>")


@st.composite
def traces(draw_: st.DrawFn) -> Trace:
    """Ops, calls and Python frames of up to two threads, kernels of two devices; any overlaps."""
    events = []
    time = st.integers(0, 40)
    for tid in (1, 2):
        for start, length, name in draw_(
            st.lists(st.tuples(time, st.integers(0, 20), st.integers(0, 5)), max_size=14)
        ):
            events.append(_host(tid, start, length, name))
    for number, (start, length, device, stream) in enumerate(
        draw_(
            st.lists(
                st.tuples(time, st.integers(0, 9), st.integers(0, 1), st.sampled_from((7, 9))),
                max_size=8,
            )
        )
    ):
        events += _kernel(number, start, length, device, stream)
    return trace_of(events)


def _host(tid: int, start: int, length: int, name: int) -> dict[str, Any]:
    frame = name < len(FRAMES)
    text = FRAMES[name] if frame else f"aten::{'abc'[name - len(FRAMES)]}"
    category = "python_function" if frame else "cpu_op"
    return _event(category, text, start, length, {"pid": 100, "tid": tid}, {})


def _kernel(
    number: int, start: int, length: int, device: int, stream: int
) -> Iterable[dict[str, Any]]:
    name = ("gemm", "ncclKernel_AllReduce", "relu")[number % 3]
    correlation = {"correlation": number + 1}
    launched = {"device": device, "stream": stream, **correlation}
    host, place = {"pid": 100, "tid": 1}, {"pid": device, "tid": stream}
    yield _event("cuda_runtime", "cudaLaunchKernel", max(start - 2, 0), 1, host, correlation)
    yield _event("kernel", name, start, length, place, launched)


def _event(
    category: str, name: str, start: int, length: int, place: dict[str, int], args: dict[str, int]
) -> dict[str, Any]:
    return {"ph": "X", "cat": category, "name": name, "ts": start, "dur": length, **place} | {
        "args": args
    }


spans = st.tuples(st.integers(-2, 62), st.integers(1, 30)).map(
    lambda pair: (pair[0] * US, (pair[0] + pair[1]) * US)
)
"""[start, end) of an area."""


# --- what everything is checked against -----------------------------------------------------------


@dataclass(frozen=True)
class Plain:
    """A slice as plain numbers, and the track that it is on (−1: hidden)."""

    id: int
    ts: int
    dur: int
    name: str
    track: int
    parent: int
    thread: int  # of the host; −1

    @property
    def end(self) -> int:
        """When it ends."""
        return self.ts + self.dur

    def touches(self, start: int, end: int) -> bool:
        """The rule: it starts inside, or it started before and goes on."""
        return start <= self.ts < end or (self.ts < start < self.end)

    def inside(self, start: int, end: int) -> int:
        """How much of it lies inside."""
        return max(min(self.end, end) - max(self.ts, start), 0)


def plain(of: Opened, trace: Trace) -> list[Plain]:
    """All slices."""
    slices, tracks = of.timeline.slices, of.layout.tracks
    lanes = of.layout.lane.tolist()
    track_of = [n for n, one in enumerate(tracks) for _ in range(one.lanes)]
    threads = [*trace.host.thread.tolist(), *([-1] * (len(slices) - len(trace.host)))]
    return [
        Plain(
            id=one,
            ts=int(slices.ts[one]),
            dur=int(slices.dur[one]),
            name=of.timeline.names[slices.name[one]],
            track=track_of[lanes[one]] if lanes[one] >= 0 else -1,
            parent=int(slices.parent[one]),
            thread=threads[one],
        )
        for one in range(len(slices))
    ]


def self_times(every: list[Plain], start: int, end: int) -> dict[int, int]:
    """Tick by tick: whose is each µs? On a thread it is the latest started slice that is open."""
    spent = {one.id: one.inside(start, end) if one.thread < 0 else 0 for one in every}
    threads: dict[int, list[Plain]] = {}
    for one in every:
        if one.thread >= 0:
            threads.setdefault(one.thread, []).append(one)
    for members in threads.values():
        for tick in range(start, end, US):
            open_ = [one for one in members if one.ts <= tick < one.end]
            if open_:
                spent[open_[-1].id] += US  # rows of a thread are in order of their start
    return spent


def nearest_rank(values: list[int], hundredths: int) -> int:
    """The least of the values that so many of a hundred do not exceed."""
    ordered = sorted(values)
    return next(
        value
        for place, value in enumerate(ordered, start=1)
        if place * 100 >= hundredths * len(ordered)
    )


def ids(values: np.ndarray[Any, Any]) -> list[int]:
    """Slice ids as plain numbers."""
    return [int(value) for value in values]
