"""Why was a device idle: every instant has one cause; who held it, and the longest stretches."""

from __future__ import annotations

import numpy as np
import pytest

from kinetoscope.analysis.facts import IDLE_CAUSES, Facts, Partition
from kinetoscope.analysis.idle.gaps import FALLBACK_LATENCY_NS
from kinetoscope.analysis.idle.places import is_own_frame
from kinetoscope.analysis.steps import HeldSum, Selection, select
from kinetoscope.analysis.summarize import summarize
from kinetoscope.trace.model import Trace
from tests.collected import FILES, opened
from tests.drawing import LOADER, Event, draw


def of(trace: Trace, steps: str = "") -> tuple[Selection, tuple[HeldSum, ...]]:
    selection = select(summarize(trace), steps)
    return selection, selection.held


def parts(chosen: Selection) -> dict[str, int]:
    """The causes that are not zero, in µs."""
    part = chosen.partition or Partition()
    return {
        name.removeprefix("idle_").removesuffix("_ns"): getattr(part, name) // 1000
        for name in IDLE_CAUSES
        if getattr(part, name)
    }


def assert_sums(facts: Facts) -> None:
    """The causes sum to the idle time of each device in each step; gaps and names lie inside."""
    for step in facts.steps:
        for device in step.devices:
            part, idle = device.partition, device.idle
            assert sum(getattr(part, name) for name in IDLE_CAUSES) == part.idle_ns
            assert all(getattr(part, name) >= 0 for name in IDLE_CAUSES)
            assert idle.queued_ns + idle.unlinked_ns <= part.idle_ns
            assert idle.short_ns <= part.idle_ns
            for held in idle.held:
                assert 0 < held.longest_ns <= held.idle_ns
                # Work inside a graph waits for a node and for the launch behind it.
                is_node = facts.idle.names[held.name].kind == "graph_node"
                assert held.longest_ns <= held.dur_ns or is_node
                assert held.count > 0
            assert sum(gap.dur_ns for gap in idle.gaps) <= part.idle_ns
            for gap in idle.gaps:
                assert 0 < gap.cause_ns <= gap.dur_ns
                assert step.start_ns <= gap.ts
                assert gap.ts + gap.dur_ns <= step.end_ns
                assert 0 <= gap.held_ns <= gap.dur_ns


def test_the_innermost_event_of_the_thread_that_launches_next_holds_each_instant() -> None:
    chosen, held = of(
        draw(
            """
            step   |1111111111111111|
            op     | oooooooooo     |
            call   |   ssss  l      |
            gpu    |          llllll|
            """,
            names={"call s": "cudaMalloc"},
        )
    )
    assert parts(chosen) == {"allocator": 4, "launch": 1, "dispatch": 4, "uninstrumented": 1}
    assert [(one.name, one.cause, one.count, one.idle_ns) for one in held] == [
        ("aten::o", "idle_dispatch_ns", 1, 4000),
        ("cudaMalloc", "idle_allocator_ns", 1, 4000),
        ("cudaLaunchKernel", "idle_launch_ns", 1, 1000),
    ]
    place = held[1].place
    assert place is not None
    assert (place.op, place.frame) == ("aten::o", "")


def test_a_gap_is_cut_at_the_launch_that_ends_it() -> None:
    """Before it the host, in it the launch, after it the latency; what is longer is a wait."""
    latency = FALLBACK_LATENCY_NS // 1000
    chosen, _ = of(
        draw(
            """
            step   |11111111111111111111111111111111|
            op     |ooooo                           |
            call   |     lll                        |
            gpu    |                         lllllll|
            """
        )
    )
    assert parts(chosen) == {
        "dispatch": 5, "launch": 3, "latency": latency, "device_wait": 17 - latency,
    }  # fmt: skip
    (gap,) = chosen.gaps
    assert (gap.gap.ts, gap.gap.dur_ns, gap.gap.launch_ts) == (0, 25_000, 5_000)
    assert (gap.cause, gap.following) == ("idle_latency_ns", "kernel_l")


