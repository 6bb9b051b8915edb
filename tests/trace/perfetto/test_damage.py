"""Damaged Perfetto files: what is whole is read, what is lost is counted, with its place."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinetoscope.trace.scan.scanner import scan
from tests.conftest import requires_native
from tests.trace.perfetto.drawn import BASE, begin, end, instant, packet, torch_head, trace_file
from tests.trace.perfetto.test_drawn import rows, spans

pytestmark = requires_native

INSTANTS = [packet(ts=at * 1000, event=instant(1, f"n{at}")) for at in range(20)]


def names(data: bytes) -> list[str]:
    return [row["name"] for row in rows(data)]


def lost(data: bytes) -> dict[str, int]:
    return {fault.kind: fault.count for fault in scan(data).faults}


def test_a_file_that_is_cut_is_read_up_to_there() -> None:
    data, whole = trace_file(*INSTANTS), trace_file(*INSTANTS[:12])
    cut = data[: len(whole) + 5]
    assert names(cut) == [f"n{at}" for at in range(12)]
    (fault,) = scan(cut).faults
    assert (fault.kind, fault.offset) == ("truncated", len(whole))
    assert fault.example == "inside the last packet, of which 5 bytes are there"


@pytest.mark.parametrize(
    "noise",
    [
        b"\x00",
        b"\xff" * 40,
        b"\n" * 7,
        b"\n\x05\xff\xff\xff\xff\x0f",  # a packet that is no message
        b"\n\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",  # a length that does not end
        b"\n\xff\xff\xff\xff\x7f",  # a length of 32 GB
        b"\n\xe8\x07",  # a length that reaches beyond the end
        b"\x12\x03abc",  # another field
    ],
    ids=str,
)
def test_reading_goes_on_behind_what_is_no_packet(noise: bytes) -> None:
    data = trace_file(*INSTANTS[:10], noise, *INSTANTS[10:])
    assert names(data) == [f"n{at}" for at in range(20)]
    counts = lost(data)
    assert counts.keys() <= {"bad_packet", "oversized"}
    assert sum(counts.values()) >= 1


def test_a_message_that_is_damaged_inside_takes_its_packet_with_it() -> None:
    bad = packet(ts=5, event=b"\x0a\xff")
    assert lost(trace_file(*INSTANTS[:3], bad, *INSTANTS[3:])) == {"bad_packet": 1}


def test_arguments_nested_without_end_take_their_packet_with_them() -> None:
    deep: list[Any] = [(4, 1)]
    for _ in range(100):
        deep = [(12, deep)]
    data = trace_file(INSTANTS[0], packet(ts=5, event=instant(1, "deep", deep)), INSTANTS[1])
    assert names(data) == ["n0", "n1"]
    assert lost(data) == {"bad_packet": 1}


def many_slices(count: int) -> list[Any]:
    """Two groups of slices that overlap in part; the k-th of a group is 100 + k ns long."""
    packets = []
    for group in range(2):
        at = BASE + group * 100_000
        numbers = range(group * count, (group + 1) * count)
        packets += [packet(ts=at + 60 * k, event=begin(2, k + 1, category=2)) for k in numbers]
        packets += [packet(ts=at + 60 * k + 100 + k, event=end(2)) for k in numbers]
    return packets


@given(st.integers(0, 47))
def test_a_lost_packet_gives_no_slice_a_wrong_end(at: int) -> None:
    """Whichever is lost: the slices of all other packets are as long as they were."""
    head = torch_head(*(f"s{k}" for k in range(24)))
    packets = many_slices(12)
    true = spans(trace_file(*head, *packets))
    assert len(true) == 24
    assert true["s5"] == (0.3, 0.105)
    damaged = [*packets[:at], b"\n\x02\xff\xff", *packets[at + 1 :]]
    found = spans(trace_file(*head, *damaged))
    wrong = {name for name, span in found.items() if span != true[name] and span[1] is not None}
    assert not wrong
    assert len(found) >= 23
    assert sum(span[1] is None for span in found.values()) <= 1


@given(st.integers(0, 46), st.integers(1, 20))
def test_a_hole_gives_no_slice_a_wrong_end(at: int, length: int) -> None:
    """Several packets in a row are lost, with their lengths."""
    head = torch_head(*(f"s{k}" for k in range(24)))
    packets = many_slices(12)
    true = spans(trace_file(*head, *packets))
    damaged = [*packets[:at], b"\xff" * 30, *packets[at + length :]]
    found = spans(trace_file(*head, *damaged))
    assert all(span[1] in (None, true[name][1]) for name, span in found.items())


@given(st.binary(max_size=300))
def test_noise_is_never_more_than_noise(noise: bytes) -> None:
    data = trace_file(*INSTANTS[:2], noise, *INSTANTS[2:4])
    assert set(names(data)) >= {"n0", "n1"}
