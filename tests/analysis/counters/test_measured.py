"""Counters over the parts of steps: a drawn trace and its table, exact sums, a real writer."""

from __future__ import annotations

import gzip
import json
from bisect import bisect_right
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinetoscope.analysis.counters.measured import (
    PARTS,
    WORK,
    CounterSum,
    counter_of,
    is_constant,
    measured,
)
from kinetoscope.analysis.facts import Facts
from kinetoscope.analysis.steps import select
from kinetoscope.analysis.summarize import summarize
from kinetoscope.trace.read import read
from tests.conftest import TRACES, requires_traces
from tests.drawing import PID, Event, trace_of

DEVICE = {"deviceProperties": [{"id": 0, "name": "GPU"}]}


def counter(name: str, *samples: tuple[float, float]) -> list[Event]:
    return [
        {"ph": "C", "name": name, "pid": "GPU 0 Counters", "ts": ts, "args": {"": value}}
        for ts, value in samples
    ]


def step(number: int, ts: float, dur: float) -> Event:
    return {
        "ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{number}", "pid": PID,
        "tid": 1, "ts": ts, "dur": dur,
    }  # fmt: skip


def work(ts: float, dur: float, name: str = "gemm", cat: str = "kernel", stream: int = 7) -> Event:
    return {
        "ph": "X", "cat": cat, "name": name, "pid": 0, "tid": stream, "ts": ts, "dur": dur,
        "args": {"device": 0, "stream": stream},
    }  # fmt: skip


def facts_of(*events: Event) -> Facts:
    return summarize(trace_of(events, **DEVICE))


def the(facts: Facts, kind: str, steps: str = "all") -> CounterSum:
    found = counter_of(measured(select(facts, steps)), kind)
    assert found is not None
    return found


def test_joules_and_clocks_of_each_part_of_a_step() -> None:
    # µs        0        40       60       80     100
    # compute   ████████████████
    # nccl               ███████████████████
    # copy                                   (none)
    # power     100 W    300 W    300 W    50 W   (samples every 20 µs)
    facts = facts_of(
        step(1, 0, 100),
        work(0, 50),
        work(40, 40, "ncclDevKernel_AllReduce_Sum_f32", stream=9),
        *counter("Power (W)", (0, 100), (20, 100), (40, 300), (60, 300), (80, 50)),
        *counter("SM Clock (MHz)", (0, 1980), (20, 1980), (40, 1980), (60, 1500), (80, 210)),
    )
    power, clock = the(facts, "power"), the(facts, "sm_clock")
    joules = {part: power.total(part) for part in PARTS}
    assert joules == {
        "compute_ns": pytest.approx(40e-6 * 100 + 10e-6 * 300),
        "exposed_communication_ns": pytest.approx(30e-6 * 300),
        "exposed_copy_ns": None,  # no time, so no figure
        "memset_ns": None,
        "idle_ns": pytest.approx(20e-6 * 50),
    }
    assert power.total() == pytest.approx(17e-3)
    assert power.mean() == pytest.approx(170.0)
    assert clock.mean(*WORK) == pytest.approx((60 * 1980 + 20 * 1500) / 80)
    assert (clock.lowest, clock.highest) == (1500.0, 1980.0), "idle, it sleeps: that is no minimum"


def test_what_no_sample_covers_is_no_zero() -> None:
    facts = facts_of(
        step(1, 0, 100), step(2, 100, 100), work(0, 100), work(100, 100),
        *counter("Power (W)", (0, 100), (20, 100), (40, 100), (60, 100)),
        *counter("SM Clock (MHz)", (150, 1000), (160, 1000), (170, 1000), (180, 900)),
    )  # fmt: skip
    power = the(facts, "power", "1")
    assert power.covered() == pytest.approx(0.8), "enough, and the figure is of what is covered"
    assert power.total() == pytest.approx(80e-6 * 100)
    for kind, steps in (("power", "2"), ("sm_clock", "1"), ("sm_clock", "2")):
        none = the(facts, kind, steps)
        assert (none.mean(), none.total(), none.lowest) == (None, None, None)
    assert the(facts, "sm_clock", "2").covered() == pytest.approx(0.4)
    assert the(facts, "power", "2").covered() == 0.0


def test_a_recording_without_counters_has_none() -> None:
    facts = facts_of(step(1, 0, 100), work(0, 50))
    assert facts.devices[0].counters == ()
    assert facts.steps[0].devices[0].counters == ()
    assert measured(select(facts)) == ()


def test_a_clock_that_never_changes_is_constant() -> None:
    still, falling = (
        facts_of(step(1, 0, 40), work(0, 40), *counter("SM Clock (MHz)", (0, 1500), (20, last)))
        for last in (1500, 1400)
    )
    assert is_constant(still.devices[0].counters[0])
    assert not is_constant(falling.devices[0].counters[0])


WORKS = st.lists(
    st.tuples(
        st.integers(0, 290),
        st.integers(0, 60),
        st.sampled_from(
            [("gemm", "kernel"), ("ncclKernel", "kernel"), ("Memcpy HtoD", "gpu_memcpy"),
             ("Memset", "gpu_memset")]
        ),
        st.integers(1, 3),
    ),
    min_size=1,
    max_size=12,
)  # fmt: skip


