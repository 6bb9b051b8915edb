"""Figures of phases: they are those that a drawn server was made with."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kinetoscope.analysis.facts import Facts
from kinetoscope.analysis.headline import headline
from kinetoscope.analysis.serving.phases import PhaseFigures, phases
from kinetoscope.analysis.steps import select
from kinetoscope.base.machine import ITERATIONS_VARIABLE
from kinetoscope.base.units import NBSP
from kinetoscope.views.overview.view import OverviewQuery, build
from tests.analysis.serving.drawn import SCHEDULER, Pass, decode, facts_of

US = 1000
PREFILL = "execute_context_3(960)_generation_0(0)"
MIXED = "execute_context_2(640)_generation_5(5)"


def of(facts: Facts, phase: str, steps: str = "") -> PhaseFigures:
    return next(one for one in phases(select(facts, steps)) if one.phase == phase)


def served() -> Facts:
    """Prefill 900 µs; mixed 400 µs; six decodes of 200 µs, each behind 70 µs of scheduler."""
    decodes = [Pass(decode(8), kernels=(150, 50), graph=True, host=70)] * 6
    return facts_of(
        Pass(PREFILL, kernels=(900,)), Pass(MIXED, kernels=(300, 100), host=20), *decodes
    )


def test_time_and_gaps_of_each_phase() -> None:
    facts = served()
    one = of(facts, "decode")
    assert (one.count, one.span_ns, one.inside_idle_ns) == (6, 6 * 200 * US, 0)
    assert (one.gap_count, one.gap_idle_ns) == (6, 6 * 80 * US), "70 µs, and 10 µs to launch"
    assert one.holder == (SCHEDULER, 6 * 70 * US)
    assert one.requests == 8
    mixed = of(facts, "mixed")
    assert (mixed.count, mixed.span_ns, mixed.gap_idle_ns) == (1, 400 * US, 30 * US)
    assert of(facts, "prefill").gap_count == 0


def test_tokens_are_divided_by_periods() -> None:
    """A decode lasts 200 µs and 80 µs pass to the next: five periods are known, each 280 µs."""
    facts = served()
    one = of(facts, "decode")
    assert (len(one.timed), one.period_ns) == (5, 5 * 280 * US)
    assert one.generated_per_s == pytest.approx(8 / 280e-6)
    assert one.token_ns == 280 * US
    assert one.prefill_per_s is None
    mixed = of(facts, "mixed")
    assert mixed.period_ns == (400 + 80) * US
    assert mixed.prefill_per_s == pytest.approx(640 / 480e-6)
    assert mixed.generated_per_s == pytest.approx(5 / 480e-6)
    assert mixed.token_ns == 480 * US
    prefill = of(facts, "prefill")
    assert prefill.period_ns == (900 + 30) * US
    assert prefill.prefill_per_s == pytest.approx(960 / 930e-6)
    assert (prefill.generated_per_s, prefill.token_ns) == (None, None)


def test_without_a_period_figures_are_bounds() -> None:
    facts = facts_of(Pass(decode(4), kernels=(500,)))
    one = of(facts, "decode")
    assert one.is_bound
    assert one.period_ns is None
    assert one.generated_per_s == pytest.approx(4 / 500e-6)
    assert one.token_ns == 500 * US
    answer = build(facts, OverviewQuery()).serving
    assert answer is not None
    assert answer.phases[0].basis == "device time"
    assert any("upper bound" in note for note in answer.notes)


def test_batches_of_unequal_size_weigh_by_their_tokens() -> None:
    """Periods 100, 300 µs; requests 2, 6: Σ period · requests ÷ Σ tokens = 2,000 ÷ 8."""
    facts = facts_of(
        Pass(decode(2), kernels=(100,)), Pass(decode(6), kernels=(300,)), Pass(decode(6))
    )
    one = of(facts, "decode")
    assert one.token_ns == 250 * US
    assert one.generated_per_s == pytest.approx(8 / 400e-6)


def test_speculation_counts_drafted_tokens() -> None:
    name = "execute_context_0(0)_generation_4(12)"
    facts = facts_of(*[Pass(name, kernels=(300,))] * 3)
    one = of(facts, "decode")
    assert one.is_speculative
    assert one.token_ns == 100 * US, "three drafted tokens a request"
    answer = build(facts, OverviewQuery()).serving
    assert answer is not None
    assert any("accepted tokens" in note for note in answer.notes)


def test_no_counts_no_tokens() -> None:
    facts = facts_of(*[Pass("execute_new_0_cached_7")] * 3)
    one = of(facts, "decode")
    assert (one.generated_per_s, one.token_ns, one.is_certain) == (None, None, False)
    answer = build(facts, OverviewQuery()).serving
    assert answer is not None
    assert answer.phases[0].basis == "tokens not recorded"
    assert any("not certain" in note for note in answer.notes)


@pytest.mark.parametrize(
    ("names", "ratio"),
    [
        (["decode[bs=117/128 tok=117 d=117]", "decode[bs=100/128 tok=100 d=100]"], 1 - 217 / 256),
        (["decode[bs=8 tok=8 d=8]"], None),
        (["decode[bs=9/8 tok=9 d=9]"], None),
    ],
)
def test_padding(names: Sequence[str], ratio: float | None) -> None:
    one = of(facts_of(*map(Pass, names)), "decode")
    assert one.padding_ratio == (None if ratio is None else pytest.approx(ratio))


def test_the_steps_of_a_phase_can_be_chosen() -> None:
    """Decodes lie around a prefill; the engine's numbers count, and choose the same iterations."""
    names = [f"[Executor] _forward_step {n}: 0 ctx reqs, 2 gen reqs" for n in range(40, 43)]
    names += ["[Executor] _forward_step 43: 1 ctx reqs, 0 gen reqs"]
    names += ["[Executor] _forward_step 44: 0 ctx reqs, 2 gen reqs"]
    facts = facts_of(*map(Pass, names))
    answer = build(facts, OverviewQuery()).serving
    assert answer is not None
    steps = {one.name: one.steps for one in answer.phases}
    assert steps == {"Prefill": "43", "Decode": "40-42,44"}
    chosen = phases(select(facts, steps["Decode"]))
    assert [(one.phase, one.count) for one in chosen] == [("decode", 4)]


