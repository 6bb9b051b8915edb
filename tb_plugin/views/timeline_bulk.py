"""Names, tiles, counters and the minimap: what is drawn, as binary frames."""

from __future__ import annotations

import time

import numpy as np

from ..analysis.timeline.cut import cut_blocks
from ..analysis.timeline.minimap import as_bytes, share
from ..analysis.timeline.series import series_tile
from ..base.errors import QueryError
from .timeline_frame import NAME_BYTES, counters_frame, minimap_frame, names_frame, tiles_frame
from .timeline_lists import MOST_BLOCKS, blocks, numbers, tile_numbers
from .timeline_open import opened_of
from .timeline_queries import CountersQuery, MinimapQuery, NamesQuery, TilesQuery
from .view import Subject

MOST_BYTES = 4 << 20
MOST_NAME_BYTES = 8192 * (NAME_BYTES + 4)
"""So many names fit, whatever they are."""


def names(subject: Subject, query: NamesQuery) -> bytes:
    """Texts of name codes; fewer than asked for at the end, and where they would fill 4 MB."""
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
    """How busy each track is over the whole trace."""
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
