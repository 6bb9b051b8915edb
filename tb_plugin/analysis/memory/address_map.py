"""Where do blocks lie, by address and time?

Addresses in use lie together in *bands*; what lies between bands was never used and is left out,
so a block has an ``offset`` from the lowest of them. A tile is 512 buckets of time × 256 rows of
offsets. A block at least as large as a cell of it both ways is a rectangle; smaller ones are added
up as the covered share of each cell. So a tile never holds more than its cells, at any level.

    offset ▲  ┌────────┐ ░░        rectangles, and cells with blocks too small to draw
           │  └────────┘ ░░┌──┐
           └──────────────────▶ time
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from msgspec import Struct

from ...base.arrays import F64, I64, U8
from .model import AddressBands, Category, MemoryColumns, MemoryDevice

BUCKETS, ROWS = 512, 256
MOST_BANDS = 256
_LEAST_GAP = 2 << 20  # what torch's allocators ask the device for at least


class Bands(NamedTuple):
    """Bands in order of address, and the offset of each block."""

    address: I64
    offset: I64
    bytes: I64
    of_block: I64


def bands_of(address: I64, size: I64) -> Bands:
    """The bands of blocks: a gap of 2 MiB divides two; of many gaps the widest do."""
    if not len(address):
        nothing = np.empty(0, np.int64)
        return Bands(nothing, nothing, nothing, nothing)
    order = np.argsort(address, kind="stable")
    start = address[order]
    end = np.maximum.accumulate(start + size[order])
    gap = start[1:] - end[:-1]
    apart = np.flatnonzero(gap >= _LEAST_GAP)
    widest = np.argsort(-gap[apart], kind="stable")[: MOST_BANDS - 1]
    first = np.concatenate([[0], np.sort(apart[widest]) + 1])
    last = np.append(first[1:], len(start)) - 1
    low = start[first]
    length = end[last] - low
    offset = np.concatenate([[0], np.cumsum(length)[:-1]])
    band = np.searchsorted(low, address, side="right") - 1
    return Bands(low, offset, length, address - low[band] + offset[band])


def bands_between(columns: MemoryColumns, device: MemoryDevice) -> AddressBands:
    """The bands of a device."""
    bands = columns.bands
    low, high = device.first_band, device.stop_band
    return AddressBands(bands.address[low:high], bands.offset[low:high], bands.bytes[low:high])


class TilePlace(Struct, frozen=True):
    """A tile: ``level`` and ``row_level`` are log2 of ns per bucket and bytes per row."""

    level: int
    row_level: int
    tile: int  # [tile · 512 · 2^level, …) ns
    row_tile: int  # [row_tile · 256 · 2^row_level, …) bytes of offset


class MapTile(Struct, frozen=True, eq=False):
    """Contents of a tile. Edges of rectangles count in cells from its lower left corner."""

    place: TilePlace
    block: I64  # rows of MemoryBlocks
    x0: F64
    x1: F64
    y0: F64
    y1: F64
    cell: I64  # row · 512 + bucket, ascending
    covered: U8  # share of a cell, 1 … 255
    category: U8  # that covers most of it
    reserved: F64  # x0, x1, y0, y1 of what the allocator held, in use or not; shape (4, n)


def cut_tile(columns: MemoryColumns, device: MemoryDevice, place: TilePlace) -> MapTile:
    """A tile of a device."""
    blocks, mine = columns.blocks, device.blocks
    width, height = 1 << place.level, 1 << place.row_level
    left, low = place.tile * BUCKETS * width, place.row_tile * ROWS * height
    start, end = blocks.start[mine], blocks.end[mine]
    offset, size = blocks.offset[mine], blocks.bytes[mine]
    touched = np.flatnonzero(
        (start < left + BUCKETS * width)
        & (end > left)
        & (offset < low + ROWS * height)
        & (offset + size > low)
    )
    x0 = _cells(start[touched], left, width, BUCKETS)
    x1 = _cells(np.minimum(end[touched], columns.end_ns), left, width, BUCKETS)
    y0 = _cells(offset[touched], low, height, ROWS)
    y1 = _cells(offset[touched] + size[touched], low, height, ROWS)
    # Whether a block is drawn does not depend on the tile: it is the same on both sides of an edge.
    lasts = np.minimum(end[touched], columns.end_ns) - np.maximum(start[touched], 0)
    large = (lasts >= width) & (size[touched] >= height)
    small = ~large & (x1 > x0)
    kind = blocks.category[mine][touched]
    covered, most = _cover(x0[small], x1[small], y0[small], y1[small], kind[small])
    cell = np.flatnonzero(covered)
    reserved = _reserved(columns, device, place)
    return MapTile(
        place,
        touched[large] + mine.start,
        x0[large], x1[large], y0[large], y1[large],
        cell, covered[cell], most[cell], reserved,
    )  # fmt: skip


def _reserved(columns: MemoryColumns, device: MemoryDevice, place: TilePlace) -> F64:
    """The segments of a tile, cut at its edges; of a trace none are known."""
    segments, mine = columns.segments, slice(device.first_segment, device.stop_segment)
    width, height = 1 << place.level, 1 << place.row_level
    left, low = place.tile * BUCKETS * width, place.row_tile * ROWS * height
    start, end = segments.start[mine], np.minimum(segments.end[mine], columns.end_ns)
    offset, size = segments.offset[mine], segments.bytes[mine]
    x0, x1 = _cells(start, left, width, BUCKETS), _cells(end, left, width, BUCKETS)
    y0, y1 = _cells(offset, low, height, ROWS), _cells(offset + size, low, height, ROWS)
    shown = (x1 > x0) & (y1 > y0)
    return np.stack([x0[shown], x1[shown], y0[shown], y1[shown]])


def _cells(value: I64, low: int, size: int, count: int) -> F64:
    """Places in cells, cut at the edges of the tile; exact before they become doubles."""
    return np.clip(value - low, 0, count * size) / size


def _cover(x0: F64, x1: F64, y0: F64, y1: F64, kind: np.ndarray) -> tuple[U8, U8]:
    """Covered share of each cell in 255ths, and the category that covers most of it.

    Each of these blocks is less than a cell one way, so it touches two cells that way at most; the
    other way its share of each cell is the difference of a function that rises between its ends.
    """
    cells = ROWS * BUCKETS
    column, row = x0.astype(np.int64), y0.astype(np.int64)
    inside = (x1 <= column + 1) & (y1 <= row + 1) & (column < BUCKETS) & (row < ROWS)
    place = (kind.astype(np.int64) * ROWS + row) * BUCKETS + column
    area = (x1 - x0) * (y1 - y0)
    grid = np.bincount(place[inside], area[inside], len(Category) * cells).astype(np.float64)
    grid = grid.reshape(-1, cells)
    x0, x1, y0, y1, kind = (one[~inside] for one in (x0, x1, y0, y1, kind))
    flat = y1 - y0 < 1
    for category in np.unique(kind).tolist():
        low, high = flat & (kind == category), ~flat & (kind == category)
        strips = _strips(y0[low], y1[low], x0[low], x1[low], ROWS, BUCKETS)
        strips += _strips(x0[high], x1[high], y0[high], y1[high], BUCKETS, ROWS).T
        grid[category] += strips.reshape(-1)
    covered = grid.sum(axis=0)
    shown = np.where(covered > 1e-6, np.clip(np.ceil(covered * 255), 1, 255), 0)
    return shown.astype(np.uint8), grid.argmax(axis=0).astype(np.uint8)


def _strips(thin0: F64, thin1: F64, long0: F64, long1: F64, thin: int, long: int) -> F64:
    """Area of strips in each cell, shape (thin, long); a strip touches two rows at most."""
    change = np.zeros((thin + 1) * (long + 2))
    first = np.minimum(thin0.astype(np.int64), thin - 1)
    for row, share in (
        (first, np.minimum(thin1, first + 1) - thin0),
        (first + 1, np.maximum(thin1 - (first + 1), 0)),
    ):
        for edge, sign in ((long0, 1.0), (long1, -1.0)):
            at = np.minimum(edge.astype(np.int64), long)
            base = row * (long + 2) + at
            rest = edge - at
            change += np.bincount(base, sign * share * (1 - rest), len(change))
            change += np.bincount(base + 1, sign * share * rest, len(change))
    return np.cumsum(change.reshape(thin + 1, long + 2), axis=1)[:thin, :long]
