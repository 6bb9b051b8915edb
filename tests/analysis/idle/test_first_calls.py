"""First calls start a process: they are start-up, and no reason to change the steady state."""

from __future__ import annotations

import pytest

from kinetoscope.analysis.steps import select
from kinetoscope.analysis.summarize import summarize
from tests.drawing import PID, Event, trace_of


def call(name: str, ts: float, dur: float, number: int = 0) -> Event:
    args = {"correlation": number} if number else {}
    return {"ph": "X", "cat": "cuda_runtime", "name": name, "pid": PID, "tid": 1, "ts": ts,
            "dur": dur, "args": args}  # fmt: skip


def work(number: int, ts: float, dur: float) -> list[Event]:
    kernel: Event = {
        "ph": "X", "cat": "kernel", "name": "kernel", "pid": 0, "tid": 7, "ts": ts + 3, "dur": dur,
        "args": {"device": 0, "stream": 7, "correlation": number},
    }  # fmt: skip
    return [call("cudaLaunchKernel", ts, 2, number), kernel]


def start_up(*events: Event) -> int:
    """µs of idle time that start-up takes in a step of 50 ms."""
    step: Event = {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": PID,
                   "tid": 1, "ts": 0, "dur": 50_000}  # fmt: skip
    part = select(summarize(trace_of([step, *events]))).partition
    assert part is not None
    return part.idle_first_launch_ns // 1000


@pytest.mark.parametrize(
    ("first", "later", "found"),
    [
        (1000, (50, 50, 50), 1000),  # 20 times the median
        (1000, (51, 51, 51), 0),
        (999, (1, 1, 1), 0),  # below a millisecond
        (4000, (1, 10, 900), 4000),  # the median, not the longest
        (4000, (1, 201, 900), 0),
    ],
)
@pytest.mark.parametrize("name", ["cudaStreamQuery", "cudaStreamSynchronize"])
def test_a_first_call_is_twenty_times_as_long_as_later_ones(
    name: str, first: float, later: tuple[float, ...], found: int
) -> None:
    """The call comes after device work, so its kind alone proves nothing."""
    calls = [call(name, 10_000 + 5_000 * at, dur) for at, dur in enumerate((first, *later))]
    assert start_up(*work(1, 1_000, 5), *calls, *work(2, 40_000, 5)) == found


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("cudaDeviceGetStreamPriorityRange", 9000),
        ("hipStreamCreateWithFlags", 9000),
        ("cudaEventCreateWithFlags", 9000),
        ("cudaStreamQuery", 0),
    ],
)
def test_an_only_call_starts_a_process_by_its_kind(name: str, found: int) -> None:
    assert start_up(call(name, 100, 9000), *work(1, 20_000, 5)) == found


def test_an_only_call_after_device_work_is_an_ordinary_one() -> None:
    calls = call("cudaEventCreateWithFlags", 5_000, 9000)
    assert start_up(*work(1, 100, 5), calls, *work(2, 20_000, 5)) == 0


def test_a_later_call_that_is_long_is_an_ordinary_one() -> None:
    calls = [call("cudaStreamQuery", 10_000 + 5_000 * at, 1 if at else 2) for at in range(4)]
    assert start_up(*work(1, 100, 5), *calls, call("cudaStreamQuery", 30_000, 4000),
                    *work(2, 40_000, 5)) == 0  # fmt: skip


@pytest.mark.parametrize(("dur", "found"), [(2003, 1000), (2002, 0)])
def test_a_call_that_waits_counts_without_the_work_that_it_waits_for(
    dur: float, found: int
) -> None:
    """The kernel works until 10,999 µs. The call began at 9,996 µs."""
    sync = [call("cudaDeviceSynchronize", 9_996 + at * 8_000, 40 if at else dur) for at in range(4)]
    assert start_up(*work(1, 8_000, 2_996), *sync, *work(2, 40_000, 5)) == found
