"""Rules on served models: each in a drawn server in which it fires, and in one in which not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from msgspec.structs import replace

from kinetoscope.analysis.advice import check_all
from kinetoscope.analysis.findings import Finding
from kinetoscope.analysis.headline import headline
from kinetoscope.analysis.serving.model import KeyReads, PhaseUse
from kinetoscope.analysis.steps import select
from tests.analysis.advice.checks import plain
from tests.analysis.serving.drawn import Pass, decode, facts_of


def found(rule: str, *passes: Pass, **metadata: Any) -> Finding | None:
    return next((one for one in check_all(select(facts_of(*passes, **metadata)))[0]
                 if one.id == rule), None)  # fmt: skip


def needs(rule: str, *passes: Pass) -> str:
    unchecked = check_all(select(facts_of(*passes)))[1]
    return next((one.needs for one in unchecked if one.id == rule), "")


def test_gaps_between_iterations() -> None:
    """A period of 530 µs, of which 130 are the gap: 120 µs of scheduler, 10 µs of launch."""
    one = found("SV1", *[Pass(decode(8), host=120)] * 6)
    assert one is not None
    assert plain(one.text) == (
        "The GPU idles 130 µs before an iteration, 24.5 % of a period of 530 µs (medians of 6"
        " iterations). Meanwhile the host is in `schedule: allocate_slots`, 120 µs each. Turn on"
        " `--async-scheduling`, so that the host prepares the next batch meanwhile."
    )
    assert one.gain is not None
    # The first iteration has no gap before it; the step has its own start.
    assert one.gain.ns_per_step == pytest.approx(5 * 130_000 / 6)
    said = headline(select(facts_of(*[Pass(decode(8), host=120)] * 6)), (one,))
    assert said.cause in ("SV1", "idle_host_ns")


@pytest.mark.parametrize(("scheduler", "fires"), [(10.0, False), (14.0, True)])
def test_both_sides_of_the_gap_that_counts(scheduler: float, fires: bool) -> None:
    """20 of 420 µs are 4.8 %, 24 of 424 µs are 5.7 %."""
    assert (found("SV1", *[Pass(decode(8), host=scheduler)] * 6) is not None) == fires


def test_no_gap_no_advice() -> None:
    assert found("SV1", *[Pass(decode(8))] * 6) is None


def test_a_server_that_waits_for_requests_is_not_held_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.analysis.serving.drawn.SCHEDULER", "zmq.py(3): poll")
    assert found("SV1", *[Pass(decode(8), host=120)] * 6) is None


def test_four_iterations_are_too_few() -> None:
    few = [Pass(decode(8), host=120)] * 4
    assert found("SV1", *few) is None
    assert plain(needs("SV1", *few)).startswith("5 whole iterations")
    assert needs("SV1", *[Pass(decode(8), host=120)] * 5) == ""


EAGER = Pass(decode(4), kernels=(3.0,) * 101, pause=12)
GRAPHED = Pass(decode(2), kernels=(3.0,) * 101, graph=True)


def test_decode_without_graphs() -> None:
    one = found("SV2", *[EAGER] * 5)
    assert one is not None
    assert "101 launches each. No iteration replays a graph." in plain(one.text)
    assert one.action == ("Leave out `--enforce-eager`: graphs replay the launches for 4 requests.")


def test_decode_beyond_the_captured_sizes() -> None:
    one = found("SV2", *[GRAPHED] * 2, *[EAGER] * 4)
    assert one is not None
    assert "The largest batch that replays a graph has 2 requests." in plain(one.text)
    assert one.action == "Capture graphs for batches up to 4: `cudagraph_capture_sizes`."


@pytest.mark.parametrize(
    ("why", "passes"),
    [
        ("replays", [GRAPHED] * 5),
        ("few launches", [EAGER._replace(kernels=(3.0,) * 100)] * 5),
        ("busy", [EAGER._replace(kernels=(200.0,) * 101)] * 5),
        ("prefill", [EAGER._replace(name="execute_context_1(70)_generation_0(0)")] * 5),
        ("a smaller batch replays none", [GRAPHED._replace(name=decode(9)), *[EAGER] * 4]),
    ],
)
def test_decode_that_needs_no_graph(why: str, passes: list[Pass]) -> None:
    assert found("SV2", *passes) is None, why


@pytest.mark.parametrize(("batch", "fires"), [(108, True), (109, False)])
def test_padding(batch: int, fires: bool) -> None:
    """20 of 128 are 15.6 %, 19 are 14.8 %."""
    one = found("SV3", *[Pass(f"decode[bs={batch}/128 tok={batch} d={batch}]")] * 5)
    assert (one is not None) == fires
    if one is not None:
        assert "batches of 108 run as 128" in plain(one.text)
        assert one.action == "Capture more sizes between 108 and 128: `--cudagraph-capture-sizes`."


def test_padding_of_several_sizes_names_the_smallest_and_the_largest() -> None:
    passes = [
        Pass(f"decode[bs={batch}/{padded} tok={batch} d={batch}]")
        for batch, padded in ((100, 128), (90, 112), (95, 120), (100, 128), (90, 112))
    ]
    one = found("SV3", *passes)
    assert one is not None
    assert "batches of 90 to 100 run as 112 to 128" in plain(one.text)


def used(weights: float = 0.9, rate: float = 0.2, ns: int = 900_000) -> PhaseUse:
    """Decode at 40 % of the bandwidth; its kernel of attention takes ``ns``."""
    return PhaseUse(None, 0.4, 1.0, False, weights, KeyReads("paged_attention", ns, rate))


def found_with(rule: str, use: PhaseUse | None, *passes: Pass) -> Finding | None:
    chosen = replace(select(facts_of(*passes)), use={"decode": use} if use else {})
    return next((one for one in check_all(chosen)[0] if one.id == rule), None)


@pytest.mark.parametrize(
    ("batches", "weights", "fires"),
    [
        ((7, 7, 7, 8, 8), 0.81, True),
        ((7, 7, 7, 8, 8), 0.80, False),
        ((7, 7, 8, 8, 8), 0.81, False),
        ((7, 7, 7, 8, 8, 8), 0.81, False),
    ],
)
def test_small_decode_batches(batches: Sequence[int], weights: float, fires: bool) -> None:
    passes = [Pass(decode(one)) for one in batches]
    one = found_with("SV4", used(weights), *passes)
    assert (one is not None) == fires
    if one is not None:
        assert plain(one.text) == (
            "3 of 5 decode iterations have fewer than 8 requests. Weights are 81.0 % of the bytes"
            " that decode reads, at 40.0 % of the bandwidth. Send more requests at once: they share"
            " the weights, so tokens/s grow with them."
        )


@pytest.mark.parametrize(
    ("rate", "ns", "fires"),
    [
        (0.29, 201_000, True),
        (0.30, 201_000, False),
        (0.29, 200_000, False),
    ],
)
def test_attention_that_reads_slowly(rate: float, ns: int, fires: bool) -> None:
    """Five iterations of 400 µs: 200 µs are a tenth."""
    one = found_with("SV6", used(0.5, rate, ns), *[Pass(decode(8))] * 5)
    assert (one is not None) == fires
    if one is not None:
        assert plain(one.text).startswith(
            "`paged_attention` takes 10.1 % of decode, and reads keys and values at 29.0 % of the"
            " bandwidth."
        )


@pytest.mark.parametrize("rule", ["SV4", "SV6"])
def test_without_sizes_nothing_is_said_of_bytes(rule: str) -> None:
    few = [Pass(decode(2))] * 5
    assert found_with(rule, None, *few) is None
    assert "record shapes of inputs" in needs(rule, *few)
    assert needs(rule, *[Pass("execute_context_1(70)_generation_0(0)")] * 5) == ""


COPIED = Pass(decode(8), kernels=(300,), copied=40)


def test_a_copy_that_blocks_in_each_iteration() -> None:
    """A period of 355 µs, of which the device idles for 40 under the copy, and 10 to launch."""
    one = found("SV7", *[COPIED] * 6)
    assert one is not None
    assert plain(one.text).startswith(
        "`cudaMemcpy` blocks the host in each iteration. The GPU idles meanwhile, "
    )
    assert one.gain is not None
    assert one.gain.ns_per_step == 40_000, "a step ends with the copy"
    assert found("SY1", *[COPIED] * 6) is None, "the same time has one finding"


@pytest.mark.parametrize(
    ("why", "passes"),
    [
        ("few iterations", [COPIED] * 4),
        ("not in each one", [COPIED, COPIED._replace(copied=0.0)] * 3),
        ("short", [COPIED._replace(copied=10.0)] * 6),
        ("a first call", [COPIED._replace(copied=2000.0), *[COPIED._replace(copied=1.0)] * 5]),
    ],
)
def test_copies_that_hold_nothing_up(why: str, passes: list[Pass]) -> None:
    assert found("SV7", *passes) is None, why


def served(prefill: float) -> list[Pass]:
    decodes = [Pass(decode(8), kernels=(200,))] * 4
    return [*decodes, Pass("execute_context_1(512)_generation_0(0)", kernels=(prefill,)), *decodes]


@pytest.mark.parametrize(("prefill", "fires"), [(600.0, False), (601.0, True)])
def test_prefill_between_decodes(prefill: float, fires: bool) -> None:
    one = found("SV5", *served(prefill))
    assert (one is not None) == fires
    if one is not None:
        assert "(512 prompt tokens) takes 601 µs, a decode iteration 200 µs" in plain(one.text)
        assert "`--max-num-batched-tokens`" in one.action


def test_prefill_before_all_decodes_stalls_nothing() -> None:
    first = Pass("execute_context_1(512)_generation_0(0)", kernels=(5000,))
    assert found("SV5", first, *[Pass(decode(8), kernels=(200,))] * 6) is None


def test_rules_on_trainings_say_nothing_of_serving() -> None:
    ids = {one.id for one in check_all(select(facts_of(*[Pass("note")] * 6)))[0]}
    assert not any(one.startswith("SV") for one in ids)
    unchecked = {one.id for one in check_all(select(facts_of(*[Pass("note")] * 6)))[1]}
    assert not any(one.startswith("SV") for one in unchecked)


FIRES: dict[str, list[Pass]] = {
    "SV1": [Pass(decode(8), host=120)] * 6,
    "SV2": [EAGER] * 5,
    "SV3": [Pass("decode[bs=100/128 tok=100 d=100]")] * 5,
    "SV5": served(900),
    "SV7": [COPIED] * 6,
}
"""A server for each rule in which it fires."""


@pytest.mark.parametrize("rule", list(FIRES))
def test_each_server_has_only_the_finding_that_it_was_drawn_for(rule: str) -> None:
    said = {one.id for one in check_all(select(facts_of(*FIRES[rule])))[0]}
    assert {one for one in said if one.startswith("SV")} == {rule}


def findings() -> tuple[Finding, ...]:
    """A finding of every rule of serving."""
    drawn = [found(rule, *some) for rule, some in FIRES.items()]
    few = [Pass(decode(2))] * 5
    drawn += [found_with(rule, used(), *few) for rule in ("SV4", "SV6")]
    return tuple(one for one in drawn if one is not None)
