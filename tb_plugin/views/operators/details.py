"""The details of one row of the Operator view: its shapes, stacks, kernels and slowest calls."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from ...analysis.compile.reasons import about
from ...analysis.operators.groups import group, paired, unpaired
from ...analysis.operators.model import CallKind, OperatorColumns
from ...analysis.operators.short_names import short_names
from ...analysis.operators.stacks import frame_place, frames_of
from ...analysis.operators.table import CallSelection, CallTable, one_group
from ...analysis.steps import scope_of
from ..origins import operators_of
from ..shared import SlowCall, key_named, no_such_row
from ..table import rows_from
from ..view import Subject
from .contract import CallFrame, LaunchedKernel, OperatorDetails, RowQuery, StackRow
from .rows import OperatorRow

MOST = 100
MOST_CALLS = 20


def details(subject: Subject, query: RowQuery) -> OperatorDetails:
    """The parts of a row. Raises QueryError for an unknown key."""
    operators = operators_of(subject)
    scope = scope_of(subject.facts, query.steps)
    chosen = CallSelection(scope.steps, frozenset(CallKind))
    table = one_group(operators, chosen, query.group_by, query.stack_depth, key_named(query.key))
    table = replace(table, wall_ns=scope.wall_ns(subject.facts))
    if not len(table):
        raise no_such_row()
    members = table.groups.of(0)
    missing = operators.missing
    shapes = _regrouped(table, members, operators.calls.shapes, "shape")
    stacked = members[operators.calls.stack[members] >= 0]
    stacks = _regrouped(table, stacked, operators.calls.stack, "stack")
    no_stack = "No Python frame is open around these calls, as in threads of autograd."
    kernels = launched(operators, members)
    row = rows_from(OperatorRow, table, np.array([0]))[0]
    return OperatorDetails(
        row=row,
        shapes=() if "shapes" in missing else tuple(row for row, _ in _largest(shapes)),
        shapes_count=0 if "shapes" in missing else len(shapes),
        shapes_missing=missing.get("shapes", ""),
        stacks=tuple(StackRow(row, _frames(operators, code)) for row, code in _largest(stacks)),
        stacks_count=len(stacks),
        stacks_missing=missing.get("stacks", "" if len(stacked) else no_stack),
        kernels=kernels[:MOST],
        kernels_count=len(kernels),
        kernels_missing=missing.get("device", "" if kernels else "They launch nothing themselves."),
        slowest=slowest(operators, members[::-1][:MOST_CALLS]),
        compiled=about(subject.facts.compiled, row.name),
    )


def _regrouped(
    table: CallTable,
    members: NDArray[np.int64],
    column: NDArray[np.int32],
    group_by: str,
) -> CallTable:
    """Calls of a table by one more column."""
    groups = group(members, paired(table.calls.name, column), table.calls.total_ns)
    return replace(table, groups=groups, group_by=group_by, stack_depth=1 << 20)


def _largest(table: CallTable) -> list[tuple[OperatorRow, int]]:
    """Rows by total time, at most ``MOST``, each with the code of the column it was grouped by."""
    if not len(table):
        return []
    order = table.order("total_ns", ascending=False)[:MOST]
    codes = [unpaired(key)[1] for key in table.groups.key[order].tolist()]
    return list(zip(rows_from(OperatorRow, table, order), codes, strict=True))


def _frames(operators: OperatorColumns, stack: int) -> tuple[CallFrame, ...]:
    names = [operators.strings[code] for code in frames_of(operators.stacks, stack)]
    return tuple(CallFrame(name, *frame_place(name)) for name in names)


def launched(operators: OperatorColumns, members: NDArray[np.int64]) -> tuple[LaunchedKernel, ...]:
    """Device activity launched directly by some calls, by name and time."""
    activities = operators.activities
    wanted = np.zeros(len(operators.calls), np.bool_)
    wanted[members] = True
    rows = np.flatnonzero((activities.call >= 0) & wanted[np.maximum(activities.call, 0)])
    groups = group(rows, activities.name, activities.dur_ns)
    total = groups.sums(activities.dur_ns)
    longest = groups.longest() if len(groups) else total
    places = np.argsort(-total, kind="stable")[:MOST].tolist()
    names = [operators.strings[int(groups.key[at])] for at in places]
    return tuple(
        LaunchedKernel(
            name=name,
            short=short,
            calls=int(groups.size[at]),
            total_ns=int(total[at]),
            mean_ns=float(total[at] / groups.size[at]),
            longest=operators.first_slice + int(longest[at]),
        )
        for at, name, short in zip(places, names, short_names(names), strict=True)
    )


def slowest(
    operators: OperatorColumns, members: Sequence[int] | NDArray[np.int64]
) -> tuple[SlowCall, ...]:
    """Some calls, each with a link to the timeline."""
    calls = operators.calls
    has_device, own_ns = bool(len(operators.activities)), calls.own_ns
    return tuple(
        SlowCall(
            slice=int(calls.host[at]),
            ts=int(calls.ts[at]),
            dur_ns=int(calls.total_ns[at]),
            self_ns=int(own_ns[at]),
            device_ns=int(calls.device_total_ns[at]) if has_device else None,
            step=operators.steps[int(calls.step[at])] if calls.step[at] >= 0 else "",
            thread=operators.threads[int(calls.thread[at])].label,
            shapes=operators.strings[int(calls.shapes[at])] if calls.shapes[at] >= 0 else "",
        )
        for at in members
    )
