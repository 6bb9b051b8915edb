"""Where the steps are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.trace.link import steps as finding
from kinetoscope.trace.link.steps import family_name
from kinetoscope.trace.model import Trace
from tests.trace.drawn import annotation, drawn, kernel, kinds, x


def table(trace: Trace) -> list[tuple[int, int, int]]:
    """(number, start, end) in µs."""
    steps = trace.steps
    columns = (steps.number.tolist(), (steps.ts // 1000).tolist(), (steps.end // 1000).tolist())
    return list(zip(*columns, strict=True))


def test_profiler_steps() -> None:
    # ▕ step 7 ▏▕ step 8 ▏   ops before, in and between them
    trace = drawn(
        x("before", 0, 1),
        annotation("ProfilerStep#7", 10, 20),
        x("in 7", 10, 5),
        x("between", 30, 1),
        annotation("ProfilerStep#8", 40, 20),
        x("in 8", 59, 9),
        x("elsewhere", 45, 5, tid=2),
    )
    assert table(trace) == [(7, 10, 30), (8, 40, 60)]
    assert trace.steps.source == "profiler_step"
    by_name = {
        trace.text(int(code)): step
        for code, step in zip(trace.host.name, trace.host.step.tolist(), strict=True)
    }
    assert by_name == {
        "before": -1, "ProfilerStep#7": 0, "in 7": 0, "between": -1, "ProfilerStep#8": 1,
        "in 8": 1, "elsewhere": 1,
    }  # fmt: skip


def test_the_copy_on_the_device_is_no_step() -> None:
    trace = drawn(
        annotation("ProfilerStep#1", 0, 10),
        kernel("ProfilerStep#1", 2, 20, cat="gpu_user_annotation"),
        kernel("k", 2, 20),
    )
    assert table(trace) == [(1, 0, 10)]


def test_old_recorders_wrote_steps_as_ops() -> None:
    trace = drawn(x("ProfilerStep#1", 0, 10, cat="Operator"), x("ProfilerStep#2", 10, 10))
    assert [number for number, _, _ in table(trace)] == [1, 2]


def test_steps_seen_by_several_threads_are_counted_once() -> None:
    trace = drawn(
        annotation("ProfilerStep#1", 0, 10),
        annotation("ProfilerStep#2", 10, 10),
        annotation("ProfilerStep#2", 11, 9, tid=2),
    )
    assert table(trace) == [(1, 0, 10), (2, 10, 20)]


def test_numbers_that_repeat_or_go_back_are_kept_in_the_order_of_time() -> None:
    trace = drawn(
        annotation("ProfilerStep#5", 0, 10),
        annotation("ProfilerStep#5", 0, 10),
        annotation("ProfilerStep#5", 10, 10),
        annotation("ProfilerStep#4", 20, 10),
    )
    assert table(trace) == [(5, 0, 10), (5, 10, 20), (4, 20, 30)], "written twice is one step"
    assert "step_numbers" in kinds(trace)


def test_a_last_step_that_never_ended_is_told() -> None:
    trace = drawn(
        annotation("ProfilerStep#1", 0, 10),
        annotation("ProfilerStep#2", 10, 3, finished=False),
    )
    assert "unfinished_step" in kinds(trace)
    assert table(trace)[1] == (2, 10, 13)


def test_a_regular_family_of_annotations() -> None:
    trace = drawn(
        [
            annotation(f"execute_32_context_{i}(sq{i})_generation_32(sk7)", 10 * i, 9)
            for i in range(4)
        ],
        [annotation("nccl:all_reduce", 10 * i, 10) for i in range(4)],
        [annotation("prepare", 10 * i, 2) for i in range(4)],
    )
    assert table(trace) == [(0, 0, 9), (1, 10, 19), (2, 20, 29), (3, 30, 39)]
    assert (trace.steps.source, trace.steps.family) == (
        "annotation", "execute__context__generation_",
    )  # fmt: skip
    assert "steps_from_annotations" in kinds(trace)


@pytest.mark.parametrize(
    ("why", "events"),
    [
        ("too few", [annotation(f"it {i}", 10 * i, 9) for i in range(2)]),
        ("overlap", [annotation(f"it {i}", 10 * i, 19) for i in range(4)]),
        ("cover too little", [annotation(f"it {i}", 10 * i, 3) for i in range(4)]),
        (
            "requests on two threads",
            [annotation(f"it {i}", 10 * i, 9, tid=i % 2) for i in range(8)],
        ),
        ("part of a step", [annotation("enumerate(DataLoader)#X", 10 * i, 9) for i in range(4)]),
        ("modules", [annotation(f"[module]Block: layers.{i}", 10 * i, 9) for i in range(4)]),
        ("modules", [annotation(f"[pl][module]a.Block: {i}", 10 * i, 9) for i in range(4)]),
    ],
)
def test_what_is_no_family_of_steps(why: str, events: list[dict[str, object]]) -> None:
    trace = drawn(events, x("aten::mm", 0, 40))
    assert trace.steps.source == "whole_trace", why
    assert table(trace) == [(0, 0, trace.end_ns // 1000)]
    assert set(trace.host.step.tolist()) == {0}
    assert "no_steps" in kinds(trace)


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("step[DECODE bs=32]", "step"),
        ("Iteration 12", "Iteration"),
        ("a(b(c1)d)2", "a"),
        ("12", ""),
    ],
)
def test_family_names(name: str, family: str) -> None:
    assert family_name(name) == family


STEPS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 12)), min_size=1, max_size=6)
OPS = st.lists(st.tuples(st.integers(1, 3), st.integers(0, 50)), max_size=30)


@given(STEPS, OPS)
def test_rows_of_a_step_by_search_and_one_by_one(
    steps: list[tuple[int, int]], ops: list[tuple[int, int]]
) -> None:
    """Steps that overlap, lie in one another, begin at one instant or have no length, too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(finding, "_FEWEST", 0)
        trace = drawn(
            *(annotation(f"ProfilerStep#{n}", ts, dur) for n, (ts, dur) in enumerate(steps)),
            *(x("op", ts, 1, tid=tid) for tid, ts in ops),
        )
    found = finding.step_at(trace.steps, trace.host.ts)
    assert trace.host.step.tolist() == found.tolist()
    assert trace.host.step.dtype == np.int32
