"""Entering a gzip file in the middle gives the text that inflating all of it gives."""

from __future__ import annotations

import gzip
import json
import random
import zlib
from collections.abc import Callable
from functools import partial
from itertools import takewhile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from isal import igzip, isal_zlib

from kinetoscope.base.errors import NotFoundError
from kinetoscope.base.native import call as native_call
from kinetoscope.trace import event_text
from kinetoscope.trace.event_text import Rereader, text_piece
from kinetoscope.trace.io import gzip as gzip_layer
from kinetoscope.trace.io.gzip import NotTheFile, can_seek
from kinetoscope.trace.io.source import Text, TextAt, WholeText
from kinetoscope.trace.raw import NO_POINTS, FaultLog, SeekIndex
from kinetoscope.trace.scan.scanner import scan
from tests.conftest import requires_native
from tests.trace.reread import read_event
from tests.trace.scanned import document


def trace_text(events: int, seed: int = 0) -> bytes:
    """A trace in which texts repeat, numbers do not, and some bytes are noise."""
    rng = random.Random(seed)
    return document(
        *(
            json.dumps(
                {
                    "ph": "X",
                    "name": f"aten::op_{rng.randrange(50)}",
                    "ts": rng.randrange(10**12),
                    "dur": rng.randrange(10**6),
                    "args": {"n": n, "noise": rng.randbytes(rng.choice([0, 0, 4, 300])).hex()},
                }
            )
            for n in range(events)
        )
    )


TEXT = trace_text(4000)


def deflated(data: bytes, *, level: int = 6, strategy: int = zlib.Z_DEFAULT_STRATEGY) -> bytes:
    """One gzip member."""
    packer = zlib.compressobj(level, zlib.DEFLATED, 31, 8, strategy)
    return packer.compress(data) + packer.flush()


def in_members(data: bytes, size: int) -> bytes:
    """As parallel compressors write it: members of a part each."""
    return b"".join(deflated(data[at : at + size]) for at in range(0, len(data), size))


def flushed(data: bytes, size: int, mode: int) -> bytes:
    """One member, in which the compressor was flushed now and then: blocks without text."""
    packer = zlib.compressobj(6, zlib.DEFLATED, 31)
    parts = (
        packer.compress(data[at : at + size]) + packer.flush(mode)
        for at in range(0, len(data), size)
    )
    return b"".join(parts) + packer.flush()


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    **{f"zlib {level}": partial(deflated, level=level) for level in range(10)},
    **{f"isal {level}": partial(igzip.compress, compresslevel=level) for level in range(4)},
    "huffman only": partial(deflated, strategy=zlib.Z_HUFFMAN_ONLY),
    "run lengths": partial(deflated, strategy=zlib.Z_RLE),
    "fixed codes": partial(deflated, strategy=zlib.Z_FIXED),
    "small members": partial(in_members, size=10_000),
    "large members": partial(in_members, size=300_000),
    "synced": partial(flushed, size=20_000, mode=zlib.Z_SYNC_FLUSH),
    "partly flushed": partial(flushed, size=20_000, mode=zlib.Z_PARTIAL_FLUSH),
    "blocks": partial(flushed, size=20_000, mode=zlib.Z_BLOCK),
    "named": lambda data: b"\x1f\x8b\x08\x08" + bytes(6) + b"name\0" + deflated(data)[10:],
    "with junk behind": lambda data: deflated(data) + bytes(1000),
}