@settings(max_examples=40)
@given(
    WORKS,
    st.lists(st.tuples(st.integers(0, 400), st.integers(0, 700)), min_size=2, max_size=20),
    st.lists(st.integers(10, 60), min_size=1, max_size=5),
)
def test_parts_of_a_step_sum_to_the_step_and_steps_to_the_recording(
    works: list[tuple[int, int, tuple[str, str], int]],
    samples: list[tuple[int, int]],
    lengths: list[int],
) -> None:
    ends = np.cumsum(lengths).tolist()
    marks = [step(at, end - dur, dur) for at, (end, dur) in enumerate(zip(ends, lengths))]  # noqa: B905
    facts = facts_of(
        *marks,
        *(work(ts, dur, name, cat, stream) for ts, dur, (name, cat), stream in works),
        *counter("Power (W)", *samples),
    )
    held = {ts: value for ts, value in samples}  # noqa: C416
    at = sorted(held)
    if len(at) < 2 or not facts.devices[0].counters:
        return
    period = int(np.median(np.diff([ts * 1000 for ts in at])))

    def watts(instant: int) -> int | None:
        """The definition, instant by instant; times in ns."""
        place = bisect_right(at, instant / 1000) - 1
        late = place < 0 or instant >= at[place] * 1000 + (
            period if place == len(at) - 1 else 2 * period
        )
        return None if late else held[at[place]]

    (decimals,) = {one.decimals for one in facts.devices[0].counters}
    assert decimals == 0
    for one in facts.steps:
        if not one.devices:
            continue
        (seen,) = one.devices
        (power,) = seen.counters
        integral = [getattr(power, field) for field in PARTS.values()]
        borders = sorted(
            {one.start_ns, one.end_ns}
            | {edge for ts in at for k in (0, 1, 2) for edge in [ts * 1000 + k * period]}
        )
        inside = [edge for edge in borders if one.start_ns <= edge <= one.end_ns]
        known = [
            (high - low, value)
            for low, high in pairwise(inside)
            if (value := watts(low)) is not None
        ]
        assert sum(part.amount for part in integral) == sum(ns * value for ns, value in known)
        assert sum(part.ns for part in integral) == sum(ns for ns, _ in known)
        for part, of in zip(PARTS, integral, strict=True):
            assert of.ns <= getattr(seen.partition, part)


# --- a recording by torch's own writer ----------------------------------------------------------

CUSPY = TRACES / "torch2.15_cuspy" / "node0_4242.1795335000000000000.pt.trace.json.gz"


@cache
def cuspy() -> tuple[Facts, list[dict[str, Any]]]:
    with gzip.open(CUSPY, "rb") as file:
        events = json.load(file, parse_float=Decimal)["traceEvents"]
    return summarize(read(CUSPY)), events


@requires_traces
def test_counters_of_torch_2_15_to_the_digit() -> None:
    """Each part of each step, from the decimals of the file by fractions, device row by row."""
    facts, events = cuspy()
    base = min(int(one["ts"] * 1000) for one in events if one.get("ph") in ("X", "C"))
    layers: list[list[tuple[int, int]]] = [[], [], [], []]
    for one in events:
        place = {"kernel": 0, "gpu_memcpy": 2, "gpu_memset": 3}.get(one.get("cat", ""))
        if place is not None:
            place = 1 if place == 0 and str(one["name"]).startswith("nccl") else place
            start = int(one["ts"] * 1000) - base
            layers[place].append((start, start + int(one["dur"] * 1000)))
    for index, counter_ in enumerate(facts.devices[0].counters):
        series = sorted(
            (int(one["ts"] * 1000) - base, Fraction(one["args"][""]))
            for one in events
            if one.get("ph") == "C" and one["name"] == counter_.name
        )
        assert len(series) == counter_.samples
        for step_ in facts.steps:
            (seen,) = step_.devices
            expected = slowly(series, layers, step_.start_ns, step_.end_ns)
            for part, (amount, ns) in zip(PARTS.values(), expected, strict=True):
                found = getattr(seen.counters[index], part)
                assert found.ns == ns
                # Values with more digits than fit are rounded in the last one that does.
                least = Fraction(ns, 2) if counter_.unit in ("%", "") else 0
                assert abs(found.amount - amount * Fraction(10) ** counter_.decimals) <= least


def slowly(
    series: list[tuple[int, Fraction]],
    layers: list[list[tuple[int, int]]],
    start: int,
    end: int,
) -> list[tuple[Fraction, int]]:
    """Per part, the integral and what is covered: each instant by definition."""
    at = [ts for ts, _ in series]
    period = int(np.median(np.diff(at)))
    borders = {start, end, *at, at[-1] + period}
    borders |= {edge for layer in layers for pair in layer for edge in pair}
    inside = sorted(edge for edge in borders if start <= edge <= end)
    sums = [(Fraction(0), 0) for _ in range(5)]
    for low, high in pairwise(inside):
        place = bisect_right(at, low) - 1
        if place < 0 or low >= at[-1] + period:
            continue
        part = next((k for k, layer in enumerate(layers) if any(a <= low < b for a, b in layer)), 4)
        amount, ns = sums[part]
        sums[part] = (amount + series[place][1] * (high - low), ns + high - low)
    return sums
