"""The address map of the Memory view: its bands, and its tiles as binary frames (contract).

All numbers are little-endian; header and directory are laid out as in ``views/timeline/tiles.py``.

    header, 32 bytes
      0 u32 magic 0x3150414D "MAP1"     4 u16 version 1       6 u16 kind 0
      8 u32 entries in the directory   12 u32 reserved       16 f64 server time in µs
    directory, 64 bytes each, then the columns; every offset counts from the start of the frame and
    is a multiple of 8. One entry per tile:
      0 u32 rects    4 u32 cells    8 u8 level    9 u8 row level   12 u32 segments
     16 f64 time tile               24 f64 row tile
     32 u32 offset of the rects     36 u32 offset of the cells     40 u32 offset of the segments
      rects    x0 f32[n] | x1 f32[n] | y0 f32[n] | y1 f32[n] | block u32[n] | category u8[n]
               | flags u8[n]
      cells    cell u32[n] | covered u8[n] | category u8[n]
      segments x0 f32[n] | x1 f32[n] | y0 f32[n] | y1 f32[n]
      x counts buckets and y rows from the corner of the tile with the least time and the least
      offset; both are cut at its edges. Flags: 1 began before the tile, 2 lasts beyond it, 4 goes
      on below, 8 goes on above. A cell is row · 512 + bucket; covered is a share of 255; its
      category covers most of it. Categories count in the order of ``Memory.categories``.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...analysis.memory.address_map import (
    BUCKETS,
    ROWS,
    MapTile,
    TilePlace,
    bands_between,
    cut_tile,
)
from ...analysis.memory.artifact import NO_ADDRESSES
from ...analysis.memory.model import MemoryColumns
from ...base.errors import QueryError
from ...base.regex import regex
from ..view import Subject
from . import contract as answers
from .windows import device_of

MAGIC, VERSION = 0x3150414D, 1
HEADER_BYTES, ENTRY_BYTES, ALIGNMENT = 32, 64, 8
MOST_TILES, MOST_BYTES = 8, 4 << 20
BEGAN_BEFORE, LASTS_BEYOND, GOES_ON_BELOW, GOES_ON_ABOVE = 1, 2, 4, 8
BLOCKS_ALONE = (
    "Blocks alone: allocator events do not tell the segments that the allocator holds, so free"
    " memory inside of them is not drawn. A memory snapshot has them."
)
WITH_SEGMENTS = (
    "Shaded: reserved and free. A request needs one free piece of the same pool that is large"
    " enough; smaller pieces do not help."
)
_TILE = regex(r"(\d{1,15})\.(\d{1,15})")
HEADER = np.dtype(
    {
        "names": ["magic", "version", "kind", "entries", "took_us"],
        "formats": ["<u4", "<u2", "<u2", "<u4", "<f8"],
        "offsets": [0, 4, 6, 8, 16],
        "itemsize": HEADER_BYTES,
    }
)
ENTRY = np.dtype(
    {
        "names": [
            "rects",
            "cells",
            "level",
            "row_level",
            "tile",
            "row_tile",
            "rects_at",
            "cells_at",
            "segments",
            "segments_at",
        ],
        "formats": ["<u4", "<u4", "u1", "u1", "<f8", "<f8", "<u4", "<u4", "<u4", "<u4"],
        "offsets": [0, 4, 8, 9, 16, 24, 32, 36, 12, 40],
        "itemsize": ENTRY_BYTES,
    }
)


def address_map(subject: Subject, query: answers.MapQuery) -> answers.AddressMap:
    """Names and sizes that the tiles of a device refer to. Raises QueryError."""
    columns: MemoryColumns = subject.artifact("")
    device = device_of(columns, query.device)
    bands = bands_between(columns, device)
    rows = zip(bands.address.tolist(), bands.offset.tolist(), bands.bytes.tolist(), strict=True)
    return answers.AddressMap(
        device=device.key,
        bytes=int(bands.bytes.sum()),
        end_ns=columns.end_ns,
        bands=tuple(answers.AddressBand(f"0x{at:x}", offset, size) for at, offset, size in rows),
        tile_buckets=BUCKETS,
        tile_rows=ROWS,
        segments=device.stop_segment - device.first_segment,
        note=WITH_SEGMENTS if columns.is_snapshot else BLOCKS_ALONE,
        missing=columns.missing.get("blocks", "") if device.has_addresses else NO_ADDRESSES,
    )


def map_tiles(subject: Subject, query: answers.MapTilesQuery) -> bytes:
    """Some tiles of one level.

    Raises:
        QueryError: the list is none, too long, beyond all time, or the answer would be larger than
            4 MB.
    """
    began = time.perf_counter()
    columns: MemoryColumns = subject.artifact("")
    device = device_of(columns, query.device)
    places = _places(query)
    found = [cut_tile(columns, device, place) for place in places]
    frame = tiles_frame(columns, found, (time.perf_counter() - began) * 1e6)
    if len(frame) > MOST_BYTES:
        raise QueryError(
            f"the answer would be larger than {MOST_BYTES >> 20} MB",
            hint="Ask for fewer tiles at a time.",
        )
    return frame


def _places(query: answers.MapTilesQuery) -> list[TilePlace]:
    items = list(dict.fromkeys(query.tiles.split(",")))
    if len(items) > MOST_TILES:
        raise QueryError(f"`tiles` has more than {MOST_TILES} entries")
    places = []
    for item in items:
        match = _TILE.fullmatch(item)
        if match is None:
            raise QueryError(
                f"`tiles` is no list of tiles: {item[:40]!r}", hint="Write it as 0.0,1.0."
            )
        tile, row = int(match[1]), int(match[2])
        far = max((tile + 1) * BUCKETS << query.level, (row + 1) * ROWS << query.row_level)
        if far >= 1 << 62:
            raise QueryError(f"tile {item[:40]} is beyond all time, or all memory")
        places.append(TilePlace(query.level, query.row_level, tile, row))
    return places


def tiles_frame(columns: MemoryColumns, tiles: list[MapTile], took_us: float = 0.0) -> bytes:
    """Tiles as one frame."""
    entries = np.zeros(len(tiles), ENTRY)
    buffers: list[bytes] = []
    at = HEADER_BYTES + ENTRY_BYTES * len(tiles)

    def add(column: NDArray[Any], form: str) -> int:
        nonlocal at
        here, data = at, np.ascontiguousarray(column, np.dtype(form)).tobytes()
        buffers.append(data + bytes(-len(data) % ALIGNMENT))
        at += len(buffers[-1])
        return here

    for index, tile in enumerate(tiles):
        rects_at = add(tile.x0, "<f4")
        for column in (tile.x1, tile.y0, tile.y1):
            add(column, "<f4")
        add(tile.block, "<u4")
        add(columns.blocks.category[tile.block], "u1")
        add(_flags(columns, tile), "u1")
        cells_at = add(tile.cell, "<u4")
        add(tile.covered, "u1")
        add(tile.category, "u1")
        segments_at = add(tile.reserved[0], "<f4")
        for column in tile.reserved[1:]:
            add(column, "<f4")
        place = tile.place
        entries[index] = (
            len(tile.block), len(tile.cell), place.level, place.row_level, place.tile,
            place.row_tile, rects_at, cells_at, tile.reserved.shape[1], segments_at,
        )  # fmt: skip
    header = np.zeros(1, HEADER)
    header[0] = (MAGIC, VERSION, 0, len(tiles), took_us)
    return b"".join([header.tobytes(), entries.tobytes(), *buffers])


def _flags(columns: MemoryColumns, tile: MapTile) -> NDArray[np.uint8]:
    blocks, place = columns.blocks, tile.place
    left, low = place.tile * BUCKETS << place.level, place.row_tile * ROWS << place.row_level
    right, high = left + (BUCKETS << place.level), low + (ROWS << place.row_level)
    offset = blocks.offset[tile.block]
    top = offset + blocks.bytes[tile.block]
    bits = (
        (blocks.start[tile.block] < left) * BEGAN_BEFORE
        + (blocks.end[tile.block] > right) * LASTS_BEYOND
        + (offset < low) * GOES_ON_BELOW
        + (top > high) * GOES_ON_ABOVE
    )
    return np.asarray(bits, np.uint8)
