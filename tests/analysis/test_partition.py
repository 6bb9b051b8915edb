"""The step seen from one device, in pictures of 1 µs per column."""

from __future__ import annotations

from kinetoscope.analysis.hosts import hosts_of
from kinetoscope.analysis.partition import partitions
from kinetoscope.analysis.windows import step_windows
from kinetoscope.trace.model import Trace
from tests.analysis.invariants import microseconds
from tests.drawing import LOADER, draw

NCCL = "ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclArgs)"


def of(trace: Trace, device: int = 0) -> list[dict[str, int]]:
    """Per step, the parts that are not zero, in µs."""
    row = next(i for i, one in enumerate(trace.devices) if one.used and one.index == device)
    steps = partitions(trace, hosts_of(trace), step_windows(trace), row)
    return [microseconds(step) for step in steps]


def test_compute_hides_communication_and_copies() -> None:
    trace = draw(
        """
        step    |11111111111111111111|
        call    |knc                 |
        gpu     |  kkkkkk            |
        gpu.9   |      nnnnnn        |
        copy.11 |       cccccccc     |
        """,
        names={"n": NCCL},
    )
    assert of(trace) == [
        {
            "compute": 6,
            "exposed_communication": 4,
            "exposed_copy": 3,
            "overlap": 2,
            "idle": 7,
            "idle_runtime": 2,
            "idle_unattributed": 5,
        }
    ]


def test_idle_time_is_told_by_what_the_launching_thread_did() -> None:
    trace = draw(
        """
        step   |11111111111111111111111|
        note   |LLLL                   |
        op     |    aaaaaaaaaaaaa      |
        call   |     l   s    m        |
        gpu    |       ll       mm     |
        """,
        names={"L": LOADER, "call s": "cudaStreamSynchronize"},
    )
    assert of(trace) == [
        {
            "compute": 4,
            "idle": 19,
            "idle_dataloader": 4,
            "idle_runtime": 2,
            "idle_sync": 1,
            "idle_cpu_exec": 7,
            "idle_unattributed": 5,
        }
    ]


def test_other_threads_explain_nothing() -> None:
    trace = draw(
        """
        step   |1111111111|
        call   | l        |
        gpu    |  ll      |
        op5    |    aaaaa |
        call5  |         s|
        note6  |     DDDD |
        """,
        names={"call s": "cudaStreamSynchronize", "D": LOADER},
    )
    assert of(trace) == [{"compute": 2, "idle": 8, "idle_runtime": 1, "idle_unattributed": 7}]


def test_a_second_thread_that_launches_explains_too() -> None:
    trace = draw(
        """
        step   |1111111111|
        call   | l        |
        gpu    |  ll      |
        op5    |    aaa   |
        call5  |     m    |
        gpu.7  |       m  |
        """
    )
    assert of(trace) == [
        {"compute": 3, "idle": 7, "idle_runtime": 2, "idle_cpu_exec": 2, "idle_unattributed": 3}
    ]


def test_devices_are_told_apart() -> None:
    trace = draw(
        """
        step   |1111111111|
        call   |ab        |
        gpu0   |  aaa     |
        gpu1   |    bbbb  |
        """
    )
    assert of(trace, 0)[0]["compute"] == 3
    assert of(trace, 1)[0]["compute"] == 4


def test_overlapping_kernels_of_one_stream_count_once() -> None:
    trace = draw(
        """
        step   |1111111111|
        call   |ab        |
        gpu    |  aaaa    |
        gpu    |    bbbb  |
        """
    )
    assert of(trace)[0]["compute"] == 6


def test_memsets_come_last() -> None:
    trace = draw(
        """
        step   |1111111111|
        call   |ks        |
        gpu    |  kkk     |
        set.9  |   ssss   |
        """
    )
    assert of(trace)[0]["memset"] == 2


def test_work_that_nothing_launched_leaves_idle_time_to_the_main_thread() -> None:
    trace = draw(
        """
        step   |1111111111|
        op     | aaa      |
        gpu    |     oo   |
        """
    )
    assert of(trace) == [{"compute": 2, "idle": 8, "idle_cpu_exec": 3, "idle_unattributed": 5}]
