"""The address map as the page gets it: bands, and frames read back by their description."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from kinetoscope.analysis.memory.address_map import BUCKETS, ROWS
from kinetoscope.base.errors import QueryError
from kinetoscope.session.session import TraceSession
from kinetoscope.views.memory.contract import MapQuery, MapTilesQuery
from kinetoscope.views.memory.tiles import address_map, map_tiles
from kinetoscope.views.memory.view import VIEW
from kinetoscope.views.view import Subject
from tests.analysis.memory.made import MadeMemory
from tests.drawing import draw, memory


@pytest.fixture(name="subject", scope="module")
def drawn() -> Subject:
    made = MadeMemory()
    made.allocate(1, "a", 400)
    made.allocate(2, "b", 8)
    made.release(3, "b")
    made.release(9, "a")
    return TraceSession(draw("op |aaaaaaaaaaaa|", events=made.events)).subject(VIEW)


def unpacked(frame: bytes) -> list[dict[str, Any]]:
    """Entries of a frame with their columns."""
    magic, version, kind = np.frombuffer(frame, "<u4,<u2,<u2", 1)[0]
    assert (magic, version, kind) == (0x3150414D, 1, 0)
    found = []
    for index in range(int(np.frombuffer(frame, "<u4", 1, 8)[0])):
        head = 32 + 64 * index
        rects, cells = np.frombuffer(frame, "<u4", 2, head).tolist()
        tile, row_tile = np.frombuffer(frame, "<f8", 2, head + 16).tolist()
        rects_at, cells_at = np.frombuffer(frame, "<u4", 2, head + 32).tolist()
        entry = {
            "level": frame[head + 8],
            "row_level": frame[head + 9],
            "tile": tile,
            "row": row_tile,
        }
        columns = (("x0", "<f4"), ("x1", "<f4"), ("y0", "<f4"), ("y1", "<f4"), ("block", "<u4"),
                   ("category", "u1"), ("flags", "u1"))  # fmt: skip
        for at, count, described in (
            (rects_at, rects, columns),
            (cells_at, cells, (("cell", "<u4"), ("covered", "u1"), ("of", "u1"))),
        ):
            offset = at
            for name, form in described:
                entry[name] = np.frombuffer(frame, form, count, offset).tolist()
                length = count * np.dtype(form).itemsize
                offset += length + -length % 8
        found.append(entry)
    return found


def test_a_frame_reads_as_it_is_described(subject: Subject) -> None:
    bands = address_map(subject, MapQuery())
    assert [band.offset for band in bands.bands] == [0]
    assert bands.bytes == 512 + 8
    assert "segments" in bands.note
    # 1024 ns × 64 bytes: the large block is drawn, the small one covers a part of a cell.
    (tile,) = unpacked(map_tiles(subject, MapTilesQuery(level=10, row_level=6)))
    assert (tile["level"], tile["row_level"], tile["tile"], tile["row"]) == (10, 6, 0, 0)
    assert tile["x0"] == pytest.approx([1000 / 1024])
    assert tile["x1"] == pytest.approx([9000 / 1024])
    assert [y1 - y0 for y0, y1 in zip(tile["y0"], tile["y1"], strict=True)] == [400 / 64]
    assert tile["flags"] == [0]
    assert sum(tile["covered"]) > 0


def test_what_an_edge_cuts_says_so(subject: Subject) -> None:
    # 8 ns × 1 byte: the tile is 4.096 µs × 256 bytes, and the block lasts from 1 to 9 µs.
    cut = unpacked(map_tiles(subject, MapTilesQuery(level=3, row_level=0, tiles="0.0,1.0,1.1,2.0")))
    flags = [flag for tile in cut for block, flag in zip(tile["block"], tile["flags"], strict=True)
             if block == 0]  # fmt: skip
    assert flags == [2 | 8, 1 | 2 | 8, 1 | 2 | 4, 1 | 8]
    assert max(x for tile in cut for x in tile["x1"]) <= 512
    assert max(y for tile in cut for y in tile["y1"]) <= 256


@pytest.mark.parametrize("tiles", ["", "1", "0.0;1.0", "a.b", ",".join(f"{n}.0" for n in range(9))])
def test_what_is_no_list_of_tiles_is_refused(subject: Subject, tiles: str) -> None:
    with pytest.raises(QueryError, match="tiles"):
        map_tiles(subject, MapTilesQuery(tiles=tiles))
    with pytest.raises(QueryError, match="beyond"):
        map_tiles(subject, MapTilesQuery(level=50, tiles=f"{10**14}.0"))


def test_without_addresses_there_is_a_reason_and_nothing_to_draw() -> None:
    subject = TraceSession(draw("op |aaa|", events=[memory(1, 64, None)])).subject(VIEW)
    assert "Addresses" in address_map(subject, MapQuery()).missing
    (tile,) = unpacked(map_tiles(subject, MapTilesQuery()))
    assert (tile["block"], tile["cell"]) == ([], [])


@pytest.mark.parametrize(
    ("tiles", "is_refused"),
    [
        (f"{(1 << 62 - 20) // BUCKETS - 1}.0", True),  # ends at 2^62 ns
        (f"{(1 << 62 - 20) // BUCKETS - 2}.0", False),
        (f"0.{(1 << 62 - 8) // ROWS - 1}", True),
        (f"0.{(1 << 62 - 8) // ROWS - 2}", False),
    ],
)
def test_tiles_end_before_all_numbers_do(subject: Subject, tiles: str, is_refused: bool) -> None:
    query = MapTilesQuery(level=20, row_level=8, tiles=tiles)
    if is_refused:
        with pytest.raises(QueryError, match="beyond all time"):
            map_tiles(subject, query)
    else:
        assert len(unpacked(map_tiles(subject, query))) == 1
