"""Counters by group of kernels: unions, not sums, and a verdict that needs enough samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kinetoscope.analysis.counters.groups import union_by_group
from kinetoscope.analysis.facts import Facts
from kinetoscope.analysis.operators.artifact import operators_of
from kinetoscope.analysis.operators.kernels import ChosenKernels, KernelGroups, kernel_table
from kinetoscope.base.intervals import union
from kinetoscope.session.session import TraceSession
from kinetoscope.views.kernels import view as kernels
from kinetoscope.views.kernels.contract import KernelQuery, Kernels
from tests.analysis.counters.test_measured import counter, facts_of, step, work
from tests.drawing import Event, trace_of


def table_of(
    *events: Event, by: str = "name", **metadata: Any
) -> dict[str, tuple[int, KernelGroups]]:
    """The kernels of a trace by name: place in the table, and the table."""
    table = kernel_table(operators_of(trace_of(events, **metadata)), ChosenKernels(), by)
    return {table.text(int(code)): (at, table) for at, code in enumerate(table.name.tolist())}


def test_energy_of_a_group_is_over_the_union_of_its_kernels() -> None:
    # µs     0    20   40   60   80  100
    # gemm   ████████████              ██
    #             ██████████               (another stream: 20 µs side by side count once)
    # add                  ██████          (10 µs under the gemm: both are told of them)
    # power  100 W     200 W     300 W
    found = table_of(
        work(0, 40, "gemm"), work(20, 40, "gemm", stream=9), work(100, 10, "gemm"),
        work(50, 30, "add", stream=11),
        *counter("Power (W)", *((at, 100 + 100 * (at // 40)) for at in range(0, 120, 10))),
    )  # fmt: skip
    at, table = found["gemm"]
    assert table.energy_j[at] == pytest.approx(40e-6 * 100 + 20e-6 * 200 + 10e-6 * 300)
    assert table.power_w[at] == pytest.approx(11e-3 / 70e-6)
    assert table.power.samples[at] == 7
    at, table = found["add"]
    assert table.energy_j[at] == pytest.approx(30e-6 * 200)
    assert np.isnan(table.dram_percent[at])
    assert not table.memory_bound[at]


def test_a_group_that_samples_hardly_cover_has_no_figure() -> None:
    found = table_of(
        work(0, 10, "early"), work(50, 10, "late"),
        *counter("Power (W)", *((at, 100) for at in range(48, 99, 2))),
    )  # fmt: skip
    at, table = found["early"]
    assert np.isnan(table.energy_j[at]), "no zero"
    at, table = found["late"]
    assert table.energy_j[at] == pytest.approx(1e-3)


def bound_by(samples: int, dram: float, active: float) -> bool:
    """Whether memory bounds a kernel that lasts for so many samples of 10 µs."""
    end = samples * 10
    found = table_of(
        work(0, end, "add"),
        *counter("DRAM BW (%)", *((at, dram) for at in range(0, end, 10))),
        *counter("SM Active (%)", *((at, active) for at in range(0, end, 10))),
    )
    at, table = found["add"]
    return bool(table.memory_bound[at])


def test_memory_bounds_where_it_is_busy_while_the_multiprocessors_are() -> None:
    assert bound_by(30, 75, 95)
    assert not bound_by(30, 40, 95), "memory has room"
    assert not bound_by(30, 75, 40), "too few multiprocessors have work: another finding"
    assert not bound_by(19, 75, 95), "too few samples"


def test_bytes_per_second_are_told_of_the_peak_where_the_data_sheet_is_known() -> None:
    events = [
        work(0, 100, "add"),
        *counter("dram__bytes.sum.per_second", *((at, 1.675e12) for at in range(0, 100, 10))),
    ]
    h100 = {"id": 0, "name": "NVIDIA H100 80GB HBM3", "numSms": 132}
    at, table = table_of(*events, deviceProperties=[h100])["add"]
    assert table.dram_percent[at] == pytest.approx(50, abs=0.5), "of 3.35 TB/s"
    at, table = table_of(*events)["add"]
    assert np.isnan(table.dram_percent[at]), "the peak is not known"


def answer_of(*events: Event) -> Kernels:
    trace = trace_of(events)
    facts: Facts = facts_of(*events)
    return kernels.build(TraceSession(trace, facts).subject(kernels.VIEW), KernelQuery())


def test_the_view_has_columns_of_counters_only_where_there_are_some() -> None:
    plain = answer_of(step(1, 0, 100), work(0, 100))
    assert plain.table.rows[0].energy_j is None
    assert "No counter" in plain.missing["counters"] or "no counter" in plain.missing["counters"]
    assert "energy_j" not in [one.key for one in kernels.tables(plain)[0].columns]
    power = counter("Power (W)", *((at, 500) for at in range(0, 100, 5)))
    measured = answer_of(step(1, 0, 100), work(0, 100), *power)
    assert measured.table.rows[0].energy_j == pytest.approx(0.05)
    assert "counters" not in measured.missing
    keys = [one.key for one in kernels.tables(measured)[0].columns]
    assert [key for key in keys if key in ("energy_j", "power_w", "dram_percent")] == [
        "energy_j",
        "power_w",
        "dram_percent",
    ]


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(-50, 50), st.integers(-2, 30)), max_size=20)
)
def test_the_union_of_each_group_is_that_of_its_intervals(
    intervals: list[tuple[int, int, int]],
) -> None:
    group, start, dur = (np.array([one[i] for one in intervals], np.int64) for i in range(3))
    found = union_by_group(group, start, start + dur)
    for number in range(4):
        mine, known = found.group == number, group == number
        expected = union(start[known], (start + dur)[known])
        # Neighbours that touch may be one interval or two: the instants are the same.
        again = union(found.start[mine], found.end[mine])
        assert (again.start.tolist(), again.end.tolist()) == (
            expected.start.tolist(),
            expected.end.tolist(),
        )
        assert int((found.end - found.start)[mine].sum()) == expected.total_ns
