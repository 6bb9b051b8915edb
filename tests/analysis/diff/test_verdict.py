"""The sentences of a verdict: each says what is so, and nothing that is not."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from kinetoscope.analysis.diff.bridge import CLOCK
from kinetoscope.analysis.diff.noise import judge_times
from kinetoscope.analysis.diff.sides import Side
from kinetoscope.analysis.diff.verdict import _settle, compare
from kinetoscope.analysis.steps import select
from kinetoscope.base.units import NBSP
from kinetoscope.trace.read import read
from tests.trace.drawn import Event, annotation, drawn, drawn_by_others, kernel, launch, x

from .training import LOADER, Plant, side_of, training, write_training


def host(steps: int, length_us: float = 1000, *, marked: bool = True) -> Side:
    """Steps on the CPU, each of one operator."""
    flat: list[Event] = []
    for step in range(steps):
        begin = step * (length_us + 10)
        flat.append(x("aten::mm", begin + 5, length_us - 10))
        if marked:
            flat.append(annotation(f"ProfilerStep#{step}", begin, length_us))
    return side_of(drawn(flat))


def lasting(lengths: list[float]) -> Side:
    """Steps of these lengths in µs, each of one operator."""
    flat: list[Event] = []
    now = 0.0
    for step, length in enumerate(lengths):
        flat.append(x("aten::mm", now + 5, length - 10))
        flat.append(annotation(f"ProfilerStep#{step}", now, length))
        now += length + 10
    return side_of(drawn(flat))


def said(base: Side, other: Side) -> tuple[str, str, str, str]:
    found = compare(base, other)
    texts = (found.headline, found.detail, found.certainty, found.settle)
    first, second, third, fourth = (text.replace(NBSP, " ") for text in texts)
    return first, second, third, fourth


def test_one_step_of_each() -> None:
    assert said(host(1), host(1, 1100)) == (
        "Cannot tell: 100 µs more per step (10.0 %), from 1 step of each.",
        "",
        "1 against 1 step",
        "Record 7 more steps on each side.",
    )


def test_recordings_are_asked_for_where_steps_settle_nothing() -> None:
    """3 % more, for certain; then B alone has repeats, which lie too far apart."""
    generator = np.random.default_rng(8)
    base, other = (host(1) for _ in range(2))
    times = [
        tuple(int(one) for one in generator.normal(level, 0.04e6, 400)) for level in (1e6, 1.03e6)
    ]
    found = compare(base, other)
    tells = "3 recordings a side tell the code from the day."
    for factors, outcome, asked in (
        ((), "differs", f"Record each of them 2 more times: {tells}"),
        ((1.0,), "differs", f"Record each of them 2 more times: {tells}"),
        ((0.95, 1.05), "cannot tell", f"Record A 2 more times: {tells}"),
    ):
        repeats = [tuple(int(one * factor) for one in times[1]) for factor in factors]
        judged = judge_times([times[0]], [times[1], *repeats])
        assert judged.outcome == outcome
        settle = _settle(replace(found, times=judged, drift=None), outcome, (base, other))
        assert settle.replace(NBSP, " ") == asked


def test_a_difference_that_may_be_the_day() -> None:
    """Neither better nor worse up to 10 %; above, the code is blamed."""
    steps = [990.0, 1000, 1010] * 4
    headline, detail, certainty, settle = said(lasting(steps), lasting([1.05 * t for t in steps]))
    assert headline == (
        "Differs by 5.0 % (50.0 µs more per step): repeat the recording to tell the code from the"
        " day."
    )
    assert detail.startswith("Host time without a known operator") or "rose by" in detail
    assert certainty.startswith("12 against 12 steps · 95 % sure the change of the median step is")
    assert certainty.endswith("one recording a side: the code is blamed above 10.0 %")
    assert settle.startswith("Record each of them 2 more times")
    headline, *_, settle = said(lasting(steps), lasting([1.2 * t for t in steps]))
    assert headline.startswith("200 µs slower per step")
    assert settle == ""


def test_three_recordings_a_side_are_judged_together() -> None:
    """5 % more: headline, bridge and verdict are of the mean of the medians."""
    steps = [990.0, 1000, 1010] * 4
    base, other = (
        replace(sides[0], repeats=tuple(sides[1:]))
        for sides in (
            [lasting([factor * day * t for t in steps]) for day in (1.0, 0.996, 1.01)]
            for factor in (1.0, 1.05)
        )
    )
    found = compare(base, other)
    assert (found.outcome, found.settle) == ("worse", "")
    assert found.times is not None
    assert found.times.repeats == (3, 3)
    assert found.bridge.base_ns == round(found.times.base_ns) == 1_002_000
    assert found.bridge.change_ns == 50_100
    assert found.headline.replace(NBSP, " ").startswith("50.1 µs slower per step")
    assert found.certainty.startswith("3 against 3\u00a0recordings · 95")
    assert [part.is_real for part in found.bridge.parts if part.change_ns] == [True]


def test_one_step_against_many() -> None:
    headline, _, certainty, _ = said(host(1), host(12, 3000))
    assert headline == "Cannot tell: 2.00 ms more per step, from 1 step of A."
    assert certainty == "1 against 12 steps"


def test_no_steps_on_both_sides() -> None:
    headline, detail, certainty, settle = said(host(1, marked=False), host(2, marked=False))
    assert headline == "Cannot tell: 1.01 ms more in all, and nothing marks steps."
    assert detail == (
        "One recording of each is one measurement. Exact counts that changed per step:"
        " 1 more operator (1 → 2)."
    )
    assert certainty == ""
    assert settle.startswith("Mark the steps (`prof.step()` after each one, with a `schedule`)")


def functions(length_us: float = 90) -> Side:
    """What a tracer of functions writes, or a browser: categories that torch.profiler has not."""
    return side_of(
        drawn_by_others(
            x("fib (toy.py:1)", 0, length_us, cat="fee"), x("Task", 0, 9, cat="toplevel")
        )
    )


def test_steps_of_other_recorders_are_marked_in_their_way() -> None:
    """No call of torch's profiler is advised to those that did not run it."""
    how = (
        "Ranges of the category `user_annotation` count as steps in the files of any recorder:"
        " three or more of one name on one thread, one after the other, over half of the time."
    )
    *_, settle = said(functions(), functions(7))
    assert settle == f"No event in either file is of torch.profiler. {how}"
    *_, settle = said(functions(), host(1, marked=False))
    assert settle == (
        f"No event in A is of torch.profiler. {how} Mark the steps of B (`prof.step()` after each"
        " one, with a `schedule`) and record at least 8 of them."
    )
    *_, settle = said(host(4), functions())
    assert settle == f"No event in B is of torch.profiler. {how}"
    reason = functions().selection.facts.unavailable["steps"]
    assert reason == (f"No step is marked, so the whole recording counts as one. {how}")


