"""The tree of calls as ``torch.profiler`` sees it, and what merges calls of one name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...trace.model import HostTable
from ...trace.nest import nest
from .inherit import by_depth

B = NDArray[np.bool_]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class CallTree:
    """One entry per host row. ``survivor`` is the row that counts for it."""

    parent: I32  # the innermost event that contains it strictly, −1
    depth: NDArray[np.int16]
    self_ns: I64  # without direct children; 0 for a row that does not survive
    survivor: I32  # itself, or the outermost of a chain of only children of one name

    @property
    def survives(self) -> B:
        """Whether a row is a call of its own."""
        return np.asarray(self.survivor == np.arange(len(self.survivor), dtype=np.int32))


def call_tree(host: HostTable) -> CallTree:
    """Who contains whom without any tolerance, on each thread.

        addmm █████████████████      call 1: addmm, self = own time + that of its only child addmm
        addmm  ███████████████
        copy     ███                 call 2

    An event that outlives the one it started in is no child of it, and what starts while both are
    open belongs to the later one.
    """
    count = len(host)
    first = np.ones(count, bool)
    np.not_equal(host.thread[1:], host.thread[:-1], out=first[1:])
    nesting = nest(host.ts, host.dur, first, np.zeros(count, np.int8), 0)
    parent = nesting.parent
    child = np.flatnonzero(parent >= 0)
    above = parent[child]
    children = np.bincount(above, minlength=count)
    inside = np.zeros(count, np.int64)
    np.add.at(inside, above, host.dur[child])
    own = host.dur - inside
    only = (children[above] == 1) & (host.name[child] == host.name[above])
    survivor = np.arange(count, dtype=np.int32)
    merged = child[only]
    # Rows come after their parents, so a chain is resolved in one pass once each link is.
    while len(merged):
        up = survivor[parent[merged]]
        going = survivor[merged] != up
        survivor[merged] = up
        merged = merged[going]
    self_ns = np.zeros(count, np.int64)
    np.add.at(self_ns, survivor, own)
    return CallTree(parent, nesting.depth, self_ns, survivor)


def sums_below(value: I64, parent: I32, depth: NDArray[np.integer]) -> I64:
    """Each row's value and those of all rows below it; shape as ``value``."""
    total = value.astype(np.int64, copy=True)
    for rows in reversed(list(by_depth(depth))):
        above = parent[rows]
        inner = above >= 0
        np.add.at(total, above[inner], total[rows[inner]])
    return total
