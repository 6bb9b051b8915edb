"""The slices that touch a range of time on some tracks, and exact sums of them by name.

Slices at the edges of the range are cut: only the part inside counts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from ....base.arrays import I32, I64
from ....base.group_sums import group_ranks, group_sums
from ..locate import between
from ..model import Slices
from ..timeline import Opened


class Area(Struct, frozen=True):
    """The range [start, end) on ``tracks``; None: on all of them."""

    start: int
    end: int
    tracks: tuple[int, ...] | None = None

    @property
    def length(self) -> int:
        """Of the range."""
        return self.end - self.start

    def covers(self, opened: Opened) -> bool:
        """True if every slice lies inside."""
        timeline = opened.timeline
        if self.tracks is not None or opened.hides or self.start > timeline.start_ns:
            return False
        return self.end >= timeline.end_ns and self.end > opened.last_start


def lanes_in(opened: Opened, tracks: Sequence[int] | None) -> I64:
    """The lanes of the tracks."""
    if tracks is None:
        return np.arange(len(opened.layout.lane_first) - 1)
    chosen = [opened.layout.tracks[track] for track in tracks]
    return np.concatenate(
        [np.arange(one.lane, one.lane + one.lanes) for one in chosen] or [np.empty(0, np.int64)]
    )


def slices_in(opened: Opened, area: Area) -> I32:
    """Ids of the slices that touch the area, by lane and start."""
    return np.concatenate([np.empty(0, np.int32), *runs_in(opened, area)])


def runs_in(opened: Opened, area: Area) -> list[I32]:
    """Ids of the slices that touch the area, by lane and start: a run of each lane.

    What ends where the area begins does not touch it; an instant does where it is inside.
    """
    layout = opened.layout
    lanes = lanes_in(opened, area.tracks)
    low, high = between(opened.timeline.slices, layout, lanes, area.start, area.end)
    some = np.flatnonzero(high > low)
    # Whole runs: for millions of slices that is faster than a list of their places.
    runs = zip(low[some].tolist(), high[some].tolist(), strict=True)
    return [layout.order[first:last] for first, last in runs]


class Inside(Struct, frozen=True, eq=False):
    """The part of each slice that lies inside a range."""

    ts: I64
    dur: I64
    clipped: I64  # places in these arrays of the slices cut at an edge


def inside(slices: Slices, ids: I32, start: int, end: int) -> Inside:
    """The slices cut at the edges of [start, end)."""
    ts, dur = slices.ts[ids], slices.dur[ids]
    before = np.flatnonzero(ts < start)
    dur[before] -= start - ts[before]
    ts[before] = start
    behind = np.flatnonzero(ts + dur > end)
    dur[behind] = end - ts[behind]
    return Inside(ts, dur, np.union1d(before, behind))


def self_inside(opened: Opened, ids: I32, cut: Inside, start: int, end: int) -> I64:
    """Self time of the slices within [start, end), exact for slices that are cut, too."""
    slices = opened.timeline.slices
    result = slices.self_ns[ids]
    if not len(cut.clipped):
        return result
    at = cut.clipped
    on_host = ids[at] < opened.timeline.tables.device
    result[at[~on_host]] = cut.dur[at[~on_host]]
    at = at[on_host]
    if len(at):
        until_end, until_start = spent_by(opened, end), spent_by(opened, start)
        own = slices.self_ns[ids[at]].tolist()
        result[at] = [
            until_end.get(one, mine) - until_start.get(one, 0)
            for one, mine in zip(ids[at].tolist(), own, strict=True)
        ]
    return result


def spent_by(opened: Opened, instant: int) -> dict[int, int]:
    """Self time before an instant, by id, of the host slices that are open then."""
    found: dict[int, int] = {}
    for thread in range(len(opened.threads.first) - 1):
        here = opened.crossing(thread, instant)
        found.update(zip(here.rows.tolist(), here.spent.tolist(), strict=True))
    return found


class NameSums(Struct, frozen=True, eq=False):
    """One entry per name that occurs, by total, largest first. Durations are those inside."""

    name: I64  # code
    count: I64
    total: I64
    self_ns: I64
    least: I64
    median: I64
    p95: I64
    most: I64
    longest: I32  # slice id
    slices: int
    clipped: int


def sums_in(opened: Opened, area: Area) -> NameSums:
    """Sums of the slices that touch an area, by name."""
    touched = _everything(opened) if area.covers(opened) else _touched(opened, area)
    names = len(opened.timeline.names)
    own = group_sums(touched.code, touched.self_ns, names)
    whole = group_sums(touched.code, touched.dur, names)
    ranks = group_ranks(touched.code, touched.dur, whole.count)
    found = np.flatnonzero(whole.count)
    order = found[np.argsort(-whole.total[found], kind="stable")]
    longest = ranks.longest[order]
    return NameSums(
        name=order,
        count=whole.count[order],
        total=whole.total[order],
        self_ns=own.total[order],
        least=ranks.least[order],
        median=ranks.median[order],
        p95=ranks.p95[order],
        most=ranks.most[order],
        longest=(longest if touched.ids is None else touched.ids[longest]).astype(np.int32),
        slices=len(touched.code),
        clipped=touched.clipped,
    )


class _Touched(Struct, frozen=True, eq=False):
    """The part of each slice inside the area; ``ids`` None: all slices."""

    ids: I32 | None
    code: I32
    dur: I64
    self_ns: I64
    clipped: int


def _everything(opened: Opened) -> _Touched:
    slices = opened.timeline.slices
    return _Touched(None, slices.name, slices.dur, slices.self_ns, 0)


def _touched(opened: Opened, area: Area) -> _Touched:
    slices = opened.timeline.slices
    ids = slices_in(opened, area)
    cut = inside(slices, ids, area.start, area.end)
    own = self_inside(opened, ids, cut, area.start, area.end)
    return _Touched(ids, slices.name[ids], cut.dur, own, len(cut.clipped))
