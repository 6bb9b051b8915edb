"""Files that end too early, and files into which more than one trace was written."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from kinetoscope.base.errors import TraceFormatError
from kinetoscope.trace.io.source import looks_like_trace
from kinetoscope.trace.model import Trace
from kinetoscope.trace.raw import RawTrace
from kinetoscope.trace.read import read
from kinetoscope.trace.scan.scanner import scan, scan_in_python
from tests.trace.reread import read_event

from .scanned import everything, faults, rows

READERS = pytest.mark.parametrize("read_text", [scan, scan_in_python])
Read = Callable[[bytes], RawTrace]


def events(name: str, count: int = 3) -> list[dict[str, object]]:
    return [
        {"ph": "X", "cat": "cpu_op", "name": f"{name}{n}", "pid": 1, "tid": 1, "ts": n, "dur": 1}
        for n in range(count)
    ]


def document(name: str, **metadata: object) -> str:
    return json.dumps({**metadata, "traceEvents": events(name)})


WHOLE = document("long name of an op ", schemaVersion=1) + "\n"
INSIDE = WHOLE.index("long name of an op 2")
LAST = WHOLE.rindex("{")


def packed(data: bytes) -> bytes:
    """The same bytes at any time: parameters name the tests."""
    return gzip.compress(data, mtime=0)


PACKED = packed(WHOLE.encode())
AFTER = json.dumps({"traceEvents": events("a"), "traceName": "recording"})


def written(folder: Path, data: bytes) -> Trace:
    path = folder / "worker0.pt.trace.json"
    path.write_bytes(data)
    return read(path)


@pytest.mark.parametrize(
    ("data", "offset"),
    [
        (packed(b"[" + b",".join([json.dumps(e).encode() for e in events("a", 999)]))[:-900], None),
        (WHOLE[: INSIDE + 9].encode(), LAST),
        (WHOLE[: LAST + 1].encode(), LAST),
        (WHOLE[: LAST + 3].encode(), LAST),
        (WHOLE[: LAST + 30].encode(), LAST),
        (packed(WHOLE[: LAST + 30].encode()), LAST),
        (WHOLE[: INSIDE + 3].encode() + b"\\", LAST),
        (WHOLE[:LAST].rstrip(" ").encode(), LAST - 1),
        (WHOLE[:-3].encode(), len(WHOLE) - 3),
        (WHOLE[:-2].encode(), len(WHOLE) - 2),
        (AFTER[:-5].encode(), AFTER.index('"recording')),
        (AFTER[:-16].encode(), AFTER.index('"traceName')),
        (json.dumps(events("a"))[:-1].encode(), len(json.dumps(events("a"))) - 1),
        (WHOLE[: LAST + 30].encode() + bytes(5000), LAST),
        (PACKED[: len(PACKED) // 2] , None),
        ("\n".join(json.dumps(e) for e in events("a", 2)).encode() + b'\n{"ph": "X"', None),
        ((document("a") + document("b")[:-20]).encode(), None),
    ],
)  # fmt: skip
def test_every_way_of_being_cut_is_one_fact_with_a_place(
    tmp_path: Path, data: bytes, offset: int | None
) -> None:
    health = written(tmp_path, data).health
    cut = health.cut
    assert cut is not None
    assert (cut.kind, cut.severity) == ("truncated", "error")
    assert cut.offset >= 0
    assert offset in (None, cut.offset)
    assert "complete" not in {note.kind for note in health.notes}


@pytest.mark.parametrize("missing", [1, 3, 8])
def test_a_whole_trace_without_the_trailer_of_gzip_is_not_cut(tmp_path: Path, missing: int) -> None:
    health = written(tmp_path, PACKED[:-missing]).health
    assert health.cut is None
    assert "gzip_unfinished" in {note.kind for note in health.costly}
    assert "complete" not in {note.kind for note in health.notes}


def test_a_whole_file_is_not_cut(tmp_path: Path) -> None:
    health = written(tmp_path, PACKED).health
    assert health.cut is None
    assert "complete" in {note.kind for note in health.notes}


@READERS
@pytest.mark.parametrize("between", ["", "\n", " \r\n\n"])
def test_traces_one_behind_the_other_are_all_read(read_text: Read, between: str) -> None:
    raw = read_text(between.join([document("a", host="x"), document("b", host="y", rank=1),
                                  json.dumps(events("c"))]).encode())  # fmt: skip
    assert [row["name"] for row in rows(raw)] == [f"{name}{n}" for name in "abc" for n in range(3)]
    assert faults(raw) == {"repeated_document": 2}
    assert raw.metadata == {"host": "x", "rank": 1}


@READERS
def test_stamps_of_a_second_trace_are_on_the_axis_of_the_first(read_text: Read) -> None:
    first = document("a", baseTimeNanoseconds=1_000)
    for second in (
        document("b", baseTimeNanoseconds=51_000),
        json.dumps({"traceEvents": events("b"), "baseTimeNanoseconds": 51_000}),
    ):
        raw = read_text((first + second).encode())
        assert raw.events.ts.tolist() == [0, 1000, 2000, 50_000, 51_000, 52_000]
        assert raw.metadata["baseTimeNanoseconds"] == 1_000


def test_a_second_trace_is_never_called_read_completely(tmp_path: Path) -> None:
    health = written(tmp_path, (document("a") + document("b")).encode()).health
    assert "repeated_document" in {note.kind for note in health.costly}
    assert "complete" not in {note.kind for note in health.notes}
    assert health.events == 6


@READERS
@pytest.mark.parametrize("junk", [" trailing garbage", "}", '{"more": 1}', "\n]"])
def test_text_behind_a_trace_is_a_warning(read_text: Read, junk: str, tmp_path: Path) -> None:
    assert faults(read_text((document("a") + junk).encode())) == {"trailing_text": 1}
    health = written(tmp_path, (document("a") + junk).encode()).health
    assert "trailing_text" in {note.kind for note in health.costly}
    assert "complete" not in {note.kind for note in health.notes}


@READERS
def test_a_trace_behind_junk_is_found(read_text: Read) -> None:
    raw = read_text((document("a") + "junk" + document("b")).encode())
    assert len(raw.events) == 6
    assert faults(raw) == {"trailing_text": 1, "repeated_document": 1}


@READERS
@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n", "\n \n", ",\n", ", \r\n", "\r\n" * 9000])
@pytest.mark.parametrize("last", [True, False])
def test_json_lines_are_read(read_text: Read, end: str, last: bool) -> None:
    text = end.join(json.dumps(event) for event in events("line ", 5)) + end * last
    raw = read_text(text.encode())
    assert [row["name"] for row in rows(raw)] == [f"line {n}" for n in range(5)]
    assert faults(raw) == {"json_lines": 1}
    assert looks_like_trace(text.encode()[:65536])


@READERS
def test_many_json_lines_are_read_as_the_list_of_them(read_text: Read) -> None:
    many = [json.dumps(event) for event in events('two } { "lines" ', 5000)]
    lines, array = read_text("\n".join(many).encode()), read_text(f"[{','.join(many)}]".encode())
    assert rows(lines) == rows(array)
    text = "\n".join(many).encode()
    assert read_event(text, lines.blocks, 4999)["name"] == 'two } { "lines" 4999'


@READERS
def test_a_damaged_json_line_is_repaired_and_a_partial_one_is_told(read_text: Read) -> None:
    first, second, third = (json.dumps(event) for event in events("a"))
    raw = read_text("\n".join([first, second.replace("a1", 'a"1'), third[:-10]]).encode())
    assert [row["name"] for row in rows(raw)] == ["a0", 'a"1']
    assert faults(raw) == {"json_lines": 1, "unescaped_quote": 1, "truncated": 1}


@READERS
@pytest.mark.parametrize("bracket", ["]", "}", "]]", "}]}", "] ,"])
def test_a_bracket_among_json_lines_closes_nothing_and_reading_goes_on(
    read_text: Read, bracket: str
) -> None:
    """It ends a list elsewhere; here no list was begun, and it must not be looked at for ever."""
    first, second = (json.dumps(event) for event in events("a", 2))
    raw = read_text(f'{first}\n{{"ph":{bracket}\n{second}\n'.encode())
    names = [row.get("name") for row in rows(raw)]
    assert (names[0], names[-1]) == ("a0", "a1")
    raw = read_text(f'{{"":}}{{"ph":{bracket},"traceName":'.encode())
    assert {"json_lines", "truncated"} <= faults(raw).keys()


@READERS
def test_events_line_by_line_behind_metadata_are_read(read_text: Read) -> None:
    lines = "\n".join(json.dumps(event) for event in events("a"))
    raw = read_text(('{"schemaVersion": 1}\n' + lines).encode())
    assert len(raw.events) == 3
    assert raw.metadata == {"schemaVersion": 1}


@pytest.mark.parametrize(
    "text",
    [
        str({"schemaVersion": 1, "traceEvents": events("a")}),
        str(events("a")),
        "\n" + str(events("a")[0]),
        '{"traceEvents": ' + str(events("a")) + "}",
    ],
)
@READERS
def test_a_python_repr_is_refused_by_its_name(read_text: Read, text: str) -> None:
    with pytest.raises(TraceFormatError, match="Python repr") as refusal:
        read_text(text.encode())
    assert refusal.value.kind == "python_repr"
    assert "json.dump" in refusal.value.hint


@pytest.mark.parametrize(
    ("metadata", "kind"),
    [
        ({"schemaVersion": 1, "nodes": []}, "no_trace_events"),
        ({"nodes": [1, 2]}, "no_trace_events"),
        ({"nodes": [{"id": "a"}], "edges": []}, "no_trace_events"),
        ({"schema": "1.0.1", "nodes": [{"id": 2, "name": "aten::mm"}]}, "execution_trace"),
        ({"pid": 7, "nodes": [{"id": 2, "name": "aten::mm"}]}, "execution_trace"),
    ],
)
def test_an_execution_trace_is_what_has_its_nodes(metadata: dict[str, object], kind: str) -> None:
    with pytest.raises(TraceFormatError) as refusal:
        scan(json.dumps(metadata).encode())
    assert refusal.value.kind == kind


def test_metadata_that_names_the_schema_of_execution_traces_hides_no_event() -> None:
    raw = scan(document("a", schema="1.1.1-chakra.0.0.4").encode())
    assert len(raw.events) == 3


def test_both_readers_say_the_same_of_joined_files() -> None:
    text = document("a", baseTimeNanoseconds=7) + "x" + document("b", baseTimeNanoseconds=9)
    assert everything(scan(text.encode())) == everything(scan_in_python(text.encode()))
