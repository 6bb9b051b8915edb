"""Records of a memory snapshot become rows; nothing is lost, and what is odd is counted."""

from __future__ import annotations

import gzip
import io
import pickle
from typing import Any

import numpy as np
import pytest

from kinetoscope.base.errors import TraceFormatError
from kinetoscope.trace.memory_model import HOST, MISSING, Mark, Snapshot
from kinetoscope.trace.pickles.snapshot import read_snapshot
from tests.conftest import TRACES

from .drawn_snapshot import MIB, block, event, frames, reread, segment, snapshot

STEP = {"stage": "START", "name": "ProfilerStep#3", "device": 0, "time_us": 100}


def test_a_small_training_step_as_a_table() -> None:
    drawn = reread(
        snapshot(
            event("segment_alloc", 0x1000, 20 * MIB, 101, "model.py:7 forward"),
            event("alloc", 0x1000, 8 * MIB, 102, "model.py:7 forward", "train.py:30 main"),
            event("free_requested", 0x1000, 8 * MIB, 109),
            event("free_completed", 0x1000, 8 * MIB, 110),
            external_annotations=[STEP, {**STEP, "stage": "END", "time_us": 120}],
        )
    )
    events = drawn.events
    rows = [
        (events.actions[code], size // MIB, time, drawn.stacks.of(stack))
        for code, size, time, stack in zip(
            events.action, events.size, events.time_us, events.stack, strict=True
        )
    ]
    forward, main = ("forward", "model.py", 7), ("main", "train.py", 30)
    assert rows == [
        ("segment_alloc", 20, 101, (forward,)),
        ("alloc", 8, 102, (forward, main)),
        ("free_requested", 8, 109, ()),
        ("free_completed", 8, 110, ()),
    ]
    assert drawn.marks == (
        Mark("ProfilerStep#3", True, 0, 100),
        Mark("ProfilerStep#3", False, 0, 120),
    )
    assert events.is_action("alloc", "oom").tolist() == [False, True, False, False]


def test_blocks_of_a_segment_lie_one_behind_the_other() -> None:
    taken, free = block(6 * MIB), block(2 * MIB, "inactive")
    drawn = reread(snapshot(segments=(segment(0x7000_0000, taken, free), segment(0, block(MIB)))))
    blocks = drawn.blocks
    assert blocks.segment.tolist() == [0, 0, 1]
    assert blocks.address.tolist() == [0x7000_0000, 0x7000_0000 + 6 * MIB, 0]
    assert [blocks.states[code] for code in blocks.state] == [
        "active_allocated",
        "inactive",
        "active_allocated",
    ]
    assert drawn.segments.first_block.tolist() == [0, 2, 3]


def test_torch_2_0_has_no_times_no_addresses_of_blocks_and_a_history() -> None:
    history = [{"addr": 0, "real_size": 5, "frames": frames("a.py:1 f")}]
    old = segment(
        4096,
        {"size": 512, "state": "active_allocated", "history": history},
        {"size": 1536, "state": "inactive"},
    )
    for one in old["blocks"]:
        one.pop("address")
    trace = {"action": "alloc", "addr": 4096, "size": 512, "stream": 0, "frames": []}
    drawn = reread({"segments": [old], "device_traces": [[trace]]})
    assert drawn.blocks.address.tolist() == [4096, 4608]
    assert drawn.blocks.requested.tolist() == [5, MISSING]
    assert drawn.stacks.of(int(drawn.blocks.stack[0])) == (("f", "a.py", 1),)
    assert drawn.events.time_us.tolist() == [MISSING]


def test_torch_2_15_names_pools_pinned_memory_and_what_the_user_set() -> None:
    drawn = reread(
        snapshot(
            event("alloc", 1, MIB, 1, pool_id=(0, 1), user_metadata="layer 3"),
            event("alloc", 2, MIB, 2, pool_id=(0, 0), user_metadata=""),
            host_segments=[segment(9, block(MIB, "active_awaiting_free"))],
            host_traces=[event("alloc", 9, MIB, 3)],
        )
    )
    assert [drawn.pools[code] if code >= 0 else None for code in drawn.events.pool] == [
        (0, 1),
        (0, 0),
        None,
    ]
    assert [drawn.events.texts[code] for code in drawn.events.metadata] == ["layer 3", "", ""]
    assert drawn.events.device.tolist() == [0, 0, HOST]
    assert drawn.segments.device.tolist() == [HOST]
    assert drawn.blocks.states == ("active_pending_free",)


@pytest.mark.parametrize("protocol", range(2, 6))
def test_every_protocol_and_gzip_give_the_same(protocol: int) -> None:
    root = snapshot(event("alloc", 1, 2, 3, "a.py:4 f"), segments=(segment(1, block(2)),))
    stored = pickle.dumps(root, protocol)
    for source in (stored, gzip.compress(stored)):
        drawn = read_snapshot(io.BytesIO(source))
        assert drawn.events.size.tolist() == [2]
        assert drawn.blocks.size.tolist() == [2]
        assert drawn.damage == ""


def test_what_is_odd_is_counted_and_costs_only_itself() -> None:
    root: dict[str, Any] = snapshot(
        event("alloc", 1 << 80, 5, 1),
        event("alloc", 2, 6, 2),
        segments=(segment(0, block(4)),),
        external_annotations=["x", STEP],
    )
    root["device_traces"][0].insert(1, {"neither": "nor"})
    root["segments"].append("no segment")
    drawn = reread(root)
    assert drawn.events.size.tolist() == [5, 6]
    assert drawn.events.address.tolist() == [MISSING, 2]
    assert drawn.skipped == {"an event": 1, "a segment": 1, "an annotation": 1}


def test_a_cut_file_keeps_its_events_and_says_so() -> None:
    root = snapshot(*(event("alloc", n, n, n, "a.py:1 f") for n in range(1, 4001)))
    stored = pickle.dumps(root)
    cut = read_snapshot(io.BytesIO(stored[: len(stored) // 2]))
    assert cut.damage != ""
    size = cut.events.size
    assert 1000 < len(size) < 3000
    assert size.tolist() == list(range(1, len(size) + 1))


@pytest.mark.parametrize("root", [[], {}, [1, 2], {"a": 1}, "text", 7])
def test_another_pickle_is_said_to_be_no_snapshot(root: object) -> None:
    with pytest.raises(TraceFormatError, match="no memory snapshot"):
        reread(root)


FOLDER = TRACES / "cuda_memory_snapshots"
REAL = sorted(FOLDER.rglob("*.pickle")) if FOLDER.is_dir() else []


@pytest.mark.skipif(not REAL, reason="no collected memory snapshots here")
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.parent.name)
def test_a_real_snapshot_holds_what_python_reads_in_it(path: Any) -> None:
    with path.open("rb") as file:
        root = pickle.load(file)  # noqa: S301 - the oracle; a file of our own collection
    drawn: Snapshot = read_snapshot(path)
    events = [one for trace in root["device_traces"] for one in trace]
    assert drawn.events.size.tolist() == [one["size"] for one in events]
    assert drawn.events.address.tolist() == [one["addr"] for one in events]
    assert [drawn.events.actions[code] for code in drawn.events.action] == [
        one["action"] for one in events
    ]
    for row in range(0, len(events), 97):
        stack = drawn.stacks.of(int(drawn.events.stack[row]))
        wanted = [(f["name"], f["filename"], f["line"]) for f in events[row]["frames"]]
        assert list(stack) == wanted
    assert drawn.segments.size.sum() == drawn.blocks.size.sum()
    held = drawn.blocks.size[drawn.blocks.is_state("active_allocated")].sum()
    assert held == drawn.segments.allocated.sum()
    per_segment = np.diff(drawn.segments.first_block).tolist()
    assert per_segment == [len(one["blocks"]) for one in root["segments"]]
    assert drawn.skipped == {}
