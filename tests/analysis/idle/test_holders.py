"""What held the host while a device was idle: by kind, by name, by frame."""

from __future__ import annotations

import numpy as np
import pytest

from kinetoscope.analysis.facts import Facts, Idle
from kinetoscope.analysis.idle.holders import is_own_frame
from kinetoscope.analysis.steps import HeldSum, select
from kinetoscope.analysis.summarize import summarize
from kinetoscope.trace.model import Trace
from tests.collected import FILES, opened
from tests.drawing import LOADER, draw

SUMMED = Idle.__struct_fields__[:9]


def of(trace: Trace, steps: str = "") -> tuple[Idle, tuple[HeldSum, ...]]:
    selection = select(summarize(trace), steps)
    return selection.idle, selection.held


def parts(idle: Idle) -> dict[str, int]:
    return {name: getattr(idle, name) for name in SUMMED if getattr(idle, name)}


def assert_sums(facts: Facts) -> None:
    """The nine kinds sum to the idle time of each device in each step."""
    for step in facts.steps:
        for device in step.devices:
            idle = device.idle
            assert sum(getattr(idle, name) for name in SUMMED) == device.partition.idle_ns
            assert all(getattr(idle, name) >= 0 for name in SUMMED)
            assert idle.queued_ns + idle.unlinked_ns <= device.partition.idle_ns
            assert idle.short_ns <= device.partition.idle_ns
            for held in idle.held:
                assert 0 < held.longest_ns <= held.idle_ns
                assert held.longest_ns <= held.dur_ns
                assert held.count > 0


def test_the_innermost_event_of_the_thread_that_launches_next_holds_each_instant() -> None:
    idle, held = of(
        draw(
            """
            step   |1111111111111111|
            op     | oooooooooo     |
            call   |   ssss  l      |
            gpu    |           lllll|
            """,
            names={"call s": "cudaMalloc"},
        )
    )
    assert parts(idle) == {
        "blocking_ns": 4000,
        "runtime_ns": 1000,
        "op_ns": 5000,
        "annotation_ns": 1000,
    }
    assert [(one.name, one.count, one.idle_ns) for one in held] == [
        ("aten::o", 1, 5000),
        ("cudaMalloc", 1, 4000),
        ("cudaLaunchKernel", 1, 1000),
    ]
    place = held[1].place
    assert place is not None
    assert (place.op, place.frame) == ("aten::o", "")


def test_another_thread_holds_nothing_while_it_is_not_its_turn() -> None:
    idle, held = of(
        draw(
            """
            step   |11111111|
            op     |m       |
            op2    | bbb    |
            call2  |   l    |
            op3    |xxxxxxxx|
            gpu    |    llll|
            """
        )
    )
    assert {one.name for one in held} == {"aten::b", "cudaLaunchKernel"}
    assert parts(idle)["unrecorded_ns"] == 1000


def test_count_sum_and_longest_over_steps_and_which_call_was_the_first() -> None:
    trace = draw(
        """
        step   |11111111112222222222|
        call   |aaaa b    c   d     |
        gpu    |    a bbbb cccc ddddd|
        """
    )
    _, held = of(trace, "all")
    (launches,) = held
    assert (launches.name, launches.count, launches.idle_ns) == ("cudaLaunchKernel", 3, 6000)
    assert (launches.longest.longest_ns, launches.longest.first) == (4000, "call")


def test_the_first_launch_of_a_kernel_among_launches_of_others() -> None:
    trace = draw(
        """
        step   |11111111112222222222|
        call   |a b       m c       |
        gpu    | a b       m ccccccc|
        """,
        events=[
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 100, "tid": 1,
             "ts": 30, "dur": 3000, "args": {"correlation": 999}},
            {"ph": "X", "cat": "kernel", "name": "late", "pid": 0, "tid": 7, "ts": 3031, "dur": 9,
             "args": {"device": 0, "stream": 7, "correlation": 999}},
            {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 100, "tid": 1,
             "ts": 21, "dur": 3020},
        ],
    )  # fmt: skip
    _, held = of(trace, "3")
    assert held[0].longest.first == "kernel"