def test_only_chosen_steps_count() -> None:
    facts = served()
    assert of(facts, "decode", "2-4").count == 3
    assert [one.phase for one in phases(select(facts, "0"))] == ["prefill"]


def test_the_sentence_names_the_phase() -> None:
    facts = facts_of(*[Pass(decode(8), kernels=(500,))] * 4)
    assert headline(select(facts)).headline.replace(NBSP, " ") == (
        "GPU-bound: decode of 8 requests keeps it busy for 100 % of its time."
    )
    both = facts_of(Pass(PREFILL, kernels=(900,)), *[Pass(decode(8), kernels=(100,))] * 3)
    assert headline(select(both)).headline.replace(NBSP, " ") == (
        "GPU-bound: of its time, prefill 75.0 % and decode 25.0 %."
    )


def test_the_answer_of_the_overview() -> None:
    answer = build(served(), OverviewQuery()).serving
    assert answer is not None
    assert answer.title == "Phases of vLLM"
    assert [(one.name, one.count) for one in answer.phases] == [
        ("Prefill", 1), ("Mixed", 1), ("Decode", 6),
    ]  # fmt: skip
    assert [one.label for one in answer.iterations][:3] == [
        "prefill 3 · 960 tokens", "mixed 2+5", "decode 8",
    ]  # fmt: skip
    assert [one.steps for one in answer.phases] == ["0", "1", "2-7"]
    last = answer.phases[-1]
    assert (last.families[0].name, last.families[0].ns) == ("gemm", 6 * 200 * US)
    assert last.share_ratio == pytest.approx(1200 / 2500)
    assert last.graph_ratio == 1.0
    assert sum(one.share_ratio for one in answer.phases) == pytest.approx(1)
    assert build(facts_of(Pass("note")), OverviewQuery()).serving is None


def test_a_form_of_your_own_from_the_name_to_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that no form knows: without the expression these are ranges like others."""
    names = ["serve prefill 2 (900)", *["serve decode 2 (2)"] * 3]
    assert not facts_of(*map(Pass, names)).iterations
    monkeypatch.setenv(
        ITERATIONS_VARIABLE,
        r"serve (?:prefill (?P<context_requests>\d+) \((?P<context_tokens>\d+)\)"
        r"|decode (?P<generation_requests>\d+) \((?P<generation_tokens>\d+)\))",
    )
    facts = facts_of(*map(Pass, names))
    assert facts.step_source == "iteration"
    answer = build(facts, OverviewQuery()).serving
    assert answer is not None
    assert answer.title == "Phases"
    assert [(one.name, one.count, one.requests) for one in answer.phases] == [
        ("Prefill", 1, 2), ("Decode", 3, 2),
    ]  # fmt: skip
    # Two tokens in each period of 400 µs; the prompt of 900 tokens in one such period.
    assert answer.phases[0].prefill_per_s == 2_250_000
    assert answer.phases[1].generated_per_s == 5_000
    assert answer.phases[1].token_ns == 400 * US
