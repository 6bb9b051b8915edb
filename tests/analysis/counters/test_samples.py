"""Sampled counters as steps: how long a sample holds, and integrals whose parts sum exactly."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinetoscope.analysis.counters.samples import (
    Series,
    extremes,
    integrals,
    kind_of,
    series_of,
    unit_of,
)
from kinetoscope.analysis.facts import Integral
from kinetoscope.base.arrays import I64
from kinetoscope.base.intervals import union
from tests.drawing import Event, trace_of

Samples = list[tuple[float, Any]]  # µs, value


def sampled(samples: Samples, name: str = "Power (W)") -> tuple[Series, ...]:
    """The series of a GPU on which one kernel ran."""
    kernel: Event = {
        "ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 0, "dur": 1,
        "args": {"device": 0, "stream": 7},
    }  # fmt: skip
    events: list[Event] = [
        {"ph": "C", "name": name, "pid": "GPU 0 Counters", "ts": ts, "args": {"": value}}
        for ts, value in samples
    ]
    return series_of(trace_of([kernel, *events]), 0)


def of(series: Series, *sets: tuple[float, float]) -> Integral:
    """The integral over some intervals in µs."""
    low, high = (np.array([round(ends[i] * 1000) for ends in sets], np.int64) for i in (0, 1))
    return integrals(series.steps, low, high, np.zeros(len(sets), np.int64), 1)[0]


def test_a_sample_holds_until_the_next_for_two_periods_at_most() -> None:
    #            100 W      250 W     200.5 W   nothing   50 W
    #       0    10         20        30        50        60   70
    (power,) = sampled([(10, 100), (20, 250), (30, 200.5), (60, 50)])
    assert (power.facts.period_ns, power.facts.samples, power.facts.unit) == (10_000, 4, "W")
    expected = {
        # interval   watts in it                     µs covered
        (0, 10): (0, 0),  # before the first sample
        (10, 20): (10 * 100, 10),
        (15, 25): (5 * 100 + 5 * 250, 10),
        (0, 100): (10 * 100 + 10 * 250 + 20 * 200.5 + 10 * 50, 50),
        (45, 65): (5 * 200.5 + 5 * 50, 10),  # a hole from 50 to 60
        (50, 60): (0, 0),
        (70, 99): (0, 0),  # the last one holds for a period
    }
    found = {ends: of(power, ends) for ends in expected}
    assert found == {
        ends: Integral(round(amount * 10**power.facts.decimals) * 1000, ns * 1000)
        for ends, (amount, ns) in expected.items()
    }


def test_odd_samples_are_left_out_and_of_two_at_once_the_last_counts() -> None:
    (power,) = sampled([(0, 1), (10, "2"), (10, 3), (20, None), (20, {"a": 1}), (30, 5), (30, 7)])
    assert power.steps.value.tolist() == [1, 3, 7]
    assert power.steps.start.tolist() == [0, 10_000, 30_000]


@pytest.mark.parametrize("value", [1e308, -1e308, 5e-324])
def test_values_at_the_end_of_a_double_stop_nothing(value: float) -> None:
    """As a rate they may be beyond what a number holds; the recording is read all the same."""
    assert sampled([(0, value), (10, 1)], "dram__bytes.sum") == () or abs(value) < 1
    (power,) = sampled([(0, value), (10, 1)])
    assert max(power.facts.low, power.facts.high, key=abs) == pytest.approx(max(value, 1, key=abs))


def test_one_sample_has_no_period_and_no_series() -> None:
    assert sampled([(0, 100)]) == ()
    assert sampled([(0, 1), (10, 2)], "sm__inst_executed.sum") == (), "not known what it measures"


def test_values_keep_all_digits_that_an_integral_has_room_for() -> None:
    (power,) = sampled([(0, 461.383), (1, 433.07)])
    assert (power.facts.decimals, power.steps.value.tolist()) == (3, [461383, 433070])
    assert (power.facts.low, power.facts.high) == (433.07, 461.383)
    (bytes_,) = sampled([(0, 8_689_877_035.25), (1e9, 7e9)], "NVLink TX (B/s)")
    assert bytes_.facts.decimals < 0, "thousand seconds of 8 GB/s: the last digits are left out"
    covered = 2_000_000_000_000
    assert of(bytes_, (0, 2e9)).ns == covered
    mean = of(bytes_, (0, 2e9)).amount / covered * 10.0**-bytes_.facts.decimals
    assert mean == pytest.approx((8_689_877_035.25 + 7e9) / 2, rel=1e-5)


@pytest.mark.parametrize(
    ("name", "kind", "unit"),
    [
        ("Power (W)", "power", ("W", 1.0)),
        ("SM Clock (MHz)", "sm_clock", ("MHz", 1.0)),
        ("Memory Clock (MHz)", "memory_clock", ("MHz", 1.0)),
        ("SM Active (%)", "sm_active", ("%", 1.0)),
        ("sm__cycles_active.avg.pct_of_peak_sustained_elapsed", "sm_active", ("%", 1.0)),
        ("DRAM BW (%)", "dram", ("%", 1.0)),
        ("HBM BW", "dram", ("", 1.0)),  # bytes, or bytes per second: the file does not say
        ("dram__bytes.sum.per_second", "dram", ("B/s", 1.0)),
        ("HBM Read", "dram_read", ("", 1.0)),
        ("PCIe (%)", "pcie", ("%", 1.0)),
        ("NVLink RX (GB/s)", "nvlink_rx", ("B/s", 1e9)),
        ("nvltx__bytes.sum", "nvlink_tx", ("B", 1.0)),
        ("Cycles (Current Kernel)", "", ("", 1.0)),  # computed, not measured
        ("Fan Speed (%)", "", ("%", 1.0)),
        ("GPU 0 Utilization", "", ("", 1.0)),
    ],
)
def test_names_say_what_is_measured_and_in_which_unit(
    name: str, kind: str, unit: tuple[str, float]
) -> None:
    assert (kind_of(name), unit_of(name)) == (kind, unit)


def test_a_sum_of_bytes_per_sample_becomes_a_rate() -> None:
    (link,) = sampled([(0, 5000), (10, 0), (20, 10)], "nvltx__bytes.sum")
    assert link.facts.unit == "B/s"
    assert link.facts.high == 500_000_000, "5,000 bytes in 10 µs"


TIMES = st.lists(st.integers(0, 400), min_size=2, max_size=12, unique=True)
VALUES = st.decimals(-500, 500, places=3).map(float)


@settings(max_examples=50)
@given(
    st.lists(st.tuples(st.integers(0, 400), VALUES), min_size=2, max_size=12),
    TIMES,
    st.lists(st.integers(0, 4), min_size=1, max_size=12),
)
def test_however_a_set_is_cut_its_parts_sum_to_the_whole(
    samples: list[tuple[int, float]], at: list[int], owner: list[int]
) -> None:
    found = sampled([(ts, value) for ts, value in samples])
    if not found:
        return
    (power,) = found
    edges = np.array(sorted(at), np.int64) * 1000
    low, high = edges[:-1], edges[1:]
    whole = integrals(power.steps, edges[:1], edges[-1:], np.zeros(1, np.int64), 1)[0]
    parts = integrals(power.steps, low, high, np.arange(len(low)), len(low))
    assert Integral(sum(p.amount for p in parts), sum(p.ns for p in parts)) == whole
    cell = np.resize(np.array(owner, np.int64), len(low))
    cells = integrals(power.steps, low, high, cell, 5)
    assert Integral(sum(p.amount for p in cells), sum(p.ns for p in cells)) == whole
    assert whole == slowly(power, int(edges[0]), int(edges[-1]))


def slowly(series: Series, low: int, high: int) -> Integral:
    """The definition, sample by sample."""
    amount = ns = 0
    columns = (series.steps.start, series.steps.end, series.steps.value)
    for start, end, value in zip(*(one.tolist() for one in columns), strict=True):
        held = max(0, min(end, high) - max(start, low))
        amount, ns = amount + held * value, ns + held
    return Integral(amount, ns)


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 90), VALUES), min_size=2, max_size=8))
def test_integers_stand_for_the_written_decimals(samples: list[tuple[int, float]]) -> None:
    if not (found := sampled([(ts, value) for ts, value in samples])):
        return
    (power,) = found
    last = {ts: Fraction(str(value)) for ts, value in samples}
    scale = 10**power.facts.decimals
    assert power.steps.value.tolist() == [last[ts] * scale for ts in sorted(last)]


def test_extremes_are_of_samples_that_hold_in_a_cell_each_once() -> None:
    (power,) = sampled([(0, 5), (10, 9), (20, 1), (30, 4)])
    starts: I64 = np.array([2, 5, 12, 35], np.int64) * 1000
    time = union(starts, starts + 2000)
    found = list(extremes(power.steps, time, np.array([0, 0, 0, 2]), 3))
    assert found == [(2, 5, 9), (0, 0, 0), (1, 4, 4)]
