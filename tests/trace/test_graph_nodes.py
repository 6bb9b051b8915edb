"""Rows of CUDA graphs and of torch's second engine, drawn: what they are, and what they are not."""

from __future__ import annotations

import numpy as np
import pytest

from kinetoscope.analysis.distributed.rank.calls import find_calls
from kinetoscope.analysis.steps import step_windows
from kinetoscope.base.arrays import cells
from kinetoscope.trace.model import Trace
from tests.trace.drawn import Event, annotation, drawn, kernel, kinds, launch, meta, x

GPU = meta("process_labels", 0, labels="GPU 0")


def copy(at: float, **args: object) -> Event:
    return kernel("Memcpy", at, 2, cat="gpu_memcpy", **args)


def test_nodes_of_graphs_are_waits_on_their_stream() -> None:
    trace = drawn(
        GPU,
        launch(0, 2, 5, name="cudaGraphLaunch"),
        kernel("gemm", 10, 5, correlation=5, **{"graph id": 1}),
        kernel("HostNode: log", 20, 50, cat="graph_host_node", correlation=5),
        kernel("EventRecord", 70, 0, cat="graph_event_node", correlation=0, tid=9),
    )
    assert [trace.text(code) for code in trace.device.name] == ["gemm"]
    assert [trace.text(code) for code in trace.syncs.name] == ["HostNode: log", "EventRecord"]
    assert trace.streams.stream[trace.syncs.stream].tolist() == [7, 9]
    assert "graph_nodes" in kinds(trace)
    assert "unknown_categories" not in kinds(trace)


def test_a_wait_for_the_device_is_not_on_the_stream_whose_number_it_has() -> None:
    trace = drawn(
        GPU,
        meta("thread_name", 0, 1, name="stream 1 "),
        meta("thread_name", 0, 1, name="stream -1 "),
        kernel("gemm", 10, 5, tid=1, correlation=1),
        x("Context Sync", 30, 5, cat="cuda_sync", pid=0, tid=1, stream=-1),
        x("Stream Sync", 40, 5, cat="cuda_sync", pid=0, tid=1, stream=1),
    )
    assert trace.syncs.stream.tolist() == [-1, 0]
    assert [trace.text(code) for code in trace.streams.name] == ["stream 1"]


@pytest.mark.parametrize(
    ("args", "name"),
    [
        ({"copy kind": "HtoD", "src kind": "pageable", "dst kind": "device"},
         "Memcpy HtoD (Pageable -> Device)"),
        ({"copy kind": "DtoH", "src kind": "device_static", "dst kind": "managed"},
         "Memcpy DtoH (Device Static -> Managed)"),
        ({"copy kind": 9, "src kind": 2, "dst kind": 1}, "Memcpy HtoH (Pinned -> Pageable)"),
        ({"copy kind": "PtoP", "src kind": "unknown", "dst kind": "device"},
         "Memcpy PtoP (Unknown -> Device)"),
        ({"copy kind": "DtoD"}, "Memcpy DtoD"),
        ({"copy kind": 77, "src kind": "device"}, "Memcpy"),
        ({"copy kind": "<script>"}, "Memcpy"),
        ({}, "Memcpy"),
    ],
)  # fmt: skip
def test_copies_are_named_by_their_arguments(args: dict[str, object], name: str) -> None:
    trace = drawn(GPU, copy(10, correlation=1, **args))
    assert [trace.text(code) for code in trace.device.name] == [name]


def test_sets_are_named_by_their_arguments_and_other_names_stay() -> None:
    trace = drawn(
        GPU,
        kernel("Memset", 10, 5, cat="gpu_memset", **{"memory kind": 3}),
        kernel("Memcpy DtoH (Device -> Pinned)", 20, 5, cat="gpu_memcpy", **{"copy kind": "HtoD"}),
    )
    names = [trace.text(code) for code in trace.device.name]
    assert names == ["Memset (Device)", "Memcpy DtoH (Device -> Pinned)"]


def test_arrows_between_nodes_are_no_launches() -> None:
    """They are called as launches are; only the number tells them apart."""
    arrow = {"cat": "ac2g", "name": "ac2g", "tid": 1}
    numbered = [
        {**arrow, "ph": "s", "id": number, "pid": 100, "ts": 1.0} for number in (7, 1 << 40)
    ] + [
        {**arrow, "ph": "f", "bp": "e", "id": number, "pid": 0, "tid": 7, "ts": at}
        for number, at in ((7, 10), (1 << 40, 20))
    ]
    trace = drawn(GPU, launch(0, 2, 5), kernel("a", 10, 5), kernel("b", 20, 5), numbered)
    assert trace.device.launch.tolist() == [0, -1]
    assert "graph_dependencies" in kinds(trace)
    assert trace.health.events == trace.health.used + sum(trace.health.ignored.values())


