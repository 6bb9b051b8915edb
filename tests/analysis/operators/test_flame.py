"""Flame graphs: what lies in which box, and that nothing is lost."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kinetoscope.analysis.call_tree.flame import FlameTree
from kinetoscope.analysis.operators.artifact import operators_of
from kinetoscope.analysis.operators.credit import REASONS
from kinetoscope.analysis.operators.flame import KERNEL, flame_tree, waiting_threads
from kinetoscope.analysis.operators.model import CallKind
from kinetoscope.base.errors import KinetoscopeError
from kinetoscope.trace.read import read
from tests.conftest import TRACES, requires_traces
from tests.drawing import draw

ALL = frozenset({*CallKind, KERNEL})

PICTURE = """
    frame | ffffffffffff ffff |
    op    |  aaaaaa       aa  |
    op    |    bb             |
    call  |    k          k   |
    gpu   |     kkk        kk |
    """


def lines(tree: FlameTree) -> dict[str, tuple[int, int]]:
    """Path → value and calls; times in µs."""
    found = {}
    for row in range(len(tree)):
        path, at = [], row
        while at >= 0:
            path.append(tree.text(at))
            at = int(tree.parent[at])
        found[" > ".join(reversed(path))] = (int(tree.value[row]), int(tree.count[row]))
    return found


WAITING = """
    frame1 | ffffffffffffffff |
    op1    |  aaaaaaaaaaaa    |
    frame2 | bbbbbbbbbbbbbbbb |
    frame2 | mmmmmmmmmmmmmmmm |
    frame2 | {waits} |
    """
MONITOR = {
    "b": "threading.py(9): _bootstrap",
    "m": "tqdm/_monitor.py(60): run",
    "w": "<built-in method acquire of _thread.lock object at 0x7f>",
}


@pytest.mark.parametrize(
    ("waits", "found"),
    [("wwwwwwwwwwwwwww ", ["tqdm/_monitor.py(60): run"]), ("wwwwwwwwwwwwww  ", [])],
)
def test_a_thread_that_waits_nine_tenths_of_its_time_is_named(waits: str, found: list[str]) -> None:
    operators = operators_of(draw(WAITING.format(waits=waits), names=MONITOR))
    threads = waiting_threads(operators, None)
    assert list(threads.values()) == found
    tree = flame_tree(operators, None, "host", ALL, tuple(threads))
    names = {tree.text(row) for row in range(len(tree))}
    assert ("tqdm/_monitor.py(60): run" in names) == (found == [])
    assert {"train.py(1): f", "aten::a"} <= names


def test_a_thread_with_ops_is_shown_however_long_it_waits() -> None:
    picture = """
    frame1 | wwwwwwwwwwwwwwww |
    op1    |              a   |
    """
    assert waiting_threads(operators_of(draw(picture, names=MONITOR)), None) == {}


def test_host_time_by_path() -> None:
    operators = operators_of(draw(PICTURE))
    tree = flame_tree(operators, None, "host", ALL)
    assert lines(tree) == {
        "train.py(1): f": (16_000, 2),
        "train.py(1): f > aten::a": (8_000, 2),
        "train.py(1): f > aten::a > aten::b": (2_000, 1),
        "train.py(1): f > aten::a > aten::b > cudaLaunchKernel": (1_000, 1),
        "train.py(1): f > aten::a > cudaLaunchKernel": (1_000, 1),
    }


def test_kinds_that_are_left_out_give_their_time_upwards() -> None:
    operators = operators_of(draw(PICTURE))
    tree = flame_tree(operators, None, "host", frozenset({CallKind.OP}))
    assert lines(tree) == {
        "aten::a": (8_000, 2),
        "aten::a > aten::b": (2_000, 1),
    }


def test_device_time_below_its_op() -> None:
    operators = operators_of(draw(PICTURE))
    tree = flame_tree(operators, None, "device", frozenset({CallKind.OP, KERNEL}))
    assert lines(tree) == {
        "aten::a": (5_000, 2),
        "aten::a > kernel_k": (2_000, 1),
        "aten::a > aten::b": (3_000, 1),
        "aten::a > aten::b > kernel_k": (3_000, 1),
    }


def test_device_time_of_nobody_hangs_below_its_reason() -> None:
    operators = operators_of(draw("gpu | kkk |"))
    tree = flame_tree(operators, None, "device", ALL)
    assert lines(tree) == {
        REASONS[1]: (3_000, 0),
        f"{REASONS[1]} > kernel_k": (3_000, 1),
    }


@requires_traces
@pytest.mark.parametrize("metric", ["host", "device", "calls"])
@pytest.mark.parametrize(
    "name",
    [
        "tracelens/mi300/resnet_act_checkpoint.json.gz",
        "tracelens/b200/eager_trace.json.gz",
        "fresh_torch2.13/exports/trace.json.gz",
    ],
)
def test_the_roots_hold_everything(name: str, metric: str) -> None:
    path = Path(TRACES, name)
    try:
        operators = operators_of(read(path))
    except KinetoscopeError:
        pytest.skip(f"{name} is not there")
    tree = flame_tree(operators, None, metric, ALL)
    whole = {
        "host": np.maximum(operators.calls.self_ns, 0).sum(),
        "device": operators.activities.dur_ns.sum(),
        "calls": len(operators.calls),
    }[metric]
    assert tree.value[tree.parent < 0].sum() == tree.own.sum() == whole
    inner = tree.parent >= 0
    below = np.zeros(len(tree), np.int64)
    np.add.at(below, tree.parent[inner], tree.value[inner])
    assert (below + tree.own == tree.value).all()
