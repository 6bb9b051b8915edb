"""What a file is, told from its first bytes, in words that a user understands."""

from __future__ import annotations

import pytest

from kinetoscope.base.errors import TraceFormatError
from kinetoscope.trace.io.source import looks_like_trace, root_of
from kinetoscope.trace.scan.scanner import scan

EVENT_FILE = b"\x18\0\0\0\0\0\0\0\xa3\x7fK\x22\t\0\0\xc0%\xddu\xd5A\x1a\rbrain.Event:2\xec\x12\xfc-"

OTHERS = [
    (b"", "empty"),
    (b" \n\t ", "empty"),
    (bytes(4096), "empty"),
    (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n", "lfs_pointer"),
    (b"<!DOCTYPE html><html>404</html>", "html"),
    (b"\n<html><body>", "html"),
    (b'<?xml version="1.0"?><svg/>', "html"),
    (b'{"schema": "1.1.1-chakra.0.0.4", "pid": 1, "nodes": [', "execution_trace"),
    (b'{"$schema": "https://www.speedscope.app/file-format-schema.json", ', "speedscope"),
    (b'{"rocprofiler-sdk-tool": [', "rocprofiler"),
    (b"[[1795227741905756, 1795227741905756], [[0, 1", "memory_timeline"),
    (b"[[-1, 1, 37888, 7], [-1, 1, 512, 7]]", "memory_timeline"),
    (b"\x80\x04\x95\x10\0\0\0\0\0\0\0}\x94(\x8c\x08something", "pickle"),
    (b'{"segments": [], "device_traces": []}', "memory_snapshot"),
    (b"----------  ------\n      Name    Self CPU %   # of Calls\n", "key_averages"),
    (EVENT_FILE, "event_file"),
    (b"\x89PNG\r\n\x1a\n", "image"),
    (b"\xff\xd8\xff\xe0\0\x10JFIF", "image"),
    (b"SQLite format 3\0", "sqlite"),
    (b"PAR1\x15\x04", "parquet"),
    (b"\x7fELF\x02\x01", "executable"),
    (b"\n\x16\x08\x01R\x12\n\x04\x08\x03\x10\0\0\0\xff\0\0", "perfetto"),
    (b"\x01\x02\x03\0\0\0\xff\xfe", "binary"),
    (b"Name,Type,Duration(us),Stream\nMatMul,AI_CORE,3.2,7\n", "csv"),
    (b"Traceback (most recent call last):\n", "text"),
]


@pytest.mark.parametrize(("head", "kind"), OTHERS)
def test_other_files_are_called_by_their_name(head: bytes, kind: str) -> None:
    with pytest.raises(TraceFormatError) as refusal:
        root_of(head)
    assert refusal.value.kind == kind
    assert refusal.value.hint
    # A memory timeline, and a pickle of a snapshot, are read by readers of their own.
    assert looks_like_trace(head) == (kind == "memory_timeline")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (b'{"traceEvents": null}', "trace_events_type"),
        (b'{"traceEvents": {"0": {"ph": "X"}}}', "trace_events_type"),
        (b'{"traceEvents": "none"}', "trace_events_type"),
        (b'{"schemaVersion": 1}', "no_trace_events"),
        (b"{}", "no_trace_events"),
        (b'{"nodes": [{"id": 2}], "pid": 1}', "execution_trace"),
        (b"[]", "not_events"),
        (b'[{"a": 1}]', "not_events"),
        (b"[1, 2]", "not_events"),
    ],
)
def test_json_that_is_no_trace_is_refused_when_it_is_read(text: bytes, kind: str) -> None:
    with pytest.raises(TraceFormatError) as refusal:
        scan(text)
    assert refusal.value.kind == kind


def test_json_without_events_names_its_keys() -> None:
    with pytest.raises(TraceFormatError, match="its keys: loss, steps"):
        scan(b'{"loss": 0.1, "steps": 7}')


@pytest.mark.parametrize(
    "head",
    [
        b'{\n  "schemaVersion": 1,\n  "deviceProp',
        b'{"traceEvents": [{"ph"',
        b' {"trace_id": "0A", "traceEvents"',
        b'[{"name": "aten::mm", "ph": "X", "ts": 1}',
        b'// produced by tool\n{"traceEvents": [',
        b'[\n {\n  "cat": "cpu_op",\n  "args": {"a": [{}]},\n  "ph": "X"',
    ],
)
def test_traces_are_found_whatever_their_names(head: bytes) -> None:
    assert looks_like_trace(head)
    assert root_of(head) in {"object", "array"}


@pytest.mark.parametrize(
    "head", [b'{"lr": 0.1}', b'[{"a": 1}]', b"[1, 2, 3]", b'{"name": "package", "version"', b"[]"]
)
def test_other_json_is_not_taken_for_a_trace(head: bytes) -> None:
    assert not looks_like_trace(head)
