"""Pieces of a text and events of a file, again and again, whatever the file is stored as."""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinetoscope.base.errors import NotFoundError
from kinetoscope.trace.event_text import Rereader, event_texts, text_piece
from kinetoscope.trace.read import read
from kinetoscope.trace.scan.scanner import scan
from tests.conftest import TRACES, requires_traces
from tests.trace.reread import read_event

if TYPE_CHECKING:
    pass

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
