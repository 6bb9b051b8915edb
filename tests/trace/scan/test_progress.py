"""Progress never falls, never passes the whole, and ends with it; whatever reads the file."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from kinetoscope.base.native import native
from kinetoscope.trace.raw import Progress
from kinetoscope.trace.scan import cursor, scanner
from kinetoscope.trace.scan import native as scanning
from kinetoscope.trace.scan.cursor import ScanLimits
from tests.trace.scanned import document

EVENTS = [
    f'{{"ph": "X", "name": "op {number % 7}", "pid": 1, "tid": 2, "ts": {number}, "dur": 1}}'
    for number in range(4000)
]


def stored(form: str, folder: Path) -> Path:
    text = document(*EVENTS)
    path = folder / ("a.json" if form == "plain" else "a.json.gz")
    if form == "plain":
        path.write_bytes(text)
    elif form == "gzip":
        path.write_bytes(gzip.compress(text))
    elif form == "members":
        pieces = [text[at : at + 9000] for at in range(0, len(text), 9000)]
        path.write_bytes(b"".join(map(gzip.compress, pieces)))
    else:  # cut off
        path.write_bytes(gzip.compress(text)[:-2000])
    return path


@pytest.mark.parametrize("form", ["plain", "gzip", "members", "cut"])
@pytest.mark.parametrize("threads", [0, 1, 2, 3])
def test_progress_never_falls_and_ends_with_the_whole(
    form: str, threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the library, and on one to three threads with it."""
    monkeypatch.setattr(scanner, "PROGRESS_SECONDS", 0.0)
    for module in (cursor, scanning):
        monkeypatch.setattr(module, "PIECE_BYTES", 1500)
    told: list[Progress] = []
    path, library = stored(form, tmp_path), native().library
    if threads and library is None:
        pytest.skip(native().reason)
    if threads and library is not None:
        limits = ScanLimits(threads=threads, block_bytes=700)
        scanner.scan_natively(library, path, told.append, limits=limits)
    else:
        scanner.scan_in_python(path, told.append, limits=ScanLimits(block_bytes=700))
    size = path.stat().st_size
    done, events = [one.bytes_done for one in told], [one.events for one in told]
    assert len(told) > 10
    assert {one.bytes_total for one in told} == {size}
    assert done == sorted(done)
    assert events == sorted(events)
    assert (done[-1], max(done)) == (size, size)
    assert events[-1] == 4000 if form != "cut" else 0 < events[-1] < 4000
