"""Tracks and lanes: drawn ones, and what holds of any."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.analysis.timeline.build.lane_layout import RULES
from kinetoscope.analysis.timeline.model import LAYOUTS, SliceFlag, SliceKind, Timeline
from tests.analysis.timeline.checks import check_layout, left_out
from tests.analysis.timeline.made import timeline_of
from tests.drawing import PID, V100, draw, memory, trace_of

MODULE_CALL = "torch/nn/modules/module.py(1773): _wrapped_call_impl"


def picture(timeline: Timeline, layout: str = "split") -> dict[str, list[str]]:
    """Names in each lane of each track, by the track's label."""
    made = timeline.layouts[layout]
    found: dict[str, list[str]] = {}
    for track in made.tracks:
        lanes = found[track.label] = []
        for lane in range(track.lane, track.lane + track.lanes):
            ids = made.order[made.lane_first[lane] : made.lane_first[lane + 1]]
            names = [timeline.names[code].rpartition(":")[2] for code in timeline.slices.name[ids]]
            lanes.append(" ".join(name.strip() for name in names))
    return found


FRAMES = """
    step   |1111111111111 |
    frame  | mmmmmmmmmmm  |
    frame  |  wwwwwwwww   |
    frame  |   ffffffff   |
    op     |    aaaa cc   |
    op     |     b        |
    call   |     l        |
    gpu7   |       llll   |
"""


def frames(layout: str) -> Timeline:
    return timeline_of(draw(FRAMES, names={"w": MODULE_CALL}), layout)


def test_split_shows_python_beside_the_ops() -> None:
    timeline = frames("split")
    assert picture(timeline) == {
        "Main thread · ops": ["ProfilerStep#1", "a c", "b", "cudaLaunchKernel"],
        "Main thread · Python": ["m", "_wrapped_call_impl", "f"],
        "Stream 7 · compute": ["kernel_l"],
    }


def test_merged_shows_everything_as_recorded() -> None:
    assert picture(frames("merged"), "merged") == {
        "Main thread": [
            "ProfilerStep#1",
            "m",
            "_wrapped_call_impl",
            "f",
            "a c",
            "b",
            "cudaLaunchKernel",
        ],
        "Stream 7 · compute": ["kernel_l"],
    }


USERS = """
    frame  |mmmmmmmmmmm|
    frame  | tttttttt  |
    frame  |  uuuuuu   |
    frame  |   bb      |
    op     |    aa     |
    frame2 |qqqqq      |
    op2    | x         |
    """
USERS_NAMES = {
    "m": "train.py(3): main",
    "t": "torch/nn/modules/module.py(1773): _call_impl",
    "u": "my/model.py(7): forward",
    "b": "<built-in function len>",
    "q": "queue.py(180): get",
}


def test_your_code_hides_frames_of_others_and_says_how_many_where() -> None:
    layout = timeline_of(draw(USERS, names=USERS_NAMES), "user").layouts["user"]
    assert {track.label: (track.slices, track.hidden) for track in layout.tracks} == {
        "Main thread · ops": (1, 0),
        "Main thread · Python": (2, 2),
        # All frames of this thread are Python's own: told beside its ops.
        "Thread 2 · ops": (1, 1),
    }
    timeline = timeline_of(draw(USERS, names=USERS_NAMES), "user")
    assert picture(timeline, "user")["Main thread · Python"] == ["main", "forward"]
    said = " ".join(timeline.warnings).replace("\u00a0", " ")
    assert "3 Python frames of libraries are hidden" in said


def test_where_no_frame_is_your_own_all_are_shown_and_it_is_said() -> None:
    names = {**USERS_NAMES, "m": "runpy.py(3): run", "u": "vllm/worker.py(7): execute"}
    trace = draw(USERS, names=names)
    user, split = timeline_of(trace, "user"), timeline_of(trace, "split")
    assert picture(user, "user") == picture(split)
    assert any("No Python frame is of code of your own" in text for text in user.warnings)


@pytest.mark.parametrize(
    ("name", "others"),
    [
        ("train.py(12): main", False),
        ("/home/u/project/train.py(12): main", False),
        ("my_model/layers/attention.py(7): forward", False),
        ("<ipython-input-3-0f2>(1): <module>", False),
        ("/tmp/ipykernel_77/123.py(1): <module>", False),
        ("profile.py(4): main", False),
        ("trace.py(4): main", False),
        ("torchmodels/net.py(4): forward", False),
        ("logger/queue.py(4): push", False),
        ("torch/nn/functional.py(3): relu", True),
        ("/opt/conda/lib/python3.8/site-packages/acme/x.py(1): f", True),
        ("/usr/lib/python3.11/threading.py(982): run", True),
        ("C:\\Python311\\Lib\\threading.py(982): run", True),
        ("/usr/lib/python3/dist-packages/numpy/core.py(1): f", True),
        ("/src/pytorch/torch/nn/modules/linear.py(1): forward", True),
        ("threading.py(982): run", True),
        ("asyncio/events.py(84): _run", True),
        ("transformers/trainer.py(1): step", True),
        ("<built-in method mm of type object at 0x7f>", True),
        ("<frozen importlib._bootstrap>(1): _find_and_load", True),
        ("<string>(2): __init__", True),
        ("<eval_with_key>.3(4): forward", True),
    ],
)
def test_whose_code_a_frame_is(name: str, others: bool) -> None:
    assert left_out("user", [name]) == [others]


