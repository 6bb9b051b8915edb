"""How files appear: whole, under a name nobody had, readable by whom the umask allows."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest

from kinetoscope.handlers import tensorboard_trace_handler
from kinetoscope.handlers.metadata import splice
from tests.handlers.recording import SMALL_TRACE, StandIn, files_in, read, save


def test_while_a_trace_is_written_only_hidden_temporary_files_exist(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []

    def look(path: Path) -> None:
        path.write_bytes(SMALL_TRACE)
        seen.append(files_in(tmp_path))

    def look_and_splice(start: bytes, metadata: bytes) -> bytes:
        seen.append(files_in(tmp_path))
        return splice(start, metadata)

    monkeypatch.setattr("kinetoscope.handlers.writer.splice", look_and_splice)
    path = save(tensorboard_trace_handler(tmp_path, "worker0"), StandIn(instead=look))

    exporting, packing = seen
    assert (len(exporting), len(packing)) == (1, 2)
    assert all(name.startswith(".") and name.endswith(".tmp") for name in exporting + packing)
    assert path is not None
    assert files_in(tmp_path) == [path.name]


@pytest.mark.parametrize("links", [True, False], ids=["links", "no links"])
def test_a_name_that_is_taken_is_not_taken_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    """The clock stands still, as on a machine whose clock is coarse or was set back."""

    def refuse(source: object, target: object) -> None:
        raise PermissionError(1, "Operation not permitted", source, None, target)

    if not links:
        monkeypatch.setattr(os, "link", refuse)
    monkeypatch.setattr("time.time_ns", lambda: 1_700_000_000_000_000_000)
    handler = tensorboard_trace_handler(tmp_path, "worker0")

    for number in range(3):
        save(handler, StandIn(b'{"traceEvents": [], "number": %d}' % number))

    names = [f"worker0.170000000000000000{n}.pt.trace.json.gz" for n in range(3)]
    assert files_in(tmp_path) == names
    assert [read(tmp_path / name)["number"] for name in names] == [0, 1, 2]


def test_a_dangling_link_is_not_written_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.time_ns", lambda: 1)
    (tmp_path / "w.1.pt.trace.json.gz").symlink_to(tmp_path / "elsewhere")

    path = save(tensorboard_trace_handler(tmp_path, "w"), StandIn())

    assert path == tmp_path / "w.2.pt.trace.json.gz"
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("use_gzip", [True, False])
def test_permissions_follow_the_umask(tmp_path: Path, use_gzip: bool) -> None:
    before = os.umask(0o027)
    try:
        path = save(tensorboard_trace_handler(tmp_path, use_gzip=use_gzip), StandIn())
    finally:
        os.umask(before)

    assert path is not None
    assert path.stat().st_mode & 0o777 == 0o640


def test_many_blocks_arrive_in_order(tmp_path: Path) -> None:
    events = b",".join(b'{"name": "event %d"}' % n for n in range(200_000))  # 4.8 MB
    content = b'{"traceEvents": [' + events + b"]}"

    path = save(tensorboard_trace_handler(tmp_path), StandIn(content))

    assert path is not None
    packed = gzip.decompress(path.read_bytes())
    assert packed.endswith(content[1:])


def test_another_compression_level(tmp_path: Path) -> None:
    content = b'{"traceEvents": [' + b",".join(b'{"n": %d}' % n for n in range(10_000)) + b"]}"
    sizes = []
    for level in (1, 9):
        path = save(tensorboard_trace_handler(tmp_path, compresslevel=level), StandIn(content))
        assert path is not None
        sizes.append(path.stat().st_size)

    assert sizes[0] > sizes[1]
