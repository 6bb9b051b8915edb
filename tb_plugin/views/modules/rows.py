"""The rows of the Module view, each column with its values (contract)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ...analysis.compile.model import CompiledFacts
from ...analysis.compile.reasons import life_of
from ...analysis.modules.figures import Spread, figures_of, kind_of, spread_of
from ...analysis.modules.model import COMPILED, NONE, ModuleColumns, Phase
from ...analysis.speed_of_light.figures import SpeedGroups
from ...base.arrays import F64, I32, I64
from ..shared import lit
from ..table import Values, ValuesOf, column, summed

FOLDED = "+"  # ends the key of a row of several siblings, after the first of them
Rows = NDArray[np.intp]


class ModuleTimes:
    """Times of all modules in some steps; of the device, or of ops where none was recorded."""

    def __init__(
        self,
        columns: ModuleColumns,
        steps: tuple[int, ...] | None,
        compiled: CompiledFacts | None = None,
    ) -> None:
        self.columns, self.tree, self.compiled = columns, columns.tree, compiled
        self.figures = figures_of(columns, steps)
        self.has_device = "device" not in columns.missing
        figures, device = self.figures, self.has_device
        self.by_phase = figures.device_total_ns if device else figures.op_total_ns
        self.total: I64 = self.by_phase.sum(axis=0)
        self.self_ns: I64 = (figures.device_self_ns if device else figures.op_self_ns).sum(axis=0)
        self.whole = int(self.self_ns.sum())
        # With the modules inside: light, the time it is of, and the least time of model FLOPs.
        self.light_ns: F64 = np.zeros(len(self.tree))
        self.known_ns: I64 = np.zeros(len(self.tree), np.int64)
        self.model_ns: F64 = np.zeros(len(self.tree))

    def lit(self, found: SpeedGroups) -> None:
        """Take the light of each module, with those inside it."""
        self.light_ns[found.key] = np.nan_to_num(found.light_ns)
        self.known_ns[found.key] = found.known_ns
        self.model_ns[found.key] = found.model_ns

    def text(self, codes: I32, module: int) -> str | None:
        """The text of a module in a column of codes."""
        code = int(codes[module])
        return self.columns.strings[code] if code >= 0 else None

    def path(self, module: int) -> str:
        """The names from the root on."""
        names: list[str] = []
        while module >= 0:
            names.append(self.text(self.tree.name, module) or "")
            module = int(self.tree.parent[module])
        return "/".join(reversed(names))


class ModuleGroups(Struct, frozen=True, eq=False, dict=True):
    """Modules that are one row each, or several siblings in a row."""

    sums: ModuleTimes
    members: I64  # the modules of all rows, row by row
    starts: I64  # where those of each row begin
    keys: list[str]
    parents: list[str]  # keys of the rows around them
    depths: list[int]

    @cached_property
    def first(self) -> I64:
        """The first module of each row."""
        return self.members[self.starts]

    @cached_property
    def sizes(self) -> I64:
        """Number of modules of each row."""
        sizes: I64 = np.diff(self.starts, append=len(self.members))
        return sizes

    def summed(self, values: NDArray[Any]) -> NDArray[Any]:
        """A figure of each module as one of each row."""
        sums: NDArray[Any] = np.add.reduceat(values[self.members], self.starts)
        return sums

    @cached_property
    def spreads(self) -> list[Spread | None]:
        """Spread of the siblings of a row; None for one module."""
        totals = np.split(self.sums.total[self.members], self.starts[1:])
        return [spread_of(total.tolist()) if len(total) > 1 else None for total in totals]

    @cached_property
    def longest(self) -> I64:
        """The longest call of each row, −1 without one."""
        calls = self.sums.figures.longest[self.members]
        dur_ns = np.full(len(calls), NONE, np.int64)
        dur_ns[calls >= 0] = self.sums.columns.calls.dur_ns[calls[calls >= 0]]
        row = np.repeat(np.arange(len(self.starts)), self.sizes)
        longest: I64 = calls[np.lexsort((-dur_ns, row))[self.starts]]
        return longest


def keys_of(members: Sequence[Sequence[int]]) -> list[str]:
    """Keys of rows."""
    return [f"{one[0]}{FOLDED if len(one) > 1 else ''}" for one in members]


def _keys(groups: ModuleGroups, at: Rows) -> Values:
    return [groups.keys[one] for one in at.tolist()]


def _parents(groups: ModuleGroups, at: Rows) -> Values:
    return [groups.parents[one] for one in at.tolist()]


def _depths(groups: ModuleGroups, at: Rows) -> Values:
    return [groups.depths[one] for one in at.tolist()]


def _names(groups: ModuleGroups, at: Rows) -> Values:
    tree, strings = groups.sums.tree, groups.sums.columns.strings
    modules = zip(groups.first[at].tolist(), groups.sizes[at].tolist(), strict=True)
    return [
        kind_of(tree, strings, one) if size > 1 else groups.sums.text(tree.name, one) or ""
        for one, size in modules
    ]


def _types(groups: ModuleGroups, at: Rows) -> Values:
    codes = groups.sums.tree.type
    return [groups.sums.text(codes, one) or "" for one in groups.first[at].tolist()]


def _qualified(groups: ModuleGroups, at: Rows) -> Values:
    codes = groups.sums.tree.qualified
    modules = zip(groups.first[at].tolist(), groups.sizes[at].tolist(), strict=True)
    return [None if size > 1 else groups.sums.text(codes, one) for one, size in modules]


def _paths(groups: ModuleGroups, at: Rows) -> Values:
    return [groups.sums.path(one) for one in groups.first[at].tolist()]


def _members(groups: ModuleGroups, at: Rows) -> Values:
    return groups.sizes[at]


def _inside(groups: ModuleGroups, at: Rows) -> Values:
    parent = groups.sums.tree.parent
    children = np.bincount(parent[parent >= 0], minlength=len(parent))
    sizes, first = groups.sizes[at], groups.first[at]
    inside: I64 = np.where(sizes > 1, sizes, children[first])
    return inside


def _spread(name: str) -> ValuesOf:
    """A figure of the spread of siblings."""

    def of(groups: ModuleGroups, at: Rows) -> Values:
        return [getattr(groups.spreads[one], name, None) for one in at.tolist()]

    return of


def _outliers(groups: ModuleGroups, at: Rows) -> Values:
    found: list[str | None] = []
    for one in at.tolist():
        place = getattr(groups.spreads[one], "outlier", None)
        module = None if place is None else int(groups.members[groups.starts[one] + place])
        found.append(None if module is None else groups.sums.text(groups.sums.tree.name, module))
    return found


def _sum(name: str, *needs: str) -> ValuesOf:
    """A figure of the modules, if the recording has its inputs."""

    def of(groups: ModuleGroups, at: Rows) -> Values:
        if any(need in groups.sums.columns.missing for need in needs):
            return [None] * len(at)
        return groups.summed(getattr(groups.sums.figures, name))[at]

    return of


def _totals(groups: ModuleGroups, at: Rows) -> I64:
    totals: I64 = groups.summed(groups.sums.total)[at]
    return totals


def _own(groups: ModuleGroups, at: Rows) -> Values:
    return groups.summed(groups.sums.self_ns)[at]


def _in_phase(phase: Phase) -> ValuesOf:
    """The part of the total in a phase."""

    def of(groups: ModuleGroups, at: Rows) -> Values:
        return groups.summed(groups.sums.by_phase[phase])[at]

    return of


def _ratios(groups: ModuleGroups, at: Rows) -> Values:
    ratios: F64 = _totals(groups, at) / (groups.sums.whole or 1)
    return ratios


def _means(groups: ModuleGroups, at: Rows) -> Values:
    host = groups.summed(groups.sums.figures.host_total_ns)[at].tolist()
    calls = groups.summed(groups.sums.figures.calls)[at].tolist()
    return [ns / count if count else None for ns, count in zip(host, calls, strict=True)]


def _op_totals(groups: ModuleGroups, at: Rows) -> Values:
    return groups.summed(groups.sums.figures.op_total_ns.sum(axis=0))[at]


def _of_longest(name: str) -> ValuesOf:
    """A fact of the longest call."""

    def of(groups: ModuleGroups, at: Rows) -> Values:
        values = getattr(groups.sums.columns.calls, name)
        return [None if call < 0 else int(values[call]) for call in groups.longest[at].tolist()]

    return of


def _light_ratios(groups: ModuleGroups, at: Rows) -> Values:
    light, known = (groups.summed(one)[at] for one in (groups.sums.light_ns, groups.sums.known_ns))
    ratios: F64 = np.divide(light, known, out=np.full(len(at), np.nan), where=known > 0)
    return ratios


def _utilizations(groups: ModuleGroups, at: Rows) -> Values:
    spent = groups.summed(groups.sums.total)[at]
    ratios: F64 = np.divide(
        groups.summed(groups.sums.model_ns)[at], spent, out=np.zeros(len(at)), where=spent > 0
    )
    return [ratio if 0 < ratio <= 1 else None for ratio in ratios.tolist()]


def _wastes(groups: ModuleGroups, at: Rows) -> Values:
    light, known = (groups.summed(one)[at] for one in (groups.sums.light_ns, groups.sums.known_ns))
    pairs = zip(light.tolist(), known.tolist(), strict=True)
    return [round(ns - least) if ns else None for least, ns in pairs]


def _has_light(sums: ModuleTimes) -> bool:
    return bool(sums.known_ns.any())


def _has_backward(sums: ModuleTimes) -> bool:
    return bool(sums.by_phase[Phase.BACKWARD].any())


def _has_recompute(sums: ModuleTimes) -> bool:
    return bool(sums.by_phase[Phase.RECOMPUTE].any() or sums.figures.again.any())


def _lives(groups: ModuleGroups, at: Rows) -> Values:
    sums = groups.sums
    return [
        life_of(sums.compiled, sums.text(sums.tree.name, one) or "") or None
        if sums.text(sums.tree.type, one) == COMPILED
        else None
        for one in groups.first[at].tolist()
    ]


def _has_compiled(sums: ModuleTimes) -> bool:
    return COMPILED in map(sums.columns.strings.__getitem__, sums.tree.type[sums.tree.type >= 0])


class ModuleRow(Struct, frozen=True):
    """One module with the modules inside it; or several siblings of equal structure in one row.

    Times "total" include the modules inside. ``total_ns`` is the time that the view is about
    (``Modules.time``): of the device, or of ops where no device was recorded; it is the sum of
    forward, backward and recompute.
    """

    key: Annotated[str, column(of=_keys)]  # asks for what is inside, as ``below``
    parent: Annotated[str, column(of=_parents)]  # key of the row around it; "" at a root
    name: Annotated[
        str,
        column(
            "Module",
            "The instance as the recording names it, or its name in the model. “× 4” means four"
            " siblings of equal type and structure.",
            kind="name",
            is_sortable=True,
            of=_names,
        ),
    ]
    calls: Annotated[int, summed("Calls", "Number of calls in the forward pass.", of=_sum("calls"))]
    ops: Annotated[
        int,
        summed(
            "Operators",
            "Ops in it and in the modules inside it; an op inside another op of the module does"
            " not count.",
            of=_sum("ops"),
        ),
    ]
    total_ns: Annotated[
        int,
        summed(
            "Total",
            "Device time of what it and the modules inside it launched: forward + backward +"
            " recompute. A sum of durations: kernels that run side by side count each. Without"
            " device activity, the self time of ops on the host.",
            of=_totals,
        ),
    ]
    self_ns: Annotated[int, summed("Self", "Total without the modules inside it.", of=_own)]
    busy_ns: Annotated[
        int | None,
        summed(
            "Busy",
            "Time with device work of it or of the modules inside it; parallel kernels count once"
            " on each device and in each step. Sum over siblings.",
            of=_sum("busy_ns", "device"),
        ),
    ]
    forward_ns: Annotated[
        int,
        summed("Forward", "Part of the total in the forward pass.", of=_in_phase(Phase.FORWARD)),
    ]
    backward_ns: Annotated[
        int,
        summed(
            "Backward",
            "Part of the total that autograd ran for the ops of the forward pass.",
            of=_in_phase(Phase.BACKWARD),
            when=_has_backward,
        ),
    ]
    recompute_ns: Annotated[
        int,
        summed(
            "Recompute",
            "Part of the total in calls inside the backward pass, as activation checkpointing"
            " makes them.",
            of=_in_phase(Phase.RECOMPUTE),
            when=_has_recompute,
        ),
    ]
    ratio: Annotated[float, column("Share", "Share of the time of all modules.", of=_ratios)]
    compiled: Annotated[
        str | None,
        column(
            "Compiled",
            "Of a compiled function: its versions, their runs in the recording, what compiling"
            " took, and what changed when it was compiled again.",
            kind="text",
            is_sortable=False,
            of=_lives,
            when=_has_compiled,
        ),
    ]
    host_total_ns: Annotated[
        int,
        summed(
            "Host total",
            "Length of its calls in the forward pass, on the host.",
            of=_sum("host_total_ns"),
        ),
    ]
    host_self_ns: Annotated[
        int,
        summed(
            "Host self",
            "Host total without the calls of modules inside it.",
            is_minor=True,
            of=_sum("host_self_ns"),
        ),
    ]
    idle_ns: Annotated[
        int | None,
        summed(
            "Idle before",
            "A device was idle, and its next work belongs to this module or to one inside it.",
            of=_sum("idle_ns", "device"),
        ),
    ]
    kernels: Annotated[
        int | None,
        summed(
            "Kernels",
            "Kernels, copies and sets that it launched, with the modules inside it.",
            is_minor=True,
            of=_sum("activities", "device"),
        ),
    ]
    recompute_calls: Annotated[
        int,
        summed(
            "Recompute calls",
            "Number of calls inside the backward pass.",
            is_minor=True,
            of=_sum("again"),
            when=_has_recompute,
        ),
    ]
    host_recompute_ns: Annotated[
        int,
        summed(
            "Host recompute",
            "Length of its calls inside the backward pass, on the host.",
            is_minor=True,
            of=_sum("host_again_ns"),
            when=_has_recompute,
        ),
    ]
    mean_ns: Annotated[
        float | None,
        column(
            "Mean call",
            "Mean length of a call in the forward pass, on the host.",
            is_minor=True,
            of=_means,
        ),
    ]
    op_total_ns: Annotated[
        int,
        summed(
            "Ops",
            "Own time of ops and of runtime calls on the host, forward, backward and recompute,"
            " with the modules inside it.",
            is_minor=True,
            of=_op_totals,
        ),
    ]
    flops: Annotated[
        float | None,
        summed(
            "FLOPs",
            "Floating point operations of its ops by models of ops and shapes, forward, backward"
            " and recompute, with the modules inside it. Ops without a model count nothing; of"
            " nested ops with a model the innermost counts.",
            is_minor=True,
            of=_sum("flops", "flops"),
        ),
    ]
    mfu_ratio: Annotated[
        float | None,
        column(
            "MFU",
            "Model FLOPs ÷ (device time · peak), with the modules inside it. FLOPs that activation"
            " checkpointing computes again do not count. Kernels without a model count as time"
            " alone, so it is a lower bound.",
            is_minor=True,
            is_sortable=False,
            of=_utilizations,
            when=_has_light,
        ),
    ]
    light_ratio: Annotated[float | None, lit("light_ratio", of=_light_ratios, when=_has_light)]
    waste_ns: Annotated[int | None, lit("waste_ns", of=_wastes, when=_has_light)]
    born_bytes: Annotated[
        int | None,
        summed(
            "Allocated",
            "Allocated by its ops and those of the modules inside it, forward, backward and"
            " recompute: on accelerators, or on the host where none allocated.",
            is_minor=True,
            of=_sum("born_bytes", "memory"),
        ),
    ]
    kept_bytes: Annotated[
        int | None,
        summed(
            "Kept",
            "Memory allocated in its calls and not released when the innermost call ends: results,"
            " and tensors kept for the backward pass.",
            is_minor=True,
            of=_sum("kept_bytes", "memory", "kept"),
        ),
    ]
    members: Annotated[
        int,
        column(
            "Members",
            "Number of siblings of equal structure in the row.",
            is_minor=True,
            of=_members,
        ),
    ]
    least_ns: Annotated[
        int | None,
        summed("Least", "Total of the smallest sibling.", is_minor=True, of=_spread("least")),
    ]
    median_ns: Annotated[
        int | None,
        summed("Median", "Median total of the siblings.", is_minor=True, of=_spread("median")),
    ]
    most_ns: Annotated[
        int | None,
        summed("Most", "Total of the largest sibling.", is_minor=True, of=_spread("most")),
    ]
    outlier: Annotated[
        str | None,
        column(
            "Outlier",
            "Of three siblings or more, the one farthest from their median: by more than 3.5"
            " deviations and 5\u00a0%.",
            kind="name",
            is_minor=True,
            of=_outliers,
        ),
    ]
    type: Annotated[
        str,
        column("Type", "Its class, where it is known.", kind="name", is_minor=True, of=_types),
    ]
    qualified: Annotated[
        str | None,
        column(
            "Name in the model",
            "Its name in `named_modules()`.",
            kind="name",
            is_minor=True,
            of=_qualified,
        ),
    ]
    path: Annotated[
        str,
        column("Path", "Names from the root on.", kind="path", is_minor=True, of=_paths),
    ]
    depth: Annotated[
        int,
        column(
            "Depth",
            "Number of modules around it.",
            is_sortable=False,
            is_minor=True,
            of=_depths,
        ),
    ]
    inside: Annotated[int, column(of=_inside)]  # rows directly inside it
    slice: Annotated[int | None, column(of=_of_longest("host"))]  # slice id of the longest call, …
    ts: Annotated[int | None, column(of=_of_longest("ts"))]  # … its start, …
    dur_ns: Annotated[int | None, column(of=_of_longest("dur_ns"))]  # … and length
