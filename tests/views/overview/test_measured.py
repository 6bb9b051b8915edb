"""The figures of counters in the Overview: a drawn step and the whole table of it."""

from __future__ import annotations

import pytest

from kinetoscope.analysis.facts import Facts
from kinetoscope.views.overview.measured import MeasuredRow, measured_tables
from kinetoscope.views.overview.view import OverviewQuery, build, tables
from tests.analysis.counters.test_measured import counter, facts_of, step, work


def two_steps() -> Facts:
    """Each 100 µs with 50 µs of compute; the clock falls in the second."""
    times = tuple(range(0, 200, 10))
    return facts_of(
        step(1, 0, 100), step(2, 100, 100), work(0, 50), work(100, 50),
        *counter("Power (W)", *((at, 400 if at % 100 < 50 else 100) for at in times)),
        *counter("SM Clock (MHz)", *((at, 1980 if at < 100 else 1500) for at in times)),
        *counter("NVLink TX", *((at, 8) for at in times)),
    )  # fmt: skip


def values(row: MeasuredRow) -> list[float | None]:
    return [cell.value if cell else None for cell in row.cells]


def test_joules_per_step_and_the_clock_of_each() -> None:
    found = build(two_steps(), OverviewQuery()).measured
    assert found is not None
    assert [(one.key, one.unit) for one in found.columns] == [
        ("energy", "J"), ("power", "W"), ("sm_clock", "MHz"), ("sm_clock_low", "MHz"),
        ("nvlink_tx", ""),
    ]  # fmt: skip
    assert {row.label: values(row) for row in (*found.parts, *found.steps)} == {
        "Step": pytest.approx([0.025, 250, 1740, 1500, 8]),
        "Compute": pytest.approx([0.020, 400, 1740, None, 8]),
        "Exposed communication": [None] * 5,
        "Exposed copy": [None] * 5,
        "Memset": [None] * 5,
        "Idle": pytest.approx([0.005, 100, 1740, None, 8]),
        "ProfilerStep#1": pytest.approx([0.025, 250, 1980, 1980, 8]),
        "ProfilerStep#2": pytest.approx([0.025, 250, 1500, 1500, 8]),
    }
    assert found.sampled == "3\u00a0counters, sampled every 10.0\u00a0µs"
    assert "does not say in which unit" in found.columns[-1].help
    (locks, varies) = found.notes
    assert "locks the clocks" in locks
    assert "1,500 to 1,980 MHz" in varies


def test_a_constant_clock_is_said_to_be_locked() -> None:
    facts = facts_of(
        step(1, 0, 100), work(0, 50), *counter("SM Clock (MHz)", *((at, 1410) for at in range(99)))
    )
    found = build(facts, OverviewQuery()).measured
    assert found is not None
    assert found.notes == (
        "The SM clock is 1,410 MHz in every sample: it is locked, or nothing limited it.",
    )


def test_a_step_without_samples_has_no_figure_and_says_how_much_is_covered() -> None:
    facts = facts_of(
        step(1, 0, 100), step(2, 100, 100), work(0, 50), work(100, 50),
        *counter("Power (W)", *((at, 400) for at in range(0, 110, 10))),
    )  # fmt: skip
    found = build(facts, OverviewQuery()).measured
    assert found is not None
    first, second = found.steps
    assert values(first) == pytest.approx([0.04, 400])
    assert values(second) == [None, None]
    assert [cell.covered for cell in second.cells if cell] == pytest.approx([0.1, 0.1])


def test_without_counters_the_page_says_how_to_record_them() -> None:
    facts = facts_of(step(1, 0, 100), work(0, 50))
    answer = build(facts, OverviewQuery())
    assert answer.measured is None
    assert "`CuspyConfig(enable_environment_counters=True)`" in answer.missing["counters"]
    assert not any(table.title.startswith("Measured") for table in tables(answer))
    host = build(facts_of(step(1, 0, 100)), OverviewQuery())
    assert "counters" not in host.missing, "without a device there is nothing to measure"


def test_the_tables_of_a_terminal_carry_units_in_their_keys() -> None:
    found = build(two_steps(), OverviewQuery()).measured
    assert found is not None
    parts, steps = measured_tables(found)
    keys = ["dur_ns", "energy_j", "power_w", "sm_clock_mhz", "sm_clock_low_mhz", "nvlink_tx"]
    assert [one.key for one in parts.columns] == ["part", *keys]
    assert [one.key for one in steps.columns] == ["step", *keys]
    assert "sampled every" in parts.note
