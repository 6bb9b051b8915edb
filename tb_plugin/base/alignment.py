"""Two lists aligned: the places that both have in the same order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence


def align(reference: Sequence[Hashable], mine: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Pairs of places of a longest common subsequence; O(n) where both are the same.

    Rows of the table of lengths are integers of one bit per place, by the method of Hyyrö (2004).
    """
    if list(reference) == list(mine):
        return [(at, at) for at in range(len(mine))]
    masks: dict[Hashable, int] = defaultdict(int)
    for at, token in enumerate(mine):
        masks[token] |= 1 << at
    full = (1 << len(mine)) - 1
    row, table = full, []
    for token in reference:
        hit = row & masks.get(token, 0)
        row = ((row + hit) | (row - hit)) & full
        table.append(row)
    pairs, at = [], len(mine) - 1
    for place in range(len(reference) - 1, -1, -1):
        # A zero bit marks a place at which the common length grows in this row.
        while at >= 0 and (table[place] >> at) & 1:
            at -= 1
        if at < 0:
            break
        before = table[place - 1] if place else full
        if (before >> at) & 1 or not place:
            pairs.append((place, at))
            at -= 1
    return pairs[::-1]
