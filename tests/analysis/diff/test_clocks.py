"""Clocks that were sampled: comparisons warn where they differ, are locked, or were locked."""

from __future__ import annotations

import pytest

from kinetoscope.analysis.diff.changes import Drift
from kinetoscope.analysis.diff.comparable import Mismatch, mismatches
from kinetoscope.analysis.diff.sides import Side
from tests.analysis.counters.test_measured import DEVICE, counter, step, work
from tests.drawing import trace_of

from .training import side_of

AT = range(0, 200, 10)


def side(*mhz: float, dram: bool = False) -> Side:
    """Two steps of 100 µs with 60 µs of work; the clock in each sample, the last one repeated."""
    clock = [(at, mhz[min(place, len(mhz) - 1)]) for place, at in enumerate(AT)] if mhz else []
    traffic = counter("DRAM BW (%)", *((at, 50) for at in AT)) if dram else []
    events = [step(1, 0, 100), step(2, 100, 100), work(0, 60), work(100, 60)]
    return side_of(trace_of([*events, *counter("SM Clock (MHz)", *clock), *traffic], **DEVICE))


def warned(base: Side, other: Side) -> dict[str, Mismatch]:
    return {
        one.what: one
        for one in mismatches(base, other, None)
        if one.what in ("measured clock", "locked clock", "performance counters")
    }


def test_clocks_that_differ_by_two_percent_are_named_in_mhz() -> None:
    found = warned(side(1980), side(1755))
    assert list(found) == ["measured clock"]
    one = found["measured clock"]
    assert (one.base, one.other) == ("1,980\u00a0MHz", "1,755\u00a0MHz")
    assert one.weight == "taints"
    assert warned(side(1980), side(1950)) == {}, "1.5 %"
    assert warned(side(1980), side()) == {}, "not known of one of them"


def test_a_locked_clock_beside_one_that_changes() -> None:
    found = warned(side(1980), side(1980, 1970))
    assert list(found) == ["locked clock"]
    assert (found["locked clock"].base, found["locked clock"].other) == ("constant", "changes")
    assert "The clock of the base" in found["locked clock"].text


def test_counters_that_lock_the_clock_of_one_of_them() -> None:
    found = warned(side(1980), side(1980, dram=True))
    assert list(found) == ["performance counters"]
    assert warned(side(1980, dram=True), side(1980, dram=True)) == {}


@pytest.mark.parametrize(
    ("change_ms", "explained", "far"),
    [
        (40, True, False),  # what the equal work lost
        (55, True, False),  # and 15 of the rest, which may have lost 24 of its 40 ms
        (-80, False, True),  # a step without something that took 120 ms
        (70, False, False),  # 30 ms more than a load like that of the equal work makes …
        (87, False, False),
        (89, False, True),  # … which is far larger from 48 ms on
        (-9, False, False),  # far from the 40 ms, but less than the 64 that may be explained
    ],
)
def test_a_loaded_host_explains_as_much_as_it_does_to_equal_work(
    change_ms: float, explained: bool, far: bool
) -> None:
    """Of a step of 140 ms, 100 are equal work: half of it gained 10 ms, the other half lost 50."""
    load = Drift(1.0, 8, of_device=False, apart=1.0, work_ns=100e6, change_ns=40e6, moved_ns=60e6)
    assert load.explains(change_ms * 1e6, 140e6) is explained
    assert load.is_small_beside(change_ms * 1e6, 140e6) is far
    assert load.most_ns(140e6) == 64e6
