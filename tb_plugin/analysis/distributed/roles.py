"""What is a process group for? A guess by its ranks and by what they exchange.

A description that the program gave its group goes before all. Then what only one kind of group
does: stages of a pipeline send and receive, experts exchange all-to-all. Then the place of its
ranks among the other groups of the run: launchers number ranks so that those of one model lie next
to each other and replicas a stride apart,

    tensor parallel   0 1 2 3 | 4 5 6 7      4 neighbours
    data parallel     0 4 | 1 5 | 2 6 | 3 7  every 4th rank

so neighbours that reduce, beside groups of every n-th rank, are tensor-parallel, and those of every
n-th rank data-parallel; neighbours that gather and scatter are shards. Groups are told by their
ranks, never by their names. The page says that it is a guess, and lets the reader say otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

import numpy as np
from msgspec import Struct

from ...base.regex import regex
from ...base.units import ordinal
from .matching import Matches, RunGroup
from .model import RankDigest

ROLES = ("data", "sharded", "tensor", "pipeline", "expert", "embedding", "context", "")
_CERTAIN = ("pipeline", "expert", "embedding")
_LOOKS_UP = regex(r"embedding_?bag|(split|dense)_embedding|pooled_?embedding", re.IGNORECASE)
_DESCRIBED: tuple[tuple[str, str], ...] = (
    ("tensor", r"(^|[_\W])(tp|tensor)|tensor_model"),
    ("pipeline", r"(^|[_\W])(pp|pipe)|pipeline"),
    ("expert", r"(^|[_\W])(ep|expert|moe)"),
    ("context", r"(^|[_\W])(cp|context|sequence)"),
    ("sharded", r"fsdp|shard|zero"),
    ("data", r"(^|[_\W])(dp|ddp|data)"),
)


class GroupRole(Struct, frozen=True):
    """The role of a group and why it is thought to be so."""

    role: str  # of ROLES, "" unknown
    why: str
    others: Mapping[str, str] = {}  # operation → its role, where that is not the group's


def guess_roles(
    digests: Sequence[RankDigest], groups: Sequence[RunGroup], matches: Matches
) -> tuple[GroupRole, ...]:
    """The role of each group of a run; O(groups + collectives)."""
    of_group: dict[int, list[int]] = {}
    for i, number in enumerate(matches.group.tolist()):
        of_group.setdefault(number, []).append(i)
    looks_up = any(_LOOKS_UP.search(text) for one in digests for text in one.strings)
    strides = {stride for group in groups if (stride := stride_of(group.ranks)) is not None}
    return tuple(
        _guess(digests, group, matches, of_group.get(number, []), strides, looks_up=looks_up)
        for number, group in enumerate(groups)
    )


def stride_of(ranks: Sequence[int]) -> int | None:
    """The distance from each rank of a group to the next; None where it is not the same.

    >>> stride_of((1, 5, 9)), stride_of((0, 1, 3))
    (4, None)
    """
    steps = set(np.diff(np.array(ranks, np.int64)).tolist())
    return steps.pop() if len(steps) == 1 else None


def place_of(ranks: Sequence[int], world: int) -> str:
    """The place of a group's ranks in a run of so many: "4 neighbours"; "" irregular.

    >>> place_of((0, 1), 2), place_of((2, 3), 8), place_of((1, 5), 8)
    ('all 2 ranks', '2 neighbours', 'every 4th rank')
    """
    stride = stride_of(ranks)
    if len(ranks) == world > 1:
        return f"all {world} ranks"
    if stride is None:
        return ""
    return f"{len(ranks)} neighbours" if stride == 1 else f"every {ordinal(stride)} rank"


def _guess(
    digests: Sequence[RankDigest],
    group: RunGroup,
    matches: Matches,
    here: Sequence[int],
    strides: AbstractSet[int],
    *,
    looks_up: bool,
) -> GroupRole:
    for role, pattern in _DESCRIBED:
        if re.search(pattern, group.label, re.IGNORECASE):
            return GroupRole(role, f"its description is “{group.label}”")
    kinds = [matches.kind[i] for i in here]
    if not kinds:
        return GroupRole("", "it has no collectives in these recordings")
    steps = max((len(one.steps) for one in digests), default=1)
    role, why = _by_exchange(kinds, steps, looks_up=looks_up)
    if role in ("data", "sharded") and all(one.step_source == "iteration" for one in digests):
        role, why = "tensor", "they reduce and gather in an inference engine, which trains nothing"
    elif role not in _CERTAIN:
        role, why = _by_place(group, kinds, strides) or (role, why)
    world = max((one.world_size for one in digests), default=0)
    place = place_of(group.ranks, world) if group.known else ""
    of_data = {"all_reduce", "broadcast"} & set(kinds) if role in ("expert", "embedding") else ()
    others = dict.fromkeys(sorted(of_data), "data")
    return GroupRole(role, f"{place}: {why}" if place else why, others)


def _by_exchange(kinds: Sequence[str], steps: int, *, looks_up: bool) -> tuple[str, str]:
    """The role by the kinds of collectives alone, and the reason; one message a step is none."""
    if kinds.count("send") * 4 >= len(kinds) and kinds.count("send") > steps:
        return "pipeline", "its ranks send and receive"
    if "all_to_all" in kinds or "expert_exchange" in kinds:
        both = "; its all-reduces are of data, over the same ranks" if "all_reduce" in kinds else ""
        if looks_up:
            return "embedding", f"its ranks exchange rows of embeddings, all-to-all{both}"
        return "expert", f"its ranks exchange all-to-all, as experts do{both}"
    if _gathers(kinds):
        return "sharded", "parameters are gathered and gradients scattered"
    if "all_reduce" in kinds:
        return "data", "gradients are reduced over its ranks"
    return "", "its collectives fit no usual pattern"


def _gathers(kinds: Sequence[str]) -> bool:
    return sum(kind in ("all_gather", "reduce_scatter") for kind in kinds) * 2 >= len(kinds)


def _by_place(
    group: RunGroup, kinds: Sequence[str], strides: AbstractSet[int]
) -> tuple[str, str] | None:
    """Tensor-parallel, if neighbours reduce and others lie a stride apart; sizes tell nothing."""
    if stride_of(group.ranks) != 1 or _gathers(kinds) or "all_reduce" not in kinds:
        return None
    apart = sorted(stride for stride in strides if stride >= len(group.ranks) > 1)
    if apart:
        return "tensor", f"they reduce, beside groups of every {ordinal(apart[0])} rank"
    return None
