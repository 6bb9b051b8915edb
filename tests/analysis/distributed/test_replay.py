"""The replay's own parts: times of a graph, medians of the others, gloo's tree."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.analysis.distributed.comparison import compare
from kinetoscope.analysis.distributed.lateness.max_plus import DeadlockError, leveled
from kinetoscope.analysis.distributed.lateness.peers import others_median
from kinetoscope.analysis.distributed.lateness.replay import _tree_needs
from kinetoscope.analysis.distributed.lateness.what_if import Edit, what_if
from kinetoscope.analysis.distributed.model import Edges, Junction, Junctions, WorkPart

from .drawn import US, call, rank


def test_each_point_comes_when_all_before_it_have() -> None:
    """
    0 ──5──► 1 ──1──► 3
    0 ──2──► 2 ──9──► 3
    """
    source, target = np.array([0, 0, 1, 2]), np.array([1, 2, 3, 3])
    graph = leveled(4, source, target)
    assert graph.times(np.zeros(4, np.int64), np.array([5, 2, 1, 9])).tolist() == [0, 5, 2, 11]
    assert graph.times(np.zeros(4, np.int64), np.array([5, 2, 9, 9])).tolist() == [0, 5, 2, 14]


def test_points_that_wait_for_one_another_are_told() -> None:
    with pytest.raises(DeadlockError) as error:
        leveled(3, np.array([0, 1, 2]), np.array([1, 2, 1]))
    assert error.value.points.tolist() == [1, 2]


edges = st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11), st.integers(0, 50)), max_size=40)


@given(edges)
def test_times_are_those_of_the_definition(drawn: list[tuple[int, int, int]]) -> None:
    ways = [(min(a, b), max(a, b), w) for a, b, w in drawn if a != b]
    source, target, weight = (np.array([way[at] for way in ways], np.int64) for at in range(3))
    found = leveled(12, source, target).times(np.zeros(12, np.int64), weight)
    expected = [0] * 12
    for point in range(12):
        reach = [expected[a] + w for a, b, w in ways if b == point]
        expected[point] = max([0, *reach])
    assert found.tolist() == expected


cells = st.one_of(st.none(), st.integers(-50, 50))


@given(st.lists(st.lists(cells, min_size=5, max_size=5), min_size=1, max_size=4))
def test_the_median_of_the_others_is_without_the_cell_itself(rows: list[list[int | None]]) -> None:
    values = np.array([[np.nan if one is None else one for one in row] for row in rows], float)
    found = others_median(values)
    for at, row in enumerate(rows):
        for column in range(5):
            others = [one for c, one in enumerate(row) if c != column and one is not None]
            expected = np.median(others) if others else np.nan
            np.testing.assert_equal(found[at, column], expected)


def test_of_a_broadcast_of_gloo_a_rank_needs_its_way_to_the_root_and_its_children() -> None:
    """The tree of eight ranks with root 0: 0 → 1, 2, 4; 1 → 3, 5; 2 → 6; 3 → 7."""
    ranks = list(range(8))
    assert _tree_needs(ranks, 0, 0) == [0, 1, 2, 4]
    assert _tree_needs(ranks, 0, 3) == [0, 1, 3, 7]
    assert _tree_needs(ranks, 0, 6) == [0, 2, 6]
    assert _tree_needs([4, 5, 6], 2, 2) == [6, 4, 5]


def test_without_its_excess_a_rank_is_late_on_no_way_to_a_collective() -> None:
    """Rank 2 comes at 410 µs, all others at 110. With 300 off the longest way the short one binds.

    start ──200──► issue ──200──► ready ──10──► arrival
      └──────────────395───────────►┘
    """
    ranks = [
        rank(r, [call("all_reduce", 410 if r == 2 else 110, 450)], world=4, host="a")
        for r in range(4)
    ]
    kinds = [Junction.STEP_START, Junction.ISSUE, Junction.READY, Junction.ARRIVAL,
             Junction.RELEASE, Junction.STEP_END]  # fmt: skip
    ways = [(0, 1, 200), (1, 2, 200), (0, 2, 395), (2, 3, 10), (4, 5, 550)]
    source, target, weight = (np.array([way[at] for way in ways]) for at in range(3))
    parts = np.zeros((len(ways), len(WorkPart)), np.int64)
    parts[:, WorkPart.HOST] = weight * US
    none = np.zeros(len(ways), np.int32)
    ranks[2] = msgspec.structs.replace(
        ranks[2],
        junctions=Junctions(
            kind=np.array(kinds, np.int8),
            step=np.zeros(6, np.int32),
            call=np.array([-1, 0, 0, 0, 0, -1], np.int32),
            time_ns=np.array([0, 200, 400, 410, 450, 1000]) * US,
        ),
        edges=Edges(source.astype(np.int32), target.astype(np.int32), weight * US, parts, none,
                    none, weight * US),
    )  # fmt: skip
    run = compare(ranks, [str(r) for r in range(4)])
    assert what_if(run, Edit("ranks", (2,))).gain_ns == 300 * US


@pytest.mark.parametrize(("others", "gain"), [([100, 130, 90, 120, 80], -1), ([130] * 5, 30 * US)])
def test_no_gain_is_claimed_of_a_rank_that_is_late_by_chance(others: list[int], gain: int) -> None:
    """A rank arrives 30 µs after the last of the others, which differ by 50 or arrive together."""
    arrivals = [*others, 160]
    ranks = [
        rank(r, [call("all_reduce", at, 450)], world=6, host="a") for r, at in enumerate(arrivals)
    ]
    run = compare(ranks, [str(r) for r in range(6)])
    assert what_if(run, Edit("ranks", (5,))).gain_ns == gain
