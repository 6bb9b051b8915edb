"""Iterations with their work on the device, and the gaps between them."""

from __future__ import annotations

from itertools import pairwise

import pytest

from kinetoscope.analysis.advice import check_all
from kinetoscope.analysis.steps import outliers, select
from kinetoscope.analysis.summarize import summarize
from kinetoscope.trace.read import read
from tests.analysis.serving.drawn import SCHEDULER, Pass, decode, event, facts_of, served
from tests.conftest import TRACES, requires_traces
from tests.drawing import PID, trace_of

US = 1000


def test_windows_of_the_device_lie_behind_those_of_the_host() -> None:
    """Launched at 10, 110 and 210 µs; each works 400 µs, one behind the other."""
    facts = facts_of(*(Pass(decode(batch)) for batch in (3, 4, 5)))
    assert facts.step_source == "iteration"
    assert [step.name for step in facts.steps] == ["decode 3", "decode 4", "decode 5"]
    first, second, third = facts.iterations
    assert (first.host_start_ns, first.host_end_ns) == (0, 100 * US)
    assert (first.start_ns, first.end_ns) == (10 * US, 410 * US)
    assert (second.start_ns, second.end_ns) == (410 * US, 810 * US)
    assert (third.host_start_ns, third.host_end_ns) == (200 * US, 300 * US)
    assert [one.period_ns for one in facts.iterations] == [400 * US, 400 * US, None]
    assert [one.busy_ns for one in facts.iterations] == [400 * US] * 3
    assert first.gap is None
    assert [one.gap.idle_ns for one in facts.iterations if one.gap] == [0, 0]
    assert [one.batch for one in facts.iterations] == [3, 4, 5]


def test_a_gap_has_the_length_and_the_holder_that_it_was_made_with() -> None:
    """The scheduler runs 120 µs behind the work, and the launch takes 10 µs."""
    facts = facts_of(*(Pass(decode(8), host=120) for _ in range(4)))
    gaps = [one.gap for one in facts.iterations[1:]]
    assert [gap.ns for gap in gaps if gap] == [130 * US] * 3
    for gap in gaps:
        assert gap is not None
        assert (gap.idle_ns, gap.holder, gap.holder_ns) == (130 * US, SCHEDULER, 120 * US)
        assert gap.cause == "idle_uninstrumented_ns"
    assert [one.period_ns for one in facts.iterations] == [530 * US] * 3 + [None]


def test_idle_time_inside_an_iteration_is_no_gap() -> None:
    facts = facts_of(
        Pass(decode(1), kernels=(100, 200), pause=50), Pass(decode(1), kernels=(100, 200), pause=50)
    )
    one = facts.iterations[0]
    assert (one.span_ns, one.busy_ns, one.inside_idle_ns) == (350 * US, 300 * US, 50 * US)
    assert one.launches == 2


def test_replays_count_with_their_kernels() -> None:
    facts = facts_of(*(Pass(decode(2), kernels=(50, 70, 90), graph=True) for _ in range(3)))
    assert [(one.launches, one.replays) for one in facts.iterations] == [(1, 1)] * 3
    assert [one.graph_ns for one in facts.iterations] == [210 * US] * 3
    assert facts.iterations[0].families == {"gemm": 210 * US}


def test_phases_differ_and_no_step_is_left_out_for_that() -> None:
    """A long prefill is neither warm-up nor outlier, and a decode of one launch is no cut-off."""
    prefill = "execute_context_2(900)_generation_0(0)"
    decodes = [Pass(decode(2), kernels=(100,) * 3, graph=True)] * 4
    facts = facts_of(Pass(prefill, kernels=(900,) * 9), *decodes)
    assert [one.phase for one in facts.iterations] == ["prefill"] + ["decode"] * 4
    assert [step.excluded for step in facts.steps] == [None] * 5
    assert outliers(facts) == (False,) * 5


def test_a_last_iteration_without_all_its_work_is_left_out() -> None:
    passes = [Pass(decode(2), kernels=(50,) * 10)] * 3
    facts = facts_of(*passes, Pass(decode(2), kernels=(50,) * 7))
    assert [step.excluded for step in facts.steps] == [None, None, None, "incomplete"]
    assert facts.iterations[-1].left_out == "the recording ends in it"
    assert [one.period_ns for one in facts.iterations] == [500 * US, 500 * US, 500 * US, None]


