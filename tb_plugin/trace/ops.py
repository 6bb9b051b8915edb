"""Which op is open when?

An op that is open at an instant is among the events that were open when the latest started open one
of them started; so it is found on the way up from there (``Nesting.outer``).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .columns import where
from .flows import last_started
from .host import Host
from .model import HostKind

I32 = NDArray[np.int32]
I64 = NDArray[np.int64]

# So many steps up without an op mean stacks of Python frames: then every row learns its op at once.
_PATIENCE = 32


def op_around(host: Host, rows: I32) -> I32:
    """The innermost op open at the start of each of these host rows (an op: itself)."""
    return _climb(host, rows.astype(np.int32), host.ts[rows])


def op_at(host: Host, thread: I32, at: I64) -> I32:
    """The innermost op open on a thread at an instant."""
    offsets = np.searchsorted(host.thread, np.arange(len(host.threads) + 1))
    begun = last_started(offsets.astype(np.int64), host.ts, thread, at)
    return _climb(host, begun.astype(np.int32), at)


def _climb(host: Host, found: I32, at: I64) -> I32:
    """From events up to the first op that is open at an instant; −1 where there is none."""
    up: I32 = host.nesting.outer
    active = where(found >= 0)
    steps = 0
    while len(active):
        here = found[active]
        wrong = host.kind[here] != HostKind.OP
        wrong |= host.end_of(here) <= at[active]
        active = active[wrong]
        if steps == _PATIENCE:
            up = op_above(host)
        above = up[found[active]]
        found[active] = above
        active = active[above >= 0]
        steps += 1
    return found


def op_above(host: Host) -> I32:
    """For each row the next op on the way up, −1 without one; the way is halved in every round."""
    above: I32 = host.nesting.outer.copy()
    active = where(above >= 0)
    active = active[host.kind[above[active]] != HostKind.OP]
    while len(active):
        higher = above[above[active]]
        above[active] = higher
        active = active[higher >= 0]
        active = active[host.kind[above[active]] != HostKind.OP]
    return above
