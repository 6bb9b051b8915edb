"""Blocks by address and time, whatever the level."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.analysis.memory.address_map import (
    BUCKETS,
    MOST_BANDS,
    ROWS,
    TilePlace,
    bands_of,
    cut_tile,
)
from kinetoscope.analysis.memory.model import BEFORE, MemoryColumns
from tests.analysis.memory.made import MadeMemory, columns_of, only_device
from tests.analysis.memory.test_sums import recordings

MIB = 1 << 20


def test_addresses_never_used_are_left_out_between_bands() -> None:
    #         ├ 1 MiB ┤ 1 MiB free ├ 1 MiB ┤  100 MiB free  ├ 2 MiB ┤
    address = np.array([1000 * MIB, 1002 * MIB, 1103 * MIB])
    found = bands_of(address, np.array([MIB, MIB, 2 * MIB]))
    assert found.address.tolist() == [1000 * MIB, 1103 * MIB]
    assert found.bytes.tolist() == [3 * MIB, 2 * MIB]
    assert found.of_block.tolist() == [0, 2 * MIB, 3 * MIB]


def test_there_are_never_too_many_bands() -> None:
    address = np.cumsum(np.arange(1, 2000) * MIB)
    found = bands_of(address, np.full(1999, 100))
    assert 1 < len(found.address) <= MOST_BANDS
    assert (found.of_block >= 0).all()
    assert found.of_block.max() + 100 == found.bytes.sum()


def blocks() -> MemoryColumns:
    """A lasting block of 64 bytes, 512 above one of 1 byte that is there for 1 µs."""
    made = MadeMemory()
    made.allocate(0, "a", 1)
    made.release(1, "a")
    made.allocate(2, "b", 64)
    return columns_of("op |aaaaaaaa|", made)


def test_a_block_as_large_as_a_cell_is_a_rectangle_and_a_smaller_one_covers_a_part() -> None:
    columns = blocks()
    device = only_device(columns)
    fine = cut_tile(columns, device, TilePlace(5, 0, 0, 0))  # 32 ns × 1 byte
    assert fine.block.tolist() == [0]
    assert (fine.x0.tolist()[0], fine.x1.tolist()[0]) == (0.0, 1000 / 32)
    assert not len(fine.cell)
    coarse = cut_tile(columns, device, TilePlace(10, 2, 0, 0))  # 1024 ns × 4 bytes
    assert coarse.block.tolist() == [1]
    assert (coarse.y0.tolist(), coarse.y1.tolist()) == ([512 / 4], [576 / 4])
    assert coarse.cell.tolist() == [0]
    assert coarse.covered.tolist() == [int(np.ceil(1000 / 1024 / 4 * 255))]


@given(recordings(), st.integers(4, 16), st.integers(0, 9))
def test_tiles_cover_what_blocks_do(columns: MemoryColumns, level: int, row_level: int) -> None:
    """Rectangles and cells of all tiles have the area of all blocks, but for rounded cells."""
    for device in columns.devices:
        start = np.maximum(columns.blocks.start[device.blocks], 0)
        end = np.minimum(columns.blocks.end[device.blocks], columns.end_ns)
        area = float(((end - start) * columns.blocks.bytes[device.blocks]).sum())
        height = int((columns.bands.bytes[device.first_band : device.stop_band]).sum())
        seen, cells = 0.0, 0
        for tile in range((columns.end_ns >> level) // BUCKETS + 1):
            for row_tile in range((height >> row_level) // ROWS + 1):
                found = cut_tile(columns, device, TilePlace(level, row_level, tile, row_tile))
                seen += float(((found.x1 - found.x0) * (found.y1 - found.y0)).sum())
                seen += float(found.covered.sum()) / 255
                cells += len(found.cell)
                assert len(found.block) <= BUCKETS * ROWS
        # Blocks whose ends are not known may lie on each other: a cell is covered once.
        lowest, highest = 0.0, area / (1 << level + row_level)
        assert lowest <= seen <= highest + cells / 255 + 1e-6
        if not overlapping(columns):
            assert seen >= highest - 1e-6


def overlapping(columns: MemoryColumns) -> bool:
    """Drawn blocks may lie on each other, which real ones do not."""
    blocks = columns.blocks
    rows = [
        (int(a), int(a + s), int(max(t, BEFORE)), int(e))
        for a, s, t, e in zip(blocks.address, blocks.bytes, blocks.start, blocks.end, strict=True)
    ]
    return any(
        one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3]
        for at, one in enumerate(rows)
        for other in rows[:at]
    )
