"""Kernels by graph, the page of a graph, its nodes, and what a capture-time recording lends them.

log/job/            worker0.json     replays of a graph of a, b, c; a kernel outside of it
log/job/capture/    worker0.json     ops op0, op1, op2 launch a, b, c while they are captured
log/other/          worker0.json     the capture of another model
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from kinetoscope.analysis.operators.kernels import GROUPINGS
from kinetoscope.base.errors import QueryError
from kinetoscope.base.units import NBSP
from kinetoscope.session.catalog import facts_catalog
from kinetoscope.session.session import TraceSession, Wanted, choose
from kinetoscope.store.discovery.walk import resolve
from kinetoscope.trace.read import read
from kinetoscope.views.kernels.contract import (
    GraphQuery,
    KernelQuery,
    Kernels,
    NodeQuery,
    NodeRow,
)
from kinetoscope.views.kernels.graphs import graph_page
from kinetoscope.views.kernels.nodes import node_table
from kinetoscope.views.kernels.rows import GraphRow
from kinetoscope.views.kernels.view import VIEW, build, tables
from kinetoscope.views.operators.contract import OperatorQuery
from kinetoscope.views.operators.view import VIEW as OPERATORS
from kinetoscope.views.operators.view import build as build_operators
from kinetoscope.views.table import sorts
from kinetoscope.views.timeline.common import opened_of
from kinetoscope.views.timeline.details import details
from kinetoscope.views.timeline.queries import SliceQuery
from kinetoscope.views.timeline.view import VIEW as TIMELINE
from kinetoscope.views.view import Subject
from kinetoscope.web.app import create_app
from tests.analysis.graphs.test_captures import captured, execution
from tests.conftest import TRACES, requires_traces
from tests.trace.drawn import Event, drawn, kernel, launch
from tests.waiting import wait_for

KERNELS = ["a", "b", "c"]
RUN = [
    *execution([("a", 4), ("b", 2), ("c", 1)], size=8, replays=2),
    launch(100, 1, 3),
    kernel("alone", 102, 6, correlation=3),
]


def write(path: Path, events: list[Event]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))


@pytest.fixture(name="log")
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KINETOSCOPE_CACHE_DIR", str(tmp_path / "cache"))
    log = tmp_path / "log"
    write(log / "job" / "worker0.pt.trace.json", RUN)
    write(log / "job" / "capture" / "worker0.pt.trace.json", captured(KERNELS, size=8))
    write(log / "other" / "worker0.pt.trace.json", captured(["x", "y", "c"]))
    return log


def subject(log: Path, run: str = "job") -> Subject:
    return choose(str(log), Wanted(run=run)).session().seen_by(VIEW)


def plain(text: str) -> str:
    return text.replace(NBSP, " ")


def alone(events: list[Event]) -> Subject:
    return TraceSession(drawn(events)).seen_by(VIEW)


def test_kernels_by_graph() -> None:
    """Two replays of 4 + 1 + 2 + 1 + 1 µs, of which 2 µs idle, and one kernel outside."""
    answer = build(alone(RUN), KernelQuery(group_by="graph"))
    graph, outside = answer.table.rows
    assert (graph.name, graph.calls, graph.total_ns, graph.ratio) == ("graph A", 6, 14_000, 0.7)
    assert (outside.name, outside.calls, outside.total_ns) == ("outside graphs", 1, 6_000)
    assert isinstance(outside, GraphRow)
    assert outside.replays is None
    assert isinstance(graph, GraphRow)
    assert (graph.replays, graph.nodes, graph.batch) == (2, 3, "8")
    assert graph.node_ns == pytest.approx(14_000 / 6)
    assert (graph.replay_min_ns, graph.replay_p50_ns, graph.replay_max_ns) == (9_000,) * 3
    assert (graph.replay_ns, graph.inside_idle_ns) == (18_000, 4_000)
    assert "graphs" not in answer.missing
    (table, *_) = tables(answer)
    assert table.title == "Graphs"
    at = {column.key: place for place, column in enumerate(table.columns)}
    assert [row[at["replays"]] for row in table.rows] == [2, None]
    assert [row[at["inside_idle_ns"]] for row in table.rows] == [4_000, None]


def test_a_recording_without_graphs_says_so() -> None:
    answer = build(alone([launch(0, 1, 1), kernel("k", 2, 3, correlation=1)]), KernelQuery())
    assert "No kernel was replayed" in answer.missing["graphs"]


@pytest.mark.parametrize(("vendor", "is_said"), [("NVIDIA", True), ("AMD", False)])
def test_how_to_record_dependencies_is_said_of_the_devices_that_have_them(
    vendor: str, is_said: bool
) -> None:
    subject = alone(RUN)
    devices = tuple(structs.replace(one, vendor=vendor) for one in subject.facts.devices)
    facts = structs.replace(subject.facts, devices=devices)
    page = graph_page(structs.replace(subject, facts=facts), GraphQuery("1"))
    assert ("CuspyConfig" in page.missing["dependencies"]) == is_said


def test_the_page_of_a_graph() -> None:
    page = graph_page(alone(RUN), GraphQuery("1"))
    assert plain(page.headline) == (
        "Graph A holds 70.0 % of the kernel time and is idle for 22.2 % of its replays."
    )
    assert plain(page.detail) == (
        "2 replays of 3 nodes, 9.00 µs each in the median;"
        " 4.00 µs idle inside, most of it for launches inside the graph."
    )
    assert [(one.kind, one.name, one.idle_ns, one.count) for one in page.waits] == [
        ("latency", "a", 2_000, 2),
        ("latency", "b", 2_000, 2),
    ]
    assert all(one.inferred for one in page.waits)
    assert [(one.name, one.ns) for one in page.quantiles][::3] == [
        ("min", 9_000), ("median", 9_000), ("max", 9_000),
    ]  # fmt: skip
    assert [(one.dur_ns, one.idle_ns, one.batch) for one in page.replays] == [(9_000, 2_000, 8)] * 2
    assert page.missing.keys() == {"ids", "node_ids", "dependencies", "operators"}
    assert page.capture.state == "none"
    assert "opened alone" in page.capture.text


def test_the_nodes_are_in_their_order() -> None:
    table = node_table(alone(RUN), NodeQuery("1"))
    assert [(row.place, row.name, row.calls, row.total_ns) for row in table.rows] == [
        (1, "a", 2, 8_000), (2, "b", 2, 4_000), (3, "c", 2, 2_000),
    ]  # fmt: skip
    assert [row.idle_ns for row in table.rows] == [0, 1_000, 1_000]
    assert sum(row.ratio for row in table.rows) == pytest.approx(1)
    assert not any(row.lent or row.op for row in table.rows)
    found = node_table(alone(RUN), NodeQuery("1", search="B"))
    assert [row.place for row in found.rows] == [2]
    for column in sorts(NodeRow):
        for ascending in (True, False):
            rows = node_table(alone(RUN), NodeQuery("1", sort_by=column, ascending=ascending)).rows
            assert len(rows) == 3
    longest = node_table(alone(RUN), NodeQuery("1", sort_by="total_ns", limit=1)).rows
    assert [row.name for row in longest] == ["a"]


@pytest.mark.parametrize("key", ["0", "2", "", "x", "-1"])
def test_an_unknown_graph_is_an_error(key: str) -> None:
    with pytest.raises(QueryError, match="no such row"):
        graph_page(alone(RUN), GraphQuery(key))


def test_a_capture_beside_it_lends_its_operators(log: Path) -> None:
    page = graph_page(subject(log), GraphQuery("1"))
    assert (page.capture.state, page.capture.ratio, page.capture.run) == ("lent", 1, "job")
    assert "100 % of the kernel time" in plain(page.capture.text)
    assert [(one.name, one.total_ns) for one in page.ops] == [
        ("op0", 8_000), ("op1", 4_000), ("op2", 2_000),
    ]  # fmt: skip
    assert "operators" not in page.missing
    rows = node_table(subject(log), NodeQuery("1")).rows
    assert [(row.op, row.shapes, row.stack, row.lent) for row in rows] == [
        (f"op{at}", f"[[{at}]]", (f"model.py({at}): layer",), True) for at in range(3)
    ]
    assert node_table(subject(log), NodeQuery("1", search="op1")).count == 1


def test_a_capture_of_something_else_is_refused_with_its_share(log: Path) -> None:
    page = graph_page(subject(log), GraphQuery("1", capture_run="other"))
    assert (page.capture.state, page.capture.matched) == ("refused", 1)
    assert page.capture.ratio == pytest.approx(1 / 7)
    assert "14.3 % of the kernel time of graph A (1 of 3 kernels)" in plain(page.capture.text)
    assert page.missing["operators"] == page.capture.text
    assert page.ops == ()
    rows = node_table(subject(log), NodeQuery("1", capture_run="other")).rows
    assert not any(row.lent or row.op or row.stack for row in rows)
    with pytest.raises(QueryError, match="no such recording"):
        graph_page(subject(log), GraphQuery("1", capture_run="nobody"))


def test_the_command_line_shows_the_nodes_with_the_mark(log: Path) -> None:
    query = KernelQuery(group_by="graph", graph="1")
    answer = build(subject(log), query)
    graphs, nodes, waits, *_ = tables(answer)
    assert [table.title for table in (graphs, nodes, waits)] == [
        "Graphs", "Nodes of graph A", "Idle inside graph A",
    ]  # fmt: skip
    at = {column.key: place for place, column in enumerate(nodes.columns)}
    assert [row[at["op"]] for row in nodes.rows] == ["op0", "op1", "op2"]
    assert {row[at["lent"]] for row in nodes.rows} == {True}
    assert "100 %" in plain(nodes.note)


def test_the_server_keeps_no_answer_that_depends_on_another_file(log: Path) -> None:
    plain_events = [launch(0, 1, 1), kernel("k", 2, 3, correlation=1)]
    write(log / "plain" / "worker0.pt.trace.json", plain_events)
    with facts_catalog(resolve(str(log), None)) as catalog:
        app = create_app(catalog, (VIEW,), "standalone")
        from werkzeug.test import Client

        client = Client(app)

        def ready(address: str) -> Any:
            found = client.get(address)
            return found if found.status_code == 200 else None

        page = wait_for(lambda: ready("/api/view/kernels/graph?key=1&run=job"))
        assert page.json["capture"]["state"] == "lent"
        digest = wait_for(lambda: ready("/api/trace?run=job")).json["digest"]
        lent = client.get(f"/api/view/kernels/table?run=job&digest={digest}")
        assert "immutable" not in lent.headers["Cache-Control"], "operators of another file"
        other = wait_for(lambda: ready("/api/trace?run=plain")).json["digest"]
        kept = wait_for(lambda: ready(f"/api/view/kernels/table?run=plain&digest={other}"))
        asked = client.get(f"/api/view/kernels/graph?key=1&run=job&digest={digest}")
        assert "immutable" in kept.headers["Cache-Control"]
        assert "immutable" not in asked.headers["Cache-Control"]
        whole = client.get(f"/api/view/kernels?graph=1&run=job&digest={digest}")
        assert dict(whole.json or {})["graph"]["capture"]["state"] == "lent"
        assert "immutable" not in whole.headers["Cache-Control"]


@given(
    nodes=st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 9)), min_size=1, max_size=5),
    replays=st.integers(0, 3),
    outside=st.lists(st.tuples(st.sampled_from("abz"), st.integers(0, 9)), max_size=4),
)
@settings(max_examples=25, deadline=None)
def test_all_groupings_have_the_same_sum(
    nodes: list[tuple[str, int]], replays: int, outside: list[tuple[str, int]]
) -> None:
    events = execution(nodes, replays=replays)
    for at, (name, dur) in enumerate(outside):
        events += [launch(500 + at, 1, 50 + at), kernel(name, 600, dur, correlation=50 + at)]
    if not events:
        return
    trace = alone(events)
    sums = {
        group: build(trace, KernelQuery(group_by=group)).table.total_ns  # type: ignore[arg-type]
        for group in (*GROUPINGS, "graph")
    }
    whole = replays * sum(dur for _, dur in nodes) + sum(dur for _, dur in outside)
    assert set(sums.values()) == {whole * 1_000}
    rows = build(trace, KernelQuery(group_by="graph")).table.rows
    assert sum(row.total_ns for row in rows) == whole * 1_000
    held = [row.replays for row in rows if isinstance(row, GraphRow) and row.replays]
    # One kernel for one call is no graph by its name alone where the call is one of a graph.
    assert sum(held) == replays


REAL = (
    "torch2.15_cuspy/node0_4242.1795335000000000000.pt.trace.json.gz",
    "torch2.15_cuspy/node0_4243.1795335000000000000.pt.trace.json.gz",
    "tracelens/inference/sglang_decode/sglang_Qwen3-8B_decode.json.gz",
    "tracelens/inference/vllm_decode_full/graph_execution.json.gz",
)


@requires_traces
@pytest.mark.parametrize("file", REAL)
def test_graphs_and_the_rest_are_all_kernels_of_real_traces(file: str) -> None:
    trace = TraceSession(read(TRACES / file)).seen_by(VIEW)
    answer: Kernels = build(trace, KernelQuery(group_by="graph", graph="1"))
    assert sum(row.total_ns for row in answer.table.rows) == answer.kernel_ns
    assert sum(row.calls for row in answer.table.rows) == answer.table.calls
    page, nodes = answer.graph, answer.nodes
    assert page is not None
    assert nodes is not None
    assert page.row.inside_idle_ns is not None
    everything = node_table(trace, NodeQuery("1", limit=1000)).rows
    assert sum(row.total_ns for row in everything if row.kind == "kernel") == page.row.total_ns
    assert sum(one.idle_ns for one in page.waits) <= page.row.inside_idle_ns
    if page.waits_count == len(page.waits):
        assert sum(one.idle_ns for one in page.waits) == page.row.inside_idle_ns


# --- the operators of replays in other views ------------------------------------------------------


def test_the_table_of_operators_has_those_of_the_capture(log: Path) -> None:
    asked = choose(str(log), Wanted(run="job")).session().seen_by(OPERATORS)
    answer = build_operators(asked, OperatorQuery())
    told = {row.name: (row.calls, row.device_self_ns, row.lent_ratio) for row in answer.table.rows}
    assert told["op0"] == (2, 8_000, 1.0)
    assert told["op2"] == (2, 2_000, 1.0)
    assert told["hipGraphLaunch"] == (2, 0, None)
    assert told["cudaLaunchKernel"] == (1, 6_000, 0.0)
    assert plain(answer.detail).endswith(
        "70.0 % of the device time is in replayed graphs: 100 % of that has its operator from the"
        " recording of the capture."
    )
    assert sum(row.device_self_ns or 0 for row in answer.table.rows) == answer.device_ns


def test_without_a_capture_it_says_how_to_record_one() -> None:
    asked = TraceSession(drawn(RUN)).seen_by(OPERATORS)
    answer = build_operators(asked, OperatorQuery())
    assert "A recording of the capture would name its operators" in answer.detail
    assert "lent_ratio" not in [one.key for one in answer.table.columns]


def test_the_slice_of_a_node_has_its_operator(log: Path) -> None:
    """The host table has the launches and two ranges; the device's slices come behind."""
    asked = choose(str(log), Wanted(run="job")).session().seen_by(TIMELINE)
    timeline = opened_of(asked, "split").timeline
    found: dict[str, set[tuple[str, str, str]]] = {}
    for one in range(len(timeline.slices)):
        told = details(asked, SliceQuery(slice=one)).origin
        if told is not None:
            name = timeline.names[timeline.slices.name[one]]
            found.setdefault(name, set()).add((told.op, told.shapes, told.run))
    assert found == {name: {(f"op{at}", f"[[{at}]]", "job")} for at, name in enumerate(KERNELS)}


