"""How much of what is reserved is free, and how much of that is of no use?

A request is served by one free piece of its own pool. So of the free memory of a pool only the
largest piece counts for a request that nothing smaller can serve; the rest is *unusable* for it:
reserved − allocated − the largest free piece, summed over pools. Of many instants those are looked
at at which the curve of the allocated memory is drawn.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from ....base.arrays import I64
from ..curve import curve
from ..model import MemoryColumns, MemoryDevice

_MOST_WORK = 30_000_000  # blocks × instants


class PoolState(Struct, frozen=True):
    """One pool at one instant; bytes."""

    pool: int  # row of MemoryColumns.pools
    reserved: int
    free: int
    largest: int
    pieces: int

    @property
    def unusable(self) -> int:
        """Free, and not in the largest piece."""
        return self.free - self.largest


class FreeMemory(Struct, frozen=True, eq=False):
    """Free memory of a device over time; all arrays are of one length."""

    ts: I64
    free: I64
    unusable: I64
    is_exact: bool  # every event of the range is looked at

    @property
    def worst(self) -> int:
        """Where most is unusable; the first of several."""
        return int(self.unusable.argmax())


class FreePieces:
    """The free pieces of a device, at any instant."""

    def __init__(self, columns: MemoryColumns, device: MemoryDevice) -> None:
        blocks, mine = columns.blocks, device.blocks
        order = np.argsort(blocks.offset[mine], kind="stable")
        self._start, self._end = blocks.start[mine][order], blocks.end[mine][order]
        self._offset = blocks.offset[mine][order]
        self._stop = self._offset + blocks.bytes[mine][order]
        segments, own = columns.segments, slice(device.first_segment, device.stop_segment)
        order = np.argsort(segments.offset[own], kind="stable")
        self._born, self._freed = segments.start[own][order], segments.end[own][order]
        self._low = segments.offset[own][order]
        self._high = self._low + segments.bytes[own][order]
        self._pool = segments.pool[own][order]

    @property
    def blocks(self) -> int:
        """Number of blocks to visit for one instant."""
        return len(self._offset) + len(self._low)

    def at(self, ts: int) -> tuple[PoolState, ...]:
        """Each pool right after an instant."""
        there = np.flatnonzero((self._born <= ts) & (ts < self._freed))
        low, high, pool = _merged(self._low[there], self._high[there], self._pool[there])
        alive = np.flatnonzero((self._start <= ts) & (ts < self._end))
        begin = self._offset[alive]
        taken = np.maximum.accumulate(np.append(0, self._stop[alive]))
        # A piece ends where a block begins, and where its segment does.
        edge = np.concatenate([begin, high])
        place = np.concatenate([np.arange(len(begin)), np.searchsorted(begin, high)])
        owner = np.searchsorted(low, begin, side="right") - 1
        segment = np.concatenate([owner, np.arange(len(high))])
        inside = segment >= 0
        edge, place, segment = edge[inside], place[inside], segment[inside]
        size = np.minimum(edge, high[segment]) - np.maximum(low[segment], taken[place])
        free = size > 0
        size, of_pool = size[free], pool[segment[free]]
        return tuple(
            PoolState(
                pool=one,
                reserved=int((high - low)[pool == one].sum()),
                free=int(size[of_pool == one].sum()),
                largest=int(size[of_pool == one].max(initial=0)),
                pieces=int((of_pool == one).sum()),
            )
            for one in np.unique(pool).tolist()
        )


def _merged(low: I64, high: I64, pool: np.ndarray) -> tuple[I64, I64, np.ndarray]:
    """Parts of an expandable segment that lie one behind the other are one."""
    if not len(low):
        return low, high, pool
    first = np.append(True, (low[1:] != high[:-1]) | (pool[1:] != pool[:-1]))
    last = np.append(first[1:], True)
    return low[first], high[last], pool[first]


def free_pieces(columns: MemoryColumns, device: MemoryDevice) -> FreePieces:
    """The free pieces of a device; put in order once."""
    kept = columns.computed.setdefault(f"free {device.key}", {})
    if "pieces" not in kept:
        kept["pieces"] = FreePieces(columns, device)
    found: FreePieces = kept["pieces"]
    return found


def free_memory(
    columns: MemoryColumns, device: MemoryDevice, start: int, end: int, points: int
) -> FreeMemory:
    """Free and unusable bytes in [start, end), at about ``points`` instants or fewer."""
    pieces = free_pieces(columns, device)
    most = min(points, max(30, _MOST_WORK // max(1, pieces.blocks)))
    drawn = curve(columns, device, start, end, most)
    ts = np.unique(drawn.ts)
    states = [pieces.at(int(at)) for at in ts.tolist()]
    return FreeMemory(
        ts=ts,
        free=np.array([sum(one.free for one in state) for state in states], np.int64),
        unusable=np.array([sum(one.unusable for one in state) for state in states], np.int64),
        is_exact=drawn.events == len(drawn.row) - 2,
    )
