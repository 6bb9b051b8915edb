"""What the Operator view says in words: its sentence, its definitions, its tables in a terminal."""

from __future__ import annotations

from typing import NamedTuple

from ..analysis.operators.model import CallKind
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
    if table.calls.kind[table.sample[first]] == CallKind.RUNTIME:
        return _by_a_call(table, first, whole)
    half = int((value[order].cumsum() < whole / 2).sum()) + 1
    return Words(
        f"{name} takes {share(int(value[first]) / whole)} of the operators' {where} time.",
        f"{duration(int(value[first]))} in {plural(int(table.count[first]), 'call')}; "
        f"{half} of {plural(len(table), 'operator')} "
        f"{'takes' if half == 1 else 'take'} half of the {where} time.",
    )


def _by_a_call(table: CallTable, first: int, whole: int) -> Words:
    """Most device time was launched outside of operators: a call of the runtime is none."""
    name = table.text(int(table.name[first]))
    part = share(int(table.device_self_ns[first]) / whole)
    how = (
        f"{duration(int(table.device_self_ns[first]))} in {plural(int(table.count[first]), 'call')}"
    )
    if "GraphLaunch" in name:
        return Words(
            f"Graphs launch {part} of the device time; a graph is no operator.",
            f"{how} of `{name}`: inside a graph the operator of a kernel is not recorded. "
            "The Kernel view shows what ran.",
        )
    return Words(
        f"`{name}`, called outside of operators, launches {part} of the device time.",
        f"{how}. The Kernel view shows what ran.",
    )


def tables(answer: Operators) -> tuple[Table, ...]:
    """The rows with every column of the page, and with the shares that key_averages() prints."""
    rows = tuple(
        tuple(_cell(answer, row, column.key) for column in _COLUMNS) for row in answer.table.rows
    )
    found = [Table("Operators", _COLUMNS, rows, answer.table.count)]
    if answer.unattributed:
        lost = tuple(
            (one.reason, one.ns, one.activities, one.example) for one in answer.unattributed
        )
        names = (
            Column("reason", "Device time of no operator", kind="words"),
            Column("device_ns", "Time"),
            Column("activities", "Activities"),
            Column("example", "Longest", kind="name"),
        )
        found.append(Table("Unattributed", names, lost))
    return tuple(found)


def _column(key: str, label: str, *, is_minor: bool = False) -> Column:
    return Column(key, label, DEFINITIONS.get(key, ""), is_minor=is_minor)


_OF_ALL = "Of the self time of all rows."
_COLUMNS = (
    Column("name", "Name", kind="name"),
    Column("kind", "Kind", "What the row is: op, annotation, python, module, runtime, other."),
    Column("detail", "Of", "Shapes, stack, module, thread or annotation of the group.", "name"),
    _column("calls", "# of Calls"),
    _column("device_self_ns", "Self device"),
    Column("device_self_ratio", "Self device %", _OF_ALL),
    _column("device_total_ns", "Device total"),
    _column("self_ns", "Self CPU"),
    Column("self_ratio", "Self CPU %", _OF_ALL),
    _column("total_ns", "CPU total"),
    Column("total_ratio", "CPU total %", _OF_ALL),
    _column("mean_ns", "CPU time avg"),
    _column("kernels", "Kernels"),
    _column("min_ns", "CPU time min", is_minor=True),
    _column("p50_ns", "CPU time median", is_minor=True),
    _column("p95_ns", "CPU time p95", is_minor=True),
    _column("max_ns", "CPU time max", is_minor=True),
    _column("step_ratio", "Share of step", is_minor=True),
    _column("flops", "FLOPs", is_minor=True),
    _column("tensor_core_eligible", "Tensor cores: eligible", is_minor=True),
    _column("tensor_core_self_ratio", "Tensor cores, self", is_minor=True),
    _column("tensor_core_total_ratio", "Tensor cores, total", is_minor=True),
)


def _cell(answer: Operators, row: OperatorRow, key: str) -> str | int | float | None:
    host_ns, device_ns = answer.table.self_ns, answer.table.device_self_ns
    if key == "self_ratio":
        return row.self_ns / host_ns if host_ns else None
    if key == "total_ratio":
        return row.total_ns / host_ns if host_ns else None
    if key == "device_self_ratio":
        return (row.device_self_ns or 0) / device_ns if device_ns else None
    if key == "detail":
        return row.detail.replace("\n", " ‹ ") or None
    value: str | int | float | None = getattr(row, key)
    return value
