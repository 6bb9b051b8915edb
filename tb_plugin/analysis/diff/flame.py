"""One flame graph of two recordings: each box with its value in both."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from ..call_tree.flame import FlameTree
from ..operators.flame import KERNEL, flame_tree
from ..operators.model import CallKind
from .sides import Side

KINDS = frozenset({CallKind.OP, CallKind.ANNOTATION, CallKind.MODULE, CallKind.PYTHON, KERNEL})
MOST = 20_000


class PairBox(Struct, frozen=True):
    """One box: place of the box around it (−1 of a root), and its weight per step on both sides."""

    parent: int
    name: str
    kind: str
    base: float
    other: float


class PairFlame(Struct, frozen=True):
    """The boxes of both, parents first, and the sums of the outermost ones."""

    boxes: tuple[PairBox, ...]
    base_total: float
    other_total: float


def pair_flame(base: Side, other: Side, metric: str, min_ratio: float) -> PairFlame:
    """The flame graphs of both as one, by path of names.

    A box is there if it weighs at least ``min_ratio`` of the larger whole on one side; then both of
    its weights are exact. ``metric``: "host", "device", "calls".
    """
    trees = [
        flame_tree(side.operators, side.steps, metric, frozenset(map(int, KINDS)))
        for side in (base, other)
    ]
    counts = (base.count, other.count)
    totals = [tree.total / count for tree, count in zip(trees, counts, strict=True)]
    least = min_ratio * max(*totals, 1.0)
    known: dict[tuple[int, str, str], int] = {}
    weights: list[list[float]] = []
    for tree, count in zip(trees, counts, strict=True):
        _insert(tree, least * count, known, weights)
    for side, (tree, count) in enumerate(zip(trees, counts, strict=True)):
        _weigh(tree, count, side, known, weights)
    boxes = tuple(
        PairBox(parent, name, kind, *weight)
        for (parent, name, kind), weight in zip(known, weights, strict=True)
    )
    return PairFlame(boxes, *totals)


def _insert(
    tree: FlameTree,
    least: float,
    known: dict[tuple[int, str, str], int],
    weights: list[list[float]],
) -> None:
    """Make room for the boxes that weigh enough; of more than 20,000 the heaviest."""
    value = tree.value
    rows = np.flatnonzero(value >= max(least, 1))
    if len(rows) > MOST:
        edge = np.partition(value[rows], -MOST)[-MOST]
        rows = rows[value[rows] >= edge]
    box: dict[int, int] = {-1: -1}
    for row in rows.tolist():
        above = int(tree.parent[row])
        if above not in box:
            continue
        key = box[above], tree.text(row), _kind(tree.kinds, int(tree.kind[row]))
        if key not in known:
            known[key] = len(known)
            weights.append([0.0, 0.0])
        box[row] = known[key]


def _weigh(
    tree: FlameTree,
    count: int,
    side: int,
    known: dict[tuple[int, str, str], int],
    weights: list[list[float]],
) -> None:
    """Note what each box weighs on one side."""
    value = tree.value
    box: dict[int, int] = {-1: -1}
    for row in range(len(tree)):
        above = box.get(int(tree.parent[row]))
        if above is None:
            continue
        key = above, tree.text(row), _kind(tree.kinds, int(tree.kind[row]))
        at = known.get(key)
        if at is not None:
            box[row] = at
            weights[at][side] += int(value[row]) / count


def _kind(kinds: Sequence[str], code: int) -> str:
    return kinds[code] if code < len(kinds) else ""