def test_ops_of_launches_without_ids_are_found_by_time_on_their_thread() -> None:
    """The second engine writes no External id: only the call and its kernel share a number.

    thread 1   aten::linear [ aten::addmm [ call 1 ] ]     call 2 outside of ops
    thread 2   aten::relu [          call 3           ]
    """
    trace = drawn(
        x("aten::linear", 0, 30, tid=1),
        x("aten::addmm", 5, 20, tid=1),
        launch(10, 2, 1, tid=1),
        launch(40, 2, 2, tid=1),
        x("aten::relu", 0, 60, tid=2),
        launch(11, 2, 3, tid=2),
        *(kernel(f"k{number}", 100 + 10 * number, 5, correlation=number) for number in (1, 2, 3)),
    )
    ops = [trace.text(trace.host.name[op]) if op >= 0 else "" for op in trace.device.op]
    assert ops == ["aten::addmm", "", "aten::relu"]


@pytest.mark.parametrize("sequence", [5, "5"])
def test_annotations_within_the_arguments_of_a_kernel_move_nothing(sequence: int | str) -> None:
    """They overwrite what has their name, so the lane is that of the row; numbers may be text."""

    def row(kernel: str, at: float, lane: int, **args: object) -> Event:
        told = {"device": 0, "correlation": 1, "graph id": 3, **args}
        place = {"cat": "kernel", "pid": 0, "tid": lane}
        return {"name": kernel, "ph": "X", "ts": at, "dur": 4, "args": told, **place}

    within = {"name": "block 3", "stream": "dp", "device": "cuda", "bytes": "many"}
    trace = drawn(
        launch(0, 2, 1, name="cudaGraphLaunch"),
        row("gemm", 5, 12, annotation="[a, b]", annotated_stream="12", original_stream=7, **within),
        row("ncclDevKernel_AllReduce_Sum", 10, 13, stream=13, Seq=sequence, **{"Comms Id": 99}),
        cudaGraphInlineAnnotated=True,
    )
    device = trace.device
    assert [trace.text(code) for code in device.name] == ["gemm", "ncclDevKernel_AllReduce_Sum"]
    assert trace.streams.stream[device.stream].tolist() == [12, 13]
    assert [(one.type, one.index) for one in trace.devices] == [("GPU", 0)]
    for name, value in (("annotated_stream", 12), ("original_stream", 7)):
        assert cells(device.args.get(name), np.arange(2), -1).tolist() == [value, -1]
    # A collective is known by what its kernel carries, without a call that says it.
    (call,) = find_calls(trace).calls
    assert (call.sequence, call.comms_id) == (5, "99")


def test_samples_belong_to_the_device_that_their_process_names() -> None:
    def sample(pid: object, at: float) -> Event:
        return {"ph": "C", "name": "Power (W)", "pid": pid, "ts": at, "args": {"": 400.0}}

    trace = drawn(
        GPU,
        meta("process_labels", 3, labels="GPU 3"),
        kernel("a", 10, 5, correlation=1),
        {**kernel("b", 10, 5, correlation=2), "pid": 3, "args": {"device": 3, "stream": 7}},
        sample("GPU 0 Counters", 1), sample("GPU 3 Counters", 2), sample("GPU 9 Counters", 3),
        sample(3, 4), sample(100, 5), sample("GPU 0", 6),
    )  # fmt: skip
    assert [one.index for one in trace.devices] == [0, 3]
    assert trace.counters.device.tolist() == [0, 1, -1, 1, -1, -1]


def replays(*counts: int) -> Trace:
    """Steps that each replay a graph of 40 kernels so many times, beside one eager kernel."""
    events: list[Event] = [GPU]
    number = 0
    for step, count in enumerate(counts):
        start = 1000.0 * step
        events.append(annotation(f"ProfilerStep#{step}", start, 900))
        for turn in range(count + 1):
            number += 1
            name = "cudaGraphLaunch" if turn else "cudaLaunchKernel"
            events.append(launch(start + 10 * turn, 2, number, name=name))
            events += [
                kernel("k", start + 100 + 100 * turn + node, 1, correlation=number)
                for node in range(40 if turn else 1)
            ]
    return drawn(*events)


@pytest.mark.parametrize("counts", [(8, 7), (1, 3, 1), (2, 2, 4, 2)])
def test_a_last_step_is_complete_though_one_before_replayed_more(counts: tuple[int, ...]) -> None:
    assert step_windows(replays(*counts)).excluded[-1] is None


def test_a_last_step_that_lost_its_launches_is_incomplete() -> None:
    assert step_windows(replays(3, 3, 0)).excluded[-1] == "incomplete"
