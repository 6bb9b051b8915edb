"""A flame graph as it is shown, turned around, and written out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.analysis.call_tree.flame import OTHERS, FlameTree, folded, shown
from kinetoscope.analysis.call_tree.sandwich import sandwich

#   main 10 ── a 6 ── c 4      own: main 1, a 2, c 4, b 2, c 1
#           └─ b 3 ── c 1
STRINGS = ("main", "a", "b", "c")


def tree_of(rows: list[tuple[int, int, int]]) -> FlameTree:
    """A tree of (parent, name, own value)."""
    parent = np.array([row[0] for row in rows], np.int32)
    own = np.array([row[2] for row in rows], np.int64)
    value = own.copy()
    for row in range(len(rows) - 1, -1, -1):
        if parent[row] >= 0:
            value[parent[row]] += value[row]
    name = np.array([row[1] for row in rows], np.int64)
    ones = np.ones(len(rows), np.int64)
    return FlameTree(parent, name, np.zeros(len(rows), np.int8), value, own, ones)


EXAMPLE = tree_of([(-1, 0, 1), (0, 2, 2), (0, 1, 2), (1, 3, 1), (2, 3, 4)])

trees = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 3), st.integers(1, 9))).map(
    lambda rows: tree_of([(min(up, at) - 1, name, own) for at, (up, name, own) in enumerate(rows)])
)


def test_the_largest_comes_first() -> None:
    seen = shown(EXAMPLE, STRINGS)
    assert [(box.name, box.parent, box.value) for box in seen.boxes] == [
        ("main", -1, 10),
        ("a", 0, 6),
        ("b", 0, 3),
        ("c", 2, 1),
        ("c", 1, 4),
    ]
    assert (seen.total, seen.merged) == (10, 0)


def test_what_is_too_narrow_is_merged() -> None:
    seen = shown(EXAMPLE, STRINGS, min_ratio=0.35)
    assert [(box.name, box.value) for box in seen.boxes] == [
        ("main", 10),
        ("a", 6),
        (OTHERS, 3),
        ("c", 4),
    ]


def test_of_a_box_in_focus_only_what_is_around_and_below_it() -> None:
    seen = shown(EXAMPLE, STRINGS, focus=2)
    assert [(box.name, box.parent, box.value) for box in seen.boxes] == [
        ("main", -1, 10),
        ("a", 0, 6),
        ("c", 1, 4),
    ]
    assert (seen.total, seen.merged) == (10, 0)


def test_what_is_too_narrow_is_so_in_the_focus() -> None:
    names = [box.name for box in shown(EXAMPLE, STRINGS, focus=1, min_ratio=0.3).boxes]
    assert names == ["main", "b", "c"]  # c is a tenth of main, and a third of b


def test_there_is_no_such_box() -> None:
    with pytest.raises(IndexError):
        shown(EXAMPLE, STRINGS, focus=5)


@given(trees, st.sampled_from([0.0, 0.05, 0.3]))
def test_every_level_adds_up(tree: FlameTree, min_ratio: float) -> None:
    boxes = shown(tree, STRINGS, min_ratio=min_ratio).boxes
    assert sum(box.value for box in boxes if box.parent < 0) == tree.self_value.sum()
    for at, box in enumerate(boxes):
        below = [one.value for one in boxes if one.parent == at]
        assert box.value == box.self_value + sum(below) or box.name == OTHERS


def test_folded_stacks_hold_every_own_value() -> None:
    assert list(folded(EXAMPLE, ("main", "a;b", "x\ny", ""))) == [
        "main 1\n",
        "main;x y 2\n",
        "main;a,b 2\n",
        "main;x y;(no name) 1\n",
        "main;a,b;(no name) 4\n",
    ]


def test_who_calls_and_who_is_called() -> None:
    found = sandwich(EXAMPLE, 3)
    assert found is not None
    assert (found.value, found.self_value, found.calls) == (5, 5, 2)
    up = shown(found.callers, STRINGS)
    assert [(box.name, box.parent, box.value) for box in up.boxes] == [
        ("c", -1, 5),
        ("a", 0, 4),
        ("b", 0, 1),
        ("main", 2, 1),
        ("main", 1, 4),
    ]
    assert sandwich(EXAMPLE, 7) is None


@given(trees, st.integers(0, 3))
def test_both_sides_hold_the_same_time(tree: FlameTree, name: int) -> None:
    found = sandwich(tree, name)
    if found is None:
        assert name not in tree.name
        return
    for side in (found.callers, found.callees):
        assert side.value[side.parent < 0].sum() == found.value
        assert side.self_value.sum() == found.value
    assert found.self_value == tree.self_value[tree.name == name].sum()
