"""May this change go in? A comparison held against a budget, case by case.

A case is ok, worse, or cannot tell. Times are judged with their noise, counts exactly. A case that
is worse names the operators behind it, by how much, the line that calls them and the evidence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from msgspec import Struct

from ...base.units import duration, share, size
from ..idle.places import is_own_frame
from ..operators.groups import in_steps
from ..operators.stacks import frames_of
from .bridge import BridgePart
from .changes import ItemChange
from .comparable import StepCount
from .noise import BUDGET
from .sides import Side
from .verdict import PairVerdict, count_words, phrase

CaseOutcome = Literal["ok", "worse", "cannot tell"]
CULPRITS = 5
_WORSE = ("slower", "more calls", "added")
_STEP = "ProfilerStep"  # of which the step itself speaks


class Budget(Struct, frozen=True, forbid_unknown_fields=True):
    """What a change may cost. Shares are of the base: 0.02 is 2 %."""

    step: float = BUDGET  # growth of the median step
    parts: Mapping[
        str, float
    ] = {}  # part → growth, as a share of the step: {"idle_blocking_ns": 0.01}
    counts: Mapping[str, float] = {}  # count per step → growth: {"launches": 0, "collectives": 0}
    operators: Mapping[str, float] = {}  # name → growth of its own time: {"aten::copy_": 0.1}
    peak_memory: float | None = None  # growth of the peak of allocated memory; null = not checked


@dataclass(frozen=True, slots=True)
class BudgetCase:
    """One line of the budget, checked. ``evidence``: further lines, the heaviest first."""

    name: str
    outcome: CaseOutcome
    text: str
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Checked:
    """The two sides, their comparison, and what changed by operator and by kernel."""

    base: Side
    other: Side
    comparison: PairVerdict
    operators: Sequence[ItemChange]
    kernels: Sequence[ItemChange]


def check_budget(found: Checked, budget: Budget) -> tuple[BudgetCase, ...]:
    """Every case of the budget; the step comes first."""
    known = {one.key: one for one in found.comparison.counts}
    parts = {one.key: one for one in found.comparison.bridge.parts}
    names = {one.name: one for one in found.operators}
    cases = [_step(found, budget)]
    cases += [_part(parts.get(key), key, most, found) for key, most in budget.parts.items()]
    cases += [_count(known.get(key), key, most, found) for key, most in budget.counts.items()]
    cases += [_operator(names.get(key), key, most, found) for key, most in budget.operators.items()]
    if budget.peak_memory is not None:
        cases.append(_peak(found, budget.peak_memory))
    return tuple(cases)


def worst(cases: Sequence[BudgetCase]) -> CaseOutcome:
    """Worse where one case is, else cannot tell where one cannot, else ok."""
    outcomes = {case.outcome for case in cases}
    if "worse" in outcomes:
        return "worse"
    return "cannot tell" if "cannot tell" in outcomes else "ok"


def _step(found: Checked, budget: Budget) -> BudgetCase:
    comparison = found.comparison
    text = f"{comparison.headline} {comparison.certainty}".strip()
    if comparison.outcome == "worse":
        return BudgetCase("step time", "worse", text, culprits(found))
    if comparison.outcome == "cannot tell":
        why = tuple(one.text for one in comparison.mismatches if one.weight != "note")
        settle = (comparison.settle,) if comparison.settle else ()
        return BudgetCase("step time", "cannot tell", text, (*settle, *why))
    return BudgetCase("step time", "ok", f"{text} Budget {share(budget.step)}.")


def culprits(found: Checked) -> tuple[str, ...]:
    """The operators and kernels that take more time, each with amount, line and evidence."""
    said: list[str] = []
    for what, rows in (("operator", found.operators), ("kernel", found.kernels)):
        worse = [
            one
            for one in rows
            if one.status in _WORSE and one.change_ns > 0 and not one.name.startswith(_STEP)
        ]
        said += [_culprit(what, one, found) for one in worse[:CULPRITS]]
    longest = max(found.comparison.bridge.parts, key=lambda one: one.change_ns, default=None)
    if longest is not None and longest.change_ns > 0:
        said.insert(0, f"{phrase(longest.key)}: +{duration(longest.change_ns)} per step")
    return tuple(said)


def _culprit(what: str, row: ItemChange, found: Checked) -> str:
    calls = (
        f"{row.base.calls:,.4g} → {row.other.calls:,.4g} calls per step"
        if row.base.calls != row.other.calls
        else f"{row.other.calls:,.4g} calls per step, {duration(row.base.mean_ns)} →"
        f" {duration(row.other.mean_ns)} each"
    )
    p = "" if row.p is None or not row.p else f", p = {row.p:.1e}"
    line = source_line(found.other, row.other_name or row.name) if what == "operator" else ""
    where = f" at {line}" if line else ""
    return (
        f"{what} {row.name}{where}: +{duration(row.change_ns)} per step ({calls}{p}), {row.status}"
    )


def source_line(side: Side, name: str) -> str:
    """The line of the user's code that most of an operator's time was called from; "" unknown."""
    operators, calls = side.operators, side.operators.calls
    if not len(operators.stacks):
        return ""
    try:
        code = operators.strings.index(name)
    except ValueError:
        return ""
    rows = np.flatnonzero(
        (calls.name == code) & (calls.stack >= 0) & in_steps(calls.step, side.steps)
    )
    if not len(rows):
        return ""
    stacks, place = np.unique(calls.stack[rows], return_inverse=True)
    weight = np.bincount(place, calls.total_ns[rows].astype(np.float64))
    frames = [
        operators.strings[frame]
        for frame in frames_of(operators.stacks, int(stacks[int(weight.argmax())]))
    ]
    return next((frame for frame in frames if is_own_frame(frame)), frames[0] if frames else "")


def _part(part: BridgePart | None, key: str, most: float, found: Checked) -> BudgetCase:
    name = f"part {key}"
    if part is None:
        return BudgetCase(name, "ok", f"There is no {phrase(key)} in either recording.")
    grown = part.change_ns / max(found.comparison.bridge.base_ns, 1)
    text = (
        f"{phrase(key)}: {duration(part.base_ns)} → {duration(part.other_ns)} per step,"
        f" {share(abs(grown))} of the step {'more' if grown > 0 else 'less'}; budget {share(most)}."
    )
    if grown <= most:
        return BudgetCase(name, "ok", text)
    if part.is_real:
        return BudgetCase(name, "worse", text, culprits(found))
    return BudgetCase(name, "cannot tell", f"{text} The steps differ too much to be sure.")


def _count(one: StepCount | None, key: str, most: float, found: Checked) -> BudgetCase:
    name = f"count {key}"
    if one is None:
        return BudgetCase(
            name, "cannot tell", f"Not both recordings tell how many {key} there are."
        )
    values = f"{count_words(one, one.base)} → {count_words(one, one.other)}"
    text = f"{one.label}: {values} per step; budget {share(most)} more."
    if one.other <= one.base * (1 + most):
        return BudgetCase(name, "ok", text)
    if not one.is_exact:
        return BudgetCase(name, "cannot tell", f"{text} The number varies from step to step.")
    rows = found.kernels if key in ("launches", "kernels", "copies") else found.operators
    more = sorted(rows, key=lambda row: row.base.calls - row.other.calls)[:CULPRITS]
    evidence = tuple(
        f"{row.name}{_at(found, row)}: {row.base.calls:,.4g} → {row.other.calls:,.4g} per step"
        for row in more
        if row.other.calls > row.base.calls
    )
    return BudgetCase(name, "worse", text, evidence)


def _at(found: Checked, row: ItemChange) -> str:
    line = source_line(found.other, row.other_name or row.name)
    return f" at {line}" if line else ""


def _operator(row: ItemChange | None, key: str, most: float, found: Checked) -> BudgetCase:
    name = f"operator {key}"
    if row is None:
        return BudgetCase(name, "ok", "It is in neither recording.")
    grown = row.change_ns / row.base.ns if row.base.ns else float("inf")
    text = (
        f"{duration(row.base.ns)} → {duration(row.other.ns)} per step"
        f"{f', {share(abs(grown))} ' + ('more' if grown > 0 else 'less') if row.base.ns else ''};"
        f" budget {share(most)}."
    )
    if row.other.ns <= row.base.ns * (1 + most):
        return BudgetCase(name, "ok", text)
    if row.status in _WORSE or (row.p is not None and row.p <= 0.01):
        return BudgetCase(name, "worse", text, (_culprit("operator", row, found),))
    return BudgetCase(name, "cannot tell", f"{text} The steps differ too much to be sure.")


def _peak(found: Checked, most: float) -> BudgetCase:
    peaks = [
        [one.peak_allocated_bytes for one in side.selection.facts.devices if one.used]
        for side in (found.base, found.other)
    ]
    known = [max((one for one in side if one is not None), default=None) for side in peaks]
    if known[0] is None or known[1] is None:
        text = "Not both recordings have allocator events: record with `profile_memory=True`."
        return BudgetCase("peak memory", "cannot tell", text)
    text = f"{size(known[0])} → {size(known[1])}; budget {share(most)} more."
    is_ok = known[1] <= known[0] * (1 + most)
    return BudgetCase("peak memory", "ok" if is_ok else "worse", text)
