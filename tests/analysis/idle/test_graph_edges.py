"""Recorded edges inside replayed graphs: what idle time and the critical path make of them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest

from kinetoscope.analysis.facts import HeldName
from kinetoscope.analysis.host_activity import hosts_of
from kinetoscope.analysis.idle.critical_path import critical_path
from kinetoscope.analysis.idle.dependencies import dependencies
from kinetoscope.analysis.idle.model import PATH_KINDS
from kinetoscope.analysis.steps import select, step_windows
from kinetoscope.analysis.summarize import summarize
from kinetoscope.trace.model import Trace
from tests.collected import FILES, opened
from tests.trace.drawn import Event, annotation, drawn, kernel, launch, meta

FIRST = 1 << 40


def edges(*pairs: tuple[tuple[int, float], tuple[int, float]]) -> Iterable[Event]:
    """Arrows from (stream, end of a node) to (stream, start of a node)."""
    arrow = {"cat": "ac2g", "name": "ac2g", "pid": 0}
    for number, ((tid, ts), (to, at)) in enumerate(pairs, FIRST):
        yield {**arrow, "ph": "s", "id": number, "tid": tid, "ts": ts}
        yield {**arrow, "ph": "f", "bp": "e", "id": number, "tid": to, "ts": at}


def replay(*arrows: Event) -> Trace:
    """A graph with a call of the host between a and b, beside which c runs.

    stream 7  aaaaaaaaaaHHHHHHHHHHHHHHHHHHHHHHHHHHHH     bbbbb
    stream 8    cccccccccccccccccc
              10        20        30        40        50   55  60
    """
    return drawn(
        meta("process_labels", 0, labels="GPU 0"),
        annotation("ProfilerStep#1", 0, 60),
        launch(0, 8, 5, name="cudaGraphLaunch"),
        kernel("a", 10, 10, correlation=5),
        kernel("HostNode: log", 20, 28, cat="graph_host_node", correlation=5),
        kernel("c", 12, 18, correlation=5, tid=8),
        kernel("b", 55, 5, correlation=5),
        *arrows,
    )


EDGES = tuple(edges(((7, 20), (7, 20)), ((7, 48), (7, 55)), ((7, 20), (8, 12)), ((8, 30), (7, 55))))


def path_of(trace: Trace) -> list[tuple[str, int, str]]:
    windows = step_windows(trace)
    parts = critical_path(trace, hosts_of(trace), windows, dependencies(trace))
    names = (trace.host.name, trace.device.name)
    return [
        (PATH_KINDS[kind], int(end - start) // 1000, trace.text(int(names[on][row])))
        for kind, start, end, on, row in zip(
            parts.kind, parts.start, parts.end, parts.on, parts.row, strict=True
        )
    ]


def test_the_ends_of_arrows_are_nodes() -> None:
    trace = replay(*EDGES)
    names = [trace.text(code) for code in (*trace.device.name, *trace.syncs.name)]
    found = {
        (names[source], names[target])
        for source, target in zip(trace.graph_edges.source, trace.graph_edges.target, strict=True)
    }
    assert found == {("a", "HostNode: log"), ("HostNode: log", "b"), ("a", "c"), ("c", "b")}


def test_an_arrow_that_ends_at_no_node_is_none() -> None:
    assert len(replay(*edges(((7, 20), (7, 21)), ((9, 20), (7, 55)))).graph_edges) == 0


def test_idle_time_is_the_node_s_that_was_waited_for() -> None:
    selection = select(summarize(replay(*EDGES)), "")
    assert selection.partition is not None
    assert selection.partition.idle_graph_ns == 25_000
    (held,) = selection.held_of("idle_graph_ns")
    assert (held.name, held.kind, held.idle_ns, held.longest.dur_ns) == (
        "HostNode: log", "graph_node", 25_000, 28_000,
    )  # fmt: skip
    gap = selection.gaps[0]
    assert gap.held == HeldName("HostNode: log", "graph_node", "idle_graph_ns")
    assert (gap.gap.held_ns, gap.gap.held_ts) == (25_000, 20_000)
    assert [one.name for one in selection.held] == ["cudaGraphLaunch"], "of the host"


def test_without_edges_nobody_is_named() -> None:
    selection = select(summarize(replay()), "")
    assert selection.partition is not None
    assert selection.partition.idle_graph_ns == 25_000
    assert selection.held_of("idle_graph_ns") == ()
    assert selection.gaps[0].held is None


def test_what_waited_for_nothing_before_is_held_by_the_work_ahead() -> None:
    """b waits for c alone: the call of the host is none of its business."""
    selection = select(summarize(replay(*edges(((8, 30), (7, 55))))), "")
    assert [one.name for one in selection.held_of("idle_graph_ns")] == ["c"]


def test_the_path_goes_along_the_edges() -> None:
    """The host was called after a, so a is on the path; c ended later and released nobody."""
    start = [("launch", 8, "cudaGraphLaunch"), ("latency", 2, "a"), ("compute", 10, "a")]
    assert path_of(replay(*EDGES)) == [*start, ("graph", 35, "b"), ("compute", 5, "b")]
    assert path_of(replay())[-3:] == [
        ("compute", 18, "c"), ("graph", 25, "b"), ("compute", 5, "b"),
    ]  # fmt: skip


def test_edges_in_a_circle_end() -> None:
    trace = replay(*edges(((7, 48), (7, 55)), ((7, 60), (7, 20))))
    assert len(trace.graph_edges) == 2
    path_of(trace)
    assert select(summarize(trace), "").held_of("idle_graph_ns")


@pytest.mark.parametrize("name", [one for one in FILES if "cuspy" in one])
def test_real_gaps_are_held_by_what_the_edges_say(name: str) -> None:
    """Independently: back along the arrows, each time to the source that ended last."""
    trace = opened(name)
    ahead: dict[int, list[int]] = {}
    for source, target in zip(trace.graph_edges.source, trace.graph_edges.target, strict=True):
        ahead.setdefault(int(target), []).append(int(source))
    ts = np.concatenate([trace.device.ts, trace.syncs.ts])
    end = np.concatenate([trace.device.end, trace.syncs.end])
    names = [trace.text(code) for code in (*trace.device.name, *trace.syncs.name)]
    known = 0
    for one in select(summarize(trace), "").gaps:
        if one.cause != "idle_graph_ns":
            continue
        begin, at = one.gap.ts, one.gap.ts + one.gap.dur_ns
        node = next(row for row in np.flatnonzero(trace.device.ts == at).tolist())
        spent: dict[str, int] = {}
        while at > begin and ahead.get(node):
            node = max(ahead[node], key=lambda row: int(end[row]))
            since = min(at, max(begin, int(ts[node])))
            spent[names[node]] = max(spent.get(names[node], 0), at - since)
            at = since
        if one.held is None:
            assert not spent
            continue
        known += 1
        assert one.gap.held_ns == max(spent.values()) == spent[one.held.name]
    assert (known > 0) == (len(trace.graph_edges) > 0)
