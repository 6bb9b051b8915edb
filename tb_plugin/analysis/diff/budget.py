"""May this change go in? A comparison held against a budget, case by case.

A case is ok, worse, or cannot tell. Times are judged with their noise, counts exactly. A case that
is worse names the operators behind it, by how much, the line that calls them and the evidence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Annotated, Literal

import numpy as np
from msgspec import Meta, Struct

from ...base.arrays import I64
from ...base.errors import QueryError, nearest
from ...base.units import duration, share, size
from ...trace.recipes import ALLOCATIONS, with_option
from ..idle.places import is_own_frame
from ..operators.groups import in_steps
from ..operators.stacks import frames_of
from ..steps import step_parameter
from .bridge import PARTS, divisions, parts_of
from .changes import ItemChange
from .comparable import COUNTS, OF_OPERATORS, StepCount, amounts, both_tell
from .noise import BUDGET, FEWEST_RECORDINGS
from .sides import Side
from .verdict import PairVerdict, bridge_of, count_words, phrase

CaseOutcome = Literal["ok", "worse", "cannot tell"]
CULPRITS = 5
_WORSE = ("slower", "more calls", "added")
_TAKES_MORE = (*_WORSE, "differs")  # the last is not known to be the code's doing
_STEP = "ProfilerStep"  # of which the step itself speaks


Growth = Annotated[float, Meta(ge=0)]
"""A share of the base: 0.02 is 2 %."""


class Budget(Struct, frozen=True, forbid_unknown_fields=True):
    """Limits on the cost of a change."""

    step: Growth = BUDGET  # of the median step
    parts: Mapping[
        str, Growth
    ] = {}  # part → growth, as a share of the step: {"idle_blocking_ns": 0.01}
    counts: Mapping[str, Growth] = {}  # count per step → growth: {"launches": 0, "collectives": 0}
    operators: Mapping[str, Growth] = {}  # name → growth of its own time: {"aten::copy_": 0.1}
    peak_memory: Growth | None = None  # of the peak of allocated memory; null = not checked


def known_keys(field: str) -> tuple[str, ...]:
    """The keys that a line of the budget may have; () for names of operators, which are any."""
    if field == "counts":
        return tuple(COUNTS)
    return tuple(dict.fromkeys(key for one in PARTS.values() for key in one)) * (field == "parts")


class BudgetCase(Struct, frozen=True):
    """One line of the budget, checked. ``evidence``: further lines, the heaviest first."""

    name: str
    outcome: CaseOutcome
    text: str
    evidence: tuple[str, ...] = ()
    frames: tuple[str, ...] = ()  # line of code of each evidence, "" without one; may be fewer


class _Evidence(Struct, frozen=True):
    """A line of evidence, and the frame that it names, if any."""

    text: str
    frame: str = ""


class Checked(Struct, frozen=True, eq=False):
    """The two sides, their comparison, and what changed by operator and by kernel."""

    base: Side
    other: Side
    comparison: PairVerdict
    operators: Sequence[ItemChange]
    kernels: Sequence[ItemChange]

    @property
    def are_repeated(self) -> bool:
        """True if there are enough recordings of both to tell the code from the day."""
        return min(len(self.base.judged), len(self.other.judged)) >= FEWEST_RECORDINGS

    @property
    def doubt(self) -> str:
        """Why a change of a part or an operator is not claimed."""
        if self.are_repeated:
            return "The recordings differ too much to be sure."
        return f"{FEWEST_RECORDINGS} recordings a side tell the code from the day."


def check_budget(found: Checked, budget: Budget) -> tuple[BudgetCase, ...]:
    """Every case of the budget; the step comes first.

    Raises:
        QueryError: there is no such part or count.
    """
    for field in ("parts", "counts"):
        for key in getattr(budget, field):
            if key not in known_keys(field):
                raise QueryError(f"{field}: there is no {key}", hint=hint_for(field, key))
    known = {one.key: one for one in found.comparison.counts}
    names = {one.other_name: one for one in found.operators if one.other_name}
    names |= {one.name: one for one in found.operators}
    cases = [_step(found, budget)]
    cases += [_part(key, most, found) for key, most in budget.parts.items()]
    cases += [_count(known.get(key), key, most, found) for key, most in budget.counts.items()]
    cases += [_operator(names.get(key), key, most, found) for key, most in budget.operators.items()]
    if budget.peak_memory is not None:
        cases.append(_peak(found, budget.peak_memory))
    return tuple(cases)


def hint_for(field: str, key: str) -> str:
    """Which keys there are, the nearest alone where one is near."""
    return nearest(key, known_keys(field), "there are ")


def worst(cases: Sequence[BudgetCase]) -> CaseOutcome:
    """Worse where one case is, else cannot tell where one cannot, else ok."""
    outcomes = {case.outcome for case in cases}
    if "worse" in outcomes:
        return "worse"
    return "cannot tell" if "cannot tell" in outcomes else "ok"


def _step(found: Checked, budget: Budget) -> BudgetCase:
    comparison = found.comparison
    text = f"{comparison.headline} {comparison.certainty}".strip()
    why = tuple(one.text for one in comparison.mismatches if one.weight != "note")
    if comparison.outcome == "worse":
        return _worse("step time", text, culprits(found), why)
    if comparison.outcome in ("cannot tell", "differs"):
        settle = (comparison.settle,) if comparison.settle else ()
        return BudgetCase("step time", "cannot tell", text, (*settle, *why))
    return BudgetCase("step time", "ok", f"{text} · budget {share(budget.step)}", why)


def _worse(
    name: str, text: str, evidence: Sequence[_Evidence], further: Sequence[str] = ()
) -> BudgetCase:
    said = (*(one.text for one in evidence), *further)
    return BudgetCase(name, "worse", text, said, tuple(one.frame for one in evidence))


def culprits(found: Checked) -> tuple[_Evidence, ...]:
    """The operators and kernels that take more time, each with amount, line and evidence."""
    said: list[_Evidence] = []
    for what, rows in (("operator", found.operators), ("kernel", found.kernels)):
        worse = [
            one
            for one in rows
            if one.status in _TAKES_MORE and one.change_ns > 0 and not one.name.startswith(_STEP)
        ]
        said += [_culprit(what, one, found) for one in worse[:CULPRITS]]
    longest = max(found.comparison.bridge.parts, key=lambda one: one.change_ns, default=None)
    if longest is not None and longest.change_ns > 0:
        more = f"{phrase(longest.key)}: +{duration(longest.change_ns)} per step"
        said.insert(0, _Evidence(more))
    return (*said, *_without_lines(found, said[1:]))


def _without_lines(found: Checked, said: Sequence[_Evidence]) -> tuple[_Evidence, ...]:
    """Why no line of code is named beside the operators, where none can be."""
    why = found.other.operators.missing.get("stacks", "")
    return () if not said or not why else (_Evidence(f"Lines of code are not available. {why}"),)


def _culprit(what: str, row: ItemChange, found: Checked) -> _Evidence:
    """Causes of more time: amount, line of code, calls, certainty, and a link to each."""
    calls = (
        f"{row.base.calls:,.4g} → {row.other.calls:,.4g} calls per step"
        if row.base.calls != row.other.calls
        else f"{row.other.calls:,.4g} {'call' if row.other.calls == 1 else 'calls'} per step,"
        f" {duration(row.base.mean_ns)} → {duration(row.other.mean_ns)} each"
    )
    p = "" if row.p is None or not row.p else f", p = {row.p:.1e}"
    name = f"{row.name} → {row.other_name}" if row.other_name else row.name
    is_op = what == "operator"
    where, frame = _where(found, row.other_name or row.name, is_op=is_op)
    longest = _longest(found.other, row, is_op=is_op)
    return _Evidence(
        f"{what} {name}{where}: +{duration(row.change_ns)} per step ({calls}{p}), {row.status}"
        f"{longest}",
        frame,
    )


def _longest(side: Side, row: ItemChange, *, is_op: bool) -> str:
    """The longest call in the chosen steps, to be looked at in the Trace view; "" unknown."""
    operators = side.operators
    table = operators.calls if is_op else operators.activities
    names = (row.other_name or row.name).split(" + ")
    codes = [code for code, name in enumerate(operators.strings) if name in names]
    rows = np.flatnonzero(np.isin(table.name, codes) & in_steps(table.step, side.steps))
    if not len(rows):
        return ""
    lengths: I64 = operators.calls.own_ns[rows] if is_op else operators.activities.dur_ns[rows]
    at = int(rows[int(lengths.argmax())])
    facts, step = side.selection.facts, int(table.step[at])
    of_step = f" in step {step_parameter(facts, step)}" if side.steps is not None else ""
    return (
        f"; longest {duration(int(lengths.max()))}{of_step},"
        f" {duration(int(table.ts[at]))} after the start of the trace"
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


def _part(key: str, most: float, found: Checked) -> BudgetCase:
    """A part of the step, in the first division of both that has it."""
    name = f"part {key}"
    sides = found.base.selection, found.other.selection
    both = divisions(*sides)
    division = next((one for one in both if key in parts_of(*sides, one)), None)
    if division is None:
        text = "The step has no such part: one of the recordings lacks its data."
        return BudgetCase(name, "cannot tell", text)
    between = found.comparison.bridge
    if division != between.division:
        between = bridge_of(found.base, found.other, found.comparison.drift, division)
    part = next((one for one in between.parts if one.key == key), None)
    if part is None:
        return BudgetCase(name, "ok", f"{phrase(key).capitalize()}: none in either recording.")
    grown = part.change_ns / max(between.base_ns, 1)
    text = (
        f"{phrase(key)}: {duration(part.base_ns)} → {duration(part.other_ns)} per step,"
        f" {share(abs(grown))} of the step {'more' if grown > 0 else 'less'}; budget {share(most)}."
    )
    if grown <= most:
        return BudgetCase(name, "ok", text)
    if part.is_real and found.are_repeated:
        return _worse(name, text, culprits(found))
    return BudgetCase(name, "cannot tell", f"{text} {found.doubt}")


def _count(one: StepCount | None, key: str, most: float, found: Checked) -> BudgetCase:
    name = f"count {key}"
    if one is None and both_tell(found.base, found.other, key):
        return BudgetCase(name, "ok", f"{COUNTS[key][0]}: none in either recording.")
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
    is_op = key in OF_OPERATORS
    rows = found.operators if is_op else found.kernels
    was = {row.other_name: row.name.split(" + ") for row in rows if row.other_name}
    base, other = amounts(found.base, key), amounts(found.other, key)
    before = {op: sum(base.get(old, 0.0) for old in was.get(op, [op])) for op in other}
    more = sorted(
        (op for op in other if other[op] > before[op]), key=lambda op: before[op] - other[op]
    )
    evidence = []
    for op in more[:CULPRITS]:
        where, frame = _where(found, op, is_op=is_op)
        grown = f"{_amount(one, before[op])} → {_amount(one, other[op])} per step"
        evidence.append(_Evidence(f"{op}{where}: {grown}", frame))
    return _worse(name, text, (*evidence, *_without_lines(found, evidence)))


def _amount(one: StepCount, value: float) -> str:
    """In the unit of the count; a name may come in some steps only."""
    return f"{value:,.4g}" if one.unit == "count" else count_words(one, value)


def _where(found: Checked, name: str, *, is_op: bool) -> tuple[str, str]:
    """The line of code that called an operator; of a kernel, what launched it, and the line.

    Returns:
        In words, and the frame, "" where there is none.
    """
    op = name if is_op else _launcher(found.other, name)
    by = "" if is_op or not op else f" of {op}"
    if not op or found.other.operators.missing.get("stacks"):
        return by, ""
    line = source_line(found.other, op)
    return (f"{by} at {line}" if line else f"{by} (no Python frame is around it)"), line


def _launcher(side: Side, name: str) -> str:
    """The operator that launched most of a kernel's time in the chosen steps; "" where none did."""
    operators, activities = side.operators, side.operators.activities
    codes = [code for code, known in enumerate(operators.strings) if known == name]
    rows = np.flatnonzero(
        np.isin(activities.name, codes)
        & (activities.call >= 0)
        & in_steps(activities.step, side.steps)
    )
    if not len(rows):
        return ""
    ops = operators.calls.name[activities.call[rows]]
    return operators.strings[int(np.bincount(ops, activities.dur_ns[rows]).argmax())]