CAPTURED = captured(KERNELS, size=8)


def found_below(log: Path) -> dict[str, tuple[list[str], list[str]]]:
    """By run its workers, and the recordings of captures beside it."""
    folder = choose(str(log), Wanted()).folder
    assert folder is not None
    return {
        run.name: ([one.name for one in run.workers], [one.name for one in run.captures])
        for run in folder.catalog.runs
    }


@pytest.mark.parametrize(
    ("file", "run", "worker"),
    [
        ("job/graph_capture_rank_0", "job", "graph_capture_rank_0"),  # in the same folder
        ("job/capture_traces/rank0", "job", "capture_traces/rank0"),  # one below
        ("graph_capture_profile/rank0", "job", "graph_capture_profile/rank0"),  # one beside
        ("graph_capture_profile/tp/rank0", "job", "graph_capture_profile/tp/rank0"),
    ],
)
def test_a_recording_of_a_capture_is_no_run_and_no_rank(
    tmp_path: Path, file: str, run: str, worker: str
) -> None:
    write(tmp_path / "job" / "worker0.pt.trace.json", RUN)
    write(tmp_path / f"{file}.pt.trace.json", CAPTURED)
    assert found_below(tmp_path) == {run: (["worker0"], [worker])}

    def beside(asked: str) -> list[str]:
        session = choose(str(tmp_path), Wanted(run=run, worker=asked)).session()
        return [one.place.worker for one in session.seen_by(OPERATORS).recordings.workers()]

    assert beside("worker0") == ["worker0"]
    assert beside(worker) == [worker]
    answer = build_operators(
        choose(str(tmp_path), Wanted(run=run)).session().seen_by(OPERATORS), OperatorQuery()
    )
    assert "100 % of that has its operator" in plain(answer.detail)


def test_recordings_of_captures_alone_are_a_run(tmp_path: Path) -> None:
    write(tmp_path / "capture_traces" / "worker0.pt.trace.json", CAPTURED)
    write(tmp_path / "motion_capture" / "a" / "worker0.pt.trace.json", RUN)
    assert found_below(tmp_path) == {
        "capture_traces": (["worker0"], []),
        "motion_capture/a": (["worker0"], []),
    }


def test_a_capture_beside_several_runs_is_beside_each(tmp_path: Path) -> None:
    for run in ("a", "b"):
        write(tmp_path / run / "worker0.pt.trace.json", RUN)
    write(tmp_path / "capture_traces" / "worker0.pt.trace.json", CAPTURED)
    assert found_below(tmp_path) == {
        run: (["worker0"], ["capture_traces/worker0"]) for run in ("a", "b")
    }
