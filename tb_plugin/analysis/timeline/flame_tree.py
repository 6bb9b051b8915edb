"""Boxes of a call tree: their values, and the small ones as one."""

from __future__ import annotations

from dataclasses import dataclass

from .model import SliceKind

MOST_NODES = 20_000
REST = "…"
NO_NAME = -1


@dataclass(slots=True)
class Node:
    """A box; ``value`` includes what is below it, ``below`` are the slices here and below."""

    parent: int
    name: int
    text: str
    kind: int
    own: float = 0.0
    slices: int = 0
    value: float = 0.0
    below: int = 0


@dataclass(frozen=True, slots=True)
class Flame:
    """Boxes, parents before children, of one parent the larger ones first, the rest last."""

    nodes: tuple[Node, ...]
    total: float
    pruned: int


def summed(nodes: list[Node]) -> list[Node]:
    """The nodes, parents before children, with the values of what is below them."""
    for node in nodes:
        node.value, node.below = node.own, node.slices
    for node in reversed(nodes):
        if node.parent >= 0:
            nodes[node.parent].value += node.value
            nodes[node.parent].below += node.below
    return nodes


def pruned(nodes: list[Node], min_share: float) -> Flame:
    """The tree by depth first; of each parent the children below a share of the whole are one.

    Of more than 20,000 boxes the largest stay.
    """
    total = sum(node.value for node in nodes if node.parent < 0)
    least = total * min_share
    if len(nodes) > MOST_NODES:
        least = max(least, sorted(node.value for node in nodes)[-MOST_NODES])
    children: dict[int, list[Node]] = {}
    for node in nodes:
        children.setdefault(node.parent, []).append(node)
    places = {id(node): place for place, node in enumerate(nodes)}
    kept: list[Node] = []
    rests = 0
    waiting = [(node, -1) for node in _in_reverse(children.get(-1, []), least)]
    while waiting:
        node, parent = waiting.pop()
        node.parent = parent
        rests += id(node) not in places
        below = children.get(places.get(id(node), -2), [])
        waiting += [(one, len(kept)) for one in _in_reverse(below, least)]
        kept.append(node)
    return Flame(tuple(kept), total, len(nodes) - len(kept) + rests)


def _in_reverse(children: list[Node], least: float) -> list[Node]:
    """The small ones as one, then the others, the largest last."""
    large = [one for one in children if one.value >= least]
    small = [one for one in children if one.value < least]
    large.sort(key=lambda one: one.value)
    if not small:
        return large
    worth, slices = sum(one.value for one in small), sum(one.below for one in small)
    return [Node(-1, NO_NAME, REST, SliceKind.OTHER, worth, slices, worth, slices), *large]
