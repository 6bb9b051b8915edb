"""An opened timeline in one layout, and values computed from it once and kept.

Everything kept follows from the timeline alone, so two threads that compute it at the same time get
equal results; one of them is dropped.

``crossing`` finds the slices of a thread that are open at an instant, and their self time until
then. Rows of a thread are in order of their start, and the self time of a slice are the instants at
which it is the latest started one still open. At an instant t let P₁, P₂ … be the open ones. Slices
that started between Pₖ and Pₖ₊₁ have ended by t, and none of them was the latest once Pₖ₊₁ had
started. So until t

    spent(Pₖ) = start(Pₖ₊₁) − start(Pₖ) − Σ self of the slices that started in between

and for the last one with t in place of the start of the next.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

import numpy as np
from msgspec import Struct

from ...base.arrays import I32, I64
from ...base.artifact_spec import ArtifactSpec
from ..call_tree.paths import SlicePaths, find_paths
from ..facts import Facts
from .build.artifact import make, open_timeline
from .build.names import MOST_CELLS, SEARCH_COLUMNS, NameTexts, by_column, by_track, track_of_lanes
from .model import (
    DEFAULT_LAYOUT,
    FOLD_ABOVE,
    FOLDED,
    RECORDED,
    VARIANTS,
    ByTrack,
    Layout,
    Narrow,
    Places,
    Slices,
    Timeline,
    Track,
)

CHUNK = 4096


class Crossing(Struct, frozen=True, eq=False):
    """A thread at an instant: the open slices, by their start, and their self time so far.

    ``last`` is the first slice of the thread that does not start before the instant.
    """

    rows: I64
    spent: I64
    last: int


def latest_ends(slices: Slices, count: int) -> I64:
    """The latest end among each 4,096 of the first ``count`` slices."""
    found = [
        int((slices.ts[low : low + CHUNK] + slices.dur[low : low + CHUNK]).max())
        for low in range(0, count, CHUNK)
    ]
    return np.array(found, np.int64)


def crossing(slices: Slices, ends: I64, thread: tuple[int, int], instant: int) -> Crossing:
    """The slices [first, behind) of a thread at an instant; ``ends`` are their latest ends."""
    first, behind = thread
    last = first + int(np.searchsorted(slices.ts[first:behind], instant))
    # Only where one of so many ends later there is something to look for.
    chunks = np.flatnonzero(ends[first // CHUNK : -(-last // CHUNK)] > instant) + first // CHUNK
    found = [np.empty(0, np.int64)]
    for chunk in chunks.tolist():
        low, high = max(chunk * CHUNK, first), min((chunk + 1) * CHUNK, last)
        found.append(low + np.flatnonzero(slices.ts[low:high] + slices.dur[low:high] > instant))
    rows = np.concatenate(found)
    edges = np.append(rows, last)
    starts = np.append(slices.ts[rows], instant)
    between = [
        int(slices.self_ns[low + 1 : high].sum())
        for low, high in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
    ]
    return Crossing(rows, np.diff(starts) - np.array(between, np.int64), last)


_HOST_TRACKS = ("thread", "python")


class Opened(Struct, eq=False, dict=True):
    """A timeline in one layout."""

    timeline: Timeline
    layout: Layout
    whole: Layout  # one that hides nothing
    _by_column: I32 | None = None

    @cached_property
    def texts(self) -> NameTexts:
        """The names, ready to be searched."""
        return NameTexts(self.timeline.names)

    @cached_property
    def paths(self) -> SlicePaths:
        """The call path of every host slice: 15 ns for each, without the native library 150."""
        slices, host = self.timeline.slices, self.timeline.tables.device
        parent = np.ascontiguousarray(slices.parent[:host])
        return find_paths(parent, np.ascontiguousarray(slices.name[:host]))

    @cached_property
    def _latest_ends(self) -> I64:
        return latest_ends(self.timeline.slices, self.timeline.tables.device)

    def crossing(self, thread: int, instant: int) -> Crossing:
        """The slices of a thread that are open at an instant."""
        span = self.threads.span(thread)
        return crossing(self.timeline.slices, self._latest_ends, span, instant)

    @cached_property
    def threads(self) -> ThreadSlices:
        """The host threads, as ranges of slices."""
        return threads_of(self.timeline, self.layout, self.whole)

    @cached_property
    def hides(self) -> bool:
        """True if some slices are in no lane."""
        return len(self.layout.order) < len(self.timeline.slices)

    @cached_property
    def last_start(self) -> int:
        """The latest start of a slice."""
        return int(self.timeline.slices.ts.max(initial=0))

    @cached_property
    def track_of_lane(self) -> Places:
        """Track of each lane; a last −1 for the lane −1."""
        return track_of_lanes([track.lanes for track in self.layout.tracks])

    @cached_property
    def by_track(self) -> ByTrack | None:
        """Slices of each name on each track; None where the table would be too large to keep."""
        if self.layout.by_track is not None:
            return self.layout.by_track
        shape = (len(self.timeline.names), len(self.layout.tracks))
        if shape[0] * shape[1] > MOST_CELLS:
            return None
        slices = self.timeline.slices
        return by_track(slices.name, slices.dur, self.layout.lane, self.track_of_lane, shape)

    def by_column(self, columns: int) -> I32 | Narrow | None:
        """Slices of each name that start in each minimap column; None where it would be too large.

        Kept for one number of columns at a time.
        """
        stored = self.timeline.index.by_column
        if stored is not None and columns == SEARCH_COLUMNS:
            return stored
        shape = (len(self.timeline.names), columns)
        if shape[0] * shape[1] > MOST_CELLS:
            return None
        kept = self._by_column
        if kept is None or kept.shape[1] != columns:
            slices = self.timeline.slices
            kept = by_column(slices.name, slices.ts, self.timeline.end_ns, shape)
            self._by_column = kept
        return kept


def opened(folder: Path) -> Opened:
    """The timeline stored by ``build``.

    Raises:
        OSError: a file is missing.
        ValueError: a file is damaged.
    """
    timeline = open_timeline(folder)
    (layout,) = timeline.layouts.values()
    if layout.name == DEFAULT_LAYOUT:
        return Opened(timeline, layout, layout)
    beside = folder.with_name(folder.name.removesuffix(layout.name) + DEFAULT_LAYOUT)
    return Opened(timeline, layout, open_timeline(beside).layouts[DEFAULT_LAYOUT])


TIMELINE = ArtifactSpec(
    name="timeline",
    make=f"{make.__module__}:{make.__name__}",
    open=opened,
    variants=VARIANTS,
)
"""The timeline of a trace, a variant for each layout."""


def layout_for(facts: Facts, layout: str) -> str:
    """The layout that is stored for one.

    Where there is no frame to hide, all show the same; and where the streams of graphs are folded
    anyway, or there is none, it is of no matter that a layout says so.
    """
    frames, _, streams = layout.partition("-")
    if frames in ("filtered", "user") and not facts.counts.get("python", 0):
        frames = DEFAULT_LAYOUT
    count = facts.recording.graph_streams
    usual = FOLDED if count > FOLD_ABOVE else RECORDED
    return frames if not streams or not count or streams == usual else f"{frames}-{streams}"


class ThreadSlices(Struct, frozen=True, eq=False):
    """Host threads as runs of slice ids: thread i has [first[i], first[i + 1])."""

    first: I64
    of_track: Mapping[int, int]  # tracks of host threads → thread

    def span(self, thread: int) -> tuple[int, int]:
        """First and behind-last slice id."""
        return int(self.first[thread]), int(self.first[thread + 1])

    def of_slice(self, one: int) -> int:
        """The thread of a host slice."""
        return int(np.searchsorted(self.first, one, side="right")) - 1


def threads_of(timeline: Timeline, layout: Layout, whole: Layout) -> ThreadSlices:
    """The slices of each thread, which are consecutive and in order of their start.

    So a thread begins at the smallest id in the lanes of its tracks, where nothing is hidden.
    """
    starts: dict[str, int] = {}
    for track in whole.tracks:
        if track.kind in _HOST_TRACKS:
            at = whole.lane_first[track.lane : track.lane + track.lanes]
            smallest = int(whole.order[at].min())
            starts[_thread(track)] = min(starts.get(_thread(track), smallest), smallest)
    ordered = sorted(starts, key=lambda key: starts[key])
    place = {key: index for index, key in enumerate(ordered)}
    first = np.array([*(starts[key] for key in ordered), timeline.tables.device], np.int64)
    return ThreadSlices(
        first,
        {
            number: place[_thread(track)]
            for number, track in enumerate(layout.tracks)
            if track.kind in _HOST_TRACKS
        },
    )


def _thread(track: Track) -> str:
    """The key shared by the tracks of one thread."""
    return track.key.rpartition("/")[0]
