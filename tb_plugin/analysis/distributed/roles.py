"""What is a process group for? A guess by its members and what they exchange.

Pipelines send and receive; experts exchange all-to-all; shards are gathered and reduced in large
pieces; tensor-parallel groups are neighbours with many small collectives in each step; groups that
reduce large pieces once a step are data-parallel. A description that the program gave its group
goes before all of that. The page lets the reader say otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .matching import Matches, RunGroup
from .model import RankDigest

ROLES = ("data", "sharded", "tensor", "pipeline", "expert", "context", "")
_MANY = 8  # collectives a step
_SMALL = 32 * 1024 * 1024
_NODE = 8  # ranks of a node at most
_DESCRIBED: tuple[tuple[str, str], ...] = (
    ("tensor", r"(^|[_\W])(tp|tensor)|tensor_model"),
    ("pipeline", r"(^|[_\W])(pp|pipe)|pipeline"),
    ("expert", r"(^|[_\W])(ep|expert|moe)"),
    ("context", r"(^|[_\W])(cp|context|sequence)"),
    ("sharded", r"fsdp|shard|zero"),
    ("data", r"(^|[_\W])(dp|ddp|data)"),
)


@dataclass(frozen=True, slots=True)
class GroupRole:
    """The role of a group and why it is thought to be so."""

    role: str  # of ROLES, "" unknown
    why: str


def guess_role(  # noqa: PLR0911  one role each
    digests: Sequence[RankDigest], group: RunGroup, number: int, matches: Matches
) -> GroupRole:
    """The role of one group of a run."""
    for role, pattern in _DESCRIBED:
        if re.search(pattern, group.label, re.IGNORECASE):
            return GroupRole(role, f"its description is “{group.label}”")
    here = [i for i in range(len(matches)) if matches.group[i] == number]
    kinds = [matches.kind[i] for i in here]
    if not kinds:
        return GroupRole("", "it has no collectives in these recordings")
    steps = max((len(one.steps) for one in digests), default=1)
    if kinds.count("send") * 4 >= len(kinds):
        return GroupRole("pipeline", "its ranks send and receive")
    if "all_to_all" in kinds or "expert_exchange" in kinds:
        return GroupRole("expert", "its ranks exchange all-to-all")
    gathers = sum(kind in ("all_gather", "reduce_scatter") for kind in kinds)
    size = _usual_bytes(digests, matches, here)
    neighbours = group.ranks == tuple(range(group.ranks[0], group.ranks[-1] + 1))
    many = len(kinds) >= _MANY * steps
    if (
        neighbours
        and many
        and len(group.ranks) <= _NODE
        and 0 < size <= _SMALL
        and gathers * 2 < len(kinds)
    ):
        return GroupRole("tensor", "neighbouring ranks with many small collectives in each step")
    if gathers * 2 >= len(kinds):
        return GroupRole("sharded", "parameters are gathered and gradients scattered")
    if "all_reduce" in kinds:
        return GroupRole("data", "gradients are reduced over its ranks")
    return GroupRole("", "its collectives fit no usual pattern")


def _usual_bytes(digests: Sequence[RankDigest], matches: Matches, here: Sequence[int]) -> int:
    sizes = []
    for i in here:
        m = int(np.argmax(matches.row[i] >= 0))
        sizes.append(int(digests[m].calls.in_bytes[matches.row[i, m]]))
    known = [size for size in sizes if size >= 0]
    return int(np.median(known)) if known else 0
