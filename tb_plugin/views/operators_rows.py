"""Groups of calls as rows of the Operator view."""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

from ..analysis.facts import Facts
from ..analysis.operators.model import CallKind, Operators
from ..analysis.operators.table import CallTable, Chosen, call_table, kinds_of
from ..base.errors import QueryError
from .groups import column_named, known, steps_of
from .operators_answers import OperatorQuery, OperatorRow, OperatorSort

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


def sort_named(text: str, operators: Operators) -> str:
    """The column to sort by; the default is device self time, where there is any, else host.

    Raises:
        QueryError: there is no such column.
    """
    if text == "":
        return "device_self_ns" if len(operators.activities) else "self_ns"
    return column_named(text, SORTS, TORCH_SORTS)


def grouping_of(query: OperatorQuery) -> tuple[str, int]:
    """The grouping and the depth of stacks that a query means."""
    if query.group_by_input_shape:
        return "shape", query.stack_depth
    if query.group_by_stack_n:
        return "stack", query.group_by_stack_n
    return query.group_by, query.stack_depth


def table_of(operators: Operators, facts: Facts, query: OperatorQuery) -> CallTable:
    """The groups that a query asks for. Raises QueryError."""
    chosen = Chosen(steps_of(facts, query.steps), kinds_named(query.kinds), query.search)
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
