"""The figures of modules in the chosen steps, and which siblings are alike.

``figures_of`` sums the columns; ``alike`` finds siblings of equal type and structure, such as the
blocks of a transformer; ``spread_of`` says how equal their times are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ...base.arrays import F64, I32, I64, median
from ...base.group_sums import summed
from ...base.regex import regex
from ..call_tree.flame import FlameTree
from ..call_tree.paths import innermost, sums_below
from ..operators.groups import in_steps
from ..steps import LEAST_RATIO, SIGMAS, sigma_of
from .model import COMPILED, NONE, ModuleColumns, ModuleTree, Outside, Phase

Steps = tuple[int, ...] | None
_DIGITS = regex(r"\d+")


class ModuleFigures(Struct, frozen=True, eq=False):
    """One entry per module; ``self`` is without the modules below it, ``total`` with them.

    Columns by phase have the shape (phases, modules).
    """

    device_self_ns: I64  # by phase
    device_total_ns: I64  # by phase
    busy_ns: I64  # a device ran work of it: where kernels run side by side an instant counts once
    op_self_ns: I64  # by phase
    op_total_ns: I64  # by phase
    calls: I64  # in the forward pass
    again: I64  # … inside the backward pass
    host_total_ns: I64  # of the calls in the forward pass
    host_self_ns: I64  # … without the calls of modules inside them
    host_again_ns: I64  # of the calls inside the backward pass
    activities: I64
    ops: I64
    flops: F64
    idle_ns: I64
    idle_self_ns: I64
    born_bytes: I64
    kept_bytes: I64
    longest: I64  # row of the longest call, −1


def figures_of(columns: ModuleColumns, steps: Steps) -> ModuleFigures:
    """The figures of all modules in some steps; None = of all that was recorded."""
    tree, sums, calls = columns.tree, columns.sums, columns.calls
    count = len(tree)
    chosen = in_steps(sums.step, steps)
    module, phase = sums.module[chosen], sums.phase[chosen]

    def by_phase(value: I64) -> I64:
        cell = phase.astype(np.int32) * np.int32(count) + module
        return summed(value[chosen], cell, len(Phase) * count).reshape(len(Phase), count)

    def below(value: I64) -> I64:
        return sums_below(value, tree.parent)

    device, op = by_phase(sums.device_ns), by_phase(sums.op_ns)
    busy = columns.busy
    is_busy = in_steps(busy.step, steps)
    called = in_steps(calls.step, steps)
    first = np.where(called & (calls.phase == Phase.FORWARD), calls.module, np.int32(NONE))
    again = np.where(called & (calls.phase == Phase.RECOMPUTE), calls.module, np.int32(NONE))
    ones = np.ones(len(calls), np.int64)
    flops = np.bincount(module, sums.flops[chosen], count).astype(np.float64)
    return ModuleFigures(
        device_self_ns=device,
        device_total_ns=np.array([below(one) for one in device]).reshape(device.shape),
        busy_ns=summed(busy.busy_ns[is_busy], busy.module[is_busy], count),
        op_self_ns=op,
        op_total_ns=np.array([below(one) for one in op]).reshape(op.shape),
        calls=summed(ones, first, count),
        again=summed(ones, again, count),
        host_total_ns=summed(calls.dur_ns, first, count),
        host_self_ns=summed(calls.self_ns, first, count),
        host_again_ns=summed(calls.dur_ns, again, count),
        activities=below(summed(sums.activities[chosen], module, count)),
        ops=below(summed(sums.ops[chosen], module, count)),
        flops=_real_sums_below(flops, tree.parent),
        idle_ns=below(idle := summed(sums.idle_ns[chosen], module, count)),
        idle_self_ns=idle,
        born_bytes=below(summed(sums.born_bytes[chosen], module, count)),
        kept_bytes=below(summed(sums.kept_bytes[chosen], module, count)),
        longest=_longest(columns, called, count),
    )


def _real_sums_below(value: F64, parent: I32) -> F64:
    total: F64 = value.copy()
    for row in range(len(total) - 1, -1, -1):  # children come after their parents
        if parent[row] >= 0:
            total[parent[row]] += total[row]
    return total


def _longest(columns: ModuleColumns, called: NDArray[np.bool_], count: int) -> I64:
    """The longest call of each module among the chosen ones, of several the first; −1."""
    calls = columns.calls
    rows = np.flatnonzero(called)
    order = rows[np.lexsort((-rows, calls.dur_ns[rows], -calls.phase[rows].astype(np.int64)))]
    longest = np.full(count, NONE, np.int64)
    longest[calls.module[order]] = order  # of several the last written stays
    return longest


def flame_tree_of(
    columns: ModuleColumns, figures: ModuleFigures, metric: str, root: int = NONE
) -> FlameTree:
    """The tree of modules, or the part below one of them, with self values; rows are modules.

    ``metric``: "device" and "op" time of all phases, "host" time of calls in the forward pass,
    "idle" time before work.
    """
    tree = columns.tree
    own: I64 = {
        "device": figures.device_self_ns.sum(axis=0),
        "op": figures.op_self_ns.sum(axis=0),
        "host": figures.host_self_ns,
        "idle": figures.idle_self_ns,
    }[metric]
    count, parent = figures.calls, tree.parent
    if root >= 0:
        start = np.full(len(tree), NONE, np.int32)
        start[root] = root
        inside = innermost(start, parent) == root
        own, count = np.where(inside, own, 0), np.where(inside, count, 0)
        parent = np.where(np.arange(len(tree)) == root, np.int32(NONE), parent)
    strings = columns.strings
    return FlameTree(
        parent=np.asarray(parent, np.int32),
        name=np.arange(len(tree), dtype=np.int32) + np.int32(len(strings)),
        kind=np.zeros(len(tree), np.int32),
        own=own,
        count=count,
        names=strings,
        labels=[_label(columns, row) for row in range(len(tree))],
        kinds=("module",),
    )


def _label(columns: ModuleColumns, row: int) -> str:
    """Name of a module, followed by its name in the model or its type."""
    tree, strings = columns.tree, columns.strings
    name, type_ = strings[int(tree.name[row])], int(tree.type[row])
    is_frame = type_ >= 0 and name.startswith(strings[type_])
    more = int(tree.qualified[row]) if is_frame else type_
    return f"{name} {strings[more]}".rstrip() if more >= 0 else name


class OutsideFigures(Struct, frozen=True):
    """The sums of one reason."""

    reason: Outside
    device_ns: int
    op_ns: int
    idle_ns: int


def outside_of(columns: ModuleColumns, steps: Steps) -> tuple[OutsideFigures, ...]:
    """Time outside of modules, by reason, in the order of ``Outside``."""
    outside = columns.outside
    chosen = in_steps(outside.step, steps)
    reason = outside.reason[chosen].astype(np.int32)
    parts = (
        summed(value[chosen], reason, len(Outside))
        for value in (outside.device_ns, outside.op_ns, outside.idle_ns)
    )
    rows = zip(Outside, *(part.tolist() for part in parts), strict=True)
    return tuple(OutsideFigures(*row) for row in rows)


def device_busy_ns(columns: ModuleColumns, steps: Steps) -> int:
    """Busy time of the devices with or without modules: unions, summed over devices."""
    busy = columns.busy
    return int(busy.busy_ns[in_steps(busy.step, steps) & (busy.module == NONE)].sum())


def children_of(tree: ModuleTree) -> dict[int, list[int]]:
    """The modules directly below each, in the order of the tree; those of −1 are the roots."""
    below: dict[int, list[int]] = {}
    for row, up in enumerate(tree.parent.tolist()):
        below.setdefault(up, []).append(row)
    return below


def kind_of(tree: ModuleTree, strings: Sequence[str], row: int) -> str:
    """The class of a module; where it is not known, its name with any number: "blocks.*".

    Compiled functions are alike only where they are the same one.
    """
    type_ = int(tree.type[row])
    if type_ >= 0 and strings[type_] == COMPILED:
        return strings[int(tree.name[row])]
    return strings[type_] if type_ >= 0 else _DIGITS.sub("*", strings[int(tree.name[row])])


def shapes_of(tree: ModuleTree, strings: Sequence[str]) -> list[int]:
    """A number for the type of each module and of all below it: equal numbers, equal structure."""
    below = children_of(tree)
    known: dict[tuple[str, tuple[int, ...]], int] = {}
    shapes = [0] * len(tree)
    for row in range(len(tree) - 1, -1, -1):
        kind = kind_of(tree, strings, row)
        inside = tuple(shapes[one] for one in below.get(row, ()))
        shapes[row] = known.setdefault((kind, inside), len(known))
    return shapes


def alike(rows: Sequence[int], shapes: Sequence[int]) -> list[list[int]]:
    """Siblings in groups of equal structure, in the order of the first of each."""
    groups: dict[int, list[int]] = {}
    for row in rows:
        groups.setdefault(shapes[row], []).append(row)
    return list(groups.values())


class Spread(Struct, frozen=True):
    """Spread of the times of siblings. ``outlier`` is the place of one far from the others."""

    least: int
    median: int
    most: int
    outlier: int | None


def spread_of(values: Sequence[int]) -> Spread:
    """The spread of at least one value.

    One is an outlier if it is the farthest from the median, and by more than 3.5 σ and 5 %, told
    from three values on; σ by the median absolute deviation.
    """
    middle = median(values)
    far = [abs(value - middle) for value in values]
    place = max(range(len(values)), key=far.__getitem__)
    limit = max(SIGMAS * sigma_of(values), LEAST_RATIO * middle)
    is_outlier = len(values) >= 3 and far[place] > limit
    return Spread(min(values), round(middle), max(values), place if is_outlier else None)
