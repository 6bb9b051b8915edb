"""Speed of light: unknown figures are left out and are no zeros; every sum is the steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kinetoscope.analysis.graphs.captures import captures_of
from kinetoscope.analysis.graphs.replays import graphs_of
from kinetoscope.analysis.speed_of_light.attribution import speed_of_light as speed_columns
from kinetoscope.analysis.speed_of_light.captured import with_captured
from kinetoscope.analysis.speed_of_light.figures import SpeedSelection
from kinetoscope.analysis.summarize import summarize
from kinetoscope.cli.diff import opened as diff_side
from kinetoscope.session.session import TraceSession, choose
from kinetoscope.trace.model import Trace
from kinetoscope.views.diff.contract import DiffRow, DiffTableQuery
from kinetoscope.views.diff.rows import Pair
from kinetoscope.views.kernels.contract import KernelQuery
from kinetoscope.views.kernels.view import VIEW as KERNELS
from kinetoscope.views.kernels.view import build as kernels_of
from kinetoscope.views.modules.contract import ModulesQuery
from kinetoscope.views.modules.view import VIEW as MODULES
from kinetoscope.views.modules.view import build as modules_of
from kinetoscope.views.operators.contract import OperatorQuery
from kinetoscope.views.operators.view import VIEW as OPERATORS
from kinetoscope.views.operators.view import build as operators_of
from kinetoscope.views.speed_of_light.contract import SpeedOfLight, SpeedQuery, SpeedRow
from kinetoscope.views.speed_of_light.pictures import MOST_POINTS
from kinetoscope.views.speed_of_light.view import VIEW, build, summary, tables
from kinetoscope.views.table import rows_from
from tests.analysis.graphs.test_captures import execution
from tests.analysis.speed_of_light.test_captured import capture
from tests.collected import FILES, opened
from tests.drawing import V100, draw, draw_at
from tests.trace.drawn import drawn, kernel, launch, python, x

HALF = ["c10::Half", "c10::Half"]
MM = {"Input Dims": [[640, 512], [512, 256]], "Input type": HALF}
ADD = {
    "Input Dims": [[512, 900], [512, 900], []],
    "Input type": ["float", "float", "Scalar"],
    "Concrete Inputs": ["", "", "1"],
}
PICTURE = """
    step |11111111111111111111111111111111|
    op   |a b c                           |
    call |k l m                           |
    gpu  |    kkkkkk  llllllllmm          |
    """


def lit() -> Trace:
    """A product for 6 µs, a sum for 8, an unknown op for 2."""
    return draw(
        PICTURE,
        names={"a": "aten::mm", "b": "aten::add", "c": "custom::op"},
        args={"a": MM, "b": ADD},
        deviceProperties=[V100],
    )


def answered(trace: Trace, **query: Any) -> SpeedOfLight:
    return build(TraceSession(trace).subject(VIEW), SpeedQuery(**query))


def test_light_and_waste_are_left_out_where_no_kernel_has_a_figure() -> None:
    answer = answered(
        draw("step |1111111111|\nop   |aaaa      |\ncall |k         |\ngpu  |  kkkk    |")
    )
    keys = [part.key for part in answer.parts]
    assert {"no_figure", "idle"} <= set(keys)
    assert not {"light", "waste"} & set(keys)
    assert answer.ranking == ()
    assert answer.roofline is None


def test_the_roofline_has_the_rates_of_the_device_and_a_point_for_each_op() -> None:
    roofline = answered(lit()).roofline
    assert roofline is not None
    assert roofline.bandwidth_gb_s == 900
    assert [(one.name, one.tflop_s) for one in roofline.roofs] == [("16-bit", 125)]
    points = {one.name: one for one in roofline.points}
    assert set(points) == {"aten::mm", "aten::add"}, "what has no figure is no point"
    flops, moved = 2 * 640 * 512 * 256, 2 * (640 * 512 + 512 * 256 + 640 * 256)
    product = points["aten::mm"]
    assert product.tflop_s == pytest.approx(flops / 6e6)
    assert product.intensity == pytest.approx(flops / moved)
    assert product.gb_s == pytest.approx(moved / 6e3)
    assert (points["aten::add"].intensity, points["aten::add"].tflop_s) == (None, 0)
    assert [one.ns for one in roofline.points] == [8000, 6000]


def test_the_ranking_sums_to_the_steps_without_light() -> None:
    answer = answered(lit())
    parts = {part.key: part.ns for part in answer.parts}
    ranks = {(rank.key, rank.name): rank.ns for rank in answer.ranking}
    light = 2 * (640 * 512 + 512 * 256 + 640 * 256) / 900  # its FLOPs take 1342 ns, its bytes 1384
    assert ranks["op", "aten::mm"] == pytest.approx(6000 - light, abs=1)
    assert ranks["idle", "idle"] == 32_000 - 16_000
    assert ranks["no_figure", "compute without a figure"] == 2000
    assert answer.ranking[-1].running_ns == 32_000 - parts["light"]
    assert answer.ranking[0].name == "idle"
    assert "Above light" in {table.title for table in tables(answer)}


def test_the_summary_names_the_ops_with_most_waste() -> None:
    found = summary(TraceSession(lit()).subject(VIEW), SpeedQuery())
    assert [rank.name for rank in found.ranking] == ["aten::mm", "aten::add"]
    assert {part.key for part in found.parts} >= {"light", "waste", "no_figure"}
    assert found.mfu_ratio == pytest.approx(2 * 640 * 512 * 256 / 125e3 / 32_000)
    assert found.mbu_ratio is None, "nothing decodes"


@pytest.mark.parametrize("name", FILES)
def test_on_real_recordings_no_point_lies_above_its_roof(name: str) -> None:
    trace = opened(name)
    if VIEW.unavailable(summarize(trace)):
        return
    short = summary(TraceSession(trace).subject(VIEW), SpeedQuery(steps="all"))
    assert short.reasons == answered(trace, steps="all").reasons
    for group in ("op", "kernel"):
        answer = answered(trace, steps="all", group_by=group)
        if answer.ranking:
            parts = {part.key: part.ns for part in answer.parts}
            assert answer.ranking[-1].running_ns == sum(parts.values()) - parts["light"]
        if answer.roofline is None:
            continue
        roofs = {one.name: one.tflop_s for one in answer.roofline.roofs}
        assert len(answer.roofline.points) <= MOST_POINTS + 1
        for point in answer.roofline.points:
            assert point.light_ratio <= 1 + 1e-9
            assert point.gb_s <= answer.roofline.bandwidth_gb_s * (1 + 1e-9)
            assert point.tflop_s <= roofs.get(point.unit, max(roofs.values(), default=0)) * 1.000001


def test_kernels_and_operators_have_the_waste_of_their_names() -> None:
    session = TraceSession(lit())
    kernels = kernels_of(session.subject(KERNELS), KernelQuery())
    assert {row.name: (row.waste_ns, row.bound) for row in kernels.table.rows} == {
        "kernel_k": (6000 - 1384, "memory"),
        "kernel_l": (8000 - 6144, "memory"),
        "kernel_m": (None, None),
    }
    operators = operators_of(session.subject(OPERATORS), OperatorQuery())
    found = {row.name: row.light_ratio for row in operators.table.rows}
    assert found["aten::mm"] == pytest.approx(1384 / 6000, rel=0.001)
    assert found["custom::op"] is None
    assert "waste_ns" in {head.key for head in operators.table.columns}


def test_without_a_data_sheet_kernels_have_no_columns_of_light() -> None:
    picture = "step |1111111|\nop   |a      |\ncall |k      |\ngpu  |  kkkk |"
    trace = draw(picture, names={"a": "aten::mm"}, args={"a": MM})
    answer = kernels_of(TraceSession(trace).subject(KERNELS), KernelQuery())
    assert "waste_ns" not in {head.key for head in answer.table.columns}
    assert [row.waste_ns for row in answer.table.rows] == [None]


def test_a_module_has_the_light_of_what_it_and_those_inside_it_launched() -> None:
    trace = drawn(
        python("nn.Module: Net_0", 0, 30),
        python("nn.Module: Linear_0", 2, 10),
        x("aten::mm", 3, 5, **MM),
        launch(4, 1, 7),
        x("custom::op", 14, 5),
        launch(15, 1, 8),
        kernel("k", 20, 6, correlation=7),
        kernel("m", 30, 2, correlation=8),
        deviceProperties=[V100],
    )
    answer = modules_of(TraceSession(trace).subject(MODULES), ModulesQuery())
    rows = {row.name: row for row in answer.table.rows}
    assert set(rows) == {"Net_0", "Linear_0"}
    for row in rows.values():
        assert row.light_ratio == pytest.approx(1384 / 6000, rel=0.001)
        assert row.waste_ns == 6000 - 1384, "work without a figure is no waste"
        spent = 8000 if row.name == "Net_0" else 6000
        assert row.mfu_ratio == pytest.approx(2 * 640 * 512 * 256 / 125e3 / spent)
    assert "waste_ns" in {head.key for head in answer.table.columns}


def test_a_cpu_has_light_by_the_rates_that_the_handler_measured() -> None:
    peak = {"float_tflops": 0.1, "bandwidth_gb_s": 10.0, "half_tflops": float("nan")}
    floats = {"Input Dims": [[640, 512], [512, 256]], "Input type": ["float", "float"]}
    halves = {**floats, "Input type": HALF}
    ops = [
        x("aten::mm", 100, 4000, **floats),
        x("aten::add", 5000, 2000, **ADD),
        x("aten::mm", 8000, 500, **halves),
        x("aten::relu", 9000, 10, **{"Input Dims": [[900, 900]], "Input type": ["float"]}),
    ]
    trace = drawn(ops, kinetoscope={"cpu_peak": peak})
    answer = answered(trace, group_by="kind", steps="all")
    rows = {(row.name, row.unit): row for row in answer.table.rows}
    product = rows["aten::mm", "FP32"]
    assert product.light_ratio == pytest.approx(2 * 640 * 512 * 256 / 0.1e3 / 4_000_000)
    total = rows["aten::add", None]
    assert total.light_ratio == pytest.approx(3 * 4 * 512 * 900 / 10 / 2_000_000)
    assert {row.reason for row in answer.table.rows} == {
        None, "no rate of this type", "faster than the model allows",
    }  # fmt: skip
    minor = {head.key: head.is_minor for head in answer.table.columns}
    assert not minor["shapes"], "rows of one op differ by their shapes"
    assert {head.key for head in answered(trace, steps="all").table.columns if head.is_minor} >= {
        "shapes", "dtype",
    }  # fmt: skip
    assert answer.source == "measured"
    assert answer.headline.startswith("Ops run at 37.2\xa0% of the roofline;")
    assert answer.detail.startswith("7.8\xa0% of op time has no figure.")
    assert answer.roofline is not None
    assert answer.roofline.bandwidth_gb_s == 10
    assert answer.parts == ()
    operators = operators_of(TraceSession(trace).subject(OPERATORS), OperatorQuery())
    ratios = {row.name: row.light_ratio for row in operators.table.rows}
    assert ratios["aten::add"] == total.light_ratio
    assert ratios["aten::relu"] is None
    assert [one.ns for one in answer.reasons] == [500_000, 10_000]


@pytest.mark.parametrize("told", [None, 3, {}, {"float_tflops": 1.0}, {"bandwidth_gb_s": -1.0}])
def test_a_cpu_without_measured_rates_has_no_light(told: object) -> None:
    trace = drawn([x("aten::add", 0, 2000, **ADD)], kinetoscope={"cpu_peak": told})
    answer = answered(trace, steps="all")
    assert answer.headline.startswith("Not available")
    assert answer.table.rows[0].light_ns is None


def compared(folder: Path, **query: Any) -> tuple[set[str], dict[str, DiffRow]]:
    """Columns and rows of a comparison: B computes the product more slowly, and sums more."""
    wide = {**ADD, "Input Dims": [[512, 1800], [512, 1800], []]}
    for name, picture, add in (
        ("a", PICTURE.replace("kkkkkk", "kkkk  "), ADD),
        ("b", PICTURE.replace("lllllllm", "llllllllllllllllm"), wide),
    ):
        names = {"a": "aten::mm", "b": "aten::add", "c": "custom::op"}
        args = {"a": MM, "b": add}
        draw_at(folder / f"{name}.json", picture, names=names, args=args, deviceProperties=[V100])
    base, other = (diff_side(choose(str(folder / f"{name}.json"))) for name in "ab")
    found = Pair(base, other).table(DiffTableQuery(**query))
    return {head.key for head in found.columns}, {row.name: row for row in found.rows}


@pytest.mark.parametrize(
    ("query", "product", "total"),
    [
        ({"metric": "device_self_ns"}, "aten::mm", "aten::add"),
        ({"metric": "device_self_ns", "by_shape": True}, "aten::mm", ""),
        ({"group": "kernels", "kernels_by": "name"}, "kernel_k", "kernel_l"),
    ],
)
def test_a_comparison_tells_slower_work_from_more_work(
    query: dict[str, Any], product: str, total: str, tmp_path: Path
) -> None:
    columns, rows = compared(tmp_path, **query)
    assert {"waste_change_ns", "work", "base_bound", "other_light_ratio"} <= columns
    row = rows[product]
    assert row.work == "equal"
    assert row.base_light_ratio == pytest.approx(1384 / 4000, rel=0.001)
    assert row.other_light_ratio == pytest.approx(1384 / 6000, rel=0.001)
    assert row.waste_change_ns == pytest.approx(2000)
    assert (row.base_bound, row.other_bound) == ("memory", "memory")
    if total:
        assert rows[total].work == "more"
        assert rows[total].base_waste_ns == pytest.approx(8000 - 6144)
    unknown = rows["kernel_m" if product == "kernel_k" else "custom::op"]
    assert unknown.work is None
    assert unknown.waste_change_ns is None


def test_a_comparison_of_times_of_the_host_has_no_light(tmp_path: Path) -> None:
    assert "work" not in compared(tmp_path, metric="self_ns")[0]


def test_rows_say_where_their_sizes_come_from() -> None:
    replays = execution([("a", 4)])
    eager = [x("aten::add", 100, 8, **ADD), launch(101, 2, 7), kernel("s", 104, 9, correlation=7)]
    trace = drawn(replays, eager, deviceProperties=[V100])
    lender = captures_of(drawn(capture(("aten::mm", ["a"], MM))))
    columns = with_captured(speed_columns(trace), graphs_of(trace), (lender,), ())
    groups = SpeedSelection(columns, columns.steps_of(None), 0).by("op")
    rows = rows_from(SpeedRow, groups, np.arange(len(groups)))
    assert {row.name: row.sizes_from for row in rows} == {"aten::mm": "capture", "aten::add": None}
