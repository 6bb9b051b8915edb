"""Callers and callees of one name: everything above and below its boxes, merged."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .flame import FlameTree


@dataclass(frozen=True, slots=True, eq=False)
class CallersAndCallees:
    """Two trees that have the name as their root, row 0."""

    value: int
    self_value: int
    calls: int
    callers: FlameTree  # below a box are its callers
    callees: FlameTree


@dataclass(slots=True)
class _Growing:
    """A tree made box by box; boxes of one name and kind below one box are one."""

    parent: list[int] = field(default_factory=list)
    name: list[int] = field(default_factory=list)
    kind: list[int] = field(default_factory=list)
    value: list[int] = field(default_factory=list)
    own: list[int] = field(default_factory=list)
    calls: list[int] = field(default_factory=list)
    known: dict[tuple[int, int, int], int] = field(default_factory=dict)

    def add(self, parent: int, tree: FlameTree, row: int, value: int) -> int:
        """Lays the box ``row`` of ``tree`` upon the equal one below ``parent``."""
        key = (parent, int(tree.name[row]), int(tree.kind[row]))
        at = self.known.setdefault(key, len(self.parent))
        if at == len(self.parent):
            self.parent.append(parent)
            self.name.append(key[1])
            self.kind.append(key[2])
            self.value.append(0)
            self.own.append(0)
            self.calls.append(0)
        self.value[at] += value
        self.calls[at] += int(tree.calls[row])
        return at

    def done(self) -> FlameTree:
        """The tree as columns."""
        return FlameTree(
            np.array(self.parent, np.int32),
            np.array(self.name, np.int64),
            np.array(self.kind, np.int8),
            np.array(self.value, np.int64),
            np.array(self.own, np.int64),
            np.array(self.calls, np.int64),
        )


def sandwich(tree: FlameTree, name: int) -> CallersAndCallees | None:
    """Everything above and below the boxes of a name (a code); None where it has no box.

    A box inside another one of the name belongs to that one: its time is counted once.
    """
    own = np.flatnonzero(tree.name == name).tolist()
    if not own:
        return None
    inside = _below_name(tree, name)
    callers, callees = _Growing(), _Growing()
    places: dict[int, int] = {}
    for row in range(len(tree)):  # parents come before their children
        value = int(tree.value[row])
        if int(tree.name[row]) == name and not inside[row]:
            places[row] = callees.add(-1, tree, row, value)
            _climb(callers, tree, row)
        elif (above := places.get(int(tree.parent[row]))) is not None:
            places[row] = callees.add(above, tree, row, value)
        else:
            continue
        callees.own[places[row]] += int(tree.self_value[row])
    outermost = [row for row in own if not inside[row]]
    return CallersAndCallees(
        value=int(tree.value[outermost].sum()),
        self_value=int(tree.self_value[own].sum()),
        calls=int(tree.calls[own].sum()),
        callers=callers.done(),
        callees=callees.done(),
    )


def _climb(callers: _Growing, tree: FlameTree, row: int) -> None:
    """The way from a box up, with the value of the box; where it ends, the value is the end's."""
    value, at = int(tree.value[row]), -1
    while row >= 0:
        at = callers.add(at, tree, row, value)
        row = int(tree.parent[row])
    callers.own[at] += value


def _below_name(tree: FlameTree, name: int) -> np.ndarray:
    """Whether some box above each one has the name."""
    inside = np.zeros(len(tree), np.bool_)
    for row in range(len(tree)):
        parent = int(tree.parent[row])
        inside[row] = parent >= 0 and (inside[parent] or int(tree.name[parent]) == name)
    return inside
