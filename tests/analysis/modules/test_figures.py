"""Which siblings are alike, and how equal their times are."""

from __future__ import annotations

import pytest

from kinetoscope.analysis.modules.artifact import modules_of
from kinetoscope.analysis.modules.figures import Spread, alike, children_of, shapes_of, spread_of
from tests.drawing import draw


def groups(picture: str, names: dict[str, str]) -> list[list[int]]:
    """The groups of siblings below the only root."""
    columns = modules_of(draw(picture, names=names))
    shapes = shapes_of(columns.tree, columns.strings)
    return alike(children_of(columns.tree)[0], shapes)


def test_siblings_are_alike_all_the_way_down() -> None:
    picture = """
        module |rrrrrrrrrrrrrrrrrrrr|
        module |aaaabbbbccccddddeeee|
        module | xy  xy  x   yx  xy |
        """
    block = "nn.Module: Block"
    names = {"a": f"{block}_0", "b": f"{block}_1", "c": f"{block}_2", "d": f"{block}_3"}
    names |= {"e": "nn.Module: Other_0"}
    # Another number of modules inside, another order, another class: each is a group of its own.
    rows = {"a": 1, "b": 4, "c": 7, "d": 9, "e": 12}
    assert groups(picture, names) == [
        [rows["a"], rows["b"]], [rows["c"]], [rows["d"]], [rows["e"]],
    ]  # fmt: skip


def test_names_without_a_class_are_alike_but_for_digits() -> None:
    events = [
        {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": at, "dur": 1,
         "args": {"device": 0, "stream": 7, "module_fqn": name}}
        for at, name in enumerate(("net", "net.0", "net.1", "net.head"))
    ]  # fmt: skip
    columns = modules_of(draw("", events=events))
    shapes = shapes_of(columns.tree, columns.strings)
    assert alike(children_of(columns.tree)[0], shapes) == [[1, 2], [3]]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([5], Spread(5, 5, 5, None)),
        ([5, 900], Spread(5, 452, 900, None)),  # of two, either may be the odd one
        ([10, 10, 90], Spread(10, 10, 90, 2)),
        ([100, 101, 103], Spread(100, 101, 103, None)),  # far by σ, not by 5 %
        ([10, 20, 30, 40, 50], Spread(10, 30, 50, None)),
        ([0, 0, 0], Spread(0, 0, 0, None)),
    ],
)
def test_spread(values: list[int], expected: Spread) -> None:
    assert spread_of(values) == expected
