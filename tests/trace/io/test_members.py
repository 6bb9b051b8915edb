"""Members of a gzip stream that are inflated side by side give what one after the other gives."""

from __future__ import annotations

import gzip
from itertools import takewhile

import pytest

from kinetoscope.base import machine
from kinetoscope.trace.io import gzip as gzip_layer
from kinetoscope.trace.io.source import WholeText
from kinetoscope.trace.raw import FaultLog
from tests.trace.scanned import document

TEXT = document(*(f'{{"ph": "X", "name": "op {n}", "ts": {n}}}' for n in range(3000)))
PACKED = gzip.compress(TEXT)


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
    with WholeText(stored, faults) as text:
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
