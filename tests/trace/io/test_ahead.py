"""Reading ahead changes no text and no fault, and leaves no thread behind."""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Iterator
from itertools import takewhile

import pytest

from kinetoscope.base import machine
from kinetoscope.base.errors import TraceFormatError
from kinetoscope.trace.io import ahead as module
from kinetoscope.trace.io import gzip as gzip_layer
from kinetoscope.trace.io.ahead import Ahead
from kinetoscope.trace.io.gzip import skip_by_reading
from kinetoscope.trace.io.source import Source, Text, TextAhead
from kinetoscope.trace.raw import FaultLog
from kinetoscope.trace.scan.scanner import scan
from tests.trace.scanned import document

TEXT = document(*(f'{{"ph": "X", "name": "op {n}", "ts": {n}}}' for n in range(3000)))
PACKED = gzip.compress(TEXT)


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    before = threading.active_count()
    yield
    assert threading.active_count() == before


@pytest.fixture(params=[1, 2], ids=["one core", "two cores"])
def small(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of three pieces of a hundred bytes."""
    monkeypatch.setattr(machine, "thread_count", lambda: request.param)
    monkeypatch.setattr(module, "BLOCK_BYTES", 300)
    monkeypatch.setattr(module, "PIECE_BYTES", 100)


class Tape:
    """Yields its pieces one by one; notes a fault or raises where it is told to."""

    def __init__(self, pieces: int, *, fault_at: int = -1, error_at: int = -1) -> None:
        self.told = FaultLog()
        self.reads = 0
        self._pieces = pieces
        self._fault_at = fault_at
        self._error_at = error_at

    def read(self, n: int, /) -> bytes:
        self.reads += 1
        if self.reads == self._fault_at:
            self.told.add("gzip_checksum")
        if self.reads == self._error_at:
            raise OSError("the disk is gone")
        return b"x" * n if self.reads <= self._pieces else b""

    def skip(self, n: int, /) -> None:
        skip_by_reading(self, n)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    "stored",
    [
        TEXT,
        PACKED,
        PACKED + PACKED,
        gzip.compress(PACKED),
        PACKED + bytes(512),
        PACKED[:-3],
        PACKED[:3000],
        PACKED[:3000] + b"\xff" * 300,
        PACKED[:-8] + bytes(8),
        b"\xef\xbb\xbf" + TEXT,
        TEXT.decode().encode("utf-16"),
        b"",
    ],
)
def test_text_and_faults_are_the_same(stored: bytes) -> None:
    assert inflate(TextAhead, stored) == inflate(Text, stored)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("fault_at", [1, 2, 5, 20, 21])
def test_a_fault_is_told_with_the_text_where_it_was(fault_at: int) -> None:
    tape, faults = Tape(20, fault_at=fault_at), FaultLog()
    ahead = Ahead(tape, tape.told, faults)
    for piece in range(1, 22):
        assert ("gzip_checksum" in faults) == (piece > fault_at)
        assert len(ahead.read(100)) == (100 if piece <= 20 else 0)
    assert "gzip_checksum" in faults
    ahead.close()


@pytest.mark.usefixtures("small")
def test_no_more_is_read_than_some_blocks_ahead() -> None:
    others = machine.thread_count() - 1
    blocks = others * module.BLOCKS_PER_THREAD + module.MORE_BLOCKS if others else 0
    tape = Tape(10_000)
    ahead = Ahead(tape, tape.told, FaultLog())
    ahead.read(1)
    expected = 3 * (1 + blocks)
    while tape.reads < expected:
        time.sleep(0.001)
    ahead.close()
    assert tape.reads == expected


@pytest.mark.usefixtures("small")
def test_an_error_of_the_layer_is_raised_where_its_text_is_asked_for() -> None:
    tape = Tape(20, error_at=10)  # the first of the fourth block
    ahead = Ahead(tape, tape.told, FaultLog())
    for _ in range(9):
        assert ahead.read(100)
    with pytest.raises(OSError, match="the disk is gone"):
        ahead.read(100)
    ahead.close()


@pytest.mark.usefixtures("small")
def test_a_scan_that_ends_early_ends_the_thread_too() -> None:
    page = b"<!doctype html>" + b" " * 100_000
    with pytest.raises(TraceFormatError):
        scan(page)


def test_a_small_file_needs_no_thread() -> None:
    with TextAhead(PACKED, FaultLog()) as text:
        before = threading.active_count()
        assert text.read(len(TEXT)) == TEXT
        assert text.read(1) == b""
        assert threading.active_count() == before


@pytest.mark.usefixtures("small")
def test_text_can_be_skipped() -> None:
    with TextAhead(PACKED, FaultLog()) as text:
        text.skip(1234)
        assert text.read(10) == TEXT[1234:1244]


def inflate(kind: type[Text], source: Source) -> tuple[bytes, object]:
    """The text of a source, and its faults."""
    faults = FaultLog()
    with kind(source, faults) as text:
        pieces = list(takewhile(bool, iter(lambda: text.read(77), None)))
    return b"".join(pieces), faults.result()


# --- members side by side -------------------------------------------------------------------------


def in_members(size: int) -> list[bytes]:
    return [gzip.compress(TEXT[at : at + size]) for at in range(0, len(TEXT), size)]


def bgzf(size: int) -> list[bytes]:
    """As bgzip writes it: each header says how long its member is, and an empty one is the last."""

    def member(text: bytes) -> bytes:
        packed = gzip.compress(text)
        length = len(packed) + 8 - 1
        extra = b"\x06\0BC\x02\0" + length.to_bytes(2, "little")
        return packed[:3] + b"\x04" + packed[4:10] + extra + packed[10:]

    return [member(TEXT[at : at + size]) for at in (*range(0, len(TEXT), size), len(TEXT))]


def everything(
    stored: bytes, threads: int, monkeypatch: pytest.MonkeyPatch
) -> tuple[bytes, object, list[list[int]]]:
    """Text, faults and points for random access."""
    monkeypatch.setattr(machine, "thread_count", lambda: threads)
    faults = FaultLog()
    with TextAhead(stored, faults) as text:
        whole = b"".join(takewhile(bool, iter(lambda: text.read(100_000), None)))
        index = text.seek_index()
    return whole, faults.result(), [index.bit.tolist(), index.text.tolist(), list(index.window)]


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gzip_layer, "TOGETHER_BYTES", 3000)
    monkeypatch.setattr(gzip_layer, "SPAN_BYTES", 10_000)


DAMAGE = {
    "none": lambda stored, at: stored,
    "a bit": lambda stored, at: stored[:at] + bytes([stored[at] ^ 16]) + stored[at + 1 :],
    "bytes that are no deflate": lambda stored, at: stored[:at] + b"\xff" * 40 + stored[at + 40 :],
    "cut": lambda stored, at: stored[:at],
    "a hole": lambda stored, at: stored[:at] + stored[at + 100 :],
    "zeros between": lambda stored, at: stored[:at] + bytes(9) + stored[at:],
    "a header in the middle": lambda stored, at: stored[:at] + gzip.compress(b"x") + stored[at:],
}


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("members", [in_members(700), in_members(5000), bgzf(2000)])
def test_members_side_by_side_give_what_one_after_the_other_gives(
    members: list[bytes], damage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = b"".join(members)
    second, third = len(members[0]), len(members[0]) + len(members[1])
    for at in (second, second + 5, third - 6, third, len(stored) // 2, len(stored) - 4):
        broken = DAMAGE[damage](stored, at)
        alone = everything(broken, 1, monkeypatch)
        assert everything(broken, 2, monkeypatch) == alone
        assert everything(broken, 5, monkeypatch) == alone
        assert damage != "none" or alone[:2] == (TEXT, ())


@pytest.mark.usefixtures("small_batches")
def test_sound_members_are_inflated_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    """All but the first and the last of each batch; the next batch begins with that one."""
    taken: list[int] = []
    whole = gzip_layer._sound_members

    def counted(data: bytes) -> list[gzip_layer._Member]:
        found = whole(data)
        taken.append(len(found))
        return found

    monkeypatch.setattr(gzip_layer, "_sound_members", counted)
    stored = in_members(700)
    everything(b"".join(stored), 3, monkeypatch)
    assert sum(taken) == len(stored) - 2
    assert len([count for count in taken if not count]) == 1, "at the end of the file"
    taken.clear()
    everything(PACKED, 3, monkeypatch)
    assert not taken, "a file of one member is not looked through"
