"""Modules of replayed graphs, lent by a recording of the capture; the sums stay."""

from __future__ import annotations

import numpy as np

from kinetoscope.analysis.graphs.captures import captures_of
from kinetoscope.analysis.graphs.module_origins import lend_modules
from kinetoscope.analysis.graphs.origins import with_origins
from kinetoscope.analysis.graphs.replays import graphs_of
from kinetoscope.analysis.modules.artifact import modules_of
from kinetoscope.analysis.modules.figures import figures_of
from kinetoscope.analysis.modules.model import ModuleColumns, Outside
from kinetoscope.analysis.operators.artifact import operators_of
from tests.analysis.graphs.test_captures import captured, execution
from tests.trace.drawn import Event, drawn, kernel, launch, x


def module(name: str, ts: float, dur: float) -> Event:
    return x(f"nn.Module: {name}", ts, dur, cat="python_function", **{"Python module id": 0})


def lent(trace: list[Event], capture: list[Event]) -> tuple[ModuleColumns, ModuleColumns]:
    """The modules of a recording, without and with those of its capture."""
    recorded = drawn(trace)
    found = with_origins(
        operators_of(recorded), graphs_of(recorded), (captures_of(drawn(capture)),)
    )
    plain = modules_of(recorded)
    return plain, lend_modules(plain, found.operators)


def paths(columns: ModuleColumns) -> dict[str, tuple[int, int, int]]:
    """Path → own and whole device time, and busy time, µs."""
    tree, figures = columns.tree, figures_of(columns, None)
    found = {}
    names: list[str] = []
    for row in range(len(tree)):
        above = int(tree.parent[row])
        name = columns.strings[int(tree.name[row])]
        names.append(f"{names[above]}/{name}" if above >= 0 else name)
        found[names[row]] = (
            int(figures.device_self_ns[:, row].sum()) // 1000,
            int(figures.device_total_ns[:, row].sum()) // 1000,
            int(figures.busy_ns[row]) // 1000,
        )
    return found


def in_graphs(columns: ModuleColumns) -> tuple[int, int]:
    """Device time and pieces of work of replayed graphs that no module has."""
    rows = columns.outside.reason == Outside.GRAPH
    return (
        int(columns.outside.device_ns[rows].sum()) // 1000,
        int(columns.outside.activities[rows].sum()),
    )


def total(columns: ModuleColumns) -> int:
    return int(columns.sums.device_ns.sum() + columns.outside.device_ns.sum())


# Two replays of a, b and c; the head of the model runs as it is.
RUN = [
    *execution([("a", 4), ("b", 3), ("c", 2)], size=8, replays=2),
    module("Head_0", 100, 20),
    launch(102, 2, 7),
    kernel("head", 106, 5, correlation=7),
]
# The launches of a capture are at 5, 15 and 25 µs: a in Model/Attn, b in Model/Mlp, c in Model.
CAPTURE = [
    *captured(["a", "b", "c"], size=8),
    module("Model_0", 2.5, 34),
    module("Attn_0", 2.6, 9.6),
    module("Mlp_0", 12.6, 9.6),
]


def test_work_moves_to_the_modules_of_the_capture() -> None:
    plain, found = lent(RUN, CAPTURE)
    assert paths(plain) == {"Head_0": (5, 5, 5)}
    assert paths(found) == {
        "Head_0": (5, 5, 5),
        "Model_0": (4, 18, 18),
        "Model_0/Attn_0": (8, 8, 8),
        "Model_0/Mlp_0": (6, 6, 6),
    }
    assert (in_graphs(plain), in_graphs(found)) == ((18, 6), (0, 0))
    assert total(found) == total(plain)
    types = [found.strings[code] for code in found.tree.type[1:].tolist()]
    assert types == ["Model", "Attn", "Mlp"]
    figures = figures_of(found, None)
    assert figures.calls.tolist() == [1, 0, 0, 0], "calls are those of the recording"
    assert (figures.op_total_ns[:, 1:] == 0).all(), "and host time is never lent"


def test_work_of_a_module_of_the_recording_stays_there() -> None:
    trace = [module("Runner_0", 0, 60), *RUN]
    plain, found = lent(trace, CAPTURE)
    assert paths(found) == paths(plain)
    assert in_graphs(plain) == (0, 0)


def test_a_capture_without_modules_lends_none() -> None:
    plain, found = lent(RUN, captured(["a", "b", "c"], size=8))
    assert found is plain
    assert in_graphs(found) == (18, 6)


def test_parents_come_before_their_children() -> None:
    _, found = lent(RUN, CAPTURE)
    assert (found.tree.parent < np.arange(len(found.tree))).all()
