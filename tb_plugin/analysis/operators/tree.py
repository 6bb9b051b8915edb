"""The tree of calls as ``torch.profiler`` sees it, and what merges calls of one name."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...trace.columns import take, where
from ...trace.model import HostTable
from ...trace.nest import nest
from ..timeline.group_sums import group_sums
from .inherit import NONE, innermost

B = NDArray[np.bool_]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class CallTree:
    """One entry per host row. ``survivor`` is the row that counts for it."""

    parent: I32  # the innermost event that contains it strictly, −1
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
    parent = nest(host.ts, host.dur, first, np.zeros(count, np.int8), 0).parent
    child = where(parent >= 0)
    above = take(parent, child)
    inside = group_sums(above, take(host.dur, child), count)
    own = host.dur - inside.total
    only = take(inside.count, above) == 1
    only &= take(host.name, child) == take(host.name, above)
    survivor = np.arange(count, dtype=np.int32)
    survivor[child[only]] = NONE
    survivor = innermost(survivor, parent)
    return CallTree(parent, group_sums(survivor, own, count).total, survivor)
