"""The Trace view: its manifest, its tables, and what is drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest

from kinetoscope.analysis.summarize import summarize
from kinetoscope.base.errors import NotFoundError, QueryError
from kinetoscope.trace.read import read
from kinetoscope.views.timeline.contract import LayoutName, TimelineManifest
from kinetoscope.views.timeline.queries import LayoutQuery
from kinetoscope.views.timeline.view import VIEW
from tests.analysis.timeline.made import timeline_of
from tests.conftest import TRACES, requires_traces
from tests.drawing import V100, draw, memory
from tests.views.make_frames import decoded
from tests.views.parts import Asked, asked, asked_file

PICTURE = """
    step   |11111111112222222222|
    frame  | ffffffffffffffff   |
    op     | aaaaaaaa  bbb      |
    call   |  l     m           |
    gpu    |    llll   mmmm     |
    """
US = 1000
SAMPLES = Path(__file__).parents[3] / "samples" / "traces"


@pytest.fixture
def view(tmp_path: Path) -> Asked:
    """One thread with frames, one stream, allocations."""
    events = [memory(3, 512, 512), memory(9, -512, 0)]
    return asked(tmp_path, PICTURE, events=events, deviceProperties=[V100])


def test_the_manifest_says_what_there_is(view: Asked) -> None:
    manifest = view.manifest()
    assert (manifest.start_ns, manifest.end_ns) == (0, 20 * US)
    assert manifest.slices == sum(track.slices for track in manifest.tracks) == 9
    assert [track.kind for track in manifest.tracks] == ["thread", "python", "stream"]
    assert [manifest.groups[track.group].kind for track in manifest.tracks] == [
        "process",
        "process",
        "device",
    ]
    counted = {kind.stem: kind.slices for kind in manifest.kinds if kind.slices}
    assert counted == {"annotation": 2, "op": 2, "python": 1, "runtime": 2, "compute": 2}
    assert {kind.label: kind.arrows for kind in manifest.flow_kinds} == {
        "Launch to device activity": 2,
        "Forward op to backward op": 0,
        "Node of a graph to the node that waits for it": 0,
    }
    assert [(step.name, step.ts, step.end) for step in manifest.steps] == [
        ("ProfilerStep#1", 0, 10 * US),
        ("ProfilerStep#2", 10 * US, 20 * US),
    ]
    allocated = next(one for one in manifest.counters if one.kind == "memory")
    assert (allocated.low, allocated.high, allocated.samples) == (0.0, 512.0, 2)
    assert int(manifest.base_ns) == view.trace.base_ns
    assert "stacks" not in manifest.missing
    assert "shapes" in manifest.missing


def test_layouts_differ_in_their_tracks_alone(view: Asked) -> None:
    split, merged = view.manifest(), view.manifest(layout="merged")
    assert (split.layout, merged.layout) == ("split", "merged")
    assert [track.kind for track in merged.tracks] == ["thread", "stream"]
    assert merged.slices == split.slices
    assert merged.tracks[0].lanes == 4  # the step, the frame, ops, calls


def test_a_step_is_as_long_as_everywhere_else(tmp_path: Path) -> None:
    """Its range on the host is drawn; the device works on after it."""
    picture = """
        step |1111111111          |
        call | a                  |
        gpu  |   aaaaaaaaaaaaa    |
        """
    (step,) = asked(tmp_path, picture).manifest().steps
    assert (step.end - step.ts, step.length_ns) == (10_000, 16_000)


@pytest.mark.parametrize("sample", ["", "serving", "compiled", "train_cpu"])
def test_what_is_said_at_once_is_what_is_made(view: Asked, sample: str) -> None:
    if sample:
        view = asked_file(min((SAMPLES / sample).glob("*.pt.trace.json.gz")))
    assert VIEW.at_once is not None
    for layout in get_args(LayoutName):
        query = LayoutQuery(layout=layout)
        assert VIEW.at_once(view.subject, query) == VIEW.build(view.subject, query)


def test_an_iteration_is_named_by_its_phase_and_batch(tmp_path: Path) -> None:
    picture = """
        note |dddddddddd pppppp|
        call | a          b    |
        gpu  |   aaaa      bbb |
        """
    names = {"d": "step[DECODE bs=8]", "p": "step[EXTEND bs=2 toks=64]"}
    steps = asked(tmp_path, picture, names=names).manifest().steps
    assert [one.name for one in steps] == ["decode 8", "prefill 2 · 64 tokens"]


def test_what_was_not_recorded_is_said(tmp_path: Path) -> None:
    missing = asked(tmp_path, "op |aaa|").manifest().missing
    assert missing.keys() == {"steps", "devices", "memory", "stacks", "modules", "shapes"}
    assert all(why.endswith(".") for why in missing.values())


def test_tables_say_it_too(view: Asked) -> None:
    tracks, counters, warnings, *_ = VIEW.tables(view.manifest())
    assert [row[1] for row in tracks.rows] == [
        "Main thread · ops",
        "Main thread · Python",
        "Stream 7 · compute",
    ]
    assert [row[3] for row in tracks.rows] == [6, 1, 2]
    assert len(counters.rows) == len(view.manifest().counters)
    assert any("shapes" in str(row[0]) for row in warnings.rows)


def test_only_without_a_single_slice_there_is_no_view() -> None:
    assert VIEW.unavailable(summarize(draw("op |a|"))) is None
    assert VIEW.unavailable(summarize(draw("gpu |a|"))) is None
    for empty in (draw(""), draw("", events=[memory(3, 512, 512)])):
        reason = VIEW.unavailable(summarize(empty))
        assert reason is not None
        assert "nothing to draw" in reason


# --- what is drawn --------------------------------------------------------------------------------


def blocks_of(manifest: TimelineManifest) -> str:
    """Every block of every track."""
    return ",".join(
        f"{number}.{lane}"
        for number, track in enumerate(manifest.tracks)
        for lane in range(0, track.lanes, manifest.lane_block)
    )


@pytest.mark.parametrize("level", [0, 3, 6, 20])
@pytest.mark.parametrize("layout", ["split", "merged"])
def test_tiles_hold_every_slice_once(view: Asked, level: int, layout: str) -> None:
    manifest = view.manifest(layout=layout)
    tiles = manifest.end_ns // (manifest.tile_buckets << level) + 1
    entries: list[dict[str, Any]] = []
    for first in range(0, tiles, 16):
        last = min(first + 15, tiles - 1)
        frame = view(
            "tiles",
            level=level,
            tiles=f"{first}-{last}",
            blocks=blocks_of(manifest),
            layout=layout,
        )
        entries += decoded(frame)["entries"]
    assert sum(entry["slices"] for entry in entries) == manifest.slices
    dur = view.subject.artifact(layout).timeline.slices.dur
    assert sum(entry["sum_ns"] for entry in entries) == dur.sum()
    seen = {one for entry in entries for one in entry["rects"]["slice"]}
    assert seen <= set(range(manifest.slices))


def test_names_come_in_parts(view: Asked) -> None:
    (entry,) = decoded(view("names"))["entries"]
    names = view.subject.artifact("split").timeline.names
    assert entry == {"first": 0, "texts": list(names)}
    (entry,) = decoded(view("names", first=2, count=2))["entries"]
    assert entry == {"first": 2, "texts": list(names[2:4])}
    (entry,) = decoded(view("names", first=1000))["entries"]
    assert entry["texts"] == []


def test_the_minimap_has_a_row_per_track(view: Asked) -> None:
    entries = decoded(view("minimap", columns=16))["entries"]
    assert [entry["track"] for entry in entries] == [0, 1, 2]
    # 1.25 µs a column; the frame is there from 1 to 17 µs
    expected = [255 * 0.2, *([255] * 12), 255 * 0.6, 0, 0]
    assert entries[1]["busy"] == pytest.approx(expected, abs=1.5)


def test_counters_come_in_tiles(view: Asked) -> None:
    number, _ = next(
        (number, one) for number, one in enumerate(view.manifest().counters) if one.kind == "memory"
    )
    first, second = decoded(view("counters", level=4, tiles="0-1", series=str(number)))["entries"]
    assert (first["held"], first["x"], first["last"]) == (None, [3 * US // 16], [512.0])
    assert (second["held"], second["x"], second["high"]) == (512.0, [9 * US // 16 - 512], [512.0])


@pytest.mark.parametrize(
    ("part", "query", "words"),
    [
        ("tiles", {"level": 0, "tiles": "", "blocks": "0.0"}, "`tiles` is no list"),
        ("tiles", {"level": 0, "tiles": "5-3", "blocks": "0.0"}, "runs backwards"),
        ("tiles", {"level": 0, "tiles": "-1", "blocks": "0.0"}, "`tiles` is no list"),
        ("tiles", {"level": 0, "tiles": "1,", "blocks": "0.0"}, "`tiles` is no list"),
        ("tiles", {"level": 0, "tiles": "0-16", "blocks": "0.0"}, "more than 16"),
        ("tiles", {"level": 0, "tiles": "0-999999999999999", "blocks": "0.0"}, "more than 16"),
        ("tiles", {"level": 54, "tiles": "1", "blocks": "0.0"}, "beyond all time"),
        ("tiles", {"level": 0, "tiles": "9" * 18, "blocks": "0.0"}, "beyond all time"),
        ("tiles", {"level": 0, "tiles": "0", "blocks": "0"}, "`blocks` is no list"),
        ("tiles", {"level": 0, "tiles": "0", "blocks": "0.1"}, "multiple of 16"),
        ("tiles", {"level": 0, "tiles": "0", "blocks": "9.0"}, "no track 9"),
        ("tiles", {"level": 0, "tiles": "0", "blocks": "0.16"}, "no lane 16"),
        (
            "tiles",
            {"level": 0, "tiles": "0", "blocks": ",".join(f"{n}.0" for n in range(65))},
            "more than 64",
        ),
        ("counters", {"level": 0, "tiles": "0", "series": "77"}, "no series 77"),
        ("counters", {"level": 0, "tiles": "0", "series": "0-64"}, "more than 64"),
        ("area", {"start_ns": 5, "end_ns": 5}, "empty"),
        ("rows", {"start_ns": 9, "end_ns": 5}, "empty"),
        ("flame", {"start_ns": 0, "end_ns": 5, "tracks": "7"}, "no track 7"),
        ("search", {"text": "a", "tracks": "x"}, "`tracks` is no list"),
        ("bundles", {"start_ns": 0, "end_ns": 5, "kinds": "3"}, "no kind of arrow 3"),
        ("export", {"start_ns": 5, "end_ns": 0}, "empty"),
    ],
)
def test_what_cannot_be_asked_is_told(
    view: Asked, part: str, query: dict[str, Any], words: str
) -> None:
    with pytest.raises(QueryError, match=words):
        view(part, **query)


@pytest.mark.parametrize("part", ["slice", "flows"])
def test_a_slice_that_is_not_there(view: Asked, part: str) -> None:
    with pytest.raises(NotFoundError, match="no slice 99"):
        view(part, slice=99)
    with pytest.raises(NotFoundError, match="no slice 99"):
        view("move", slice=99, by="lane")


@requires_traces
def test_the_head_of_a_recording_is_told() -> None:
    """The device was on work launched before for 8.37 ms; its utilization begins behind that."""
    trace = read(TRACES / "tracelens/inference/vllm_decode_full/graph_execution.json.gz")
    manifest = Asked(trace).manifest()
    assert manifest.head_ns / 1e6 == pytest.approx(8.371, abs=0.001)
    series = timeline_of(trace).counters
    (utilization,) = [one for one in series if one.kind == "utilization"]
    assert utilization.ts[0] == manifest.head_ns
