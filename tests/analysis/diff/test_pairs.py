"""Pairs of real recordings, their tables judged line by line."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from kinetoscope.analysis.diff.changes import ItemChange, changes
from kinetoscope.analysis.diff.sides import Side, kernel_items, module_items, operator_items
from kinetoscope.analysis.diff.verdict import compare
from kinetoscope.trace.read import read
from tests.conftest import ROOT, TRACES, requires_traces

from .training import side_of

FIXTURES = ROOT / "tests" / "fixtures" / "compiled"


def operators(base: Side, other: Side) -> Mapping[str, ItemChange]:
    rows = changes(operator_items(base), operator_items(other), "self_ns", base.mean_ns)
    return {row.name: row for row in rows}


@pytest.fixture(name="compiled", scope="module")
def eager_and_compiled() -> tuple[Side, Side]:
    """A small training on the CPU: Linear, GELU, Linear, GELU, LayerNorm, Linear; then SGD."""
    eager, compiled = (side_of(read(str(FIXTURES / f"{m}.pt.trace.json.gz"))) for m in MODES)
    return eager, compiled


MODES = ("eager", "compiled")


@pytest.mark.parametrize(
    ("name", "calls", "status"),
    [
        # Generated code takes the place of what it computes: GELU, LayerNorm, and their backward.
        ("aten::gelu", (2, 0), "removed"),
        ("aten::gelu_backward", (2, 0), "removed"),
        ("aten::native_layer_norm", (1, 0), "removed"),
        ("aten::native_layer_norm_backward", (1, 0), "removed"),
        # autograd and views of single operators are gone with them.
        ("aten::linear", (3, 0), "removed"),
        ("aten::t", (14, 0), "removed"),
        ("AddmmBackward0", (3, 0), "removed"),
        ("CompiledFunction", (0, 1), "added"),
        ("CompiledFunctionBackward", (0, 1), "added"),
        ("Torch-Compiled Region: 0/0", (0, 1), "added"),
        # Sums of bias gradients went into generated code, but one; buffers are asked for once.
        ("aten::sum", (4, 1), "fewer calls"),
        ("aten::empty", (8, 1), "fewer calls"),
    ],
)
def test_what_compiling_took_and_brought(
    compiled: tuple[Side, Side], name: str, calls: tuple[int, int], status: str
) -> None:
    row = operators(*compiled)[name]
    assert ((row.base.calls, row.other.calls), row.status) == (calls, status)


@pytest.mark.parametrize(
    "name", ["aten::mm", "aten::addmm", "aten::copy_", "Optimizer.step#SGD.step"]
)
def test_what_compiling_left_is_called_as_often(compiled: tuple[Side, Side], name: str) -> None:
    """Matrix products stay calls of the library; the data and the optimizer were not compiled."""
    row = operators(*compiled)[name]
    assert row.base.calls == row.other.calls > 0
    assert row.are_calls_exact
    assert row.by_calls_ns == 0


def test_every_operator_is_in_one_row(compiled: tuple[Side, Side]) -> None:
    rows = operators(*compiled).values()
    for side, of in ((compiled[0], "base"), (compiled[1], "other")):
        sums = operator_items(side).sums["self_ns"].sum() / side.count
        assert sum(getattr(row, of).ns for row in rows) == pytest.approx(sums)


def test_compiling_is_told_and_shapes_are_not_blamed(compiled: tuple[Side, Side]) -> None:
    found = {one.what: one for one in compare(*compiled).mismatches}
    assert (found["compilation"].base, found["compilation"].other) == ("eager", "compiled")
    assert "shapes" not in found


def first(folder: str, name: str = "*") -> Side:
    path = next(iter(sorted((TRACES / folder).glob(f"{name}.json*"))))
    return side_of(read(str(path)))


@requires_traces
def test_other_hardware_is_another_machine() -> None:
    """Qwen 0.5B on H100 and on MI300: one step each, the same model."""
    base, other = first("tracelens/h100", "Qwen*"), first("tracelens/mi300", "Qwen*")
    found = compare(base, other)
    assert found.outcome == "cannot tell"
    assert found.headline.startswith("Different machines")
    assert found.drift is None  # no kernel of equal name
    counts = {one.key: one for one in found.counts}
    assert (counts["kernels"].base, counts["kernels"].other) == (1029, 1053)
    assert not counts["flops"].differs
    rows = operators(base, other)
    calls = {name: (rows[name].base.calls, rows[name].other.calls) for name in rows}
    # The layers of the model are the same, but attention turns its inputs around first.
    expected = {
        "aten::linear": (168, 168),
        "aten::mm": (96, 96),
        "aten::mul": (220, 220),
        "aten::permute": (0, 96),
        "aten::empty": (266, 411),
    }
    assert {name: calls[name] for name in expected} == expected
    # One step proves nothing of times.
    assert {rows[name].status for name in ("aten::linear", "aten::mm")} <= {"unsure", "small"}
    kernels = changes(kernel_items(base), kernel_items(other), "device_self_ns", base.mean_ns)
    by_name = {row.name: row for row in kernels}
    gemm = next(row for name, row in by_name.items() if name.startswith("sm90_xmma_gemm"))
    assert (gemm.status, gemm.base.calls) == ("removed", 168)
    assert by_name["attn_fwd"].status == "added"
    modules = module_items(base), module_items(other)
    assert modules[0] is not None
    assert modules[1] is not None
    shared = set(modules[0].names) & set(modules[1].names)
    assert len(shared) > 0.9 * len(modules[0].names)  # modules keep their places on any hardware


@requires_traces
def test_two_short_recordings_of_one_script() -> None:
    """Two steps against one: every line is there on both sides, and nothing is claimed."""
    base, other = first("hta/trace_compare/base"), first("hta/trace_compare/test")
    rows = operators(base, other)
    assert {name: (row.base.calls, row.other.calls) for name, row in rows.items()} == {
        "ProfilerStep*": (1, 1),
        "aten::empty": (1, 1),
        "nccl:all_reduce": (1, 1),
        "aten::as_strided": (1, 1),
        "cudaLaunchKernel": (1, 1),
    }
    assert {row.status for row in rows.values()} <= {"same", "small", "unsure"}
    found = compare(base, other)
    assert (found.outcome, found.settle) == (
        "cannot tell",
        "Record 7\u00a0more steps on each side.",
    )
