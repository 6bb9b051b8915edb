"""What holds for every recording: parts sum to the whole, an excerpt is what it was cut from."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from kinetoscope.base.errors import KinetoscopeError
from tests.conftest import TRACES, requires_traces
from tests.views.parts import Asked, asked_file

pytestmark = requires_traces

LARGEST_BYTES = 3_000_000
KINDS = sorted(path.name for path in TRACES.iterdir() if path.is_dir()) if TRACES.is_dir() else []
WITHOUT_TRACES = {"cuda_memory_snapshots"}


def candidates(kind: str) -> Iterator[Path]:
    """Files of a kind, the larger ones first, but none that takes long."""
    files = [path for path in (TRACES / kind).rglob("*.json*") if path.is_file()]
    sizes = {path: path.stat().st_size for path in files}
    small = [path for path in files if sizes[path] <= LARGEST_BYTES]
    yield from sorted(small, key=lambda path: (-sizes[path], path.name))


@cache
def recording(kind: str) -> Asked:
    """One recording of a kind."""
    for path in candidates(kind):
        try:
            return asked_file(path)
        except KinetoscopeError:
            continue
    pytest.skip(f"no small trace of the kind {kind}")


def spans(end: int) -> Iterator[tuple[int, int]]:
    """The whole, and parts of it of all sizes."""
    yield 0, end + 1
    chance = random.Random(11)  # the same each time
    for size in (0.5, 0.1, 0.01, 0.0001):
        start = chance.randrange(end + 1)
        yield start, start + max(int(end * size), 1)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in WITHOUT_TRACES])
@pytest.mark.parametrize("layout", ["split", "merged", "filtered"])
def test_areas_rows_and_trees_agree(kind: str, layout: str) -> None:
    view = recording(kind)
    manifest = view.manifest(layout=layout)
    shown = sum(track.slices for track in manifest.tracks)
    assert shown == manifest.slices or layout == "filtered"
    for start, end in spans(manifest.end_ns):
        query = {"start_ns": start, "end_ns": end, "layout": layout}
        area = view("area", **query, limit=5000)
        assert area.slices == view("rows", **query, limit=1).count
        assert area.slices == shown or (start, end) != (0, manifest.end_ns + 1)
        if area.row_count <= 5000:
            assert sum(row.count for row in area.rows) == area.slices
            assert sum(row.total_ns for row in area.rows) == area.total_ns
        for row in area.rows:
            assert 0 <= row.self_ns <= row.total_ns
            assert row.min_ns <= row.p50_ns <= row.p95_ns <= row.max_ns <= end - start
        for device in area.devices:
            assert device.busy_ns + device.idle_ns + device.unknown_ns == end - start
            assert device.overlap_ns <= min(device.compute_ns, device.communication_ns)
        flame = view("flame", **query)
        assert flame.total == pytest.approx(sum(node.self_value for node in flame.nodes))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in WITHOUT_TRACES])
def test_slices_lead_to_each_other(kind: str) -> None:
    view = recording(kind)
    chance = random.Random(5)  # the same each time
    for one in chance.sample(range(view.manifest().slices), min(view.manifest().slices, 25)):
        details = view("slice", slice=one)
        assert details.args_missing in {"", "The recorder wrote none."}
        for link in details.links:
            assert link.count >= 1
            if link.relation in {"launched by", "launches"}:
                # A call may launch more than the one that its details name.
                arrows = view("flows", slice=link.to.slice).arrows
                assert one in {end for a in arrows for end in (a.source.slice, a.target.slice)}
        after = view("move", slice=one, by="lane").to
        if after is not None:
            before = view("move", slice=after.slice, by="lane", direction="previous").to
            assert before is not None
            assert before.slice == one


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in WITHOUT_TRACES])
def test_an_excerpt_has_what_touches_the_window(kind: str, tmp_path: Path) -> None:
    view = recording(kind)
    end = view.manifest().end_ns
    window = {"start_ns": end // 3, "end_ns": end // 3 + end // 5 + 1}
    path = tmp_path / "excerpt.pt.trace.json.gz"
    path.write_bytes(view("export", **window))
    events = json.loads(gzip.decompress(path.read_bytes()))["traceEvents"]
    count = view("area", **window).slices
    assert sum(event["ph"] == "X" for event in events) == count
    if count:
        assert asked_file(path).manifest().slices == count
