"""The answers of the Kernel view."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from kinetoscope.base.errors import QueryError
from kinetoscope.trace.read import read
from kinetoscope.views.kernels.contract import KernelQuery, KernelRowQuery, Kernels
from kinetoscope.views.kernels.copies import direction
from kinetoscope.views.kernels.rows import fused_ops
from kinetoscope.views.kernels.view import VIEW, build, details, tables, window
from kinetoscope.views.operators import view as operators
from kinetoscope.views.operators.contract import OperatorQuery
from kinetoscope.views.overview import view as overview
from kinetoscope.views.overview.view import OverviewQuery
from kinetoscope.views.view import Subject
from tests.conftest import TRACES, requires_traces
from tests.drawing import draw
from tests.trace.drawn import drawn as of_events
from tests.trace.drawn import kernel
from tests.views.operators.test_view import subject_of

PICTURE = """
    step   |1111111111111111|
    op     | aaaaaa bbbb    |
    call   |  k      m      |
    gpu    |    kkk    mmm  |
    copy   | h              |
    """
ARGS: dict[str, dict[str, Any]] = {
    "k": {"grid": [4, 1, 1], "block": [64, 1, 1], "registers per thread": 32, "blocks per SM": 0.5,
          "est. achieved occupancy %": 25, "shared memory": 1024},
    "m": {"grid": [8, 1, 1], "block": [64, 1, 1], "registers per thread": 32, "blocks per SM": 1.5,
          "est. achieved occupancy %": 75, "shared memory": 0},
    "h": {"bytes": 3000},
}  # fmt: skip
NAMES = {"k": "ampere_sgemm_128x64", "m": "ampere_sgemm_128x64"}


@pytest.fixture(name="subject", scope="module")
def drawn() -> Subject:
    return subject_of(draw(PICTURE, args=ARGS, names=NAMES))


def test_mean_median_p95_and_largest_are_four_figures() -> None:
    """Twenty-five kernels of 1, 4, 9, … 625 µs: by nearest rank the 13th, the 24th, the last."""
    events, at = [], 0
    for size in range(1, 26):
        events.append(kernel("k", at, size * size))
        at += size * size + 1
    answer = build(subject_of(of_events(*events)), KernelQuery(steps="everything"))
    (row,) = answer.table.rows
    assert (row.min_ns, row.p50_ns, row.p95_ns, row.max_ns) == (1_000, 169_000, 576_000, 625_000)
    assert (row.calls, row.total_ns, row.mean_ns) == (25, 5_525_000, 221_000)


def test_all_kernels_of_a_name(subject: Subject) -> None:
    answer = build(subject, KernelQuery(steps="everything"))
    (row,) = answer.table.rows
    assert (row.name, row.calls, row.total_ns, row.mean_ns) == (NAMES["k"], 2, 6_000, 3_000)
    assert (row.blocks_per_sm, row.occupancy_percent) == (1.0, 50.0)
    assert (row.kernel_class, row.tensor_core, row.ratio) == ("gemm", "no", 1.0)
    assert (row.launch_ns, row.queue_ns) == (2_000, 1_000)
    assert [(part.name, part.ns) for part in answer.classes] == [
        ("gemm", 6_000),
        ("unclassified", 0),
    ]
    assert sum(answer.tensor_core.values()) == answer.kernel_ns == 6_000
    (copy,) = answer.copies
    assert (copy.direction, copy.total_bytes, copy.total_ns) == (
        "host → device, pageable",
        3000,
        1_000,
    )
    assert copy.bandwidth_bytes_per_s == 3e9
    assert msgspec.json.decode(msgspec.json.encode(answer), type=Kernels) == answer


def test_what_moves_data_is_no_candidate_for_tensor_cores() -> None:
    answer = build(
        subject_of(draw(PICTURE, names={"k": "ncclDevKernel_AllReduce_Sum_f32", "m": "attn_fwd"})),
        KernelQuery(),
    )
    assert {row.name: row.tensor_core for row in answer.table.rows} == {
        "ncclDevKernel_AllReduce_Sum_f32": "none",
        "attn_fwd": "yes",
    }
    assert answer.tensor_core == {"no": 0, "yes": 3_000, "unknown": 0, "none": 3_000}


def test_whether_the_op_may_use_tensor_cores_is_told() -> None:
    subject = subject_of(draw(PICTURE, names={"a": "aten::mm", "k": "my_kernel", "m": "other"}))
    rows = build(subject, KernelQuery(group_by="properties")).table.rows
    assert {row.name: row.op_eligible for row in rows} == {"my_kernel": True, "other": False}
    (table, *_) = tables(build(subject, KernelQuery(group_by="properties")))
    assert "op_eligible" in [column.key for column in table.columns]


def test_kernels_by_properties_and_op(subject: Subject) -> None:
    table = window(subject, KernelQuery(group_by="properties", sort_by="occupancy_percent"))
    rows = [(row.op, row.grid, row.block, row.registers, row.shared_bytes) for row in table.rows]
    assert rows == [
        ("aten::b", "[8,1,1]", "[64,1,1]", 32, 0),
        ("aten::a", "[4,1,1]", "[64,1,1]", 32, 1024),
    ]
    found = window(subject, KernelQuery(group_by="properties", search_op="ATEN::B"))
    assert [row.op for row in found.rows] == ["aten::b"]
    assert table.total_ns == window(subject, KernelQuery()).total_ns


def test_a_row_opens(subject: Subject) -> None:
    (row,) = window(subject, KernelQuery()).rows
    found = details(subject, KernelRowQuery(key=row.key))
    assert found.row == row
    assert [(one.name, one.total_ns) for one in found.ops] == [
        ("aten::a", 3_000),
        ("aten::b", 3_000),
    ]
    assert {one.grid for one in found.launches} == {"[4,1,1]", "[8,1,1]"}
    assert len(found.slowest) == 2
    assert (found.ops_count, found.launches_count) == (2, 2)


@pytest.mark.parametrize("query", [{"sort_by": "x"}, {"steps": "4"}, {"device": "7"}])
def test_what_has_no_meaning_is_told(subject: Subject, query: dict[str, Any]) -> None:
    with pytest.raises(QueryError):
        window(subject, KernelQuery(**query))


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("Memcpy HtoD (Pageable -> Device)", "host → device, pageable"),
        ("Memcpy DtoH (Device -> Pinned)", "device → host, pinned"),
        ("Memcpy DtoD (Device -> Device)", "device → device"),
        ("Memset (Device)", "Memset (Device)"),
    ],
)
def test_where_a_copy_goes(name: str, told: str) -> None:
    assert direction(name) == told


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("triton_poi_fused_add_relu_3", "add_relu"),
        ("triton_red_fused__to_copy_mean_0", "to_copy_mean"),
        ("ampere_sgemm", ""),
    ],
)
def test_what_a_generated_kernel_holds(name: str, told: str) -> None:
    assert fused_ops(name) == told


@requires_traces
@pytest.mark.parametrize(
    "name",
    [
        "tracelens/b200/eager_trace.json.gz",
        "tracelens/mi300/resnet_act_checkpoint.json.gz",
        "kineto_tb_samples/resnet50_num_workers_0/worker0.1623143089861.pt.trace.json.gz",
    ],
)
def test_both_groupings_and_the_copies_are_all_device_time(name: str) -> None:
    subject = subject_of(read(Path(TRACES, name)))
    queries = [
        KernelQuery(steps="everything", group_by=by) for by in ("name", "properties", "class")
    ]
    answers = [build(subject, query) for query in queries]
    assert len({(one.table.total_ns, one.table.calls) for one in answers}) == 1
    whole = int(subject.artifact("").activities.dur_ns.sum())
    assert answers[0].kernel_ns + answers[0].copies_ns == whole
    assert sum(part.ns for part in answers[0].classes) == answers[0].kernel_ns
    assert VIEW.tables(answers[0])


def test_the_usual_steps_count_and_a_sentence_says_what_lies_outside() -> None:
    """3 µs before the steps, 4 in the first, 2 in the second."""
    subject = subject_of(
        draw(
            """
            step   |    1111111122222222|
            op     | aa  bbbb    cc     |
            call   | h   k n     m      |
            gpu    |  hhh k nnn   mm    |
            """
        )
    )
    asked = {"": 4_000, "all": 6_000, "everything": 9_000, "2": 2_000}
    for steps, ns in asked.items():
        answer = build(subject, KernelQuery(steps=steps))
        assert answer.kernel_ns == answer.table.total_ns == ns
        assert sum(row.total_ns for row in answer.table.rows) == ns
    said = {steps: build(subject, KernelQuery(steps=steps)).detail for steps in asked}
    assert said[""].endswith(". 5.00\u00a0µs of kernel time is outside these steps.")
    assert said["all"].endswith(". 3.00\u00a0µs of kernel time is outside these steps.")
    assert "outside" not in said["everything"] + said["2"]


def said_of(**durations: float) -> str:
    """The sentence about kernels of these names and durations."""
    events, at = [], 0.0
    for name, spent in durations.items():
        events.append(kernel(name, at, spent))
        at += spent
    return build(subject_of(of_events(events)), KernelQuery()).headline.replace("\u00a0", " ")


@pytest.mark.parametrize(
    ("durations", "said"),
    [
        (
            {
                "sgemm_128": 1,
                "softmax_warp_forward": 0.9,
                "zap": 3,
                "zip": 2,
                "gelu_kernel": 0.6,
                "layer_norm_kernel": 0.5,
            },
            "62.5 % of the kernel time has no known class; GEMM kernels take 12.5 %.",
        ),
        (
            {"sgemm_128x64": 6, "zap": 4},
            "GEMM kernels take 60.0 % of the kernel time; 40.0 % has no known class.",
        ),
        ({"sgemm_128x64": 999, "zap": 1}, "GEMM kernels take 99.9 % of the kernel time."),
        ({"sgemm_128x64": 4}, "GEMM kernels take 100 % of the kernel time."),
        ({"zap": 4}, "No name of a kernel tells its class."),
    ],
)
def test_what_has_no_known_class_is_told_beside_the_largest_one(
    durations: dict[str, float], said: str
) -> None:
    assert said_of(**durations) == said


@pytest.mark.parametrize(
    ("vendor", "name", "other"),
    [("NVIDIA", "Tensor cores", "matrix"), ("AMD", "Matrix cores", "tensor")],
)
def test_every_view_calls_the_cores_as_their_vendor_does(
    subject: Subject, vendor: str, name: str, other: str
) -> None:
    """In answers, so on the page, and in tables, so on the command line and in exports."""
    devices = tuple(replace(one, vendor=vendor) for one in subject.facts.devices)
    subject = replace(subject, facts=replace(subject.facts, devices=devices))
    kernels = build(subject, KernelQuery())
    ops = operators.build(subject, OperatorQuery())
    summary = overview.build(subject.facts, OverviewQuery())
    assert {kernels.cores_name, ops.cores_name} == {name}
    shown = [*tables(kernels), *operators.tables(ops), *overview.tables(summary)]
    headings = [one for table in shown for one in (table.title, *table.columns)]
    said = [kernels.definitions, ops.table.columns, summary.devices, headings]
    texts = re.sub(r"matrix products|matrix work", "", msgspec.json.encode(said).decode())
    # A key goes by one name whatever the vendor: only what is read changes.
    texts = re.sub(r"\btensor_core\w*", "", texts)
    assert not re.search(rf"\b{other}\b", texts, re.IGNORECASE)
    assert re.search(rf"\b{name}\b", texts)


def grouped(subject: Subject, group_by: str) -> dict[str, int]:
    """Time of each row of a grouping."""
    found = window(subject, msgspec.convert({"group_by": group_by}, KernelQuery))
    assert [one.key for one in found.columns if one.key == "kernel_class"] == []
    return {row.name: row.total_ns for row in found.rows}


OWNED = """
    step    |11111111111111111111|
    frame   | ffffffggggg        |
    module  |  aaaa  bbb         |
    op      |  x     y           |
    call    |  k     m    q      |
    op2     |           v  w     |
    call2   |           s  t     |
    gpu     |   kkk  mm sssstt q |
    """
OF_FORWARD: dict[str, dict[str, Any]] = {
    "x": {"Sequence number": 1},
    "y": {"Sequence number": 2},
    "v": {"Sequence number": 2, "Fwd thread id": 1},
    "w": {"Sequence number": 1, "Fwd thread id": 1},
}


def test_modules_and_frames_of_the_user_own_kernels_of_backward_too() -> None:
    subject = subject_of(draw(OWNED, args=OF_FORWARD))
    of_module = grouped(subject, "module")
    assert of_module == {"nn.Module: b_0": 6000, "nn.Module: a_0": 5000, "outside modules": 1000}
    assert grouped(subject, "line") == {
        "train.py(1): g": 6000,
        "train.py(1): f": 5000,
        "no frame of your code": 1000,
    }
    assert sum(of_module.values()) == build(subject, KernelQuery()).kernel_ns
    (row, *_) = window(subject, KernelQuery(group_by="line")).rows
    found = details(subject, KernelRowQuery(row.key, group_by="line"))
    assert [(one.name, one.total_ns) for one in found.launches] == [
        ("kernel_s", 4000),
        ("kernel_m", 2000),
    ]