def test_work_queued_long_before_leaves_a_kernel_gap_and_then_a_wait() -> None:
    chosen, _ = of(
        draw(
            """
            step   |1111111111111111111111|
            call   |ab                    |
            gpu    |  aaaaaaaaaaaa     bbb|
            """
        )
    )
    # b was launched 12 µs before a ended: its latency is over.
    assert parts(chosen) == {"launch": 1, "latency": 1, "kernel_gap": 2, "device_wait": 3}


def test_a_replay_has_gaps_of_its_own() -> None:
    """One call launches all of it: between its kernels nothing else can be the cause."""
    rows: list[Event] = [
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaGraphLaunch", "pid": 100, "tid": 1,
         "ts": 0, "dur": 2, "args": {"correlation": 1}},
        *(
            {"ph": "X", "cat": "kernel", "name": f"node_{ts}", "pid": 0, "tid": 7, "ts": ts,
             "dur": 5, "args": {"device": 0, "stream": 7, "correlation": 1}}
            for ts in (3, 15, 40)
        ),
    ]  # fmt: skip
    chosen, _ = of(draw("", events=rows))
    assert parts(chosen) == {"launch": 2, "latency": 1, "graph": 7 + 20}


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        ("Python GC", "gc"),
        ("backend_compile (dynamo_timed)", "compile"),
        ("Optimizer.step#SGD.step", "optimizer"),
        ("gloo:all_reduce", "communication"),
        ("torch/profiler/profiler.py(900): step", "profiler"),
        (LOADER, "dataloader"),
    ],
)
def test_ranges_whose_time_is_of_one_cause_whatever_runs_in_them(name: str, cause: str) -> None:
    chosen, _ = of(
        draw(
            """
            step   |11111111111|
            note   |rrrrrrr    |
            op     | ooo       |
            call   |       l   |
            gpu    |        lll|
            """,
            names={"r": name},
        )
    )
    assert parts(chosen) == {cause: 7, "launch": 1}


def test_a_thread_of_autograd_waits_for_the_one_that_called_it() -> None:
    """Before its first op it is the turn of the main thread."""
    chosen, held = of(
        draw(
            """
            step   |11111111111|
            frame  |ffffffff   |
            op     |  mmm      |
            op2    |      bbb  |
            call2  |       l   |
            gpu    |        lll|
            """,
            names={"f": "train.py(7): step"},
        )
    )
    assert parts(chosen) == {"python": 3, "dispatch": 4, "launch": 1}
    assert {one.name for one in held} >= {"train.py(7): step", "aten::m", "aten::b"}


def test_a_slow_first_launch_is_told_from_a_slow_one() -> None:
    """The first launch of a kernel loads it; another one as slow waits for something else."""
    rows = [
        {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 100, "tid": 1,
         "ts": 0, "dur": 3000},
    ]  # fmt: skip
    for at, (ts, dur, kernel) in enumerate(
        [(0, 900, "new"), (1000, 2, "new"), (1100, 2, "new"), (1200, 2, "new"), (1300, 900, "new")]
    ):
        rows += [
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 100, "tid": 1,
             "ts": ts, "dur": dur, "args": {"correlation": at + 1}},
            {"ph": "X", "cat": "kernel", "name": kernel, "pid": 0, "tid": 7, "ts": ts + dur + 1,
             "dur": 9, "args": {"device": 0, "stream": 7, "correlation": at + 1}},
        ]  # fmt: skip
    chosen, _ = of(draw("", events=rows))
    assert parts(chosen)["first_launch"] == 900
    assert parts(chosen)["launch"] == 6 + 900


