"""The rows of the Operator view, each column with its values (contract); how they are chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from ...analysis.facts import Facts
from ...analysis.operators.model import CallKind, OperatorColumns
from ...analysis.operators.table import CallSelection, CallTable, call_table, kinds_of
from ...analysis.steps import scope_of
from ...base.arrays import I64
from ...base.errors import QueryError
from ..shared import LightBound, LightRatio, WasteNs, column_named
from ..table import Column, Values, column, sorts, summed

if TYPE_CHECKING:
    from .contract import OperatorQuery

CallKindName = Literal["op", "annotation", "python", "module", "runtime", "other"]
Rows = NDArray[np.intp]


def _keys(table: CallTable, at: Rows) -> Values:
    return [str(key) for key in table.groups.key[at].tolist()]


def _names(table: CallTable, at: Rows) -> Values:
    return [table.text(code) for code in table.name[at].tolist()]


def _kinds(table: CallTable, at: Rows) -> Values:
    return [CallKind(kind).name.lower() for kind in table.calls.kind[table.sample[at]].tolist()]


def _details(table: CallTable, at: Rows) -> Values:
    return [table.detail(one) for one in at.tolist()]


def _counts(table: CallTable, at: Rows) -> Values:
    return table.count[at]


def _longest(table: CallTable, at: Rows) -> Values:
    return table.calls.host[table.sample[at]]


def _step_ratios(table: CallTable, at: Rows) -> Values:
    return _shares(table.total_ns[at], table.wall_ns)


def _self_ratios(table: CallTable, at: Rows) -> Values:
    return _shares(table.self_ns[at], table.whole_self_ns)


def _total_ratios(table: CallTable, at: Rows) -> Values:
    return _shares(table.total_ns[at], table.whole_self_ns)


def _device_ratios(table: CallTable, at: Rows) -> Values:
    return _shares(table.device_self_ns[at], table.whole_device_self_ns)


def _shares(part: I64, whole: int) -> Values:
    return part / whole if whole else [None] * len(part)


def _device_self(table: CallTable, at: Rows) -> Values:
    return _on_device(table, table.device_self_ns, at)


def _device_total(table: CallTable, at: Rows) -> Values:
    return _on_device(table, table.device_total_ns, at)


def _launched(table: CallTable, at: Rows) -> Values:
    return _on_device(table, table.kernels, at)


def _device_means(table: CallTable, at: Rows) -> Values:
    return _on_device(table, table.device_mean_ns, at)


def _device_medians(table: CallTable, at: Rows) -> Values:
    return _on_device(table, table.device_p50_ns, at)


def _device_p95s(table: CallTable, at: Rows) -> Values:
    return _on_device(table, table.device_p95_ns, at)


def _device_maxima(table: CallTable, at: Rows) -> Values:
    return _on_device(table, table.device_max_ns, at)


def _on_device(table: CallTable, values: NDArray[Any], at: Rows) -> Values:
    return values[at] if has_device(table) else [None] * len(at)


def has_device(table: CallTable) -> bool:
    """True if kernels, copies or sets were recorded."""
    return len(table.operators.activities) > 0


def has_lent(table: CallTable) -> bool:
    """True if a recording of a capture lends calls."""
    return table.operators.lent_count > 0


def _has_groups(table: CallTable) -> bool:
    return table.group_by != "name"


class OperatorRow(Struct, frozen=True):
    """All calls of one group. min … max are of a call's total host time."""

    key: Annotated[str, column(of=_keys)]  # names the group in a ``row`` request
    name: Annotated[
        str,
        column(
            "Name",
            "Name of the op; calls that are equal by the grouping share a row.",
            kind="name",
            is_sortable=True,
            of=_names,
        ),
    ]
    kind: Annotated[
        CallKindName,
        column(
            "Kind",
            "Type of the row: op, annotation, python, module, runtime, other.",
            is_minor=True,
            of=_kinds,
        ),
    ]
    detail: Annotated[
        str,
        column(
            "Of",
            "Shapes, stack, module, thread or annotation of the group.",
            kind="name",
            is_minor=True,
            of=_details,
            when=_has_groups,
        ),
    ]
    calls: Annotated[
        int,
        summed(
            "Calls",
            "Number of calls; a call whose only child has its name is one with it.",
            of=_counts,
        ),
    ]
    device_self_ns: Annotated[
        int | None,
        summed(
            "Device self",
            "Time of the kernels, copies and sets that the calls launched themselves.",
            of=_device_self,
            when=has_device,
        ),
    ]
    device_self_ratio: Annotated[
        float | None,
        column(
            "Device self share",
            "Share of the device self time of everything recorded in the chosen steps, whatever"
            " kinds and names are shown.",
            is_sortable=False,
            is_minor=True,
            of=_device_ratios,
            when=has_device,
        ),
    ]
    device_total_ns: Annotated[
        int | None,
        summed(
            "Device total",
            "Time of all device activity launched by the calls and by those inside.",
            of=_device_total,
            when=has_device,
        ),
    ]
    lent_ratio: Annotated[
        float | None,
        column(
            "From capture",
            "Share of the device time whose operator comes from a recording of the graph's capture;"
            " such calls have no host time.",
            when=has_lent,
        ),
    ]
    self_ns: Annotated[
        int,
        summed(
            "Host self",
            "Host time of the calls without those that lie strictly inside them, runtime calls"
            " included. Of two that overlap and are not inside each other, the common time counts"
            " in both; where children overlap each other it may be below 0, as in torch, and is no"
            " part of the shares.",
        ),
    ]
    self_ratio: Annotated[
        float | None,
        column(
            "Host self share",
            "Share of the host self time of everything recorded in the chosen steps, whatever"
            " kinds and names are shown.",
            is_sortable=False,
            is_minor=True,
            of=_self_ratios,
        ),
    ]
    total_ns: Annotated[
        int,
        summed(
            "Host total",
            "Host time of the calls with their children. As in torch, a call inside another of its"
            " name counts in both: the total may exceed the time that passed.",
        ),
    ]
    total_ratio: Annotated[
        float | None,
        column(
            "Host total / all self",
            "Host total time divided by the host self time of everything recorded in the chosen"
            " steps. The total of a call includes the calls inside it, so these add up to more"
            " than the whole.",
            is_sortable=False,
            is_minor=True,
            of=_total_ratios,
        ),
    ]
    step_ratio: Annotated[
        float | None,
        column(
            "Host share of step",
            "Host total time divided by the length of the chosen steps. Threads side by side can"
            " bring it above 100 %, and so can calls inside others of their name.",
            is_sortable=False,
            of=_step_ratios,
        ),
    ]
    device_mean_ns: Annotated[
        float | None,
        column(
            "Device mean", "Device total time divided by calls.", of=_device_means, when=has_device
        ),
    ]
    device_p50_ns: Annotated[
        int | None,
        column(
            "Device median",
            "Half of the calls have no more device total time.",
            is_minor=True,
            of=_device_medians,
            when=has_device,
        ),
    ]
    device_p95_ns: Annotated[
        int | None,
        column(
            "Device p95",
            "95 % of the calls have no more device total time.",
            is_minor=True,
            of=_device_p95s,
            when=has_device,
        ),
    ]
    device_max_ns: Annotated[
        int | None,
        column(
            "Device max",
            "The largest device total time of a call.",
            is_minor=True,
            of=_device_maxima,
            when=has_device,
        ),
    ]
    mean_ns: Annotated[float, column("Host mean", "Host total time divided by calls.")]
    min_ns: Annotated[
        int, column("Host min", "The shortest call, with its children.", is_minor=True)
    ]
    p50_ns: Annotated[
        int, column("Host median", "Half of the calls take no longer.", is_minor=True)
    ]
    p95_ns: Annotated[int, column("Host p95", "95 % of the calls take no longer.", is_minor=True)]
    max_ns: Annotated[
        int, column("Host max", "The longest call, with its children.", is_minor=True)
    ]
    kernels: Annotated[
        int | None,
        summed(
            "Kernels",
            "Kernels, copies and sets that the calls launched themselves.",
            is_minor=True,
            of=_launched,
            when=has_device,
        ),
    ]
    flops: Annotated[
        float | None,
        summed(
            "FLOPs",
            "Floating point operations by a model of the op and its input shapes; a multiply-add"
            " is two.",
        ),
    ]
    light_ratio: LightRatio
    waste_ns: WasteNs
    bound: LightBound
    tensor_core_eligible: Annotated[
        bool,
        column(
            "Tensor cores: eligible",
            "True if an op of this name may run on tensor cores.",
            is_minor=True,
            when=has_device,
        ),
    ]
    tensor_core_self_ratio: Annotated[
        float | None,
        column(
            "Tensor cores",
            "Share of the device self time in kernels that use tensor cores, by their names.",
            when=has_device,
        ),
    ]
    tensor_core_total_ratio: Annotated[
        float | None,
        column(
            "Tensor cores, total",
            "Share of the device total time in kernels that use tensor cores, by their names.",
            is_sortable=False,
            is_minor=True,
            when=has_device,
        ),
    ]
    has_stack: bool
    longest: Annotated[int, column(of=_longest)]  # slice id of its longest call


