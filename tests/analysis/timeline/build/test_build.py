"""What lies on disk, and what is opened of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kinetoscope.analysis.timeline.build import names
from kinetoscope.analysis.timeline.build.artifact import make, open_timeline
from kinetoscope.analysis.timeline.model import LAYOUTS, FlowKind, SliceFlag, Timeline
from kinetoscope.base.columnar import DamagedError
from kinetoscope.base.columns import narrowest
from kinetoscope.trace.model import Trace
from tests.analysis.timeline.made import timeline_of
from tests.drawing import PID, draw

PICTURE = """
    step   |11111112222222|
    op     | aaaa    ddd  |
    op     |  b           |
    call   |   l      m   |
    gpu    |     ll    mm |
"""


def made(folder: Path, trace: Trace, variant: str) -> Path:
    place = folder / f"timeline-{variant}"
    place.mkdir()
    make(trace, place, lambda _: None, variant)
    return place


def named(timeline: Timeline, name: str) -> int:
    """The only slice of a name."""
    code = timeline.names.index(name)
    (found,) = timeline.index.slices[timeline.index.first[code] : timeline.index.first[code + 1]]
    return int(found)


def test_columns_of_a_drawn_trace() -> None:
    timeline = timeline_of(draw(PICTURE))
    slices = timeline.slices
    a, b, kernel = (named(timeline, name) for name in ("aten::a", "aten::b", "kernel_l"))
    assert (slices.ts[b], slices.dur[b], slices.parent[b]) == (2000, 1000, a)
    assert slices.self_ns[[a, kernel]].tolist() == [2000, 2000]
    assert slices.step[[a, b, kernel, named(timeline, "aten::d")]].tolist() == [0, 0, 0, 1]
    assert slices.flags[a] & SliceFlag.CHILDREN
    assert not slices.flags[b] & SliceFlag.CHILDREN
    assert [(one.index, one.name, one.ts, one.end) for one in timeline.steps] == [
        (0, "ProfilerStep#1", 0, 7000),
        (1, "ProfilerStep#2", 7000, 14000),
    ]
    assert (timeline.start_ns, timeline.end_ns, timeline.events) == (0, 14000, 9)


def test_arrows_from_launches_and_from_forward_to_backward() -> None:
    forward = {"ph": "s", "cat": "fwdbwd", "name": "fwdbwd", "id": 9, "pid": PID, "tid": 1, "ts": 1}
    trace = draw(PICTURE, events=[forward, forward | {"ph": "f", "bp": "e", "ts": 9}])
    timeline = timeline_of(trace)
    flows = timeline.flows
    name = [timeline.names[code] for code in timeline.slices.name]
    arrows = {
        (name[source], name[target], FlowKind(kind))
        for source, target, kind in zip(flows.source, flows.target, flows.kind, strict=True)
    }
    assert arrows == {
        ("cudaLaunchKernel", "kernel_l", FlowKind.LAUNCH),
        ("cudaLaunchKernel", "kernel_m", FlowKind.LAUNCH),
        ("aten::a", "aten::d", FlowKind.BACKWARD),
    }
    ends = np.unique(np.concatenate([flows.source, flows.target]))
    assert np.array_equal(np.flatnonzero(timeline.slices.flags & SliceFlag.FLOW), ends)


def test_a_range_that_never_ended_is_flagged() -> None:
    begin = {"ph": "B", "cat": "cpu_op", "name": "open", "pid": PID, "tid": 1, "ts": 3}
    timeline = timeline_of(draw("op |aaaaaaaa|", events=[begin]))
    flagged = np.flatnonzero(timeline.slices.flags & SliceFlag.INCOMPLETE)
    assert [timeline.names[code] for code in timeline.slices.name[flagged]] == ["open"]


def test_without_marked_steps_there_is_no_ruler() -> None:
    timeline = timeline_of(draw("op |aaa|"))
    assert timeline.steps == ()
    assert timeline.slices.step.tolist() == [-1]


def test_what_cannot_be_drawn_is_said() -> None:
    trace = draw(
        "op |aaa|",
        events=[
            {
                "ph": "X",
                "cat": "cpu_op",
                "name": "instant",
                "pid": PID,
                "tid": 1,
                "ts": 1,
                "dur": 0,
            },
            {"ph": "X", "cat": "cpu_op", "name": "never", "pid": PID, "tid": 1, "dur": 1},
            {"ph": "b", "cat": "x", "name": "async", "id": 1, "pid": PID, "tid": 1, "ts": 1},
        ],
    )
    warnings = " ".join(timeline_of(trace).warnings).replace("\xa0", " ")
    assert "1 slice with zero duration" in warnings
    # What was not used at all is told by Health, kind by kind.
    assert "Not drawn" not in warnings
    assert {"event without a time stamp", "asynchronous range"} <= trace.health.ignored.keys()


def test_layouts_share_the_slices(tmp_path: Path) -> None:
    trace = draw(PICTURE)
    split = made(tmp_path, trace, "split")
    merged = made(tmp_path, trace, "merged")
    assert not (merged / "slices.ts.plain").exists()
    both = [open_timeline(folder) for folder in (split, merged)]
    assert [list(one.layouts) for one in both] == [["split"], ["merged"]]
    assert np.array_equal(both[0].slices.ts, both[1].slices.ts)
    with pytest.raises(ValueError, match="no layout round"):
        make(trace, tmp_path, lambda _: None, "round")


def test_progress_rises_to_the_end(tmp_path: Path) -> None:
    for variant in LAYOUTS:
        told: list[float] = []
        folder = tmp_path / f"timeline-{variant}"
        folder.mkdir()
        make(draw(PICTURE), folder, told.append, variant)
        assert told == sorted(told)
        assert told[-1] == 1.0


def test_a_damaged_folder_is_an_error_that_the_store_understands(tmp_path: Path) -> None:
    folder = made(tmp_path, draw(PICTURE), "split")
    (folder / "slices.ts.plain").write_bytes(b"nothing")
    with pytest.raises(DamagedError):
        open_timeline(folder)
    (folder / "timeline.json").unlink()
    with pytest.raises(DamagedError, match="timeline"):
        open_timeline(folder)


def test_columns_are_read_only() -> None:
    timeline = timeline_of(draw(PICTURE))
    with pytest.raises(ValueError, match="read-only"):
        timeline.slices.ts[0] = 1


def test_sums_by_name_are_stored_for_very_many_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names, "STORED_FROM", 1)
    timeline = timeline_of(draw(PICTURE))
    slices, layout = timeline.slices, timeline.layouts["split"]
    shape = len(timeline.names), len(layout.tracks)
    track_of_lane = names.track_of_lanes([track.lanes for track in layout.tracks])
    expected = names.by_track(slices.name, slices.dur, layout.lane, track_of_lane, shape)
    assert layout.by_track is not None
    assert layout.by_track.counts.tolist() == expected.counts.tolist()
    assert layout.by_track.totals.tolist() == expected.totals.tolist()
    assert timeline.index.by_column is not None
    assert timeline.index.by_column.shape == (shape[0], names.SEARCH_COLUMNS)
    assert timeline.index.by_column.sum() == len(slices)


@pytest.mark.parametrize(
    ("most", "dtype"), [(0, "uint16"), (65535, "uint16"), (65536, "uint32"), (1 << 32, "int64")]
)
def test_numbers_are_as_narrow_as_they_can_be(most: int, dtype: str) -> None:
    found = narrowest(np.array([0, most]))
    assert (str(found.dtype), found.tolist()) == (dtype, [0, most])
