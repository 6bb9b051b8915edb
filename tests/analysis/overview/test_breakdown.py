"""The classic categories, in pictures of 1 µs per column."""

from __future__ import annotations

from kinetoscope.analysis.device_work import used_devices
from kinetoscope.analysis.host_activity import hosts_of
from kinetoscope.analysis.overview.attribution import breakdowns
from kinetoscope.analysis.steps import step_windows
from kinetoscope.trace.model import Trace
from tests.analysis.invariants import microseconds
from tests.drawing import LOADER, draw


def of(trace: Trace) -> list[dict[str, int]]:
    """Per step, the parts that are not zero, in µs."""
    steps = breakdowns(hosts_of(trace), used_devices(trace), step_windows(trace))
    return [microseconds(step) for step in steps]


def test_each_instant_counts_for_the_first_active_category() -> None:
    trace = draw(
        """
        step   |1111111111111111|
        note   |DDDD            |
        op     |    aaaaaaaa    |
        call   |     l c  s     |
        gpu    |       lll      |
        copy   |         ccc    |
        set    |           sss  |
        """,
        names={"D": LOADER},
    )
    assert of(trace) == [
        {
            "kernel": 3,
            "memcpy": 2,
            "memset": 2,
            "runtime": 1,
            "dataloader": 4,
            "cpu_exec": 2,
            "other": 2,
        }
    ]


def test_threads_and_devices_are_one() -> None:
    trace = draw(
        """
        step   |1111111111|
        op     |aaa       |
        op2    |  bbbb    |
        call   |l         |
        gpu1   |    ll    |
        call2  |      m   |
        gpu0   |       mm |
        """
    )
    assert of(trace) == [{"kernel": 4, "runtime": 2, "cpu_exec": 3, "other": 1}]


def test_collectives_count_on_the_device_and_on_the_host() -> None:
    trace = draw(
        """
        step   |111111111111|
        note   | nnnn       |
        call   |  l         |
        gpu    |     llllll |
        """,
        names={"n": "nccl:all_reduce", "l": "ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclArgs)"},
    )
    assert of(trace) == [{"communication": 10, "other": 2}]


def test_collectives_of_the_host_alone() -> None:
    trace = draw(
        """
        step   |111111111111|
        op     | cccc       |
        note2  |   ggggg    |
        """,
        names={"c": "c10d::allreduce_", "g": "gloo:all_reduce"},
    )
    assert of(trace) == [{"communication": 7, "other": 5}]


def test_a_collective_that_is_left_open_is_no_communication_of_what_runs_in_it() -> None:
    """MTIA keeps the range open around a forward; its device says when data is exchanged."""
    trace = draw(
        """
        step   |11111111111111|
        note   | hhhhhhhhhhhh |
        op     |  aaaa   aaa  |
        call   |   l          |
        gpu    |     llll     |
        """,
        names={"h": "hccl:all_to_all"},
    )
    assert of(trace) == [{"kernel": 4, "runtime": 1, "cpu_exec": 7, "other": 2}]


def test_python_frames_and_step_marks_count_as_other() -> None:
    trace = draw(
        """
        step   |1111111111|
        frame  |ffffffffff|
        op     |  aaa     |
        """
    )
    assert of(trace) == [{"cpu_exec": 3, "other": 7}]


def test_ranges_on_a_stream_are_not_cpu_time() -> None:
    trace = draw(
        """
        step      |1111111111|
        call      |l         |
        gpu       |    l     |
        gpunote   |  gggggg  |
        """
    )
    assert of(trace) == [{"kernel": 1, "runtime": 1, "other": 8}]


def test_a_step_filled_by_kernels_leaves_nothing_to_others() -> None:
    trace = draw(
        """
        step   |1111111111|
        op     |aaaaaaaaaa|
        call   |l         |
        gpu    |llllllllll|
        copy.9 |   cccc   |
        """
    )
    assert of(trace) == [{"kernel": 10}]


def test_work_of_another_step_counts_where_it_runs() -> None:
    trace = draw(
        """
        step   |1111122222222|
        call   | a    b      |
        gpu    |   aaaaa bbb |
        """
    )
    assert of(trace) == [
        {"kernel": 5, "runtime": 1, "other": 2},
        {"kernel": 3, "other": 2},
    ]
