"""The four pictures of the former plugin's Distributed view, figure by figure.

The figures were written down from torch-tb-profiler 0.4.3, so they are held against ours without
it; where it can be run, what was written down is held against it. The sets are those of which it
knows the collectives: two ranks of FSDP over gloo, and the devices of eight ranks over NCCL.

Two figures differ, both for a reason that is tested:

* Its *computation* counts the ops that start a collective (``c10d::…``); ours leaves them out.
* Its size of an all_gather is what one rank puts in, ours what each gets (NVIDIA nccl-tests).
"""

from __future__ import annotations

import gzip
import json
from typing import Any

import numpy as np
import pytest

from kinetoscope.analysis.distributed.pictures import operations
from kinetoscope.base.intervals import union
from tests.analysis.distributed.sets import compared, digests
from tests.conftest import TRACES, requires_traces
from tests.oracle.former_plugin import former_distributed, requires_former

pytestmark = requires_traces

FSDP, DLRM = "fresh_torch2.13/fsdp2_gpt", "dlrm_8rank_v100"
STEPS = ("2", "3")

# µs by step and worker: computation, overlapping, communication, other.
OVERLAP: dict[str, dict[str, list[float]]] = {
    "2": {
        "worker0": [37648.6650390625, 12022.765625, 8644.11279296875, 19986.95556640625],
        "worker1": [20764.27197265625, 29237.8154296875, 24499.04931640625, 8674.2880859375],
    },
    "3": {
        "worker0": [49998.3037109375, 8583.189453125, 14198.373046875, 17476.9248046875],
        "worker1": [30874.80712890625, 26963.2939453125, 23660.76611328125, 8714.3076171875],
    },
}
# µs: data transfer, synchronizing.
WAIT: dict[str, dict[str, list[float]]] = {
    "2": {
        "worker0": [20666.87841796875, 0.0],
        "worker1": [20666.87841796875, 33069.986328125],
    },
    "3": {
        "worker0": [16789.48095703125, 5992.08154296875],
        "worker1": [16789.48095703125, 33834.5791015625],
    },
}
# Name, calls, total and mean bytes, total and mean latency, total and mean transfer in µs.
OPERATIONS: dict[str, list[list[Any]]] = {
    "worker0": [
        ["gloo:all_gather", 10, 948736, 94874, 27018.52685546875, 2702, 21135.37841796875, 2114],
        ["gloo:all_reduce", 6, 1097728, 182955, 16429.9140625, 2738, 16320.98095703125, 2720],
    ],
    "worker1": [
        ["gloo:all_gather", 10, 948736, 94874, 70105.296875, 7011, 21135.37841796875, 2114],
        ["gloo:all_reduce", 6, 1097728, 182955, 34255.6279296875, 5709, 16320.98095703125, 2720],
    ],
}
DEVICE = {
    "Name": "Tesla V100-SXM2-32GB",
    "Memory": "31.74 GB",
    "Memory Raw": 34079899648,
    "Compute Capability": "7.0",
}
DEVICES = {f"worker{n}": {f"Process {n}": {f"GPU{n}": DEVICE}} for n in range(8)}

NS = pytest.approx  # its times are doubles of epoch microseconds, a quarter of a nanosecond apart


@requires_former
def test_what_was_written_down_is_what_it_shows() -> None:
    told = former_distributed(TRACES / FSDP)
    assert {step: told["overlap"][step] for step in STEPS} == OVERLAP
    assert {step: told["wait"][step] for step in STEPS} == WAIT
    assert {worker: told["operations"][worker]["rows"] for worker in OPERATIONS} == OPERATIONS
    assert former_distributed(TRACES / DLRM)["devices"] == DEVICES


def ranges(rank: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Ops and steps of a recording, as the file has them."""
    file = sorted((TRACES / FSDP).glob("*.json.gz"))[rank]
    with gzip.open(file) as text:
        events = json.load(text)["traceEvents"]
    ops = [event for event in events if event.get("cat") == "cpu_op"]
    steps = [event for event in events if str(event.get("name")).startswith("ProfilerStep#")]
    return ops, [event for event in steps if event.get("ph") == "X"]


def busy_us(events: list[dict[str, Any]], step: dict[str, Any]) -> float:
    """Time of a step in which at least one of the events runs."""
    low, high = step["ts"], step["ts"] + step["dur"]
    start = np.array([max(event["ts"], low) for event in events]) - low
    end = np.array([min(event["ts"] + event["dur"], high) for event in events]) - low
    inside = end > start
    nanoseconds = [np.rint(one[inside] * 1000).astype(np.int64) for one in (start, end)]
    return union(nanoseconds[0], nanoseconds[1]).total_ns / 1000


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("step", [0, 1])
def test_computation_and_communication(rank: int, step: int) -> None:
    theirs = OVERLAP[STEPS[step]][f"worker{rank}"]
    ours = compared(FSDP).pictures.overlap_ns[rank, step] / 1000
    ops, steps = ranges(rank)
    (span,) = (one for one in steps if one["name"].endswith(f"#{STEPS[step]}"))
    # The step, and all time of collectives, are the same.
    assert ours.sum() == NS(sum(theirs), abs=0.002)
    assert ours[1] + ours[2] == NS(theirs[1] + theirs[2], abs=0.002)
    # The rest differs by the ops that start collectives, and by those around them: the hooks of
    # FSDP gather inside an op of autograd.
    assert busy_us(ops, span) == NS(theirs[0] + theirs[1], abs=0.1)
    without = [op for op in ops if not op["name"].startswith("c10d::")]
    hooks = ("RegisterPostBackward", "evaluate_function")
    leaves = [op for op in without if not any(hook in op["name"] for hook in hooks)]
    assert busy_us(leaves, span) <= ours[0] + ours[1] + 0.1 < busy_us(without, span)


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("step", [0, 1])
def test_data_transfer_and_synchronizing(rank: int, step: int) -> None:
    ours = compared(FSDP).pictures.transfer_ns[rank, step] / 1000
    assert ours.tolist() == NS(WAIT[STEPS[step]][f"worker{rank}"], abs=0.002)


@pytest.mark.parametrize("rank", [0, 1])
def test_communication_operations(rank: int) -> None:
    run = compared(FSDP)
    rows = operations(
        run.digests, run.groups, run.matches, run.bandwidth, run.pictures.shortest_ns, [rank],
        np.arange(len(STEPS)),
    )  # fmt: skip
    theirs = {row[0].removeprefix("gloo:"): row for row in OPERATIONS[f"worker{rank}"]}
    assert {row.kind for row in rows} == set(theirs)
    for row in rows:
        _, calls, total, _, latency, mean_latency, transfer, mean_transfer = theirs[row.kind]
        assert row.calls == calls
        assert row.latency_ns / 1000 == NS(latency, abs=0.002)
        assert row.transfer_ns / 1000 == NS(transfer, abs=0.002)
        assert round(row.latency_ns / 1000 / row.calls) == mean_latency
        assert round(row.transfer_ns / 1000 / row.calls) == mean_transfer
        assert row.bytes == total * (2 if row.kind == "all_gather" else 1)


def test_device_information() -> None:
    for number, one in enumerate(digests(DLRM)):
        (used,) = (device for device in one.devices if device.used)
        (shown,) = DEVICES[f"worker{number}"][f"Process {number}"].items()
        assert shown[0] == f"GPU{used.index}"
        assert used.name == shown[1]["Name"]
        assert used.memory_bytes == shown[1]["Memory Raw"]
        assert f"{used.memory_bytes / 2**30:.2f} GB" == shown[1]["Memory"]
        assert used.capability == shown[1]["Compute Capability"]