def test_no_steps_on_one_side() -> None:
    """The whole of one recording is not set against a step of the other as if it were one."""
    headline, detail, _, settle = said(host(20, marked=False), host(20))
    assert headline == "Cannot tell: nothing marks steps in A."
    assert detail.startswith("All of its 20.2 ms stands against one step of 1.00 ms")
    assert settle.startswith("Mark the steps of A")


def on_device(name: str, side: Side) -> Side:
    """The same steps, and a device of that name in the file."""
    facts = side.selection.facts
    devices = (msgspec.structs.replace(facts.devices[0], name=name),) if facts.devices else ()
    facts = msgspec.structs.replace(facts, devices=devices)
    return replace(side, selection=select(facts, ""))


def one_kernel(length_us: float, *, marked: bool = True) -> Side:
    """One step of 1 ms with a kernel of that length in it."""
    flat = [x("first", 0, 1), launch(5, 2, 1), kernel("gemm", 20, length_us, correlation=1),
        x("last", 990, 10)]  # fmt: skip
    if marked:
        flat.append(annotation("ProfilerStep#0", 0, 1000))
    return side_of(drawn(flat))


@pytest.mark.parametrize("marked", [True, False])
def test_different_machines_of_equal_times(*, marked: bool) -> None:
    """No amount is given where there is none, and no part that differs where all are equal."""
    unit = "per step" if marked else "in all"
    base, other = (on_device(name, one_kernel(900, marked=marked)) for name in ("H100", "A100"))
    assert said(base, other)[:2] == (
        f"Different machines: the same time {unit} says nothing about the code.",
        "The recordings are of different devices. H100 against A100.",
    )
    other = on_device("A100", one_kernel(800, marked=marked))
    headline, detail, _, settle = said(base, other)
    assert headline == f"Different machines: the same time {unit} says nothing about the code."
    assert detail.endswith("The parts and the tables say where the time differs.")
    assert settle == "Record both on the same machine."


