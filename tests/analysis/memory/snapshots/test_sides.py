"""Two snapshots in the Memory view: the same sites as on the command line, and their steps."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kinetoscope.analysis.memory.artifact import memory_of
from kinetoscope.analysis.memory.model import MemoryColumns
from kinetoscope.analysis.memory.snapshots.changes import changes_between, site_changes
from kinetoscope.analysis.memory.snapshots.sides import over_steps, side_of
from kinetoscope.trace.pickles.snapshot import read_snapshot
from kinetoscope.trace.read import read
from tests.analysis.memory.snapshots.test_columns import (
    ADAM,
    DRAWN,
    LATER,
    MODEL,
    PIECES,
    TRAIN,
    B,
    stored,
)
from tests.conftest import TRACES, requires_traces
from tests.trace.pickles.drawn_snapshot import MIB, block, event, segment, snapshot


def test_bytes_lifetimes_and_allocations_of_each_site(tmp_path: Path) -> None:
    columns = memory_of(read(stored(tmp_path, DRAWN)))
    side = side_of(columns, columns.devices[0])
    assert side.peak_bytes == 15 * MIB
    forward = ("/home/me/model.py(31): forward", "/home/me/train.py(9): main")
    main = ("/home/me/train.py(9): main",)
    assert {one.frames: (one.size // MIB, one.count) for one in side.sites} == {
        forward: (8, 1),
        main: (2, 1),
        (): (5, 2),
    }
    assert side.lifetime_ns == {forward: 2000}
    assert (side.allocations[forward], side.allocations[main], side.allocations[()]) == (1, 1, 0)


def test_each_step_is_as_wide_as_any_other(tmp_path: Path) -> None:
    marks = [
        {"stage": stage, "name": f"ProfilerStep#{step}", "device": 0, "time_us": time}
        for step, start, end in ((1, 1001, 1003), (2, 1003, 1203))
        for stage, time in (("START", start), ("END", end))
    ]
    events = (
        event("alloc", B, MIB, 1002, MODEL),
        event("free_completed", B, MIB, 1103),
        event("snapshot", 0, 0, 1203),
    )
    root = snapshot(*events, external_annotations=marks)
    columns = memory_of(read(stored(tmp_path, root)))
    found = over_steps(columns, columns.devices[0])
    assert found.steps == 2
    changes = np.flatnonzero(np.diff(found.bytes)) + 1
    assert found.at[changes].tolist() == [0.5, 1.5]
    assert found.bytes[changes].tolist() == [MIB, 0]


def differences(before: MemoryColumns, after: MemoryColumns) -> list[tuple[object, ...]]:
    sides = side_of(before, before.devices[0]), side_of(after, after.devices[0])
    found = changes_between(sides[0].sites, sides[1].sites)
    assert sum(one.difference for one in found) == sides[1].peak_bytes - sides[0].peak_bytes
    return sorted((one.frames, one.before, one.after, one.change) for one in found)


def test_the_page_and_the_command_line_say_the_same(tmp_path: Path) -> None:
    grown = segment(1 << 33, block(9 * MIB, "active_allocated", ADAM, TRAIN))
    files = [
        stored(tmp_path, DRAWN, "a.pickle"),
        stored(tmp_path, snapshot(segments=(PIECES, LATER, grown)), "b.pickle"),
    ]
    alone = site_changes(read_snapshot(files[0]), read_snapshot(files[1]))
    told = sorted((one.frames, one.before, one.after, one.change) for one in alone)
    assert differences(*(memory_of(read(file)) for file in files)) == told


@requires_traces
@pytest.mark.parametrize("turned", [False, True])
def test_real_snapshots_too(turned: bool) -> None:
    files = sorted((TRACES / "cuda_memory_snapshots").rglob("*.pickle"), reverse=turned)
    alone = site_changes(read_snapshot(files[0]), read_snapshot(files[1]))
    told = sorted((one.frames, one.before, one.after, one.change) for one in alone)
    assert differences(*(memory_of(read(file)) for file in files)) == told
