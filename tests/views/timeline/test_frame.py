"""Frames are what the contract says, byte by byte; the page reads the same fixtures."""

from __future__ import annotations

import json

import numpy as np
import pytest

from kinetoscope.views.timeline import tiles as frame
from tests.views.make_frames import (
    FOLDER,
    LANES,
    SLICES,
    TOOK_US,
    block,
    decoded,
    frames,
    slices,
)

FRAMES = frames()


@pytest.mark.parametrize("name", FRAMES)
def test_the_fixtures_are_what_is_written_now(name: str) -> None:
    """Else: python -m tests.views.make_frames."""
    assert (FOLDER / f"{name}.bin").read_bytes() == FRAMES[name]
    expected = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    assert decoded(FRAMES[name]) == expected


@pytest.mark.parametrize("name", FRAMES)
def test_a_frame_says_how_long_it_took(name: str) -> None:
    assert decoded(FRAMES[name])["took_us"] == (0.0 if name == "no_tiles" else TOOK_US)


def test_no_fixture_is_left_over() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(FRAMES)


@pytest.mark.parametrize("name", FRAMES)
def test_every_frame_is_a_multiple_of_8(name: str) -> None:
    assert len(FRAMES[name]) % 8 == 0


def test_a_tile_says_what_it_shows() -> None:
    first = decoded(FRAMES["tiles"])["entries"][0]
    assert (first["track"], first["lane"], first["lanes"], first["level"]) == (0, 0, 3, 12)
    # 4.096 µs a bucket, 2097.152 µs a tile: slices 4 to 6 start further right
    assert first["slices"] == 4
    assert first["sum_ns"] == 6_603_000
    rects = first["rects"]
    assert rects["lane_first"] == [0, 1, 2, 3]
    assert rects["slice"] == [0, 3, 2]
    assert rects["name"] == [SLICES[i][2] for i in (0, 3, 2)]
    assert rects["kind"] == [SLICES[i][3] for i in (0, 3, 2)]
    assert rects["x0"] == pytest.approx([0, 800 / 4.096, 2 / 4.096])
    assert rects["x1"] == pytest.approx([512, 1700 / 4.096, 702 / 4.096])
    assert rects["flags"] == [8 | frame.GOES_ON_RIGHT, 4, 1 | 8]
    buckets = first["buckets"]
    assert buckets["lane_first"] == [0, 0, 1, 1]
    assert (buckets["slice"], buckets["count"], buckets["x"]) == ([1], [1], [0])
    assert buckets["busy"] == [round(255 * 3 / 4.096)]


def test_what_the_edges_cut_is_marked() -> None:
    second = decoded(FRAMES["tiles"])["entries"][1]
    flags = dict(zip(second["rects"]["slice"], second["rects"]["flags"], strict=True))
    assert flags[0] & 48 == frame.GOES_ON_LEFT | frame.GOES_ON_RIGHT
    assert flags[5] & 48 == frame.GOES_ON_RIGHT


def test_names_are_cut_between_characters() -> None:
    texts = decoded(FRAMES["names"])["entries"][0]["texts"]
    assert texts[2] == "größer → 核函数"
    assert texts[3] == "a" * 512
    assert texts[4] == "é" * 256
    assert texts[5] == "cut ? surrogate"


def test_names_stop_where_they_fill_the_frame() -> None:
    names = ["x" * 600] * 10
    (entry,) = decoded(frame.names_frame(0, names, most_bytes=3 * (512 + 4)))["entries"]
    assert entry["texts"] == ["x" * 512] * 3
    (entry,) = decoded(frame.names_frame(0, names, most_bytes=1))["entries"]
    assert len(entry["texts"]) == 1


def test_big_endian_and_strided_columns_are_written_little_endian() -> None:
    busy = np.arange(20, dtype=np.uint8)[::2]
    assert decoded(frame.minimap_frame([busy]))["entries"][0]["busy"] == busy.tolist()
    one = block(0, 0, 12, 0, LANES)
    swapped = type(one)(
        **{name: getattr(one, name) for name in one.__struct_fields__ if name != "count"},
        count=one.count.astype(">u4"),
    )
    assert frame.tiles_frame([swapped], slices()) == frame.tiles_frame([one], slices())
