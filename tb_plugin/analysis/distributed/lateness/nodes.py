"""Which ranks ran on which machine?"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from ..model import RankDigest


class Node(Struct, frozen=True):
    """A machine and the digests of the ranks that ran on it."""

    name: str
    members: tuple[int, ...]


def nodes_of(digests: Sequence[RankDigest]) -> tuple[Node, ...]:
    """The nodes of a run in the order of their first rank, by the host names of the recordings.

    The name of a file tells no node: a rank without a host name is on none.
    """
    found: dict[str, list[int]] = {}
    for m, one in enumerate(digests):
        if one.host_name:
            found.setdefault(one.host_name, []).append(m)
    return tuple(Node(name, tuple(members)) for name, members in found.items())


def rows_of(nodes: Sequence[Node], count: int) -> list[int]:
    """The row of the node of each of so many digests; −1 on none."""
    result = [-1] * count
    for number, node in enumerate(nodes):
        for m in node.members:
            result[m] = number
    return result