def points_every(span: int, patch: pytest.MonkeyPatch) -> None:
    """Points of a small text are as close as its blocks, where so little is inflated at once."""
    patch.setattr(gzip_layer, "SPAN_BYTES", span)
    patch.setattr(gzip_layer, "FED_BYTES", max(4096, min(span // 8, gzip_layer.FED_BYTES)))


def index_of(stored: bytes, span: int) -> SeekIndex:
    """What is made on the way, with a point in every ``span`` bytes of text."""
    with pytest.MonkeyPatch.context() as patch:
        points_every(span, patch)
        with WholeText(stored, FaultLog()) as text:
            while text.read(100_000):
                pass
            return text.seek_index()


def text_from(stored: bytes, seek: SeekIndex, offset: int, step: int = 1 << 20) -> bytes:
    with TextAt(stored, seek, offset) as text:
        return b"".join(takewhile(bool, iter(lambda: text.read(step), None)))


@requires_native
@pytest.mark.parametrize("packer", PACKERS)
def test_every_point_leads_to_the_rest_of_the_text(packer: str) -> None:
    stored = PACKERS[packer](TEXT)
    seek = index_of(stored, span=1)
    one_block = packer in ("fixed codes", "isal 0")
    assert len(seek) >= (0 if one_block else 3), "every block is a point"
    assert (np.diff(seek.text) > 0).all()
    for offset in [*seek.text.tolist(), *(seek.text + 1).tolist()][:40]:
        assert text_from(stored, seek, offset) == TEXT[offset:]


@requires_native
def test_what_only_seems_to_be_a_block_is_no_point() -> None:
    """Bytes as they are, among which there are beginnings of blocks."""
    begun = deflated(TEXT)[10:200]
    rng = random.Random(3)
    text = b"".join(rng.choice([begun, b"\0\5\0\xfa\xff", rng.randbytes(999)]) for _ in range(3000))
    stored = deflated(text, level=0)
    assert native_call("kinetoscope_deflate_block", stored[100:9000], 8900) not in (0, None)
    seek = index_of(stored, span=1)
    for offset in seek.text.tolist():
        assert text_from(stored, seek, offset) == text[offset:]


@pytest.mark.parametrize("bits", range(8))
def test_blocks_without_text_lead_to_any_bit(bits: int) -> None:
    byte = 0b1011_0110
    led = int.from_bytes(gzip_layer._led_to(bits, bytes([byte])), "little")
    count = led.bit_length() - 8 + bits
    assert led >> count == byte >> bits
    end = (led & (1 << count) - 1) | 0b011 << count  # and a last block without text
    for inflate in (zlib.decompressobj(-15), isal_zlib.decompressobj(-15)):
        assert inflate.decompress(end.to_bytes(count // 8 + 3, "little")) == b""
        assert inflate.eof


@requires_native
def test_points_are_some_megabytes_apart() -> None:
    text = TEXT * 30
    seek = index_of(deflated(text), span=4 << 20)
    assert np.diff(seek.text, prepend=0).min() >= 4 << 20
    assert np.diff(seek.text, prepend=0, append=len(text)).max() < 5 << 20
    assert len(seek.window) < 32 * 1024 * len(seek)


@requires_native
@settings(max_examples=60)
@given(
    packer=st.sampled_from([*PACKERS]),
    seed=st.integers(0, 9),
    span=st.sampled_from([1, 5_000, 100_000]),
    data=st.data(),
)
def test_any_text_from_any_place(packer: str, seed: int, span: int, data: st.DataObject) -> None:
    text = trace_text(data.draw(st.integers(1, 1500)), seed)
    stored = PACKERS[packer](text)
    seek = index_of(stored, span)
    for offset in data.draw(st.lists(st.integers(0, len(text) + 9), min_size=1, max_size=8)):
        if can_seek(seek, offset):
            assert text_from(stored, seek, offset, step=10_007) == text[offset:]
        else:
            assert not len(seek) or offset < seek.text[0]


@requires_native
@settings(max_examples=150)
@given(
    packer=st.sampled_from(
        ["zlib 1", "zlib 6", "isal 2", "fixed codes", "small members", "synced"]
    ),
    seed=st.integers(0, 2**32 - 1),
)
def test_of_damaged_bytes_there_are_true_points_or_none(packer: str, seed: int) -> None:
    rng = random.Random(seed)
    stored = bytearray(PACKERS[packer](TEXT[:200_000]))
    for _ in range(rng.choice([1, 1, 3])):
        at = rng.randrange(len(stored))
        stored[at : at + rng.choice([0, 1, 50])] = rng.randbytes(rng.choice([0, 1, 50]))
    logged: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kinetoscope.base.native.log.warning", lambda *told: logged.append(str(told)))
        seek = index_of(bytes(stored), span=1)
    assert logged == [], "no panic"
    if len(seek):
        with Text(bytes(stored), FaultLog()) as text:
            whole = b"".join(takewhile(bool, iter(lambda: text.read(1 << 20), None)))
        for offset in rng.sample(seek.text.tolist(), min(3, len(seek))):
            found = text_from(bytes(stored), seek, offset)
            assert whole[offset:].startswith(found)
            assert len(whole) - offset - len(found) <= 258


@requires_native
@pytest.mark.parametrize("missing", [1, 8, 9, 1000, 50_000])
def test_of_a_file_that_was_cut_off_all_that_is_there_is_found(missing: int) -> None:
    stored = deflated(TEXT)[:-missing]
    held = zlib.decompressobj(31).decompress(stored)
    seek = index_of(stored, span=50_000)
    assert len(seek) > 3
    for offset in (int(seek.text[0]), int(seek.text[-1]), len(held) - 300):
        found = text_from(stored, seek, offset)
        assert held[offset:].startswith(found)
        assert len(held) - offset - len(found) <= 258


@requires_native
@pytest.mark.parametrize(
    "stored",
    [
        TEXT,
        gzip.compress(gzip.compress(TEXT)),
        gzip.compress(b"\xef\xbb\xbf" + TEXT),
        flushed(TEXT, 20_000, zlib.Z_SYNC_FLUSH)[:-10] + b"\xff" * 400,
        gzip.compress(TEXT) + gzip.compress(TEXT)[:10] + b"\xff" * 400,
        b"",
    ],
)
def test_what_is_not_one_sound_gzip_layer_has_no_points(stored: bytes) -> None:
    assert len(index_of(stored, span=1)) == 0


def test_without_the_library_there_are_no_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gzip_layer, "call", lambda *_: None)
    assert len(index_of(deflated(TEXT), span=1)) == 0


@requires_native
@pytest.mark.parametrize("packer", ["zlib 6", "isal 1", "small members"])
def test_an_event_is_the_same_with_and_without_the_index(
    packer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    points_every(50_000, monkeypatch)
    stored = PACKERS[packer](trace_text(6000))
    raw = scan(stored)
    assert len(raw.seek) > 3
    for row in range(0, 4000, 371):
        event = read_event(stored, raw.blocks, row, raw.seek)
        assert event == read_event(stored, raw.blocks, row)
        assert event["args"]["n"] == row


@requires_native
def test_of_a_file_that_is_another_one_now_events_are_searched_from_its_start() -> None:
    old, new = deflated(trace_text(4000, seed=1)), deflated(trace_text(4000, seed=2), level=1)
    seek = index_of(old, span=50_000)
    blocks = scan(new).blocks
    with pytest.raises(NotTheFile):
        text_from(new, seek, int(seek.text[5]))
    assert read_event(new, blocks, 3999, seek) == read_event(new, blocks, 3999, NO_POINTS)


@requires_native
def test_the_rereader_enters_the_file_where_the_event_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    points_every(50_000, monkeypatch)
    path = tmp_path / "x.json.gz"
    path.write_bytes(deflated(trace_text(4000)))
    raw = scan(path)
    from_start: list[int] = []

    def read_from_start(path: str, offset: int, length: int) -> bytes:
        from_start.append(offset)
        return text_piece(path, offset, length)

    monkeypatch.setattr(event_text, "text_piece", read_from_start)
    reader = Rereader(str(path), raw.blocks, raw.seek)
    assert reader.event(3999)["args"]["n"] == 3999
    assert from_start == []
    path.unlink()
    with pytest.raises(NotFoundError):
        reader.event(0)
    assert from_start == [int(raw.blocks.offset[0])]
