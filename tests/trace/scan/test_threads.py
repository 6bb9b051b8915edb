"""Whatever the number of threads: the same columns, codes, faults and blocks."""

from __future__ import annotations

import gzip
import io
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.base.native import native
from kinetoscope.trace.scan import cursor, scanner
from kinetoscope.trace.scan import native as scanning
from kinetoscope.trace.scan.cursor import RUN_BLOCKS, ScanLimits, TextWindow
from kinetoscope.trace.scan.scanner import scan_natively
from tests.conftest import TRACES, requires_native
from tests.fuzz.agreement import blocks_differ, by_library, by_python, differences, verdict
from tests.trace.scanned import document

pytestmark = requires_native

BLOCK = 400  # bytes: some events


def event(number: int, name: str = "aten::mm") -> str:
    """An event whose texts are met for the first time at different numbers."""
    args = f'"Input Dims": [[{number % 11}, 3], []], "External id": {number}'
    return (
        f'{{"ph": "X", "cat": "cpu_op", "name": "{name} {number % 17}", "pid": {number // 50},'
        f' "tid": "t{number % 3}", "ts": {number}, "dur": 1, "args": {{{args}}}}}'
    )


def same_on(text: bytes | Path, *, block_bytes: int = BLOCK) -> None:
    alone = verdict(by_library, text, ScanLimits(block_bytes=block_bytes, threads=1))
    for threads in (2, 3, 8):
        limits = ScanLimits(block_bytes=block_bytes, threads=threads)
        found = verdict(by_library, text, limits)
        assert differences(alone, found) == []
        assert blocks_differ(alone, found) == []


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a compressed file little text comes at once."""
    monkeypatch.setattr(cursor, "PIECE_BYTES", 1500)
    monkeypatch.setattr(scanning, "PIECE_BYTES", 1500)


@pytest.mark.parametrize("piece_bytes", [1, 2, 37, 400, 5000])
def test_it_does_not_matter_where_pieces_of_the_text_end(
    piece_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Inside events, between them and the commas, inside metadata."""
    middle = [
        "",
        "null",
        event(7, "x" * 900),
        '{"ph": "X", "name": "a "b" c"}',
        " \n /* note */ {}",
    ]
    text = document(*(event(n) if n % 9 else middle[n // 9 % 5] for n in range(150)))
    for data in (text, text.replace(b", ", b" ,\n\n "), text[:-400]):
        whole = verdict(by_library, data, ScanLimits(block_bytes=BLOCK, threads=1))
        with monkeypatch.context() as patch:
            patch.setattr(cursor, "PIECE_BYTES", piece_bytes)
            patch.setattr(scanning, "PIECE_BYTES", piece_bytes)
            for threads in (1, 3):
                limits = ScanLimits(block_bytes=BLOCK, threads=threads)
                found = verdict(by_library, data, limits)
                assert differences(whole, found) == []
                assert blocks_differ(whole, found) == []


@pytest.mark.usefixtures("small_pieces")
@pytest.mark.parametrize("block_bytes", [40, 77, 400, 1000, 3000])
def test_blocks_do_not_depend_on_how_much_text_is_in_memory(
    block_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last event of a block goes on behind it, and often behind what is in memory."""
    ends: dict[int, set[int]] = {}
    run = scanning.NativeColumns.run

    def noted(
        columns: scanning.NativeColumns,
        pieces: Sequence[bytes],
        window: TextWindow,
        stop: int,
        limits: ScanLimits,
    ) -> tuple[int, bool]:
        ends.setdefault(limits.threads, set()).add(window.offset + sum(map(len, pieces)))
        return run(columns, pieces, window, stop, limits)

    monkeypatch.setattr(scanning.NativeColumns, "run", noted)
    text = document(*map(event, range(1500)))
    same_on(gzip.compress(text), block_bytes=block_bytes)
    assert len(ends[1]) > 5, "the text comes into memory piece by piece"
    assert ends[1] != ends[8], "and in other pieces for more threads"


@pytest.mark.usefixtures("small_pieces")
def test_runs_of_a_compressed_file_grow_to_so_many_blocks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sizes: list[int] = []
    run = scanning.NativeColumns.run

    def noted(
        columns: scanning.NativeColumns,
        pieces: Sequence[bytes],
        window: TextWindow,
        stop: int,
        limits: ScanLimits,
    ) -> tuple[int, bool]:
        sizes.append(stop - window.pos)
        return run(columns, pieces, window, stop, limits)

    monkeypatch.setattr(scanning.NativeColumns, "run", noted)
    limits = ScanLimits(block_bytes=BLOCK, threads=3)
    by_library(gzip.compress(document(*map(event, range(6000)))), limits)
    most = limits.most_run_bytes + 10 * cursor.PIECE_BYTES  # some pieces are read ahead
    assert BLOCK * RUN_BLOCKS < max(sizes) <= most


@pytest.mark.parametrize("more", [0.01, 1.1, 50])
def test_room_for_the_rows_to_come_changes_no_row(
    more: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether too little room is made or far too much."""
    text = gzip.compress(document(*map(event, range(1500))))
    whole = by_library(text, ScanLimits(block_bytes=BLOCK))
    expected: list[tuple[int, int]] = []
    expect = scanning.NativeColumns.expect

    def noted(columns: scanning.NativeColumns, rows: int) -> None:
        expected.append((columns.rows, rows))
        expect(columns, rows)

    monkeypatch.setattr(scanning.NativeColumns, "expect", noted)
    monkeypatch.setattr(scanner, "LEAST_EXPECTED", 10)
    monkeypatch.setattr(scanner, "EXPECTED_MORE", more)
    for threads in (1, 3):
        found = by_library(text, ScanLimits(block_bytes=BLOCK, threads=threads))
        assert differences(whole, found) == []
    assert expected
    assert all(rows > now for now, rows in expected)


class Tape:
    """A file that cannot be read from some read on."""

    def __init__(self, data: bytes, error_at: int = -1) -> None:
        self.reads = 0
        self._file = io.BytesIO(data)
        self._error_at = error_at

    def read(self, n: int = -1, /) -> bytes:
        self.reads += 1
        if self.reads == self._error_at:
            raise OSError("the disk is gone")
        return self._file.read(n)

    def seek(self, place: int, whence: int = 0, /) -> int:
        return self._file.seek(place, whence)


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.usefixtures("small_pieces")
def test_text_that_cannot_be_read_ends_the_scan(threads: int) -> None:
    """Also where it is read while the text before it is scanned."""
    text = document(*map(event, range(1500)))
    limits = ScanLimits(block_bytes=BLOCK, threads=threads)
    whole = Tape(text)
    library = native().library
    assert library is not None
    assert len(scan_natively(library, cast("BinaryIO", whole), limits=limits).events.ts) == 1500
    for error_at in (whole.reads // 2, whole.reads):
        with pytest.raises(OSError, match="the disk is gone"):
            scan_natively(library, cast("BinaryIO", Tape(text, error_at)), limits=limits)


def test_an_error_of_reading_ahead_is_raised_where_that_text_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(cursor, "PIECE_BYTES", 10)
    window = TextWindow(Tape(b"x" * 100, error_at=4), 10)
    assert [window.read_ahead(25) for _ in range(4)] == [15, 5, 0, 0], "no more than is asked for"
    assert window.read_ahead(35) == 0
    assert len(window.hold(30)) == 4
    window.fill(30)
    assert (window.left, window.eof) == (30, False)
    with pytest.raises(OSError, match="the disk is gone"):
        window.fill(31)


@pytest.mark.usefixtures("small_pieces")
def test_on_several_threads_text_is_read_while_events_are_scanned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[int] = []
    read_ahead = TextWindow.read_ahead

    def noted(window: TextWindow, most: int) -> int:
        asked.append(len(window.data))
        return read_ahead(window, most)

    monkeypatch.setattr(TextWindow, "read_ahead", noted)
    text = document(*map(event, range(1500)))
    by_library(text, ScanLimits(block_bytes=BLOCK, threads=1))
    assert not asked
    by_library(text, ScanLimits(block_bytes=BLOCK, threads=2))
    assert len(asked) > len(text) // 1500 // 2


def test_texts_have_their_codes_in_the_order_of_the_file() -> None:
    text = document(*map(event, range(500)))
    same_on(text)
    assert differences(by_python(text), by_library(text, ScanLimits(threads=4))) == []


@pytest.mark.parametrize(
    "odd",
    [
        '{"name": "other key first", "ph": "i"}',
        event(7, r"}, {\"ph\": \"X\", \"name\": \"no event\"}, {\"ph\": \"i\"}"),
        event(7).replace('"External id"', '"list": [1, {"ph": "X"}, {"ph": "X"}], "External id"'),
        event(7, "x" * 3000),
        '{"ph": "X", "name": 7, "args": {"correlation": "many"}}',
        '{"ph": "X", "name": "a "b" c"}',
        "null",
        "/* a comment */ {}",
        "",
    ],
    ids=lambda odd: odd[:20] or "stray comma",
)
@pytest.mark.parametrize("every", [1, 3, 40])
def test_wrong_guesses_and_events_that_are_left(odd: str, every: int) -> None:
    """What only looks like an event, and what the library does not take."""
    same_on(document(*(odd if n % every == 0 else event(n) for n in range(400))))


@given(st.data())
def test_a_text_that_ends_anywhere(data: st.DataObject) -> None:
    text = document(*map(event, range(120)))
    end = data.draw(st.integers(len(text) // 2, len(text)))
    block_bytes = data.draw(st.integers(1, 2000))
    same_on(text[:end], block_bytes=block_bytes)


SMALL = sorted(TRACES.rglob("*.json*")) if TRACES.is_dir() else []
SMALL = [path for path in SMALL if path.is_file() and path.stat().st_size < 500_000]


@pytest.mark.parametrize("path", SMALL, ids=lambda path: path.relative_to(TRACES).as_posix())
def test_a_real_trace(path: Path) -> None:
    same_on(path, block_bytes=20_000)
