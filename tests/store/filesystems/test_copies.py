"""store/filesystems/copies: the record of torch.compile comes with the trace beside it."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kinetoscope.handlers.remote_address import parse
from kinetoscope.handlers.remote_filesystem import RemoteFilesystem
from kinetoscope.session.session import choose
from kinetoscope.store.cache.location import open_cache
from kinetoscope.store.discovery.walk import FileVersion, FoundFile, PassedOver, look_far
from kinetoscope.store.filesystems.copies import Copies
from kinetoscope.store.filesystems.listing import list_files
from kinetoscope.trace.compile_record import CompileRecord
from kinetoscope.trace.read import read
from tests.handlers.recording import SMALL_TRACE

fsspec = pytest.importorskip("fsspec")

RECORD = gzip.compress(
    json.dumps(
        {
            "functions": [{"id": 0, "name": "net", "file": "net.py", "line": 3}],
            "compilations": [{"id": "0/0", "function": 0}],
        }
    ).encode()
)


@pytest.fixture
def bucket() -> Iterator[Any]:
    fs = fsspec.filesystem("memory")
    fs.store.clear()
    yield fs
    fs.store.clear()


def _trace(**handler: Any) -> bytes:
    return json.dumps({**json.loads(SMALL_TRACE), "kinetoscope": handler}).encode()


def _read(name: str) -> CompileRecord | None:
    copies = Copies(open_cache())
    places = {
        one.name: copies.bring(one) for one in list_files(RemoteFilesystem(parse("memory://b")))
    }
    return read(places[name]).compile_record


@pytest.mark.parametrize(
    "handler",
    [
        {},
        {"compile": {"file": "w.1.compile.json.gz", "sha256": hashlib.sha256(RECORD).hexdigest()}},
    ],
)
def test_the_record_beside_a_remote_trace_is_read(bucket: Any, handler: dict[str, Any]) -> None:
    bucket.pipe_file("/b/w.1.pt.trace.json", _trace(**handler))
    bucket.pipe_file("/b/w.1.compile.json.gz", RECORD)
    found = _read("w.1.pt.trace.json")
    assert found is not None
    assert (found.problem, found.functions[0].name) == ("", "net")
    own = choose("memory://b/w.1.pt.trace.json").session().facts().compiled
    assert own is not None
    assert own.recorded


def test_a_record_that_comes_later_is_read_with_the_trace(bucket: Any) -> None:
    bucket.pipe_file("/b/w.1.pt.trace.json", _trace())
    bucket.pipe_file("/b/w.2.pt.trace.json", _trace(is_other=True))
    folder, address = RemoteFilesystem(parse("memory://b")), "memory://b/w.1.pt.trace.json"

    def copied() -> list[Path]:
        copies = Copies(open_cache())
        return [copies.place(one) for one in sorted(list_files(folder), key=lambda i: i.path)]

    def seen() -> list[FileVersion]:
        found = look_far(folder, Copies(open_cache()), PassedOver())
        files = [one for one in found if isinstance(one, FoundFile)]
        return [one.identity for one in sorted(files, key=lambda i: i.path)]

    assert choose(address).session().facts().compiled is None
    places, versions = copied(), seen()
    bucket.pipe_file("/b/w.1.compile.json.gz", RECORD)
    found = choose(address).session().facts().compiled
    assert found is not None
    assert found.recorded
    assert copied()[1] != places[0]
    assert copied()[2] == places[1]
    assert seen()[0] != versions[0]
    assert seen()[1] == versions[1]


def test_a_record_of_another_recording_is_refused(bucket: Any) -> None:
    handler = {"compile": {"file": "w.1.compile.json.gz", "sha256": "0" * 64}}
    bucket.pipe_file("/b/w.1.pt.trace.json", _trace(**handler))
    bucket.pipe_file("/b/w.1.compile.json.gz", RECORD)
    found = _read("w.1.pt.trace.json")
    assert found is not None
    assert "not the file that the trace was recorded with" in found.problem


def test_a_remote_trace_without_a_record_is_read_as_before(bucket: Any) -> None:
    bucket.pipe_file("/b/w.1.pt.trace.json", _trace())
    assert _read("w.1.pt.trace.json") is None
    handler = {"compile": {"file": "w.1.compile.json.gz", "sha256": "0" * 64}}
    bucket.pipe_file("/b/w.2.pt.trace.json", _trace(**handler))
    found = _read("w.2.pt.trace.json")
    assert found is not None
    assert "copy it, too" in found.problem


def test_a_record_that_is_too_large_is_not_fetched(
    bucket: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kinetoscope.store.filesystems.copies.MOST_BYTES", len(RECORD) - 1)
    bucket.pipe_file("/b/w.1.pt.trace.json", _trace())
    bucket.pipe_file("/b/w.1.compile.json.gz", RECORD)
    assert _read("w.1.pt.trace.json") is None
    monkeypatch.setattr("kinetoscope.store.filesystems.copies.MOST_BYTES", len(RECORD))
    bucket.pipe_file("/b/w.1.pt.trace.json", _trace(is_other=True))
    assert _read("w.1.pt.trace.json") is not None
