"""What the Operator view says in words: its sentence, its definitions, its tables in a terminal."""

from __future__ import annotations

from typing import NamedTuple

from ..analysis.operators.table import CallTable
from ..base.units import duration, plural, share
from .operators_answers import OperatorRow, Operators
from .table import Column, Table

DEFINITIONS: dict[str, str] = {
    "calls": "How often it was called; a call whose only child has its name is one with it.",
    "self_ns": "Host time of the calls without their children, runtime calls included.",
    "total_ns": "Host time of the calls with their children. Nested calls of one name count twice.",
    "device_self_ns": "Time of the kernels, copies and sets that the calls launched themselves.",
    "device_total_ns": "Time of all device activity launched by the calls and by those inside.",
    "kernels": "Kernels, copies and sets that the calls launched themselves.",
    "min_ns": "The shortest call, with its children.",
    "mean_ns": "Total host time by calls.",
    "p50_ns": "Half of the calls take no longer.",
    "p95_ns": "95 % of the calls take no longer.",
    "max_ns": "The longest call, with its children.",
    "step_ratio": "Total host time by the length of the chosen steps.",
    "tensor_core_eligible": "Whether an op of this name may run on tensor or matrix cores.",
    "tensor_core_self_ratio": "Share of the device self time in kernels that, by their name, use"
    " tensor or matrix cores.",
    "tensor_core_total_ratio": "The same of the device total time.",
    "flops": "Floating point operations by a model of the op and its input shapes; a multiply-add"
    " is two.",
}


class Words(NamedTuple):
    """The answer first."""

    headline: str
    detail: str


def words(table: CallTable, *, has_device: bool) -> Words:
    """Which operator takes most, in one sentence."""
    column = "device_self_ns" if has_device else "self_ns"
    value = getattr(table, column)
    if not len(table) or not value.sum():
        return Words("No operator was recorded.", "")
    order = table.order(column, ascending=False)
    first, whole = int(order[0]), int(value.sum())
    where = "device" if has_device else "host"
    name = table.text(int(table.name[first]))
    half = int((value[order].cumsum() < whole / 2).sum()) + 1
    return Words(
        f"{name} takes {share(int(value[first]) / whole)} of the operators' {where} time.",
        f"{duration(int(value[first]))} in {plural(int(table.count[first]), 'call')}; "
        f"{half} of {plural(len(table), 'operator')} "
        f"{'takes' if half == 1 else 'take'} half of the {where} time.",
    )


def tables(answer: Operators) -> tuple[Table, ...]:
    """The rows as ``key_averages().table()`` has them: host first, shares of all rows."""
    rows = answer.table.rows
    has_device = answer.device_ns is not None
    columns = [
        Column("name", "Name"),
        *([Column("detail", "Of")] if any(row.detail for row in rows) else []),
        Column("self_ratio", "Self CPU %", "Of the self time of all rows."),
        Column("self_ns", "Self CPU", DEFINITIONS["self_ns"]),
        Column("total_ratio", "CPU total %", "Of the self time of all rows."),
        Column("total_ns", "CPU total", DEFINITIONS["total_ns"]),
        Column("mean_ns", "CPU time avg", DEFINITIONS["mean_ns"]),
    ]
    if has_device:
        columns += [
            Column("device_self_ns", "Self device", DEFINITIONS["device_self_ns"]),
            Column("device_self_ratio", "Self device %", "Of the self time of all rows."),
            Column("device_total_ns", "Device total", DEFINITIONS["device_total_ns"]),
            Column("kernels", "Kernels", DEFINITIONS["kernels"]),
        ]
    columns.append(Column("calls", "# of Calls", DEFINITIONS["calls"]))
    keys = [column.key for column in columns]
    shown = tuple(tuple(_cell(answer, row, key) for key in keys) for row in rows)
    found = [Table("Operators", tuple(columns), shown)]
    if answer.unattributed:
        lost = tuple((one.reason, one.ns, one.activities) for one in answer.unattributed)
        names = (
            Column("reason", "Device time of no operator"),
            Column("ns", "Time"),
            Column("activities", "Activities"),
        )
        found.append(Table("Unattributed", names, lost))
    return tuple(found)


def _cell(answer: Operators, row: OperatorRow, key: str) -> str | int | float | None:
    whole = answer.table.self_ns
    if key == "self_ratio":
        return row.self_ns / whole if whole else None
    if key == "total_ratio":
        return row.total_ns / whole if whole else None
    if key == "device_self_ratio":
        all_ns = answer.table.device_self_ns
        return (row.device_self_ns or 0) / all_ns if all_ns else None
    if key == "detail":
        return row.detail.replace("\n", " ‹ ")
    value: str | int | float | None = getattr(row, key)
    return value
