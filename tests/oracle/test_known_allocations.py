"""Tensors of known sizes, kept, leaked, released and reused under torch's own profiler."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from kinetoscope.session.session import TraceSession
from kinetoscope.trace.read import read
from kinetoscope.views.memory.contract import (
    Memory,
    MemoryEventQuery,
    MemoryQuery,
    StatisticsQuery,
    StepsQuery,
)
from kinetoscope.views.memory.rows import MemoryEventRow
from kinetoscope.views.memory.steps import steps_memory
from kinetoscope.views.memory.view import VIEW, build
from kinetoscope.views.memory.windows import event_window, statistics_window
from kinetoscope.views.view import Subject

torch = pytest.importorskip("torch")

STEPS = 7
# Bytes, each unlike any other.
KEPT, LEAKED, RELEASED, REUSED, BEFORE = 8 << 20, 3 << 20, 5 << 20, 2 << 20, 7 << 20


@pytest.fixture(name="subject", scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> Subject:
    """Seven steps: one tensor is kept for all, one a step leaks, others are released in time."""
    path = tmp_path_factory.mktemp("live") / "worker0.pt.trace.json"
    before = torch.zeros(BEFORE, dtype=torch.uint8)
    leak: list[Any] = []

    def save(profiler: Any) -> None:
        profiler.export_chrome_trace(str(path))

    schedule = torch.profiler.schedule(wait=0, warmup=1, active=STEPS, repeat=1)
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU],
        schedule=schedule,
        on_trace_ready=save,
        profile_memory=True,
        with_stack=True,
    ) as profiler:
        profiler.step()
        kept = torch.ones(KEPT, dtype=torch.uint8)
        for _ in range(STEPS):
            leak.append(torch.zeros(LEAKED, dtype=torch.uint8))
            with torch.profiler.record_function("reuse"):
                for _ in range(3):
                    torch.empty(REUSED, dtype=torch.uint8)
            released = torch.full((RELEASED,), 3, dtype=torch.uint8)
            del released
            profiler.step()
    del before, kept
    return TraceSession(read(path)).subject(VIEW)


@pytest.fixture(name="answer", scope="module")
def view(subject: Subject) -> Memory:
    return build(subject, MemoryQuery(steps="everything"))


def rows_of(subject: Subject, size: int) -> tuple[MemoryEventRow, ...]:
    return event_window(
        subject, MemoryEventQuery(min_bytes=size, max_bytes=size, steps="everything")
    ).rows


def test_each_tensor_is_one_block_that_lives_as_long_as_it(subject: Subject) -> None:
    (kept,) = rows_of(subject, KEPT)
    assert (kept.name, kept.released_ns) == ("aten::ones (aten::empty)", None)
    leaked = rows_of(subject, LEAKED)
    assert [row.released_ns for row in leaked] == [None] * STEPS
    assert {row.name for row in leaked} == {"aten::zeros (aten::empty)"}
    released = rows_of(subject, RELEASED)
    assert {row.name for row in released} == {"aten::full (aten::empty)"}
    assert len(released) == STEPS
    assert all(row.alive_ns is not None and row.alive_ns > 0 for row in released)
    reused = rows_of(subject, REUSED)
    assert len(reused) == 3 * STEPS
    assert all("test_known_allocations" in row.line for row in (kept, *leaked, *released))
    # The allocator of the host hands an address out again as soon as it has it back.
    assert all(
        one.released_ns is not None and two.allocated_ns is not None
        and one.released_ns <= two.allocated_ns
        for one, two in pairwise(reused)
    )  # fmt: skip


def test_statistics_are_those_sums(subject: Subject) -> None:
    table = statistics_window(subject, StatisticsQuery(limit=1000, steps="everything"))
    rows = {row.name: row for row in table.rows}
    assert rows["aten::zeros"].increase_bytes == STEPS * LEAKED
    assert rows["aten::zeros"].self_increase_bytes == 0
    assert rows["aten::zeros"].allocation_bytes == STEPS * LEAKED
    assert rows["aten::full"].allocations == STEPS
    assert rows["aten::ones"].calls == 1
    everything = KEPT + STEPS * (LEAKED + RELEASED + 3 * REUSED)
    assert rows["aten::empty"].self_allocation_bytes == everything
    # Tensors are released by Python, outside of ops.
    assert rows[""].increase_bytes == -STEPS * (RELEASED + 3 * REUSED)
    assert table.increase_bytes == KEPT + STEPS * LEAKED


def test_the_curve_is_the_sum_of_what_is_there(answer: Memory) -> None:
    curve = answer.curve
    assert curve.allocated[-1] - curve.allocated[0] == KEPT + STEPS * LEAKED
    assert answer.peak.bytes - curve.allocated[0] == KEPT + STEPS * LEAKED + RELEASED
    assert curve.is_exact


def test_the_leak_is_found_and_its_site_named(subject: Subject, answer: Memory) -> None:
    assert answer.growth.verdict == "leak"
    assert answer.growth.bytes_per_step == LEAKED
    steps = steps_memory(subject, StepsQuery())
    (site,) = steps.sites
    assert (site.bytes, site.name) == (LEAKED, "aten::zeros (aten::empty)")
    assert "test_known_allocations" in site.line
    assert steps.causes
    assert [row.end_bytes - row.start_bytes for row in steps.rows[1:]] == [LEAKED] * (STEPS - 1)
    assert [row.peak_bytes - row.start_bytes for row in steps.rows[1:]] == (
        [LEAKED + RELEASED] * (STEPS - 1)
    )


def test_what_was_there_before_is_said_not_to_be_in_it(answer: Memory) -> None:
    assert answer.curve.allocated[0] < BEFORE
    assert "before the recording" in answer.devices[0].missing["before"]
