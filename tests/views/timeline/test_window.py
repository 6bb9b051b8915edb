"""Areas, searches, rows and call trees as the page gets them; a window as a trace of its own."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from kinetoscope.trace.raw import KINDS
from kinetoscope.trace.read import read
from tests.drawing import memory
from tests.views.parts import Asked, asked, asked_file

US = 1000
PICTURE = """
    step   |11111111112222222222|
    frame  | ffffffffffffffff   |
    op     |  aaaaaa   b        |
    call   |   l k     n        |
    op2    |            cccc    |
    gpu    |     llkkk   nn     |
    """
ARGS: dict[str, dict[str, Any]] = {
    "a": {"Sequence number": 5, "note": "kept \u00e9"},
    "c": {"Sequence number": 5, "Fwd thread id": 1},
}


@pytest.fixture
def view(tmp_path: Path) -> Asked:
    """Two threads, a stream, allocations."""
    events = [memory(3, 512, 512), memory(14, -512, 0)]
    return asked(tmp_path, PICTURE, args=ARGS, events=events, host_name="node-a")


def test_an_area_is_a_table_by_name(view: Asked) -> None:
    area = view("area", start_ns=4 * US, end_ns=9 * US)
    rows = {row.text: row for row in area.rows}
    op = rows["aten::a"]
    assert (op.count, op.total_ns, op.self_ns) == (1, 4 * US, 3 * US)
    assert op.share == pytest.approx(4 / 5)
    assert op.mean_ns == 4 * US
    assert (area.slices, area.row_count) == (sum(r.count for r in area.rows), len(area.rows))
    assert area.total_ns == sum(row.total_ns for row in area.rows)
    assert [row.total_ns for row in area.rows] == sorted(
        (row.total_ns for row in area.rows), reverse=True
    )
    (device,) = area.devices
    assert (device.busy_ns, device.idle_ns) == (4 * US, US)
    allocated = next(one for one in area.counters if one.unit == "bytes")
    assert (allocated.low, allocated.high, allocated.delta) == (512, 512, 0)


def test_an_area_may_be_cut_short(view: Asked) -> None:
    area = view("area", start_ns=0, end_ns=20 * US, limit=2)
    assert len(area.rows) == 2
    assert area.row_count > 2


def test_without_a_device_the_reason_is_told(tmp_path: Path) -> None:
    area = asked(tmp_path, "op |aaa|")("area", start_ns=0, end_ns=3 * US)
    assert area.devices == ()
    assert "No device activity" in area.devices_missing


def test_before_the_first_sample_a_series_has_no_value(view: Asked) -> None:
    area = view("area", start_ns=0, end_ns=2 * US)
    allocated = next(one for one in area.counters if one.unit == "bytes")
    assert allocated.low is allocated.mean is None


def test_a_search_says_what_where_and_how_often(view: Asked) -> None:
    found = view("search", text="KERNEL_", columns=20)
    assert {hit.text: hit.slices for hit in found.names} == {
        "kernel_l": 1,
        "kernel_k": 1,
        "kernel_n": 1,
    }
    assert (found.name_count, found.slices, found.total_ns) == (3, 3, 7 * US)
    assert len(found.codes) == 3
    assert [at for at, n in enumerate(found.density) if n] == [5, 7, 13]
    stream = [n for n, track in enumerate(view.manifest().tracks) if track.kind == "stream"]
    assert found.tracks == {str(stream[0]): 3}
    assert found.problem == ""


def test_no_expression_is_told_while_somebody_types(view: Asked) -> None:
    found = view("search", text="kernel_(", mode="regex")
    assert found.problem == "no regular expression: missing ): kernel_("
    assert (found.slices, found.names, set(found.density)) == (0, (), {0})


def test_rows_come_in_windows(view: Asked) -> None:
    whole = view("rows", start_ns=0, end_ns=20 * US, sort="-dur")
    assert whole.count == len(whole.rows) == view.manifest().slices
    window = view("rows", start_ns=0, end_ns=20 * US, sort="-dur", offset=2, limit=3)
    assert window.rows == whole.rows[2:5]
    assert (window.offset, window.count) == (2, whole.count)
    last = whole.rows[-1]
    manifest = view.manifest()
    assert manifest.tracks[last.track].kind in {"thread", "stream", "python"}
    assert last.step in {0, 1, -1}


def test_a_call_tree_sums_to_its_roots(view: Asked) -> None:
    flame = view("flame", start_ns=0, end_ns=20 * US, min_share=0)
    roots = [node for node in flame.nodes if node.parent < 0]
    assert flame.total == sum(node.value for node in roots)
    assert flame.total == sum(node.self_value for node in flame.nodes)
    assert flame.unit == "ns"
    assert view("flame", start_ns=0, end_ns=20 * US, metric="count").unit == "count"


@pytest.mark.parametrize("metric", ["total", "count"])
def test_folded_stacks_of_an_area_hold_its_call_tree(view: Asked, metric: str) -> None:
    area = {"start_ns": 3 * US, "end_ns": 9 * US, "metric": metric}
    lines = view("folded", **area).decode().splitlines()
    assert all(" " in line and not line.startswith(";") for line in lines)
    total = sum(int(line.rsplit(" ", 1)[1]) for line in lines)
    assert total == view("flame", **area, min_share=0.1).total > 0


def test_arrows_name_their_ends(view: Asked) -> None:
    op = view.find("aten::a")
    (arrow,) = view("flows", slice=op).arrows
    assert (arrow.source.name, arrow.target.name) == ("aten::a", "aten::c")
    every = view("bundles", start_ns=0, end_ns=20 * US, columns=4096)
    assert every.count == sum(one.count for one in every.arrows) == 4


# --- a window as a trace --------------------------------------------------------------------------


def exported(view: Asked, folder: Path, **query: Any) -> tuple[dict[str, Any], Asked]:
    """The document of an excerpt, and what the reader makes of it."""
    path = folder / "excerpt.pt.trace.json.gz"
    path.write_bytes(view("export", **query))
    document: dict[str, Any] = json.loads(gzip.decompress(path.read_bytes()))
    return document, asked_file(path)


def names_of(document: dict[str, Any], phase: str = "X") -> list[str]:
    """Names of the events of a phase."""
    return sorted(event["name"] for event in document["traceEvents"] if event["ph"] == phase)


def test_what_touches_the_window_goes_along_whole(view: Asked, tmp_path: Path) -> None:
    document, excerpt = exported(view, tmp_path, start_ns=4 * US, end_ns=7 * US)
    assert names_of(document) == [
        "ProfilerStep#1",
        "aten::a",
        "cudaLaunchKernel",
        "kernel_l",
        "train.py(1): f",
    ]
    (op,) = [event for event in document["traceEvents"] if event["name"] == "aten::a"]
    assert (op["ts"], op["dur"]) == (2, 6)
    assert op["args"] == {"Sequence number": 5, "note": "kept \u00e9"}
    assert document["host_name"] == "node-a"
    assert document["excerpt"] == {
        "of": "worker0.pt.trace.json",
        "start_ns": 4 * US,
        "end_ns": 7 * US,
        "slices": 5,
    }
    assert not excerpt.trace.health.costly or excerpt.manifest().slices == 5


def test_the_whole_window_is_the_trace_again(view: Asked, tmp_path: Path) -> None:
    document, excerpt = exported(view, tmp_path, start_ns=0, end_ns=20 * US + 1)
    assert names_of(document, "i") == ["[memory]", "[memory]"]
    again, before = excerpt.manifest(), view.manifest()
    assert again.slices == before.slices
    assert again.flow_kinds == before.flow_kinds
    assert [(t.key, t.slices, t.busy_ns, t.lanes) for t in again.tracks] == [
        (t.key, t.slices, t.busy_ns, t.lanes) for t in before.tracks
    ]
    assert [(c.key, c.samples, c.high) for c in again.counters] == [
        (c.key, c.samples, c.high) for c in before.counters
    ]


def test_arrows_go_along_where_both_ends_do(view: Asked, tmp_path: Path) -> None:
    document, _ = exported(view, tmp_path, start_ns=0, end_ns=20 * US)
    starts = [event for event in document["traceEvents"] if event["ph"] == "s"]
    ends = [event for event in document["traceEvents"] if event["ph"] == "f"]
    assert len(starts) == len(ends) == 4
    assert {event["name"] for event in starts} == {"ac2g", "fwdbwd"}
    assert sorted(event["id"] for event in starts) == sorted(event["id"] for event in ends)
    places = {
        (event["pid"], event["tid"], event["ts"])
        for event in document["traceEvents"]
        if event["ph"] == "X"
    }
    assert {(event["pid"], event["tid"], event["ts"]) for event in starts + ends} <= places
    half, _ = exported(view, tmp_path, start_ns=3 * US, end_ns=6 * US)  # k's kernel is later
    assert len([event for event in half["traceEvents"] if event["ph"] == "s"]) == 1


def test_tracks_are_chosen(view: Asked, tmp_path: Path) -> None:
    tracks = view.manifest().tracks
    stream = next(n for n, track in enumerate(tracks) if track.kind == "stream")
    document, _ = exported(view, tmp_path, start_ns=0, end_ns=20 * US, tracks=str(stream))
    assert names_of(document) == ["kernel_k", "kernel_l", "kernel_n"]
    assert names_of(document, "i") == []


def test_names_of_threads_go_along_wherever_they_are(tmp_path: Path) -> None:
    def name(tid: int, text: str) -> dict[str, Any]:
        return {"ph": "M", "name": "thread_name", "pid": 100, "tid": tid, "args": {"name": text}}

    view = asked(tmp_path, "op |aaa bbb|", events=[name(1, "first"), name(2, "second")])
    document, _ = exported(view, tmp_path, start_ns=0, end_ns=US)
    assert names_of(document, "M") == ["thread_name", "thread_name"]
    assert names_of(document) == ["aten::a"]


def test_every_digit_stays(tmp_path: Path) -> None:
    path = tmp_path / "x.pt.trace.json"
    event = '{"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1,'
    first = event + ' "ts": 1712195495519689.047, "dur": 0.1, "args": {"f": 1.50e-7}}'
    second = event + ' "ts": 1712195495519689.147, "dur": 2.005}'
    path.write_text(f'{{"traceEvents": [\n{first},\n{second}\n]}}')
    view = asked_file(path)
    text = gzip.decompress(view("export", start_ns=0, end_ns=5000)).decode()
    assert first in text
    assert second in text


def test_two_events_of_one_range_become_one(tmp_path: Path) -> None:
    common = {"cat": "cpu_op", "name": "a", "pid": 1, "tid": 1}
    begin, end = {"ph": "B", "ts": 1.5, **common}, {"ph": "E", "ts": 4.75, **common}
    view = asked(tmp_path, "op |x|", events=[begin, end])
    document, excerpt = exported(view, tmp_path, start_ns=0, end_ns=9 * US)
    assert names_of(document) == ["a", "aten::x"]
    (whole,) = [event for event in document["traceEvents"] if event["name"] == "a"]
    assert (whole["ts"], whole["dur"]) == (1.5, 3.25)
    assert names_of(document, "B") == names_of(document, "E") == []
    assert excerpt.manifest().slices == 2


def test_a_repaired_event_is_written_as_it_was_read(tmp_path: Path) -> None:
    path = tmp_path / "x.pt.trace.json"
    whole = '{"ph": "X", "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 2, "args": {"v": 7}}'
    broken = '{"ph": "X", "name": "b", "pid": 1, "tid": 1, "ts": 4, "dur": 2, "args": {"v": NaN}}'
    path.write_text(f'{{"traceEvents": [{whole}, {broken}]}}')
    document, excerpt = exported(asked_file(path), tmp_path, start_ns=0, end_ns=9 * US)
    assert names_of(document) == ["a", "b"]
    assert excerpt.trace.health.repaired == 0


@pytest.mark.parametrize(
    "odd",
    [
        '"name": "say "hello"", "ts": 5, "dur": 05',
        '"name": "n", "ts": 005.5, "dur": +2.',
        '"name": "n", "ts": 5, "dur": .5',
        '"name": "n", "ts": 5, "dur": 2, "args": {"loss": NaN, "grid": [01, -Infinity, 1,], }',
        '"name": "a\tb\nc", "ts": 5, "dur": 2',
        '"name": "C:\\new\\x", "ts": 5, "dur": 2',
        '"name": "half \\ud83d", "ts": 5, "dur": 2',
        '"name": "n", "ts": 5, "dur": 2, // two\n "args": {}',
        'name": "n", "ts": 5, "dur": 2,',
        '"name": "n", "ts": 5, "dur": 2, "args": {"huge": 1e999, "long": ' + "9" * 500 + "}",
        '"name": "n", "ts": 5, "dur": 2, "args": {"deep": ' + "[" * 60 + "]" * 60 + ', "x": 01}',
    ],
)
@pytest.mark.parametrize("cut", [False, True])
def test_what_was_repaired_is_exported_as_json_that_means_the_same(
    tmp_path: Path, odd: str, cut: bool
) -> None:
    sound = '{"ph": "X", "cat": "cpu_op", "name": "b", "pid": 1, "tid": 1, "ts": 1, "dur": 2}'
    text = '{"traceEvents": [' + sound + ',{"ph": "X", "cat": "cpu_op", "pid": 1, "tid": 1, '
    text += odd + "}," + sound.replace('"ts": 1', '"ts": 8') + ('{"ph": "X", "na' if cut else "]}")
    path = tmp_path / "worker0.pt.trace.json"
    path.write_text(text)
    document, excerpt = exported(asked_file(path), tmp_path, start_ns=0, end_ns=20 * US)
    assert len(document["traceEvents"]) == 3
    first, again = read(path), excerpt.subject.trace()
    for column in ("ts", "dur"):
        assert getattr(first.host, column).tolist() == getattr(again.host, column).tolist()
    assert [first.strings[code] for code in first.host.name] == [
        again.strings[code] for code in again.host.name
    ]
    assert {note.kind for note in again.health.notes if note.kind in KINDS} == set()


def test_the_name_says_what_it_is(view: Asked) -> None:
    from kinetoscope.views.timeline.queries import ExportQuery
    from kinetoscope.views.timeline.view import VIEW

    (part,) = [part for part in VIEW.parts if part.stem == "export"]
    assert part.file is not None
    query = ExportQuery(start_ns=1_500_000, end_ns=20_000_000)
    assert part.file(view.subject, query) == "worker0_1-20ms.pt.trace.json.gz"


def test_an_excerpt_of_an_excerpt_is_one(view: Asked, tmp_path: Path) -> None:
    _, once = exported(view, tmp_path, start_ns=0, end_ns=20 * US)
    first = (tmp_path / "excerpt.pt.trace.json.gz").read_bytes()
    kept = tmp_path / "kept.pt.trace.json.gz"
    kept.write_bytes(first)
    twice = asked_file(kept)
    text = gzip.decompress(twice("export", start_ns=0, end_ns=20 * US))
    events = [json.loads(text)["traceEvents"], json.loads(gzip.decompress(first))["traceEvents"]]
    assert len(events[0]) == len(events[1])
    assert once.manifest().slices == twice.manifest().slices
    assert read(kept).health.events == len(events[1])
