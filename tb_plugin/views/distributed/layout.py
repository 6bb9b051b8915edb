"""Where does each rank stand among the process groups? Its place along each kind of parallelism."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from msgspec import Struct

from ...analysis.distributed.roles import GroupRole
from . import contract as answers

ROLE_NAMES = {
    "data": "data parallel",
    "sharded": "sharded data parallel",
    "tensor": "tensor parallel",
    "expert": "expert parallel",
    "embedding": "model-parallel embeddings",
    "context": "context parallel",
}
SHORT_ROLES = {
    "tensor parallel": "TP",
    "context parallel": "CP",
    "expert parallel": "EP",
    "model-parallel embeddings": "MP",
    "pipeline": "PP",
    "sharded data parallel": "FSDP",
    "data parallel": "DP",
}
"""From the groups of nearest ranks, as they usually are, to those of the farthest."""
DROPPED_FIRST = (
    "expert parallel",
    "model-parallel embeddings",
    "context parallel",
    "data parallel",
)
"""Experts and sequences are often spread over the ranks of another kind: no axis of their own."""
OTHER_AXIS = "other"
MOST_EMPTY = 2  # places for each rank


class GroupOfRanks(Struct, frozen=True):
    """The ranks and the role of a process group."""

    ranks: tuple[int, ...]
    role: str  # of SHORT_ROLES, "" unknown


def layout_of(
    groups: Sequence[GroupOfRanks], world: int, rows: Mapping[int, int]
) -> answers.RankLayout:
    """The place of each rank; ``rows`` are rank → row of the view's ranks, of those that are there.

    A rank's place along an axis is its number in its group of that role. Ranks that all known
    groups leave at one place are told apart by an axis of their own, ``other``. Groups of few
    ranks, as while others are being read, would leave most places empty: they are no axis then.
    """
    everybody = sorted({*range(world), *rows, *(rank for one in groups for rank in one.ranks)})
    axes = _axes(groups, len(everybody))
    names, places = _placed(axes, everybody)
    while axes and math.prod(size for _, size in names) > MOST_EMPTY * len(everybody):
        axes.remove(min(axes, key=lambda axis: sum(map(len, axis[1]))))
        names, places = _placed(axes, everybody)
    return answers.RankLayout(
        text=" × ".join(f"{name} {size}" for name, size in names if name != OTHER_AXIS),
        axes=tuple(answers.LayoutAxis(name, size) for name, size in names),
        cells=tuple(
            answers.LayoutCell(rank, rows.get(rank), tuple(places[rank])) for rank in everybody
        ),
    )


def _placed(
    axes: Sequence[tuple[str, list[tuple[int, ...]]]], everybody: Sequence[int]
) -> tuple[list[tuple[str, int]], dict[int, list[int]]]:
    """Name and size of each axis, with ``other`` if it is needed, and the places of each rank."""
    places: dict[int, list[int]] = {rank: [] for rank in everybody}
    for _, parts in axes:
        number = {rank: at for ranks in parts for at, rank in enumerate(ranks)}
        for rank in everybody:
            places[rank].append(number.get(rank, 0))
    seen: dict[tuple[int, ...], int] = {}
    for rank in everybody:
        key = tuple(places[rank])
        places[rank].append(seen.get(key, 0))
        seen[key] = seen.get(key, 0) + 1
    names = [(SHORT_ROLES[role], len(parts[0])) for role, parts in axes]
    if max(seen.values(), default=1) > 1:
        return [*names, (OTHER_AXIS, max(seen.values()))], places
    return names, {rank: place[:-1] for rank, place in places.items()}


def _axes(groups: Sequence[GroupOfRanks], count: int) -> list[tuple[str, list[tuple[int, ...]]]]:
    """For each role the groups that part the ranks, near ones first; at most as many places."""
    found: dict[str, list[tuple[int, ...]]] = {}
    for role in SHORT_ROLES:
        mine = {one.ranks for one in groups if one.role == role and len(one.ranks) > 1}
        parts = [_disjoint(mine, size) for size in sorted({len(ranks) for ranks in mine})]
        if parts:
            # The group of all ranks is an axis only where there is no other of the role.
            best = max(parts, key=lambda one: (len(one[0]) < count, len(one) * len(one[0])))
            found[role] = best
    if len(found) > 1:
        found = {role: parts for role, parts in found.items() if len(parts[0]) < count}
    for role in DROPPED_FIRST:
        if math.prod(len(parts[0]) for parts in found.values()) > count and len(found) > 1:
            found.pop(role, None)
    return list(found.items())


def _disjoint(groups: set[tuple[int, ...]], size: int) -> list[tuple[int, ...]]:
    """Groups of one size that have no rank in common, the first of those that do."""
    taken: set[int] = set()
    kept = []
    for ranks in sorted(one for one in groups if len(one) == size):
        if taken.isdisjoint(ranks):
            kept.append(ranks)
            taken.update(ranks)
    return kept


def other_role(role: GroupRole, kind: str, given: str) -> str:
    """The role of an operation, where it is not that of its group."""
    other = "" if given else role.others.get(kind, "")
    return f" ({ROLE_NAMES.get(other, other)})" if other else ""
