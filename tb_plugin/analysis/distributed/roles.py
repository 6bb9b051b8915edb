"""What is a process group for? A guess by what its ranks exchange, when, and by their place.

A description that the program gave its group goes before all. Then what only one kind of group
does: stages of a pipeline send and receive, experts exchange all-to-all. Then the pass of the
training in which it is called (``rank/ranges.py``): gradients are reduced or scattered in the
backward pass, activations in the forward pass. Then the place of its ranks among the other groups
of the run: launchers number ranks so that those of one model lie next to each other and replicas a
stride apart,

    tensor parallel   0 1 2 3 | 4 5 6 7      4 neighbours
    data parallel     0 4 | 1 5 | 2 6 | 3 7  every 4th rank

A group of which none of this tells has no role. Groups are told by their ranks, never by their
names. The page says that it is a guess, and lets the reader say otherwise.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from ...base.regex import regex
from ...base.units import ordinal
from .matching import Matches, RunGroup
from .model import RankDigest, TrainingPass

ROLES = ("data", "sharded", "tensor", "pipeline", "expert", "embedding", "context", "")
_CERTAIN = ("pipeline", "expert", "embedding")
_FEW_BYTES = 64
"""A tensor of fewer is a number of the step (its loss, a norm), nothing of a layer."""
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
    if not here:
        return GroupRole("", "it has no collectives in these recordings")
    steps = max((len(one.steps) for one in digests), default=1)
    seen = _Seen(
        Counter(matches.kind[i] for i in here),
        Counter((matches.kind[i], _phase(digests, matches, i)) for i in here),
        {role for m in group.members for role in digests[m].wrappers},
    )
    role, why = _by_exchange(seen, steps, looks_up=looks_up)
    if role not in _CERTAIN and all(one.step_source == "iteration" for one in digests):
        if seen.reduces or seen.gathers:
            role, why = (
                "tensor",
                "they exchange in an inference engine, which trains nothing",
            )
    elif not role:
        role, why = _by_place(group, seen, strides) or (role, why)
    world = max((one.world_size for one in digests), default=0)
    place = place_of(group.ranks, world) if group.known else ""
    of_data = role in ("expert", "embedding") and seen.reduces_gradients
    others = dict.fromkeys(sorted({"all_reduce", "broadcast"} & set(seen.kinds)), "data")
    return GroupRole(role, f"{place}: {why}" if place else why, others if of_data else {})


def _phase(digests: Sequence[RankDigest], matches: Matches, collective: int) -> int:
    """The pass in which most members call a collective; elsewhere, if it is a loss or a norm."""
    here = matches.entries(collective)
    calls = [
        (digests[m].calls, row)
        for m, row in zip(matches.member[here].tolist(), matches.call[here].tolist(), strict=True)
    ]
    if max(int(one.in_bytes[row]) for one, row in calls) in range(_FEW_BYTES):
        return int(TrainingPass.ELSEWHERE)
    return Counter(int(one.phase[row]) for one, row in calls).most_common(1)[0][0]


class _Seen(NamedTuple):
    """The operations of a group, how often it calls them, and in which pass."""

    kinds: Counter[str]
    phases: Counter[tuple[str, int]]
    wrappers: AbstractSet[str]

    def in_pass(self, kind: str, phase: TrainingPass) -> int:
        return self.phases[kind, int(phase)]

    @property
    def reduces(self) -> bool:
        return self.kinds["all_reduce"] > 0

    @property
    def gathers(self) -> bool:
        return self.kinds["all_gather"] + self.kinds["reduce_scatter"] > 0

    @property
    def reduces_gradients(self) -> bool:
        """True if it reduces in the backward pass, or in an unknown one beside DDP's ranges."""
        unknown = self.in_pass("all_reduce", TrainingPass.UNKNOWN)
        return self.in_pass("all_reduce", TrainingPass.BACKWARD) > 0 or (
            unknown > 0 and "data" in self.wrappers
        )


def _by_exchange(seen: _Seen, steps: int, *, looks_up: bool) -> tuple[str, str]:  # noqa: PLR0911
    """The role by the collectives and their passes; one message a step is no pipeline."""
    kinds = seen.kinds
    if kinds["send"] * 4 >= kinds.total() and kinds["send"] > steps:
        return "pipeline", "its ranks send and receive"
    if kinds["all_to_all"] or kinds["expert_exchange"]:
        both = "; its all-reduces are of data, over the same ranks"
        both = both if seen.reduces_gradients else ""
        if looks_up:
            return "embedding", f"its ranks exchange rows of embeddings, all-to-all{both}"
        return "expert", f"its ranks exchange all-to-all, as experts do{both}"
    if seen.in_pass("reduce_scatter", TrainingPass.FORWARD) > steps:
        return "tensor", "activations are gathered and scattered in the forward pass"
    if kinds["reduce_scatter"] and (
        seen.in_pass("reduce_scatter", TrainingPass.BACKWARD) or "sharded" in seen.wrappers
    ):
        return "sharded", (
            "parameters are gathered and gradients scattered"
            if kinds["all_gather"]
            else "gradients are scattered"
        )
    if kinds["all_gather"] and "sharded" in seen.wrappers:
        reduced = " and gradients reduced" if seen.reduces_gradients else ""
        return "sharded", f"parameters are gathered{reduced}, in ranges of FSDP"
    if seen.in_pass("all_reduce", TrainingPass.FORWARD) > steps:
        return "tensor", "activations are reduced in the forward pass"
    if seen.reduces_gradients:
        return "data", "gradients are reduced over its ranks"
    return "", "what its collectives are for is not recorded"


def _by_place(group: RunGroup, seen: _Seen, strides: AbstractSet[int]) -> tuple[str, str] | None:
    """The role of neighbours that reduce beside groups a stride apart, and that of those."""
    stride = stride_of(group.ranks)
    if not seen.reduces or stride is None or len(group.ranks) < 2:
        return None
    apart = sorted(one for one in strides if one >= len(group.ranks))
    if stride == 1 and apart and not seen.gathers:
        return "tensor", f"they reduce, beside groups of every {ordinal(apart[0])} rank"
    if stride > 1 and 1 in strides:
        return "data", "they reduce, beside groups of neighbours"
    return None
