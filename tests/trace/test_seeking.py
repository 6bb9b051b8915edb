"""Pieces of a text and events of a file, again and again, whatever the file is stored as."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinetoscope.base.errors import NotFoundError, TraceFormatError
from kinetoscope.trace.event_text import (
    MOST_EVENT,
    MOST_EVENT_DEPTH,
    Rereader,
    event_texts,
    keep_events,
    kept_event,
    kept_events,
    place_of,
    text_piece,
)
from kinetoscope.trace.read import read
from kinetoscope.trace.scan.scanner import scan
from tests.conftest import TRACES, requires_traces
from tests.trace.reread import read_event

EVENTS: list[dict[str, Any]] = [
    {"ph": "X", "name": f"op {n} é", "pid": 1, "tid": n % 3, "ts": n * 10, "dur": 5}
    | {"args": {"n": n, "text": "x" * (n % 400)}}
    for n in range(6000)
]
NAME = {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "python"}}
TEXT = json.dumps({"traceEvents": [*EVENTS[:4000], NAME, *EVENTS[4000:]]}).encode()


def stored(kind: str) -> bytes:
    """The text as a file of a kind."""
    half = len(TEXT) // 2
    return {
        "plain": TEXT,
        "gzip": gzip.compress(TEXT, 1),
        "members": gzip.compress(TEXT[:half]) + gzip.compress(TEXT[half:]),
        "trailing": gzip.compress(TEXT) + b"\0" * 300,
        "nested": gzip.compress(gzip.compress(TEXT)),
        "bom": gzip.compress(b"\xef\xbb\xbf" + TEXT),
        "cut": gzip.compress(TEXT)[:-2000],
        "checksum": gzip.compress(TEXT)[:-8] + b"\1" * 8,
    }[kind]


KINDS = ("plain", "gzip", "members", "trailing", "nested", "bom", "cut", "checksum")


@pytest.mark.parametrize("kind", KINDS)
def test_pieces_are_those_of_the_text(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(stored(kind))
    end = len(TEXT) - 300_000 if kind == "cut" else len(TEXT)
    places = [700_000, 0, 99_999, 100_000, 699_000, 5, end - 40, 350_000]
    for place in places:
        assert text_piece(str(path), place, 37) == TEXT[place : place + 37], place


def test_what_lies_behind_the_end_is_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(stored("gzip"))
    assert text_piece(str(path), len(TEXT) - 3, 100) == TEXT[-3:]
    assert text_piece(str(path), len(TEXT) + 10, 100) == b""


def test_a_file_is_read_as_it_is_now(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(gzip.compress(b'["a", "b"]' * 1000))
    assert text_piece(str(path), 0, 4) == b'["a"'
    path.write_bytes(gzip.compress(b'["c", "d"]' * 1000))
    assert text_piece(str(path), 0, 4) == b'["c"'
    path.unlink()
    with pytest.raises(NotFoundError):
        text_piece(str(path), 0, 4)


@pytest.mark.parametrize("kind", KINDS)
def test_events_are_those_that_are_read_one_by_one(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(stored(kind))
    blocks = scan(str(path)).blocks
    again = Rereader(str(path), blocks)
    rows = int(blocks.first_row[-1])
    for row in (rows - 1, 0, rows // 2, 17, rows // 2 + 1):
        assert again.event(row) == read_event(str(path), blocks, row)
    for row in (-1, rows):
        with pytest.raises(NotFoundError):
            again.event(row)


# --- many at once ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["plain", "gzip", "bom"])
@settings(max_examples=15)
@given(rows=st.sets(st.integers(0, 6000), max_size=30))
def test_texts_are_as_the_file_writes_them(
    kind: str, rows: set[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / f"texts-{kind}.json"
    if not path.exists():
        path.write_bytes(stored(kind))
    blocks = scan(str(path)).blocks
    assert len(blocks.offset) > 1
    found = dict(event_texts(str(path), blocks, np.array(sorted(rows), np.int64)))
    assert found.keys() == rows
    everything = [*EVENTS[:4000], NAME, *EVENTS[4000:]]
    for row, text in found.items():
        assert text == json.dumps(everything[row]).encode()


def test_a_damaged_block_is_repaired(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    events = [b'{"ph":"X","name":"a","ts":1.50,"dur":1}', b'{"ph":"X","name":"b","ts":2,"dur":NaN}']
    path.write_bytes(b'{"traceEvents":[' + b",\n".join(events) + b"]}")
    blocks = scan(str(path)).blocks
    found = dict(event_texts(str(path), blocks, np.array([0, 1])))
    assert json.loads(found[1]) == {"ph": "X", "name": "b", "ts": 2, "dur": None}
    assert b"1.50" in found[0]


# --- the events of a block, kept ------------------------------------------------------------------


def kept(path: Path, folder: Path) -> Callable[[int], dict[str, Any]]:
    """A function that gives an event from what was written of its block."""
    trace = read(str(path))

    def event(row: int) -> dict[str, Any]:
        block, index = place_of(trace.blocks, row)
        own = folder / str(block)
        if not own.exists():
            own.mkdir(parents=True)
            keep_events(trace, own, None, str(block))
        return kept_event(kept_events(own), index)

    return event


@pytest.mark.parametrize("kind", ["plain", "gzip", "bom"])
def test_kept_events_are_those_of_the_file(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(stored(kind))
    event = kept(path, tmp_path / "kept")
    everything = [*EVENTS[:4000], NAME, *EVENTS[4000:]]
    assert [event(row) for row in (6000, 0, 4000, 4001, 3999)] == [
        everything[row] for row in (6000, 0, 4000, 4001, 3999)
    ]
    assert len(list((tmp_path / "kept").iterdir())) > 1
    with pytest.raises(NotFoundError):
        event(6001)


def test_a_repaired_event_is_kept_as_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    events = ['{"ph":"X","name":"a","ts":1,"dur":1}', '{"ph":"X","name":"b","ts":2,"dur":Infinity}']
    path.write_text('{"traceEvents":[' + ",\n".join(events) + "]}")
    event = kept(path, tmp_path / "kept")
    assert event(0)["name"] == "a"
    assert event(1) == {"ph": "X", "name": "b", "ts": 2, "dur": None}


@pytest.mark.parametrize("over", [0, 1])
def test_too_large_and_too_deep_an_event_is_refused_alone(over: int, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    start, end = '{"ph":"X","name":"a","ts":1,"dur":1,"args":{"v":', "}}"
    around = len(start) + len(end)
    levels = MOST_EVENT_DEPTH - 2 + over  # inside the event and its arguments
    values = ["[" * levels + "1" + "]" * levels, '"' + "x" * (MOST_EVENT - around - 2 + over) + '"']
    path.write_text('{"traceEvents":[' + ",".join(start + v + end for v in [*values, "7"]) + "]}")
    event = kept(path, tmp_path / "kept")
    for row in (0, 1):
        if over:
            with pytest.raises(TraceFormatError, match="more than 1 MiB, or values nested deeper"):
                event(row)
        else:
            assert event(row)["args"]["v"] == json.loads(values[row])
    assert event(2)["args"] == {"v": 7}


@pytest.mark.parametrize("value", ["[" * 900 + "]" * 900, "[9," * 70 + "9" * 5000 + "]" * 70])
def test_an_event_that_python_does_not_read_takes_no_other_with_it(
    value: str, tmp_path: Path
) -> None:
    path = tmp_path / "x.json"
    start, end = '{"ph":"X","name":"a","ts":1,"dur":1,"args":{"v":', "}}"
    path.write_text('{"traceEvents":[' + ",".join(start + v + end for v in (value, "7")) + "]}")
    event = kept(path, tmp_path / "kept")
    with pytest.raises(TraceFormatError, match="nested deeper"):
        event(0)
    assert event(1)["args"] == {"v": 7}


def test_a_text_that_python_does_not_read_is_refused() -> None:
    """Python reads no number of more than 4,300 digits, and raises ValueError."""
    with pytest.raises(TraceFormatError):
        kept_event([b'{"v":' + b"9" * 5000 + b"}"], 0)


@requires_traces
def test_on_a_real_recording() -> None:
    path = next((TRACES / "kineto_tb_samples" / "resnet50_num_workers_4").iterdir())
    trace = read(path)
    rows = np.sort(trace.device.raw[::500]).astype(np.int64)
    texts = dict(event_texts(path, trace.blocks, rows))
    again = Rereader(str(path), trace.blocks)
    for row in rows.tolist():
        assert json.loads(texts[row]) == again.event(row)


def test_text_before_the_damage_is_read(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    whole = bytearray(gzip.compress(TEXT))
    half = len(whole) // 2
    whole[half:] = np.random.default_rng(1).bytes(len(whole) - half)
    path.write_bytes(whole)
    with pytest.raises(zlib.error):
        gzip.decompress(bytes(whole))
    assert text_piece(str(path), 100, 20) == TEXT[100:120]
    text_piece(str(path), len(TEXT) - 20, 20)
    assert text_piece(str(path), 100, 20) == TEXT[100:120]
