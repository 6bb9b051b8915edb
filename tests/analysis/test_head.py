"""Both ends of a recording: work launched before it, and the recorder alone. And missing steps."""

from __future__ import annotations

from itertools import chain
from typing import Any

import pytest

from kinetoscope.analysis.facts import Facts
from kinetoscope.analysis.headline import headline
from kinetoscope.analysis.steps import HEAD, select
from kinetoscope.analysis.summarize import summarize
from kinetoscope.trace.read import read
from tests.conftest import TRACES, requires_traces
from tests.drawing import PID, Event, trace_of


def event(cat: str, name: str, ts: float, dur: float, tid: int = 1, **args: Any) -> Event:
    return {
        "ph": "X", "cat": cat, "name": name, "pid": PID if tid == 1 else 0, "tid": tid,
        "ts": ts, "dur": dur, "args": args,
    }  # fmt: skip


def work(number: int, call: float, start: float, dur: float, stream: int = 7) -> list[Event]:
    """A call of 10 µs, and the kernel that it launched."""
    return [
        event("cuda_runtime", "cudaLaunchKernel", call, 10, correlation=number),
        event("kernel", f"kernel_{number}", start, dur, stream, correlation=number, device=0,
              stream=stream),
    ]  # fmt: skip


def facts_of(*parts: list[Event], steps: tuple[tuple[int, float, float], ...] = ()) -> Facts:
    marks = [event("user_annotation", f"ProfilerStep#{one}", ts, dur) for one, ts, dur in steps]
    host = event("cpu_op", "aten::mm", 0, 2000)
    return summarize(trace_of([*marks, *([] if steps else [host]), *chain(*parts)]))


@pytest.mark.parametrize(("wait", "head"), [(100.0, 0.0), (100.1, 110.1)])
def test_a_wait_of_more_than_a_tenth_of_a_millisecond_is_the_head(wait: float, head: float) -> None:
    facts = facts_of(work(1, 0, 10 + wait, 500))
    assert facts.head_ns == round(head * 1000)


@pytest.mark.parametrize(("busy", "head"), [(39.9, 410_000), (40.0, 0)])
def test_recorded_work_of_a_tenth_of_the_wait_shows_what_it_waits_for(
    busy: float, head: int
) -> None:
    """The kernel of stream 7 waits from 10 to 410 µs; meanwhile stream 9 works."""
    facts = facts_of(work(1, 0, 410, 500), work(2, 20, 31, busy, stream=9))
    assert facts.head_ns == head


@pytest.mark.parametrize(("call", "head"), [(190.0, 400_000), (191.0, 0)])
def test_a_stream_that_could_run_empty_before_has_no_head(call: float, head: int) -> None:
    """The wait is at least half of the recording until then: 200 of 400 µs."""
    assert facts_of(work(1, call, 400, 500)).head_ns == head


def test_the_last_stream_ends_the_head() -> None:
    facts = facts_of(work(1, 0, 410, 50), work(2, 20, 700, 50, stream=9), work(3, 40, 900, 9))
    assert facts.head_ns == 700_000


def test_the_second_work_of_a_stream_says_nothing() -> None:
    assert facts_of(work(1, 0, 15, 5), work(2, 30, 900, 50)).head_ns == 0


def copied(number: int, call: float, start: float, dur: float) -> list[Event]:
    """A copy from pageable memory and its call, which returns when it has ended."""
    return [
        event("cuda_runtime", "cudaMemcpyAsync", call, start + dur - call, correlation=number),
        event("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", start, dur, 7, correlation=number,
              device=0, stream=7),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("number", "start", "head"),
    [(1, 1011.0, 1011), (1, 1010.0, 0), (0, 1011.0, 0)],
    ids=["over a millisecond", "a millisecond", "may start the process"],
)
def test_a_call_that_waits_for_its_own_work(number: int, start: float, head: int) -> None:
    facts = facts_of(copied(1, 10, start, 300), work(2, 2000, 2010, 90),
                     steps=((number, 0, 1500), (number + 1, 1500, 1500)))  # fmt: skip
    assert facts.head_ns == head * 1000


def synced(ts: float, dur: float, name: str = "hipDeviceSynchronize") -> Event:
    return event("cuda_runtime", name, ts, dur)


@pytest.mark.parametrize(
    ("calls", "head"),
    [
        ((synced(5, 4, "hipGetDevice"), synced(20, 1001)), 1021),
        ((synced(5, 4, "hipGetDevice"), synced(20, 1000)), 0),
        ((synced(5, 4, "hipGetDevice"), synced(1100, 1001)), 0),  # less than half until then
        ((synced(20, 1001),), 0),  # the first call may start the process
        ((synced(5, 4, "hipLaunchKernel"), synced(20, 1001)), 0),  # for what was launched here
        ((synced(5, 4, "hipGetDevice"), synced(20, 1001, "hipMalloc")), 0),
    ],
    ids=["waits", "a millisecond", "late", "first call", "after a launch", "another call"],
)
def test_a_synchronization_of_a_silent_device(calls: tuple[Event, ...], head: int) -> None:
    assert facts_of([*calls], work(1, 3000, 3011, 90)).head_ns == head * 1000


