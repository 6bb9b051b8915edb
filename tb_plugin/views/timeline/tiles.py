"""Binary frames of the Trace view (contract): tiles, counters, names, minimap as columns.

All numbers are little-endian.

    header, 32 bytes
      0 u32 magic 0x31464C54 "TLF1"     4 u16 version 1       6 u16 kind: 0 tiles, 1 counters,
      8 u32 entries in the directory   12 u32 reserved               2 names, 3 minimap
     16 f64 server time in µs          24 u64 reserved
    directory, 64 bytes each, then the columns; every offset counts from the start of the frame and
    is a multiple of 8.

    tiles: one entry per tile and lane block
      0 u32 track    4 u16 first lane   6 u8 lanes (≤ 16)   7 u8 level
      8 u32 rects   12 u32 buckets     16 f64 tile
     24 u32 offset of the rects        28 u32 offset of the buckets
     32 f64 slices that start here     40 f64 their summed ns (exact below 2^53)   48 … 63 reserved
      rects    lane_first u32[lanes + 1] | x0 f32[n] | x1 f32[n] | slice u32[n] | name u32[n]
               | kind u8[n] | flags u8[n]
      buckets  lane_first u32[lanes + 1] | count u32[n] | slice u32[n] | name u32[n] | x u16[n]
               | kind u8[n] | busy u8[n]
      x0, x1 and x count in buckets from the left edge of the tile; slice, name and kind of a bucket
      are those of its longest slice. Flags: 1 overlap, 2 incomplete, 4 flow, 8 children,
      16 goes on to the left, 32 goes on to the right.

    counters: one entry per tile and series
      0 u32 series   4 u16 reserved     6 u8 reserved       7 u8 level
      8 u32 points  12 u32 reserved    16 f64 tile         24 u32 offset
     32 f64 value that holds at the left edge of the tile (NaN: none)   40 … 63 reserved
      x u16[n] | low f64[n] | high f64[n] | last f64[n] | mean f64[n]

    names: one entry
      0 u32 first code   4 u32 count   8 u32 offset of the ends   12 u32 offset of the UTF-8
      end u32[count] (offset behind each text within the UTF-8) | UTF-8, texts cut to 512 bytes
      count may be less than asked for: where names end, or where they fill the frame

    minimap: one entry per track
      0 u32 track   4 u32 columns   8 u32 offset
      busy u8[columns]: 0 … 255 of the column is busy (union over the track's slices)
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ...analysis.timeline.build.lane_layout import as_bytes, share
from ...analysis.timeline.counter_tiles import SeriesTile, series_tile
from ...analysis.timeline.model import TILE_BUCKETS, Block, Slices
from ...analysis.timeline.tiles import cut_blocks
from ...base.errors import QueryError
from ..view import Subject
from .common import MOST_BLOCKS, blocks, numbers, opened_of, tile_numbers
from .queries import CountersQuery, MinimapQuery, NamesQuery, TilesQuery

MAGIC, VERSION = 0x31464C54, 1
TILES, COUNTERS, NAMES, MINIMAP = range(4)
GOES_ON_LEFT, GOES_ON_RIGHT = 16, 32
HEADER_BYTES, ENTRY_BYTES, ALIGNMENT = 32, 64, 8
NAME_BYTES = 512  # of a text, at most

Buffers = list[bytes | memoryview]
Column = NDArray[Any]


def _entry(**fields: tuple[str, int]) -> np.dtype[np.void]:
    """A directory entry: name=(type, place), little-endian, 64 bytes."""
    return np.dtype(
        {
            "names": list(fields),
            "formats": [form for form, _ in fields.values()],
            "offsets": [place for _, place in fields.values()],
            "itemsize": ENTRY_BYTES,
        }
    )


HEADER = np.dtype(
    {
        "names": ["magic", "version", "kind", "entries", "took_us"],
        "formats": ["<u4", "<u2", "<u2", "<u4", "<f8"],
        "offsets": [0, 4, 6, 8, 16],
        "itemsize": HEADER_BYTES,
    }
)
TILE_ENTRY = _entry(
    track=("<u4", 0),
    lane=("<u2", 4),
    lanes=("u1", 6),
    level=("u1", 7),
    rects=("<u4", 8),
    buckets=("<u4", 12),
    tile=("<f8", 16),
    rects_at=("<u4", 24),
    buckets_at=("<u4", 28),
    slices=("<f8", 32),
    sum_ns=("<f8", 40),
)
COUNTER_ENTRY = _entry(
    series=("<u4", 0),
    level=("u1", 7),
    points=("<u4", 8),
    tile=("<f8", 16),
    points_at=("<u4", 24),
    held=("<f8", 32),
)
NAMES_ENTRY = _entry(first=("<u4", 0), count=("<u4", 4), ends_at=("<u4", 8), text_at=("<u4", 12))
MINIMAP_ENTRY = _entry(track=("<u4", 0), columns=("<u4", 4), busy_at=("<u4", 8))


def tiles_frame(blocks: Sequence[Block], slices: Slices, took_us: float = 0.0) -> bytes:
    """Blocks cut from a layout, as one frame."""
    rects = _Looks.of([block.rect for block in blocks], slices)
    buckets = _Looks.of([block.longest for block in blocks], slices)
    body = _Body(len(blocks))
    entries = np.zeros(len(blocks), TILE_ENTRY)
    for index, block in enumerate(blocks):
        rect, bucket = rects.part(index), buckets.part(index)
        entries[index] = (
            block.track,
            block.lane,
            len(block.rect_first) - 1,
            block.level,
            len(block.rect),
            len(block.bucket),
            block.tile,
            body.add(block.rect_first, "<u4"),
            0,
            block.slice_count,
            block.sum_ns,
        )
        body.add(block.x0, "<f4")
        body.add(block.x1, "<f4")
        body.add(block.rect, "<u4")
        body.add(rect.name, "<u4")
        body.add(rect.kind, "u1")
        body.add(rect.flags | _goes_on(block, rect.ts, rect.dur), "u1")
        entries["buckets_at"][index] = body.add(block.bucket_first, "<u4")
        body.add(block.count, "<u4")
        body.add(block.longest, "<u4")
        body.add(bucket.name, "<u4")
        body.add(block.bucket, "<u2")
        body.add(bucket.kind, "u1")
        body.add(block.busy, "u1")
    return body.frame(TILES, entries, took_us)


class _Looks(Struct, frozen=True, eq=False):
    """Columns that are drawn of slices, gathered for all blocks at once, which is faster."""

    first: list[int]
    name: Column
    kind: Column
    flags: Column
    ts: Column
    dur: Column

    @classmethod
    def of(cls, ids: Sequence[Column], slices: Slices) -> _Looks:
        every = np.concatenate(ids) if ids else np.empty(0, np.int32)
        first = [0, *np.cumsum([len(one) for one in ids]).tolist()]
        columns = (slices.name, slices.kind, slices.flags, slices.ts, slices.dur)
        return cls(first, *(column[every] for column in columns))

    def part(self, index: int) -> _Looks:
        """Those of one block."""
        of = slice(self.first[index], self.first[index + 1])
        return _Looks([], self.name[of], self.kind[of], self.flags[of], self.ts[of], self.dur[of])


def _goes_on(block: Block, ts: Column, dur: Column) -> Column:
    """Flag bits of the rects that the edges of the tile cut."""
    width = TILE_BUCKETS << block.level
    left = block.tile * width
    bits = np.where(ts < left, GOES_ON_LEFT, 0) | np.where(
        ts + dur > left + width, GOES_ON_RIGHT, 0
    )
    return bits.astype(np.uint8)


def counters_frame(parts: Sequence[SeriesTile], took_us: float = 0.0) -> bytes:
    """Tiles of series, as one frame."""
    body = _Body(len(parts))
    entries = np.zeros(len(parts), COUNTER_ENTRY)
    for index, part in enumerate(parts):
        at = body.add(part.x, "<u2")
        for column in (part.low, part.high, part.last, part.mean):
            body.add(column, "<f8")
        held = math.nan if part.held is None else part.held
        entries[index] = (part.series, part.level, len(part.x), part.tile, at, held)
    return body.frame(COUNTERS, entries, took_us)


def names_frame(
    first: int, names: Sequence[str], took_us: float = 0.0, most_bytes: int = 1 << 31
) -> bytes:
    """Texts of name codes from ``first`` on, as one frame; as many as fit, one at least."""
    texts = [_cut(name) for name in names]
    body = _Body(1)
    ends = np.cumsum([len(text) for text in texts], dtype=np.uint32)
    room = most_bytes - 4 * np.arange(1, len(texts) + 1)
    fitting = max(int(np.count_nonzero(ends <= room)), 1)
    texts, ends = texts[:fitting], ends[:fitting]
    entries = np.zeros(1, NAMES_ENTRY)
    entries[0] = (first, len(texts), body.add(ends, "<u4"), body.add_bytes(b"".join(texts)))
    return body.frame(NAMES, entries, took_us)


def minimap_frame(tracks: Iterable[Column], took_us: float = 0.0) -> bytes:
    """The busy share of each track, column by column, as one frame."""
    rows = list(tracks)
    body = _Body(len(rows))
    entries = np.zeros(len(rows), MINIMAP_ENTRY)
    for index, busy in enumerate(rows):
        entries[index] = (index, len(busy), body.add(busy, "u1"))
    return body.frame(MINIMAP, entries, took_us)


def _cut(text: str) -> bytes:
    """UTF-8 of a text, cut between characters; characters without UTF-8 become "?"."""
    encoded = text[:NAME_BYTES].encode("utf-8", "replace")
    if len(encoded) <= NAME_BYTES:
        return encoded
    return encoded[:NAME_BYTES].decode("utf-8", "ignore").encode("utf-8")


class _Body:
    """The columns after the directory, each at a multiple of 8; copied once, at the end."""

    def __init__(self, entries: int) -> None:
        self._at = HEADER_BYTES + ENTRY_BYTES * entries
        self._buffers: Buffers = []

    def add(self, column: Column, form: str) -> int:
        """Append a column; returns its offset."""
        return self.add_bytes(np.ascontiguousarray(column, np.dtype(form)).view(np.uint8).data)

    def add_bytes(self, data: bytes | memoryview) -> int:
        """Append bytes; returns their offset."""
        at, length = self._at, len(data)
        padding = -length % ALIGNMENT
        self._buffers.append(data)
        if padding:
            self._buffers.append(bytes(padding))
        self._at += length + padding
        return at

    def frame(self, kind: int, entries: Column, took_us: float) -> bytes:
        """Header, directory and columns."""
        header = np.zeros(1, HEADER)
        header[0] = (MAGIC, VERSION, kind, len(entries), took_us)
        return b"".join([header.tobytes(), entries.tobytes(), *self._buffers])


MOST_BYTES = 4 << 20
MOST_NAME_BYTES = 8192 * (NAME_BYTES + 4)
"""So many names fit, whatever they are."""


def names(subject: Subject, query: NamesQuery) -> bytes:
    """Texts of name codes; fewer than requested at the end, and where they would exceed 4 MB."""
    began = time.perf_counter()
    texts = opened_of(subject, "split").timeline.names[query.first : query.first + query.count]
    return names_frame(query.first, texts, _microseconds(began), MOST_NAME_BYTES)


def tiles(subject: Subject, query: TilesQuery) -> bytes:
    """The cross product of tiles and lane blocks of one level, tile by tile.

    Raises:
        QueryError: a list is no list, too long, names lanes that do not exist, or the answer would
            be larger than 4 MB.
    """
    began = time.perf_counter()
    opened = opened_of(subject, query.layout)
    wanted = blocks(query.blocks, opened)
    found = [
        block
        for tile in tile_numbers(query.tiles, query.level)
        for block in cut_blocks(opened.timeline, opened.layout, query.level, tile, wanted)
    ]
    return _bounded(tiles_frame(found, opened.timeline.slices, _microseconds(began)))


def counters(subject: Subject, query: CountersQuery) -> bytes:
    """Tiles of series at one level, tile by tile.

    Raises:
        QueryError: a list is no list, too long, or names series that do not exist.
    """
    began = time.perf_counter()
    timeline = opened_of(subject, "split").timeline
    series = numbers(query.series, "series", MOST_BLOCKS)
    if series[-1] >= len(timeline.counters):
        raise QueryError(f"there is no series {series[-1]}", hint="See the manifest for them.")
    found = [
        series_tile(timeline, one, query.level, tile)
        for tile in tile_numbers(query.tiles, query.level)
        for one in series
    ]
    return _bounded(counters_frame(found, _microseconds(began)))


def minimap(subject: Subject, query: MinimapQuery) -> bytes:
    """Busy time of each track over the whole trace."""
    began = time.perf_counter()
    opened = opened_of(subject, query.layout)
    rows = as_bytes(
        share(opened.layout.busy.astype(np.int64), opened.timeline.end_ns, query.columns)
    )
    return minimap_frame(rows, _microseconds(began))


def _microseconds(began: float) -> float:
    return (time.perf_counter() - began) * 1e6


def _bounded(frame: bytes) -> bytes:
    if len(frame) > MOST_BYTES:
        raise QueryError(
            f"the answer would be larger than {MOST_BYTES >> 20} MB",
            hint="Ask for fewer tiles or blocks at a time.",
        )
    return frame
