"""The start of each collected recording: what is unknown in it, and what starts the process.

The head is computed again from the JSON, without our reader. Each recording of ``STARTS`` was
looked at in its timeline, and so was each wait of more than 0.1 ms of a first kernel in the others.
"""

from __future__ import annotations

import gzip
import json
import re
from typing import Any

import pytest

from kinetoscope.analysis.steps import select
from kinetoscope.analysis.summarize import summarize
from tests.collected import FILES, opened
from tests.conftest import TRACES, requires_traces

DEVICE = {"kernel", "gpu_memcpy", "gpu_memset", "memcpy", "memset"}
CALLS = {"cuda_runtime", "cuda_driver", "runtime"}

# (head, first calls without device work, idle time without either) in ms; what is there
STARTS = {
    "hta/critical_path/alexnet/benchmark_result_2869224_1695835535_trace.json.gz": (
        0, 36668.726, 6690.498, "the context, 29.9 s; cudaFree of cuDNN, 6.0 s",
    ),
    "hta/execution_trace/benchmark_simple_add_trace.json.gz": (
        0, 19579.485, 234.786, "the context, before anything else of the runtime",
    ),
    "kineto_tb_samples/resnet50_num_workers_4/worker0.1623212756351.pt.trace.json.gz": (
        45.386, 0, 153.171, "step 5: the first copy waits 36.4 ms for the step before",
    ),
    "misc_repos/switch_transformers/trace.json.gz": (
        0, 350.253, 180.054, "the first launch, 347 ms",
    ),
    "param/resnet_kineto.json.gz": (
        0, 1755.374, 8036.630, "streams and cudaFree of cuDNN",
    ),
    "tracelens/inference/sglang_decode/sglang_Qwen3-8B_decode.json.gz": (
        463.380, 0, 0.682, "two kernels wait, launched before a copy that waits as well",
    ),
    "tracelens/inference/vllm_decode_full/graph_execution.json.gz": (
        8.371, 0, 0.025, "the first copy of a decode starts 7.8 ms after its launch",
    ),
    "tracelens/inference/vllm_prefilldecode_piecewise/capture_traces/"
    "graph_capture_rank_0.1773709679453551615.pt.trace.json.gz": (
        116.263, 0, 57.286, "a synchronization of 114.8 ms before the capture",
    ),
}  # fmt: skip


def number(value: Any) -> float | None:
    try:
        return float(value)
    except (TypeError, ValueError):
        return None


def union(spans: list[tuple[float, float]], low: float, high: float) -> float:
    total, reached = 0.0, low
    for begin, stop in sorted(spans):
        start, end = max(begin, reached), min(stop, high)
        if end > start:
            total, reached = total + end - start, end
    return total


def head_by_hand(events: list[dict[str, Any]]) -> float | None:
    """Length of the head in µs; None where another back end names its work otherwise."""
    timed = [
        {**one, "ts": ts, "dur": number(one.get("dur")) or 0.0, "args": one.get("args") or {}}
        for one in events
        if one.get("ph") == "X" and (ts := number(one.get("ts"))) is not None
    ]
    zero = min(one["ts"] for one in timed if one["dur"] > 0)
    work = [one for one in timed if str(one.get("cat")).lower() in DEVICE]
    if not work:
        return None
    calls = [one for one in timed if str(one.get("cat")).lower() in CALLS]
    by_number = {one["args"].get("correlation"): one for one in calls}
    steps = [
        int(found[1])
        for one in sorted(timed, key=lambda one: one["ts"])
        if (found := re.match(r"ProfilerStep#(\d+)$", str(one.get("name"))))
    ]
    first: dict[Any, dict[str, Any]] = {}
    for one in sorted(work, key=lambda one: one["ts"]):
        if one["args"].get("correlation") in by_number:
            first.setdefault((one["pid"], one["tid"]), one)
    head = zero
    for one in first.values():
        call, start = by_number[one["args"]["correlation"]], one["ts"]
        since, least = call["ts"] + call["dur"], 100.0
        if since > start and steps and steps[0] > 0:
            since, least = call["ts"], 1000.0
        wait = start - since
        spans = [(w["ts"], w["ts"] + w["dur"]) for w in work if w["pid"] == one["pid"]]
        if wait > least and 2 * wait >= start - zero and 10 * union(spans, since, start) < wait:
            head = max(head, start)
    begun = min(one["ts"] for one in work)
    early = sorted((one for one in calls if one["ts"] < begun), key=lambda one: one["ts"])
    for at, one in enumerate(early):
        end, before = one["ts"] + one["dur"], [each["name"] for each in early[:at]]
        silent = end <= begun and one["dur"] > 1000 and 2 * one["dur"] >= end - zero
        launched = any(re.search("Launch|Memcpy|Memset", name) for name in before)
        if silent and "Synchronize" in one["name"] and before and not launched:
            head = max(head, end)
    return float(head - zero)


@requires_traces
@pytest.mark.parametrize("name", FILES)
def test_the_start_of_a_recording(name: str) -> None:
    trace = opened(name)
    if not any(one.used for one in trace.devices):
        pytest.skip("no device worked")
    facts = summarize(trace)
    part = select(facts).partition
    assert part is not None
    found = [ns / 1e6 for ns in (facts.head_ns, part.start_up_ns, part.idle_ns)]
    if name in STARTS:
        assert found == pytest.approx(STARTS[name][:3], abs=0.001)
    else:
        assert found[:2] == [0, 0]
        chosen = select(facts)
        assert chosen.total_ns == sum(one.end_ns - one.start_ns for one in chosen.steps)
    path = TRACES / name
    if path.name.endswith(".pftrace.gz"):
        return  # its twin of JSON is computed by hand
    packed = path.read_bytes()
    text = gzip.decompress(packed) if path.suffix == ".gz" else packed
    try:
        whole = json.loads(text)
    except ValueError:
        pytest.skip("no JSON by the letter")
    by_hand = head_by_hand(whole["traceEvents"] if isinstance(whole, dict) else whole)
    if by_hand is not None:
        assert facts.head_ns / 1000 == pytest.approx(by_hand, abs=0.01)
