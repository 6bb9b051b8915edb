"""Boxes of a call tree: their values, and the small ones as one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...trace.nest import depth_of
from .model import F64, I32, I64, U8, SliceKind

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
    """A box; ``value`` includes what is below it."""

    parent: int
    name: int
    text: str
    kind: int
    value: float
    own: float
    slices: int


@dataclass(frozen=True, slots=True)
class Flame:
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


def pruned(tree: Tree, names: tuple[str, ...], min_share: float) -> Flame:
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
        Node(-1, name, text, kind, worth, own, count)
        for name, text, kind, worth, own, count in zip(
            tree.name[kept].tolist(),
            texts,
            tree.kind[kept].tolist(),
            tree.value[kept].tolist(),
            tree.own[kept].tolist(),
            tree.count[kept].tolist(),
            strict=True,
        )
    ]
    return Flame(_depth_first(boxes, parent, rest), total, len(there) - len(kept))


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
            waiting.append((Node(place, NO_NAME, REST, SliceKind.OTHER, worth, worth, slices), -1))
        for at in sorted(children.get(above, ()), key=lambda at: (boxes[at].value, -at)):
            box = boxes[at]
            waiting.append(
                (Node(place, box.name, box.text, box.kind, box.value, box.own, box.slices), at)
            )

    waiting: list[tuple[Node, int]] = []
    push(-1, -1)
    while waiting:
        node, at = waiting.pop()
        made.append(node)
        if at >= 0:
            push(at, len(made) - 1)
    return tuple(made)
