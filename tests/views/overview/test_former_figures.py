"""The figures that the former plugin shows of two recordings from 2021: ResNet-50 on a V100."""

from __future__ import annotations

from functools import cache
from unittest.mock import patch

import pytest

from kinetoscope.analysis.device_work import DeviceWork
from kinetoscope.analysis.idle.roles import HostCauses
from kinetoscope.analysis.summarize import summarize
from kinetoscope.trace.read import read
from kinetoscope.views.overview.view import Overview, OverviewQuery, build
from tests.conftest import TRACES, requires_traces

pytestmark = requires_traces

# Category → mean of a step in µs and its share in percent, as shown there.
SUMMARY = {
    0: {
        "step": (177_592, 100.0),
        "kernel_ns": (98_589, 55.51),
        "memcpy_ns": (1_915, 1.08),
        "memset_ns": (89, 0.05),
        "communication_ns": (0, 0.0),
        "runtime_ns": (2_908, 1.64),
        "dataloader_ns": (59_262, 33.37),
        "cpu_exec_ns": (13_674, 7.70),
        "other_ns": (1_156, 0.65),
    },
    4: {
        "step": (141_068, 100.0),
        "kernel_ns": (99_145, 70.28),
        "memcpy_ns": (3_160, 2.24),
        "memset_ns": (98, 0.07),
        "communication_ns": (0, 0.0),
        "runtime_ns": (10_564, 7.49),
        "dataloader_ns": (1_186, 0.84),
        "cpu_exec_ns": (22_665, 16.07),
        "other_ns": (4_251, 3.01),
    },
}
# Step → kernel, memcpy, memset, runtime, DataLoader, CPU exec, other in µs.
STEPS = {
    0: {
        5: (98_598, 1_941, 90, 2_796, 69_317, 14_091, 1_115),
        6: (98_570, 1_947, 89, 2_762, 57_669, 12_968, 1_148),
        7: (98_596, 1_931, 91, 2_877, 61_257, 13_768, 1_213),
        8: (98_623, 1_938, 89, 2_841, 56_453, 13_420, 1_200),
        9: (98_504, 1_937, 87, 2_788, 62_690, 15_025, 1_141),
        10: (98_641, 1_798, 88, 3_381, 48_185, 12_773, 1_117),
    },
    4: {
        5: (99_778, 3_606, 98, 41_028, 4_341, 27_460, 5_995),
        6: (99_208, 2_948, 98, 3_406, 0, 16_404, 4_119),
        7: (99_114, 2_949, 98, 3_417, 6, 19_521, 2_076),
        8: (99_021, 2_975, 97, 3_544, 0, 15_464, 1_978),
        9: (98_791, 3_596, 97, 8_275, 1_370, 43_905, 7_427),
        10: (98_956, 2_885, 98, 3_714, 1_400, 13_235, 3_910),
    },
}
GAUGES = {
    0: {"utilization": 55.51, "sm_efficiency": 54.68, "occupancy": 49.13, "tensor_core": 0.0},
    4: {"utilization": 70.27, "sm_efficiency": 69.22, "occupancy": 48.91, "tensor_core": 0.0},
}
FINDINGS = {0: ["IN1", "UT1", "OP3", "DT2"], 4: ["LA1", "OP3", "IN4", "DT2"]}
WORKERS = (0, 4)


@cache
def overview(workers: int) -> Overview:
    """Of the recording with so many DataLoader workers.

    The former plugin counted a wait for work from before the recording, which we leave out. It knew
    no start-up, which that wait would be without its head.
    """
    folder = TRACES / "kineto_tb_samples" / f"resnet50_num_workers_{workers}"
    known = patch.object(HostCauses, "_mark_first_calls", lambda *_: None)
    with known, patch.object(DeviceWork, "head_ns", 0):
        return build(summarize(read(next(folder.iterdir()))), OverviewQuery())


@pytest.mark.parametrize("workers", WORKERS)
def test_the_mean_step(workers: int) -> None:
    rows = overview(workers).summary
    shown = {row.key: (round(row.mean_ns / 1000), round(row.ratio * 100, 2)) for row in rows}
    assert shown == SUMMARY[workers]


@pytest.mark.parametrize("workers", WORKERS)
def test_every_step(workers: int) -> None:
    for row in overview(workers).steps:
        one = row.breakdown
        assert one["communication_ns"] == 0
        assert STEPS[workers][row.number] == tuple(
            None if ns is None else ns // 1000
            for key, ns in one.items()
            if key != "communication_ns"
        )


@pytest.mark.parametrize("workers", WORKERS)
def test_the_device(workers: int) -> None:
    cards = overview(workers).devices
    assert [card.used for card in cards] == [True, False, False, False]
    assert cards[0].name == "Tesla V100-DGXS-32GB"
    assert cards[0].capability == "7.0"
    shown = {one.key: round((one.ratio or 0) * 100, 2) for one in cards[0].gauges}
    assert shown == GAUGES[workers]


@pytest.mark.parametrize("workers", WORKERS)
def test_the_advice(workers: int) -> None:
    assert [one.id for one in overview(workers).findings] == FINDINGS[workers]


def test_the_partition_and_the_sentence() -> None:
    answer = overview(0)
    said = "The GPU waits for the DataLoader for a third of the mean step."
    assert answer.sentence.headline == said
    assert answer.sentence.agreement == ""
    assert answer.ruler.total_ns == 6 * 177_592_000 + 1_000
    shares = {one.key: round(one.mean_ns / 1000) for one in answer.ruler.shares}
    assert shares["compute_ns"] == 98_589
    assert shares["exposed_copy_ns"] == 1_915
    assert shares["idle_dataloader_ns"] == 58_734
    assert shares["idle_uninstrumented_ns"] == 1_008
