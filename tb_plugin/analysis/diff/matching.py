"""Which operator of one recording is which of the other?

By name first, then by the name without what compilers number and hash; regions of compiled code by
their function, where both recordings name it. What is left is looked at by
its place: between which calls that both recordings have it stands, and how many of that name came
before. What stands in the same places on both sides took each other's part: one for one is renamed,
several for one are fused, one for several is split.

    base    a  b  c  d        b and c stand between the first a and a d, x does, too:
    other   a  x     d        b + c → x, fused
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import numpy as np
from msgspec import Struct

from ...base.regex import regex
from .sides import Items

Relation = Literal["renamed", "fused", "split", "replaced"]
MOST_ROWS = 400_000  # of one step, to be looked at one by one
MOST_TOGETHER = 6  # keys that may take each other's part; more in one place are other work
LEAST_AGREEMENT = 0.6  # of the calls of a key that have to stand where the other's stand

_ADDRESS = regex(r"0x[0-9a-fA-F]{4,}")
_NUMBERED = regex(r"(?<=[A-Za-z])_\d+(?=$|_)|[_ ][0-9a-z]{26,64}(?=$|[_ ])")
_TEMPLATE_NUMBER = regex(r"(?<=[<, ])(?:\(\w+\))?\d+[uUlL]*(?=[,>])")
_NCCL_PROTOCOL = regex(r"(ncclDevKernel_\w+?|ncclKernel_\w+?)_(?:LL128|LL|SIMPLE)\b")


class Pairing(Struct, frozen=True):
    """Keys of two sides that belong together; −1 in none of both. Rows are in no order."""

    base: tuple[int, ...]
    other: tuple[int, ...]
    relation: Relation | None  # None: by name


def plain_name(name: str) -> str:
    """A name without addresses, numbers of generated kernels, template numbers and protocols.

    >>> plain_name("triton_poi_fused_add_relu_12")
    'triton_poi_fused_add_relu'
    """
    name = _ADDRESS.sub("0x", name)
    name = _NCCL_PROTOCOL.sub(r"\1", name)
    return _NUMBERED.sub("", _TEMPLATE_NUMBER.sub("#", name))


def paired(base: Items, other: Items) -> tuple[Pairing, ...]:
    """Every key of both sides in exactly one pairing."""
    found = [
        Pairing((at,), (other.index[pair],), None)
        for pair, at in base.index.items()
        if pair in other.index
        and base.functions.get(pair[0], "") == other.functions.get(pair[0], "")
    ]
    left = sorted(set(range(len(base.names))) - {at for one in found for at in one.base})
    right = sorted(set(range(len(other.names))) - {at for one in found for at in one.other})
    plain = _by_plain_name(base, other, left, right)
    found += plain
    left = sorted(set(left) - {at for one in plain for at in one.base})
    right = sorted(set(right) - {at for one in plain for at in one.other})
    moved = _by_place(base, other, left, right) if left and right else []
    found += moved
    taken = {at for one in moved for at in one.base}, {at for one in moved for at in one.other}
    found += [Pairing((at,), (), None) for at in left if at not in taken[0]]
    found += [Pairing((), (at,), None) for at in right if at not in taken[1]]
    return tuple(found)


def _by_plain_name(
    base: Items, other: Items, left: Sequence[int], right: Sequence[int]
) -> list[Pairing]:
    def by_name(items: Items, keys: Sequence[int]) -> Mapping[tuple[str, str], list[int]]:
        groups: dict[tuple[str, str], list[int]] = {}
        for at in keys:
            name = items.names[at]
            plain = items.functions.get(name) or plain_name(name)
            groups.setdefault((plain, items.details[at]), []).append(at)
        return groups

    known = by_name(other, right)
    return [
        Pairing(tuple(keys), tuple(known[pair]), "renamed")
        for pair, keys in by_name(base, left).items()
        if pair in known
    ]


def _by_place(
    base: Items, other: Items, left: Sequence[int], right: Sequence[int]
) -> list[Pairing]:
    """Keys that stand where keys of the other side stand, in one step of each."""
    common = {pair for pair in base.index if pair in other.index}
    places = _places(base, left, common), _places(other, right, common)
    # By place: the keys of both sides.
    votes: Counter[tuple[tuple[int, ...], tuple[int, ...]]] = Counter()
    for place, keys in places[0].items():
        theirs = places[1].get(place, ())
        if theirs and len(keys) + len(theirs) <= MOST_TOGETHER:
            votes[keys, theirs] += 1
    stands = [Counter(key for keys in side.values() for key in keys) for side in places]
    taken: tuple[set[int], set[int]] = (set(), set())
    found: list[Pairing] = []
    for (a, b), count in votes.most_common():
        if taken[0] & set(a) or taken[1] & set(b):
            continue
        seen = max(*(stands[0][key] for key in a), *(stands[1][key] for key in b))
        if count < LEAST_AGREEMENT * seen:
            continue
        taken[0].update(a)
        taken[1].update(b)
        relation: Relation = "replaced"
        if len(a) == 1 or len(b) == 1:
            relation = "renamed" if len(a) == len(b) else "fused" if len(b) == 1 else "split"
        found.append(Pairing(a, b, relation))
    return found


Place: TypeAlias = tuple[tuple[str, str], int, tuple[str, str]]
"""The matched call before (name, detail), how many-th of its name it is; the matched one after."""


def _places(
    items: Items, keys: Sequence[int], common: set[tuple[str, str]]
) -> Mapping[Place, tuple[int, ...]]:
    """The unmatched keys of one step by their place."""
    if not len(items.code):
        return {}
    step = int(items.place[len(items.place) // 2])
    rows = np.flatnonzero(items.place == step)
    rows = rows[np.argsort(items.ts[rows], kind="stable")][:MOST_ROWS]
    wanted = set(keys)
    found: dict[Place, list[int]] = {}
    count: Counter[tuple[str, str]] = Counter()
    before, number = ("", ""), 0
    group: list[int] = []
    for code in (*items.code[rows].tolist(), -1):
        if code in wanted:
            if code not in group:
                group.append(code)
            continue
        pair = (items.names[code], items.details[code]) if code >= 0 else ("", "")
        if pair not in common and code >= 0:
            continue
        # At the very beginning and end nothing says where it stands, unless the other end does.
        if group and (before != ("", "") or pair != ("", "")):
            found[before, number, pair] = group
        count[pair] += 1
        before, number, group = pair, count[pair], []
    return {place: tuple(sorted(group)) for place, group in found.items()}
