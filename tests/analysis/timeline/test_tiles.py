"""Tiles say exactly what the slices say, at every level, whichever levels are kept."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kinetoscope.analysis.timeline.model import Block, Layout, Timeline
from kinetoscope.analysis.timeline.tiles import cut, cut_blocks
from tests.analysis.timeline.made import Lane, many, timeline_of, timeline_of_lanes
from tests.drawing import draw

TILE = 512


shares = st.sampled_from([0.0, 0.25, 0.5, 1.0])


def keeping(timeline: Timeline, kept: Collection[int]) -> Layout:
    """The layout with these of its levels."""
    layout = timeline.layouts["split"]
    levels = {number: level for number, level in layout.levels.items() if number in kept}
    return replace(layout, levels=levels)


def rects(block: Block, lane: int = 0) -> list[int]:
    part = slice(block.rect_first[lane], block.rect_first[lane + 1])
    return list(block.rect[part].tolist())


def buckets(block: Block, lane: int = 0) -> list[tuple[int, int, int]]:
    """(bucket, count, longest)"""
    part = slice(block.bucket_first[lane], block.bucket_first[lane + 1])
    columns = (block.bucket[part], block.count[part], block.longest[part])
    return [tuple(row) for row in np.stack(columns, axis=1).tolist()]


def of_lane(
    block: Block, lane: Lane, first_id: int
) -> tuple[list[int], list[tuple[int, int, int]]]:
    """What a lane's rects and buckets are by definition."""
    width = 1 << block.level
    start, end = block.tile * TILE * width, (block.tile + 1) * TILE * width
    found: list[int] = []
    small: dict[int, list[tuple[int, int]]] = {}
    for number, (ts, dur) in enumerate(lane, start=first_id):
        if dur >= width:
            if ts < end and ts + dur > start:
                found.append(number)
        elif start <= ts < end:
            small.setdefault(ts // width - block.tile * TILE, []).append((dur, -number))
    return found, [(at, len(of), -max(of)[1]) for at, of in sorted(small.items())]


# --- by hand --------------------------------------------------------------------------------------


def test_a_drawn_tile() -> None:
    """At 1.024 µs a bucket the slices of a microsecond are small, those of two are rects."""
    trace = draw(
        """
        op   |abb ccccc  d|
        """
    )
    timeline = timeline_of(trace)
    block = cut(timeline, timeline.layouts["split"], 10, 0, 0, 0)
    names = [timeline.names[code] for code in timeline.slices.name[rects(block)]]
    assert names == ["aten::b", "aten::c"]
    assert block.x0.tolist() == [1000 / 1024, 4000 / 1024]
    assert block.x1.tolist() == [3000 / 1024, 9000 / 1024]
    assert block.bucket.tolist() == [0, 10]  # 0 ns, 11,000 ns
    assert block.count.tolist() == [1, 1]
    assert block.busy.tolist() == [249 + 1, 250]  # 1000 / 1024 of 255, rounded up
    assert (block.slice_count, block.sum_ns) == (4, 9000)


def test_a_slice_that_began_before_the_tile_counts_there_alone() -> None:
    timeline = timeline_of_lanes([[(0, 600), (1000, 30)]])
    layout = timeline.layouts["split"]
    left, right = (cut(timeline, layout, 0, tile, 0, 0) for tile in (0, 1))
    assert (rects(left), left.x0.tolist(), left.x1.tolist()) == ([0], [0.0], [512.0])
    assert (rects(right), right.x0.tolist(), right.x1.tolist()) == ([0, 1], [0, 488], [88, 512])
    assert (left.slice_count, right.slice_count) == (1, 1)


@pytest.mark.parametrize("kept", [[], [0], [1], [2], [0, 1, 2]])
def test_a_small_slice_is_in_the_bucket_of_its_start_however_far_it_reaches(
    kept: list[int],
) -> None:
    """The tile of 512 buckets of 4 ns ends at 2048; the slice lasts from 2047 to 2050."""
    timeline = timeline_of_lanes([[(2047, 3)]])
    layout = keeping(timeline, kept)
    left, right = (cut(timeline, layout, 2, tile, 0, 0) for tile in (0, 1))
    assert (buckets(left), buckets(right)) == ([(511, 1, 0)], [])
    assert (len(left.rect), len(right.rect), right.slice_count) == (0, 0, 0)


def test_a_bucket_knows_how_much_of_it_is_busy() -> None:
    timeline = timeline_of_lanes(
        [[(0, 1), (1, 0), (512, 256), (768, 256), (1024, 512), (1600, 900)]]
    )
    block = cut(timeline, timeline.layouts["split"], 10, 0, 0, 0)
    assert block.count.tolist() == [4, 2]
    assert block.busy.tolist() == [np.ceil(255 * 513 / 1024), 255]  # what is longer counts as full
    assert block.longest.tolist() == [2, 5]


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_levels_and_tiles_beyond_everything(share: float) -> None:
    timeline = timeline_of_lanes([[(5, 1), (7, 2)]], share)
    layout = timeline.layouts["split"]
    whole = cut(timeline, layout, 54, 0, 0, 0)
    assert (whole.count.tolist(), whole.sum_ns, whole.busy.tolist()) == ([2], 3, [1])
    for level, tile in ((54, 1), (0, 1 << 60), (54, 1 << 62), (3, 7)):
        empty = cut(timeline, layout, level, tile, 0, 0)
        assert (len(empty.rect), len(empty.count), empty.slice_count) == (0, 0, 0)


def test_lanes_come_in_blocks_of_sixteen() -> None:
    timeline = timeline_of_lanes([[(lane, 10)] for lane in range(20)])
    layout = timeline.layouts["split"]
    first, second = cut_blocks(timeline, layout, 0, 0, [(0, 0), (0, 16)])
    assert (len(first.rect_first), len(second.rect_first)) == (17, 5)
    assert (first.rect.tolist(), second.rect.tolist()) == ([*range(16)], [*range(16, 20)])
    for track, lane in ((1, 0), (-1, 0), (0, 20), (0, -1)):
        with pytest.raises(IndexError):
            cut(timeline, layout, 0, 0, track, lane)
    assert cut_blocks(timeline, layout, 0, 0, []) == []


# --- in general -----------------------------------------------------------------------------------


@given(many, st.sets(st.integers(0, 26)), st.data())
def test_a_tile_is_what_its_slices_are(
    made: Sequence[Lane], kept: set[int], data: st.DataObject
) -> None:
    timeline = timeline_of_lanes(made)
    level = data.draw(st.integers(0, 26))
    # A tile in which a slice begins or ends.
    edges = {edge >> (level + 9) for lane in made for ts, dur in lane for edge in (ts, ts + dur)}
    tile = data.draw(st.sampled_from(sorted(edges | {0})))
    lane = 16 * data.draw(st.integers(0, (len(made) - 1) // 16))
    block = cut(timeline, keeping(timeline, kept), level, tile, 0, lane)
    shown = made[lane : lane + 16]
    assert len(block.rect_first) == len(block.bucket_first) == len(shown) + 1
    first_id = sum(map(len, made[:lane]))
    for number, one in enumerate(shown):
        assert (rects(block, number), buckets(block, number)) == of_lane(block, one, first_id)
        first_id += len(one)
    check_bounds(block, timeline)
    check_sums(block, shown)


def check_sums(block: Block, shown: Sequence[Lane]) -> None:
    """Slices that start in the tile, counted and summed to the nanosecond; busy rounded up."""
    start, end = (tile * TILE << block.level for tile in (block.tile, block.tile + 1))
    starts = [dur for lane in shown for ts, dur in lane if start <= ts < end]
    assert (block.slice_count, block.sum_ns) == (len(starts), sum(starts))
    width = 1 << block.level
    sums: dict[tuple[int, int], int] = {}
    for number, lane in enumerate(shown):
        for ts, dur in lane:
            if start <= ts < end and dur < width:
                key = number, ts // width
                sums[key] = sums.get(key, 0) + dur
    expected = [min(-(-255 * sums[key] // width), 255) for key in sorted(sums)]
    assert block.busy.tolist() == expected


def check_bounds(block: Block, timeline: Timeline) -> None:
    """At most 512 buckets and 514 rects in a lane; rects in order, apart, clipped to the tile."""
    assert (block.x0 >= 0).all()
    assert (block.x1 <= TILE).all()
    assert (block.x0 <= block.x1).all()
    for lane in range(len(block.rect_first) - 1):
        part = slice(block.rect_first[lane], block.rect_first[lane + 1])
        assert (block.x0[part][1:] >= block.x1[part][:-1]).all()
        assert len(block.x0[part]) <= TILE + 2
        of_lane_ = block.bucket[block.bucket_first[lane] : block.bucket_first[lane + 1]]
        assert (np.diff(of_lane_.astype(int)) > 0).all()
    exact = (timeline.slices.ts[block.rect] / (1 << block.level)) - block.tile * TILE
    assert np.allclose(block.x0, np.clip(exact, 0, TILE), atol=1e-4)


@given(many, shares, st.integers(0, 26))
def test_all_tiles_of_a_level_sum_to_all_slices(
    made: Sequence[Lane], share: float, level: int
) -> None:
    timeline = timeline_of_lanes(made, share)
    layout = timeline.layouts["split"]
    tiles = range(min((timeline.end_ns >> (level + 9)) + 1, 40))
    blocks = [
        cut(timeline, layout, level, tile, 0, lane)
        for tile in tiles
        for lane in range(0, len(made), 16)
    ]
    until = len(tiles) * TILE << level
    inside = [dur for lane in made for ts, dur in lane if ts < until]
    assert sum(block.slice_count for block in blocks) == len(inside)
    assert sum(block.sum_ns for block in blocks) == sum(inside)


@given(many, st.integers(0, 25), st.data())
def test_two_tiles_are_one_of_the_next_level(
    made: Sequence[Lane], level: int, data: st.DataObject
) -> None:
    timeline = timeline_of_lanes(made)
    layout = timeline.layouts["split"]
    tile = data.draw(st.integers(0, (timeline.end_ns >> (level + 10)) + 1))
    above = cut(timeline, layout, level + 1, tile, 0, 0)
    below = [cut(timeline, layout, level, 2 * tile + half, 0, 0) for half in (0, 1)]
    assert above.slice_count == sum(block.slice_count for block in below)
    assert above.sum_ns == sum(block.sum_ns for block in below)
    assert above.count.sum() >= sum(int(block.count.sum()) for block in below)
