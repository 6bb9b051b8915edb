"""Does memory grow from step to step, and how often is it asked for?"""

from __future__ import annotations

import numpy as np

from ...analysis.facts import Facts
from ...analysis.memory.growth import (
    LEAST_STEPS,
    Growth,
    StepMemory,
    after_warm_up,
    growth,
    leaking_sites,
    steps_of,
)
from ...analysis.memory.model import MemoryColumns
from ...analysis.memory.peak import peaks, total_after
from ...base.units import duration, plural, size, times
from ..table import heads
from ..view import Subject
from . import contract as answers
from .windows import chosen_of, leak_site

MOST_SITES = 20
_CAUSES = (
    "a loss that is kept with its graph, as in `total += loss` without `.item()` or `.detach()`",
    "a list that grows by a tensor each step",
    "a hook, or a cache, that keeps outputs",
)


def counted_steps(facts: Facts, columns: MemoryColumns) -> tuple[int, ...]:
    """The steps that say something of growth."""
    if not columns.steps.marked or len(facts.steps) != len(columns.steps):
        return ()
    return after_warm_up(tuple(step.excluded for step in facts.steps))


def growth_answer(
    steps: StepMemory, counted: tuple[int, ...], columns: MemoryColumns
) -> answers.GrowthAnswer:
    """The test for a leak over the steps that count."""
    found = growth(steps.end_bytes[list(counted)])
    return answers.GrowthAnswer(
        found.verdict,
        found.bytes_per_step,
        found.rising,
        found.steps,
        _growth_sentence(found, columns),
    )


def _growth_sentence(found: Growth, columns: MemoryColumns) -> str:
    if not columns.steps.marked:
        return columns.missing["steps"]
    if found.verdict == "not known":
        return (
            f"Too few steps to tell whether memory grows: {found.steps} after the warm-up; record"
            f" {LEAST_STEPS + 1} or more."
        )
    if found.verdict == "leak":
        return (
            f"Memory grows by {size(found.bytes_per_step)} a step: it rose after {found.rising} of"
            f" {plural(found.steps - 1, 'step')}."
        )
    return f"No leak over {plural(found.steps, 'step')}."


def churn_answer(
    columns: MemoryColumns, steps: StepMemory, counted: tuple[int, ...], peak_bytes: int
) -> answers.ChurnAnswer:
    """Allocations of a usual step by the highest total; ``peak_bytes`` 0: it is not known."""
    marked = columns.steps.marked and bool(len(columns.steps))
    rows = list(counted) or list(range(len(steps.end_bytes)))
    often = float(steps.allocations[rows].mean()) if rows else 0.0
    total = float(steps.allocated_bytes[rows].mean()) if rows else 0.0
    calls = columns.allocator
    late = calls.ts >= int(columns.steps.end[0]) if marked else np.zeros(len(calls), bool)
    number, spent = int(late.sum()), int(calls.dur[late].sum())
    reuse = total / peak_bytes if peak_bytes > 0 else None
    where = "per step" if marked else "in the recording"
    sentence = f"No allocation {where}"
    if often:
        # A mean below 1 is no 0.
        number_of = plural(round(often), "allocation") if often >= 1 else f"{often:.2g} allocations"
        sentence = f"{number_of} {where}, {size(total)} in all"
        sentence += f", {times(reuse)} the peak" if reuse is not None else ""
    sentence += "."
    if number:
        sentence += (
            f" After the first step the device was asked for memory, or given some back,"
            f" {plural(number, 'time')}: {duration(spent)} on the host."
        )
    elif marked and len(calls):
        sentence += " After the first step no memory was asked of the device."
    return answers.ChurnAnswer(often, total, reuse, number, spent, sentence)


def steps_memory(subject: Subject, query: answers.StepsQuery) -> answers.StepsMemory:
    """Memory from step to step. Raises QueryError."""
    columns: MemoryColumns = subject.artifact("")
    chosen = chosen_of(subject, query.device, query.steps, query.start_ns, query.end_ns)
    device = chosen.device
    steps = steps_of(columns, device)
    counted = counted_steps(subject.facts, columns)
    grown = growth_answer(steps, counted, columns)
    highest = total_after(columns, device, peaks(columns, device, chosen.span).first)
    peak_bytes = highest if device.has_totals else 0
    leaks = grown.verdict == "leak"
    counts = frozenset(counted)
    sites = leaking_sites(columns, device, counted, MOST_SITES) if leaks else ()
    return answers.StepsMemory(
        columns=heads(answers.StepMemoryRow),
        rows=tuple(_step_row(columns, steps, at, at in counts) for at in range(len(columns.steps)))
        if columns.steps.marked
        else (),
        growth=grown,
        churn=churn_answer(columns, steps, counted, peak_bytes),
        sites=tuple(leak_site(columns, site) for site in sites),
        causes=_CAUSES if leaks else (),
        missing=columns.missing.get("steps", ""),
    )


def _step_row(
    columns: MemoryColumns,
    steps: StepMemory,
    at: int,
    counts: bool,
) -> answers.StepMemoryRow:
    return answers.StepMemoryRow(
        name=columns.strings[int(columns.steps.name[at])],
        number=int(columns.steps.number[at]),
        counts=counts,
        start_bytes=int(steps.start_bytes[at]),
        end_bytes=int(steps.end_bytes[at]),
        peak_bytes=int(steps.peak_bytes[at]),
        allocations=int(steps.allocations[at]),
        allocated_bytes=int(steps.allocated_bytes[at]),
        device_calls=int(steps.device_calls[at]),
        device_ns=int(steps.device_ns[at]),
    )
