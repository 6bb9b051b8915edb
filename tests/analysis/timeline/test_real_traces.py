"""Every collected trace as a timeline: nothing is lost, lanes and tiles are what they say."""

from __future__ import annotations

import random

import numpy as np
import pytest

from kinetoscope.analysis.timeline.model import DEFAULT_LAYOUT, LAYOUTS, FlowKind, Timeline
from kinetoscope.trace.model import Trace
from kinetoscope.trace.raw import COMPLETE
from kinetoscope.trace.scan.scanner import scan
from tests.analysis.timeline.checks import check_layout, check_tile
from tests.analysis.timeline.made import timelines_of
from tests.collected import FILES, opened
from tests.conftest import TRACES, requires_traces

TILES = 12


@requires_traces
@pytest.mark.parametrize("name", FILES)
def test_every_file_as_a_timeline(name: str) -> None:
    trace = opened(name)
    layouts = LAYOUTS if len(trace.host) < 20_000 else (DEFAULT_LAYOUT,)
    timelines = timelines_of(trace, layouts)
    for layout, timeline in timelines.items():
        check_layout(timeline, layout, count_of(trace))
        check_some_tiles(timeline, layout, random.Random(name))
    timeline = timelines[DEFAULT_LAYOUT]
    check_all_events(name, trace, timeline)
    check_columns(trace, timeline)
    check_flows(trace, timeline)
    check_counters(timeline)


def count_of(trace: Trace) -> int:
    tables = (trace.host, trace.device, trace.device_annotations, trace.syncs, trace.ranges)
    return sum(len(table) for table in tables)


def check_all_events(name: str, trace: Trace, timeline: Timeline) -> None:
    """Each X event of the file is a slice, an allocator event, or counted by the health record."""
    raw = timeline.slices.raw
    assert len(np.unique(raw)) == len(raw)
    complete = np.flatnonzero(scan(TRACES / name).events.phase == COMPLETE)
    missing = np.setdiff1d(complete, np.concatenate([raw, trace.memory.raw]))
    reasons = ("event without a time stamp", "event without a believable time")
    assert len(missing) <= sum(trace.health.ignored.get(reason, 0) for reason in reasons)


def check_columns(trace: Trace, timeline: Timeline) -> None:
    slices, tables = timeline.slices, timeline.tables
    names = np.array(timeline.names, object)[slices.name]
    for table, first in (
        (trace.host, tables.host),
        (trace.device, tables.device),
        (trace.device_annotations, tables.device_annotations),
        (trace.syncs, tables.syncs),
        (trace.ranges, tables.ranges),
    ):
        mine = slice(first, first + len(table))
        assert np.array_equal(slices.ts[mine], table.ts)
        assert np.array_equal(slices.dur[mine], table.dur)
        assert np.array_equal(slices.raw[mine], table.raw)
        assert names[mine].tolist() == [trace.strings[code] for code in table.name]
    assert int(slices.self_ns[: tables.device].sum()) == int(trace.host.self_ns.sum())
    index = timeline.index
    assert sorted(index.slices.tolist()) == list(range(len(slices)))
    for code in range(len(timeline.names)):
        ids = index.slices[index.first[code] : index.first[code + 1]]
        assert (slices.name[ids] == code).all()
        assert (np.diff(slices.ts[ids]) >= 0).all()
        assert index.sum_ns[code] == int(slices.dur[ids].sum())


def check_flows(trace: Trace, timeline: Timeline) -> None:
    flows, tables = timeline.flows, timeline.tables
    assert (np.diff(flows.source) >= 0).all()
    assert (np.diff(flows.target[flows.by_target]) >= 0).all()
    launched = flows.kind == FlowKind.LAUNCH
    linked = (trace.device.launch >= 0) | (trace.device.op >= 0)
    assert np.array_equal(np.sort(flows.target[launched]) - tables.device, np.flatnonzero(linked))
    to_backward = flows.kind == FlowKind.BACKWARD
    backward = flows.target[to_backward]
    assert (trace.host.forward[backward] == flows.source[to_backward]).all()


def check_counters(timeline: Timeline) -> None:
    for one in timeline.counters:
        assert (np.diff(one.ts) >= 0).all()
        assert np.isfinite(one.value).all()
        assert 0 <= one.group < len(timeline.groups)
        assert one.unit != "ratio" or ((one.value >= 0) & (one.value <= 1 + 1e-9)).all()
        for level in one.levels.values():
            assert level.high.max() == one.value.max()
            assert level.low.min() == one.value.min()


def check_some_tiles(timeline: Timeline, layout: str, chance: random.Random) -> None:
    tracks = timeline.layouts[layout].tracks
    for _ in range(TILES if tracks else 0):
        level = chance.randrange(0, max(timeline.end_ns, 1).bit_length() + 2)
        tile = chance.randrange(0, (timeline.end_ns >> (level + 9)) + 2)
        check_tile(timeline, layout, level, tile, chance.randrange(len(tracks)))
