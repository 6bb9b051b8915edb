"""The tables of operators and kernels: every grouping has the same sum."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kinetoscope.analysis.operators.artifact import operators_of
from kinetoscope.analysis.operators.kernels import GROUPINGS as KERNEL_GROUPINGS
from kinetoscope.analysis.operators.kernels import (
    ChosenKernels,
    copy_table,
    family_codes,
    kernel_table,
    op_names,
)
from kinetoscope.analysis.operators.model import CallKind
from kinetoscope.analysis.operators.table import GROUPINGS, CallSelection, call_table
from kinetoscope.trace.read import read
from tests.conftest import TRACES, requires_traces
from tests.drawing import draw, trace_of

OPS = frozenset({CallKind.OP, CallKind.ANNOTATION})
REAL = (
    "tracelens/b200/eager_trace.json.gz",
    "tracelens/mi300/resnet_act_checkpoint.json.gz",
    "kineto_tb_samples/resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz",
    "fresh_torch2.13/gpt_full/gpt.1795227686608472692.pt.trace.json.gz",
)


def test_a_table_of_operators() -> None:
    trace = draw(
        """
        step |111111111112222222222|
        op   | aaaa  bb   aa  aaaa |
        call |  k     m    k    k  |
        gpu  |   kkk  mm    k    kk|
        """
    )
    table = call_table(operators_of(trace), CallSelection(None, frozenset({CallKind.OP})))
    order = table.order("device_self_ns", ascending=False)
    rows = [
        (
            table.text(int(table.name[at])),
            int(table.count[at]),
            int(table.total_ns[at]),
            int(table.min_ns[at]),
            int(table.p50_ns[at]),
            int(table.max_ns[at]),
            int(table.device_self_ns[at]),
            int(table.kernels[at]),
        )
        for at in order
    ]
    assert rows == [
        ("aten::a", 3, 10_000, 2_000, 4_000, 4_000, 6_000, 3),
        ("aten::b", 1, 2_000, 2_000, 2_000, 2_000, 2_000, 1),
    ]
    second = call_table(operators_of(trace), CallSelection((1,), frozenset({CallKind.OP})))
    assert second.count.tolist() == [2]
    found = call_table(operators_of(trace), CallSelection(None, OPS, search="ATEN b"))
    assert [found.text(code) for code in found.name.tolist()] == ["aten::b"]


def test_steps_are_one_row() -> None:
    operators = operators_of(
        draw(
            """
            step |111111111112222222222|
            note |  nn          nn     |
            op   | aaaa  bb   aa  aaaa |
            """
        )
    )
    table = call_table(operators, CallSelection(None, OPS))
    rows = {table.text(int(table.name[at])): int(table.count[at]) for at in range(len(table))}
    assert rows == {"ProfilerStep*": 2, "note n": 2, "aten::a": 3, "aten::b": 1}
    around = call_table(operators, CallSelection(None, frozenset({CallKind.OP})), "annotation")
    details = {
        (table.text(int(around.name[at])), around.detail(at)): int(around.count[at])
        for at in range(len(around))
    }
    assert details == {("aten::a", "ProfilerStep*"): 3, ("aten::b", "ProfilerStep*"): 1}


@pytest.mark.parametrize(
    ("stack", "own_us"),
    [
        ({"Call stack": "train.py(1): f"}, {"Optimizer.step#SGD.step": 4, "aten::a": 6}),
        # Later versions count frames as children, and hardly write stacks as text.
        ({}, {"Optimizer.step#SGD.step": 1, "aten::a": 3}),
    ],
)
def test_torch_1_11_kept_frames_out_of_self_time(
    stack: dict[str, str], own_us: dict[str, int]
) -> None:
    #  annotation ██████████   frame ▒▒▒▒▒▒▒▒▒ in it, aten::a ██████ in that, a frame of 3 in the op
    def event(cat: str, name: str, ts: int, dur: int, **args: str) -> dict[str, object]:
        since_epoch = 1_640_000_000_000_000 + ts
        return {"ph": "X", "cat": cat, "name": name, "pid": 1, "tid": 1, "ts": since_epoch,
                "dur": dur, "args": args}  # fmt: skip

    trace = trace_of(
        [
            event("user_annotation", "Optimizer.step#SGD.step", 0, 10),
            event("python_function", "train.py(1): f", 1, 9),
            event("cpu_op", "aten::a", 2, 6, **stack),
            event("python_function", "hook.py(1): g", 3, 3),
        ]
    )
    assert trace.recording.torch_era == "D"
    operators = operators_of(trace)
    table = call_table(operators, CallSelection(None, OPS))
    rows = {table.text(int(table.name[at])): int(table.self_ns[at]) // 1000 for at in range(2)}
    assert rows == own_us
    # The flame graph has boxes for the frames: there no time counts twice.
    assert operators.calls.self_ns.sum() == 10_000


def test_equal_rows_are_in_order_of_their_names_and_unknown_figures_come_last() -> None:
    trace = draw(
        """
        op  | cc bb aaa |
        gpu | kkk  jj   |
        """
    )
    operators = operators_of(trace)
    calls = call_table(operators, CallSelection(None, OPS))

    def names(column: str, *, ascending: bool) -> str:
        order = calls.order(column, ascending=ascending).tolist()
        return "".join(calls.text(int(calls.name[at]))[-1] for at in order)

    assert names("total_ns", ascending=False) == "abc"
    assert names("total_ns", ascending=True) == "bca"
    assert names("name", ascending=False) == "cba"
    assert names("flops", ascending=True) == names("flops", ascending=False) == "abc"
    kernels = kernel_table(operators, ChosenKernels())
    order = kernels.order("ratio", ascending=False).tolist()
    assert [kernels.text(int(kernels.name[at])) for at in order] == ["kernel_k", "kernel_j"]


def test_calls_with_the_same_innermost_frames_are_of_one_group() -> None:
    trace = draw(
        """
        frame | ffff  gggg  ffff |
        frame |  hhh   hhh   hhh |
        op    |   a     a     a  |
        """
    )
    operators = operators_of(trace)
    for depth, expected in ((1, [3]), (2, [1, 2])):
        table = call_table(operators, CallSelection(None, OPS), "stack", depth)
        assert sorted(table.count.tolist()) == expected
    deep = call_table(operators, CallSelection(None, OPS), "stack", 2)
    assert {deep.detail(at) for at in range(len(deep))} == {
        "train.py(1): h\ntrain.py(1): f",
        "train.py(1): h\ntrain.py(1): g",
    }


@requires_traces
@pytest.mark.parametrize("name", REAL)
def test_every_grouping_has_the_same_sum(name: str) -> None:
    operators = operators_of(read(Path(TRACES, name)))
    whole = call_table(operators, CallSelection(None, OPS))
    owned = operators.activities.call >= 0
    assert whole.device_self_ns.sum() == operators.activities.dur_ns[owned].sum()
    for grouping in GROUPINGS:
        table = call_table(operators, CallSelection(None, OPS), grouping)
        for column in ("count", "self_ns", "total_ns", "device_self_ns", "kernels"):
            assert getattr(table, column).sum() == getattr(whole, column).sum(), grouping
        assert len(table) >= len(whole)


@requires_traces
@pytest.mark.parametrize("name", REAL[:3])
def test_all_groupings_of_kernels_agree(name: str) -> None:
    operators = operators_of(read(Path(TRACES, name)))
    everything = ChosenKernels()
    sums = {
        (int(table.total_ns.sum()), int(table.count.sum()))
        for table in (kernel_table(operators, everything, one) for one in KERNEL_GROUPINGS)
    }
    assert len(sums) == 1
    copies = copy_table(operators, everything)
    assert sums.pop()[0] + copies.total_ns.sum() == operators.activities.dur_ns.sum()
    families, codes = family_codes(operators)
    assert np.bincount(codes, minlength=len(families)).min() > 0


def test_kernels_are_found_by_the_name_of_the_op_that_they_are_credited_to() -> None:
    """The first op of a recording has the number 0."""
    operators = operators_of(draw("op   |aaa bbb   |\ncall | k   l x  |\ngpu  |  kk  ll xx|"))
    names = [operators.strings[code] if code >= 0 else "" for code in op_names(operators)]
    assert names == ["aten::a", "aten::b", "cudaLaunchKernel"]
    for op, rows in (("aten::a", 1), ("aten::b", 1), ("aten::c", 0), ("", 3)):
        table = kernel_table(operators, ChosenKernels(search_op=op), "kernel")
        assert int(table.count.sum()) == rows
