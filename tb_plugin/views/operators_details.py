"""One row of the Operator view, opened: shapes, stacks, kernels, slowest calls."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..analysis.operators.group import group, paired, unpaired
from ..analysis.operators.model import CallKind, Operators
from ..analysis.operators.stacks import frame_place, frames_of
from ..analysis.operators.table import CallTable, Chosen, one_group
from .figures import SlowCall
from .groups import key_named, no_such_row, steps_of
from .operators_answers import (
    CallFrame,
    LaunchedKernel,
    OperatorDetails,
    OperatorRow,
    RowQuery,
    StackRow,
)
from .operators_rows import row_of, wall_of
from .view import Subject

MOST = 100
MOST_CALLS = 20


def details(subject: Subject, query: RowQuery) -> OperatorDetails:
    """What a row consists of. Raises QueryError for a key that is none."""
    operators: Operators = subject.artifact("")
    steps = steps_of(subject.facts, query.steps)
    wall_ns = wall_of(subject.facts, steps)
    chosen = Chosen(steps, frozenset(CallKind))
    table = one_group(operators, chosen, query.group_by, query.stack_depth, key_named(query.key))
    if not len(table):
        raise no_such_row()
    members = table.groups.of(0)
    missing = operators.missing
    shapes = _regrouped(operators, members, operators.calls.shapes, "shape", wall_ns)
    stacks = _regrouped(operators, members, operators.calls.stack, "stack", wall_ns)
    known = bool((operators.calls.stack[members] >= 0).any())
    no_stack = "No Python frame is open around these calls, as in threads of autograd."
    kernels = launched(operators, members)
    return OperatorDetails(
        row=row_of(table, 0, wall_ns),
        shapes=() if "shapes" in missing else tuple(row for row, _ in shapes),
        shapes_missing=missing.get("shapes", ""),
        stacks=tuple(StackRow(row, _frames(operators, code)) for row, code in stacks if code >= 0),
        stacks_missing=missing.get("stacks", "" if known else no_stack),
        kernels=kernels,
        kernels_missing=missing.get("device", "" if kernels else "They launch nothing themselves."),
        slowest=slowest(operators, members[::-1][:MOST_CALLS]),
    )


def _regrouped(
    operators: Operators,
    members: NDArray[np.int64],
    column: NDArray[np.int32],
    group_by: str,
    wall_ns: int,
) -> list[tuple[OperatorRow, int]]:
    """The calls by one more column, by total time: rows, and the code each stands for."""
    calls = operators.calls
    inner = CallTable(
        operators, group(members, paired(calls.name, column), calls.total_ns), group_by, 1 << 20
    )
    order = inner.order("total_ns", ascending=False)[:MOST].tolist()
    return [(row_of(inner, at, wall_ns), unpaired(int(inner.groups.key[at]))[1]) for at in order]


def _frames(operators: Operators, stack: int) -> tuple[CallFrame, ...]:
    names = [operators.strings[code] for code in frames_of(operators.stacks, stack)]
    return tuple(CallFrame(name, *frame_place(name)) for name in names)


def launched(operators: Operators, members: NDArray[np.int64]) -> tuple[LaunchedKernel, ...]:
    """What some calls launched themselves, by name and time."""
    activities = operators.activities
    wanted = np.zeros(len(operators.calls), np.bool_)
    wanted[members] = True
    rows = np.flatnonzero((activities.call >= 0) & wanted[np.maximum(activities.call, 0)])
    groups = group(rows, activities.name, activities.dur_ns)
    total = groups.sums(activities.dur_ns)
    longest = groups.longest() if len(groups) else total
    return tuple(
        LaunchedKernel(
            name=operators.strings[int(groups.key[at])],
            calls=int(groups.size[at]),
            total_ns=int(total[at]),
            mean_ns=float(total[at] / groups.size[at]),
            longest=operators.first_slice + int(longest[at]),
        )
        for at in np.argsort(-total, kind="stable")[:MOST].tolist()
    )


def slowest(
    operators: Operators, members: Sequence[int] | NDArray[np.int64]
) -> tuple[SlowCall, ...]:
    """Some calls, each to be opened on the timeline."""
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