def _operator(row: ItemChange | None, key: str, most: float, found: Checked) -> BudgetCase:
    name = f"operator {key}"
    if row is None:
        near = get_close_matches(key, [one.name for one in found.operators], 1)
        also = f" Did you mean {near[0]}?" if near else ""
        return BudgetCase(name, "cannot tell", f"It is in neither recording.{also}")
    grown = row.change_ns / row.base.ns if row.base.ns else float("inf")
    text = (
        f"{duration(row.base.ns)} → {duration(row.other.ns)} per step"
        f"{f', {share(abs(grown))} ' + ('more' if grown > 0 else 'less') if row.base.ns else ''};"
        f" budget {share(most)}."
    )
    if row.other.ns <= row.base.ns * (1 + most):
        return BudgetCase(name, "ok", text)
    if row.status in _WORSE:
        said = (_culprit("operator", row, found),)
        return _worse(name, text, (*said, *_without_lines(found, said)))
    return BudgetCase(name, "cannot tell", f"{text} {found.doubt}")


def _peak(found: Checked, most: float) -> BudgetCase:
    peaks = [
        [one.peak_allocated_bytes for one in side.selection.facts.devices if one.used]
        for side in (found.base, found.other)
    ]
    known = [max((one for one in side if one is not None), default=None) for side in peaks]
    if known[0] is None or known[1] is None:
        lacking = found.base if known[0] is None else found.other
        how = with_option(ALLOCATIONS, lacking.selection.facts.torch_era)
        text = f"Not both recordings have totals of the device's allocator: {how}."
        return BudgetCase("peak memory", "cannot tell", text)
    text = f"{size(known[0])} → {size(known[1])}; budget {share(most)} more."
    is_ok = known[1] <= known[0] * (1 + most)
    return BudgetCase("peak memory", "ok" if is_ok else "worse", text)