def test_equal_times_of_other_counts() -> None:
    """Neither side is longer, but one of them ran more."""
    base = host(1, 2010, marked=False)
    other = side_of(drawn(x("aten::mm", 5, 1000), x("aten::mm", 1010, 995)))
    headline, detail, _, _ = said(base, other)
    assert headline == "Cannot tell: the same time in all, and nothing marks steps."
    assert detail.endswith("Exact counts that changed per step: 1 more operator (1 → 2).")


def test_other_parts_of_equal_time_without_steps() -> None:
    headline, *_ = said(one_kernel(900, marked=False), one_kernel(800, marked=False))
    assert headline == "No change: 1.00 ms and 1.00 ms in all are the same, but not in every part."


def test_different_machines_with_steps_on_one_side() -> None:
    """A whole recording and a step of another one are not compared, whatever the machines."""
    base, other = on_device("H100", one_kernel(900, marked=False)), on_device("A100", one_kernel(9))
    headline, detail, _, _ = said(base, other)
    assert headline == "Different machines, and nothing marks steps in A."
    assert "All of its" in detail


def test_the_same_recording_twice() -> None:
    assert said(host(3), host(3)) == (
        "No change: every step is as long as before, in every part.",
        "",
        "3 against 3 steps",
        "",
    )


def test_no_operators_at_all() -> None:
    """A recording of the device alone can be compared, too."""
    flat: list[Event] = []
    for step in range(10):
        begin = step * 1000.0
        flat += [
            annotation(f"ProfilerStep#{step}", begin, 990),
            launch(begin + 5, 2, step + 1),
            kernel("gemm", begin + 20, 900, correlation=step + 1),
        ]
    found = compare(side_of(drawn(flat)), side_of(drawn(flat)))
    assert found.outcome == "no change"
    assert "operators" not in {one.key for one in found.counts}


def test_outliers_are_judged_and_listed_with_their_cause() -> None:
    """Six steps a side, two of them far off: none is set aside, and ranks decide."""
    base = lasting([1770, 1760, 1780, 1770, 1790, 1770])
    found = compare(base, lasting([1270, 1250, 1260, 1700, 1270, 1690]))
    assert found.times is not None
    assert (found.outcome, found.bridge.change_ns) == ("better", -500_000)
    assert found.times.p == pytest.approx(2 / 924)
    assert found.certainty.replace(NBSP, " ").startswith(
        "Exact rank test, 6 against 6 steps: p = 0.002 · one recording a side"
    )
    assert [one.replace(NBSP, " ") for one in found.outliers] == [
        f"Step {step} of B takes {length} ms, {more} µs more than the median: the forward pass."
        for step, length, more in (("3", "1.70", 430), ("5", "1.69", 420))
    ]


def test_another_clock_is_a_part_of_the_bridge() -> None:
    base, other = training(1, 20, sigma=0.004), training(2, 20, Plant(clock=1.1), sigma=0.004)
    found = compare(base, other)
    assert found.outcome != "worse"
    assert sum(part.change_ns for part in found.bridge.parts) == found.bridge.change_ns
    parts = {part.key: part.change_ns for part in found.bridge.parts}
    assert parts[CLOCK] == found.clock_ns > 90_000
    assert abs(parts["compute_ns"]) < 0.1 * parts[CLOCK]


