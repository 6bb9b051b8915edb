"""What lies in a range of time: sums by name, exact, with the slices at its edges cut."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .group_sums import group_ranks, group_sums
from .model import I32, I64
from .opened import Opened
from .select import Area, inside, self_inside, slices_in


@dataclass(frozen=True, slots=True, eq=False)
class NameSums:
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


@dataclass(frozen=True, slots=True, eq=False)
class _Touched:
    """What of slices lies inside; ``ids`` None: these are all slices."""

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
