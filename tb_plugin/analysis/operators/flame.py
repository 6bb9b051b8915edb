"""Flame graphs: all calls merged by path, weighed by host time, device time or their number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .credit import REASONS, summed
from .inherit import call_paths, sums_below
from .model import CallKind, Operators
from .search import in_steps

B = NDArray[np.bool_]
I8 = NDArray[np.int8]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]

KERNEL = len(CallKind)  # the kind of a box that is device activity
NOBODY = KERNEL + 1  # of a box that holds activity without a call
METRICS = ("host", "device", "calls")


@dataclass(frozen=True, slots=True, eq=False)
class FlameTree:
    """Boxes of a flame graph; parents before children. ``value`` is that of its children and self.

    ``name`` is a code, −1 − r for the r-th of ``credit.REASONS``.
    """

    parent: I32
    name: I64
    kind: I8
    value: I64
    self_value: I64
    calls: I64

    def __len__(self) -> int:
        return len(self.parent)


def flame_tree(
    operators: Operators, steps: tuple[int, ...] | None, metric: str, kinds: frozenset[int]
) -> FlameTree:
    """The boxes of the chosen steps, of calls of the chosen kinds; time of others goes upwards.

    ``metric``: "host" weighs by self time, so a box is what its calls took; "device" by the time of
    the device activities below, which are boxes of their own if ``kinds`` holds ``KERNEL``;
    "calls" by the number of calls. Device activity without a call hangs below its reason.
    """
    paths = operators.paths
    weights = _device if metric == "device" else _host if metric == "host" else _number
    leaves = weights(operators, in_steps(operators.calls.step, steps), steps, KERNEL in kinds)
    parent = np.concatenate([paths.parent, leaves.parent]).astype(np.int32)
    name = np.concatenate([paths.name.astype(np.int64), leaves.name])
    kind = np.concatenate([paths.kind, leaves.kind]).astype(np.int8)
    kept = np.isin(kind, [*kinds, NOBODY])
    box, merged = _merged(parent, name, kind, kept)
    own = np.where(kept, box, -1)
    self_value = summed(leaves.value, own if metric == "calls" else box, len(merged))
    calls = summed(leaves.calls, own, len(merged))
    tree = FlameTree(
        parent=merged.parent,
        name=merged.name,
        kind=merged.kind,
        value=sums_below(self_value, merged.parent),
        self_value=self_value,
        calls=calls,
    )
    return _only(tree, tree.value > 0)


@dataclass(frozen=True, slots=True, eq=False)
class _Leaves:
    """Boxes below those of the paths, and the values of all: of the paths, then of these."""

    parent: I32
    name: I64
    kind: I8
    value: I64
    calls: I64


@dataclass(frozen=True, slots=True, eq=False)
class _Boxes:
    parent: I32
    name: I64
    kind: I8

    def __len__(self) -> int:
        return len(self.parent)


_Weights = Callable[[Operators, B, "tuple[int, ...] | None", bool], _Leaves]


def _none() -> tuple[I32, I64, I8]:
    return np.empty(0, np.int32), np.empty(0, np.int64), np.empty(0, np.int8)


def _host(operators: Operators, chosen: B, _: object, __: bool) -> _Leaves:
    calls, count = operators.calls, len(operators.paths)
    path = calls.path[chosen]
    # Children that overlap each other may be longer than the call: then nothing is its own.
    own = np.maximum(calls.self_ns[chosen], 0)
    return _Leaves(*_none(), summed(own, path, count), np.bincount(path, minlength=count))


def _number(operators: Operators, chosen: B, _: object, __: bool) -> _Leaves:
    path = operators.calls.path[chosen]
    number = np.bincount(path, minlength=len(operators.paths)).astype(np.int64)
    return _Leaves(*_none(), number, number)


def _device(
    operators: Operators,
    chosen: B,
    steps: tuple[int, ...] | None,
    kernels: bool,
) -> _Leaves:
    activities, paths = operators.activities, operators.paths
    rows = np.flatnonzero(in_steps(activities.step, steps))
    call = activities.call[rows]
    owned = call >= 0
    above = np.full(len(rows), -1, np.int64)
    above[owned] = operators.calls.path[call[owned]]
    # Reasons are roots beside the paths; kernels hang below their path or their reason.
    reasons = np.arange(len(REASONS))
    first = len(paths)
    above[~owned] = first + activities.reason[rows[~owned]].astype(np.int64)
    spans = activities.dur_ns[rows]
    if kernels:
        key = above << 32 | activities.name[rows].astype(np.int64)
        distinct, index = np.unique(key, return_inverse=True)
        parent = np.concatenate([np.full(len(reasons), -1), distinct >> 32])
        name = np.concatenate([-1 - reasons, distinct & 0xFFFFFFFF])
        kind = np.concatenate([np.full(len(reasons), NOBODY), np.full(len(distinct), KERNEL)])
        place = first + len(reasons) + index
    else:
        parent, name = np.full(len(reasons), -1), -1 - reasons
        kind, place = np.full(len(reasons), NOBODY), above
    count = first + len(parent)
    path = operators.calls.path[chosen]
    number = np.bincount(path, minlength=count) + np.bincount(place, minlength=count)
    return _Leaves(
        parent.astype(np.int32),
        name.astype(np.int64),
        kind.astype(np.int8),
        summed(spans, place, count),
        number.astype(np.int64),
    )


def _merged(parent: I32, name: I64, kind: I8, kept: B) -> tuple[I32, _Boxes]:
    """The box of each node, −1 = above all; nodes that are not kept are their parent's box."""
    labels, label = np.unique(name << 8 | kind, return_inverse=True)
    above, found, box = call_paths(kept, label.astype(np.int32), parent)
    return box, _Boxes(above, labels[found] >> 8, (labels[found] & 0xFF).astype(np.int8))


def _only(tree: FlameTree, keep: B) -> FlameTree:
    """The boxes to be kept; what is below one that goes must go, too."""
    number = np.cumsum(keep) - 1
    parent = tree.parent[keep]
    return FlameTree(
        parent=np.where(parent >= 0, number[parent], -1).astype(np.int32),
        name=tree.name[keep],
        kind=tree.kind[keep],
        value=tree.value[keep],
        self_value=tree.self_value[keep],
        calls=tree.calls[keep],
    )
