"""The step seen from one device, in pictures of 1 µs per column."""

from __future__ import annotations

import pytest

from kinetoscope.analysis.summarize import summarize
from kinetoscope.trace.model import Trace
from tests.analysis.invariants import microseconds
from tests.drawing import LOADER, draw

NCCL = "ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclArgs)"


def of(trace: Trace, device: int = 0) -> list[dict[str, int]]:
    """Per step, the parts that are not zero, in µs."""
    row = next(i for i, one in enumerate(trace.devices) if one.used and one.index == device)
    steps = summarize(trace).steps
    return [
        microseconds(one.partition) for step in steps for one in step.devices if one.device == row
    ]


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
            "idle_launch": 1,
            "idle_latency": 1,
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
            "idle_launch": 2,
            "idle_latency": 2,
            "idle_blocking": 1,
            "idle_dispatch": 5,
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
    assert of(trace) == [
        {
            "compute": 2,
            "idle": 8,
            "idle_launch": 1,
            "idle_uninstrumented": 1,
            "idle_unattributed": 6,
        }
    ]


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
        {
            "compute": 3,
            "idle": 7,
            "idle_launch": 2,
            "idle_latency": 1,
            "idle_dispatch": 1,
            "idle_uninstrumented": 1,
            "idle_unattributed": 2,
        }
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
    assert of(trace) == [{"compute": 2, "idle": 8, "idle_dispatch": 3, "idle_unattributed": 5}]


def test_the_host_waits_in_a_copy_of_pageable_memory() -> None:
    """The call returns before the copy has ended: it waited for the buffer all the same."""
    trace = draw(
        """
        step   |111111111111|
        call   |  cccc      |
        copy   |      ccc   |
        """,
        names={"call c": "cudaMemcpyAsync"},
    )
    assert of(trace) == [
        {
            "exposed_copy": 3,
            "idle": 9,
            "idle_blocking": 4,
            "idle_uninstrumented": 2,
            "idle_unattributed": 3,
        }
    ]


@pytest.mark.parametrize(
    ("call", "copy"),
    [
        ("hipMemcpyWithStream", "Memcpy DtoH (Device -> Host)"),
        ("hipMemcpyAsync", "CopyDeviceToHost"),
        ("AscendCL@aclrtMemcpyAsync", "MEMCPY_ASYNC"),
        ("musaMemcpyAsync", "Memcpy DtoH (Device -> Pinned)"),
        ("urEnqueueUSMMemcpy", "Memcpy D2M"),
    ],
)
def test_a_copy_call_that_spans_its_copy_waits_for_it(call: str, copy: str) -> None:
    trace = draw(
        """
        step   |11111111111111|
        call   | l cccccccccc |
        gpu    |   lllllll    |
        copy   |          cc  |
        """,
        names={"call c": call, "c": copy},
    )
    # The copy is short, but the host stood by until all work before it was done.
    slow = draw(
        """
        step   |11111111111111|
        call   |   cccccccccc |
        copy   |       cccccc |
        """,
        names={"call c": call, "c": copy},
    )
    pinned = "Pinned" in copy
    assert of(trace)[0].get("idle_blocking", 0) == (0 if pinned else 1)
    assert of(slow)[0].get("idle_blocking") == 4


def test_a_copy_that_need_not_be_waited_for_is_a_launch() -> None:
    """Its call outlasts a copy of a microsecond by chance."""
    trace = draw(
        """
        step   |111111111111|
        call   |  cccccc    |
        copy   |     c      |
        """,
        names={"call c": "cudaMemcpyAsync", "c": "Memcpy HtoD (Pinned -> Device)"},
    )
    assert of(trace) == [
        {
            "exposed_copy": 1,
            "idle": 11,
            "idle_launch": 5,
            "idle_uninstrumented": 2,
            "idle_unattributed": 4,
        }
    ]


@pytest.mark.parametrize(
    ("call", "cause"),
    [
        ("cudaMemcpy", "blocking"),
        ("hipMemcpyWithStream", "blocking"),
        ("musaMemcpy", "blocking"),
        ("AscendCL@aclrtMemcpy", "blocking"),
        ("AscendCL@aclrtSynchronizeStreamWithTimeout", "blocking"),
        ("musaStreamSynchronize", "blocking"),
        ("zeCommandQueueSynchronize", "blocking"),
        ("cudaFree", "allocator"),
        ("cudaHostAlloc", "allocator"),
    ],
)
def test_calls_that_wait_by_their_names(call: str, cause: str) -> None:
    trace = draw(
        """
        step   |1111111111|
        call   | l ssss   |
        gpu    |  l       |
        """,
        names={"call s": call},
    )
    assert of(trace)[0][f"idle_{cause}"] == 4
