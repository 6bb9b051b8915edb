"""One row per collective call."""

from __future__ import annotations

from kinetoscope.trace.model import Trace
from tests.trace.drawn import annotation, drawn, kernel, launch, x


def table(trace: Trace) -> list[tuple[str, str, list[str]]]:
    """(operation, group, kernels)"""
    calls = trace.collectives
    return [
        (
            trace.text(int(name)),
            trace.text(int(group)) if group >= 0 else "",
            [trace.text(int(trace.device.name[row])) for row in rows],
        )
        for name, group, rows in zip(calls.name, calls.group, calls.device_rows, strict=True)
    ]


def test_a_call_is_counted_once_however_often_it_was_written() -> None:
    comms = {"Collective name": "allreduce", "Process Group Name": "0"}
    trace = drawn(
        x("c10d::allreduce_", 0, 50),
        x("record_param_comms", 1, 40, **comms),
        annotation("nccl:all_reduce", 2, 30),
        launch(3, 1, 1),
        kernel("ncclDevKernel_AllReduce", 60, 9, correlation=1),
        x("record_param_comms", 100, 40, **{**comms, "Collective name": "broadcast"}),
        launch(103, 1, 2),
        kernel("ncclDevKernel_Broadcast", 160, 9, correlation=2),
    )
    assert table(trace) == [
        ("allreduce", "0", ["ncclDevKernel_AllReduce"]),
        ("broadcast", "0", ["ncclDevKernel_Broadcast"]),
    ]
    assert [trace.text(int(trace.host.name[row])) for row in trace.collectives.host] == [
        "record_param_comms", "record_param_comms",
    ]  # fmt: skip


def test_old_recorders_name_the_call_in_the_annotation_only() -> None:
    trace = drawn(
        x("record_param_comms", 0, 40),
        annotation("nccl:all_to_all", 2, 30),
        launch(3, 1, 1),
        kernel("ncclKernel_SendRecv", 60, 9, correlation=1),
        x("record_param_comms", 100, 4),
    )
    assert table(trace) == [("all_to_all", "", ["ncclKernel_SendRecv"])], "the second is the wait"


def test_a_range_that_stays_open_is_a_call_of_its_own() -> None:
    """Some back ends keep it open until the data has arrived, and other ops run meanwhile."""
    comms = {"Collective name": "allreduce", "Process Group Name": "0"}
    trace = drawn(
        annotation("hccl:all_to_all", 0, 100),
        x("aten::addmm", 5, 20),
        launch(6, 2, 1),
        x("c10d::allreduce_", 50, 30),
        x("record_param_comms", 52, 20, **comms),
        launch(54, 2, 2),
        kernel("fc", 20, 5, correlation=1),
        kernel("exchange", 60, 5, correlation=2),
    )
    assert table(trace) == [("all_to_all", "", []), ("allreduce", "0", ["exchange"])]


def test_waits_by_name_are_no_calls() -> None:
    trace = drawn(
        x("record_param_comms", 0, 4, **{"Collective name": "allreduce"}),
        x("record_param_comms", 10, 4, **{"Collective name": "wait"}),
    )
    assert [name for name, _, _ in table(trace)] == ["allreduce"]


def test_gloo_runs_on_threads_of_its_own() -> None:
    trace = drawn(
        x("c10d::allreduce_", 0, 5, tid=1),
        annotation("gloo:all_reduce", 3, 30, tid=2),
        annotation("gloo:barrier", 40, 3, tid=3),
    )
    assert [name for name, _, _ in table(trace)] == ["all_reduce", "barrier"]


def test_none() -> None:
    assert len(drawn(x("aten::mm", 0, 5)).collectives) == 0