def test_the_longest_gaps_say_what_held_the_device_where_and_what_came_next() -> None:
    chosen, _ = of(
        draw(
            """
            step   |111111111111111111111111|
            frame  |tttttttttttttttttttttttt|
            frame  |      dddddddddd        |
            op     |                 oo     |
            call   |l                  m    |
            gpu    | llll               mmmm|
            """,
            names={"t": "train.py(9): main", "d": "data.py(3): decode"},
        )
    )
    longest = chosen.gaps[0]
    assert (longest.gap.ts, longest.gap.dur_ns) == (5_000, 15_000)
    assert longest.held is not None
    assert longest.held.name == "data.py(3): decode"
    assert (longest.cause, longest.gap.held_ns, longest.gap.held_ts) == (
        "idle_python_ns", 10_000, 6_000,
    )  # fmt: skip
    assert longest.place is not None
    assert (longest.place.frame, longest.following) == ("train.py(9): main", "kernel_m")


def test_another_thread_holds_nothing_while_it_is_not_its_turn() -> None:
    chosen, held = of(
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
    assert {one.name for one in held} == {"aten::m", "aten::b", "cudaLaunchKernel"}
    # Before the first op of that thread it is the turn of the main thread, which runs aten::m.
    assert parts(chosen) == {"dispatch": 3, "launch": 1}


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


@pytest.mark.parametrize("vendor", ["cuda", "hip"])
def test_a_capture_lasts_until_its_graph_is_made(vendor: str) -> None:
    chosen, _ = of(
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
    assert parts(chosen)["capture"] == 7 + 1  # from b to the end of e, and i


def test_work_that_was_launched_and_did_not_start_is_queued() -> None:
    chosen, _ = of(
        draw(
            """
            step   |1111111111|
            call   |la        |
            gpu    |  a     ll|
            """
        )
    )
    assert chosen.idle.queued_ns == 5000
    assert (chosen.idle.short_count, chosen.idle.short_ns) == (1, 2000)


def test_the_frame_that_holds_half_is_the_innermost_of_the_users_code() -> None:
    chosen, _ = of(
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
    assert chosen.idle.frame == "data.py(3): read"
    assert chosen.idle.frame_ns == 8000


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("train.py(12): step", True),
        ("/home/me/model/net.py(1): forward", True),
        ("vllm/worker/model_runner.py(5): execute", True),
        ("torch/nn/modules/module.py(1739): _call_impl", False),
        ("/opt/venv/lib/python3.12/site-packages/torch/cuda/graphs.py(9): replay", False),
        ("/usr/lib/python3.12/threading.py(1012): run", False),
        ("/tmp/torchinductor_me/ov/cov46.py(2533): call", False),
        ("multiprocessing/connection.py(379): _recv", False),
        ("<built-in method run_backward>", False),
        ("<frozen os>(709): __getitem__", False),
        ("nn.Module: Linear_0", False),
        ("numpy/linalg/_linalg.py(1667): svd", False),
        ("/opt/lib/python3.12/site-packages/pandas/core/frame.py(9): apply", False),
        ("/opt/lib/python3.12/site-packages/transformers/x.py(9): forward", True),
        ("numpy_tricks/own.py(3): whiten", True),
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
    devices = [step.devices[0] for step in facts.steps[:3]]
    assert [(one.partition.idle_python_ns, one.idle.frame_ns) for one in devices] == [
        (3000, 4000)
    ] * 3


def test_a_trace_without_host_events() -> None:
    facts = summarize(draw("gpu |aa    aa|"))
    assert_sums(facts)
    assert facts.steps[0].devices[0].partition.idle_unattributed_ns == 4000


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


STACKED = [
    one
    for one in FILES
    if one.startswith(("tracelens/", "misc_repos/switch")) and "gpu_only" not in one
]


@pytest.mark.parametrize("name", STACKED)
def test_with_stacks_hardly_anything_is_left_without_a_cause(name: str) -> None:
    """At most 3 % of the idle time: instants between outermost frames, and after the last work."""
    facts = summarize(opened(name))
    if not facts.counts.get("python"):
        pytest.skip("no stacks in this recording")
    part = select(facts, "all").partition
    assert part is not None
    left = part.idle_unattributed_ns + part.idle_uninstrumented_ns
    assert left <= 0.03 * part.idle_ns
