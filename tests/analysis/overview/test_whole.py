"""Functions, operators and totals of devices of a whole recording; 1 µs per column."""

from __future__ import annotations

import numpy as np

from kinetoscope.analysis.overview.whole import WholeRecording, idle_meanwhile, whole_of
from tests.drawing import draw

US = 1000
TRACE = draw(
    """
    step   |1111111111111222222222222|
    frame  |aaaaaaaaaaaaa  bbbbbbbb  |
    frame  |   bbbbbb       bbb c    |
    frame  |    c                    |
    op     |     mmm         nn n    |
    op     |      k                  |
    call   |     l           m  n    |
    gpu    |       llll       mmmm n |
    copy0.8|         cccc            |
    """
)
"""``a`` calls ``b``, which calls ``c``; in step 2 ``b`` calls itself, and then ``c``."""


def functions(found: WholeRecording) -> dict[tuple[str, int], tuple[int, ...]]:
    """(inclusive, exclusive, calls, idle) in µs by function and step."""
    table = found.functions
    return {
        (found.names[name].removeprefix("train.py(1): "), step): (*times, calls)
        for name, step, *times, calls in zip(
            table.name.tolist(),
            table.step.tolist(),
            (table.inclusive_ns // US).tolist(),
            (table.exclusive_ns // US).tolist(),
            table.calls.tolist(),
            strict=True,
        )
    }


def test_a_function_without_those_it_calls_and_recursion_once() -> None:
    assert functions(whole_of(TRACE)) == {
        ("a", 0): (13, 7, 1),
        ("b", 0): (6, 5, 1),
        ("c", 0): (1, 1, 1),
        # 8 around 3 of its own; 1 of them in c.
        ("b", 1): (8, 7, 2),
        ("c", 1): (1, 1, 1),
    }


def test_a_caller_in_the_first_row_counts() -> None:
    """Nothing is around the outer function: its row is 0."""
    trace = draw("frame  |aaaaaaaa|\nframe  |  bbb   |\n", events=())
    assert trace.strings[int(trace.host.name[0])] == "train.py(1): a"
    assert functions(whole_of(trace)) == {("a", 0): (8, 5, 1), ("b", 0): (3, 3, 1)}


def test_operators_by_step() -> None:
    """Self time is without ops and runtime calls inside."""
    found = whole_of(TRACE)
    table = found.operators
    rows = {
        (found.operator_names[name], step): (own // US, total // US, calls)
        for name, step, own, total, calls in zip(
            table.name.tolist(), table.step.tolist(), table.self_ns.tolist(),
            table.total_ns.tolist(), table.calls.tolist(), strict=True,
        )
    }  # fmt: skip
    assert rows == {
        ("aten::m", 0): (1, 3, 1),
        ("aten::k", 0): (1, 1, 1),
        ("aten::n", 1): (1, 3, 2),
    }


def test_totals_of_a_device_count_no_instant_twice() -> None:
    """Kernels run for 9 µs, a copy for 4 of which 2 lie under a kernel; three calls launch."""
    totals = whole_of(TRACE).devices
    assert len(totals) == 1
    figures = {
        name: int(getattr(totals, name)[0]) // US
        for name in ("busy_ns", "compute_sum_ns", "compute_ns", "copy_sum_ns", "copy_ns",
                     "communication_sum_ns", "exposed_communication_ns")
    }  # fmt: skip
    assert figures == {
        "busy_ns": 11,
        "compute_sum_ns": 9,
        "compute_ns": 9,
        "copy_sum_ns": 4,
        "copy_ns": 4,
        "communication_sum_ns": 0,
        "exposed_communication_ns": 0,
    }
    assert totals.launches.tolist() == [3]


def test_idle_time_during_a_stretch() -> None:
    """The device idles until 7, from 13 to 18, at 22, and from 24 on."""
    ts = np.array([0, 12, 14, 18, 20], np.int64) * US
    dur = np.array([7, 4, 2, 4, 4], np.int64) * US
    assert (idle_meanwhile(TRACE, ts, dur) // US).tolist() == [7, 3, 2, 0, 1]


def test_without_a_device_idle_time_is_unknown() -> None:
    trace = draw("op  | aaa |")
    assert idle_meanwhile(trace, np.zeros(2, np.int64), np.ones(2, np.int64)).tolist() == [-1, -1]
    assert whole_of(trace).devices.launches.tolist() == []
