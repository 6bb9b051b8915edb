"""Search results: matching names, the number and place of their slices, and the next one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ...base.arrays import I32, I64
from .build.names import columns_of
from .locate import bisect
from .model import ByTrack
from .range.sums import lanes_in
from .timeline import Opened

_MANY = 1 << 20  # hits from which on tables that are kept are faster than the hits themselves
_FIRST_LOOK = 1024  # slices of a lane


class Hits(Struct, frozen=True, eq=False):
    """Sums of the slices of some names; ``codes``, ``count``, … by name."""

    codes: NDArray[np.intp]
    count: I64
    total: I64
    first: I32  # slice id of the first one
    density: I64  # by column of the minimap
    tracks: dict[int, int]


def hits_of(
    opened: Opened, codes: NDArray[np.intp], columns: int, tracks: Sequence[int] | None
) -> Hits:
    """Sums of the slices of these names, on these tracks (None: all), as the layout shows them."""
    timeline = opened.timeline
    index = timeline.index
    wanted = int((index.first[codes + 1] - index.first[codes]).sum())
    if wanted > _MANY and tracks is None and not opened.hides:
        table, by_column = opened.by_track, opened.by_column(columns)
        if table is not None and by_column is not None:
            return Hits(
                codes=codes,
                count=np.diff(index.first)[codes],
                total=index.sum_ns[codes],
                first=index.slices[index.first[codes]],
                density=by_column[codes].sum(axis=0, dtype=np.int64),
                tracks=_some(table.counts[codes].sum(axis=0, dtype=np.int64)),
            )
    return _hits_one_by_one(opened, codes, columns, tracks)


def _hits_one_by_one(
    opened: Opened, codes: NDArray[np.intp], columns: int, tracks: Sequence[int] | None
) -> Hits:
    timeline = opened.timeline
    ids, code = slices_of(opened, codes, tracks)
    first = np.flatnonzero(np.diff(code, prepend=-1))
    track = opened.track_of_lane[opened.layout.lane[ids]]
    dur = timeline.slices.dur[ids]
    column = columns_of(timeline.slices.ts[ids], timeline.end_ns, columns)
    return Hits(
        codes=code[first].astype(np.intp),
        count=np.diff(np.append(first, len(code))),
        total=np.add.reduceat(dur, first) if len(first) else dur,
        first=ids[first],
        density=np.bincount(column, minlength=columns).astype(np.int64),
        tracks=_some(np.bincount(track)),
    )


def _some(counts: I64) -> dict[int, int]:
    """The values that are not 0, by their place."""
    return {place: count for place, count in enumerate(counts.tolist()) if count}


def slices_of(
    opened: Opened, codes: NDArray[np.intp], tracks: Sequence[int] | None
) -> tuple[I32, I32]:
    """All slices of these names on these tracks, and the code of each; by name and time."""
    index = opened.timeline.index
    runs = list(zip(index.first[codes].tolist(), index.first[codes + 1].tolist(), strict=True))
    ids = np.concatenate([np.empty(0, np.int32), *(index.slices[low:high] for low, high in runs)])
    code = np.repeat(codes, [high - low for low, high in runs]).astype(np.int32)
    if tracks is None and not opened.hides:
        return ids, code
    keep = is_on(opened, ids, tracks)
    return ids[keep], code[keep]


def is_on(opened: Opened, ids: I32, tracks: Sequence[int] | None) -> NDArray[np.bool_]:
    """True for slices that the layout shows on these tracks."""
    allowed = np.zeros(len(opened.layout.tracks) + 1, np.bool_)
    allowed[list(range(len(allowed) - 1)) if tracks is None else list(tracks)] = True
    return allowed[opened.track_of_lane][opened.layout.lane[ids]]


class Neighbour(Struct, frozen=True):
    """A slice, its number among all hits (1-based, in order of time; 0: unknown), their count."""

    slice: int
    position: int
    count: int


def next_hit(
    opened: Opened,
    codes: NDArray[np.intp],
    tracks: Sequence[int] | None,
    at: tuple[int, int],
    *,
    forward: bool,
) -> Neighbour | None:
    """The first hit after (or the last one before) a place ``(ts, slice)`` in order of time.

    ``slice`` −1 stands before all slices that start then.
    """
    index = opened.timeline.index
    low, high = index.first[codes], index.first[codes + 1]
    if tracks is None and not opened.hides:
        return _next(opened, index.slices, low, high, at, forward=forward)
    table = opened.by_track if int((high - low).sum()) > _MANY else None
    if table is not None:
        return _next_on_lanes(opened, codes, tracks, at, table, forward=forward)
    ids, code = slices_of(opened, codes, tracks)
    wanted = codes.astype(np.int32)
    low, high = (np.searchsorted(code, wanted, side=side) for side in ("left", "right"))
    return _next(opened, ids, low.astype(np.int64), high.astype(np.int64), at, forward=forward)


def _next(
    opened: Opened, ids: I32, low: I64, high: I64, at: tuple[int, int], *, forward: bool
) -> Neighbour | None:
    """The next hit among runs [low, high) of ids, each in order of time."""
    ts = opened.timeline.slices.ts
    edge = bisect(low, high, _before(ids, ts, at, forward=forward))
    found = edge if forward else edge - 1
    some = np.flatnonzero((found < high) if forward else (found >= low))
    if not len(some):
        return None
    candidates = ids[found[some]]
    order = np.lexsort((candidates, ts[candidates]))
    best = int(candidates[order[0] if forward else order[-1]])
    before = int((edge - low).sum())
    return Neighbour(best, before + 1 if forward else before, int((high - low).sum()))


def _before(
    ids: I32, ts: I64, at: tuple[int, int], *, forward: bool
) -> Callable[[I64, I64], NDArray[np.bool_]]:
    """True if a slice comes before a place, or is at it when searching forward."""
    instant, limit = at[0], at[1] + 1 if forward else at[1]

    def is_before(place: I64, _: I64) -> NDArray[np.bool_]:
        there = ids[place]
        start = ts[there]
        return np.asarray((start < instant) | ((start == instant) & (there < limit)))

    return is_before


def _next_on_lanes(
    opened: Opened,
    codes: NDArray[np.intp],
    tracks: Sequence[int] | None,
    at: tuple[int, int],
    table: ByTrack,
    *,
    forward: bool,
) -> Neighbour | None:
    """The next hit among very many: lane by lane, until no nearer one is possible."""
    slices, layout = opened.timeline.slices, opened.layout
    named = np.zeros(len(opened.timeline.names), np.bool_)
    named[codes] = True
    best: tuple[int, int] | None = None
    for lane in lanes_in(opened, tracks).tolist():
        span = layout.lane_first[lane : lane + 2].astype(np.int64)
        is_before = _before(layout.order, slices.ts, at, forward=forward)
        place = int(bisect(span[:1], span[1:], is_before)[0])
        size = _FIRST_LOOK
        while (place < span[1]) if forward else (place > span[0]):
            end = min(place + size, int(span[1])) if forward else max(place - size, int(span[0]))
            ids = layout.order[min(place, end) : max(place, end)]
            hits = ids[named[slices.name[ids]]]
            if len(hits):
                one = int(hits[0] if forward else hits[-1])
                mine = (int(slices.ts[one]), one)
                best = mine if best is None or (mine < best) == forward else best
                break
            last = int(slices.ts[ids[-1] if forward else ids[0]])
            if best is not None and ((last > best[0]) if forward else (last < best[0])):
                break
            place, size = end, size * 4
    if best is None:
        return None
    chosen = range(table.counts.shape[1]) if tracks is None else list(tracks)
    return Neighbour(best[1], 0, int(table.counts[codes][:, chosen].sum()))
