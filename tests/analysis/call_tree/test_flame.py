"""The tree of a flame graph: merged, pruned, turned around, and written as text."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kinetoscope.analysis.call_tree.flame import (
    MOST_BOXES,
    REST,
    FlameTree,
    folded,
    inverted,
    merged,
    pruned,
    sandwich,
)

#   main 10 ── a 6 ── c 4      own: main 1, a 2, c 4, b 2, c 1
#           └─ b 3 ── c 1
STRINGS = ("main", "a", "b", "c")


def tree_of(rows: list[tuple[int, int, int]]) -> FlameTree:
    """A tree of (parent, name, own value)."""
    parent, name, own = (np.array([row[at] for row in rows], np.int32) for at in range(3))
    zero, one = np.zeros(len(rows), np.int32), np.ones(len(rows), np.int64)
    return FlameTree(parent, name, zero, own.astype(np.int64), one, STRINGS, (), ("op",))


EXAMPLE = tree_of([(-1, 0, 1), (0, 2, 2), (0, 1, 2), (1, 3, 1), (2, 3, 4)])

trees = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 3), st.integers(1, 9))).map(
    lambda rows: tree_of([(min(up, at) - 1, name, own) for at, (up, name, own) in enumerate(rows)])
)


def test_the_largest_comes_first() -> None:
    seen = pruned(EXAMPLE, 0)
    assert [(box.name, box.parent, box.value) for box in seen] == [
        ("main", -1, 10),
        ("a", 0, 6),
        ("c", 1, 4),
        ("b", 0, 3),
        ("c", 3, 1),
    ]


def test_what_is_too_narrow_is_one_box_with_all_that_lies_inside_it() -> None:
    seen = pruned(EXAMPLE, 0.35)
    assert [(box.name, box.value, box.count, box.boxes) for box in seen] == [
        ("main", 10, 1, 1),
        ("a", 6, 1, 1),
        ("c", 4, 1, 1),
        (REST, 3, 2, 2),  # b and its c
    ]


def test_of_equal_boxes_the_first_ones_stay() -> None:
    """However many there are, an answer is bounded."""
    wide = tree_of([(-1, 0, 1), *[(0, 1, 1)] * (MOST_BOXES + 10)])
    seen = pruned(wide, 0)
    assert len(seen) == MOST_BOXES + 1
    assert (seen[-1].name, seen[-1].value, seen[-1].boxes) == (REST, 11, 11)


def test_of_a_box_in_focus_only_what_is_around_and_below_it() -> None:
    seen = pruned(EXAMPLE, 0, focus=2)
    assert [(box.name, box.parent, box.value) for box in seen] == [
        ("main", -1, 10),
        ("a", 0, 6),
        ("c", 1, 4),
    ]


def test_what_is_too_narrow_is_so_in_the_focus() -> None:
    names = [box.name for box in pruned(EXAMPLE, 0.3, focus=1)]
    assert names == ["main", "b", "c"]  # c is a tenth of main, and a third of b


def test_there_is_no_such_box() -> None:
    with pytest.raises(IndexError):
        pruned(EXAMPLE, 0, focus=5)


@given(trees, st.sampled_from([0.0, 0.05, 0.3]))
def test_parts_sum_to_the_whole(tree: FlameTree, min_ratio: float) -> None:
    """Values on every level; own values, calls and boxes over all that is shown."""
    boxes = pruned(tree, min_ratio)
    assert sum(box.value for box in boxes if box.parent < 0) == tree.total
    for at, box in enumerate(boxes):
        below = [one.value for one in boxes if one.parent == at]
        assert box.value == box.self_value + sum(below) or box.name == REST
    sums = [(box.self_value, box.count, box.boxes) for box in boxes]
    assert [sum(column) for column in zip(*sums, strict=True)] in (
        [tree.total, int(tree.count.sum()), len(tree)],
        [],
    )


@given(trees, st.integers(0, 20))
def test_in_focus_the_parts_sum_to_the_box(tree: FlameTree, focus: int) -> None:
    if focus >= len(tree):
        return
    boxes = pruned(tree, 0.3, focus)
    at = next(at for at, box in enumerate(boxes) if box.node == focus)
    assert [box.boxes for box in boxes[: at + 1]] == [1] * (at + 1)
    assert sum(box.self_value for box in boxes[at:]) == tree.value[focus]
    assert sum(box.count for box in boxes[at:]) == tree.calls[focus]


@given(trees, st.randoms(use_true_random=False))
def test_merging_loses_no_value(tree: FlameTree, dice: Random) -> None:
    """What is left out goes to the box around it; what has none is in no box."""
    kept = np.array([dice.random() < 0.5 for _ in range(len(tree))], np.bool_)
    found, box = merged(tree, kept)
    assert found.total + tree.own[box < 0].sum() == tree.total
    assert found.count.sum() == kept.sum()
    siblings = list(zip(found.parent.tolist(), found.name.tolist(), strict=True))
    assert len(set(siblings)) == len(siblings)
    for row in np.flatnonzero(kept).tolist():
        assert found.text(int(box[row])) == tree.text(row)


def test_folded_stacks_hold_every_own_value() -> None:
    assert list(folded(replace(EXAMPLE, names=("main", "a;b", "x\ny", "")))) == [
        "main 1\n",
        "main;x y 2\n",
        "main;a,b 2\n",
        "main;x y;(no name) 1\n",
        "main;a,b;(no name) 4\n",
    ]


def test_who_calls_and_who_is_called() -> None:
    found = sandwich(EXAMPLE, "c")
    assert found is not None
    assert (found.value, found.own, found.count) == (5, 5, 2)
    up = pruned(found.callers, 0)
    assert [(box.name, box.parent, box.value) for box in up] == [
        ("c", -1, 5),
        ("a", 0, 4),
        ("main", 1, 4),
        ("b", 0, 1),
        ("main", 3, 1),
    ]
    assert sandwich(EXAMPLE, "d") is None


@given(trees, st.sampled_from(STRINGS))
def test_both_sides_hold_the_same_time(tree: FlameTree, name: str) -> None:
    found = sandwich(tree, name)
    has = tree.name == STRINGS.index(name)
    if found is None:
        assert not has.any()
        return
    for side in (found.callers, found.callees):
        assert side.value[side.parent < 0].sum() == found.value
        assert side.total == found.value
    assert (found.own, found.count) == (tree.own[has].sum(), has.sum())


def test_upside_down_the_largest_self_values_are_roots_with_their_callers_inside() -> None:
    found = inverted(EXAMPLE)
    boxes = [
        (found.text(row), int(found.parent[row]), int(found.value[row]))
        for row in range(len(found))
    ]
    # c weighs 4 below a and 1 below b; each way up ends in main.
    roots = {name: value for name, parent, value in boxes if parent < 0}
    assert roots == {"main": 1, "a": 2, "b": 2, "c": 5}
    c = next(at for at, (name, parent, _) in enumerate(boxes) if name == "c" and parent < 0)
    assert {(name, value) for name, parent, value in boxes if parent == c} == {("a", 4), ("b", 1)}
    assert len(inverted(tree_of([]))) == 0


@given(trees)
def test_upside_down_nothing_is_lost(tree: FlameTree) -> None:
    assert inverted(tree).total == tree.total
