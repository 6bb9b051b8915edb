"""Groups of calls as rows of the Operator view, and the details of one row.

The details are its shapes, stacks, kernels and slowest calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from ...analysis.facts import Facts
from ...analysis.operators.groups import group, paired, unpaired
from ...analysis.operators.model import CallKind, OperatorColumns
from ...analysis.operators.stacks import frame_place, frames_of
from ...analysis.operators.table import CallSelection, CallTable, call_table, kinds_of, one_group
from ...base.errors import QueryError
from ..shared import SlowCall, column_named, key_named, known, no_such_row, steps_of
from ..view import Subject
from .contract import (
    CallFrame,
    LaunchedKernel,
    OperatorDetails,
    OperatorQuery,
    OperatorRow,
    OperatorSort,
    RowQuery,
    StackRow,
)

SORTS = get_args(OperatorSort)
# What key_averages().table(sort_by=…) calls them.
TORCH_SORTS = {
    "self_cpu_time_total": "self_ns",
    "cpu_time_total": "total_ns",
    "cpu_time": "mean_ns",
    "self_cuda_time_total": "device_self_ns",
    "self_device_time_total": "device_self_ns",
    "cuda_time_total": "device_total_ns",
    "device_time_total": "device_total_ns",
    "count": "calls",
}


def kinds_named(text: str) -> frozenset[CallKind]:
    """Kinds of rows from "op,annotation"; all from "". Raises QueryError."""
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        return frozenset(CallKind)
    try:
        return kinds_of(names)
    except KeyError as error:
        known = ", ".join(kind.name.lower() for kind in CallKind)
        raise QueryError(
            f"kinds: there is no kind {str(error.args[0]).lower()[:40]!r}", hint=f"Kinds: {known}."
        ) from None


def sort_named(text: str, operators: OperatorColumns) -> str:
    """The column to sort by; the default is device self time, where there is any, else host.

    Raises:
        QueryError: there is no such column.
    """
    if text == "":
        return "device_self_ns" if len(operators.activities) else "self_ns"
    return column_named(text, SORTS, TORCH_SORTS)


def grouping_of(query: OperatorQuery) -> tuple[str, int]:
    """The grouping and the depth of stacks of a query."""
    if query.group_by_input_shape:
        return "shape", query.stack_depth
    if query.group_by_stack_n:
        return "stack", query.group_by_stack_n
    return query.group_by, query.stack_depth


def table_of(operators: OperatorColumns, facts: Facts, query: OperatorQuery) -> CallTable:
    """The groups of a query. Raises QueryError."""
    chosen = CallSelection(steps_of(facts, query.steps), kinds_named(query.kinds), query.search)
    grouping, depth = grouping_of(query)
    return call_table(operators, chosen, grouping, depth)


def rows_of(table: CallTable, groups: Iterable[int], wall_ns: int) -> tuple[OperatorRow, ...]:
    """Some groups of a table as rows; ``wall_ns``: the length of the chosen steps, 0 = unknown."""
    return tuple(row_of(table, int(at), wall_ns) for at in groups)


def row_of(table: CallTable, at: int, wall_ns: int) -> OperatorRow:
    """One group as a row."""
    has_device = bool(len(table.operators.activities))
    longest = int(table.sample[at])
    total_ns, device_ns = int(table.total_ns[at]), int(table.device_total_ns[at])
    self_ns = int(table.device_self_ns[at])
    return OperatorRow(
        key=str(int(table.groups.key[at])),
        name=table.text(int(table.name[at])),
        kind=CallKind(int(table.calls.kind[longest])).name.lower(),  # type: ignore[arg-type]
        detail=table.detail(at),
        calls=int(table.count[at]),
        total_ns=total_ns,
        self_ns=int(table.self_ns[at]),
        min_ns=int(table.min_ns[at]),
        mean_ns=float(table.mean_ns[at]),
        p50_ns=int(table.p50_ns[at]),
        p95_ns=int(table.p95_ns[at]),
        max_ns=int(table.max_ns[at]),
        device_total_ns=device_ns if has_device else None,
        device_self_ns=self_ns if has_device else None,
        kernels=int(table.kernels[at]) if has_device else None,
        step_ratio=total_ns / wall_ns if wall_ns else None,
        tensor_core_eligible=bool(table.eligible[at]),
        tensor_core_self_ratio=_part(int(table.tensor_core_self_ns[at]), self_ns),
        tensor_core_total_ratio=_part(int(table.tensor_core_total_ns[at]), device_ns),
        flops=known(float(table.flops[at])),
        has_stack=bool(table.has_stack[at]),
        longest=int(table.calls.host[longest]),
    )


def _part(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def wall_of(facts: Facts, steps: tuple[int, ...] | None) -> int:
    """The length of the chosen steps, of all when none are chosen."""
    chosen = facts.steps if steps is None else [facts.steps[at] for at in steps]
    return sum(step.dur_ns for step in chosen)


MOST = 100
MOST_CALLS = 20


def details(subject: Subject, query: RowQuery) -> OperatorDetails:
    """The parts of a row. Raises QueryError for an unknown key."""
    operators: OperatorColumns = subject.artifact("")
    steps = steps_of(subject.facts, query.steps)
    wall_ns = wall_of(subject.facts, steps)
    chosen = CallSelection(steps, frozenset(CallKind))
    table = one_group(operators, chosen, query.group_by, query.stack_depth, key_named(query.key))
    if not len(table):
        raise no_such_row()
    members = table.groups.of(0)
    missing = operators.missing
    shapes = _regrouped(operators, members, operators.calls.shapes, "shape")
    stacked = members[operators.calls.stack[members] >= 0]
    stacks = _regrouped(operators, stacked, operators.calls.stack, "stack")
    no_stack = "No Python frame is open around these calls, as in threads of autograd."
    kernels = launched(operators, members)
    return OperatorDetails(
        row=row_of(table, 0, wall_ns),
        shapes=() if "shapes" in missing else tuple(row for row, _ in _largest(shapes, wall_ns)),
        shapes_count=0 if "shapes" in missing else len(shapes),
        shapes_missing=missing.get("shapes", ""),
        stacks=tuple(
            StackRow(row, _frames(operators, code)) for row, code in _largest(stacks, wall_ns)
        ),
        stacks_count=len(stacks),
        stacks_missing=missing.get("stacks", "" if len(stacked) else no_stack),
        kernels=kernels[:MOST],
        kernels_count=len(kernels),
        kernels_missing=missing.get("device", "" if kernels else "They launch nothing themselves."),
        slowest=slowest(operators, members[::-1][:MOST_CALLS]),
    )


def _regrouped(
    operators: OperatorColumns,
    members: NDArray[np.int64],
    column: NDArray[np.int32],
    group_by: str,
) -> CallTable:
    """The calls by one more column."""
    calls = operators.calls
    groups = group(members, paired(calls.name, column), calls.total_ns)
    return CallTable(operators, groups, group_by, 1 << 20)


def _largest(table: CallTable, wall_ns: int) -> list[tuple[OperatorRow, int]]:
    """Rows by total time, at most ``MOST``, each with the code of the column it was grouped by."""
    if not len(table):
        return []
    order = table.order("total_ns", ascending=False)[:MOST].tolist()
    return [(row_of(table, at, wall_ns), unpaired(int(table.groups.key[at]))[1]) for at in order]


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