def test_filtered_lifts_what_is_below_the_plumbing() -> None:
    timeline = frames("filtered")
    assert picture(timeline, "filtered")["Main thread · Python"] == ["m", "f"]
    layout = timeline.layouts["filtered"]
    hidden = np.flatnonzero(layout.lane < 0)
    assert [timeline.names[code] for code in timeline.slices.name[hidden]] == [MODULE_CALL]
    assert any(
        "1 Python frame of libraries is hidden" in one.replace("\xa0", " ")
        for one in timeline.warnings
    )


@pytest.mark.parametrize(
    ("name", "hidden"),
    [
        ("torch/nn/modules/module.py(1784): _call_impl", True),
        ("/usr/lib/python3.11/contextlib.py(132): __enter__", True),
        ("<built-in method linear of type object at 0x7f>", True),
        ("<frozen importlib._bootstrap>(1176): _find_and_load", True),
        ("nn.Module: Linear_0", False),
        ("torch/nn/modules/linear.py(130): forward", False),
        ("my_contextlib.py(1): run", False),
        ("train.py(7): _call_impl", False),
    ],
)
def test_what_is_plumbing(name: str, hidden: bool) -> None:
    assert left_out("filtered", [name]) == [hidden]


def test_every_rule_says_what_it_hides() -> None:
    assert all(pattern and why for pattern, why in RULES)


def test_an_overlap_opens_a_lane_and_is_flagged() -> None:
    """B overlaps A by more than clocks differ: it is drawn below, and counted."""
    trace = draw(
        """
        op   |aaaaaaaa     |
        op   |    bbbbbbbb |
        """
    )
    timeline = timeline_of(trace)
    assert picture(timeline) == {"Main thread · ops": ["a", "b"]}
    (track,) = timeline.layouts["split"].tracks
    assert track.overlaps == 1
    flagged = timeline.slices.flags & SliceFlag.OVERLAP > 0
    assert [timeline.names[code] for code in timeline.slices.name[flagged]] == ["aten::b"]
    assert any("overlap" in one for one in timeline.warnings)


def test_of_two_that_begin_together_the_longer_one_is_above() -> None:
    """Whatever their order in the file, and on streams, too."""
    for picture_ in ("gpu |s  |\ngpu |lll|", "gpu |lll|\ngpu |s  |"):
        names = {"s": "short", "l": "long"}
        assert picture(timeline_of(draw(picture_, names=names))) == {
            "Stream 7 · compute": ["long", "short"]
        }


def test_flags_depend_on_the_layout() -> None:
    """A frame that outlives its op overlaps it only where both are in one track."""
    trace = draw(
        """
        op     |aaaaaaaa     |
        frame  |    ffffffff |
        """
    )
    merged, split = (timeline_of(trace, layout) for layout in ("merged", "split"))
    assert [int((t.slices.flags & 1).sum()) for t in (merged, split)] == [1, 0]


def test_tracks_in_order_and_their_names() -> None:
    backward = "autograd::engine::evaluate_function: AddBackward0"
    trace = draw(
        """
        op      |aaaaaaaaaaaa|
        step2   |1111111111  |
        op2     | bbbbbb     |
        call2   |  l  m      |
        op3     |     cc     |
        gpu0.7  |    llll    |
        copy1.9 |      mm    |
        gpunote0.7 |   nnnnn |
        """,
        names={"c": backward},
        events=[
            *thread_names({1: "thread 1 (worker)", 3: "thread 3 (pt_autograd_0)"}),
            {"ph": "X", "cat": "cuda_sync", "name": "Stream Sync", "pid": 0, "tid": 7,
             "ts": 9, "dur": 2, "args": {"stream": 7}},
            {"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans",
             "tid": "PyTorch Profiler", "ts": 0, "dur": 12},
        ],
        deviceProperties=[V100],
        distributedInfo={"rank": 3, "world_size": 8, "backend": "nccl"},
    )  # fmt: skip
    timeline = timeline_of(trace)
    groups = [(group.kind, group.label) for group in timeline.groups]
    assert groups == [
        ("process", f"Process {PID} · rank 3"),
        ("device", "GPU 0 · Tesla V100-SXM2-32GB"),
        ("device", "GPU 1"),
        ("recorder", "Recorder"),
    ]
    tracks = [(t.group, t.label, t.detail) for t in timeline.layouts["split"].tracks]
    assert tracks == [
        (0, "Main thread · ops", "thread 2"),
        (0, "Autograd thread · ops", "thread 3 (pt_autograd_0)"),
        (0, "worker · ops", "thread 1 (worker)"),
        (1, "Stream 7 · annotations", "stream 7"),
        (1, "Stream 7 · compute", "stream 7"),
        (1, "Waits", ""),
        (2, "Stream 9 · copies", "stream 9"),
        (3, "Recording", ""),
    ]
    keys = [track.key for track in timeline.layouts["split"].tracks]
    assert keys[0] == f"thread/{PID}/2/ops"
    assert keys[4] == "stream/GPU/0/7"


