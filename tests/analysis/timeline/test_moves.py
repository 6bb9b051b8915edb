"""From one slice to its neighbours."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from kinetoscope.analysis.timeline import relatives
from kinetoscope.analysis.timeline.relatives import arrows_around
from kinetoscope.trace.model import Trace
from tests.analysis.timeline.asked import ask, drawn, find, ids, plain, traces

PICTURE = """
    op     | aaaaaaaa  bbb  aa  |
    op     |  cc  d             |
    call   |  l                 |
    gpu    |     llll  ll       |
    """


def test_beside_above_and_below() -> None:
    of = drawn(PICTURE)
    a, b, c, d = (find(of, f"aten::{letter}") for letter in "abcd")
    after = relatives.next_in_lane(of, a, forward=True)
    assert after is not None
    assert (after.slice, after.position, after.count) == (b, 2, 3)
    assert relatives.next_in_lane(of, a, forward=False) is None
    inner = relatives.next_in_lane(of, c, forward=True)  # a lane behind another
    assert inner is not None
    assert (inner.slice, inner.position, inner.count) == (d, 2, 2)
    assert relatives.next_in_lane(of, d, forward=True) is None
    assert (relatives.parent_of(of, c), relatives.parent_of(of, a)) == (a, None)
    assert (relatives.child_of(of, a), relatives.child_of(of, a, last=True)) == (c, d)
    assert relatives.child_of(of, d) is None
    kernel = find(of, "kernel_l")
    assert relatives.child_of(of, kernel) is relatives.parent_of(of, kernel) is None


def test_of_the_same_name() -> None:
    of = drawn(PICTURE)
    first, second = find(of, "aten::a"), find(of, "aten::a", 1)
    after = relatives.next_of_name(of, first, forward=True)
    assert after is not None
    assert (after.slice, after.position, after.count) == (second, 2, 2)
    assert relatives.next_of_name(of, second, forward=True) is None
    before = relatives.next_of_name(of, second, forward=False)
    assert before is not None
    assert (before.slice, before.position) == (first, 1)


def test_along_an_arrow_and_back() -> None:
    of = drawn(PICTURE)
    call, kernel = find(of, "cudaLaunchKernel"), find(of, "kernel_l")
    there = relatives.along_arrow(of, call, forward=True)
    assert there is not None
    assert there.slice == kernel
    back = relatives.along_arrow(of, kernel, forward=False)
    assert back is not None
    assert back.slice == call
    assert relatives.along_arrow(of, call, forward=False) is None
    assert relatives.along_arrow(of, kernel, forward=True) is None


def test_the_jump_follows_the_arrow_that_is_drawn() -> None:
    """An op without an arrow of its own stands for what was launched below it."""
    of = drawn(PICTURE)
    for one in range(of.timeline.tables.end):
        rows = arrows_around(of, one, 1)
        ahead = {arrow.target for arrow in rows if arrow.target != one}
        back = {arrow.source for arrow in rows if arrow.target == one}
        for found, forward in ((ahead, True), (back, False)):
            there = relatives.along_arrow(of, one, forward=forward)
            assert (None if there is None else there.slice in found) == (True if found else None)
    op, kernel = find(of, "aten::a"), find(of, "kernel_l")
    there = relatives.along_arrow(of, op, forward=True)
    assert there is not None
    assert there.slice == kernel


def test_what_the_layout_hides_is_stepped_over() -> None:
    of = drawn(
        """
        frame  |mmmmmmmmmm|
        frame  | uuuuuuuu |
        frame  |  vvvv    |
        op     |   aa     |
        """,
        "filtered",
        names={
            "m": "train.py(1): main",
            "u": "<built-in u>",
            "v": "<built-in v>",
        },
    )
    main, op = find(of, "train.py(1): main"), find(of, "aten::a")
    assert relatives.parent_of(of, op) == main
    assert relatives.child_of(of, main) == relatives.child_of(of, main, last=True) == op
    hidden = find(of, "<built-in u>")
    assert relatives.next_in_lane(of, hidden, forward=True) is None


@settings(max_examples=60)
@given(traces(), st.sampled_from(["split", "merged", "filtered"]))
def test_neighbours_are_those_of_the_slices_one_by_one(trace: Trace, layout: str) -> None:
    of = ask(trace, layout)
    every = plain(of, trace)
    lanes = of.layout.lane.tolist()
    for one in every:
        mates = sorted(
            (other for other in every if lanes[other.id] == lanes[one.id] >= 0),
            key=lambda other: (other.ts, other.id),
        )
        for forward in (True, False):
            line = mates if forward else mates[::-1]
            place = [other.id for other in line].index(one.id) if one in line else -1
            expected = line[place + 1].id if 0 <= place < len(line) - 1 else None
            found = relatives.next_in_lane(of, one.id, forward=forward)
            assert (found.slice if found else None) == expected
        children = [other.id for other in every if other.parent == one.id]
        assert ids(relatives.children_of(of, one.id)) == children
        parent = one.parent
        while parent >= 0 and every[parent].track < 0:
            parent = every[parent].parent
        assert relatives.parent_of(of, one.id) == (parent if parent >= 0 else None)


@settings(max_examples=60)
@given(traces())
def test_children_lead_back_to_their_parent(trace: Trace) -> None:
    of = ask(trace, "filtered")
    for one in plain(of, trace):
        for last in (False, True):
            child = relatives.child_of(of, one.id, last=last)
            if one.track >= 0 and child is not None:
                assert relatives.parent_of(of, child) == one.id
