"""Whose work is a kernel, and what do the parts of a step sum to?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from kinetoscope.analysis.call_tree.paths import innermost
from kinetoscope.analysis.speed_of_light.attribution import places_of, speed_of_light
from kinetoscope.analysis.speed_of_light.figures import SpeedSelection
from kinetoscope.analysis.speed_of_light.light import dtype_of_lists
from kinetoscope.analysis.speed_of_light.model import Reason, SpeedColumns
from kinetoscope.analysis.steps import select
from kinetoscope.analysis.summarize import summarize
from kinetoscope.trace.model import HostKind, Trace
from tests.collected import FILES, opened
from tests.drawing import V100, draw


def args(dims: Any, types: Any, values: Any = None) -> dict[str, Any]:
    found = {"Input Dims": dims, "Input type": types}
    return found | ({} if values is None else {"Concrete Inputs": values})


# 2 · 5e4 · 500 · 1000 = 5e10 FLOPs of float32 at 15.7 TFLOP/s: 3.2 ms. The drawn time is 8 µs.
SMALL = args([[64, 500], [500, 100]], ["float", "float"])
ADD = args([[512, 900], [512, 900], []], ["float", "float", "Scalar"], ["", "", "1"])


def drawn(picture: str, names: dict[str, str], given: dict[str, Any], **more: Any) -> Trace:
    return draw(picture, names=names, args=given, deviceProperties=[V100], **more)


def chosen(trace: Trace, steps: tuple[int, ...] = (0, -1)) -> SpeedSelection:
    return SpeedSelection(placed(trace), steps, 0)


def placed(trace: Trace) -> SpeedColumns:
    """The columns with module and phase of each call."""
    return replace(speed_of_light(trace), places=places_of(trace))


def text(columns: SpeedColumns, code: int) -> str:
    return columns.strings[code] if code >= 0 else ""


def test_old_gradients_of_a_convolution_take_the_arguments_around_them() -> None:
    whole = args(
        [[2, 8, 6, 6], [2, 16, 6, 6], [16, 8, 3, 3], []], ["float", "float", "float", "GenericList"]
    )
    trace = drawn(
        """
        step |11111111111111111111|
        op   |aaaaaaaa            |
        op   | b  c               |
        call | l  m               |
        gpu  |       llllllmm     |
        """,
        {
            "a": "aten::cudnn_convolution_backward",
            "b": "aten::cudnn_convolution_backward_input",
            "c": "aten::cudnn_convolution_backward_weight",
        },
        {
            "a": whole,
            "b": args([[], [2, 16, 6, 6], [16, 8, 3, 3]], ["GenericList", "float", "float"]),
            "c": args([[], [2, 16, 6, 6], [2, 8, 6, 6]], ["GenericList", "float", "float"]),
        },
    )
    rows = chosen(trace).by("op")
    image, grad, weight = (4 * n for n in (2 * 8 * 36, 2 * 16 * 36, 16 * 8 * 9))
    # As many products as forward: output positions · weights.
    assert rows.flops.tolist() == [2 * 2 * 36 * 16 * 8 * 9] * 2
    assert sorted(rows.read_bytes.tolist()) == sorted([grad + weight, grad + image])
    assert sorted(rows.written_bytes.tolist()) == sorted([image, weight])
    assert rows.reason.tolist() == [Reason.KNOWN] * 2


def test_kernels_of_one_op_share_its_light_by_their_durations() -> None:
    trace = drawn(
        """
        step |11111111111111111111|
        op   |aaaa                |
        call |l m                 |
        gpu  |    llllllmm        |
        """,
        {"a": "aten::mm"},
        {"a": SMALL},
    )
    found = chosen(trace)
    rows = found.by("kernel")
    work = 2 * 64 * 500 * 100
    bytes_ = 4 * (64 * 500 + 500 * 100 + 64 * 100)
    light = max(work / 15.7e3, bytes_ / 900)
    assert rows.measured_ns.tolist() == [6000, 2000]
    assert rows.light_ns == pytest.approx([light * 3 / 4, light / 4])
    assert rows.flops == pytest.approx([work * 3 / 4, work / 4])
    (only,) = found.by("op").light_ratio
    assert only == pytest.approx(light / 8000)
    assert rows.light_ratio == pytest.approx([only, only])


def test_a_child_with_a_model_takes_its_kernels_from_its_parent() -> None:
    trace = drawn(
        """
        step |11111111111111111111|
        op   |aaaaaaa             |
        op   | bb ccc             |
        call | l   m              |
        gpu  |       lll mmmm     |
        """,
        {"a": "aten::mm", "b": "aten::add", "c": "custom::layout"},
        {"a": SMALL, "b": ADD},
    )
    found = chosen(trace)
    rows = found.by("op")
    by_op = {text(found.columns, int(key)): at for at, key in enumerate(rows.key)}
    assert {name: int(rows.measured_ns[at]) for name, at in by_op.items()} == {
        "aten::add": 3000,
        # What has no model itself goes to the innermost op around it that has one.
        "aten::mm": 4000,
    }
    assert rows.read_bytes[by_op["aten::add"]] == 2 * 4 * 512 * 900


def test_a_row_faster_than_its_light_has_no_figure() -> None:
    trace = drawn(
        """
        step |11111111|
        op   |a b     |
        call |l m     |
        gpu  |  lmmmmm|
        """,
        {"a": "aten::add", "b": "aten::mm"},
        # 5.5 MB in 1 µs.
        {"a": ADD, "b": SMALL},
    )
    found = chosen(trace)
    rows = found.by("op")
    at = int(np.flatnonzero([text(found.columns, int(key)) == "aten::add" for key in rows.key])[0])
    assert rows.reason[at] == Reason.FASTER
    assert np.isnan(rows.light_ns[at])
    assert rows.known_ns[at] == 0
    assert found.totals.no_figure_ns == 1000
    assert found.reasons == ((Reason.FASTER, 1000),)


def test_each_instant_belongs_to_the_kernel_that_began_first() -> None:
    trace = drawn(
        """
        step   |1111111111111111|
        op     |a b             |
        call   |l m             |
        gpu0.7 |    llllllll    |
        gpu0.9 |      mmmmmmmm  |
        """,
        {"a": "aten::mm", "b": "custom::op"},
        {"a": SMALL},
    )
    found = chosen(trace)
    totals = found.totals
    assert totals.light_ns + totals.waste_ns == 8000
    assert totals.no_figure_ns == 2000


@pytest.mark.parametrize(
    ("name", "given", "reason"),
    [
        ("custom::op", SMALL, Reason.MODEL),
        ("aten::mm", {}, Reason.SHAPES),
        ("aten::mm", args([[8, 8], [8, 8]], ["c10::Float4_e2m1fn_x2"] * 2), Reason.RATE),
        ("aten::exp", args([[8]], ["what"]), Reason.DTYPE),
        ("aten::sum", args([[8], [], [], []], ["float", "ScalarList", "", ""]), Reason.OUTPUT),
    ],
)
def test_what_has_no_figure_says_why(name: str, given: Any, reason: Reason) -> None:
    picture = "step |1111|\n op |aa  |\n call |l |\n gpu | lll|"
    found = chosen(drawn(picture, {"a": name}, {"a": given}))
    assert found.reasons == ((reason, 3000),)


def test_a_device_without_a_data_sheet_has_flops_and_no_light() -> None:
    trace = draw(
        "step |1111|\n op |aa  |\n call |l |\n gpu | lll|",
        names={"a": "aten::mm"},
        args={"a": SMALL},
    )
    found = chosen(trace)
    rows = found.by("op")
    assert rows.flops.tolist() == [2 * 64 * 500 * 100]
    assert np.isnan(rows.light_ns).all()
    assert found.reasons == ((Reason.SHEET, 3000),)


@pytest.mark.parametrize(
    ("kernel", "dtype"),
    [
        ("multi_tensor_apply_kernel<TensorListMetadata<2>, BinaryOp<float, 2, 1, 1>>", "float32"),
        (
            "multi_tensor_apply_kernel<TensorListMetadata<2>, BinaryOp<c10::BFloat16, 2>>",
            "bfloat16",
        ),
        ("CatArrayBatchedCopy<OpaqueType<2u>, unsigned int, 2, 64, 64>", "float16"),
        ("CatArrayBatchedCopy<OpaqueType<(unsigned int)8>, unsigned int, 2>", "float64"),
        ("triton_for_fused_0", ""),
    ],
)
def test_a_kernels_template_tells_the_type_of_lists(kernel: str, dtype: str) -> None:
    assert dtype_of_lists(kernel) == dtype


def test_on_the_host_no_op_lies_in_another_one_and_ops_without_a_model_count() -> None:
    names = {
        "a": "aten::sum", "b": "aten::fill_", "c": "aten::_to_copy", "d": "aten::copy_",
        "e": "aten::addmm", "f": "custom::op", "g": "custom::outer", "h": "autograd::node",
        "i": "c10d::allreduce_", "j": "aten::add",
    }  # fmt: skip
    trace = draw(
        """
        step |11111111111111111111111111111111111111111111|
        op   |aaaaaaaa ccccccccc eeeeeeee gggggggg jjjj hi|
        op   | bbb      dddddd    dd  jj   fff            |
        """,
        names=names,
        args={"a": args([[8, 8], [0], [], []], ["float", "", "Scalar", ""]), "j": ADD},
    )
    columns = speed_of_light(trace)
    found = zip(columns.calls.kind.tolist(), columns.calls.measured_ns.tolist(), strict=True)
    assert [(text(columns, columns.kinds.op[kind]), ns) for kind, ns in found] == [
        ("aten::sum", 8000),  # it zeroes its output, and reads its input itself
        ("aten::copy_", 6000),  # does the work of the op around it
        ("aten::addmm", 8000),  # the bias is copied, and added
        ("custom::op", 3000),
        ("aten::add", 4000),
    ]
    rows = SpeedSelection(columns, (0, -1), None).by("op")
    reasons = dict(zip((text(columns, key) for key in rows.key), rows.reason, strict=True))
    assert reasons["custom::op"] == Reason.MODEL


@pytest.mark.parametrize("name", FILES)
def test_on_the_host_of_real_recordings_no_time_counts_twice(name: str) -> None:
    trace = opened(name)
    columns = speed_of_light(trace)
    if not columns.on_host:
        pytest.skip("its calls are kernels")
    host = trace.host
    is_op = np.append(np.asarray(host.kind == HostKind.OP), False)
    index = np.arange(len(host), dtype=np.int32)
    around = innermost(np.where(is_op[:-1], index, np.int32(-1)), host.parent)
    outer = is_op[:-1] & (np.append(around, np.int32(-1))[host.parent] < 0)
    assert columns.calls.measured_ns.sum() <= host.dur[outer].sum()


@pytest.mark.parametrize("name", FILES)
def test_on_real_recordings_parts_sum_to_the_steps_and_no_share_is_above_1(name: str) -> None:
    trace = opened(name)
    facts = summarize(trace)
    columns = placed(trace)
    for device, one in enumerate(facts.devices):
        if not one.used or columns.on_host:
            continue
        selection = select(facts, "all", device)
        parts = selection.partition
        if parts is None:
            continue
        found = SpeedSelection(columns, (*selection.indexes, -1), device)
        totals = found.totals
        compute = totals.light_ns + totals.waste_ns + totals.no_figure_ns
        assert compute == parts.compute_ns
        assert min(totals.light_ns, totals.waste_ns, totals.no_figure_ns) >= 0
        assert sum(ns for _, ns in found.reasons) == totals.no_figure_ns
        others = parts.exposed_communication_ns + parts.exposed_copy_ns + parts.memset_ns
        assert compute + others + parts.idle_ns == selection.total_ns
        rows = {group: found.by(group) for group in ("op", "kernel", "kind", "module")}
        for group in rows.values():
            assert not (group.light_ratio > 1 + 1e-9).any()
        # Every grouping divides the same time.
        whole = {int(rows[group].measured_ns.sum()) for group in ("op", "kernel", "kind")}
        assert len(whole) == 1
