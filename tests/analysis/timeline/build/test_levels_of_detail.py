"""Levels of detail: a drawn one, exact sums, and one result with and without the native library."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.analysis.timeline.build import levels_of_detail
from kinetoscope.analysis.timeline.build import slices as name_index
from kinetoscope.analysis.timeline.model import Level
from tests.analysis.timeline.made import Lane, many
from tests.conftest import requires_native


@contextmanager
def pure() -> Iterator[None]:
    """Without the native library."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (levels_of_detail, name_index):
            patch.setattr(module, "call", lambda *_: None)
        yield


def levels(lanes: Sequence[Lane], share: float = 1.0) -> dict[int, Level]:
    every = [one for lane in lanes for one in lane]
    ts, dur = (np.array([one[i] for one in every], np.int64) for i in (0, 1))
    first = np.concatenate([[0], np.cumsum([len(lane) for lane in lanes])]).astype(np.int64)
    order = np.arange(len(every), dtype=np.int32)
    end = int((ts + dur).max(initial=0))
    return {one.level: one for one in levels_of_detail.levels_of(order, first, ts, dur, end, share)}


def test_a_drawn_lane() -> None:
    """
    ns       0         8         16
    slices   a bb cccc ·    d eeeeeeee
    level 1  a          at 0, the instant at 9 and d at 14; what lasts 2 is a rect
    level 2  0: a bb, 8: the instant, 12: d; cccc is a rect, and e
    level 3  0: a bb cccc, 8: the instant and d; e is a rect
    """
    lane = [(0, 1), (2, 2), (5, 4), (9, 0), (14, 1), (16, 8)]
    found = levels([lane])
    assert {
        number: (
            list(zip(one.bucket.tolist(), one.count.tolist(), one.sum_ns.tolist(), strict=True)),
            one.longest.tolist(),
            one.rect.tolist(),
        )
        for number, one in found.items()
    } == {
        0: ([(9, 1, 0)], [3], [0, 1, 2, 4, 5]),
        1: ([(0, 1, 1), (4, 1, 0), (7, 1, 1)], [0, 3, 4], [1, 2, 5]),
        2: ([(0, 2, 3), (2, 1, 0), (3, 1, 1)], [1, 3, 4], [2, 5]),
        3: ([(0, 3, 7), (1, 2, 1)], [2, 4], [5]),
        4: ([(0, 5, 8), (1, 1, 8)], [2, 5], []),
        5: ([(0, 6, 16)], [5], []),
    }


def test_only_levels_that_save_something_are_kept() -> None:
    sparse = [(1000 * i, 1) for i in range(64)]
    dense = [(i, 1) for i in range(640)]
    assert min(levels([sparse], share=0.2)) == 13  # 8192 ns hold eight of them
    assert min(levels([dense], share=0.2)) == 3
    assert levels([], share=1.0) == levels([[]], share=1.0) == {}


@given(many)
def test_every_level_counts_everything_once(lanes: Sequence[Lane]) -> None:
    every = [one for lane in lanes for one in lane]
    for number, one in levels(lanes).items():
        rects = [dur for _, dur in every if dur >= 1 << number]
        assert int(one.count.sum()) + len(rects) == len(every)
        assert int(one.sum_ns.sum(dtype=np.int64)) + sum(rects) == sum(dur for _, dur in every)
        assert len(one.rect) == len(rects)
        for lane in range(len(lanes)):
            of_lane = one.bucket[one.bucket_first[lane] : one.bucket_first[lane + 1]]
            assert (np.diff(of_lane.astype(np.int64)) > 0).all()


@requires_native
@given(many, st.sampled_from([0.2, 0.5, 1.0]))
def test_native_and_reference_agree(lanes: Sequence[Lane], share: float) -> None:
    fast = levels(lanes, share)
    with pure():
        slow = levels(lanes, share)
    assert fast.keys() == slow.keys()
    for number, one in fast.items():
        for name in Level.__struct_fields__:
            ours, theirs = (getattr(x, name) for x in (one, slow[number]))
            assert np.array_equal(ours, theirs), (number, name)


names = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 9), st.integers(0, 1 << 40)))


@given(names)
def test_slices_of_each_name_in_order_of_time(slices: list[tuple[int, int, int]]) -> None:
    name, ts, dur = np.array(slices, np.int64).reshape(-1, 3).T
    arguments = name.astype(np.int32), np.ascontiguousarray(ts), np.ascontiguousarray(dur), 5
    fast = name_index.index_names(*arguments)
    with pure():
        slow = name_index.index_names(*arguments)
    for one in (fast, slow):
        for code in range(5):
            rows = one.slices[one.first[code] : one.first[code + 1]].tolist()
            mine = [row for row in range(len(slices)) if name[row] == code]
            assert rows == sorted(mine, key=lambda row: (ts[row], row))
            assert one.sum_ns[code] == sum(int(dur[row]) for row in mine)
