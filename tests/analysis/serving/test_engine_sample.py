"""The toy engine of the samples: what is read of its recording is what it was made with.

Figures are computed again from the JSON of the file, without our reader.
"""

from __future__ import annotations

import json
import runpy
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from kinetoscope.analysis.facts import Facts
from kinetoscope.analysis.serving.phases import phases
from kinetoscope.analysis.steps import select
from kinetoscope.analysis.summarize import summarize
from kinetoscope.trace.link.iterations import read_name
from kinetoscope.trace.read import read
from kinetoscope.views.overview.view import OverviewQuery, build
from tests.analysis.serving.drawn import event
from tests.conftest import ROOT
from tests.drawing import trace_of
from tests.handlers.recording import files_in
from tests.handlers.recording import read as json_of

torch = pytest.importorskip("torch")
ENGINE: dict[str, Any] = runpy.run_path(str(ROOT / "samples" / "engine.py"))
PLAN = list(ENGINE["plan"]())


def test_the_plan_has_every_phase() -> None:
    """Six requests, each with a prefill and seven further tokens."""
    assert [(len(one.prompts), len(one.keys)) for one in PLAN] == [
        (2, 0), (0, 2), (0, 2), (2, 2), (0, 4), (0, 4), (2, 4), (0, 6), (0, 4), (0, 4), (0, 4),
        (0, 2), (0, 2), (0, 2),
    ]  # fmt: skip
    assert sum(sum(one.prompts) for one in PLAN) == sum(ENGINE["PROMPTS"])
    assert sum(len(one.keys) for one in PLAN) == 6 * 7


@pytest.mark.parametrize("form", list(ENGINE["FORMS"]))
def test_every_form_tells_its_batches(form: str) -> None:
    for batch in PLAN:
        told = read_name(ENGINE["FORMS"][form](batch))
        assert told is not None
        size = len(batch.prompts) + len(batch.keys)
        phase = (
            "mixed" if batch.prompts and batch.keys else "prefill" if batch.prompts else "decode"
        )
        assert (told.phase, told.batch) == (phase, size)
        if phase != "decode":
            assert told.context.requests == len(batch.prompts)
            known = form != "vllm-old" and not (form == "atom" and phase == "mixed")
            assert told.context.tokens == (sum(batch.prompts) if known else None)
        if phase != "prefill":
            assert told.generation.requests == len(batch.keys)
        if form == "vllm-detailed":
            assert (told.context.keys, told.generation.keys) == (
                sum(batch.prompts), sum(batch.keys),
            )  # fmt: skip
            assert told.context.squares == sum(one * one for one in batch.prompts)
        assert told.padded == (8 if form == "atom" and batch.keys else None)


