"""MFU of prefill, MBU of decode, and families with a capture: of a server with known sizes.

An iteration is a product and attention over pages, each launched by its op. V100: 125 TFLOP/s of
16-bit products, 900 GB/s.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from kinetoscope.analysis.steps import select
from kinetoscope.session.session import TraceSession, Wanted, choose
from kinetoscope.trace.model import Trace
from kinetoscope.views.origins import phase_uses
from kinetoscope.views.overview.serving import ServedPhase, Serving
from kinetoscope.views.overview.view import VIEW, OverviewQuery, advice_on, build
from kinetoscope.views.speed_of_light.contract import SpeedQuery
from kinetoscope.views.speed_of_light.view import VIEW as SPEED
from kinetoscope.views.speed_of_light.view import build as speed_of
from tests.analysis.graphs.test_captures import execution
from tests.analysis.serving.drawn import decode, event
from tests.analysis.speed_of_light.test_captured import HEADS, PAGED, capture
from tests.conftest import TRACES, requires_traces
from tests.drawing import STREAM, V100, Event, trace_of
from tests.trace.drawn import annotation
from tests.views.kernels.test_graphs import write

HALF = ["c10::Half", "c10::Half"]
NONE = "sq0sk0sqsq0sqsk0"
PREFILL = f"execute_1000_context_1(sq1000sk1000sqsq1000000sqsk1000000)_generation_0({NONE})"
PERIOD = {PREFILL: 800.0, decode(8): 400.0, decode(4): 400.0}
ROWS = {PREFILL: 1000, decode(8): 8, decode(4): 4}
WIDE = 4096


def served(*names: str, shapes: bool = True, product: str = "aten::mm") -> Trace:
    """Iterations one behind the other; a product for half of the period, attention a quarter."""
    events: list[Event] = []
    at, number = 0.0, 0
    for name in names:
        period, begun = PERIOD[name], at
        works: tuple[tuple[str, str, float, dict[str, Any]], ...] = (
            (product, "gemm", period / 2,
             {"Input Dims": [[ROWS[name], WIDE], [WIDE, WIDE]], "Input type": HALF}),
            (PAGED, "attend", period / 4, HEADS),
        )  # fmt: skip
        events.append(event("user_annotation", name, begun, 60))
        for place, (op, kernel, dur, args) in enumerate(works):
            number += 1
            host = begun + 5 + 25 * place
            events += [
                event("cpu_op", op, host, 20, **(args if shapes else {})),
                event("cuda_runtime", "cudaLaunchKernel", host + 5, 10, correlation=number),
                event("kernel", kernel, begun + 100 + place * period / 2, dur, STREAM,
                      correlation=number, device=0, stream=STREAM),
            ]  # fmt: skip
        at += period
    return trace_of(events, deviceProperties=[V100])


def of(trace: Trace) -> Serving:
    found = build(TraceSession(trace).subject(VIEW), OverviewQuery()).serving
    assert found is not None
    return found


def row(found: Serving, phase: str) -> ServedPhase:
    return next(one for one in found.phases if one.phase == phase)


def test_mfu_of_prefill_and_mbu_of_decode() -> None:
    trace = served(PREFILL, *[decode(8)] * 5)
    found = of(trace)
    flops = 2 * 1000 * WIDE * WIDE + 2 * 8 * (64 + 64) * 1_000_000
    prefill = row(found, "prefill")
    assert prefill.mfu_ratio == pytest.approx(flops / (125e3 * 800_000), rel=1e-3)
    assert prefill.mbu_ratio is None
    # Four periods of 400 µs, and the last iteration by its device time of 300.
    read = 2 * WIDE * WIDE + 1000 * 2 * (64 + 64) * 2
    row_of_decode = row(found, "decode")
    assert row_of_decode.mbu_ratio == pytest.approx(5 * read / (900 * 1_900_000), rel=1e-3)
    assert row_of_decode.mfu_ratio is None
    said: Any = speed_of(TraceSession(trace).subject(SPEED), SpeedQuery())
    assert said.mbu_ratio == row_of_decode.mbu_ratio, "one figure"
    assert not any("MFU" in note or "MBU" in note for note in found.notes)


def test_without_shapes_neither_is_available() -> None:
    found = of(served(PREFILL, *[decode(8)] * 5, shapes=False))
    assert row(found, "prefill").mfu_ratio is None
    assert row(found, "decode").mbu_ratio is None
    assert found.notes[:2] == (
        "Not available: MFU of prefill, because shapes are not recorded.",
        "Not available: MBU of decode, because shapes are not recorded.",
    )


def test_a_phase_with_few_sizes_has_no_figure() -> None:
    """The product has no model: attention is 100 of 300 µs."""
    found = of(served(*[decode(8)] * 5, product="custom::product"))
    assert row(found, "decode").mbu_ratio is None
    assert found.notes[0] == (
        "Not available: MBU of decode, because only 33.3\u00a0% of its compute time has sizes and"
        " a model."
    )


def test_bytes_of_decode_have_findings() -> None:
    """Weights are 33.6 of 34.1 MB; attention reads 0.51 MB in 100 µs, which allow 90 MB."""
    asked = TraceSession(served(*[decode(4)] * 6)).subject(VIEW)
    kept = 1000 * 2 * (64 + 64) * 2
    use = phase_uses(asked, select(asked.facts))["decode"]
    assert use.weights_ratio == pytest.approx(1 - kept / (2 * WIDE * WIDE + kept))
    assert use.reads is not None
    assert (use.reads.kernel, use.reads.ns) == ("attend", 6 * 100_000)
    assert use.reads.rate_ratio == pytest.approx(kept / (900 * 100_000))
    ids = {one.id for one in build(asked, OverviewQuery()).findings}
    assert {"SV4", "SV6"} <= ids
    advice = advice_on(asked, "", "", {})
    assert {"SV4", "SV6"} <= {one.id for one in advice.findings}
    facts_alone = build(asked.facts, OverviewQuery())
    assert not {"SV4", "SV6"} & {one.id for one in facts_alone.findings}


def write_served(job: Path, captures: Path) -> None:
    """Two replays of kernels of 4, 2, 3 µs, all called gemm: experts launch the first two."""
    run = execution([("gemm_a", 4), ("gemm_b", 2), ("gemm_c", 3)], replays=2)
    calls = [one for one in run if one["name"] == "hipGraphLaunch"]
    run += [annotation("execute_context_0(0)_generation_8(8)", one["ts"] - 0.5, 2) for one in calls]
    experts: tuple[str, list[str], dict[str, Any]] = ("vllm::moe_forward", ["gemm_a", "gemm_b"], {})
    mm = ("aten::mm", ["gemm_c"], {"Input Dims": [[8, 16], [16, 16]], "Input type": HALF})
    write(job / "worker0.pt.trace.json", run)
    write(captures / "worker0.pt.trace.json", capture(experts, mm))


def test_operators_of_a_drawn_capture_name_families(tmp_path: Path) -> None:
    captures = tmp_path / "job" / "capture_traces"
    write_served(tmp_path / "job", captures)

    def families() -> dict[str, int]:
        session = choose(str(tmp_path), Wanted(run="job")).session()
        found = build(session.subject(VIEW), OverviewQuery()).serving
        assert found is not None
        assert any("kernel names alone" in one for one in found.notes) == (not captures.exists())
        return {one.name: one.ns for one in row(found, "decode").families}

    assert families() == {"moe": 12_000, "gemm": 6_000}
    shutil.rmtree(captures)
    assert families() == {"gemm": 18_000}


@requires_traces
def test_operators_of_a_capture_name_the_families_of_a_phase() -> None:
    """`vllm::moe_forward` has 7.17 of 10.7 ms, and its kernels are called products."""
    folder = TRACES / "tracelens/inference/vllm_decode_full"
    session = choose(str(folder), Wanted()).session()
    found = build(session.subject(VIEW), OverviewQuery()).serving
    assert found is not None
    families = {one.name: one.ns for one in row(found, "decode").families}
    assert families["moe"] == 7_171_530
    assert families["gemm"] == 1_230_560
    assert sum(families.values()) == 10_717_708, "all device time, as without the capture"
