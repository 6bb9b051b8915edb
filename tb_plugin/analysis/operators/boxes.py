"""A flame graph made fit to be shown: left-heavy, pruned, focused; and as folded stacks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from .credit import REASONS
from .flame import FlameTree

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
    """The boxes below ``focus`` (None: all), the largest sibling first.

    Siblings below ``min_ratio`` of the whole become one box "…", so that every level still adds up.

    Raises:
        IndexError: there is no such box.
    """
    if focus is not None and not 0 <= focus < len(tree):
        raise IndexError(focus)
    below = _children(tree)
    roots = below[-1] if focus is None else [focus]
    total = int(tree.value[roots].sum())
    least = max(min_ratio * total, _least_of_most(tree))
    boxes: list[Box] = []
    merged = 0
    waiting = [(-1, roots)]
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
