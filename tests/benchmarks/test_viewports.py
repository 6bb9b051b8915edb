"""Viewports lie within the trace, and their tiles cover them."""

from __future__ import annotations

from benchmarks._viewports import WIDTH_PX, blocks_of, percentile, viewports
from hypothesis import given
from hypothesis import strategies as st

END = 60_000_000_000
MANIFEST = {
    "start_ns": 0,
    "end_ns": END,
    "tile_buckets": 512,
    "lane_block": 16,
    "max_level": 28,
    "tracks": [{"lanes": 54}, {"lanes": 1}, {"lanes": 4}],
}


def test_blocks_from_top_to_bottom() -> None:
    assert blocks_of(MANIFEST) == ["0.0", "0.16", "0.32", "0.48", "1.0", "2.0"]


@given(st.integers(0, 10_000))
def test_tiles_cover_the_window_at_a_pixel_or_less(seed: int) -> None:
    for viewport in viewports(MANIFEST, 3, seed):
        query = viewport.tiles(MANIFEST)
        assert 0 <= viewport.start_ns < viewport.end_ns <= END
        bucket = 1 << int(query["level"])
        ns_per_px = (viewport.end_ns - viewport.start_ns) / WIDTH_PX
        assert ns_per_px / 2 < bucket <= max(1, ns_per_px)
        first, last = map(int, query["tiles"].split("-"))
        assert first * 512 * bucket <= viewport.start_ns
        assert viewport.end_ns <= (last + 1) * 512 * bucket
        assert last - first < 16  # what one request may ask for
        assert len(viewport.blocks) == 3


def test_percentiles_are_values_that_were_measured() -> None:
    values = [5.0, 1.0, 3.0, 2.0, 4.0]
    assert percentile(values, 0.5) == 3.0
    assert percentile(values, 0.95) == 5.0
    assert percentile([7.0], 0.5) == 7.0
