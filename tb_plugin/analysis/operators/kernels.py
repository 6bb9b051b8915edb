"""The kernel table: device activities by group, with the figures of each."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ...base.arrays import F64, I32, I64, B, of_names, seen
from ...trace.model import DeviceClass, DeviceKind
from ..counters.groups import (
    GroupFigure,
    GroupWork,
    group_figures,
    is_memory_bound,
    union_by_group,
)
from ..kernel_families import Family, families
from ..overview.utilization import MatrixUse
from .groups import Grouped, group, in_steps, named
from .model import Activities, NamedLight, OperatorColumns

GROUPINGS = ("name", "properties", "class", "module", "line")
_OF_CLASS = {
    DeviceClass.COMMUNICATION: Family("communication", "moves data between ranks"),
    DeviceClass.COPY: Family("copy", "a copy done by a kernel"),
    DeviceClass.MEMSET: Family("memset", "a fill done by a kernel"),
}


class ChosenKernels(Struct, frozen=True):
    """A choice of kernels; ``None`` = all that is recorded."""

    steps: tuple[int, ...] | None = None
    device: int | None = None
    search: str = ""
    search_op: str = ""


class KernelGroups(Grouped, frozen=True, eq=False, dict=True):
    """Groups of kernels."""

    whole_ns: int  # of all kernels of the chosen steps and device, whatever is searched for
    light: Mapping[str, NamedLight] = {}  # by name, where the rows are names

    @property
    def activities(self) -> Activities:
        """The grouped activities."""
        return self.operators.activities

    @property
    def row_name(self) -> I32:
        """Code of the name of each activity."""
        return self.activities.name

    @property
    def row_ns(self) -> I64:
        """Durations on the device."""
        return self.activities.dur_ns

    @cached_property
    def blocks_per_sm(self) -> F64:
        """Mean, weighted by duration, of the kernels that have the value; NaN where none has."""
        return self._weighted(self.activities.blocks_per_sm)

    @cached_property
    def occupancy_percent(self) -> F64:
        """Mean estimated achieved occupancy, weighted by duration; NaN where none."""
        return self._weighted(self.activities.occupancy)

    @cached_property
    def launch_ns(self) -> F64:
        """Mean time from the start of the call; NaN where no call is known."""
        return self._known_mean(self.activities.launch_ns)

    @cached_property
    def queue_ns(self) -> F64:
        """Mean time from the end of the call; NaN where no call is known."""
        return self._known_mean(self.activities.queue_ns)

    @cached_property
    def bytes(self) -> I64:
        """Bytes of the activities that record them; −1 where none does."""
        known = self.activities.bytes >= 0
        sums = self.groups.sums(np.where(known, self.activities.bytes, 0))
        return np.where(self.groups.any(known), sums, -1)

    @cached_property
    def _works(self) -> dict[int, GroupWork]:
        """When each group works, by device."""
        group, rows = self.groups.code, self.groups.rows
        device, ts = self.activities.device[rows], self.activities.ts[rows]
        end = ts + self.activities.dur_ns[rows]
        return {
            one: union_by_group(group[mine], ts[mine], end[mine])
            for one in np.unique(device).tolist()
            for mine in [device == one]
        }

    def _measured(self, kind: str, unit: str) -> GroupFigure:
        """A counter by group; NaN where no counter of this kind and unit covers it."""
        found = {
            one.device: one
            for one in reversed(self.operators.counters)
            if one.facts.kind == kind and (one.facts.unit == unit or one.facts.peak)
        }
        if not found:
            nothing = np.full(len(self), np.nan)
            return GroupFigure(nothing, nothing, np.zeros(len(self), np.int64))
        return group_figures(list(found.values()), self._works, len(self))

    @cached_property
    def power(self) -> GroupFigure:
        """Power in W; ``total`` is energy in J."""
        return self._measured("power", "W")

    @property
    def energy_j(self) -> F64:
        """∫ power dt over the union of the kernels; NaN where it was not sampled."""
        return self.power.total

    @property
    def power_w(self) -> F64:
        """Mean power while they run."""
        return self.power.mean

    @cached_property
    def sm_clock_mhz(self) -> F64:
        """Mean SM clock while they run."""
        return self._measured("sm_clock", "MHz").mean

    @cached_property
    def sm_active(self) -> GroupFigure:
        """Multiprocessors with work while they run, in percent."""
        return self._measured("sm_active", "%")

    @property
    def sm_active_percent(self) -> F64:
        """Mean of it."""
        return self.sm_active.mean

    @cached_property
    def dram(self) -> GroupFigure:
        """Traffic of the device's memory while they run, in percent of its peak."""
        return self._measured("dram", "%")

    @property
    def dram_percent(self) -> F64:
        """Mean of it."""
        return self.dram.mean

    @cached_property
    def memory_bound(self) -> B:
        """Groups that memory bounds, as measured."""
        return is_memory_bound(self.dram, self.sm_active)

    def _weighted(self, value: F64) -> F64:
        known = ~np.isnan(value)
        weight = self.groups.sums(np.where(known, self.activities.dur_ns, 0))
        total = self.groups.real_sums(np.where(known, value, 0.0) * self.activities.dur_ns)
        return np.where(weight > 0, total / np.maximum(weight, 1), np.nan)

    def _known_mean(self, value: I64) -> F64:
        known = value >= 0
        count = self.groups.sums(known)
        total = self.groups.sums(np.where(known, value, 0))
        return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def kernel_table(
    operators: OperatorColumns, chosen: ChosenKernels, group_by: str = "name"
) -> KernelGroups:
    """Groups the chosen kernels by one of ``GROUPINGS``; all groupings have the same sum.

    "module" and "line" are those of the op that launched it, of backward those of its forward op.
    "properties" keeps apart what differs in name, op, grid, block, registers or shared memory.
    """
    activities = operators.activities
    rows = kernel_rows(operators, chosen)
    if group_by == "name":
        key: NDArray[np.integer] = activities.name
    elif group_by == "class":
        key = family_codes(operators)[1]
    elif group_by in ("module", "line"):
        calls = operators.calls
        key = _of_call(operators, calls.module if group_by == "module" else calls.owner)
    else:
        key = _properties(operators)
    groups = group(rows, key, activities.dur_ns)
    return KernelGroups(operators, groups, group_by, whole_ns(operators, chosen))


