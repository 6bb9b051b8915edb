"""What must hold of any recording: layers, statistics, trees and curves are the same bytes."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinetoscope.analysis.memory.artifact import memory_of
from kinetoscope.analysis.memory.curve import (
    by_category,
    by_code,
    curve,
    highest,
    layer_totals,
    layers_at,
)
from kinetoscope.analysis.memory.model import Category, MemoryColumns, MemoryDevice
from kinetoscope.analysis.memory.peak import alive
from kinetoscope.analysis.memory.statistics import statistics
from tests.analysis.memory.made import MadeMemory, columns_of
from tests.collected import FILES, opened
from tests.conftest import requires_traces

OPS = """
    step  |1111111111111111111122222222222222222222|
    op    | aaaaaaa bbbbbbb ccc  aaaaaaa bbbbbbb   |
    op    |  ddd      eee        ddd      eee      |
    note  |                  oo                 oo |
"""
NAMES = {
    "b": "autograd::engine::evaluate_function: MmBackward0",
    "e": "MmBackward0",
    "o": "Optimizer.step#Adam.step",
}


@st.composite
def recordings(draw: st.DrawFn) -> MemoryColumns:
    """Devices whose events may be lost, with blocks from before and without an end."""
    made = []
    for kind, number in draw(st.sampled_from([[(1, 0)], [(0, -1)], [(6, 1), (0, -1)]])):
        one = MadeMemory(base=draw(st.integers(1000, 5000)), kind=kind, device=number)
        live, before = [], ["q", "r"]
        for at in sorted(draw(st.lists(st.integers(0, 399), max_size=40))):
            what = draw(st.sampled_from("+++--<"))
            if what == "+":
                name = draw(st.sampled_from("abcdefgh"))
                if name in live:
                    continue
                one.allocate(at / 10, name, draw(st.integers(1, 300)))
                live.append(name)
            elif what == "-" and live:
                one.release(at / 10, live.pop(draw(st.integers(0, len(live) - 1))))
            elif what == "<" and before:
                one.release(at / 10, before.pop(), draw(st.integers(1, 300)))
            else:
                continue
            if draw(st.integers(0, 9)) == 0:
                one.lose()
        if one.events:
            made.append(one)
    return columns_of(OPS, *made, names=NAMES)


@given(recordings(), st.randoms())
@settings(max_examples=80)
def test_drawn_recordings_add_up(columns: MemoryColumns, chance: random.Random) -> None:
    check(columns, chance)


@requires_traces
@pytest.mark.parametrize("name", FILES)
def test_real_recordings_add_up(name: str) -> None:
    trace = opened(name)
    if not len(trace.memory):
        pytest.skip("no allocator event")
    columns = memory_of(trace)
    assert sum(device.stop - device.first for device in columns.devices) == len(trace.memory)
    check(columns, random.Random(name))


def check(columns: MemoryColumns, chance: random.Random) -> None:
    for device in columns.devices:
        check_layers(columns, device)
        check_curves(columns, device, chance)
        check_statistics(columns, device, chance)
        check_alive(columns, device, chance)


def totals(columns: MemoryColumns, device: MemoryDevice) -> np.ndarray:
    """The recorded total before the first event, and after each."""
    allocated = columns.events.allocated[device.events]
    return np.concatenate([allocated[:1] - columns.events.bytes[device.events][:1], allocated])


def check_layers(columns: MemoryColumns, device: MemoryDevice) -> None:
    """Categories, and modules, sum to the total at every event."""
    wanted = totals(columns, device)
    rows = np.arange(-1, device.stop - device.first)
    codes = np.unique(columns.blocks.module[device.blocks])[-2:]
    for keys in (
        by_category(columns, device),
        by_code(columns, device, columns.blocks.module, [[code] for code in codes if code >= 0]),
    ):
        layers = layers_at(columns, device, rows, keys)
        assert layers.sum(axis=0).tolist() == wanted.tolist()
    layers = layers_at(columns, device, rows, by_category(columns, device))
    for category in Category:
        assert layer_totals(columns, device, category).tolist() == layers[category, 1:].tolist()
    if device.has_addresses:
        for category in Category:
            rest = wanted - layers[category]
            for start, stop in ((0, len(rest) - 1), (1, len(rest) - 1), (0, 1)):
                found = highest(columns, device, category, slice(start, stop))
                assert found == rest[start : stop + 1].max(), "what held before the range counts"


def check_curves(columns: MemoryColumns, device: MemoryDevice, chance: random.Random) -> None:
    """Points are events, ends are exact, and no peak is lost, however few points there are."""
    wanted, ts = totals(columns, device), columns.events.ts[device.events]
    for points in (5, 20, 1 << 30):
        start, end = sorted(chance.sample(range(columns.end_ns + 1), 2))
        for low, high in ((0, columns.end_ns), (start, end)):
            found = curve(columns, device, low, high, points)
            first, last = np.searchsorted(ts, [low, high])
            assert (found.ts[0], found.ts[-1]) == (low, high)
            assert (found.allocated[0], found.allocated[-1]) == (wanted[first], wanted[last])
            assert (np.diff(found.row) >= 0).all()
            assert (np.diff(found.ts) >= 0).all()
            assert found.allocated.tolist() == wanted[found.row + 1].tolist()
            assert found.allocated.max() == wanted[first : last + 1].max()
            assert found.allocated.min() == wanted[first : last + 1].min()
            if device.has_reserved and last > first:
                reserved = columns.events.reserved[device.events][first:last]
                assert found.reserved[1:].max() == reserved.max()
            assert len(found.ts) <= points + 7


def check_statistics(columns: MemoryColumns, device: MemoryDevice, chance: random.Random) -> None:
    """The self increases of any range sum to what the curve changes by, where no event is lost."""
    ts, size = columns.events.ts[device.events], columns.events.bytes[device.events]
    for _ in range(5):
        low, high = sorted(chance.choices(range(columns.end_ns + 1), k=2))
        rows = (ts >= low) & (ts < high)
        found = statistics(columns, device, low, high)
        assert found.self_increase_bytes.sum() == size[rows].sum()
        assert found.self_allocations.sum() == np.count_nonzero(size[rows] > 0)
        assert found.self_allocation_bytes.sum() == size[rows & (size > 0)].sum()
        assert (found.allocations >= found.self_allocations).all()
        assert (found.allocation_bytes >= found.self_allocation_bytes).all()
        assert (found.calls[found.name >= 0] > 0).all()
        if not len(columns.strays) and device.has_totals:
            span = curve(columns, device, low, max(high, low + 1), 10)
            assert (
                span.allocated[-1] - span.allocated[0]
                == size[(ts >= low) & (ts < max(high, low + 1))].sum()
            )


def check_alive(columns: MemoryColumns, device: MemoryDevice, chance: random.Random) -> None:
    """What is alive sums to the total, category by category as the layers say."""
    wanted = totals(columns, device)
    for row in {-1, int(wanted.argmax()) - 1, chance.randrange(len(wanted)) - 1}:
        groups = alive(columns, device, row)
        assert sum(one.total_bytes for one in groups) == wanted[row + 1]
        layers = layers_at(columns, device, np.array([row]), by_category(columns, device))[:, 0]
        for category in Category:
            mine = [one.total_bytes for one in groups if one.category == category]
            assert sum(mine) == layers[category]
