"""The word for a step: iterations of an engine are called so, a recording without any a whole."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kinetoscope.analysis.facts import Facts, First, Held, HeldKind
from kinetoscope.analysis.steps import HeldSum, select
from kinetoscope.analysis.wording import as_recorded, called, of_step, step_noun
from tests.analysis.serving.drawn import Pass, decode, facts_of

SERVED = facts_of(Pass(decode(8)), Pass(decode(8)))
TRAINED = replace(SERVED, step_source="profiler_step")
WHOLE = replace(SERVED, step_source="whole_trace")


def test_the_word_follows_from_what_marks_steps() -> None:
    assert [step_noun(one) for one in (SERVED, TRAINED, WHOLE)] == [
        "iteration", "step", "recording",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A step is long.", "An iteration is long."),
        ("Of a mean step, per step:", "Of a mean iteration, per iteration:"),
        ("Steps 3 to 5 are warm-up steps.", "Iterations 3 to 5 are warm-up iterations."),
        # Names, code and options stay.
        ("Call `prof.step()` in each step.", "Call `prof.step()` in each iteration."),
        ("Optimizer.step#SGD.step step[DECODE bs=8]", "Optimizer.step#SGD.step step[DECODE bs=8]"),
        ("--steps 4, set_step, ProfilerStep#4", "--steps 4, set_step, ProfilerStep#4"),
    ],
)
def test_a_text_about_steps_speaks_of_iterations(text: str, expected: str) -> None:
    assert as_recorded(text, SERVED) == expected
    assert as_recorded(text, TRAINED) == text


def test_a_text_about_the_step_speaks_of_the_recording_without_steps() -> None:
    assert as_recorded("The step, per step", WHOLE) == "The recording, in the recording"


def held(count: int, longest_ns: int, kind: HeldKind = "runtime", first: First = "call") -> HeldSum:
    longest = Held(0, count, 1_000, longest_ns, 0, longest_ns, first, -1)
    return HeldSum("cudaMalloc", kind, "allocation", count, 1_000, longest, None)


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        (held(0, 500), "`cudaMalloc` for 1.00 µs"),
        (held(1, 1_000), "`cudaMalloc` for 1.00 µs (once, the first call in the recording)"),
        (
            held(1, 1_000, first="kernel"),
            "`cudaMalloc` for 1.00 µs (once, the first launch of its kernel)",
        ),
        (held(2, 500), "`cudaMalloc` for 1.00 µs (2 times)"),
        (
            held(2, 501),
            (
                "`cudaMalloc` for 1.00 µs (2 times, 501 ns of it in one, "
                "the first call in the recording)"
            ),
        ),
        (held(1, 1_000, "python"), "`cudaMalloc` for 1.00 µs (once)"),
        (held(1, 1_000, "annotation"), "`cudaMalloc` for 1.00 µs (once, nothing recorded inside)"),
    ],
)
def test_what_held_the_device_is_named_with_how_long_and_how_often(
    of: HeldSum, expected: str
) -> None:
    """More than half of the time in one of several calls is named apart."""
    assert called(of).replace("\xa0", " ") == expected


@pytest.mark.parametrize(
    ("shares", "facts", "whole"),
    [
        ((0.30, 0.30), TRAINED, "of every step"),
        ((0.329, 0.271), TRAINED, "of every step"),  # a tenth off the mean
        ((0.34, 0.26), TRAINED, "of the mean step"),
        ((0.5, 0.0), TRAINED, "of the mean step"),
        ((0.3,), TRAINED, "of the mean step"),  # not known of one of the two
        ((), TRAINED, "of the mean step"),
        ((0.30, 0.30), SERVED, "of every iteration"),
        ((0.30, 0.30), WHOLE, "of the recording"),
    ],
)
def test_a_share_is_of_every_step_where_all_have_it(
    shares: tuple[float, ...], facts: Facts, whole: str
) -> None:
    assert of_step(select(facts), shares) == whole


def test_a_share_of_one_step_is_of_the_step() -> None:
    assert of_step(replace(select(TRAINED), indexes=(0,)), (0.3,)) == "of the step"