def test_the_loaders_part_is_apart_whatever_runs_in_it() -> None:
    idle, held = of(
        draw(
            """
            step   |1111111111|
            note   |DDDDDD    |
            op     | ooo      |
            call   |      l   |
            gpu    |       lll|
            """,
            names={"D": LOADER},
        )
    )
    assert parts(idle) == {"dataloader_ns": 6000, "runtime_ns": 1000}
    assert [one.name for one in held] == ["cudaLaunchKernel"]


@pytest.mark.parametrize("vendor", ["cuda", "hip"])
def test_a_capture_lasts_until_its_graph_is_made(vendor: str) -> None:
    idle, _ = of(
        draw(
            """
            step   |111111111111111|
            call   | b l l e i   r |
            gpu    |              r|
            """,
            names={
                "call b": f"{vendor}StreamBeginCapture",
                "call l": f"{vendor}LaunchKernel",
                "call e": f"{vendor}StreamEndCapture",
                "call i": f"{vendor}GraphInstantiateWithFlags",
            },
        )
    )
    assert idle.capture_ns == 7000 + 1000  # from b to the end of e, and i


def test_work_that_was_launched_and_did_not_start_is_queued() -> None:
    idle, _ = of(
        draw(
            """
            step   |1111111111|
            call   |la        |
            gpu    |  a     ll|
            """
        )
    )
    assert idle.queued_ns == 5000
    assert (idle.short_count, idle.short_ns) == (1, 2000)


def test_the_frame_that_holds_half_is_the_innermost_of_the_users_code() -> None:
    idle, _ = of(
        draw(
            """
            step   |1111111111111111|
            frame  |tttttttttttttttt|
            frame  | aaaaaaaabb     |
            frame  |  iiiiiii       |
            call   |           l    |
            gpu    |            llll|
            """,
            names={"t": "train.py(9): main", "a": "data.py(3): read", "i": "gzip.py(300): read"},
        )
    )
    assert idle.frame == "data.py(3): read"
    assert idle.frame_ns == 8000


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("train.py(12): step", True),
        ("/home/me/model/net.py(1): forward", True),
        ("vllm/worker/model_runner.py(5): execute", True),
        ("torch/nn/modules/module.py(1739): _call_impl", False),
        ("/opt/venv/lib/python3.12/site-packages/torch/cuda/graphs.py(9): replay", False),
        ("/usr/lib/python3.12/threading.py(1012): run", False),
        ("multiprocessing/connection.py(379): _recv", False),
        ("<built-in method run_backward>", False),
        ("<frozen os>(709): __getitem__", False),
        ("nn.Module: Linear_0", False),
    ],
)
def test_own_code(name: str, own: bool) -> None:
    assert is_own_frame(name) is own


def test_spans_over_several_steps_count_in_each() -> None:
    trace = draw(
        """
        step2  |1111122222333334|
        frame  |ffffffffffffffff|
        call   |   a    b    c  |
        gpu    |    a    b    c |
        """,
        names={"f": "train.py(1): main"},
    )
    facts = summarize(trace)
    assert_sums(facts)
    idle = [step.devices[0].idle for step in facts.steps[:3]]
    assert [(one.python_ns, one.frame_ns) for one in idle] == [(3000, 4000)] * 3


def test_a_trace_without_host_events() -> None:
    facts = summarize(draw("gpu |aa    aa|"))
    assert_sums(facts)
    assert facts.steps[0].devices[0].idle.unrecorded_ns == 4000


def test_generators_that_outlive_each_other_still_sum() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        events = [
            {"ph": "X", "cat": "cpu_op", "name": f"aten::{i % 5}", "pid": 100, "tid": 1,
             "ts": int(rng.integers(0, 200)), "dur": int(rng.integers(1, 60))}
            for i in range(60)
        ]  # fmt: skip
        assert_sums(summarize(draw("call |l    m|\n gpu | l    m|", events=events)))


@pytest.mark.parametrize("name", FILES)
def test_real_traces_sum(name: str) -> None:
    assert_sums(summarize(opened(name)))
