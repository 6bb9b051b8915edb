"""Frames of the Trace view as fixtures, and what a reader has to find in them.

    python -m tests.views.make_frames

writes ``tests/fixtures/frames/<name>.bin`` and ``<name>.json``. The page's tests read them, so that
who writes frames and who reads them are held against the same bytes. A column of the JSON is a list
of numbers; NaN is null.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kinetoscope.analysis.timeline.counter_tiles import SeriesTile
from kinetoscope.analysis.timeline.model import TILE_BUCKETS, Block, SliceFlag, SliceKind, Slices
from kinetoscope.views.timeline import tiles as frame
from tests.conftest import ROOT

FOLDER = ROOT / "tests" / "fixtures" / "frames"
TOOK_US = 1234.5
US = 1000

# Slices by id: start and length in µs, name code, kind, flags.
SLICES = [
    (0, 5000, 0, SliceKind.OP, SliceFlag.CHILDREN),
    (1, 3, 1, SliceKind.RUNTIME, SliceFlag.FLOW),
    (2, 700, 2, SliceKind.PYTHON, SliceFlag.OVERLAP | SliceFlag.CHILDREN),
    (800, 900, 3, SliceKind.COMPUTE, SliceFlag.FLOW),
    (2100, 0, 1, SliceKind.MEMCPY, 0),
    (2200, 90_000, 4, SliceKind.COMMUNICATION, SliceFlag.INCOMPLETE),
    (3000, 40, 70_000, SliceKind.RANGE, 0),
]
LANES = [[0, 5], [1, 3, 4], [2, 6]]
NAMES = [
    "aten::mm",
    "",
    "größer → 核函数",
    "a" * 600,
    "é" * 300,
    "cut \ud800 surrogate",
    "<b>&amp;",
]


def slices() -> Slices:
    """The slices as columns."""
    ts, dur, name, kind, flags = (np.array(column) for column in zip(*SLICES, strict=True))
    none = np.full(len(SLICES), -1, np.int32)
    return Slices(
        ts=ts.astype(np.int64) * US,
        dur=dur.astype(np.int64) * US,
        name=name.astype(np.int32),
        kind=kind.astype(np.uint8),
        flags=flags.astype(np.uint8),
        parent=none,
        self_ns=dur.astype(np.int64) * US,
        step=none,
        raw=np.arange(len(SLICES), dtype=np.int32),
    )


def block(track: int, lane: int, level: int, tile: int, lanes: Sequence[Sequence[int]]) -> Block:
    """What a tile shows of lanes, written as the rule says it: slice by slice."""
    width, bucket = TILE_BUCKETS << level, 1 << level
    left, right = tile * width, (tile + 1) * width
    rects: list[tuple[float, float, int]] = []
    buckets: list[tuple[int, int, int, int]] = []
    rect_first, bucket_first, count, total = [0], [0], 0, 0
    for ids in lanes:
        short: dict[int, list[int]] = {}
        for one in ids:
            ts, dur = SLICES[one][0] * US, SLICES[one][1] * US
            if left <= ts < right:
                count, total = count + 1, total + dur
            if dur < bucket and left <= ts < right:
                short.setdefault((ts - left) // bucket, []).append(one)
            elif dur >= bucket and ts < right and ts + dur > left:
                x0, x1 = max(ts, left) - left, min(ts + dur, right) - left
                rects.append((x0 / bucket, x1 / bucket, one))
        for x, members in sorted(short.items()):
            lengths = [SLICES[one][1] * US for one in members]
            busy = min(255, round(255 * sum(lengths) / bucket))
            longest = members[lengths.index(max(lengths))]
            buckets.append((x, len(members), busy, longest))
        rect_first.append(len(rects))
        bucket_first.append(len(buckets))
    return Block(
        track=track,
        lane=lane,
        level=level,
        tile=tile,
        rect_first=np.array(rect_first, np.uint32),
        x0=np.array([one[0] for one in rects], np.float32),
        x1=np.array([one[1] for one in rects], np.float32),
        rect=np.array([one[2] for one in rects], np.int32),
        bucket_first=np.array(bucket_first, np.uint32),
        bucket=np.array([one[0] for one in buckets], np.uint16),
        count=np.array([one[1] for one in buckets], np.uint32),
        busy=np.array([one[2] for one in buckets], np.uint8),
        longest=np.array([one[3] for one in buckets], np.int32),
        slice_count=count,
        sum_ns=total,
    )


def series_tiles() -> list[SeriesTile]:
    """A tile with points and nothing before them, and one that only goes on."""
    points = SeriesTile(
        series=2,
        level=12,
        tile=3,
        held=None,
        x=np.array([0, 17, 511], np.uint16),
        low=np.array([0.0, -1.5, 3e9]),
        high=np.array([1.0, 2.25, 8e9]),
        last=np.array([0.5, 2.25, 4e9]),
        mean=np.array([0.75, 0.125, 5e9]),
    )
    none = np.empty(0)
    held = SeriesTile(0, 12, 2**33, 42.0, none.astype(np.uint16), none, none, none, none)
    return [points, held]


def frames() -> Mapping[str, bytes]:
    """Name → frame."""
    deep: list[Sequence[int]] = [LANES[0], LANES[1], LANES[2], *([[]] * 13)]
    empty = block(2, 16, 20, 2**32 + 5, [[]])
    busy = np.arange(17, dtype=np.uint8) * 15
    return {
        "tiles": frame.tiles_frame(
            [
                block(0, 0, 12, 0, LANES),  # rects and buckets, cut at the right edge
                block(0, 0, 12, 1, LANES),  # cut on both sides
                block(1, 16, 6, 0, LANES[:1]),
                block(3, 0, 17, 0, deep),  # 16 lanes
                empty,  # far beyond 32 bits
            ],
            slices(),
            TOOK_US,
        ),
        "no_tiles": frame.tiles_frame([], slices(), 0.0),
        "counters": frame.counters_frame(series_tiles(), TOOK_US),
        "names": frame.names_frame(5, NAMES, TOOK_US),
        "minimap": frame.minimap_frame([busy, busy[::-1], np.zeros(17, np.uint8)], TOOK_US),
    }


# --- reading, as the contract says it and with nothing of the writer -----------------------------


def decoded(data: bytes) -> dict[str, Any]:
    """A frame as plain values."""
    magic, version, kind, entries, took = _record(data, 0, "<u4", "<u2", "<u2", "<u4", 4, "<f8")
    assert (magic, version) == (0x31464C54, 1)
    read = (_tile, _series, _names, _minimap)[kind]
    return {
        "kind": kind,
        "took_us": took,
        "entries": [read(data, 32 + 64 * index) for index in range(entries)],
    }


def _tile(data: bytes, at: int) -> dict[str, Any]:
    track, lane, lanes, level, rects, buckets, tile, rects_at, buckets_at, count, total = _record(
        data, at, "<u4", "<u2", "u1", "u1", "<u4", "<u4", "<f8", "<u4", "<u4", "<f8", "<f8"
    )
    many, forms = lanes + 1, ("<f4", "<f4", "<u4", "<u4", "u1", "u1")
    rect_columns = _columns(data, rects_at, many, rects, forms)
    forms = ("<u4", "<u4", "<u4", "<u2", "u1", "u1")
    bucket_columns = _columns(data, buckets_at, many, buckets, forms)
    rect_keys = ("lane_first", "x0", "x1", "slice", "name", "kind", "flags")
    bucket_keys = ("lane_first", "count", "slice", "name", "x", "kind", "busy")
    return {
        "track": track,
        "lane": lane,
        "lanes": lanes,
        "level": level,
        "tile": tile,
        "slices": count,
        "sum_ns": total,
        "rects": dict(zip(rect_keys, rect_columns, strict=True)),
        "buckets": dict(zip(bucket_keys, bucket_columns, strict=True)),
    }


def _series(data: bytes, at: int) -> dict[str, Any]:
    series, level, points, tile, points_at, held = _record(
        data, at, "<u4", 3, "u1", "<u4", 4, "<f8", "<u4", 4, "<f8"
    )
    columns = _columns(data, points_at, 0, points, ("<u2", "<f8", "<f8", "<f8", "<f8"))[1:]
    return {
        "series": series,
        "level": level,
        "tile": tile,
        "held": None if math.isnan(held) else held,
        **dict(zip(("x", "low", "high", "last", "mean"), columns, strict=True)),
    }


def _names(data: bytes, at: int) -> dict[str, Any]:
    first, count, ends_at, text_at = _record(data, at, "<u4", "<u4", "<u4", "<u4")
    ends = np.frombuffer(data, "<u4", count, ends_at).tolist()
    texts = [
        data[text_at + start : text_at + end].decode("utf-8")
        for start, end in zip([0, *ends], ends, strict=False)
    ]
    return {"first": first, "texts": texts}


def _minimap(data: bytes, at: int) -> dict[str, Any]:
    track, columns, busy_at = _record(data, at, "<u4", "<u4", "<u4")
    return {"track": track, "busy": np.frombuffer(data, "u1", columns, busy_at).tolist()}


def _record(data: bytes, at: int, *forms: str | int) -> list[Any]:
    """Values one after the other; a number skips so many bytes."""
    values = []
    for form in forms:
        if isinstance(form, int):
            at += form
            continue
        values.append(np.frombuffer(data, form, 1, at)[0].item())
        at += np.dtype(form).itemsize
    return values


def _columns(
    data: bytes, at: int, lanes: int, count: int, forms: Sequence[str]
) -> list[list[float]]:
    """``lane_first`` and the columns behind it, each at a multiple of 8."""
    columns = []
    for length, form in ((lanes, "<u4"), *((count, form) for form in forms)):
        columns.append(np.frombuffer(data, form, length, at).tolist())
        at += -(-length * np.dtype(form).itemsize // 8) * 8
    return columns


def main() -> None:
    """Writes the fixtures."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, data in frames().items():
        (FOLDER / f"{name}.bin").write_bytes(data)
        text = json.dumps(decoded(data), ensure_ascii=False, allow_nan=False, indent=1)
        (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
