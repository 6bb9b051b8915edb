"""The alignment of pieces against the diff tree of the former plugin, node by node.

The tables beside this module are what torch-tb-profiler 0.4.3 printed (``former_trees.py``).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kinetoscope.analysis.diff.pieces import Anchor, Between, MainThread, Node
from kinetoscope.trace.read import read
from tests.analysis.diff.former_trees import PAIRS, drawn_pair, of_ours, stored, text_of, told
from tests.analysis.diff.training import side_of
from tests.conftest import requires_traces
from tests.oracle.former_plugin import requires_former
from tests.trace.drawn import Event, annotation, drawn, python, x


def thread(*events: Event) -> MainThread:
    return MainThread(side_of(drawn(*events)))


@requires_traces
@pytest.mark.parametrize("name", PAIRS)
def test_every_node_at_every_level_of_a_pair(name: str) -> None:
    """Modules in modules, down to the sixth level; it printed µs, as whole numbers of old files."""
    found = of_ours(*(MainThread(side_of(read(str(path)), "all")) for path in PAIRS[name]()))
    expected = stored(name)
    assert [(row.path, row.name) for row in found] == [(row.path, row.name) for row in expected]
    for ours, theirs in zip(found, expected, strict=True):
        for a, b in zip((*ours.base, *ours.other), (*theirs.base, *theirs.other), strict=True):
            assert a == pytest.approx(b, abs=1_000), ours


def test_every_node_of_modules_that_launch_kernels() -> None:
    base, other = (thread(*events) for events in drawn_pair())
    assert text_of(of_ours(base, other)) == text_of(stored("drawn"))


@requires_traces
@requires_former
def test_the_tables_are_what_it_prints(tmp_path: Path) -> None:
    for name, rows in told(tmp_path):
        assert text_of(rows) == text_of(stored(name)), name


# --- what it had no nodes for ---------------------------------------------------------------------

MODULE = {"Python id": 1, "Python parent id": None, "Python module id": 0}


def sums(nodes: tuple[Node, ...]) -> list[tuple[str, int]]:
    return [(one.name if isinstance(one, Anchor) else "", one.host_ns) for one in nodes]


def test_a_range_marked_by_hand_is_not_counted_beside_what_is_in_it() -> None:
    """forward  ████████████████   90 µs, of which the module takes 60
    Net_0          ██████████
    """
    found = thread(
        annotation("ProfilerStep#0", 0, 100),
        annotation("forward", 2, 90),
        python("nn.Module: Net_0", 10, 60, **MODULE),
        x("aten::mm", 12, 50),
        x("aten::sum", 75, 10),
    ).top
    assert sums(found) == [("nn.Module: Net_0", 60_000), ("", 10_000)]


def test_a_module_inside_of_an_operator_is_counted_once() -> None:
    """CheckpointFunction  ████████████████   80 µs, of which its two modules take 30 and 20
    Block_0, Block_1         ██████ ████
    """
    found = thread(
        annotation("ProfilerStep#0", 0, 100),
        x("CheckpointFunction", 5, 80),
        python("nn.Module: Block_0", 10, 30, **MODULE),
        x("aten::mm", 12, 20),
        python("nn.Module: Block_1", 45, 20, **MODULE),
        x("aten::relu", 50, 5),
        x("aten::sum", 90, 4),
    ).top
    assert sum(one.host_ns for one in found) == 84_000
    assert sums(found) == [
        ("", 30_000), ("nn.Module: Block_0", 30_000), ("nn.Module: Block_1", 20_000), ("", 4_000),
    ]  # fmt: skip


@requires_traces
@pytest.mark.parametrize("name", PAIRS)
def test_pieces_take_no_more_than_what_is_around_them(name: str) -> None:
    for path in PAIRS[name]():
        whole = MainThread(side_of(read(str(path))))
        pending: list[Node] = list(whole.outermost)
        while pending:
            node = pending.pop()
            if isinstance(node, Between):
                assert min(node.host_ns, node.device_ns) >= 0
                continue
            # Times of files are rounded to whole microseconds in old recordings.
            slack = 1_000 * len(node.inside)
            assert sum(one.host_ns for one in node.inside) <= node.host_ns + slack, node.name
            pending += node.inside