def thread_names(names: dict[int, str]) -> list[dict[str, Any]]:
    return [
        {"ph": "M", "name": "thread_name", "pid": PID, "tid": tid, "ts": 0, "args": {"name": name}}
        for tid, name in names.items()
    ]


def test_every_kind_of_slice() -> None:
    trace = draw(
        """
        step    |11111111|
        note    | n      |
        module  | m      |
        frame   | f      |
        op      | a l    |
        call    |  k     |
        gpu     |    k   |
        copy    |     c  |
        set     |      s |
        gpunote |    n   |
        """,
        names={"l": "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"},
        events=[
            {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": 1, "ts": 7, "dur": 1}
            for cat, name, pid in [
                ("overhead", "Buffer Flush", PID),
                ("strange", "x", PID),
                ("kernel", "ncclDevKernel_AllReduce", 0),
                ("Trace", "PyTorch Profiler (0)", "Spans"),
                ("cuda_sync", "Stream Sync", 0),
            ]
        ],
    )
    timeline = timeline_of(trace)
    kinds = {
        timeline.names[name]: SliceKind(kind).name
        for name, kind in zip(timeline.slices.name, timeline.slices.kind, strict=True)
    }
    assert kinds == {
        "ProfilerStep#1": "ANNOTATION",
        "note n": kinds["note n"],
        "nn.Module: m_0": "MODULE",
        "train.py(1): f": "PYTHON",
        "aten::a": "OP",
        "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__": "LOADER",
        "cudaLaunchKernel": "RUNTIME",
        "Buffer Flush": "OVERHEAD",
        "x": "OTHER",
        "kernel_k": "COMPUTE",
        "ncclDevKernel_AllReduce": "COMMUNICATION",
        "Memcpy HtoD (Pageable -> Device)": "MEMCPY",
        "Memset (Device)": "MEMSET",
        "PyTorch Profiler (0)": "RANGE",
        "Stream Sync": "SYNC",
    }
    notes = timeline.slices.kind[timeline.slices.name == timeline.names.index("note n")]
    assert sorted(notes.tolist()) == [SliceKind.ANNOTATION, SliceKind.DEVICE_ANNOTATION]


def test_a_file_without_anything() -> None:
    timeline = timeline_of(trace_of([memory(3, 10, 10)]))
    assert len(timeline.slices) == 0
    assert timeline.layouts["split"].tracks == ()
    assert [timeline.groups[one.group].kind for one in timeline.counters] == ["recorder"] * 2
    nothing = timeline_of(trace_of([]))
    assert (nothing.groups, nothing.counters) == ((), ())


# --- in general -----------------------------------------------------------------------------------

NAMES = ("a", "b", MODULE_CALL)


@st.composite
def events(draw_: st.DrawFn) -> list[dict[str, Any]]:
    """Any slices on a few threads and streams, at a few instants, so that much coincides."""
    found = []
    for _ in range(draw_(st.integers(0, 40))):
        cat = draw_(st.sampled_from(["cpu_op", "python_function", "cuda_runtime", "kernel"]))
        found.append(
            {
                "ph": "X",
                "cat": cat,
                "name": draw_(st.sampled_from(NAMES)),
                "pid": 0 if cat == "kernel" else PID,
                "tid": draw_(st.integers(1, 3)),
                "ts": draw_(st.integers(0, 20)),
                "dur": draw_(st.sampled_from([0, 1, 2, 3, 7, 20, 1.5, 0.001])),
            }
        )
    return found


@given(events(), st.sampled_from(LAYOUTS))
def test_lanes_of_any_slices(drawn: Sequence[dict[str, Any]], layout: str) -> None:
    check_layout(timeline_of(trace_of(drawn), layout), layout, count=len(drawn))
