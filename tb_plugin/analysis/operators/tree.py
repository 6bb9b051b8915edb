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
    parent = _strict_parents(host.thread, host.ts, host.dur)
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


def time_of_frames(host: HostTable, tree: CallTree, frame: B) -> I64:
    """What the self time of each call lacks because Python frames are its children, in ns.

        aten::mm ██████████████      without frames it has no child: 14, not 8
        frame      ██████

    0 for frames, and for rows that do not survive.
    """
    others = where(~frame)
    dur = take(host.dur, others)
    parent = _strict_parents(take(host.thread, others), take(host.ts, others), dur)
    child = where(parent >= 0)
    inside = group_sums(take(parent, child), take(dur, child), len(others))
    own = np.zeros(len(host), np.int64)
    own[others] = dur - inside.total
    own = group_sums(tree.survivor, own, len(host)).total
    return np.where(frame | ~tree.survives, 0, own - tree.self_ns)


def _strict_parents(thread: I32, ts: I64, dur: I64) -> I32:
    """The innermost event that contains each without tolerance, on its thread."""
    first = np.ones(len(ts), bool)
    np.not_equal(thread[1:], thread[:-1], out=first[1:])
    return nest(ts, dur, first, np.zeros(len(ts), np.int8), 0).parent