def test_work_of_the_head_is_not_judged() -> None:
    """The first iteration starts its work 3 ms behind its launch: the device was busy before."""
    events = [
        event("user_annotation", decode(2), 0, 60),
        event("cuda_runtime", "cudaLaunchKernel", 10, 10, correlation=1),
        event("kernel", "a", 3000, 500, 7, correlation=1, device=0, stream=7),
        event("user_annotation", decode(2), 70, 60),
        event("cuda_runtime", "cudaLaunchKernel", 80, 10, correlation=2),
        event("kernel", "a", 3500, 400, 7, correlation=2, device=0, stream=7),
    ]
    facts = summarize(trace_of(events))
    assert facts.head_ns == 3000 * US
    assert [step.excluded for step in facts.steps] == [None, None], "their work is whole"
    assert [one.span_ns for one in facts.iterations] == [500 * US, 400 * US]
    assert [one.period_ns for one in facts.iterations] == [500 * US, None]


def test_numbers_that_are_missing_are_no_neighbours() -> None:
    names = [f"[Executor] _forward_step {n}: 0 ctx reqs, 2 gen reqs" for n in (40, 41, 43)]
    facts = facts_of(*(Pass(name) for name in names))
    assert [one.number for one in facts.iterations] == [40, 41, 43]
    assert [one.period_ns is None for one in facts.iterations] == [False, True, True]
    assert [one.gap is None for one in facts.iterations] == [True, False, True]


def test_a_recording_of_the_host_alone() -> None:
    """The range is the work, and a gap is time of the main thread."""
    events = [
        event("user_annotation", "step[DECODE bs=2]", 0, 100),
        event("python_function", "serve.py(3): sample", 100, 40),
        event("user_annotation", "step[DECODE bs=2]", 150, 100),
    ]
    first, second = summarize(trace_of(events)).iterations
    assert (first.start_ns, first.end_ns, first.period_ns) == (0, 100 * US, 150 * US)
    assert second.gap is not None
    assert (second.gap.ns, second.gap.idle_ns, second.gap.cause) == (50 * US, 50 * US, "python_ns")
    assert (second.gap.holder, second.gap.holder_ns) == ("serve.py(3): sample", 40 * US)


def test_steps_of_the_profiler_keep_their_names() -> None:
    marks = [event("user_annotation", f"ProfilerStep#{n}", 200 * n, 200) for n in range(2)]
    inner = [event("user_annotation", decode(5), 200 * n + 10, 100) for n in range(2)]
    facts = summarize(trace_of([*marks, *inner]))
    assert [step.name for step in facts.steps] == ["ProfilerStep#0", "ProfilerStep#1"]
    assert [(one.step, one.label) for one in facts.iterations] == [(0, "decode 5"), (1, "decode 5")]


def test_a_training_has_none() -> None:
    events = [event("user_annotation", f"ProfilerStep#{n}", 200 * n, 200) for n in range(2)]
    assert summarize(trace_of(events)).iterations == ()
    assert events[0]["pid"] == PID


def test_every_gap_and_window_is_in_order() -> None:
    passes = [Pass(decode(1 + i % 3), kernels=(100 + 10 * i,), host=10 * i) for i in range(12)]
    found = facts_of(*passes).iterations
    for before, after in pairwise(found):
        assert before.end_ns <= after.start_ns
        assert after.gap is not None
        assert after.gap.idle_ns == after.start_ns - before.end_ns
        assert before.period_ns == after.start_ns - before.start_ns
    assert len(served(*passes)) == 12 * 3 + 11


@requires_traces
@pytest.mark.parametrize(
    ("file", "label", "span_us", "idle_us", "tokens", "keys", "graph_ratio"),
    [
        ("vllm_decode_full/graph_execution.json.gz", "decode 32", 10743.2, 25.5, 32, 55086, 0.973),
        ("sglang_decode/sglang_Qwen3-8B_decode.json.gz", "decode 32", 10450.3, 681.6, 32, 32785,
         0.99),
    ],
)  # fmt: skip
def test_real_recordings(
    file: str,
    label: str,
    span_us: float,
    idle_us: float,
    tokens: int,
    keys: int,
    graph_ratio: float,
) -> None:
    (one,) = summarize(read(TRACES / "tracelens/inference" / file)).iterations
    assert one.label == label
    assert one.span_ns / US == pytest.approx(span_us, abs=0.1)
    assert one.inside_idle_ns / US == pytest.approx(idle_us, abs=0.1)
    assert (one.generation.tokens, one.generation.keys) == (tokens, keys)
    assert one.graph_ns / sum(one.families.values()) == pytest.approx(graph_ratio, abs=0.01)


@requires_traces
def test_a_recording_of_a_capture_gets_no_advice() -> None:
    (path,) = (TRACES / "tracelens/inference/vllm_decode_full/capture_traces").iterdir()
    facts = summarize(read(path))
    assert facts.iterations == (), "a capture is no iteration"
    assert check_all(select(facts)) == ((), ())
