"""Free memory in segments: what a large request can use, and what it cannot."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kinetoscope.analysis.memory.address_map import TilePlace, cut_tile
from kinetoscope.analysis.memory.artifact import memory_of
from kinetoscope.analysis.memory.model import MemoryColumns
from kinetoscope.analysis.memory.snapshots.free import FreePieces, free_memory
from kinetoscope.trace.read import read
from tests.analysis.memory.snapshots.test_columns import stored
from tests.conftest import TRACES, requires_traces
from tests.trace.pickles.drawn_snapshot import MIB, block, event, segment, snapshot

BASE, SMALL = 1 << 40, 1 << 41


@pytest.fixture
def columns(tmp_path: Path) -> MemoryColumns:
    """Holes of 20 and 30 MiB; then the 30 are taken; a segment of another pool beside it."""
    large = segment(
        BASE,
        block(10 * MIB),
        block(20 * MIB, "inactive"),
        block(10 * MIB),
        block(30 * MIB, "active_allocated"),
    )
    small = segment(SMALL, block(MIB), block(MIB, "inactive"), segment_type="small")
    taken = event("alloc", BASE + 40 * MIB, 30 * MIB, 5)
    first = event("alloc", BASE, 10 * MIB, 1)
    return memory_of(read(stored(tmp_path, snapshot(first, taken, segments=(large, small)))))


def test_of_each_pool_the_largest_piece_is_of_use(columns: MemoryColumns) -> None:
    pieces = FreePieces(columns, columns.devices[0])
    names = [pool.name for pool in columns.pools]
    before = {
        names[one.pool]: (one.free // MIB, one.largest // MIB, one.unusable // MIB, one.pieces)
        for one in pieces.at(0)
    }
    assert before == {
        "large, default stream": (50, 30, 20, 2),
        "small, default stream": (1, 1, 0, 1),
    }
    after = {names[one.pool]: (one.free // MIB, one.unusable // MIB) for one in pieces.at(4000)}
    assert after == {"large, default stream": (20, 0), "small, default stream": (1, 0)}


def test_parts_of_an_expandable_segment_are_one_piece(tmp_path: Path) -> None:
    root = snapshot(
        event("segment_map", BASE, 20 * MIB, 1),
        event("segment_map", BASE + 20 * MIB, 20 * MIB, 2),
        event("snapshot", 0, 0, 3),
        segments=(segment(BASE, block(40 * MIB, "inactive"), is_expandable=True),),
    )
    columns = memory_of(read(stored(tmp_path, root)))
    (pool,) = FreePieces(columns, columns.devices[0]).at(2000)
    assert (pool.free, pool.largest, pool.pieces) == (40 * MIB, 40 * MIB, 1)


def test_a_tile_has_the_segments_that_cross_it(columns: MemoryColumns) -> None:
    tile = cut_tile(columns, columns.devices[0], TilePlace(4, 20, 0, 0))
    sides = {tuple(side) for side in tile.reserved[2:].T.tolist()}
    assert sides == {(0.0, 70.0), (70.0, 72.0)}  # MiB: one row each
    assert set(tile.reserved[0].tolist()) == {0.0}


@requires_traces
@pytest.mark.parametrize("name", ["magma27", "wedsonlin"])
def test_free_is_what_is_reserved_and_not_allocated(name: str) -> None:
    (path,) = (TRACES / "cuda_memory_snapshots" / name).iterdir()
    columns = memory_of(read(path))
    (device,) = columns.devices
    found = free_memory(columns, device, 0, columns.end_ns, 100)
    row = np.searchsorted(columns.events.ts, found.ts, side="right") - 1
    known = row >= 0
    rest = (columns.events.reserved - columns.events.allocated)[row[known]]
    assert found.free[known].tolist() == rest.tolist()
    assert (found.unusable <= found.free).all()
    assert (found.unusable >= 0).all()
