"""Idle time without a cause, in the table of docs/overview.md, is what the view gives today."""

from __future__ import annotations

import re
from functools import cache

import pytest

from kinetoscope.analysis.summarize import summarize
from kinetoscope.trace.read import read
from kinetoscope.views.overview.view import OverviewQuery, build
from tests.conftest import ROOT, TRACES, requires_traces

PAGE = (ROOT / "docs/overview.md").read_text("utf-8")
ROW = re.compile(r"^\| ([^|]+) \| ([\d.]+) ms \| ([\d.]+) % \| ([\d.]+) % \|$", re.MULTILINE)
DOCUMENTED = {name: tuple(map(float, figures)) for name, *figures in ROW.findall(PAGE)}
RECORDINGS = {
    "V100, ResNet-50, 0 workers": "kineto_tb_samples/resnet50_num_workers_0/*",
    "V100, ResNet-50, 4 workers": "kineto_tb_samples/resnet50_num_workers_4/*",
    "B200, vLLM, eager": "tracelens/b200/*",
    "H100, BERT small": "tracelens/h100/gaunernst*",
    "H100, Qwen 1.5 0.5B": "tracelens/h100/Qwen*",
    "H100, NSFW classifier": "tracelens/h100/Falconsai*",
    "MI300X, BERT small": "tracelens/mi300/gaunernst*",
    "MI300X, Qwen 1.5 0.5B": "tracelens/mi300/Qwen*",
    "MI300X, ResNet, checkpointing": "tracelens/mi300/resnet*",
    "SGLang, decode": "tracelens/inference/sglang_decode/*",
    "vLLM, replayed graphs": "tracelens/inference/vllm_decode_full/graph_execution*",
    "vLLM, capture of graphs": "tracelens/inference/vllm_decode_full/capture_traces/*",
    "xDiT, Stable Diffusion 3.5": "tracelens/inference/xdit_sd_3.5/*",
    "Switch Transformers": "misc_repos/switch_transformers/*",
}
LARGE = {"xDiT, Stable Diffusion 3.5"}  # a quarter of a million events


@cache
def figures_of(pattern: str) -> tuple[float, ...]:
    """Idle ms over all steps; the shares of it without a cause and without a recorded op, in %."""
    (path,) = TRACES.glob(pattern)
    ruler = build(summarize(read(path)), OverviewQuery(steps="all")).ruler
    idle = ruler.idle_ns or 0
    shares = {one.label: 100 * one.mean_ns / idle for one in ruler.shares}
    without = (
        shares.get(f"Idle: {part}", 0.0) for part in ("unattributed", "host, no known operator")
    )
    return (idle * ruler.step_count / 1e6, *without)


def test_every_row_has_its_recording() -> None:
    assert DOCUMENTED.keys() == RECORDINGS.keys()


@requires_traces
@pytest.mark.parametrize("name", sorted(RECORDINGS.keys() - LARGE))
def test_the_table_is_current(name: str) -> None:
    idle, *shares = figures_of(RECORDINGS[name])
    documented, *documented_shares = DOCUMENTED[name]
    assert idle == pytest.approx(documented, rel=0.01, abs=0.005)
    for share, one in zip(shares, documented_shares, strict=True):
        assert share == pytest.approx(one, abs=0.01)
