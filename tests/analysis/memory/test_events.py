"""Which events make a block, of which device, and which op owns them?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kinetoscope.analysis.memory.artifact import memory_of
from kinetoscope.analysis.memory.events import mapped_files, pair, sort_events
from kinetoscope.analysis.memory.model import BEFORE, NEVER, Category
from kinetoscope.trace.model import MemoryTable
from tests.analysis.memory.made import HIP, MPS, PRIVATE, XPU, MadeMemory, columns_of, only_device
from tests.drawing import V100, draw, memory


def blocks_of(*events: tuple[int, int, int]) -> list[tuple[Any, ...]]:
    """(start, end, bytes) of the blocks of events (ts, bytes, address)."""
    ts, size, address = (np.array(column, np.int64) for column in zip(*events, strict=True))
    found = pair(ts, size, address)
    shown = {BEFORE: "before", NEVER: "never"}
    return [
        (shown.get(start, start), shown.get(end, end), held)
        for start, end, held in zip(
            found.start.tolist(), found.end.tolist(), found.bytes.tolist(), strict=True
        )
    ]


def test_a_block_lasts_from_its_allocation_to_the_next_release_of_its_address() -> None:
    assert blocks_of((1, 64, 7), (2, 32, 8), (3, -64, 7), (4, 16, 7), (6, -16, 7)) == [
        (1, 3, 64),
        (2, "never", 32),
        (4, 6, 16),
    ]


def test_a_release_alone_is_of_a_block_from_before() -> None:
    assert blocks_of((1, 64, 7), (2, -32, 8)) == [("before", 2, 32), (1, "never", 64)]


def test_an_address_given_out_twice_was_released_in_between() -> None:
    assert blocks_of((1, 64, 7), (5, 32, 7), (8, -32, 7)) == [(1, 5, 64), (5, 8, 32)]


def test_an_address_released_twice_was_allocated_in_between() -> None:
    # Nothing else is known of the second block: it has no length.
    assert blocks_of((1, 64, 7), (5, -64, 7), (8, -32, 7)) == [(1, 5, 64), (8, 8, 32)]


def test_events_of_no_bytes_are_no_blocks() -> None:
    assert blocks_of((1, 64, 7), (2, 0, 7), (3, -64, 7)) == [(1, 3, 64)]


@pytest.mark.parametrize(
    ("kind", "number", "key"),
    [(1, 0, "cuda:0"), (HIP, 3, "hip:3"), (XPU, 0, "xpu:0"), (MPS, 0, "mps:0"),
     (PRIVATE, 1, "privateuse1:1"), (19, 0, "mtia:0"), (15, 2, "hpu:2"), (77, 0, "type77:0")],
)  # fmt: skip
def test_devices_of_every_vendor_have_a_key(kind: int, number: int, key: str) -> None:
    made = MadeMemory(kind=kind, device=number)
    made.allocate(1, "a", 64)
    columns = columns_of("op |aaa|", made)
    assert [device.key for device in columns.devices] == [key]
    assert columns.devices[0].label


def test_the_host_comes_last_and_devices_know_their_capacity() -> None:
    host, device = MadeMemory(kind=0, device=-1), MadeMemory()
    host.allocate(1, "h", 8)
    device.allocate(2, "d", 64)
    picture = "op |aaa  |\ncall | k   |\ngpu |  kk |"
    columns = columns_of(picture, host, device, deviceProperties=[V100])
    assert [(one.key, one.capacity_bytes) for one in columns.devices] == [
        ("cuda:0", 32 << 30),
        ("cpu", None),
    ]
    assert columns.devices[0].label == "GPU 0 · Tesla V100-SXM2-32GB"


def table(*rows: tuple[int, int, int]) -> MemoryTable:
    """Events of the host: bytes, total allocated, total reserved."""
    count = len(rows)
    size, total, reserved = (np.array(column, np.int64) for column in zip(*rows, strict=True))
    nothing = np.zeros(count, np.int32)
    return MemoryTable(
        np.arange(count), size, nothing, nothing - 1, np.arange(count), total, reserved, nothing,
        nothing,
    )  # fmt: skip


_ANY_INT32 = st.sampled_from([0, 1, -1, 20, 2**31 - 1, -(2**31)])


@given(st.lists(st.tuples(_ANY_INT32, _ANY_INT32), max_size=20))
def test_each_device_of_the_events_is_told_once(devices: list[tuple[int, int]]) -> None:
    kind, number = np.array(devices, np.int32).reshape(-1, 2).T
    events = replace(table((0, 0, 0)), device_type=kind, device_id=number)
    assert events.allocating_devices() == sorted(set(devices))


@pytest.mark.parametrize(
    ("rows", "mapped"),
    [
        # An allocator alone: its total follows from its events.
        ([(64, 64, 0), (8, 72, 0), (-64, 8, 0), (-8, 0, 0)], []),
        # A file mapped and unmapped between its events.
        ([(64, 64, 0), (8, 0, 8), (-8, 0, 0), (-64, 0, 0)], [1, 2]),
        ([(64, 64, 0), (-8, 0, 0), (-64, 0, 0), (8, 8, 0)], [1]),
        # Of two releases that nothing precedes, one at most can leave the total at 0.
        ([(-64, 0, 0), (-8, 0, 0), (8, 8, 0)], [0, 1]),
        ([(-64, 0, 0), (8, 8, 0)], []),
    ],
)
def test_mapped_files_are_counted_apart(
    rows: list[tuple[int, int, int]], mapped: list[int]
) -> None:
    found = mapped_files(table(*rows), np.arange(len(rows)))
    assert np.flatnonzero(found).tolist() == mapped


def test_an_event_belongs_to_the_innermost_op_of_its_thread() -> None:
    made = MadeMemory()
    made.allocate(2, "x", 1)  # in b, below a
    made.allocate(5, "y", 2)  # in a alone: b ends where it starts
    made.allocate(9, "z", 4)  # outside
    made.allocate(2, "w", 8, tid=2)  # another thread, without ops
    columns = columns_of("op |aaaaaaaa   |\nop | bbbb      |", made)
    owners = {
        int(size): columns.path_names[path] if path >= 0 else ""
        for size, path in zip(columns.events.bytes, columns.events.path, strict=True)
    }
    assert owners == {1: "aten::b", 2: "aten::a", 4: "", 8: ""}


def test_an_empty_tensor_is_named_with_the_op_that_wants_it() -> None:
    made = MadeMemory()
    made.allocate(2, "x", 1)
    names = {"a": "aten::ones", "b": "aten::empty"}
    columns = columns_of("op |aaaaaaaa|\nop | bbbb   |", made, names=names)
    assert columns.path_names[int(columns.events.path[0])] == "aten::ones (aten::empty)"


def test_without_totals_the_curve_is_the_change() -> None:
    columns = memory_of(draw("op |aaa|", events=[memory(1, 64, None), memory(2, -16, None)]))
    device = only_device(columns)
    assert not device.has_totals
    assert not device.has_addresses
    assert columns.events.allocated.tolist() == [64, 48]
    assert {"totals", "addresses"} <= set(columns.missing)


def test_every_event_is_of_one_device() -> None:
    made = [MadeMemory(kind=kind, device=at) for at, kind in enumerate((1, 1, 6))]
    for at, one in enumerate(made):
        one.allocate(1 + at, "a", 64)
    trace = draw("op |aaaaaa|", events=[event for one in made for event in one.events])
    assert sum(len(one.rows) for one in sort_events(trace)) == len(trace.memory) == 3


def test_an_event_larger_than_any_device_is_left_out_and_told() -> None:
    made = MadeMemory()
    made.allocate(1, "a", 64)
    made.allocate(2, "b", 1 << 60)
    made.lose()
    made.total -= 1 << 60
    made.events.append(memory(2, 1 << 60, 64))
    made.allocate(3, "c", 16)
    columns = columns_of("op |aaa|", made)
    assert columns.events.bytes.tolist() == [64, 16]
    assert columns.missing["sizes"].startswith("1\u00a0allocator event of a petabyte or more")


def test_a_total_that_no_device_has_is_not_recorded() -> None:
    columns = memory_of(draw("op |aaa|", events=[memory(1, 64, 1 << 60), memory(2, -16, 48)]))
    assert not only_device(columns).has_totals


def test_an_event_without_an_address_is_of_no_block_and_still_counts() -> None:
    made = MadeMemory()
    made.allocate(1, "a", 64)
    made.allocate(2, "b", 32)
    made.events[-1]["args"]["Addr"] = 0
    columns = columns_of("op |aaa|", made)
    assert columns.blocks.bytes.tolist() == [64]
    assert columns.events.allocated.tolist() == [64, 96]
    assert columns.event_category.tolist()[1] == Category.UNKNOWN
