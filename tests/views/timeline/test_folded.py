"""Everything the Trace view does, on streams of graphs that are folded."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kinetoscope.analysis.timeline.model import VARIANTS
from tests.conftest import TRACES, requires_traces
from tests.drawing import trace_of
from tests.views.parts import Asked, asked

US = 1000
FIRST_STREAM = 1000  # of those that are made up; the recorder's own stay below
_GRAPH = 77
_WORK = ("kernel", "gpu_memcpy", "gpu_memset")
# What a graph replays: a and b at once on two streams, r and h behind them.
PICTURE = """
    op     |oooooooooooooooo|
    call   |G               |
    gpu.7  |   aaaa         |
    gpu.29 |    bbbb        |
    gpu.35 |         rr     |
    copy.41|            hh  |
    """
NAMES = {"r": "ncclDevKernel_AllReduce_Sum", "call G": "cudaGraphLaunch"}


def node(number: int) -> dict[str, Any]:
    return {"graph id": 3, "graph node id": number}


@pytest.fixture
def view(tmp_path: Path) -> Asked:
    args = {letter: node(number) for number, letter in enumerate("abrh", 1)}
    args["b"] |= {"original_stream": 5, "annotated_stream": 12}
    return asked(tmp_path, PICTURE, names=NAMES, args=args)


def rows(view: Asked, layout: str) -> dict[int, str]:
    """Labels of the tracks by number."""
    return {n: one.label for n, one in enumerate(view.manifest(layout=layout).tracks)}


def test_the_manifest_says_what_can_be_folded_and_what_is(view: Asked) -> None:
    usual, folded = view.manifest(), view.manifest(layout="user-folded")
    assert (usual.graph_streams, usual.is_folded, usual.layout) == (4, False, "split")
    assert (folded.graph_streams, folded.is_folded, folded.layout) == (4, True, "user-folded")
    assert [track.label for track in folded.tracks if track.kind == "graph"] == [
        "Graphs · compute",
        "Graphs · all_reduce",
        "Graphs · copies HtoD",
    ]
    assert sum(track.slices for track in folded.tracks) == folded.slices == usual.slices
    assert any("Replayed graphs ran on 4\u00a0streams" in text for text in folded.warnings)


def test_search_and_moves_go_by_the_folded_rows(view: Asked) -> None:
    found = view("search", text="kernel", mode="text", layout="split-folded")
    labels = rows(view, "split-folded")
    assert {labels[int(track)]: hits for track, hits in found.tracks.items()} == {
        "Graphs · compute": 2,
        "Graphs · all_reduce": 1,  # ncclDevKernel
    }
    one = view("slice", slice=view.find("kernel_b"), layout="split-folded")
    assert (labels[one.slice.track], one.slice.lane) == ("Graphs · compute", 1)
    assert one.stream == "stream 5, drawn on lane 29, captured as stream 12"
    same = view("slice", slice=view.find("kernel_a"), layout="split-recorded")
    assert (rows(view, "split-recorded")[same.slice.track], same.stream) == (
        "Stream 7 · compute",
        "",
    )
    assert view("slice", slice=view.find("kernel_a"), layout="split-folded").stream == "stream 7"


def test_an_area_of_folded_rows_sums_them_and_the_device_stays_what_it_was(view: Asked) -> None:
    labels = rows(view, "split-folded")
    compute = next(n for n, label in labels.items() if label == "Graphs · compute")
    window = {"start_ns": 0, "end_ns": 16 * US}
    area = view("area", **window, tracks=str(compute), layout="split-folded")
    assert [(one.text, one.total_ns) for one in area.rows] == [
        ("kernel_a", 4 * US),
        ("kernel_b", 4 * US),
    ]
    both = [view("area", **window, layout=f"split-{how}").devices for how in ("folded", "recorded")]
    assert both[0] == both[1]
    assert (both[0][0].busy_ns, both[0][0].compute_ns) == (9 * US, 5 * US)
    trees = [view("flame", **window, layout=f"split-{how}") for how in ("folded", "recorded")]
    assert trees[0] == trees[1]


def test_arrows_end_in_folded_rows(tmp_path: Path) -> None:
    view = asked(tmp_path, "call |l  |\ngpu |  l|", args={"l": {"graph id": 3}})
    found = view("flows", slice=view.find("kernel_l"), layout="split-folded")
    labels = rows(view, "split-folded")
    assert [labels[one.target.track] for one in found.arrows] == ["Graphs · compute"]
    window = {"start_ns": 0, "end_ns": 16 * US}
    bundles = view("bundles", **window, layout="split-folded")
    assert [labels[one.target.track] for one in bundles.arrows] == ["Graphs · compute"]


def test_an_excerpt_of_folded_rows_is_what_was_recorded(view: Asked) -> None:
    labels = rows(view, "split-folded")
    compute = next(n for n, label in labels.items() if label == "Graphs · compute")
    window = {"start_ns": 0, "end_ns": 16 * US, "tracks": str(compute)}
    document = json.loads(gzip.decompress(view("export", **window, layout="split-folded")))
    ranges = [one for one in document["traceEvents"] if one["ph"] == "X"]
    assert [(one["name"], one["tid"]) for one in ranges] == [("kernel_a", 7), ("kernel_b", 29)]


@requires_traces
@pytest.mark.parametrize(
    "name", ["vllm_decode_full/graph_execution", "sglang_decode/sglang_Qwen3-8B_decode"]
)
def test_a_real_graph_on_300_streams_takes_a_few_rows(name: str) -> None:
    file = TRACES / "tracelens" / "inference" / f"{name}.json.gz"
    document = json.loads(gzip.decompress(file.read_bytes()))
    nodes = spread(document, 300)
    view = Asked(trace_of(document["traceEvents"]))
    usual, recorded = view.manifest(), view.manifest(layout="split-recorded")
    assert (usual.is_folded, usual.graph_streams) == (True, 300)
    of_graphs = [track for track in usual.tracks if track.kind == "graph"]
    assert sum(track.slices for track in of_graphs) == nodes
    assert len(of_graphs) <= 4
    assert sum(track.lanes for track in of_graphs) <= 4
    streams = [track for track in recorded.tracks if track.kind == "stream"]
    assert len(streams) > 300 >= 50 * len(of_graphs)
    assert sum(track.busy_ns for track in streams) == sum(
        track.busy_ns for track in usual.tracks if track.kind in ("stream", "graph")
    ), "one at a time in this recording: times are untouched"


def test_every_layout_has_a_name_that_can_be_asked_for(view: Asked) -> None:
    for name in VARIANTS:
        assert view.manifest(layout=name).layout == name


def spread(document: dict[str, Any], streams: int) -> int:
    """Move the nodes of all replays to so many streams; how many nodes there are.

    A node gets the ids that CUPTI gives one, so that it is known again in the next replay. Arrows
    move with their ends.
    """
    events = document["traceEvents"]
    launches = {
        event["args"]["correlation"]
        for event in events
        if "GraphLaunch" in event.get("name", "") and "correlation" in event.get("args", {})
    }
    nodes = [
        event
        for event in events
        if event.get("cat") in _WORK and event["args"].get("correlation") in launches
    ]
    nodes.sort(key=lambda event: float(event["ts"]))
    place: Counter[int] = Counter()
    moved: dict[tuple[Any, str], int] = {}
    used: dict[tuple[Any, int], None] = {}
    for event in nodes:
        turn = place[event["args"]["correlation"]]
        place[event["args"]["correlation"]] += 1
        stream = FIRST_STREAM + turn % streams
        moved[event["args"]["correlation"], str(event["ts"])] = stream
        used[event["pid"], stream] = None
        event["tid"] = stream
        event["args"] |= {"stream": stream, "graph id": _GRAPH, "graph node id": turn + 1}
    for event in events:
        if event.get("ph") == "f" and (event.get("id"), str(event["ts"])) in moved:
            event["tid"] = moved[event["id"], str(event["ts"])]
    events += [
        {"ph": "M", "name": "thread_name", "pid": pid, "tid": stream, "ts": 0}
        | {"args": {"name": f"stream {stream}"}}
        for pid, stream in used
    ]
    return len(nodes)
