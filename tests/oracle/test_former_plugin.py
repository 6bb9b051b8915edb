"""Held against the former plugin itself, where it can be run; the differences that remain are in
docs/overview.md."""

from __future__ import annotations

from pathlib import Path

import pytest

from kinetoscope.analysis.summarize import summarize
from kinetoscope.trace.read import read
from kinetoscope.views.overview.view import Overview, OverviewQuery, build
from tests.conftest import TRACES, requires_traces
from tests.oracle.former_plugin import CATEGORIES, former_overview, requires_former

pytestmark = [requires_traces, requires_former]

# Its published wheel knows the categories of torch 1.9 and 1.10, and runs on the host.
SAME_CATEGORIES = ("kineto_tb_samples/*/*.json.gz",)
ON_THE_HOST = (
    "fresh_torch2.13/ddp2_full/*.json.gz",
    "fresh_torch2.13/resnet_w0/*.json",
    "fresh_torch2.13/fsdp2_gpt/*.json.gz",
    "fresh_torch2.13/steps/*step5.json.gz",
)
# Steps are known, calls of the runtime are not, so windows agree where no device work runs late.
KERNELS_ALONE = ("torchbench/trace.json", "kineto_tb_samples/*/*.json.gz")

ADVICE = {
    "IN1": "high time cost on input data loading",
    "CO7": "DistributedDataParallel",
    "CO9": "NCCL",
    "CO1": "high time cost on communication",
    "UT1": "low utilization",
    "DT2": "Tensor Cores eligible operators",
    "ME1": "reached the memory limit",
}


def matching(patterns: tuple[str, ...]) -> list[Path]:
    return sorted(path for pattern in patterns for path in TRACES.glob(pattern))


def ours(path: Path) -> Overview:
    return build(summarize(read(path)), OverviewQuery(steps="all"))


@pytest.mark.parametrize("path", matching(SAME_CATEGORIES), ids=lambda path: path.parent.name)
def test_every_figure_of_the_overview(path: Path) -> None:
    former, answer = former_overview(path), ours(path)

    assert [name for name, _ in former.steps] == [str(row.number) for row in answer.steps]
    for (_, parts), row in zip(former.steps, answer.steps, strict=True):
        for name, key in CATEGORIES.items():
            assert getattr(row.breakdown, key) == parts.get(name, 0) * 1000, (row.name, name)

    rows = {row.key: row for row in answer.summary}
    for name, (microseconds, percent) in former.mean.items():
        mean = rows["step" if name == "Average Step Time" else CATEGORIES[name]]
        assert round(mean.mean_ns / 1000) == microseconds
        assert round(mean.ratio * 100, 2) == percent

    used = next(card for card in answer.devices if card.used)
    shown = dict(former.devices)
    assert (used.name, used.capability) == (shown["Name"], shown["Compute Capability"])
    gauges = {gauge.key: gauge.ratio or 0.0 for gauge in used.gauges}
    for key, title in {
        "utilization": "GPU Utilization",
        "sm_efficiency": "Est. SM Efficiency",
        "occupancy": "Est. Achieved Occupancy",
        "tensor_core": "Kernel Time using Tensor Cores",
    }.items():
        assert f"{round(gauges[key] * 100, 2)} %" == shown[title]

    expected = {rule for rule, words in ADVICE.items() if words in former.recommendations}
    assert {one.id for one in answer.findings} == expected


@pytest.mark.parametrize("path", matching(ON_THE_HOST), ids=lambda path: path.parent.name)
def test_lengths_of_steps_without_a_device(path: Path) -> None:
    former, answer = former_overview(path), ours(path)
    for (_, parts), row in zip(former.steps, answer.steps, strict=True):
        # It reads times through doubles: a quarter of a microsecond each.
        assert sum(parts.values()) == pytest.approx(row.dur_ns / 1000, abs=1)


@pytest.mark.parametrize("path", matching(KERNELS_ALONE), ids=lambda path: path.parent.name)
def test_kernels_and_copies(path: Path) -> None:
    former, answer = former_overview(path), ours(path)
    for (_, parts), row in zip(former.steps, answer.steps, strict=True):
        assert row.breakdown["kernel_ns"] == parts["Kernel"] * 1000
        assert row.breakdown["memcpy_ns"] == parts["Memcpy"] * 1000