def test_at_equal_clocks_the_code_is_judged() -> None:
    """A device that is 10 % slower, and beside it an operator that takes twice as long."""
    plant = Plant(clock=1.1, slower={"aten::relu": 4.0})
    base, other = training(1, 20, sigma=0.004), training(2, 20, plant, sigma=0.004)
    found = compare(base, other, at_equal_clocks=True)
    assert found.outcome == "worse"
    assert "at equal clocks" in found.headline
    assert found.change_ns == found.bridge.change_ns - found.clock_ns
    alike = compare(base, training(2, 20, Plant(clock=1.1), sigma=0.004), at_equal_clocks=True)
    assert alike.outcome == "no change"
    assert alike.headline.endswith("at equal clocks.")


def test_what_is_lost_of_a_file_is_told(tmp_path: Path) -> None:
    path = write_training(tmp_path / "whole.json", 1, 8)
    cut = tmp_path / "cut.json"
    cut.write_bytes(path.read_bytes()[:-3000])
    whole, damaged = (side_of(read(str(one))) for one in (path, cut))
    found = {one.what: one for one in compare(whole, damaged).mismatches}
    assert "damage of A" not in found
    assert found["damage of B"].weight == "taints"
    assert found["damage of B"].other


def test_a_file_that_lost_its_device_is_no_other_machine(tmp_path: Path) -> None:
    path = write_training(tmp_path / "whole.json", 1, 8)
    document = json.loads(path.read_text())
    document["traceEvents"].sort(key=lambda one: one.get("cat") == "kernel")
    text = json.dumps(document)
    cut = tmp_path / "cut.json"
    cut.write_text(text[: text.index('"kernel"') - 40])
    whole, damaged = (side_of(read(str(one))) for one in (path, cut))
    for sides, which in (((whole, damaged), "B"), ((damaged, whole), "A")):
        found = compare(*sides)
        assert not found.is_other_machine
        told = {one.what: one for one in found.mismatches}["device"]
        assert told.weight == "taints"
        assert told.text == f"Nothing of the device is in what is left of the file of {which}."


# --- what the two do not have in common, beside a claim -------------------------------------------

WHY = (
    "The change is larger than such a load makes.",
    "the steps are",
    "That is taken out of the verdict.",
    "The change is real, but this may be a part of its cause.",
)


def differing(side: Side, names: frozenset[str]) -> Side:
    """The same steps, recorded elsewhere, with another torch, or with other options."""
    facts = side.selection.facts
    recording = facts.recording
    if "options" in names:
        recording = msgspec.structs.replace(recording, with_stack=True, profile_memory=True)
    cuda = "13.1" if "versions" in names else "12.8"
    recording = msgspec.structs.replace(recording, versions={"CUDA runtime": cuda})
    facts = msgspec.structs.replace(
        facts,
        recording=recording,
        host_name="b" if "host" in names else "a",
        torch_era="E" if "torch" in names else "Other" if "recorder" in names else "F",
    )
    return replace(side, selection=select(facts, ""))


def on_a_host(seed: int, factor: float, spread: float, loader_us: float) -> Side:
    """Twelve steps without a device: eight operators, each longer by a factor of its own."""
    generator = np.random.default_rng(seed)
    own = factor * np.exp(spread * generator.normal(size=8))
    flat: list[Event] = []
    now = 0.0
    for step in range(12):
        begin = now
        flat.append(annotation(LOADER, now, loader_us))
        now += loader_us
        for at in range(8):
            length = 100.0 * own[at] * (1 + 0.005 * generator.normal())
            flat.append(x(f"aten::op{at}", now, length))
            now += length + 1
        flat.append(annotation(f"ProfilerStep#{step}", begin, now - begin))
        now += 1
    return side_of(drawn(flat))


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 99),
    factor=st.sampled_from([1.0, 1.05, 1.3]),
    spread=st.sampled_from([0.0, 0.2, 0.5]),
    loader_us=st.sampled_from([10.0, 300.0, 2000.0]),
    names=st.frozensets(st.sampled_from(["host", "torch", "versions", "options"])),
    at_equal_clocks=st.booleans(),
)
def test_a_doubt_beside_a_claim_says_why_the_claim_is_made(
    seed: int,
    factor: float,
    spread: float,
    loader_us: float,
    names: frozenset[str],
    *,
    at_equal_clocks: bool,
) -> None:
    base = differing(on_a_host(seed, 1, 0, 300), frozenset())
    other = differing(on_a_host(seed + 1, factor, spread, loader_us), names)
    for pair in ((base, other), (other, base)):
        found = compare(*pair, at_equal_clocks=at_equal_clocks)
        doubts = [one for one in found.mismatches if one.weight == "taints"]
        assert len(doubts) >= len(names)
        is_claimed = found.outcome in ("better", "worse")
        for one in doubts:
            assert any(why in one.text for why in WHY) is is_claimed, (found.outcome, one.text)


