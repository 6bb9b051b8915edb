"""From when to when did each block and each segment of a snapshot live?

A snapshot holds the state at its end, and what happened before. Its events are undone from there,
so the history may begin anywhere:

    history          │ +a        −a  +b          │ state
    a of the history │ ├─────────┤               │
    b still there    │               ├───────────│ b
    c was there      │───────────────────────────│ c
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ....base.arrays import I64
from ....trace.memory_model import MISSING, Snapshot
from ..events import pair
from ..model import NEVER, NONE

SMALL = 1 << 20
"""Requests up to here are served from segments of 2 MiB (c10/core/AllocatorConfig.h)."""
ROUND = 512


class BlockLives(Struct, frozen=True, eq=False):
    """The blocks of one device, one row each; by the event that allocated them.

    Rows of events count within the snapshot. Times of the same block do not overlap.

    Attributes:
        address, size: of the block; the size is that of the state at the end where it is there
            still, else what the event names, rounded as the allocator rounds.
        stack: row of ``FrameStacks`` of the allocation, ``MISSING`` where unknown.
        born: row of its allocation; −1 where it was there before the history.
        freed: row of its release; ``NEVER`` where it is there at the end. Of a block that was
            allocated again without a release: the row of that allocation.
        lost: whether its release was not recorded, as ``freed`` is the next allocation.
        dropped: allocations that neither end in the history nor are there at its end: their
            release was not recorded, and they are no rows.
    """

    address: I64
    size: I64
    stack: I64
    born: I64
    freed: I64
    lost: NDArray[np.bool_]
    dropped: int


def block_lives(snapshot: Snapshot, device: int) -> BlockLives:
    """The blocks of one device."""
    events, blocks = snapshot.events, snapshot.blocks
    rows = np.flatnonzero(
        events.is_action("alloc", "free_completed")
        & (events.device == device)
        & (events.address >= 0)
    )
    grows = events.is_action("alloc")[rows]
    size = rounded_all(events.size[rows])
    # The pairing takes address 0 for an unknown one.
    pairs = pair(rows, np.where(grows, size, -size), events.address[rows] + 1)
    event = np.where(pairs.allocation >= 0, pairs.allocation, pairs.release)
    lost = np.zeros(len(event), np.bool_)
    lost[pairs.lost] = True
    address = events.address[rows][event]
    born = np.where(pairs.allocation >= 0, rows[pairs.allocation], MISSING)
    stack = np.where(born >= 0, events.stack[born], MISSING).astype(np.int64)
    freed, bytes_ = pairs.end, size[event]
    # A release whose block was released before: nothing is known of it but its end.
    known = (pairs.allocation >= 0) | (pairs.start < 0)

    held = np.flatnonzero(
        blocks.is_state("active_allocated", "active_pending_free")
        & (snapshot.segments.device[blocks.segment] == device)
    )
    open_ = np.flatnonzero(freed == NEVER)
    order = held[np.argsort(blocks.address[held], kind="stable")]
    there = blocks.address[order]
    place = np.searchsorted(there, address[open_]).clip(max=max(0, len(there) - 1))
    in_both = (there[place] == address[open_]) if len(there) else np.zeros(len(open_), np.bool_)
    same, block = open_[in_both], order[place[in_both]]
    bytes_ = bytes_.copy()
    bytes_[same] = blocks.size[block]
    stack[same] = np.where(stack[same] >= 0, stack[same], blocks.stack[block])
    known[open_[~in_both]] = False
    alone = np.setdiff1d(held, block)

    def joined(of_blocks: NDArray[np.integer] | int, of_events: NDArray[Any]) -> I64:
        before = np.broadcast_to(np.asarray(of_blocks, np.int64), alone.shape)
        return np.concatenate([before, of_events[known]])

    return BlockLives(
        address=joined(blocks.address[alone], address),
        size=joined(blocks.size[alone], bytes_),
        stack=joined(blocks.stack[alone], stack),
        born=joined(NONE, born),
        freed=joined(NEVER, freed),
        lost=joined(0, lost).astype(np.bool_),
        dropped=int((~in_both).sum()),
    )


class Reserved(Struct, frozen=True):
    """Memory that the allocator took from the device: a segment, or a mapped part of one."""

    address: int
    size: int
    stream: int
    pool: tuple[int, int]
    is_small: bool
    is_expandable: bool

    @property
    def is_private(self) -> bool:
        """True if it belongs to a private pool, mostly of a CUDA graph."""
        return self.pool != (0, 0)


class SegmentLife(Struct, frozen=True):
    """A range of reserved memory, from one event of the snapshot to another.

    ``born`` is −1 where it was there before the history, ``freed`` is ``NEVER`` at its end.
    """

    what: Reserved
    born: int
    freed: int


def segment_lives(snapshot: Snapshot, device: int) -> tuple[SegmentLife, ...]:
    """Segments that the allocator of a device had reserved, in order of address."""
    events = snapshot.events
    live = _Ranges()
    for one in _at_end(snapshot, device):
        live.add(one, NEVER)
    gains = events.is_action("segment_alloc", "segment_map")
    losses = events.is_action("segment_free", "segment_unmap")
    rows = np.flatnonzero((gains | losses) & (events.device == device) & (events.size > 0))
    done: list[SegmentLife] = []
    for row in rows[::-1].tolist():
        address, size = int(events.address[row]), int(events.size[row])
        if gains[row]:
            done += [SegmentLife(one, row, end) for one, end in live.cut(address, size)]
            continue
        pool = int(events.pool[row])
        was_mapped = events.actions[events.action[row]] == "segment_unmap"
        live.add(
            Reserved(
                address,
                size,
                int(events.stream[row]),
                snapshot.pools[pool] if pool >= 0 else (0, 0),
                not was_mapped and size <= 2 * SMALL,
                was_mapped,
            ),
            row,
        )
    done += [SegmentLife(one, NONE, end) for one, end in live.all()]
    return tuple(sorted(done, key=lambda one: (one.what.address, one.born)))


def _at_end(snapshot: Snapshot, device: int) -> list[Reserved]:
    segments = snapshot.segments
    return [
        Reserved(
            int(segments.address[row]),
            int(segments.size[row]),
            int(segments.stream[row]),
            snapshot.pools[segments.pool[row]] if segments.pool[row] >= 0 else (0, 0),
            segments.kind[row] == "small",
            bool(segments.is_expandable[row]),
        )
        for row in np.flatnonzero(segments.device == device).tolist()
    ]


class _Ranges:
    """Ranges of addresses that do not overlap, each with the event that ends it."""

    def __init__(self) -> None:
        self._start: list[int] = []
        self._kept: list[tuple[Reserved, int]] = []

    def add(self, one: Reserved, end: int) -> None:
        """Insert a range; ranges at its place are removed."""
        self.cut(one.address, one.size)
        at = bisect_left(self._start, one.address)
        self._start.insert(at, one.address)
        self._kept.insert(at, (one, end))

    def cut(self, address: int, size: int) -> list[tuple[Reserved, int]]:
        """Take a part of the address space out: what lay in it. The rest of a range stays."""
        stop = address + size
        low = bisect_right(self._start, address) - 1
        if low < 0 or self._start[low] + self._kept[low][0].size <= address:
            low += 1
        high = bisect_left(self._start, stop)
        taken: list[tuple[Reserved, int]] = []
        rest: list[tuple[Reserved, int]] = []
        for one, end in self._kept[low:high]:
            bounds = (one.address, max(one.address, address), min(one.address + one.size, stop))
            pieces = (bounds[:2], bounds[1:], (bounds[2], one.address + one.size))
            for number, (begin, behind) in enumerate(pieces):
                if begin < behind:
                    piece = Reserved(
                        begin, behind - begin, one.stream, one.pool, one.is_small,
                        one.is_expandable,
                    )  # fmt: skip
                    (taken if number == 1 else rest).append((piece, end))
        self._start[low:high] = [one.address for one, _ in rest]
        self._kept[low:high] = rest
        return taken

    def all(self) -> list[tuple[Reserved, int]]:
        """Every range that is left."""
        return self._kept


def rounded(request: int) -> int:
    """A request as the allocator rounds it: up to a multiple of 512 bytes."""
    return int(rounded_all(np.array([request]))[0])


def rounded_all(requests: I64) -> I64:
    """``rounded`` of each request."""
    return np.maximum(ROUND, -(-requests // ROUND) * ROUND)
