"""The bridge sums to the change of the step, to the nanosecond, for every pair."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinetoscope.analysis.diff.bridge import apportioned, bridge, divisions
from kinetoscope.analysis.diff.verdict import compare
from kinetoscope.trace.read import read
from tests.conftest import TRACES, requires_traces

from .training import Plant, side_of, training

PAIRS = [
    ("kineto_tb_samples/resnet50_num_workers_0", "kineto_tb_samples/resnet50_num_workers_4"),
    ("hta/trace_compare/base", "hta/trace_compare/test"),
    ("tracelens/h100", "tracelens/mi300"),
    ("fresh_torch2.13/resnet_w0", "fresh_torch2.13/resnet_w2"),
    ("fresh_torch2.13/resnet_w0", "fresh_torch2.13/compile"),
    ("dlrm_8rank_v100", "fresh_torch2.13/resnet_w0"),
]


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=12), st.integers(1, 1000))
@settings(max_examples=200)
def test_parts_of_a_mean_sum_to_the_rounded_mean(totals: list[int], count: int) -> None:
    parts = apportioned([np.array(totals) / count])
    assert abs(sum(parts) - sum(totals) / count) <= 0.501
    assert all(abs(part - total / count) < 1 for part, total in zip(parts, totals, strict=True))


@requires_traces
@pytest.mark.parametrize(("left", "right"), PAIRS)
def test_parts_sum_to_the_change_of_the_step(left: str, right: str) -> None:
    base, other = (
        side_of(read(str(next(iter(sorted((TRACES / one).rglob("*.json*"))))))).selection
        for one in (left, right)
    )
    for division in divisions(base, other):
        found = bridge([base], [other], division)
        assert sum(part.change_ns for part in found.parts) == found.change_ns
        assert sum(part.base_ns for part in found.parts) == found.base_ns
        for whole, side in ((found.base_ns, base), (found.other_ns, other)):
            assert abs(whole - float(np.median([one.dur_ns for one in side.steps]))) <= 0.5


@requires_traces
@pytest.mark.parametrize("name", sorted({one for pair in PAIRS for one in pair}))
def test_a_trace_against_itself_is_all_zeros(name: str) -> None:
    path = str(next(iter(sorted((TRACES / name).rglob("*.json*")))))
    found = compare(side_of(read(path)), side_of(read(path)))
    assert found.outcome == "no change"
    assert all(part.change_ns == 0 for part in found.bridge.parts)
    assert not any(one.differs for one in found.counts)
    assert found.mismatches == ()


def test_a_step_that_waits_less_for_the_loader_says_so() -> None:
    base, other = training(1, 12, Plant(loader_us=900)), training(2, 12, Plant(loader_us=20))
    found = compare(base, other)
    assert found.outcome == "better"
    assert found.headline.endswith("the DataLoader no longer blocks the GPU.")
    parts = {part.key: part for part in found.bridge.parts}
    assert parts["idle_dataloader_ns"].is_real
    assert parts["idle_dataloader_ns"].change_ns == pytest.approx(-880_000, rel=0.05)


@requires_traces
def test_workers_explain_the_change_of_the_tutorial() -> None:
    """ResNet-50, no worker against four. The first step of B lies in the head of its recording."""
    names = ("kineto_tb_samples/resnet50_num_workers_0", "kineto_tb_samples/resnet50_num_workers_4")
    base, other = (side_of(read(str(next((TRACES / one).glob("*.json*"))))) for one in names)
    found = compare(base, other)
    assert (found.bridge.base_ns, found.bridge.change_ns) == (177_443_000, -51_260_000)
    assert found.outcome == "better"
    assert "Waiting for the DataLoader fell by 58.3\u00a0ms." in found.detail
    (outlier,) = found.outliers
    assert outlier.startswith("Step 9 of B takes 163\u00a0ms, 37.3\u00a0ms more than the median")
    parts = {part.key: part for part in found.bridge.parts}
    # The bars of the tutorial: 59.3 ms of waiting of which 1.2 ms are left.
    loader = parts["idle_dataloader_ns"]
    assert loader.change_ns == pytest.approx(-58_100_000, rel=0.05)
    assert loader.is_real
    assert [key for key, part in parts.items() if part.is_real] == ["idle_dataloader_ns"]