@pytest.fixture(name="recorded", scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("engine")
    threads = torch.get_num_threads()
    try:
        ENGINE["serve"](folder, "vllm-detailed", "worker0")
    finally:
        torch.set_num_threads(threads)
    (name,) = files_in(folder)
    return folder / name


@pytest.fixture(name="facts", scope="module")
def summary(recorded: Path) -> Facts:
    return summarize(read(recorded))


def ranges(path: Path, begin: str) -> list[tuple[float, float]]:
    """(start, end) of the ranges whose name begins so, µs."""
    events = json_of(path)["traceEvents"]
    found = [
        (one["ts"], one["ts"] + one["dur"])
        for one in events
        if one.get("cat") == "user_annotation" and one["name"].startswith(begin)
    ]
    return sorted(found)


def test_iterations_and_tokens_are_exact(facts: Facts) -> None:
    assert facts.step_source == "iteration"
    assert [(one.batch, one.context.tokens, one.generation.tokens) for one in facts.iterations] == [
        (len(one.prompts) + len(one.keys), sum(one.prompts), len(one.keys)) for one in PLAN
    ]


def test_each_gap_is_the_scheduler(facts: Facts, recorded: Path) -> None:
    every, schedules = ranges(recorded, "execute_"), ranges(recorded, "schedule: batch")
    gaps = [one.gap for one in facts.iterations]
    assert gaps[0] is None
    for gap, ((_, end), (start, _)), held in zip(
        gaps[1:], pairwise(every), schedules[1:], strict=True
    ):
        assert gap is not None
        assert gap.holder == "schedule: batch"
        assert gap.ns >= ENGINE["SCHEDULER_SECONDS"] * 1e9
        assert gap.ns / 1000 == pytest.approx(start - end, abs=0.01)
        assert gap.holder_ns / 1000 == pytest.approx(held[1] - held[0], abs=0.01)


def test_figures_of_tokens_are_those_of_the_events(facts: Facts, recorded: Path) -> None:
    has_figures_of_its_events(facts, recorded)


def test_a_last_iteration_with_fewer_calls_changes_no_figure(
    recorded: Path, tmp_path: Path
) -> None:
    """On a busy machine the model is called less often in the same time."""
    document, (start, end) = json_of(recorded), ranges(recorded, "execute_")[-1]
    events = document["traceEvents"]
    last = [one for one in events if one.get("cat") == "cpu_op" and start <= one["ts"] < end]
    dropped = {id(one) for one in last[len(last) // 10 :]}
    document["traceEvents"] = [one for one in events if id(one) not in dropped]
    path = tmp_path / "worker0.pt.trace.json"
    path.write_text(json.dumps(document))
    facts = summarize(read(path))
    assert facts.iterations[-1].left_out == "the recording ends in it"
    has_figures_of_its_events(facts, path)


def has_figures_of_its_events(facts: Facts, recorded: Path) -> None:
    every = ranges(recorded, "execute_")
    periods = [after[0] - before[0] for before, after in pairwise(every)]
    decodes = [at for at, one in enumerate(PLAN[:-1]) if one.keys and not one.prompts]
    tokens = sum(len(PLAN[at].keys) for at in decodes)
    decode = next(one for one in phases(select(facts)) if one.phase == "decode")
    assert decode.generated_per_s == pytest.approx(
        tokens / sum(periods[at] for at in decodes) * 1e6, rel=1e-4
    )
    assert decode.token_ns is not None
    assert decode.token_ns / 1000 == pytest.approx(
        sum(periods[at] * len(PLAN[at].keys) for at in decodes) / tokens, rel=1e-4
    )
    prefill = next(one for one in phases(select(facts)) if one.phase == "prefill")
    assert prefill.prefill_per_s == pytest.approx(768 / periods[0] * 1e6, rel=1e-4)


def drawn(form: str = "vllm-detailed") -> Facts:
    """The same iterations with the times that the engine was made with, to the microsecond."""
    scheduler, forward = (1e6 * ENGINE[name] for name in ("SCHEDULER_SECONDS", "FORWARD_SECONDS"))
    events, at = [], 0.0
    for batch in PLAN:
        name = ENGINE["FORMS"][form](batch)
        events.append(event("user_annotation", "schedule: batch", at, scheduler))
        events.append(event("user_annotation", name, at + scheduler, forward))
        at += scheduler + forward
    return summarize(trace_of(events))


def test_drawn_figures_are_what_the_engine_was_made_with() -> None:
    """3 ms of scheduler and 5 of work: a token takes 8 ms, whatever the batch."""
    facts = drawn()
    period = 8_000_000
    gaps = [one.gap for one in facts.iterations[1:]]
    assert {(one.ns, one.idle_ns, one.holder, one.holder_ns) for one in gaps if one} == {
        (3_000_000, 3_000_000, "schedule: batch", 3_000_000)
    }
    assert {one.period_ns for one in facts.iterations[:-1]} == {period}
    assert facts.iterations[-1].period_ns is None
    for one in phases(select(facts)):
        made = [
            batch
            for batch in PLAN[:-1]
            if one.phase
            == (
                "mixed"
                if batch.prompts and batch.keys
                else "prefill"
                if batch.prompts
                else "decode"
            )
        ]
        prompts, tokens = (
            sum(sum(batch.prompts) for batch in made), sum(len(batch.keys) for batch in made)
        )  # fmt: skip
        assert one.span_ns == 5_000_000 * one.count
        assert one.token_ns == (period if tokens else None)
        for told, count in ((one.prefill_per_s, prompts), (one.generated_per_s, tokens)):
            assert told == (pytest.approx(count / (len(made) * 8e-3)) if count else None)


@pytest.mark.parametrize("form", list(ENGINE["FORMS"]))
def test_the_table_of_iterations_is_exact_in_every_form(form: str) -> None:
    """What a name does not tell is not known: never 0, and never guessed."""
    found = build(drawn(form), OverviewQuery()).serving
    assert found is not None
    for one, made in zip(found.iterations, PLAN, strict=True):
        first, second = len(made.prompts), len(made.keys)
        tokens: tuple[int | None, int | None] = (sum(made.prompts), second)
        keys: int | None = sum(made.prompts) + sum(made.keys)
        phase = "mixed" if first and second else "prefill" if first else "decode"
        match form, phase:
            case "vllm-old", _:
                tokens = (None if first else 0, None if second else 0)
            case "atom", "mixed":  # the tokens of both together alone
                tokens = (None, None)
            case "tensorrt", _:  # tokens of prompts alone
                tokens = (sum(made.prompts), None if second else 0)
        tells_keys = {"sglang": phase == "decode", "atom": phase == "prefill"}
        if not tells_keys.get(form, form == "vllm-detailed"):
            keys = None
        told = (one.phase, one.batch, one.prefill_tokens, one.generated_tokens, one.keys)
        assert told == (phase, first + second, *tokens, keys), one.label


def test_recorded_figures_are_those_at_least(facts: Facts) -> None:
    """Sleeping and working take as long as asked for, or longer on a busy machine."""
    scheduler, forward = (1e9 * ENGINE[name] for name in ("SCHEDULER_SECONDS", "FORWARD_SECONDS"))
    gaps = [one.gap.ns for one in facts.iterations if one.gap]
    spans = [one.span_ns for one in facts.iterations]
    periods = [one.period_ns for one in facts.iterations if one.period_ns]
    assert scheduler <= min(gaps)
    assert forward <= min(spans)
    assert scheduler + forward <= min(periods)
    decode = next(one for one in phases(select(facts)) if one.phase == "decode")
    assert decode.token_ns is not None
    assert decode.token_ns >= scheduler + forward