def test_no_figure_contains_the_head() -> None:
    facts = facts_of(work(1, 0, 1000, 600))
    (step,) = facts.steps
    assert (step.start_ns, step.end_ns) == (1_000_000, 2_000_000)
    part = step.devices[0].partition
    assert (part.compute_ns, part.idle_ns) == (600_000, 400_000)
    detail = headline(select(facts)).detail
    assert detail.endswith(
        "The first 1.00\xa0ms are not judged: the device was on work launched before the "
        "recording. No whole step is left: record more steps, after a warm-up step."
    )


STEPS = ((4, 0.0, 400.0), (5, 400.0, 400.0), (6, 800.0, 400.0))


def test_a_step_that_begins_in_the_head_is_left_out() -> None:
    facts = facts_of(work(1, 10, 300, 90), work(2, 420, 440, 300), work(3, 810, 840, 300),
                     steps=STEPS)  # fmt: skip
    assert [step.excluded for step in facts.steps] == [HEAD, None, None]
    assert facts.steps[0].start_ns == 300_000
    chosen = select(facts)
    assert [step.number for step in chosen.steps] == [5, 6]
    assert "No whole step" not in headline(chosen).detail


def test_steps_that_are_missing_are_said_and_their_time_is_in_no_figure() -> None:
    parts = [work(1, 10, 30, 300), work(2, 410, 430, 300), work(3, 3010, 3030, 300)]
    facts = facts_of(*parts, steps=(*STEPS[:2], (8, 3000.0, 400.0)))
    chosen = select(facts)
    assert headline(chosen).detail.endswith(" Steps 6 to 7 are not in the recording.")
    gauges, covered = chosen.gauges(0)
    assert covered == chosen.total_ns == 1_200_000
    assert gauges.busy_ns == 900_000
    one = facts_of(*parts, steps=(*STEPS[:2], (7, 3000.0, 400.0)))
    assert headline(select(one)).detail.endswith(" Step 6 is not in the recording.")
    none = facts_of(*parts, steps=(*STEPS[:2], (6, 3000.0, 400.0)))
    assert "not in the recording" not in headline(select(none)).detail
    assert select(none).gauges(0)[1] == 3_400_000


HEADS = {
    # The copy waits 36.4 ms for a step that was not recorded. Without workers it waits for none.
    "kineto_tb_samples/resnet50_num_workers_4/worker0.1623212756351.pt.trace.json.gz": (
        45.386,
        153.171,
        664.102,
    ),
    "tracelens/inference/vllm_decode_full/graph_execution.json.gz": (8.37, 0.025, 10.74),
    "tracelens/inference/sglang_decode/sglang_Qwen3-8B_decode.json.gz": (463.38, 0.68, 10.45),
}


@requires_traces
@pytest.mark.parametrize("file", HEADS)
def test_real_recordings(file: str) -> None:
    facts = summarize(read(TRACES / file))
    chosen = select(facts)
    assert chosen.partition is not None
    found = facts.head_ns, chosen.partition.idle_ns, chosen.total_ns
    assert [ns / 1e6 for ns in found] == pytest.approx(HEADS[file], abs=0.006)


# --- the end in which only the recorder ran -------------------------------------------------------


def ending(*last: Event, until: float) -> Facts:
    """Steps from 0 and 1 ms on, the second with work until 1.5 ms, and some last events."""
    steps = (1, 0, 1000), (2, 1000, until - 1000)
    return facts_of(work(1, 100, 110, 800), work(2, 1000, 1010, 490), [*last], steps=steps)


FLUSH = event("overhead", "Buffer Flush", 1510, 20)


@pytest.mark.parametrize(("until", "tail"), [(1526.0, 0), (1527.0, 27_000)], ids=["4.9 %", "5.1 %"])
def test_the_recorder_alone_ends_the_last_step(until: float, tail: int) -> None:
    """A twentieth of the last step and more behind its work is not judged."""
    facts = ending({**FLUSH, "dur": 5}, until=until)
    assert facts.tail_ns == tail
    assert facts.steps[-1].end_ns == round(until * 1000) - tail
    said = headline(select(facts))
    assert ("are not judged: only the recorder ran" in said.detail) is bool(tail)


@pytest.mark.parametrize(
    ("last", "tail"),
    [
        ((FLUSH,), 500_000),
        ((event("cuda_runtime", "cudaDeviceSynchronize", 1990, 5),), 500_000),
        ((FLUSH, event("cpu_op", "aten::mul", 1600, 100)), 300_000),  # the host goes on
        ((FLUSH, event("python_function", "train.py(3): log", 1600, 400)), 0),
        ((event("cuda_runtime", "cudaDeviceSynchronize", 1400, 150),), 0),  # the step's own
        ((), 0),  # nothing says that the recorder ran
    ],
    ids=["flush", "stop", "op behind", "frame behind", "own wait", "nothing"],
)
def test_only_what_the_recorder_does_ends_a_step(last: tuple[Event, ...], tail: int) -> None:
    assert ending(*last, until=2000).tail_ns == tail
