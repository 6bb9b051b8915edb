"""Anchors of two recordings are matched in their order, at a cost that grows with their number."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.analysis.diff import pieces
from kinetoscope.analysis.diff.pieces import Anchor, Between, MainThread, Node, matched
from tests.analysis.diff.training import side_of
from tests.drawing import draw

Nodes = Sequence[Node]
BETWEEN = Between(0, 1, 0, 1)


def anchor(name: str) -> Anchor:
    return Anchor(name, "module", 1, 0, 0, 1, ())


def nodes(names: str) -> list[Node]:
    """A node for each letter: modules, and operators for a dot."""
    return [BETWEEN if name == "." else anchor(name) for name in names]


def words(found: list[tuple[list[Node], list[Node]]]) -> list[tuple[str, str]]:
    def of(some: Nodes) -> str:
        return "".join(one.name if isinstance(one, Anchor) else "." for one in some)

    return [(of(left), of(right)) for left, right in found]


def by_looking_at_all(base: Nodes, other: Nodes) -> list[tuple[list[Node], list[Node]]]:
    """The rule as it is said: for each anchor of the base the next one of the other."""
    found: list[tuple[list[Node], list[Node]]] = []
    low = high = 0
    for at, node in enumerate(base):
        rest = range(high, len(other))
        place = next((i for i in rest if isinstance(node, Anchor) and node == other[i]), -1)
        if place >= 0:
            found += [(list(base[low:at]), list(other[high:place])), ([node], [other[place]])]
            low, high = at + 1, place + 1
    rest_of_both = [(list(base[low:]), list(other[high:]))] if found else []
    return [(left, right) for left, right in found + rest_of_both if left or right]


def test_what_both_have_is_matched_in_its_order() -> None:
    found = matched(nodes(".a.b.c."), nodes("a..xb.b"))
    assert words(found) == [(".", ""), ("a", "a"), (".", "..x"), ("b", "b"), (".c.", ".b")]
    assert matched(nodes("a.b"), nodes("c.")) == []


@given(st.text("abc.", max_size=12), st.text("abc.", max_size=12))
def test_the_match_is_the_next_one(base: str, other: str) -> None:
    assert matched(nodes(base), nodes(other)) == by_looking_at_all(nodes(base), nodes(other))


def test_anchors_without_a_match_are_not_held_against_all_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []

    def plain_anchor(name: str) -> str:
        asked.append(name)
        return name

    monkeypatch.setattr(pieces, "plain_anchor", plain_anchor)
    count = 300
    assert matched([anchor(f"a{at}") for at in range(count)], nodes("b" * count)) == []
    assert len(asked) == 2 * count


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 12)), max_size=12))
def test_a_segment_belongs_to_the_innermost_anchor(spans: list[tuple[int, int]]) -> None:
    # Nested spans of a thread, each cut at the end of the one around it; bounds as they come.
    bounds, anchors = 1, list[list[int]]()
    open_: list[tuple[int, int]] = []

    def close(before: float) -> None:
        nonlocal bounds
        while open_ and open_[-1][0] <= before:
            anchors[open_.pop()[1]][3] = bounds
            bounds += 1

    for start, length in sorted(spans):
        close(start)
        end = min([start + length, *(end for end, _ in open_[-1:])])
        anchors.append([0, open_[-1][1] if open_ else -1, bounds, 0])
        bounds += 1
        open_.append((end, len(anchors) - 1))
    close(float("inf"))
    expected = [-1] * bounds
    for at, (_, _, first, last) in enumerate(anchors):  # outer ones come first
        expected[first:last] = [at] * (last - first)
    assert pieces._owners(bounds, [(a, b, c, d) for a, b, c, d in anchors]) == expected


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        (anchor("a"), anchor("a"), True),
        (anchor("a"), anchor("b"), False),
        (anchor("a"), Anchor("a", "optimizer", 1, 0, 0, 1, ()), False),
        (anchor("a"), BETWEEN, False),
        (BETWEEN, BETWEEN, False),
    ],
)
def test_anchors_are_the_same_by_kind_and_name(left: Node, right: Node, same: bool) -> None:
    assert pieces._is_same(left, right) is same


TRAINING = """
    step  |1111111111111111111|
    note  | ll     zz       ss|
    op    |   aa bb         cc|
    call  |   k             q |
    op2   |          vvv www  |
    op2   |           x       |
    call2 |           r  t    |
    gpu   |    kk     rrr tt q|
    """
PHASES = {
    "l": "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
    "z": "Optimizer.zero_grad#SGD.zero_grad",
    "s": "Optimizer.step#SGD.step",
    "v": "autograd::engine::evaluate_function: MulBackward0",
    "w": "AddBackward0",
    "x": "MulBackward0",
}


def drawn_pieces(picture: str) -> list[tuple[str, int, int]]:
    side = MainThread(side_of(draw(picture, names=PHASES)))
    return [
        (one.name, one.base.host_ns // 1000, one.base.device_ns // 1000)
        for one in pieces.pieces(side.groups, side.groups)
    ]


def test_work_between_anchors_is_forward_or_backward() -> None:
    # Backward runs on another thread; x is inside of v and counts once.
    assert drawn_pieces(TRAINING) == [
        ("DataLoader", 2, 0),
        ("forward", 4, 2),
        ("SGD.zero_grad", 2, 0),
        ("backward", 6, 5),
        ("optimizer (SGD)", 2, 1),
    ]


def test_without_a_backward_pass_nothing_is_forward() -> None:
    alone = TRAINING.replace("vvv www", "       ").replace("    x  ", "       ")
    found = [name for name, *_ in drawn_pieces(alone.replace(" r  t ", "      "))]
    assert found == ["DataLoader", "after DataLoader", "SGD.zero_grad", "optimizer (SGD)"]


def test_both_in_one_piece_are_both_named() -> None:
    one = """
        step |11111111111|
        note | ll      ss|
        op   |   aa vv cc|
        """
    assert [name for name, *_ in drawn_pieces(one)][1] == "forward and backward"
