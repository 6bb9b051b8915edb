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
    rows = changes([operator_items(base)], [operator_items(other)], "self_ns", base.mean_ns)
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
    kernels = changes([kernel_items(base)], [kernel_items(other)], "device_self_ns", base.mean_ns)
    by_name = {row.name: row for row in kernels}
    gemm = next(row for name, row in by_name.items() if name.startswith("sm90_xmma_gemm"))
    assert (gemm.status, gemm.base.calls) == ("removed", 168)
    assert by_name["attn_fwd"].status == "added"
    modules = module_items(base), module_items(other)
    assert modules[0] is not None
    assert modules[1] is not None
    shared = set(modules[0].names) & set(modules[1].names)
    assert len(shared) > 0.9 * len(modules[0].names)  # modules keep their places on any hardware


ROLES = [
    # role, shapes of its inputs, launches on both, µs on H100 and on MI300
    ("gemm · aten::mm", "[8944,1024] × [1024,2816]", 48, 48, 4016, 5308),
    ("attention", "[16, 16, 64, 559] × [16, 16, 64, 559] × [16, 16, 64, 559]", 24, 24, 2723, 3909),
    ("elementwise · aten::copy_", "[16,16,559,64] × [16,16,559,64]", 72, 72, 2108, 1088),
    ("elementwise · aten::mul", "[16,16,559,64] × [1,1,559,64]", 96, 96, 2680, 1673),
    ("gemm · aten::addmm", "[1024] × [8944,1024] × [1024,1024]", 72, 72, 2266, 2955),
    ("elementwise · aten::add", "[16,16,559,64] × [16,16,559,64]", 48, 48, 1671, 983),
    ("copy · aten::cat", "[16,16,559,32] × [16,16,559,32]", 48, 48, 2014, 1350),
    ("elementwise · aten::copy_", "[16,559,1024] × [16,559,1024]", 98, 98, 2330, 1737),
    ("gemm · aten::mm", "[8944,2816] × [2816,1024]", 24, 24, 1815, 2375),
    ("elementwise · aten::mul", "[16,559,1024] × [16,559,1]", 49, 49, 1609, 1154),
    ("elementwise · aten::mul", "[1024] × [16,559,1024]", 49, 49, 1234, 797),
    ("elementwise · aten::pow", "[16,559,1024]", 49, 49, 1301, 928),
    ("elementwise · aten::mul", "[16,559,2816] × [16,559,2816]", 24, 24, 1227, 909),
    ("elementwise · aten::copy_", "[16,559,16,64] × [16,559,16,64]", 24, 24, 658, 359),
    ("gemm · aten::mm", "[8944,1024] × [1024,1024]", 24, 24, 758, 981),
    ("elementwise · aten::add", "[16,559,1024] × [16,559,1024]", 48, 48, 855, 689),
    ("elementwise · aten::silu", "[16,559,2816]", 24, 24, 925, 778),
    ("elementwise · aten::add", "[16,559,1]", 49, 49, 82, 223),
    ("elementwise · aten::rsqrt", "[16,559,1]", 49, 49, 79, 215),
    ("reduction · aten::mean", "[16,559,1024]", 49, 49, 743, 619),
    # What one of them does beside: the matrix products of the H100 clear their counters first, the
    # attention of the MI300 fills its own.
    ("elementwise · aten::fill_", "[1]", 0, 24, 0, 108),
    ("elementwise · aten::neg", "[16,16,559,32]", 48, 48, 587, 517),
    ("memset · aten::addmm", "[1024] × [8944,1024] × [1024,1024]", 72, 0, 63, 0),
    ("memset · aten::mm", "[8944,1024] × [1024,2816]", 48, 0, 40, 0),
]


@requires_traces
def test_kernels_of_two_vendors_are_matched_by_what_they_are_for() -> None:
    """No kernel of these has the same name twice; role, operator and shapes are the same."""
    base, other = first("tracelens/h100", "Qwen*"), first("tracelens/mi300", "Qwen*")
    sides = [kernel_items(base, "role")], [kernel_items(other, "role")]
    rows = changes(*sides, "device_self_ns", base.mean_ns)
    found = [
        (
            row.name,
            row.detail,
            row.base.calls,
            row.other.calls,
            round(row.base.ns / 1e3),
            round(row.other.ns / 1e3),
        )
        for row in rows
    ]
    assert found[: len(ROLES)] == ROLES
    assert [row for row in rows if row.relation is not None] == []
    gemm = rows[0]
    assert gemm.examples[0].startswith("sm90_xmma_gemm")
    assert gemm.examples[1].startswith("Cijk_")
    # Nothing is lost on the way: all device time of the step is in one row or another.
    for side, of in zip((base, other), ("base", "other"), strict=True):
        by_name = kernel_items(side).sums["device_self_ns"].sum()
        assert sum(getattr(row, of).ns for row in rows) == by_name


@requires_traces
def test_families_of_kernels_of_two_vendors() -> None:
    base, other = first("tracelens/h100", "Qwen*"), first("tracelens/mi300", "Qwen*")
    sides = [kernel_items(base, "family")], [kernel_items(other, "family")]
    rows = {row.name: row for row in changes(*sides, "device_self_ns", base.mean_ns)}
    calls = {name: (row.base.calls, row.other.calls) for name, row in rows.items()}
    assert calls == {
        "gemm": (169, 169),
        "attention": (24, 24),
        "elementwise": (735, 759),
        "reduction": (50, 50),
        "copy": (49, 49),
        "embedding": (2, 2),
        "memset": (168, 0),
        "memcpy": (1, 1),
    }


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
