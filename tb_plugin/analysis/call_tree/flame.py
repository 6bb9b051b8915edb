"""The tree behind every flame graph: calls merged by path, pruned, turned around, written as text.

A view fills a ``FlameTree`` with its boxes: operators with host or device time, a range of the
timeline with the time inside it. What happens to the tree then is the same for all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from ...base.arrays import I32, I64, B, ColumnTable
from ...base.group_sums import group_sums, summed
from .paths import NONE, call_paths, innermost, sums_below

MOST_BOXES = 20_000
REST = "…"
_KINDS = 16

Rows = NDArray[np.integer]


class FlameTree(ColumnTable, frozen=True, eq=False, dict=True):
    """One entry per box; parents before children."""

    parent: I32  # row, −1 of a root
    name: I32  # code into ``names``; what is above them is one into ``labels``
    kind: I32  # place in ``kinds``
    own: I64  # what the box weighs without the boxes inside it, at least 0
    count: I64  # its calls, or slices
    names: Sequence[str]
    labels: Sequence[str]
    kinds: Sequence[str]

    @cached_property
    def _below(self) -> I64:
        return sums_below(np.stack([self.own, self.count]), self.parent)

    @property
    def value(self) -> I64:
        """Value of each box, including all boxes inside it."""
        return np.asarray(self._below[0])

    @property
    def calls(self) -> I64:
        """Calls of each box and of all boxes inside it."""
        return np.asarray(self._below[1])

    @property
    def total(self) -> int:
        """Sum of all boxes."""
        return int(self.own.sum())

    def text(self, row: int) -> str:
        """The name of a box."""
        return self.text_of(int(self.name[row]))

    def text_of(self, code: int) -> str:
        """The name behind a code."""
        names = len(self.names)
        return self.names[code] if code < names else self.labels[code - names]

    def only(self, keep: B) -> FlameTree:
        """The boxes marked; with a box that is not, all that are inside it have to go."""
        number = np.append(np.cumsum(keep) - 1, -1)
        return replace(
            self,
            parent=number[self.parent[keep]].astype(np.int32),
            name=self.name[keep],
            kind=self.kind[keep],
            own=self.own[keep],
            count=self.count[keep],
        )


class FlameNode(Struct, frozen=True):
    """One box of a flame graph: all calls of one name below the same callers.

    Or the box "…", for all boxes inside another one that are too narrow to see, and all inside
    those. With it, value, count and boxes of the parts sum to the whole.
    """

    node: int  # row of the whole tree, to be asked for by itself; −1 of "…"
    parent: int  # index in the same list, −1 at the root; parents come before their children
    name: str
    kind: str  # "op", "module", "compute", …: what decides its hue; "" of "…"
    value: float  # with what is below it
    self_value: float
    count: int  # its calls, or slices
    boxes: int  # how many it stands for: 1, or all that are in "…"
    short: str = ""  # what tells its name from the others', where that is shorter
    note: str = ""  # of compiled code: its function, or its nodes and lines


def side_by_side(trees: Sequence[FlameTree]) -> FlameTree:
    """Trees with the same names as one; there is at least one."""
    above = np.concatenate([one.parent for one in trees])
    shift = np.repeat(np.cumsum([0, *map(len, trees)])[:-1], [len(one) for one in trees])
    return replace(
        trees[0],
        parent=np.where(above < 0, NONE, above + shift).astype(np.int32),
        name=np.concatenate([one.name for one in trees]),
        kind=np.concatenate([one.kind for one in trees]),
        own=np.concatenate([one.own for one in trees]),
        count=np.concatenate([one.count for one in trees]),
    )


def merged(tree: FlameTree, kept: B) -> tuple[FlameTree, I32]:
    """The boxes ``kept``, those of equal paths as one; and for each row its box, −1 = none.

    The weight of any other row goes to the box around it; its calls go nowhere.
    """
    label = tree.name * _KINDS + tree.kind
    parent, label, box = call_paths(kept, label, tree.parent)
    found = replace(
        tree,
        parent=parent,
        name=label // _KINDS,
        kind=label % _KINDS,
        own=summed(tree.own, box, len(parent)),
        count=summed(tree.count, np.where(kept, box, NONE), len(parent)),
    )
    return found, box


def pruned(
    tree: FlameTree, min_ratio: float, focus: int | None = None, *, in_order: bool = False
) -> tuple[FlameNode, ...]:
    """The boxes to show, by depth first, of one parent the largest first and "…" last.

    ``in_order``: boxes of one parent keep the order of the tree.

    Boxes below ``min_ratio`` of the whole go into the "…" of their parent, and of more than 20,000
    the smallest. With a box in focus: those around it, one for each level, and of those inside it
    what is large enough for the focus.

    Raises:
        IndexError: there is no such box.
    """
    if focus is not None and not 0 <= focus < len(tree):
        raise IndexError(focus)
    value, whole = tree.value, tree.total
    there = (value > 0) | (tree.calls > 0)
    around: list[int] = []
    if focus is not None:
        there &= _inside(tree.parent, focus)
        around, whole = _way_to(tree.parent, focus), int(value[focus])
    rows = _largest(value, np.flatnonzero(there & (value >= min_ratio * whole)))
    place = np.full(len(tree) + 1, NONE, np.int32)
    place[rows] = np.arange(len(rows))
    parent = place[tree.parent[rows]]  # of a root: the last place, −1
    there[rows] = False
    hidden = np.flatnonzero(there)
    # The shown box around each of them; 0 is none.
    box = innermost(place[:-1], tree.parent)[hidden] + 1
    sums = group_sums(box, tree.own[hidden], len(rows) + 1)
    calls = summed(tree.count[hidden], box, len(rows) + 1)
    rest = list(zip(sums.total.tolist(), calls.tolist(), sums.count.tolist(), strict=True))
    first = rows if in_order else -value[rows]
    return _by_depth_first(tree, around, (rows, parent, np.lexsort((first, parent))), rest)


def _inside(parent: I32, focus: int) -> B:
    """True for a box and for all boxes inside it."""
    start = np.full(len(parent), NONE, np.int32)
    start[focus] = focus
    return np.asarray(innermost(start, parent) == focus)


def _way_to(parent: I32, row: int) -> list[int]:
    """The boxes around one, from the outermost on."""
    found: list[int] = []
    while (row := int(parent[row])) >= 0:
        found.append(row)
    return found[::-1]


def _largest(value: I64, rows: Rows) -> Rows:
    """The 20,000 rows that weigh most; of equal ones the first, so that the rest is a tree."""
    if len(rows) <= MOST_BOXES:
        return rows
    weight = value[rows]
    edge = np.partition(weight, -MOST_BOXES)[-MOST_BOXES]
    chosen = weight > edge
    chosen[np.flatnonzero(weight == edge)[: MOST_BOXES - np.count_nonzero(chosen)]] = True
    return np.asarray(rows[chosen])


def _by_depth_first(
    tree: FlameTree,
    around: list[int],
    shown: tuple[Rows, I32, NDArray[np.intp]],
    rest: list[tuple[int, int, int]],
) -> tuple[FlameNode, ...]:
    """The shown boxes in order; ``rest`` is what else lies at the top and in each of them.

    ``shown`` has the rows, the place of each parent, and the order of siblings.
    """
    rows, parent, order = shown
    found = [_node(tree, row, at - 1) for at, row in enumerate(around)]
    children: dict[int, list[int]] = {}
    for at in order.tolist():
        children.setdefault(int(parent[at]), []).append(at)
    waiting: list[tuple[int, int]] = []

    def enter(at: int, above: int) -> None:
        """Push the children of a box, the first one last; ``−2 − at`` marks its rest."""
        if rest[at + 1][2]:
            waiting.append((-2 - at, above))
        waiting.extend((one, above) for one in reversed(children.get(at, ())))

    enter(NONE, len(around) - 1)
    while waiting:
        at, above = waiting.pop()
        if at < 0:
            value, calls, boxes = rest[-1 - at]
            found.append(FlameNode(NONE, above, REST, "", value, value, calls, boxes))
        else:
            found.append(_node(tree, int(rows[at]), above))
            enter(at, len(found) - 1)
    return tuple(found)


def _node(tree: FlameTree, row: int, above: int) -> FlameNode:
    return FlameNode(
        node=row,
        parent=above,
        name=tree.text(row),
        kind=tree.kinds[tree.kind[row]],
        value=int(tree.value[row]),
        self_value=int(tree.own[row]),
        count=int(tree.count[row]),
        boxes=1,
    )


def folded(tree: FlameTree) -> Iterator[str]:
    """One line per path with a self value: names joined by ";", a blank, the value.

    That is what FlameGraph and speedscope read. A ";" or a line break in a name would split it, so
    they become "," and blanks.
    """
    tree = tree.only(tree.value > 0)
    paths: list[str] = []
    for row, (above, own) in enumerate(zip(tree.parent.tolist(), tree.own.tolist(), strict=True)):
        name = " ".join(tree.text(row).replace(";", ",").split()) or "(no name)"
        paths.append(name if above < 0 else f"{paths[above]};{name}")
        if own > 0:
            yield f"{paths[row]} {own}\n"


class CallersAndCallees(Struct, frozen=True, eq=False):
    """Two trees that have the boxes of a name as their roots."""

    value: int
    own: int
    count: int
    callers: FlameTree  # inside a box are its callers
    callees: FlameTree


def sandwich(tree: FlameTree, name: str) -> CallersAndCallees | None:
    """Everything around and inside the boxes of a name, merged; None where it has no box.

    A box inside another one of the name belongs to that one: its time is counted once.
    """
    code = next((one for one in np.unique(tree.name).tolist() if tree.text_of(one) == name), NONE)
    has = tree.name == code
    around = innermost(np.where(has, np.arange(len(tree)), NONE).astype(np.int32), tree.parent)
    outermost = has & (np.append(around, NONE)[tree.parent] < 0)
    if not outermost.any():
        return None
    parent = np.where(outermost, NONE, tree.parent).astype(np.int32)
    callees, _ = merged(replace(tree, parent=parent), around >= 0)
    return CallersAndCallees(
        value=int(tree.value[outermost].sum()),
        own=int(tree.own[has].sum()),
        count=int(tree.count[has].sum()),
        callers=_callers(tree, np.flatnonzero(outermost), tree.value),
        callees=callees,
    )


def inverted(tree: FlameTree) -> FlameTree:
    """The tree upside down: each box that weighs by itself is a root, its callers are inside."""
    return _callers(tree, np.flatnonzero(tree.own > 0), tree.own)


def _callers(tree: FlameTree, rows: Rows, values: I64) -> FlameTree:
    """The ways from some boxes up, merged level by level, each with the value of its box.

    The value is the own one of the end of the way.
    """
    label, weight = tree.name * _KINDS + tree.kind, values[rows]
    node, made = np.full(len(rows), NONE), 0
    levels: list[tuple[NDArray[Any], ...]] = []
    while len(rows) or not levels:
        found, index = np.unique((node + 1) << 32 | label[rows], return_inverse=True)
        ends = tree.parent[rows] < 0
        own = summed(np.where(ends, weight, 0), index, len(found))
        count = summed(tree.count[rows], index, len(found))
        levels.append(((found >> 32) - 1, found & 0xFFFFFFFF, own, count))
        node, made = (made + index)[~ends], made + len(found)
        rows, weight = tree.parent[rows[~ends]], weight[~ends]
    parent, labels, own, count = (np.concatenate(column) for column in zip(*levels, strict=True))
    return replace(
        tree,
        parent=parent.astype(np.int32),
        name=(labels // _KINDS).astype(np.int32),
        kind=(labels % _KINDS).astype(np.int32),
        own=own,
        count=count,
    )
