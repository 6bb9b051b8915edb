"""Groups of kernels and copies as rows of the Kernel view."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ...analysis.facts import Facts
from ...analysis.operators.groups import group
from ...analysis.operators.kernels import (
    ChosenKernels,
    KernelGroups,
    family_codes,
    kernel_rows,
    kernel_table,
    matrix_use,
    op_names,
)
from ...analysis.operators.model import OperatorColumns
from ...analysis.overview.utilization import ELIGIBLE_OPS
from ...base.errors import QueryError
from ...base.regex import regex
from ...trace.model import Link
from ..shared import SlowCall, key_named, known, no_such_row, steps_of
from ..view import Subject
from .contract import CopyRow, KernelDetails, KernelRow, KernelRowQuery, OpOfKernel

SORTS = (
    "name",
    "calls",
    "total_ns",
    "ratio",
    "min_ns",
    "mean_ns",
    "p50_ns",
    "p95_ns",
    "max_ns",
    "blocks_per_sm",
    "occupancy",
    "launch_ns",
    "queue_ns",
    "energy_j",
    "power_w",
    "sm_clock_mhz",
    "sm_active_percent",
    "dram_percent",
)
MOST = 100
MOST_CALLS = 20
_FUSED = regex(r"triton_(?:poi|red|per|for|unk|mix|tem)_fused_(.+?)_?\d*$")
_COPY = regex(r"Memcpy (\w)to(\w)\s*(?:\((\w+) -> (\w+)\))?")
_BARE_COPY = "Memcpy"
NO_DIRECTION = "direction not recorded"
_SIDE = {"H": "host", "D": "device", "P": "peer device", "A": "array"}


def chosen_of(
    facts: Facts, steps: str, device: int, search: str = "", search_op: str = ""
) -> ChosenKernels:
    """The choice of kernels of a query. Raises QueryError."""
    if device >= len(facts.devices):
        raise QueryError(
            f"device: there is no device {device}", hint=f"Devices: {len(facts.devices)}."
        )
    return ChosenKernels(
        steps=steps_of(facts, steps),
        device=None if device < 0 else device,
        search=search,
        search_op=search_op,
    )


def rows_of(table: KernelGroups, groups: Iterable[int], whole_ns: int) -> tuple[KernelRow, ...]:
    """Some groups of a table as rows; ``whole_ns`` is the time of all chosen kernels."""
    families, codes = family_codes(table.operators)
    ops = op_names(table.operators)
    strings, activities = table.operators.strings, table.activities
    by_properties = table.group_by == "properties"

    def row(at: int) -> KernelRow:
        sample = int(table.sample[at])
        name = strings[int(activities.name[sample])]
        family = families[int(codes[sample])]
        op = strings[int(ops[sample])] if ops[sample] >= 0 else None
        total_ns = int(table.total_ns[at])
        return KernelRow(
            key=str(int(table.groups.key[at])),
            name=family.name if table.group_by == "class" else name,
            kernel_class=family.name,
            class_why=family.why,
            op=op if by_properties else None,
            op_eligible=(op in ELIGIBLE_OPS) if by_properties and op is not None else None,
            grid=_text(strings, int(activities.grid[sample])) if by_properties else None,
            block=_text(strings, int(activities.block[sample])) if by_properties else None,
            registers=_recorded(int(activities.registers[sample])) if by_properties else None,
            shared_bytes=_recorded(int(activities.shared_bytes[sample])) if by_properties else None,
            calls=int(table.count[at]),
            total_ns=total_ns,
            min_ns=int(table.min_ns[at]),
            mean_ns=float(table.mean_ns[at]),
            p50_ns=int(table.p50_ns[at]),
            p95_ns=int(table.p95_ns[at]),
            max_ns=int(table.max_ns[at]),
            ratio=total_ns / whole_ns if whole_ns else 0.0,
            tensor_core=matrix_use(table, at).name.lower(),  # type: ignore[arg-type]
            blocks_per_sm=known(float(table.blocks_per_sm[at])),
            occupancy=known(float(table.occupancy[at])),
            launch_ns=known(float(table.launch_ns[at])),
            queue_ns=known(float(table.queue_ns[at])),
            energy_j=known(float(table.energy_j[at])),
            power_w=known(float(table.power_w[at])),
            sm_clock_mhz=known(float(table.sm_clock_mhz[at])),
            sm_active_percent=known(float(table.sm_active_percent[at])),
            dram_percent=known(float(table.dram_percent[at])),
            memory_bound=bool(table.memory_bound[at]),
            fused=fused_ops(name),
            source=_text(strings, int(activities.source[sample])) or "",
            link=Link(int(activities.link[sample])).name.lower().replace("_", " "),
            longest=table.operators.first_slice + sample,
        )

    return tuple(row(int(at)) for at in groups)


def copy_rows(table: KernelGroups) -> tuple[CopyRow, ...]:
    """Copies and sets by name, the largest first."""
    strings = table.operators.strings

    def row(at: int) -> CopyRow:
        name, moved = strings[int(table.name[at])], int(table.bytes[at])
        total_ns = int(table.total_ns[at])
        return CopyRow(
            name=name,
            direction=direction(name),
            calls=int(table.count[at]),
            total_ns=total_ns,
            mean_ns=float(table.mean_ns[at]),
            max_ns=int(table.max_ns[at]),
            bytes=_recorded(moved),
            bandwidth=moved * 1e9 / total_ns if moved >= 0 and total_ns else None,
            longest=table.operators.first_slice + int(table.sample[at]),
        )

    return tuple(row(at) for at in table.order("total_ns", ascending=False).tolist())


def direction(name: str) -> str:
    """The direction of a copy, from its name: "host → device, pageable"; else the name itself.

    A copy of a Perfetto file has none.
    """
    if name == _BARE_COPY:
        return NO_DIRECTION
    match = _COPY.match(name)
    if match is None:
        return name
    source, target, source_kind, target_kind = match.groups()
    way = f"{_SIDE.get(source, source)} → {_SIDE.get(target, target)}"
    kinds = {str(kind).lower() for kind in (source_kind, target_kind) if kind}
    memory = sorted(kinds & {"pageable", "pinned"})
    return f"{way}, {memory[0]}" if memory else way


def fused_ops(name: str) -> str:
    """The ops fused into a generated kernel, as its name lists them; "" for others."""
    match = _FUSED.match(name)
    return match[1].strip("_") if match else ""


def details(subject: Subject, query: KernelRowQuery) -> KernelDetails:
    """The parts of a row. Raises QueryError for an unknown key."""
    operators: OperatorColumns = subject.artifact("")
    chosen = chosen_of(subject.facts, query.steps, query.device)
    table = kernel_table(operators, chosen, query.group_by)
    key = key_named(query.key)
    at = int(np.searchsorted(table.groups.key, key))
    if at >= len(table) or int(table.groups.key[at]) != key:
        raise no_such_row()
    rows = kernel_rows(operators, chosen)
    whole = int(operators.activities.dur_ns[rows].sum())
    members = table.groups.of(at)
    by_properties = kernel_table(operators, chosen, "properties")
    launches = _within(by_properties, members)
    ops = _ops(operators, members)
    return KernelDetails(
        row=rows_of(table, [at], whole)[0],
        ops=ops[:MOST],
        ops_count=len(ops),
        launches=rows_of(by_properties, launches[:MOST], whole),
        launches_count=len(launches),
        slowest=_slowest(operators, members[::-1][:MOST_CALLS]),
    )


def _within(table: KernelGroups, members: NDArray[np.int64]) -> list[int]:
    """The groups with some of the members, by time."""
    inside = np.zeros(len(table.activities), np.bool_)
    inside[members] = True
    held = np.flatnonzero(table.groups.any(inside))
    order = np.argsort(-table.total_ns[held], kind="stable")
    return [int(at) for at in held[order]]


def _ops(operators: OperatorColumns, members: NDArray[np.int64]) -> tuple[OpOfKernel, ...]:
    spent = operators.activities.dur_ns
    groups = group(members, op_names(operators), spent)
    total = groups.sums(spent)
    return tuple(
        OpOfKernel(
            name=operators.strings[code] if (code := int(groups.key[at])) >= 0 else "",
            calls=int(groups.size[at]),
            total_ns=int(total[at]),
        )
        for at in np.argsort(-total, kind="stable").tolist()
    )


def _slowest(operators: OperatorColumns, members: NDArray[np.int64]) -> tuple[SlowCall, ...]:
    activities = operators.activities
    return tuple(
        SlowCall(
            slice=operators.first_slice + at,
            ts=int(activities.ts[at]),
            dur_ns=int(activities.dur_ns[at]),
            self_ns=int(activities.dur_ns[at]),
            device_ns=int(activities.dur_ns[at]),
            step=operators.steps[int(activities.step[at])] if activities.step[at] >= 0 else "",
            thread=operators.devices[int(activities.device[at])],
            shapes="",
        )
        for at in members.tolist()
    )


def _text(strings: tuple[str, ...], code: int) -> str | None:
    return strings[code] if code >= 0 else None


def _recorded(value: int) -> int | None:
    return value if value >= 0 else None
