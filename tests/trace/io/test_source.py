"""Whatever a trace is wrapped in, its text comes out; what was wrong with the wrapping is told."""

from __future__ import annotations

import bz2
import gzip
import lzma
import tracemalloc
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.base.errors import TraceFormatError
from kinetoscope.trace.io.source import Source, Text
from kinetoscope.trace.raw import FaultLog
from kinetoscope.trace.scan.scanner import scan
from tests.trace.scanned import document

TEXT = document(*(f'{{"ph": "X", "name": "op {n}", "ts": {n}}}' for n in range(3000)))


def inflate(source: Source, step: int = 10_000) -> tuple[bytes, dict[str, int]]:
    """The text of a source, and its faults."""
    faults = FaultLog()
    with Text(source, faults) as text:
        pieces = list(iter(lambda: text.read(step), b""))
    assert all(len(piece) <= step for piece in pieces)
    return b"".join(pieces), {fault.kind: fault.count for fault in faults.result()}


def halves(data: bytes) -> bytes:
    """The data as two gzip members."""
    return gzip.compress(data[:1000]) + gzip.compress(data[1000:])


def with_header_fields(data: bytes) -> bytes:
    """A gzip member with all the fields that a header may have."""
    body = gzip.compress(data)[10:]
    head = b"\x1f\x8b\x08\x1e" + bytes(6)
    return head + b"\x03\x00abc" + b"name\0" + b"comment\0" + b"\x12\x34" + body


@pytest.mark.parametrize(
    ("stored", "faults"),
    [
        (TEXT, {}),
        (gzip.compress(TEXT), {}),
        (halves(TEXT), {}),
        (with_header_fields(TEXT), {}),
        (gzip.compress(gzip.compress(TEXT)), {"gzip_nested": 1}),
        (gzip.compress(TEXT) + bytes(512), {"gzip_trailing": 1}),
        (gzip.compress(TEXT) + b"junk", {"gzip_trailing": 1}),
        (gzip.compress(TEXT)[:-8] + bytes(8), {"gzip_checksum": 1}),
        (gzip.compress(TEXT)[:-3], {"gzip_truncated": 1}),
        (b"\xef\xbb\xbf" + TEXT, {"encoding": 1}),
        (gzip.compress(b"\xef\xbb\xbf" + TEXT), {"encoding": 1}),
    ],
)
@pytest.mark.parametrize("step", [7, 100_000])
def test_all_the_text_comes_out(stored: bytes, faults: dict[str, int], step: int) -> None:
    assert inflate(stored, step) == (TEXT, faults)


@pytest.mark.parametrize("code", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-be"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_wide_text_is_refused_with_the_remedy(code: str, pack: Callable[[bytes], bytes]) -> None:
    with pytest.raises(TraceFormatError, match="UTF-16 or UTF-32") as refusal:
        inflate(pack(TEXT.decode().encode(code)))
    assert "iconv" in refusal.value.hint


@given(st.integers(0, len(gzip.compress(TEXT)) - 1))
def test_a_stream_cut_anywhere_gives_all_that_it_holds(length: int) -> None:
    cut = gzip.compress(TEXT)[:length]
    if length < 2:
        return  # no longer a gzip file
    text, faults = inflate(cut)
    held = zlib.decompressobj(31).decompress(cut)
    assert held.startswith(text)
    assert len(held) - len(text) <= 258  # the longest symbol, when it is the last thing there
    assert faults == {"gzip_truncated": 1}


@pytest.mark.parametrize("member", [0, 1])
def test_the_text_before_damage_comes_out_to_the_byte(member: int) -> None:
    # Stored blocks of a kind that does not exist, put between two members' worth of text.
    packer = zlib.compressobj(6, zlib.DEFLATED, -15)
    body = packer.compress(TEXT) + packer.flush(zlib.Z_SYNC_FLUSH)
    damaged = gzip.compress(TEXT)[:10] + body + b"\xff" * 100
    text, faults = inflate(gzip.compress(TEXT) * member + damaged)
    assert text == TEXT * (member + 1)
    assert faults == {"gzip_corrupt": 1}


def test_damage_in_an_inner_layer() -> None:
    inner = gzip.compress(TEXT)
    text, faults = inflate(gzip.compress(inner[:-300] + b"\xff" * 300))
    assert TEXT.startswith(text[:1000])
    assert faults.keys() >= {"gzip_nested"}
    assert faults.keys() & {"gzip_corrupt", "gzip_checksum", "gzip_truncated"}


@pytest.mark.parametrize(
    ("stored", "kind"),
    [
        (b"\x28\xb5\x2f\xfd" + bytes(20), "zstd"),
        (bz2.compress(TEXT), "bzip2"),
        (lzma.compress(TEXT), "xz"),
        (b"PK\x03\x04" + bytes(20), "zip"),
        (gzip.compress(bz2.compress(TEXT)), "bzip2"),
    ],
)
def test_other_compressors_are_refused_by_name(stored: bytes, kind: str) -> None:
    with pytest.raises(TraceFormatError) as refusal:
        inflate(stored)
    assert refusal.value.kind == kind
    assert "Decompress it first" in refusal.value.hint


def test_layer_upon_layer_is_refused() -> None:
    stored = TEXT
    for _ in range(4):
        stored = gzip.compress(stored)
    with pytest.raises(TraceFormatError) as refusal:
        inflate(stored)
    assert refusal.value.kind == "gzip_layers"


def test_a_gzip_file_without_any_text_is_refused() -> None:
    for stored in (gzip.compress(TEXT)[:5], gzip.compress(TEXT)[:10] + b"\xff" * 40):
        with pytest.raises(TraceFormatError) as refusal:
            scan(stored)
        assert refusal.value.kind == "gzip_damaged"


def test_names_do_not_decide(tmp_path: Path) -> None:
    plain, packed = tmp_path / "plain.json.gz", tmp_path / "packed.json"
    plain.write_bytes(TEXT)
    packed.write_bytes(gzip.compress(TEXT))
    assert inflate(plain) == inflate(packed) == (TEXT, {})


@pytest.mark.parametrize("stored", [TEXT, gzip.compress(TEXT)])
@pytest.mark.parametrize("start", [0, 1, 5000, len(TEXT) - 1, len(TEXT) + 9])
def test_text_can_be_skipped(stored: bytes, start: int) -> None:
    with Text(stored, FaultLog()) as text:
        text.skip(start)
        assert text.read(10) == TEXT[start : start + 10][:10] or text.read(10)


@pytest.mark.parametrize(
    "bomb",
    [
        b'{"traceEvents": [' + b" " * 60_000_000 + b"]}",
        b'{"traceEvents": [{"ph": "X"}' + b" " * 60_000_000 + b"]}",
        b'{"traceEvents": [], "a": 1' + b" " * 60_000_000 + b"}",
        b'{"traceEvents": [{"name": "' + b"x" * 60_000_000,
        b'{"a": "' + b"x" * 60_000_000 + b'", "traceEvents": []}',
    ],
)
def test_memory_does_not_grow_with_what_is_inflated(bomb: bytes) -> None:
    from kinetoscope.trace.scan.cursor import ScanLimits

    stored = gzip.compress(bomb, 1)
    tracemalloc.start()
    try:
        scan(stored, limits=ScanLimits(value_bytes=1 << 20, metadata_bytes=1 << 20))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 16_000_000
