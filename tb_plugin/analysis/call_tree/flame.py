"""Flame graphs: all calls merged by path, weighed by host time, device time or call count.

``flame_tree`` merges the calls; ``shown`` orders a tree left-heavy, focuses and prunes it for the
page; ``folded`` writes it as folded stacks; ``Levels`` and ``FlameBoxes`` sum and prune any tree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import F64, I8, I32, I64, U8, B
from ...trace.build.nest import depth_of
from ..operators.credit import REASONS, summed
from ..operators.groups import in_steps
from ..operators.model import CallKind, OperatorColumns
from ..timeline.model import SliceKind
from .paths import call_paths, sums_below

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
    operators: OperatorColumns, steps: tuple[int, ...] | None, metric: str, kinds: frozenset[int]
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


_Weights = Callable[[OperatorColumns, B, "tuple[int, ...] | None", bool], _Leaves]


def _none() -> tuple[I32, I64, I8]:
    return np.empty(0, np.int32), np.empty(0, np.int64), np.empty(0, np.int8)


def _host(operators: OperatorColumns, chosen: B, _: object, __: bool) -> _Leaves:
    calls, count = operators.calls, len(operators.paths)
    path = calls.path[chosen]
    # Children that overlap each other may be longer than the call: then nothing is its own.
    own = np.maximum(calls.self_ns[chosen], 0)
    return _Leaves(*_none(), summed(own, path, count), np.bincount(path, minlength=count))


def _number(operators: OperatorColumns, chosen: B, _: object, __: bool) -> _Leaves:
    path = operators.calls.path[chosen]
    number = np.bincount(path, minlength=len(operators.paths)).astype(np.int64)
    return _Leaves(*_none(), number, number)


def _device(
    operators: OperatorColumns,
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


_STEP = re.compile(r"^ProfilerStep#\d+$")  # one box stands for all steps
OTHERS = "…"
MOST_BOXES = 20_000


@dataclass(frozen=True, slots=True)
class Box:
    """One box; ``node`` is its row in the tree, −1 of one that stands for several."""

    node: int
    parent: int  # index in the list, −1 at a root
    name: str
    kind: int
    value: int
    self_value: int
    calls: int


@dataclass(frozen=True, slots=True)
class Shown:
    """Boxes in left-heavy order, and how many are merged into others."""

    boxes: tuple[Box, ...]
    total: int
    merged: int


def shown(
    tree: FlameTree, strings: Sequence[str], focus: int | None = None, min_ratio: float = 0.0
) -> Shown:
    """All boxes, or those around and below ``focus``, the largest sibling first.

    Siblings below ``min_ratio`` of the whole, or of the focus, become one box "…", so that every
    level still adds up.

    Raises:
        IndexError: there is no such box.
    """
    if focus is not None and not 0 <= focus < len(tree):
        raise IndexError(focus)
    below = _children(tree)
    total = int(tree.value[below[-1]].sum())
    whole = total if focus is None else int(tree.value[focus])
    least = max(min_ratio * whole, _least_of_most(tree))
    boxes = [] if focus is None else _way_to(tree, strings, focus)
    merged = 0
    waiting = [(len(boxes) - 1, below[-1 if focus is None else focus])]
    while waiting:
        parent, rows = waiting.pop()
        small = [row for row in rows if tree.value[row] < least]
        for row in rows:
            if tree.value[row] >= least:
                waiting.append((len(boxes), below[row]))
                boxes.append(_box(tree, strings, row, parent))
        if small:
            merged += len(small)
            value = int(tree.value[small].sum())
            calls = int(tree.calls[small].sum())
            boxes.append(Box(-1, parent, OTHERS, -1, value, value, calls))
    return Shown(tuple(boxes), total, merged)


def _way_to(tree: FlameTree, strings: Sequence[str], row: int) -> list[Box]:
    """The boxes around one, from its root on, and itself."""
    rows: list[int] = []
    while row >= 0:
        rows.append(row)
        row = int(tree.parent[row])
    return [_box(tree, strings, one, at - 1) for at, one in enumerate(reversed(rows))]


def _least_of_most(tree: FlameTree) -> float:
    """The value below which boxes are merged so that not more than MOST_BOXES are left."""
    if len(tree) <= MOST_BOXES:
        return 0.0
    return float(np.partition(tree.value, len(tree) - MOST_BOXES)[len(tree) - MOST_BOXES])


def _box(tree: FlameTree, strings: Sequence[str], row: int, parent: int) -> Box:
    return Box(
        node=row,
        parent=parent,
        name=name_of(tree, strings, row),
        kind=int(tree.kind[row]),
        value=int(tree.value[row]),
        self_value=int(tree.self_value[row]),
        calls=int(tree.calls[row]),
    )


def name_of(tree: FlameTree, strings: Sequence[str], row: int) -> str:
    """What stands in a box."""
    code = int(tree.name[row])
    return _STEP.sub("ProfilerStep", strings[code]) if code >= 0 else REASONS[-1 - code]


def _children(tree: FlameTree) -> dict[int, list[int]]:
    """Rows below each row, the largest first; those of −1 are the roots."""
    order = np.lexsort((-tree.value, tree.parent))
    parent = tree.parent[order]
    edges = np.flatnonzero(np.diff(parent)) + 1
    found: dict[int, list[int]] = {row: [] for row in range(-1, len(tree))}
    for part in np.split(order, edges):
        if len(part):
            found[int(tree.parent[part[0]])] = part.tolist()
    return found


def folded(tree: FlameTree, strings: Sequence[str]) -> Iterator[str]:
    """One line per path with a value of its own: names joined by ";", a blank, the value.

    That is what FlameGraph and speedscope read. A ";" or a line break in a name would split it, so
    they become "," and blanks.
    """
    paths: list[str] = []
    for row in range(len(tree)):
        name = " ".join(name_of(tree, strings, row).replace(";", ",").split()) or "(no name)"
        parent = int(tree.parent[row])
        paths.append(name if parent < 0 else f"{paths[parent]};{name}")
        if tree.self_value[row] > 0:
            yield f"{paths[row]} {int(tree.self_value[row])}\n"


T = TypeVar("T", np.float64, np.int64)

MOST_NODES = 20_000
REST = "…"
NO_NAME = -1


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """Boxes by depth and parent, so that values are added up level by level.

    ``order`` are the boxes of a level, those of one parent side by side; ``first`` where a parent's
    begin, ``parent`` which it is. CSR by level into ``order`` and into those two.
    """

    order: I32
    order_first: I64
    first: I64
    parent: I32
    parent_first: I64


def levels_of(parent: I32) -> Levels:
    """The levels of a forest; the roots are in none."""
    depth = depth_of(parent)
    inner = np.flatnonzero(parent >= 0)
    order: I32 = inner[np.lexsort((parent[inner], depth[inner]))].astype(np.int32)
    above: I32 = parent[order]
    first = np.flatnonzero(np.diff(above, prepend=-1))
    top = int(depth.max(initial=0))
    edges = np.arange(1, top + 2)
    order_first = np.searchsorted(depth[order], edges)
    parents: I32 = above[first]
    return Levels(order, order_first, first, parents, np.searchsorted(first, order_first))


def with_what_is_below(levels: Levels, own: NDArray[T]) -> NDArray[T]:
    """Each value with all those below it."""
    whole: NDArray[T] = own.copy()
    for level in range(len(levels.order_first) - 2, -1, -1):
        low, high = levels.order_first[level : level + 2].tolist()
        part = slice(*levels.parent_first[level : level + 2].tolist())
        sums = np.add.reduceat(whole[levels.order[low:high]], levels.first[part] - low)
        whole[levels.parent[part]] += sums
    return whole


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """One entry per box; ``labels`` are texts of boxes without a name."""

    parent: I32
    name: I32  # code, or NO_NAME
    kind: U8
    own: F64
    count: I64
    value: F64  # here and below
    below: I64  # slices here and below
    labels: Mapping[int, str] = field(default_factory=dict)


def tree_of(
    paths: tuple[I32, I32, U8], own: F64, count: I64, levels: Levels | None = None, label: str = ""
) -> Tree:
    """The tree of boxes given as parent, name and kind; ``label`` is the text of the first one."""
    levels = levels or levels_of(paths[0])
    value, below = with_what_is_below(levels, own), with_what_is_below(levels, count)
    return Tree(*paths, own, count, value, below, {0: label} if label else {})


@dataclass(frozen=True, slots=True)
class Node:
    """A box; ``value`` includes what is below it. ``row`` of the tree is −1 of what is merged."""

    row: int
    parent: int
    text: str
    kind: int
    value: float
    own: float
    slices: int


@dataclass(frozen=True, slots=True)
class FlameBoxes:
    """Boxes, parents before children, of one parent the larger ones first, the rest last."""

    nodes: tuple[Node, ...]
    total: float
    pruned: int


def forest(trees: list[Tree]) -> Tree:
    """Trees side by side."""
    parents, labels, at = [np.empty(0, np.int32)], {}, 0
    for tree in trees:
        parents.append(np.where(tree.parent >= 0, tree.parent + at, -1).astype(np.int32))
        labels.update({at + place: text for place, text in tree.labels.items()})
        at += len(tree.parent)

    def joined(column: str, dtype: type) -> NDArray[Any]:
        return np.concatenate([np.empty(0, dtype), *(getattr(tree, column) for tree in trees)])

    return Tree(
        np.concatenate(parents),
        joined("name", np.int32),
        joined("kind", np.uint8),
        joined("own", np.float64),
        joined("count", np.int64),
        joined("value", np.float64),
        joined("below", np.int64),
        labels,
    )


def pruned(tree: Tree, names: tuple[str, ...], min_share: float) -> FlameBoxes:
    """The tree by depth first; of each parent the children below a share of the whole are one.

    Of more than 20,000 boxes the largest stay.
    """
    roots = tree.parent < 0
    total = float(tree.value[roots].sum())
    there = np.flatnonzero(tree.below)
    value = tree.value[there]
    least = total * min_share
    if len(there) > MOST_NODES:
        least = max(least, float(np.partition(value, -MOST_NODES)[-MOST_NODES]))
    # No box is worth more than the one that it lies in: what stays is a tree.
    kept = there[value >= least]
    place = np.full(len(tree.value) + 1, -1, np.int64)
    place[kept] = np.arange(len(kept))
    parent = place[tree.parent[kept]]  # of a root: the last place, −1
    rest = _rest(tree, kept, parent, (total, int(tree.below[roots].sum())))
    texts = [
        names[name] if name >= 0 else tree.labels[at]
        for name, at in zip(tree.name[kept].tolist(), kept.tolist(), strict=True)
    ]
    boxes = [
        Node(row, -1, text, kind, worth, own, count)
        for row, text, kind, worth, own, count in zip(
            kept.tolist(),
            texts,
            tree.kind[kept].tolist(),
            tree.value[kept].tolist(),
            tree.own[kept].tolist(),
            tree.count[kept].tolist(),
            strict=True,
        )
    ]
    return FlameBoxes(_depth_first(boxes, parent, rest), total, len(there) - len(kept))


def _rest(
    tree: Tree, kept: NDArray[np.intp], parent: I64, whole: tuple[float, int]
) -> list[tuple[float, int]]:
    """What the children that are not kept are worth, and how many slices, by kept box.

    The last entry is that of the roots.
    """
    worth = np.append(tree.value[kept] - tree.own[kept], whole[0])
    slices = np.append(tree.below[kept] - tree.count[kept], whole[1])
    np.subtract.at(worth, parent, tree.value[kept])
    np.subtract.at(slices, parent, tree.below[kept])
    return list(zip(worth.tolist(), slices.tolist(), strict=True))


def _depth_first(boxes: list[Node], parent: I64, rest: list[tuple[float, int]]) -> tuple[Node, ...]:
    children: dict[int, list[int]] = {}
    for at, above in enumerate(parent.tolist()):
        children.setdefault(above, []).append(at)
    made: list[Node] = []

    def push(above: int, place: int) -> None:
        """What lies in a box goes on the stack, what comes first last."""
        worth, slices = rest[above]
        if slices:
            waiting.append((Node(-1, place, REST, SliceKind.OTHER, worth, worth, slices), -1))
        for at in sorted(children.get(above, ()), key=lambda at: (boxes[at].value, -at)):
            box = boxes[at]
            waiting.append((replace(box, parent=place), at))

    waiting: list[tuple[Node, int]] = []
    push(-1, -1)
    while waiting:
        node, at = waiting.pop()
        made.append(node)
        if at >= 0:
            push(at, len(made) - 1)
    return tuple(made)
