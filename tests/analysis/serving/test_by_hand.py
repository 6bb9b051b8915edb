"""Real recordings of servers: our table of iterations, and the same by hand from their JSON.

The second way knows nothing of our reader: correlations, unions of intervals, and a name.
"""

from __future__ import annotations

import gzip
import json
import re
from typing import Any, NamedTuple

import pytest

from kinetoscope.analysis.serving.model import IterationFacts
from kinetoscope.analysis.summarize import summarize
from kinetoscope.trace.read import read
from tests.conftest import TRACES, requires_traces

DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")


class ByHand(NamedTuple):
    """One iteration; times in µs."""

    span: float
    busy: float
    launches: int
    replays: int
    head: float  # from the start of the recording


def union(spans: list[tuple[float, float]], low: float, high: float) -> float:
    total, reached = 0.0, low
    for begin, stop in sorted(spans):
        start, end = max(begin, reached), min(stop, high)
        if end > start:
            total += end - start
            reached = end
    return total


def head_of(work: list[dict[str, Any]], calls: dict[int, dict[str, Any]], zero: float) -> float:
    """The last start of a first piece of work that waited on a silent device, else ``zero``."""
    spans = [(one["ts"], one["ts"] + one["dur"]) for one in work]
    first: dict[Any, dict[str, Any]] = {}
    for one in sorted(work, key=lambda one: one["ts"]):
        if one["args"].get("correlation") in calls:
            first.setdefault(one["args"]["stream"], one)
    found = zero
    for one in first.values():
        call = calls[one["args"]["correlation"]]
        returned, start = call["ts"] + call["dur"], one["ts"]
        wait = start - returned
        if wait > 100 and 2 * wait >= start - zero and union(spans, returned, start) * 10 < wait:
            found = max(found, start)
    return found


def by_hand(file: str, name: str) -> tuple[re.Match[str], ByHand]:
    """The only range whose name matches, and its figures."""
    with gzip.open(TRACES / file) as stream:
        events = [one for one in json.load(stream)["traceEvents"] if one.get("ph") == "X"]
    ranges = [one for one in events if one.get("cat") == "user_annotation"]
    (mark,) = [one for one in ranges if re.fullmatch(name, one["name"])]
    zero = min(one["ts"] for one in events if isinstance(one["ts"], (int, float)) and one["dur"])
    runtime = [one for one in events if one.get("cat") in ("cuda_runtime", "cuda_driver")]
    calls = {one["args"].get("correlation"): one for one in runtime}
    work = [one for one in events if one.get("cat") in DEVICE]
    end = mark["ts"] + mark["dur"]
    mine = [
        one
        for one in work
        if (call := calls.get(one["args"].get("correlation"))) is not None
        and mark["ts"] <= call["ts"] < end
    ]
    head = head_of(work, calls, zero)
    low = max(min(one["ts"] for one in mine), head)
    high = max(one["ts"] + one["dur"] for one in mine)
    launched = {one["args"]["correlation"] for one in mine}
    spans = [(one["ts"], one["ts"] + one["dur"]) for one in work]
    found = re.fullmatch(name, mark["name"])
    assert found is not None
    return found, ByHand(
        span=high - low,
        busy=union(spans, low, high),
        launches=len(launched),
        replays=sum("GraphLaunch" in calls[one]["name"] for one in launched),
        head=head - zero,
    )


def ours(file: str) -> tuple[IterationFacts, int]:
    facts = summarize(read(TRACES / file))
    (one,) = facts.iterations
    return one, facts.head_ns


_SUMS = r"\(sq(\d+)sk(\d+)sqsq(\d+)sqsk(\d+)\)"
_DETAILED = rf"execute_(\d+)_context_(\d+){_SUMS}_generation_(\d+){_SUMS}"
FILES = {
    "vLLM": ("tracelens/inference/vllm_decode_full/graph_execution.json.gz", _DETAILED),
    "SGLang": ("tracelens/inference/sglang_decode/sglang_Qwen3-8B_decode.json.gz", _DETAILED),
    "xDiT": (
        "tracelens/inference/xdit_sd_3.5/profile_trace_rank_0.json.gz",
        r"execute_diffusion_(\d+)_(\d+)x(\d+)",
    ),
    "B200": (
        "tracelens/b200/eager_trace.json.gz",
        r"execute_context_(\d+)\((\d+)_(\d+)\)_generation_(\d+)\((\d+)\)",
    ),
}


@requires_traces
@pytest.mark.parametrize("which", list(FILES))
def test_our_figures_are_those_by_hand(which: str) -> None:
    name, hand = by_hand(*FILES[which])
    one, head_ns = ours(FILES[which][0])
    assert head_ns / 1000 == pytest.approx(hand.head, abs=0.01)
    assert one.span_ns / 1000 == pytest.approx(hand.span, abs=0.01)
    assert one.busy_ns / 1000 == pytest.approx(hand.busy, abs=0.05)
    assert (one.launches, one.replays) == (hand.launches, hand.replays)
    numbers = [int(text) for text in name.groups()]
    match which:
        case "vLLM" | "SGLang":
            assert [one.context.requests, one.generation.requests] == [numbers[1], numbers[6]]
            assert [one.generation.tokens, one.generation.keys] == numbers[7:9]
            assert [one.generation.squares, one.generation.pairs] == numbers[9:]
            assert numbers[0] == (one.context.tokens or 0) + (one.generation.tokens or 0)
        case "xDiT":
            assert (one.phase, one.batch) == ("", numbers[0])
            assert one.label == f"diffusion {numbers[1]}×{numbers[2]} {numbers[0]}"
        case _:
            assert [one.context.requests, one.context.tokens, one.context.squares] == numbers[:3]
            assert one.phase == "prefill"


@requires_traces
def test_idle_after_the_head_is_small() -> None:
    """What looked like 44 % and 98 % of idle time is 0.2 % and 6.5 %."""
    idle = {which: ours(FILES[which][0])[0] for which in ("vLLM", "SGLang")}
    assert {which: round(one.inside_idle_ns / one.span_ns, 3) for which, one in idle.items()} == {
        "vLLM": 0.002, "SGLang": 0.065,
    }  # fmt: skip
