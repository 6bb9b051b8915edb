"""What is stored behind idle time: a flame graph that sums to it, and paths with names."""

from __future__ import annotations

from pathlib import Path

import pytest

from kinetoscope.analysis.call_tree.flame import pruned
from kinetoscope.analysis.idle.artifact import idle_columns, make_idle
from kinetoscope.analysis.idle.model import IDLE
from kinetoscope.analysis.steps import select
from kinetoscope.analysis.summarize import summarize
from kinetoscope.trace.model import Trace
from tests.collected import FILES, opened
from tests.drawing import draw


def assert_sums(trace: Trace) -> None:
    facts = summarize(trace)
    columns = idle_columns(trace)
    for step in facts.steps:
        for device in step.devices:
            tree = columns.flame((step.index,), device.device)
            assert tree.total == device.partition.idle_ns
    assert (columns.path.end - columns.path.start).sum() == sum(
        one.end_ns - one.start_ns for one in facts.steps
    )


def test_boxes_are_call_paths_and_causes_without_a_call() -> None:
    trace = draw(
        """
        step   |1111111111222222222|
        frame  |ffffffffffffffffff |
        op     | oooo      oo      |
        call   |     l       m     |
        gpu    |      llll    mmm  |
        """,
        names={"f": "train.py(7): step"},
    )
    assert_sums(trace)
    facts = summarize(trace)
    tree = idle_columns(trace).flame(select(facts, "all").indexes, 0)
    boxes = {one.name: (one.value, one.self_value) for one in pruned(tree, 0.0)}
    assert list(boxes["aten::o"]) == [6_000, 6_000]
    assert boxes["train.py(7): step"][0] >= 6_000


def test_the_columns_come_back_as_they_were(tmp_path: Path) -> None:
    trace = draw(
        """
        step   |1111111111|
        op     |ooo       |
        call   |   l      |
        gpu    |     lllll|
        """
    )
    make_idle(trace, tmp_path, lambda _: None)
    stored, made = IDLE.open(tmp_path), idle_columns(trace)
    assert stored.strings == made.strings
    assert stored.path.start.tolist() == made.path.start.tolist()
    assert stored.cells.idle_ns.tolist() == made.cells.idle_ns.tolist()
    assert stored.path_names.name.tolist() == made.path_names.name.tolist()


@pytest.mark.parametrize(
    "name",
    [
        one
        for one in FILES
        if one.startswith(("tracelens/b200", "tracelens/mi300", "hta/", "dlrm_8rank_v100/worker0"))
    ],
)
def test_real_traces_sum(name: str) -> None:
    assert_sums(opened(name))
