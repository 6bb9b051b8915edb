"""One side of a comparison: chosen steps of a recording, and what ran in them by name.

``Items`` are rows under keys (operators, kernels, modules), summed by key and by step. Keys are
texts, so that two recordings can be matched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import F64, I32, I64
from ...base.group_sums import summed
from ...trace.model import DeviceKind
from ..modules.model import ModuleColumns
from ..operators.groups import in_steps, paired
from ..operators.model import CallKind, OperatorColumns
from ..operators.table import CallSelection, chosen_rows
from ..steps import Selection

HOST_KINDS = frozenset({CallKind.OP, CallKind.ANNOTATION})
METRICS = ("self_ns", "total_ns", "device_self_ns", "device_total_ns")
_STEP = re.compile(r"ProfilerStep#\d+")


@dataclass(frozen=True, eq=False)
class Side:
    """Chosen steps of one recording; ``repeats`` are step times of others of the same kind."""

    selection: Selection
    operators: OperatorColumns
    modules: ModuleColumns | None = None
    repeats: tuple[tuple[int, ...], ...] = ()

    @property
    def count(self) -> int:
        """Chosen steps, at least 1."""
        return max(self.selection.count, 1)

    @cached_property
    def step_times(self) -> tuple[int, ...]:
        """Lengths of the chosen steps in ns; () where the whole recording counts as one step."""
        whole = self.selection.facts.step_source == "whole_trace"
        return () if whole else tuple(step.dur_ns for step in self.selection.steps)

    @property
    def mean_ns(self) -> float:
        """Mean length of the chosen steps."""
        return self.selection.mean(self.selection.total_ns)

    @cached_property
    def steps(self) -> tuple[int, ...] | None:
        """The chosen steps for a choice of rows; None = all, where nothing marks steps."""
        whole = self.selection.facts.step_source == "whole_trace"
        return None if whole else self.selection.indexes

    def places(self, step: NDArray[np.integer]) -> I32:
        """The place of each row's step among the chosen ones; 0 for rows outside of steps."""
        place = np.zeros(len(self.selection.facts.steps) + 1, np.int32)
        place[list(self.selection.indexes)] = np.arange(self.selection.count)
        found: I32 = place[step]
        return found


@dataclass(frozen=True, eq=False)
class Items:
    """Rows under keys. ``names`` and ``details`` by key, the columns by row."""

    names: tuple[str, ...]
    details: tuple[str, ...]  # what keeps keys of one name apart: shapes, a grid
    steps: int
    code: I32
    place: I32  # of the step
    ts: I64
    columns: Mapping[str, I64]  # "calls" and durations
    strings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # by key: "kernels" …

    @cached_property
    def sums(self) -> Mapping[str, I64]:
        """Sum of each column by key."""
        keys = len(self.names)
        return {name: summed(column, self.code, keys) for name, column in self.columns.items()}

    def series(self, column: str, keys: Sequence[int]) -> F64:
        """The sums of a column by step, of some keys; shape (keys, steps)."""
        rank = np.full(len(self.names), -1, np.int32)
        rank[list(keys)] = np.arange(len(keys), dtype=np.int32)
        row = rank[self.code]
        cell = np.where(row >= 0, row * np.int32(self.steps) + self.place, np.int32(-1))
        total = summed(self.columns[column], cell.astype(np.int32), len(keys) * self.steps)
        return total.reshape(len(keys), self.steps).astype(np.float64)

    @cached_property
    def index(self) -> Mapping[tuple[str, str], int]:
        """(name, detail) → key."""
        pairs = zip(self.names, self.details, strict=True)
        return {pair: at for at, pair in enumerate(pairs)}


def operator_items(side: Side, by: str = "name", only: I64 | None = None) -> Items:
    """The operators and annotated ranges of the chosen steps.

    ``by``: "name", or "shape" to keep calls with other input shapes apart; ``only``: of these
    calls. A call of the runtime
    that no operator surrounds, but that launched work, is a key, too, so that device times are
    whole.
    """
    operators, calls = side.operators, side.operators.calls
    rows = chosen_rows(operators, CallSelection(side.steps, HOST_KINDS))
    if only is not None:
        rows = np.intersect1d(rows, only, assume_unique=True)
    name = calls.name[rows]
    second = calls.shapes[rows] if by == "shape" else None
    return _items(
        side,
        operators.strings,
        name,
        second,
        calls.step[rows],
        calls.ts[rows],
        {
            "calls": np.ones(len(rows), np.int64),
            "self_ns": np.maximum(calls.own_ns[rows], 0),
            "total_ns": calls.total_ns[rows],
            "device_self_ns": calls.device_self_ns[rows],
            "device_total_ns": calls.device_total_ns[rows],
            "is_op": (calls.kind[rows] == CallKind.OP).astype(np.int64),
        },
    )