def test_a_load_that_cannot_have_made_the_change_is_no_contradiction() -> None:
    """Operators lie far apart, but the loader alone takes 2 ms less."""
    found = compare(on_a_host(1, 1, 0, 2000), on_a_host(2, 1, 0.4, 10))
    assert found.outcome == "better"
    (load,) = (one for one in found.mismatches if one.what == "load of the host")
    assert load.text.endswith("The change is larger than such a load makes.")


@pytest.mark.parametrize(
    ("loaders_us", "says"),
    [
        ((11_200, 300), "better: 10.6 ms faster per step (8.63×): the DataLoader no longer"),
        ((300, 11_200), "worse: 11.2 ms slower per step (11×): the main thread waits longer"),
        ((3_000, 2_200), "cannot tell: Cannot tell: 516 µs less per step (13.6 %), and the speeds"),
        ((3_000, 4_500), "cannot tell: Cannot tell: 1.78 ms more per step (46.8 %), and the"),
    ],
)
def test_other_speeds_of_the_hosts_do_not_hide_what_is_far_larger(
    loaders_us: tuple[float, float], says: str
) -> None:
    """The second host is about 1.3 times as slow: that explains a third of the loader's time."""
    before, after = loaders_us
    found = compare(on_a_host(1, 1, 0, before), on_a_host(2, 1.35, 0.05, after))
    text = f"{found.outcome}: {found.headline}".replace("\u00a0", " ")
    assert text.startswith(says)
    claims = found.outcome in ("better", "worse")
    assert ("The speeds of the hosts differ by 32.6 %: that explains at most 4." in
            found.detail.replace("\u00a0", " ")) is claims  # fmt: skip


def what_differs(base: Event, other: Event) -> dict[str, str]:
    left, right = (
        side_of(drawn(annotation("ProfilerStep#0", 0, 100), x("aten::mm", 5, 50, **args)))
        for args in (base, other)
    )
    return {one.what: one.text for one in compare(left, right).mismatches}


def test_another_precision_and_another_batch_are_told() -> None:
    half, single = ({"Input type": [f"{kind}", f"{kind}"]} for kind in ("c10::Half", "float"))
    small, large = ({"Input Dims": [[rows, 64], [64, 64]]} for rows in (8, 16))
    assert what_differs({**half, **small}, {**half, **small}) == {}
    assert what_differs({**half, **small}, {**single, **small}) == {
        "types": "`aten::mm` got other types: another precision or model."
    }
    assert what_differs({**half, **small}, {**half, **large}) == {
        "shapes": "`aten::mm` got other shapes: another batch or model."
    }
    assert what_differs(half, {}) == {}, "not recorded"


@pytest.mark.parametrize(
    ("name", "what", "text"),
    [
        ("host", "host", "They ran on different hosts."),
        ("torch", "torch", "They were recorded by different formats of torch."),
        ("recorder", "recorder", "They were recorded by different programs."),
        ("versions", "CUDA runtime", "The versions of CUDA runtime differ."),
        ("options", "profiler options", "Only one of them recorded stacks and memory, which"),
    ],
)
def test_each_thing_that_differs_is_told(name: str, what: str, text: str) -> None:
    base = differing(on_a_host(1, 1, 0, 300), frozenset())
    other = differing(on_a_host(1, 1, 0, 300), frozenset([name]))
    (found,) = compare(base, other).mismatches
    assert (found.what, found.weight) == (what, "taints")
    assert found.text.startswith(text)
