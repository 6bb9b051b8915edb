"""Operators of replayed graphs, lent by a recording of the capture, in the tables of calls.

The sums of every table are the same with and without them.
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from difflib import SequenceMatcher
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinetoscope.analysis.call_tree.flame import folded
from kinetoscope.analysis.graphs.captures import captures_of
from kinetoscope.analysis.graphs.model import CaptureColumns
from kinetoscope.analysis.graphs.origins import OperatorOrigins, with_origins
from kinetoscope.analysis.graphs.replays import graphs_of
from kinetoscope.analysis.operators.artifact import operators_of
from kinetoscope.analysis.operators.flame import KERNEL, flame_tree
from kinetoscope.analysis.operators.model import CallKind
from kinetoscope.analysis.operators.table import CallSelection, CallTable, call_table
from kinetoscope.trace.read import read
from tests.analysis.graphs.test_captures import captured, execution
from tests.conftest import TRACES, requires_traces
from tests.trace.drawn import Event, annotation, drawn, kernel, launch, x

EVERY = frozenset(CallKind)


def origins(trace: list[Event], *captures: list[Event]) -> OperatorOrigins:
    recorded = drawn(trace)
    lenders = tuple(captures_of(drawn(one)) for one in captures)
    return with_origins(operators_of(recorded), graphs_of(recorded), lenders)


def rows(table: CallTable) -> dict[str, tuple[int, int, int, int]]:
    """Name → (calls, device self, device total, host total), µs."""
    return {
        table.text(int(table.name[at])): (
            int(table.count[at]),
            int(table.device_self_ns[at]) // 1000,
            int(table.device_total_ns[at]) // 1000,
            int(table.total_ns[at]) // 1000,
        )
        for at in range(len(table))
    }


def table_of(found: OperatorOrigins) -> CallTable:
    return call_table(found.operators, CallSelection(None, EVERY))


def test_lent_time_goes_to_the_operators() -> None:
    """Two replays of a and b, 4 and 3 µs; an eager op launches 5 µs."""
    trace = [
        *execution([("a", 4), ("b", 3)], size=8, replays=2),
        x("op1", 100, 8),
        launch(101, 2, 7),
        kernel("alone", 104, 5, correlation=7),
    ]
    found = origins(trace, captured(["a", "b"], size=8))
    assert found.ratio == 1.0
    table = rows(table_of(found))
    assert table["op0"] == (2, 8, 8, 0), "replays × nodes, and no host time"
    assert table["op1"] == (3, 6 + 5, 6 + 5, 8)
    assert table["hipGraphLaunch"] == (2, 0, 14, 2), "its total has the calls inside"
    plain = rows(table_of(origins(trace)))
    assert plain["hipGraphLaunch"] == (2, 14, 14, 2)
    assert plain["op1"] == (1, 5, 5, 8)


def test_host_figures_are_of_calls_with_a_host_time() -> None:
    """op0: eager calls of 8, 20 and 30 µs on the host, and four lent ones."""
    eager = [x("op0", 100 + 50 * at, dur) for at, dur in enumerate((8, 20, 30))]
    trace = [*execution([("a", 4)], size=8, replays=4), *eager]
    table = table_of(origins(trace, captured(["a"], size=8)))
    at = [table.text(int(code)) for code in table.name].index("op0")
    assert (table.count[at], table.lent_count[at]) == (7, 4)
    figures = [table.min_ns, table.p50_ns, table.p95_ns, table.max_ns]
    assert [int(one[at]) for one in figures] == [8_000, 20_000, 30_000, 30_000]
    assert table.mean_ns[at] == pytest.approx(58_000 / 3)
    assert table.lent_ratio[at] == 1.0
    of_call = [table.text(int(code)) for code in table.name].index("hipGraphLaunch")
    assert np.isnan(table.lent_ratio[of_call])


def test_shapes_and_stacks_come_along() -> None:
    found = origins(execution([("a", 4), ("b", 3)], size=8), captured(["a", "b"], size=8))
    operators = found.operators
    by_shape = call_table(operators, CallSelection(None, EVERY), "shape")
    told = {
        by_shape.text(int(by_shape.name[at])): by_shape.detail(at) for at in range(len(by_shape))
    }
    assert (told["op0"], told["op1"]) == ("[[0]]", "[[1]]")
    by_stack = call_table(operators, CallSelection(None, EVERY), "stack")
    told = {
        by_stack.text(int(by_stack.name[at])): by_stack.detail(at) for at in range(len(by_stack))
    }
    assert told["op1"] == "model.py(1): layer"


def test_the_flame_graph_has_them_below_the_replay() -> None:
    trace = execution([("a", 4), ("b", 3)], size=8)
    found = origins(trace, captured(["a", "b"], size=8))
    kinds = frozenset({int(CallKind.OP), int(CallKind.RUNTIME), KERNEL})
    lines = set(folded(flame_tree(found.operators, None, "device", kinds)))
    assert {line.strip() for line in lines} >= {
        "hipGraphLaunch;op0;a 4000", "hipGraphLaunch;op1;b 3000",
    }  # fmt: skip


def test_a_capture_of_another_case_lends_nothing() -> None:
    trace = execution([("a", 4), ("b", 3)], size=8)
    found = origins(trace, captured(["x", "y", "b"], size=8))
    assert (found.lent_ns, found.operators.lent_count) == (0, 0)
    assert rows(table_of(found)) == rows(table_of(origins(trace)))
    (one,) = found.graphs
    assert one.lent is not None
    assert (one.lent.fits, one.lent.matched, one.lent.kernels) == (False, 1, 2)


def test_the_share_is_held_against_each_graph() -> None:
    """The long graph fits, the short one not: 90 % of all kernel time would cover both."""
    trace = [
        launch(1, 1, 900, name="hipGraphLaunch"),
        kernel("a", 3, 500, correlation=900),
        kernel("b", 503, 500, correlation=900),
        launch(1100, 1, 901, name="hipGraphLaunch"),
        kernel("p", 1103, 5, correlation=901),
        kernel("q", 1108, 5, correlation=901),
    ]
    found = origins(trace, captured(["a", "b"]), captured(["p", "other"]))
    table = rows(table_of(found))
    assert (table["op0"][1], table["op1"][1]) == (500, 500)
    assert table["hipGraphLaunch"][1] == 10
    assert found.ratio == pytest.approx(1000 / 1010)


def test_work_that_an_op_launched_keeps_its_op() -> None:
    """The replay is launched in an op of the recording: own links win."""
    trace = [x("aten::own", 0, 6), *execution([("a", 4)], size=8)]
    found = origins(trace, captured(["a"], size=8))
    assert rows(table_of(found))["aten::own"][1] == 4
    assert found.lent_ns == 0


def piecewise(layers: int) -> tuple[list[Event], list[Event]]:
    """A step of as many equal replays as layers; captures of these layers, one by one."""
    replays: list[Event] = []
    captures: list[Event] = []
    for layer in range(layers):
        replays.append(launch(30 * layer + 1, 1, 900 + layer, name="hipGraphLaunch"))
        replays.append(kernel("a", 30 * layer + 3, 4 + layer, correlation=900 + layer))
        captures += captured(["a"], at=100 * layer, first=10 * layer + 1)
        captures.append(x(f"nn.Module: Layer_{layer}", 100 * layer + 2, 12, cat="python_function"))
    return replays, captures


def test_equal_pieces_come_in_the_order_of_their_captures() -> None:
    replays, captures = piecewise(3)
    found = origins(replays, captures)
    table = call_table(found.operators, CallSelection(None, EVERY), "module")
    told = {
        table.detail(at): int(table.device_self_ns[at]) // 1000
        for at in range(len(table))
        if table.text(int(table.name[at])) == "op0"
    }
    assert told == {"nn.Module: Layer_0": 4, "nn.Module: Layer_1": 5, "nn.Module: Layer_2": 6}


def test_of_more_pieces_than_captures_the_layer_is_not_known() -> None:
    replays, _ = piecewise(3)
    _, captures = piecewise(2)
    found = origins(replays, captures)
    table = call_table(found.operators, CallSelection(None, EVERY), "module")
    told = {
        table.detail(at): int(table.device_self_ns[at]) // 1000
        for at in range(len(table))
        if table.text(int(table.name[at])) == "op0"
    }
    assert told == {"": 15}


KERNELS = st.lists(
    st.tuples(st.sampled_from(["a", "b", "c", "d"]), st.integers(1, 9)), min_size=1, max_size=12
)


@settings(max_examples=40, deadline=None)
@given(KERNELS, KERNELS, st.integers(1, 3))
def test_sums_stay(
    replayed: list[tuple[str, int]], lent: list[tuple[str, int]], count: int
) -> None:
    trace = [*execution(replayed, replays=count), annotation("outer", 0, 400)]
    plain = origins(trace).operators
    found = origins(trace, captured([name for name, _ in lent])).operators
    for column in ("device_self_ns", "total_ns", "self_ns", "kernels", "tensor_core_self_ns"):
        assert getattr(found.calls, column).sum() == getattr(plain.calls, column).sum()
    own = len(plain.calls)
    assert (found.calls.device_total_ns[:own] == plain.calls.device_total_ns).all()
    assert (found.calls.device_self_ns >= 0).all()
    assert (found.calls.kernels >= 0).all()
    credited = np.bincount(
        found.activities.call[found.activities.call >= 0],
        found.activities.dur_ns[found.activities.call >= 0],
        len(found.calls),
    )
    assert (credited == found.calls.device_self_ns).all()
    for kinds in (
        frozenset({int(CallKind.OP), int(CallKind.RUNTIME)}),
        frozenset({int(CallKind.RUNTIME), KERNEL}),
    ):
        trees = [flame_tree(one, None, "device", kinds) for one in (plain, found)]
        assert trees[0].own.sum() == trees[1].own.sum()


# --- a real capture, by another way -------------------------------------------------------------

VLLM = TRACES / "tracelens/inference/vllm_decode_full"


def events_of(path: Any) -> list[dict[str, Any]]:
    with gzip.open(path) as stream:
        return [one for one in json.load(stream)["traceEvents"] if one.get("ph") == "X"]


def by_hand() -> dict[str, float]:
    """µs by operator of the replay: names of kernels aligned by difflib, ops by their ranges."""
    run = events_of(VLLM / "graph_execution.json.gz")
    (replay,) = {one["args"]["correlation"] for one in run if one["name"] == "hipGraphLaunch"}
    replayed = sorted(
        (one for one in run if one["cat"] == "kernel" and one["args"]["correlation"] == replay),
        key=lambda one: one["ts"],
    )
    (path,) = (VLLM / "capture_traces").iterdir()
    capture = events_of(path)
    begin = min(one["ts"] for one in capture if "StreamBeginCapture" in one["name"])
    end = max(one["ts"] for one in capture if "StreamEndCapture" in one["name"])
    launches = sorted(
        (one for one in capture if "kernel" in one["args"] and begin < one["ts"] < end),
        key=lambda one: one["ts"],
    )
    ops = [one for one in capture if one["cat"] == "cpu_op"]

    def plain(name: str) -> str:
        return name.removesuffix(" [clone .kd]")

    pairs = SequenceMatcher(
        None,
        [plain(one["name"]) for one in replayed],
        [plain(one["args"]["kernel"]) for one in launches],
        autojunk=False,
    ).get_matching_blocks()
    found: dict[str, float] = defaultdict(float)
    for block in pairs:
        for offset in range(block.size):
            call = launches[block.b + offset]
            around = [
                one
                for one in ops
                if one["tid"] == call["tid"] and one["ts"] <= call["ts"] < one["ts"] + one["dur"]
            ]
            inner = min(around, key=lambda one: one["dur"])
            found[inner["name"]] += replayed[block.a + offset]["dur"]
    return dict(found)


@requires_traces
def test_a_real_replay_by_hand() -> None:
    trace = read(VLLM / "graph_execution.json.gz")
    lenders = tuple(captures_of(read(path)) for path in (VLLM / "capture_traces").iterdir())
    found = with_origins(operators_of(trace), graphs_of(trace), lenders)
    hand = by_hand()
    operators = found.operators
    first = len(operators.calls) - operators.lent_count
    ours: dict[str, float] = defaultdict(float)
    for name, ns in zip(
        operators.calls.name[first:].tolist(),
        operators.calls.device_self_ns[first:].tolist(),
        strict=True,
    ):
        ours[operators.strings[name]] += ns / 1000
    assert sum(hand.values()) == pytest.approx(10388.5, abs=1)
    assert ours == {name: pytest.approx(us, abs=0.01) for name, us in hand.items()}
    assert found.ratio == pytest.approx(1.0, abs=1e-4)


@requires_traces
def test_the_capture_of_another_batch_lends_nothing_to_a_real_replay() -> None:
    trace = read(VLLM / "graph_execution.json.gz")
    other = TRACES / "tracelens/inference/vllm_prefilldecode_piecewise/capture_traces"
    lenders: tuple[CaptureColumns, ...] = tuple(captures_of(read(path)) for path in other.iterdir())
    found = with_origins(operators_of(trace), graphs_of(trace), lenders)
    assert found.lent_ns == 0
