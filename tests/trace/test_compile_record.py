"""trace/compile_record: the file beside a trace, found, tied and read within limits."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from kinetoscope.trace import compile_record
from kinetoscope.trace.compile_record import record_beside
from kinetoscope.trace.read import read

NAME = "w.1.compile.json.gz"
RECORD = {
    "format": 1,
    "torch": "2.13.0",
    "functions": [{"id": 0, "name": "f", "file": "a.py", "line": 3}],
    "compilations": [{"id": "0/0", "function": 0, "start_us": 5, "dur_us": 7}],
    "breaks": [{"compilation": "0/0", "reason": "print", "stack": [["a.py", 4, "f"]]}],
}


def _put(folder: Path, value: Any = RECORD, name: str = NAME) -> str:
    data = gzip.compress(json.dumps(value).encode())
    (folder / name).write_bytes(data)
    return hashlib.sha256(data).hexdigest()


def _named(digest: str | None = None, file: str = NAME) -> dict[str, Any]:
    return {"compile": {"file": file, **({"sha256": digest} if digest else {})}}


def _problem(folder: Path, handler: dict[str, Any]) -> str:
    found = record_beside(folder / "w.1.pt.trace.json.gz", handler)
    assert found is not None
    return found.problem


def test_the_named_file_is_read(tmp_path: Path) -> None:
    found = record_beside(tmp_path / "any.json", _named(_put(tmp_path)))
    assert found is not None
    assert (found.problem, found.torch) == ("", "2.13.0")
    assert found.compilations[0].dur_us == 7
    assert found.breaks[0].stack == (("a.py", 4, "f"),)


@pytest.mark.parametrize("trace", ["w.1.pt.trace.json.gz", "w.1.pt.trace.json", "w.1.json"])
def test_an_exported_trace_has_its_record_by_its_name(tmp_path: Path, trace: str) -> None:
    _put(tmp_path)
    found = record_beside(tmp_path / trace, {})
    assert found is not None
    assert found.functions[0].name == "f"


def test_no_file_and_no_name_is_no_record(tmp_path: Path) -> None:
    assert record_beside(tmp_path / "w.1.json", {}) is None
    _put(tmp_path, name="other.compile.json.gz")
    assert record_beside(tmp_path / "w.1.json", {}) is None


def test_a_renamed_pair_is_found_and_must_be_the_same(tmp_path: Path) -> None:
    digest = _put(tmp_path, name="copy.compile.json.gz")
    found = record_beside(tmp_path / "copy.json.gz", _named(digest))
    assert found is not None
    assert found.functions
    found = record_beside(tmp_path / "copy.json.gz", _named("0" * 64))
    assert found is not None
    assert "not the file" in found.problem


def test_a_missing_file_is_said_under_the_name_that_it_is_to_have(tmp_path: Path) -> None:
    missing = f"{NAME} is not beside the trace: copy it, too"
    assert _problem(tmp_path, _named("0" * 64)) == missing
    renamed = record_beside(tmp_path / "copy.json", _named("0" * 64))
    assert renamed is not None
    assert renamed.problem == f"{missing}, as copy.compile.json.gz"


@pytest.mark.parametrize(
    "name", ["../w.compile.json.gz", "/etc/w.compile.json.gz", "a\\b.compile.json.gz", "passwd"]
)
def test_no_name_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    assert "outside of its folder" in _problem(tmp_path, _named(file=name))


def test_a_changed_file_is_refused(tmp_path: Path) -> None:
    digest = _put(tmp_path)
    _put(tmp_path, {**RECORD, "torch": "9"})
    assert "not the file that the trace was recorded with" in _problem(tmp_path, _named(digest))


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "cut off"),
        (b"no gzip at all", "incorrect header"),
        (gzip.compress(b"{}")[:-6], "cut off"),
        (gzip.compress(b'{"functions": ' + b"[" * 5000), "Expected `object`"),
        (gzip.compress(b'{"functions": 7}'), "Expected `array`"),
        (gzip.compress(b'{"format": 2}'), "format 2 of a later kinetoscope"),
        (gzip.compress(b'{"torch": "\xff"}'), "UTF-8"),
    ],
    ids=["empty", "plain", "cut", "nested", "type", "later", "bytes"],
)
def test_what_is_no_record_is_refused_with_a_reason(tmp_path: Path, data: bytes, why: str) -> None:
    (tmp_path / NAME).write_bytes(data)
    assert why in _problem(tmp_path, _named())


def test_sizes_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _put(tmp_path, {**RECORD, "torch": "x" * 100_000})
    monkeypatch.setattr(compile_record, "MOST_TEXT_BYTES", 50_000)
    assert "MiB of text" in _problem(tmp_path, _named())
    monkeypatch.setattr(compile_record, "MOST_BYTES", 100)
    assert "more than" in _problem(tmp_path, _named())


def test_rows_and_texts_are_bounded(tmp_path: Path) -> None:
    many = [{"id": f"{n}/0", "failed": "x" * 9000, "start_us": 2**62} for n in range(6000)]
    _put(tmp_path, {**RECORD, "compilations": many})
    found = record_beside(tmp_path / "w.1.json", _named())
    assert found is not None
    assert len(found.compilations) == 5000
    assert (len(found.compilations[0].failed or ""), found.compilations[0].start_us) == (500, 0)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_pipes_and_links_are_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / NAME)
    assert "no regular file" in _problem(tmp_path, _named())
    (tmp_path / NAME).unlink()
    _put(tmp_path, name="elsewhere")
    (tmp_path / NAME).symlink_to(tmp_path / "elsewhere")
    assert _problem(tmp_path, _named())


def test_the_reader_joins_them(tmp_path: Path) -> None:
    event = {"ph": "X", "cat": "cpu_op", "name": "aten::a", "pid": 1, "tid": 1, "ts": 1, "dur": 2}
    trace = tmp_path / "w.1.pt.trace.json"
    trace.write_text(json.dumps({"kinetoscope": _named(_put(tmp_path)), "traceEvents": [event]}))
    found = read(trace)
    assert found.compile_record is not None
    assert found.compile_record.compilations[0].id == "0/0"
    trace.write_text(json.dumps({"traceEvents": [event]}))
    (tmp_path / NAME).unlink()
    assert read(trace).compile_record is None
