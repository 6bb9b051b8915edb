"""A memory snapshot in the Memory view: its curve, blocks and segments are those of the allocator.

ms      0    1    2    3    4    5
a 8          ├─────────┤              in the history
b 2               ├─────────────────  still there at the end
c 4     ───────────────────────────   there before and after
d 1     ──────────────┤               there before
"""

from __future__ import annotations

import gzip
import pickle
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.analysis.facts import Facts
from kinetoscope.analysis.memory.artifact import memory_of
from kinetoscope.analysis.memory.categories import RULES
from kinetoscope.analysis.memory.curve import by_category, layers_at
from kinetoscope.analysis.memory.model import BEFORE, NEVER, MemoryColumns
from kinetoscope.analysis.memory.snapshots.allocator import bytes_before
from kinetoscope.analysis.memory.snapshots.lives import block_lives
from kinetoscope.session.session import FileSession
from kinetoscope.trace.read import read
from kinetoscope.views import all_views, view_named
from kinetoscope.views.memory.contract import MemoryQuery
from kinetoscope.views.memory.view import build
from tests.trace.pickles.drawn_snapshot import MIB, block, event, reread, segment, snapshot

MODEL = "/home/me/model.py:31 forward"
MODULE = "/usr/lib/python3.11/site-packages/torch/nn/modules/module.py:1 _call_impl"
TRAIN = "/home/me/train.py:9 main"
ADAM = "/usr/lib/python3.11/site-packages/torch/optim/adam.py:3 step"
A, B, C, D = (1 << 30, (1 << 30) + 8 * MIB, (1 << 30) + 12 * MIB, (1 << 30) + 16 * MIB)
EVENTS = (
    event("alloc", A, 8 * MIB, 1001, MODEL, MODULE, TRAIN),
    event("alloc", B, 2 * MIB, 1002, ADAM, TRAIN),
    event("free_requested", A, 8 * MIB, 1003),
    event("free_completed", A, 8 * MIB, 1003),
    event("free_completed", D, MIB, 1003, TRAIN),
    event("segment_alloc", 1 << 31, 20 * MIB, 1004),
    event("snapshot", 0, 0, 1005),
)
PIECES = segment(
    1 << 30,
    block(8 * MIB, "inactive"),
    block(2 * MIB, "active_allocated", ADAM, TRAIN),
    block(2 * MIB, "inactive"),
    block(4 * MIB, "active_allocated"),
    block(4 * MIB, "inactive"),
)
LATER = segment(1 << 31, block(20 * MIB, "inactive"))
MARKS = [
    {"stage": stage, "name": "ProfilerStep#7", "device": 0, "time_us": time}
    for stage, time in (("START", 1001), ("END", 1004))
]
DRAWN = snapshot(*EVENTS, segments=(PIECES, LATER), external_annotations=MARKS)


def stored(folder: Path, root: object, name: str = "snapshot.pickle") -> Path:
    path = folder / name
    path.write_bytes(pickle.dumps(root))
    return path


@pytest.fixture
def columns(tmp_path: Path) -> MemoryColumns:
    return memory_of(read(stored(tmp_path, DRAWN)))