def whole_ns(operators: OperatorColumns, chosen: ChosenKernels) -> int:
    """Summed duration of the kernels of the chosen steps and device, without the search."""
    rows = kernel_rows(operators, ChosenKernels(chosen.steps, chosen.device))
    return int(operators.activities.dur_ns[rows].sum())


def copy_table(operators: OperatorColumns, chosen: ChosenKernels) -> KernelGroups:
    """Copies and sets by name, which includes their direction."""
    activities = operators.activities
    rows = _chosen(operators, chosen, ~_is_kernel(activities))
    groups = group(rows, activities.name, activities.dur_ns)
    return KernelGroups(operators, groups, "name", int(activities.dur_ns[rows].sum()))


def kernel_rows(operators: OperatorColumns, chosen: ChosenKernels) -> NDArray[np.intp]:
    """The rows of the chosen kernels."""
    return _chosen(operators, chosen, _is_kernel(operators.activities))


def _is_kernel(activities: Activities) -> B:
    kernel: B = (activities.kind == DeviceKind.KERNEL) | (activities.kind == DeviceKind.OTHER)
    return kernel


def _chosen(operators: OperatorColumns, chosen: ChosenKernels, keep: B) -> NDArray[np.intp]:
    activities = operators.activities
    keep = keep & in_steps(activities.step, chosen.steps)
    if chosen.device is not None:
        keep = keep & (activities.device == chosen.device)
    if chosen.search:
        keep = keep & named(operators.strings, activities.name, chosen.search)
    if chosen.search_op:
        op = op_names(operators)
        hit = op >= 0
        hit[hit] = named(operators.strings, op[hit], chosen.search_op)
        keep = keep & hit
    return np.flatnonzero(keep)


def op_names(operators: OperatorColumns) -> I32:
    """Code of the name of the call that each activity is credited to, −1 where there is none."""
    return _of_call(operators, operators.calls.name)


def _of_call(operators: OperatorColumns, code: I32) -> I32:
    """A column of the calls, by activity; −1 where no call is known."""
    call = operators.activities.call
    result = np.full(len(call), -1, np.int32)
    result[call >= 0] = code[call[call >= 0]]
    return result


def family_codes(operators: OperatorColumns) -> tuple[tuple[Family, ...], I32]:
    """The families that occur, and the family of each activity.

    What an activity counts as by better evidence than its name (a collective) goes first.
    """
    activities = operators.activities
    known: dict[Family, int] = {}
    rules = families()

    def number(name: str) -> int:
        return known.setdefault(rules.of(name), len(known))

    compute = activities.klass == DeviceClass.COMPUTE
    result = np.zeros(len(activities), np.int32)
    result[compute] = of_names(operators.strings, activities.name[compute], number, np.int32)
    for klass, family in _OF_CLASS.items():
        mask = activities.klass == klass
        if mask.any():
            result[mask] = known.setdefault(family, len(known))
    return tuple(known), result


def matrix_uses(table: KernelGroups) -> list[MatrixUse]:
    """Use of tensor cores by the kernels of each group: all, none, or unknown.

    Those that move data are not asked; where all do, there is no candidate.
    """
    groups, kinds = table.groups, len(MatrixUse)
    use = table.activities.tensor_core[groups.rows]
    found = seen(groups.code * np.int32(kinds) + use, len(groups) * kinds).reshape(-1, kinds)
    found[np.delete(found, MatrixUse.NONE, axis=1).any(axis=1), MatrixUse.NONE] = False
    one = np.where(found.sum(axis=1) == 1, found.argmax(axis=1), MatrixUse.UNKNOWN)
    return [MatrixUse(code) for code in one.tolist()]


def _properties(operators: OperatorColumns) -> I64:
    """One number per combination of name, op, grid, block, registers and shared memory."""
    activities = operators.activities
    result = np.zeros(len(activities), np.int64)
    for column in (
        activities.name,
        op_names(operators),
        activities.grid,
        activities.block,
        activities.registers,
        activities.shared_bytes,
    ):
        inner = np.unique(column, return_inverse=True)[1].astype(np.int64)
        result = np.unique(result << 32 | inner, return_inverse=True)[1].astype(np.int64)
    return result
