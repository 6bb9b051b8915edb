"""First calls start a process: that is start-up, which no figure of the steady state contains."""

from __future__ import annotations

import numpy as np
import pytest

from kinetoscope.analysis.device_work import DeviceWork
from kinetoscope.analysis.diff.bridge import bridge
from kinetoscope.analysis.facts import IDLE_CAUSES
from kinetoscope.analysis.headline import verdict
from kinetoscope.analysis.host_activity import hosts_of
from kinetoscope.analysis.idle.artifact import idle_columns
from kinetoscope.analysis.idle.causes import IdleCauses
from kinetoscope.analysis.idle.model import PATH_KINDS
from kinetoscope.analysis.idle.names import HeldNames
from kinetoscope.analysis.overview.utilization import measures
from kinetoscope.analysis.overview.whole import idle_meanwhile
from kinetoscope.analysis.steps import Selection, select, step_windows
from kinetoscope.analysis.summarize import summarize
from kinetoscope.analysis.wording import not_judged
from kinetoscope.base.units import duration
from kinetoscope.trace.model import Trace
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


def range_of(name: str, ts: float, dur: float) -> Event:
    return {"ph": "X", "cat": "user_annotation", "name": name, "pid": PID, "tid": 1, "ts": ts,
            "dur": dur}  # fmt: skip


def started(*events: Event) -> tuple[Trace, Selection]:
    """A step of 50 ms with these events."""
    trace = trace_of([range_of("ProfilerStep#1", 0, 50_000), *events])
    return trace, select(summarize(trace))


def start_up(*events: Event) -> int:
    """µs of start-up in a step of 50 ms; its parts sum to it."""
    _, chosen = started(*events)
    part = chosen.partition
    assert part is not None
    assert part.idle_ns == sum(getattr(part, name) for name in IDLE_CAUSES)
    busy = part.compute_ns + part.exposed_communication_ns + part.exposed_copy_ns + part.memset_ns
    assert busy + part.idle_ns == chosen.total_ns
    assert chosen.total_ns + part.start_up_ns == 50_000_000
    return part.start_up_ns // 1000


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


def test_a_kernel_that_is_launched_first_starts_no_process() -> None:
    """Its call came before. A recording may begin late, with kernels that are new in it alone."""
    rest = [event for at in range(5) for event in work(10 + at, 30_000 + 1_000 * at, 5)]
    new = work(2, 20_000, 5)
    new[0]["dur"], new[1]["ts"], new[1]["name"] = 4_000, 24_000, "new"
    assert start_up(*work(1, 1_000, 5), *rest, *new) == 0


FIRST = "cudaDeviceGetStreamPriorityRange"


def with_start_up(dur: float = 20_000) -> list[Event]:
    """The context takes so long; then the device works for 5 ms of each 10, until 48 ms."""
    kernels = [event for at in range(3) for event in work(1 + at, 22_000 + 10_000 * at, 5_000)]
    return [call(FIRST, 1_000, dur), *kernels]


def test_start_up_leaves_every_figure_of_a_step() -> None:
    trace, chosen = started(*with_start_up())
    assert chosen.partition is not None
    assert chosen.total_ns == chosen.mean(chosen.total_ns) == 30_000_000
    assert chosen.partition.idle_ns == 15_000_000
    assert chosen.ratio(chosen.partition.idle_ns) == 0.5
    assert chosen.steps[0].dur_ns == 30_000_000
    assert chosen.facts.step_times_ns == (30_000_000,)
    utilization = measures(chosen, 0)[0]
    assert utilization.ratio == 0.5
    # No gap, no name and no ceiling has any of it.
    assert max(one.gap.dur_ns for one in chosen.gaps) < 6_000_000
    assert FIRST not in {one.name for one in chosen.held}
    (first,) = chosen.held_of("start_up_ns")
    assert (first.name, first.idle_ns, first.count) == (FIRST, 20_000_000, 1)
    said = verdict(chosen)
    assert all(one.gain.ns_per_step <= 15_000_000 for one in said.findings if one.gain is not None)
    spent = duration(20_000_000)
    assert not_judged(chosen)[0] == (
        f"Start-up is not judged, {spent} in this step: `{FIRST}` for {spent} (once, the first "
        "call in the recording)."
    )
    assert chosen.facts.devices[0].start_up == ((1_000_000, 21_000_000),)
    # Idle time by function, by stretch and by call path.
    whole = idle_meanwhile(trace, np.array([0]), np.array([50_000_000]))
    assert whole.tolist() == [15_000_000]
    causes = IdleCauses(HeldNames(trace, hosts_of(trace)), step_windows(trace))
    pieces = causes.by_piece(DeviceWork(trace, 0))
    assert pieces.ns.sum() == 15_000_000
    assert pieces.pieces.start.tolist()[:2] == [0, 21_000_000]
    columns = idle_columns(trace)
    assert columns.cells.idle_ns.sum() == 15_000_000
    on_path = columns.path.kind == PATH_KINDS.index("start_up")
    assert (columns.path.end - columns.path.start)[on_path].sum() == 20_000_000


def test_a_process_that_starts_is_compared_without_its_start() -> None:
    _, cold = started(*with_start_up())
    _, colder = started(*with_start_up(15_000))
    assert colder.total_ns - cold.total_ns == 5_000_000
    found = bridge([cold], [colder])
    assert (found.base_ns, found.other_ns) == (30_000_000, 35_000_000)
    assert sum(one.change_ns for one in found.parts) == 5_000_000
    assert not {"start_up_ns", "idle_first_launch_ns"} & {one.key for one in found.parts}


def test_start_up_between_iterations_is_in_no_period() -> None:
    events: list[Event] = []
    for at in range(3):
        ts = 10_000 * at
        launch = work(1 + at, ts + 100, 3_000)
        events += [range_of("step[DECODE bs=4]", ts, 1_000), *launch]
    events.append(call("cudaStreamQuery", 4_000, 5_000))
    events += [call("cudaStreamQuery", 24_000 + at, 1) for at in (0, 10, 20)]
    facts = summarize(trace_of(events))
    first, second, third = facts.iterations
    assert facts.devices[0].start_up == ((4_000_000, 9_000_000),)
    assert (first.period_ns, second.period_ns, third.period_ns) == (5_000_000, 10_000_000, None)
    assert second.gap is not None
    assert third.gap is not None
    assert third.gap.idle_ns - second.gap.idle_ns == 5_000_000
