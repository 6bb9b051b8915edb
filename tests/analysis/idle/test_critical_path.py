"""The critical path: which parts tile a step, and who released whom."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinetoscope.analysis.host_activity import hosts_of
from kinetoscope.analysis.idle.critical_path import critical_path
from kinetoscope.analysis.idle.dependencies import Dependencies, dependencies
from kinetoscope.analysis.idle.model import PATH_KINDS, PathParts
from kinetoscope.analysis.steps import step_windows
from kinetoscope.analysis.summarize import summarize
from kinetoscope.trace.model import Trace
from kinetoscope.trace.read import read
from tests.collected import FILES, opened
from tests.conftest import ROOT
from tests.drawing import Event, draw
from tests.trace.drawn import annotation, drawn, python, x

NCCL = "ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclArgs)"


def path_of(trace: Trace, found: Dependencies | None = None) -> PathParts:
    windows = step_windows(trace)
    parts = critical_path(trace, hosts_of(trace), windows, found or dependencies(trace))
    assert_tiles(parts, windows.start, windows.end)
    return parts


def assert_tiles(parts: PathParts, start: np.ndarray, end: np.ndarray) -> None:
    """The parts of each step begin where it does, touch, and end where it does."""
    assert (parts.end > parts.start).all()
    for step in range(len(start)):
        mine = np.flatnonzero(parts.step == step)
        if end[step] == start[step]:
            assert not len(mine)
            continue
        assert parts.start[mine[0]] == start[step]
        assert parts.end[mine[-1]] == end[step]
        assert (parts.start[mine[1:]] == parts.end[mine[:-1]]).all()


def told(trace: Trace, found: Dependencies | None = None) -> list[tuple[str, int, str]]:
    """Kind, length in µs, and the name of the event, in order of time."""
    parts = path_of(trace, found)
    tables = {0: trace.host, 1: trace.device}
    return [
        (
            PATH_KINDS[kind],
            (end - start) // 1000,
            trace.text(int(tables[on].name[row])) if on >= 0 else "",
        )
        for kind, start, end, on, row in zip(
            parts.kind.tolist(),
            parts.start.tolist(),
            parts.end.tolist(),
            parts.on.tolist(),
            parts.row.tolist(),
            strict=True,
        )
    ]


def test_from_the_host_over_a_launch_to_the_device() -> None:
    trace = draw(
        """
        step   |111111111111|
        op     |oooo        |
        call   |  ll        |
        gpu    |     lllllll|
        """
    )
    assert told(trace) == [
        ("dispatch", 2, "aten::o"),
        ("launch", 2, "cudaLaunchKernel"),
        ("latency", 1, "kernel_l"),
        ("compute", 7, "kernel_l"),
    ]


def test_queued_work_is_released_by_the_work_ahead() -> None:
    trace = draw(
        """
        step   |111111111111|
        call   |ab          |
        gpu    |  aaaaa bbbb|
        """
    )
    assert told(trace) == [
        ("launch", 1, "cudaLaunchKernel"),
        ("latency", 1, "kernel_a"),
        ("compute", 5, "kernel_a"),
        ("kernel_gap", 1, "kernel_b"),
        ("compute", 4, "kernel_b"),
    ]
    # b was launched 6 µs before a ended: so much shorter can anything before b get.
    parts = path_of(trace)
    assert parts.slack.tolist() == [6_000] * 4 + [-1]


def test_a_blocking_call_waits_for_the_device() -> None:
    trace = draw(
        """
        step   |111111111111|
        call   |a ssssssss  |
        gpu    | aaaaaaaa   |
        op     |          oo|
        """,
        names={"call s": "cudaStreamSynchronize"},
    )
    assert told(trace) == [
        ("launch", 1, "cudaLaunchKernel"),
        ("compute", 8, "kernel_a"),
        ("blocking", 1, "cudaStreamSynchronize"),
        ("dispatch", 2, "aten::o"),
    ]


def test_another_stream_that_ended_just_before_is_an_inferred_dependency() -> None:
    trace = draw(
        """
        step    |11111111111111111111111111111111111111111111111111|
        call    |anb                                               |
        gpu     | aa                                       bbbbbbbb|
        gpu.9   |   nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn         |
        """,
        names={"n": NCCL},
    )
    found = dependencies(trace)
    assert [kind for kind, *_ in told(trace)][-3:] == [
        "communication_device", "kernel_gap", "compute",
    ]  # fmt: skip
    assert found.inferred_count == 1
    assert [kind for kind, *_ in told(trace, found.certain())][-3:] == [
        "compute", "device_wait", "compute",
    ]  # fmt: skip


def test_an_autograd_thread_is_handed_over_to() -> None:
    trace = draw(
        """
        step   |111111111111|
        frame  |ffffffffffff|
        frame  |   bbbbbbb  |
        op2    |    xxxx    |
        """,
        names={"f": "train.py(1): step", "b": "<built-in method run_backward of Engine>"},
    )
    assert [(kind, ns, name[:9]) for kind, ns, name in told(trace)] == [
        ("python", 3, "train.py("),
        ("python", 1, "<built-in"),
        ("dispatch", 4, "aten::x"),
        ("python", 2, "<built-in"),
        ("python", 2, "train.py("),
    ]


@st.composite
def recordings(draw_: st.DrawFn) -> list[Event]:
    """Threads, calls and work at random, causal or not."""
    events: list[Event] = []
    for at in range(draw_(st.integers(0, 14))):
        ts, dur = draw_(st.integers(0, 60)), draw_(st.integers(0, 20))
        tid = draw_(st.integers(1, 2))
        name = draw_(st.sampled_from(["aten::a", "cudaLaunchKernel", "cudaStreamSynchronize"]))
        category = "cpu_op" if name.startswith("aten") else "cuda_runtime"
        events.append(
            {"ph": "X", "cat": category, "name": name, "pid": 100, "tid": tid, "ts": ts,
             "dur": dur, "args": {"correlation": at + 1}}
        )  # fmt: skip
        if category == "cuda_runtime" and draw_(st.booleans()):
            events.extend(
                {"ph": "X", "cat": "kernel", "name": draw_(st.sampled_from(["k", NCCL])),
                 "pid": 0, "tid": draw_(st.integers(7, 8)),
                 "ts": max(0, ts + draw_(st.integers(-3, 30))),
                 "dur": draw_(st.integers(0, 15)),
                 "args": {"device": 0, "stream": 7, "correlation": at + 1}}
                for _ in range(draw_(st.integers(1, 2)))
            )  # fmt: skip
    events.extend(
        {"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{step}", "pid": 100,
         "tid": 1, "ts": 30 * step, "dur": 30}
        for step in range(draw_(st.integers(0, 2)))
    )  # fmt: skip
    return events


@settings(max_examples=60, deadline=None)
@given(recordings())
def test_parts_tile_the_step_whatever_happens(events: list[Event]) -> None:
    trace = draw("", events=events)
    path_of(trace)
    path_of(trace, dependencies(trace).certain())


@pytest.mark.parametrize("name", FILES)
def test_real_steps_are_tiled(name: str) -> None:
    path_of(opened(name))


@pytest.mark.parametrize(("length", "kind"), [(11, "communication"), (10, "python")])
def test_waiting_on_a_host_is_the_collective_that_fills_most_of_it(length: int, kind: str) -> None:
    trace = drawn(
        annotation("ProfilerStep#1", 0, 30),
        x("aten::mm", 0, 5),
        python("train.py(1): wait", 5, 20),
        annotation("gloo:all_reduce", 6, length, tid=2),
        x("aten::mm", 25, 5),
    )
    assert [one[0] for one in told(trace)] == ["dispatch", kind, "dispatch"]


def test_a_path_communicates_as_long_as_the_step_says() -> None:
    rank = next((ROOT / "samples" / "traces" / "train_ddp_cpu").glob("rank0.*"))
    trace = read(rank)
    parts, facts = path_of(trace), summarize(trace)
    of_kind = parts.kind == PATH_KINDS.index("communication")
    here = [step.host.communication_ns for step in facts.steps if step.host]
    assert int((parts.end - parts.start)[of_kind].sum()) == pytest.approx(sum(here), rel=0.01)
