"""Replays of graphs: which nodes they hold, and what they wait for inside.

host     launch 1      launch 2            a call of a graph of three nodes, twice
device   aaaa  bb  c ..aaaa  bbb  c        µs: a 0-4, b 6-8, c 10-11; a 20-24, b 26-29, c 31-32
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinetoscope.analysis.graphs.model import GraphColumns, IdleKind, NodeKind
from kinetoscope.analysis.graphs.replays import graphs_of
from kinetoscope.trace.link.iterations import batch_of
from kinetoscope.trace.model import DeviceKind, Trace
from kinetoscope.trace.read import read
from tests.conftest import TRACES, requires_traces
from tests.trace.drawn import Event, annotation, drawn, kernel, launch, x

US = 1_000


def graph_launch(ts: float, correlation: int) -> Event:
    return launch(ts, 1, correlation, name="cudaGraphLaunch")


def node(
    name: str, ts: float, dur: float, correlation: int, number: int = 0, graph: int = 5
) -> Event:
    told = {"graph id": graph, "graph node id": number} if number else {}
    return kernel(name, ts, dur, correlation=correlation, **told)


def two_replays(*, ids: bool) -> Trace:
    return drawn(
        graph_launch(-5, 1),
        graph_launch(15, 2),
        launch(40, 1, 3),
        *(
            node(name, ts, dur, correlation, (at % 3 + 1) * ids)
            for at, (name, ts, dur, correlation) in enumerate(
                [
                    ("a", 0, 4, 1), ("b", 6, 2, 1), ("c", 10, 1, 1),
                    ("a", 20, 4, 2), ("b", 26, 3, 2), ("c", 31, 1, 2),
                ]
            )
        ),
        kernel("alone", 42, 7, correlation=3),
    )  # fmt: skip


def names(graphs: GraphColumns) -> list[str]:
    return [graphs.strings[code] for code in graphs.nodes.name.tolist()]


def waits(graphs: GraphColumns) -> list[tuple[int, str, str, int]]:
    """(replay, kind, what was waited for, µs)"""
    idle = graphs.idle
    return [
        (
            int(idle.replay[at]),
            IdleKind(int(idle.kind[at])).name.lower(),
            names(graphs)[idle.waited[at]] if idle.waited[at] >= 0 else "",
            int(idle.ns[at]) // US,
        )
        for at in range(len(idle))
    ]


@pytest.mark.parametrize("ids", [True, False])
def test_replays_of_one_graph(ids: bool) -> None:
    graphs = graphs_of(two_replays(ids=ids))
    assert graphs.graphs.number.tolist() == [5 if ids else -1]
    assert names(graphs) == ["a", "b", "c"]
    assert graphs.nodes.start_ns.tolist() == [0, 6 * US, 10.5 * US]
    replays = graphs.replays
    assert replays.graph.tolist() == [0, 0]
    assert (replays.end - replays.ts).tolist() == [11 * US, 12 * US]
    assert replays.busy_ns.tolist() == [7 * US, 8 * US]
    assert replays.node_count.tolist() == [3, 3]
    assert np.bincount(graphs.of_activity + 1).tolist() == [1, 6]  # "alone" is in none
    # Without dependencies, what ended last before a gap stands for them.
    assert waits(graphs) == [
        (0, "latency", "a", 2), (0, "latency", "b", 2),
        (1, "latency", "a", 2), (1, "latency", "b", 2),
    ]  # fmt: skip
    assert graphs.idle.inferred.all()


def test_without_ids_graphs_are_told_apart_by_content_and_batch_size() -> None:
    def replayed(start: float, correlation: int, size: int, *kernels: str) -> list[Event]:
        return [
            annotation(f"execute_{size}_context_0", start, 8),
            graph_launch(start + 1, correlation),
            *(node(name, start + 2 + at, 1, correlation) for at, name in enumerate(kernels)),
        ]

    graphs = graphs_of(
        drawn(
            replayed(0, 1, 8, "a", "b", "c"),
            replayed(10, 2, 8, "a", "b", "c"),
            replayed(20, 3, 16, "a", "b", "c"),
            replayed(30, 4, 8, "a", "b"),
        )
    )
    assert graphs.replays.graph.tolist() == [0, 0, 1, 2]
    assert graphs.replays.batch.tolist() == [8, 8, 16, 8]
    assert [graphs.label(one) for one in range(3)] == ["graph A", "graph B", "graph C"]


def test_a_call_of_the_host_holds_the_device() -> None:
    """a runs to 4, then the graph calls the host from 5 to 15, then b begins at 17."""
    graphs = graphs_of(
        drawn(
            graph_launch(-5, 1),
            node("a", 0, 4, 1, 1),
            x("HostNode: log", 5, 10, cat="graph_host_node", pid=0, tid=7, device=0, stream=7,
              correlation=1, **{"graph id": 5, "graph node id": 2}),
            node("b", 17, 3, 1, 3),
        )
    )  # fmt: skip
    assert graphs.nodes.kind.tolist() == [NodeKind.KERNEL, NodeKind.HOST, NodeKind.KERNEL]
    assert sorted(waits(graphs)) == [
        (0, "host", "HostNode: log", 10),
        (0, "latency", "HostNode: log", 2),
        (0, "latency", "a", 1),
    ]


def test_a_call_of_the_host_without_a_correlation_is_of_the_replay_before_it() -> None:
    """Two graphs take turns; each has a call of the host that only names its graph."""

    def replayed(ts: float, correlation: int, graph: int) -> list[Event]:
        return [
            graph_launch(ts - 5, correlation),
            node("a", ts, 4, correlation, 1, graph),
            x(f"HostNode: {graph}", ts + 5, 2, cat="graph_host_node", pid=0, tid=7, device=0,
              stream=7, correlation=0, **{"graph id": graph, "graph node id": 2}),
            node("b", ts + 8, 3, correlation, 3, graph),
        ]  # fmt: skip

    graphs = graphs_of(drawn(*(replayed(20 * at, at + 1, 5 + at % 2) for at in range(4))))
    nodes, members = graphs.nodes, graphs.members
    called = np.flatnonzero(nodes.kind[members.node] == NodeKind.HOST)
    assert sorted(members.replay[called].tolist()) == [0, 1, 2, 3]
    told = [one for one in waits(graphs) if one[1] == "host"]
    assert told == [(at, "host", f"HostNode: {5 + at % 2}", 2) for at in range(4)]


def test_other_work_of_the_device_is_no_wait_of_the_graph() -> None:
    graphs = graphs_of(
        drawn(
            graph_launch(-5, 1),
            launch(1, 1, 2),
            node("a", 0, 4, 1, 1),
            node("b", 14, 3, 1, 2),
            kernel("other", 6, 5, correlation=2, tid=9),
        )
    )
    assert sorted(waits(graphs)) == [
        (0, "latency", "a", 2),
        (0, "latency", "a", 3),
        (0, "other", "", 5),
    ]


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("execute_32_context_0(sq0sk0)_generation_32(sq32)", 32),
        ("execute_context_1(888_788544)_generation_0(0)", 888),
        ("step[DECODE bs=8]", 8),
        ("capture_8192_PIECEWISE", 8192),
        ("capture_8", 8),
        ("run batch_size: 4", 4),
        ("batch_size=4", 4),
        ("capture_99999999999", -1),
        ("jobs=3", -1),
        ("", -1),
    ],
)
def test_batch_sizes_in_names(name: str, size: int) -> None:
    assert batch_of(name) == size


# Replays that may overlap each other and themselves, work outside of them, calls of the host.
_WORK = st.tuples(st.sampled_from("abc"), st.integers(0, 60), st.integers(0, 9), st.integers(7, 9))

_HOST = st.tuples(st.integers(0, 3), st.integers(0, 60), st.integers(0, 20))


@given(
    replays=st.lists(st.lists(_WORK, min_size=1, max_size=5), max_size=4),
    outside=st.lists(_WORK, max_size=4),
    hosts=st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 60), st.integers(0, 20)), max_size=2
    ),
    ids=st.booleans(),
)
@settings(max_examples=50, deadline=None)
def test_parts_sum_to_the_whole(
    replays: list[list[tuple[str, int, int, int]]],
    outside: list[tuple[str, int, int, int]],
    hosts: list[tuple[int, int, int]],
    ids: bool,
) -> None:
    events = [graph_launch(at, at + 1) for at in range(len(replays))]
    for at, held in enumerate(replays):
        for number, (name, ts, dur, stream) in enumerate(held):
            told = {"graph id": 5 + at % 2, "graph node id": number + 1} if ids else {}
            events.append(kernel(name, ts, dur, correlation=at + 1, tid=stream, **told))
    for at, (name, ts, dur, stream) in enumerate(outside):
        events += [launch(at + 100, 1, 100 + at)]
        events += [kernel(name, ts, dur, correlation=100 + at, tid=stream)]
    for at, ts, dur in hosts:
        events.append(
            x("HostNode", ts, dur, cat="graph_host_node", pid=0, tid=7, device=0, stream=7,
              correlation=at + 1)
        )  # fmt: skip
    trace = drawn(*events)
    graphs = graphs_of(trace)
    held_sum = int(trace.device.dur[graphs.of_activity >= 0].sum())
    free_sum = int(trace.device.dur[graphs.of_activity < 0].sum())
    assert held_sum == sum(dur for held in replays for _, _, dur, _ in held) * US
    assert free_sum == sum(dur for _, _, dur, _ in outside) * US
    check(graphs)
    # Each replay against its instants, counted one by one.
    for at in range(len(graphs.replays)):
        mine = graphs.members.replay == at
        mine &= np.isin(graphs.nodes.kind[graphs.members.node], (0, 1, 2))
        busy = {
            instant
            for ts, dur in zip(graphs.members.ts[mine], graphs.members.dur_ns[mine], strict=True)
            for instant in range(int(ts), int(ts + dur), US)
        }
        assert graphs.replays.busy_ns[at] == len(busy) * US


def check(graphs: GraphColumns) -> None:
    """What holds for all graphs of any trace."""
    replays, idle = graphs.replays, graphs.idle
    inside = np.zeros(len(replays), np.int64)
    np.add.at(inside, idle.replay, idle.ns)
    assert (inside == replays.end - replays.ts - replays.busy_ns).all()
    assert (idle.ns > 0).all()
    counts = np.bincount(graphs.members.replay[graphs.members.replay >= 0], minlength=len(replays))
    assert (counts == replays.node_count).all()
    assert (np.diff(graphs.nodes.graph) >= 0).all()
    known = graphs.nodes.ahead >= 0
    assert (graphs.nodes.graph[graphs.nodes.ahead[known]] == graphs.nodes.graph[known]).all()


GRAPHS = {
    # file: graphs, replays, nodes of the largest, kernels in graphs, batch sizes, node ids, edges
    "torch2.15_cuspy/node0_4242.1795335000000000000.pt.trace.json.gz": (
        1, 3, 35, 78, [-1], True, True,
    ),
    "torch2.15_cuspy/node0_4242.1795335000000000000.pt.trace.pftrace.gz": (
        1, 3, 35, 78, [-1], True, True,
    ),
    "torch2.15_cuspy/node0_4243.1795335000000000000.pt.trace.json.gz": (
        1, 2, 31, 52, [-1], True, False,
    ),
    "tracelens/inference/sglang_decode/sglang_Qwen3-8B_decode.json.gz": (
        1, 1, 544, 544, [32], False, False,
    ),
    "tracelens/inference/vllm_decode_full/graph_execution.json.gz": (
        1, 1, 421, 421, [32], False, False,
    ),
    "fresh_torch2.13/resnet_w0_slowloader/worker0.1795227647613059650.pt.trace.json.gz": (
        0, 0, 0, 0, [], False, False,
    ),
}  # fmt: skip


@requires_traces
@pytest.mark.parametrize("file", GRAPHS)
def test_graphs_of_real_traces(file: str) -> None:
    trace = read(Path(TRACES, file))
    graphs = graphs_of(trace)
    check(graphs)
    held = (graphs.of_activity >= 0) & (trace.device.kind == DeviceKind.KERNEL)
    assert (
        len(graphs.graphs),
        len(graphs.replays),
        int(graphs.replays.node_count.max(initial=0)),
        int(held.sum()),
        np.unique(graphs.replays.batch).tolist(),
        bool(graphs.graphs.node_ids.any()),
        graphs.has_edges,
    ) == GRAPHS[file]
    if graphs.has_edges:
        # 35 rendered nodes of a replay; one of three replays has no arrows to and from its call of
        # the host, which is then known by its time alone.
        host = graphs.idle.kind == IdleKind.HOST
        assert np.bincount(graphs.idle.inferred[host]).tolist() == [2, 1]
        assert int(np.count_nonzero(graphs.nodes.ahead >= 0)) == 34
