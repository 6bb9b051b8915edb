"""Loops that generate text and mark nothing: their iterations are the calls of the model."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kinetoscope.analysis.facts import Facts
from kinetoscope.analysis.serving.phases import iterations_are
from kinetoscope.analysis.summarize import summarize
from tests.drawing import PID, Event, trace_of

HUGGING_FACE = "/lib/transformers/generation/utils.py(2215): generate"
SDPA, EAGER, FLASH = (
    "aten::scaled_dot_product_attention",
    "aten::softmax",
    "flash_attn::_flash_attn_forward",
)


def event(cat: str, name: str, ts: float, dur: float, **args: Any) -> Event:
    return {"ph": "X", "cat": cat, "name": name, "pid": PID, "tid": 1, "ts": ts, "dur": dur,
            "args": args}  # fmt: skip


def facts_of(
    loop: str, op: str, *queries: list[int] | None, model: str = "LlamaForCausalLM_0"
) -> Facts:
    """A loop that calls the model for 80 of each 100 µs; a kernel of 50 µs follows its launch."""
    events = [event("python_function", loop, 0, 100 * len(queries) + 20)]
    for at, query in enumerate(queries):
        ts = 10 + 100 * at
        dims = {} if query is None else {"Input Dims": [query, query]}
        events += [
            event("python_function", f"nn.Module: {model}", ts, 80),
            event("python_function", "nn.Module: LlamaAttention_3", ts + 10, 50),
            event("cpu_op", op, ts + 12, 40, **dims),
            event("cuda_runtime", "cudaLaunchKernel", ts + 20, 5, correlation=at + 1),
            {**event("kernel", "fmha", ts + 30, 50, device=0, stream=7, correlation=at + 1),
             "pid": 0, "tid": 7},
            event("python_function", "nn.Module: LogitsScaler_0", ts + 84, 4),
        ]  # fmt: skip
    return summarize(trace_of(events))


@pytest.mark.parametrize(
    ("loop", "engine"),
    [
        (HUGGING_FACE, "Hugging Face"),
        ("generate.py(60): prefill", "gpt-fast"),
        ("/gpt-fast/generate.py(80): decode_one_token", "gpt-fast"),
        ("megatron/core/inference/engines/static_engine.py(9): generate", "Megatron"),
    ],
)
def test_calls_of_the_model_in_a_loop_are_iterations(loop: str, engine: str) -> None:
    facts = facts_of(loop, SDPA, [4, 32, 512, 128], [4, 32, 1, 128], [4, 32, 1, 128])
    assert (facts.step_source, facts.step_family) == ("iteration", engine)
    assert [one.name for one in facts.steps] == [
        "prefill 4 · 2,048 tokens", "decode 4", "decode 4",
    ]  # fmt: skip
    assert iterations_are(facts) == f"Iterations are the calls of the model in a loop of {engine}."
    first, second, third = facts.iterations
    assert {one.engine for one in facts.iterations} == {engine}
    assert (first.context.tokens, first.generation.tokens) == (2048, 0)
    assert (second.context.tokens, second.generation.tokens) == (0, 4)
    assert [one.period_ns for one in (first, second, third)] == [100_000, 100_000, None]
    assert [one.busy_ns for one in facts.iterations] == [50_000] * 3


@pytest.mark.parametrize(
    ("op", "long", "short"),
    [
        (SDPA, [2, 8, 7, 64], [2, 8, 1, 64]),
        ("aten::_scaled_dot_product_flash_attention", [2, 8, 7, 64], [2, 8, 1, 64]),
        (EAGER, [2, 8, 7, 7], [2, 8, 1, 8]),
        (FLASH, [2, 7, 8, 64], [2, 1, 8, 64]),
    ],
)
def test_the_length_of_a_query_by_the_form_of_attention(
    op: str, long: list[int], short: list[int]
) -> None:
    facts = facts_of(HUGGING_FACE, op, long, short)
    assert [one.label for one in facts.iterations] == ["prefill 2 · 14 tokens", "decode 2"]


@pytest.mark.parametrize("query", [None, [7, 64], [2, 8, 7, 64, 1]])
def test_without_shapes_no_phase_is_known(query: list[int] | None) -> None:
    facts = facts_of(HUGGING_FACE, SDPA, query, query)
    assert [one.phase for one in facts.iterations] == ["", ""]
    assert {one.context.tokens for one in facts.iterations} == {None}
    assert [one.name for one in facts.steps] == ["forward", "forward"]


@pytest.mark.parametrize(
    "loop",
    ["train.py(12): generate", "transformers/trainer.py(1): generate", "generate.py(3): train"],
)
def test_a_loop_of_another_kind_has_no_iterations(loop: str) -> None:
    facts = facts_of(loop, SDPA, [4, 32, 1, 128], [4, 32, 1, 128])
    assert facts.iterations == ()
    assert facts.step_source == "whole_trace"


def test_marked_iterations_and_steps_come_first() -> None:
    marked = [event("user_annotation", "step[DECODE bs=3]", 5, 90)]
    numbered = [event("user_annotation", "ProfilerStep#4", 5, 90)]
    for more, source in ((marked, "iteration"), (numbered, "profiler_step")):
        facts = summarize(trace_of([
            event("python_function", HUGGING_FACE, 0, 100),
            event("python_function", "nn.Module: LlamaForCausalLM_0", 10, 80),
            *more,
        ]))  # fmt: skip
        assert (facts.step_source, len(facts.steps)) == (source, 1)
        assert "Hugging Face" not in json.dumps([one.engine for one in facts.iterations])