# What key_averages().table(sort_by=…) calls them.
TORCH_SORTS = {
    "self_cpu_time_total": "self_ns",
    "cpu_time_total": "total_ns",
    "cpu_time": "mean_ns",
    "self_cuda_time_total": "device_self_ns",
    "self_device_time_total": "device_self_ns",
    "cuda_time_total": "device_total_ns",
    "device_time_total": "device_total_ns",
    "cuda_time": "device_mean_ns",
    "device_time": "device_mean_ns",
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
    return column_named(text, sorts(OperatorRow), TORCH_SORTS)


_CLOCKS = {
    "device": frozenset({"device_self_ratio", "device_mean_ns"}),
    "host": frozenset({"self_ratio", "step_ratio", "mean_ns"}),
}
"""Shares and means that are shown where the rows are sorted by a figure of the clock."""
_HOST_SORTS = frozenset({"self_ns", "total_ns", "mean_ns", "min_ns", "p50_ns", "p95_ns", "max_ns"})


def of_clock(columns: tuple[Column, ...], sort_by: str) -> tuple[Column, ...]:
    """The columns; shares and means of the clock that is not sorted by are minor ones."""
    keys = {one.key for one in columns}
    is_host = sort_by in _HOST_SORTS or "device_self_ns" not in keys
    shown, hidden = (_CLOCKS["host"], _CLOCKS["device"])[:: 1 if is_host else -1]
    return tuple(
        replace(one, is_minor=one.key in hidden) if one.key in shown | hidden else one
        for one in columns
    )


def grouping_of(query: OperatorQuery) -> tuple[str, int]:
    """The grouping and the depth of stacks of a query."""
    if query.group_by_input_shape:
        return "shape", query.stack_depth
    if query.group_by_stack_n:
        return "stack", query.group_by_stack_n
    return query.group_by, query.stack_depth


def table_of(operators: OperatorColumns, facts: Facts, query: OperatorQuery) -> CallTable:
    """The groups of a query. Raises QueryError."""
    scope = scope_of(facts, query.steps)
    chosen = CallSelection(scope.steps, kinds_named(query.kinds), query.search)
    grouping, depth = grouping_of(query)
    table = call_table(operators, chosen, grouping, depth)
    return replace(table, wall_ns=scope.wall_ns(facts))