def kernel_items(side: Side, by: str = "name") -> Items:
    """Kernels, copies and sets of the chosen steps and the chosen device.

    ``by``: "name", or "launch" to keep launches of another size apart.
    """
    operators, activities = side.operators, side.operators.activities
    keep = in_steps(activities.step, side.steps)
    if side.selection.device is not None:
        keep &= activities.device == side.selection.device
    rows = np.flatnonzero(keep)
    second = None
    if by == "launch":
        second = np.unique(
            paired(activities.grid[rows], activities.block[rows]), return_inverse=True
        )[1].astype(np.int32)
    grids, blocks = activities.grid[rows], activities.block[rows]

    def launch(at: int) -> str:
        parts = (int(grids[at]), int(blocks[at]))
        return " × ".join(operators.strings[code] for code in parts if code >= 0)

    return _items(
        side,
        operators.strings,
        activities.name[rows],
        second,
        activities.step[rows],
        activities.ts[rows],
        {
            "calls": np.ones(len(rows), np.int64),
            "device_self_ns": activities.dur_ns[rows],
            "bytes": np.maximum(activities.bytes[rows], 0),
            "is_kernel": (activities.kind[rows] == DeviceKind.KERNEL).astype(np.int64),
        },
        launch,
    )


def module_items(side: Side) -> Items | None:
    """The modules by their path: device time and own time of ops, of all phases.

    None where the recording has no modules.
    """
    columns = side.modules
    if columns is None or not len(columns.tree):
        return None
    sums = columns.sums
    rows = np.flatnonzero(in_steps(sums.step, side.steps))
    paths = module_paths(columns)
    names = tuple(dict.fromkeys(paths))
    place = {path: at for at, path in enumerate(names)}
    code = np.array([place[path] for path in paths], np.int32)[sums.module[rows]]
    calls = columns.calls
    called = np.flatnonzero(in_steps(calls.step, side.steps))
    return Items(
        names,
        ("",) * len(names),
        side.count,
        np.concatenate([code, np.array([place[p] for p in paths], np.int32)[calls.module[called]]]),
        np.concatenate([side.places(sums.step[rows]), side.places(calls.step[called])]),
        np.zeros(len(rows) + len(called), np.int64),
        {
            "calls": np.concatenate(
                [np.zeros(len(rows), np.int64), np.ones(len(called), np.int64)]
            ),
            "device_self_ns": _padded(sums.device_ns[rows], len(called)),
            "self_ns": _padded(sums.op_ns[rows], len(called)),
            "idle_ns": _padded(sums.idle_ns[rows], len(called)),
            "bytes": _padded(sums.born_bytes[rows], len(called)),
        },
    )


def _padded(column: I64, more: int) -> I64:
    return np.concatenate([column, np.zeros(more, np.int64)])


def module_paths(columns: ModuleColumns) -> list[str]:
    """The place of each module in the model: ``GPT_0 / Block_1 / Linear_0``, or its own name."""
    tree, strings = columns.tree, columns.strings
    paths: list[str] = []
    for row in range(len(tree)):
        name = strings[int(tree.name[row])]
        above = int(tree.parent[row])
        paths.append(f"{paths[above]} / {name}" if above >= 0 else name)
    return paths


def _items(
    side: Side,
    strings: Sequence[str],
    name: I32,
    second: I32 | None,
    step: I32,
    ts: I64,
    columns: Mapping[str, I64],
    detail_at: Callable[[int], str] | None = None,
) -> Items:
    """Items by name and by a second code; ``detail_at`` says it in words for a row."""
    key = name.astype(np.int64) if second is None else paired(name, second)
    distinct, first, code = np.unique(key, return_index=True, return_inverse=True)
    pairs: list[tuple[str, str]] = []
    for at in first.tolist():
        text = _STEP.sub("ProfilerStep*", strings[int(name[at])])
        if second is None:
            detail = ""
        elif detail_at is not None:
            detail = detail_at(at)
        else:
            detail = strings[int(second[at])] if second[at] >= 0 else ""
        pairs.append((text, detail))
    known: dict[tuple[str, str], int] = {}
    merged = np.array([known.setdefault(pair, len(known)) for pair in pairs], np.int32)
    return Items(
        tuple(pair[0] for pair in known),
        tuple(pair[1] for pair in known),
        side.count,
        merged[code] if len(distinct) else np.zeros(0, np.int32),
        side.places(step),
        ts,
        columns,
    )