def test_the_drawing_above_as_blocks_and_totals(columns: MemoryColumns) -> None:
    blocks, (device,) = columns.blocks, columns.devices
    rows = {
        (int(size) // MIB, int(start), int(end), columns.strings[frame] if frame >= 0 else "")
        for size, start, end, frame in zip(
            blocks.bytes, blocks.start, blocks.end, blocks.frame, strict=True
        )
    }
    assert rows == {
        (8, 0, 2000, "/home/me/model.py(31): forward"),
        (2, 1000, NEVER, "/home/me/train.py(9): main"),
        (4, BEFORE, NEVER, ""),
        (1, BEFORE, 2000, ""),
    }
    assert device.base_bytes == 5 * MIB
    assert (columns.events.allocated // MIB).tolist() == [13, 15, 7, 6]
    assert (columns.events.reserved // MIB).tolist() == [20, 20, 20, 20]
    assert [(int(one) // MIB, int(at)) for one, at in zip(
        columns.segments.bytes, columns.segments.start, strict=True
    )] == [(20, BEFORE), (20, 3000)]  # fmt: skip
    assert {int(size) // MIB: RULES[rule].category.name for size, rule in zip(
        blocks.bytes, blocks.rule, strict=True
    )} == {8: "ACTIVATION", 2: "OPTIMIZER", 4: "PARAMETER", 1: "UNKNOWN"}  # fmt: skip


def test_marks_of_the_profiler_are_steps(columns: MemoryColumns) -> None:
    steps = columns.steps
    assert (steps.marked, steps.number.tolist()) == (True, [7])
    assert (steps.start.tolist(), steps.end.tolist()) == ([0], [3000])


def test_only_views_of_memory_are_available(tmp_path: Path) -> None:
    session = FileSession(str(stored(tmp_path, DRAWN)))
    filled = [view.stem for view in all_views() if session.unavailable(view) is None]
    assert filled == ["memory", "health"]
    facts: Facts = session.facts()
    assert facts.recording.memory_alone
    answer = build(session.subject(view_named("memory")), MemoryQuery(by="line"))
    assert answer.peak.bytes == 15 * MIB
    assert answer.is_snapshot
    assert answer.failure is None
    labels = {layer.label for layer in answer.curve.layers}
    assert "/home/me/model.py(31): forward" in labels
    sums = np.sum([layer.values for layer in answer.curve.layers], axis=0)
    assert sums.tolist() == list(answer.curve.allocated)


def test_a_failure_is_the_headline(tmp_path: Path) -> None:
    oom = event("oom", 0, 300 * MIB, 1004)
    oom["device_free"] = oom.pop("addr")
    root = snapshot(*EVENTS[:5], oom, segments=(PIECES,))
    session = FileSession(str(stored(tmp_path, root)))
    answer = build(session.subject(view_named("memory")), MemoryQuery())
    assert answer.failure is not None
    headline = answer.headline.replace("\u00a0", " ")
    assert headline == "An allocation of 300 MiB failed: the memory is full, 286 MiB short."
    assert [holder.line for holder in answer.failure.holders] == ["", "/home/me/train.py(9): main"]


def test_without_a_history_there_is_the_state(tmp_path: Path) -> None:
    trace = read(stored(tmp_path, snapshot(segments=(PIECES,)), "now.pickle"))
    columns = memory_of(trace)
    assert columns.devices[0].base_bytes == 6 * MIB
    assert len(columns.events) == 0
    (note,) = trace.health.notes
    assert note.kind == "snapshot_no_history"
    # The file does not tell the device: what helps is said for each that has snapshots.
    assert "torch.cuda.memory" in note.remedy
    assert "torch.xpu.memory" in note.remedy


def test_without_times_events_are_a_microsecond_apart(tmp_path: Path) -> None:
    events = [{k: v for k, v in one.items() if k != "time_us"} for one in EVENTS]
    trace = read(stored(tmp_path, snapshot(*events, segments=(PIECES, LATER))))
    assert memory_of(trace).events.ts.tolist() == [0, 1000, 3000, 4000]
    assert "snapshot_no_times" in [note.kind for note in trace.health.notes]


def test_a_compressed_and_a_cut_one_are_read(tmp_path: Path) -> None:
    text = pickle.dumps(DRAWN)
    packed = tmp_path / "packed.pickle.gz"
    packed.write_bytes(gzip.compress(text))
    assert memory_of(read(packed)).devices[0].base_bytes == 5 * MIB
    cut = tmp_path / "cut.pickle"
    cut.write_bytes(text[: text.index(b"device_traces")])
    trace = read(cut)
    assert trace.health.cut is not None
    assert memory_of(trace).devices[0].base_bytes == 6 * MIB


@st.composite
def histories(draw: st.DrawFn) -> dict[str, Any]:
    """Whatever an allocator may write, gaps in it included: releases that are not recorded."""
    events: list[dict[str, Any]] = []
    held: dict[int, int] = {}
    for time in range(draw(st.integers(1, 30))):
        slot = draw(st.integers(0, 7))
        size = draw(st.sampled_from((100, 512, 1000)))
        if slot in held and draw(st.booleans()):
            one = event("free_completed", slot * 4096, held.pop(slot), time + 1)
        else:
            held[slot] = size
            one = event("alloc", slot * 4096, size, time + 1, draw(st.sampled_from((MODEL, ADAM))))
        if draw(st.integers(0, 9)):
            events.append(one)
    blocks = [block(4096, "active_allocated" if slot in held else "inactive") for slot in range(8)]
    return snapshot(*events, segments=(segment(0, *blocks),))


@given(histories())
def test_categories_sum_to_the_curve_and_it_ends_at_the_state(root: dict[str, Any]) -> None:
    drawn = reread(root)
    lives = block_lives(drawn, 0)
    totals = bytes_before(lives, len(drawn.events.size))
    in_use = drawn.blocks.is_state("active_allocated")
    assert totals[-1] == drawn.blocks.size[in_use].sum()
    assert (totals >= 0).all()
    for device, columns in _columns_of(root):
        count = device.stop - device.first
        rows = np.arange(-1, count)
        layers = layers_at(columns, device, rows, by_category(columns, device))
        allocated = columns.events.allocated[device.events]
        assert layers.sum(axis=0).tolist() == [device.base_bytes, *allocated.tolist()]
        assert (layers >= 0).all()
        if count:
            assert allocated[-1] == totals[-1]


def _columns_of(root: dict[str, Any]) -> list[tuple[Any, MemoryColumns]]:
    with tempfile.TemporaryDirectory() as folder:
        columns = memory_of(read(stored(Path(folder), root)))
    return [(device, columns) for device in columns.devices]
