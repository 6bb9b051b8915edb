"""Launches that outlast their kernels, slow ones, run-ahead; copies; communication."""

from __future__ import annotations

import pytest

from kinetoscope.analysis.facts import Communication, LaunchSums
from kinetoscope.analysis.idle.costs import copy_kind
from kinetoscope.analysis.steps import Selection, select
from kinetoscope.analysis.summarize import summarize
from tests.drawing import Event, draw


def of(picture: str, **names: str) -> Selection:
    return select(summarize(draw(picture, names=names)))


def test_kernels_shorter_than_their_launch() -> None:
    chosen = of(
        """
        step   |111111111111111111|
        call   |aaab              |
        gpu    |   aa  bbbbbbbbbbb|
        """
    )
    assert chosen.launches == LaunchSums(2, 4_000, 1, 3_000, 0, 0)
    assert chosen.device_facts is not None
    assert chosen.device_facts.lead_ns == (0, 3_000, 3_000)


def test_a_call_that_takes_ten_times_as_long_as_usual_is_slow() -> None:
    rows: list[Event] = []
    for at, (ts, dur) in enumerate([(0, 5), (10, 5), (20, 5), (30, 70)]):
        rows += [
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 100, "tid": 1,
             "ts": ts, "dur": dur, "args": {"correlation": at + 1}},
            {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": ts + dur,
             "dur": 3, "args": {"device": 0, "stream": 7, "correlation": at + 1}},
        ]  # fmt: skip
    found = select(summarize(draw("", events=rows))).launches
    assert (found.slow_count, found.slow_ns) == (1, 70_000)


def test_a_replay_is_one_launch() -> None:
    rows: list[Event] = [
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaGraphLaunch", "pid": 100, "tid": 1,
         "ts": 0, "dur": 9, "args": {"correlation": 1}},
        *(
            {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": ts,
             "dur": 1, "args": {"device": 0, "stream": 7, "correlation": 1}}
            for ts in (10, 12, 14)
        ),
    ]  # fmt: skip
    found = select(summarize(draw("", events=rows))).launches
    assert (found.count, found.call_ns, found.short_count) == (1, 9_000, 0)


def test_copies_by_direction_and_memory() -> None:
    chosen = of(
        """
        step    |11111111111111111|
        call    |kp    q    d     |
        gpu     | kkkk            |
        copy.9  |   pppp qq  dd   |
        """,
        p="Memcpy HtoD (Pageable -> Device)",
        q="Memcpy HtoD (Pinned -> Device)",
        d="Memcpy DtoD (Device -> Device)",
    )
    assert [(one.kind, one.memory, one.count, one.ns, one.exposed_ns) for one in chosen.copies] == [
        ("HtoD", "pageable", 1, 4_000, 2_000),
        ("DtoD", "", 1, 2_000, 2_000),
        ("HtoD", "pinned", 1, 2_000, 2_000),
    ]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("Memcpy HtoD (Pageable -> Device)", ("HtoD", "pageable")),
        ("Memcpy DtoH (Device -> Pinned)", ("DtoH", "pinned")),
        ("Memcpy PtoP (Device -> Device)", ("PtoP", "")),
        ("CopyDeviceToHost", ("DtoH", "")),
        ("Memcpy", ("", "")),
        ("MEMCPY_ASYNC", ("", "")),
    ],
)
def test_what_the_name_of_a_copy_says(name: str, kind: tuple[str, str]) -> None:
    assert copy_kind(name) == kind


# --- communication ------------------------------------------------------------------------------

NCCL = "ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclArgs)"


def communication_of(picture: str, **names: str) -> Communication:
    """In µs."""
    found = select(summarize(draw(picture, names={"n": NCCL, **names}))).communication
    return Communication(*(getattr(found, name) // 1000 for name in found.__struct_fields__))


def test_before_the_next_kernel_was_launched_the_host_holds_the_device_up() -> None:
    """At no cost of communication the device would have waited until b was launched."""
    found = communication_of(
        """
        step    |11111111111111111111|
        call    |an        b         |
        gpu     | aaa         bbbb   |
        gpu.9   |  nnnnnnnnnnn       |
        """
    )
    # Compute hides 2 µs; [4, 10) came before the launch of b, [10, 13) after it.
    assert found == Communication(11, 9, 3, 6, 0)


def test_a_host_that_waits_for_the_collective_is_held_up_by_it() -> None:
    found = communication_of(
        """
        step    |11111111111111111111|
        call    |anssssssssssb       |
        gpu     | aa           bbbb  |
        gpu.9   |   nnnnnnnnn        |
        """,
        **{"call s": "cudaStreamSynchronize"},
    )
    assert found == Communication(9, 9, 9, 0, 0)


def test_without_a_kernel_behind_it_nothing_tells() -> None:
    found = communication_of(
        """
        step    |1111111111|
        call    |n         |
        gpu.9   | nnnn     |
        """
    )
    assert found == Communication(4, 4, 0, 0, 4)


def test_compute_hides_it_all() -> None:
    found = communication_of(
        """
        step    |1111111111|
        call    |an        |
        gpu     | aaaaaaaa |
        gpu.9   |   nnnn   |
        """
    )
    assert found == Communication(4, 0, 0, 0, 0)


@pytest.mark.parametrize("launched", [True, False])
def test_a_kernel_whose_launch_is_not_known_tells_nothing(launched: bool) -> None:
    found = communication_of(
        f"""
        step    |1111111111|
        call    |n{"b" if launched else " "}        |
        gpu     |      bbb |
        gpu.9   |  nnnn    |
        """
    )
    assert (found.blocking_ns, found.unknown_ns) == ((4, 0) if launched else (0, 4))
