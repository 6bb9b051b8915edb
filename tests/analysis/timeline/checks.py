"""What must hold of the timeline of any trace, drawn, made up or real."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kinetoscope.analysis.timeline.build.lane_layout import of_others, plumbing
from kinetoscope.analysis.timeline.build.lanes import TOLERANCE_NS
from kinetoscope.analysis.timeline.model import LANE_BLOCK, TILE_BUCKETS, SliceFlag, Timeline, Track
from kinetoscope.analysis.timeline.tiles import cut
from kinetoscope.base.intervals import union
from tests.drawing import trace_of
from tests.trace.drawn import python


def left_out(layout: str, names: Sequence[str]) -> list[bool]:
    """Which Python frames of these names the layout "filtered" or "user" leaves out."""
    frames = [python(name, ts, 1) for ts, name in enumerate([*names, "train.py(1): main"])]
    trace = trace_of(frames)
    hidden = of_others(trace) if layout == "user" else plumbing(trace)
    assert hidden is not None
    return list(map(bool, hidden[:-1]))


def check_layout(timeline: Timeline, name: str, count: int) -> None:
    """Nothing is left out, nothing overlaps in a lane, no child is above its parent."""
    layout, slices = timeline.layouts[name], timeline.slices
    assert len(slices) == count
    hidden = np.flatnonzero(layout.lane < 0)
    assert name in ("filtered", "user") or not len(hidden)
    assert sorted([*layout.order.tolist(), *hidden.tolist()]) == list(range(count))
    codes = sorted(set(slices.name[hidden].tolist()))
    assert not codes or all(left_out(name, [timeline.names[code] for code in codes]))
    for lane in range(len(layout.lane_first) - 1):
        ids = layout.order[layout.lane_first[lane] : layout.lane_first[lane + 1]]
        assert len(ids), "no lane is empty"
        assert (layout.lane[ids] == lane).all()
        ts, dur = slices.ts[ids], slices.dur[ids]
        assert (ts[1:] >= ts[:-1] + dur[:-1]).all()
    check_parents(timeline, name)
    next_lane = 0
    for number, track in enumerate(layout.tracks):
        assert (track.lane, track.lanes > 0) == (next_lane, True)
        next_lane += track.lanes
        check_track(timeline, name, number, track)
    assert next_lane == len(layout.lane_first) - 1
    assert len({track.key for track in layout.tracks}) == len(layout.tracks)


def check_parents(timeline: Timeline, name: str) -> None:
    """In a track a slice is below each slice that was open when it began and contains it."""
    layout, slices = timeline.layouts[name], timeline.slices
    lane = layout.lane.astype(int)
    track = np.searchsorted([t.lane for t in layout.tracks], lane, side="right")
    child = np.flatnonzero((slices.parent >= 0) & (lane >= 0))
    parent = slices.parent[child]
    together = (lane[parent] >= 0) & (track[parent] == track[child])
    end = slices.ts + slices.dur
    contained = end[child] <= end[parent] + TOLERANCE_NS
    open_ = (end[parent] > slices.ts[child]) & contained & together
    assert (lane[child[open_]] > lane[parent[open_]]).all()


def check_track(timeline: Timeline, name: str, number: int, track: Track) -> None:
    layout, slices = timeline.layouts[name], timeline.slices
    first, last = layout.lane_first[[track.lane, track.lane + track.lanes]]
    ids = layout.order[first:last]
    ts, end = slices.ts[ids], slices.ts[ids] + slices.dur[ids]
    assert track.slices == len(ids)
    assert (track.first_ns, track.last_ns) == (ts.min(), end.max())
    assert track.busy_ns == union(ts, end).total_ns == int(layout.busy[number].sum())
    assert track.overlaps == int(np.count_nonzero(slices.flags[ids] & SliceFlag.OVERLAP))


def check_tile(timeline: Timeline, name: str, level: int, tile: int, number: int) -> None:
    """One tile of all lanes of a track, against its definition."""
    layout, slices = timeline.layouts[name], timeline.slices
    track = layout.tracks[number]
    width, bits = 1 << level, level + 9
    start, end = tile << bits, (tile + 1) << bits
    for lane in range(0, track.lanes, LANE_BLOCK):
        block = cut(timeline, layout, level, tile, number, lane)
        count = sum_ns = 0
        for place in range(min(LANE_BLOCK, track.lanes - lane)):
            first = track.lane + lane + place
            ids = layout.order[layout.lane_first[first] : layout.lane_first[first + 1]]
            ts, dur = slices.ts[ids], slices.dur[ids]
            is_rect = dur >= width
            rects = ids[is_rect & (ts < end) & (ts + dur > start)]
            low, high = block.rect_first[place : place + 2]
            assert np.array_equal(block.rect[low:high], rects)
            small = ~is_rect & (ts >= start) & (ts < end)
            bucket = (ts[small] >> level) - tile * TILE_BUCKETS
            found, counts = np.unique(bucket, return_counts=True)
            low, high = block.bucket_first[place : place + 2]
            assert np.array_equal(block.bucket[low:high], found)
            assert np.array_equal(block.count[low:high], counts)
            longest = slices.dur[block.longest[low:high]]
            assert longest.tolist() == [dur[small][bucket == one].max() for one in found]
            starts = (ts >= start) & (ts < end)
            count, sum_ns = count + int(starts.sum()), sum_ns + int(dur[starts].sum())
        assert (block.slice_count, block.sum_ns) == (count, sum_ns)
