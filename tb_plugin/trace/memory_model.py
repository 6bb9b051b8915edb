"""Data of a file of memory alone: a snapshot of the allocator, or bytes by category.

Apart from their readers, because every trace has a place for them and few have one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ..base.arrays import I8, I64

MISSING = -1
MOST_BYTES = 1 << 50
"""More than any memory has: sums of larger sizes would leave int64."""
HOST = -1
"""The device of pinned host memory."""

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]


class FrameStacks(Struct, frozen=True):
    """Python and C++ frames, each once, and call stacks as lists of them.

    Attributes:
        name, filename: texts per frame.
        line: per frame; 0 where it is unknown.
        starts: for each stack, where its frames begin in ``frames``; and the end of the last.
        frames: numbers of frames, innermost first.
    """

    name: tuple[str, ...]
    filename: tuple[str, ...]
    line: Ints
    starts: Ints
    frames: Codes

    def of(self, stack: int) -> tuple[tuple[str, str, int], ...]:
        """Name, file and line of each frame of a stack, innermost first; none for ``MISSING``."""
        if stack < 0:
            return ()
        numbers = self.frames[self.starts[stack] : self.starts[stack + 1]]
        return tuple((self.name[n], self.filename[n], int(self.line[n])) for n in numbers)


class AllocatorEvents(Struct, frozen=True):
    """Events of the allocator in the order of the file: by device, then by time.

    Attributes:
        device: number of the device, ``HOST`` for pinned host memory.
        action: codes into ``actions``: alloc, free_requested, free_completed, segment_alloc,
            segment_free, segment_map, segment_unmap, snapshot, oom, annotate and whatever is new.
        address: of the block or segment; for ``oom`` the free bytes of the device.
        size: in bytes; for ``oom`` what was asked for.
        stream: number of the stream that it belongs to.
        time_us: µs since 1970; ``MISSING`` where the recorder wrote none (torch 2.0).
        stack: row of ``FrameStacks``; ``MISSING`` without frames.
        pool: codes into ``pools``; ``MISSING`` where the recorder wrote none.
        context, metadata: codes into ``texts``: what torch.compile was doing, what the user set.
    """

    device: Codes
    action: Codes
    address: Ints
    size: Ints
    stream: Ints
    time_us: Ints
    stack: Codes
    pool: Codes
    context: Codes
    metadata: Codes
    actions: tuple[str, ...]
    texts: tuple[str, ...]

    def is_action(self, *names: str) -> NDArray[np.bool_]:
        """Per event: is it one of these actions?"""
        codes = [code for code, name in enumerate(self.actions) if name in names]
        return np.isin(self.action, codes)


class Segments(Struct, frozen=True):
    """Segments reserved from the device at the time of the snapshot; one row each.

    Attributes:
        first_block: row of the first block; one more than there are segments.
        kind: "large" or "small".
    """

    device: Codes
    address: Ints
    size: Ints
    allocated: Ints
    active: Ints
    requested: Ints
    stream: Ints
    pool: Codes
    stack: Codes
    is_expandable: NDArray[np.int8]  # 0 or 1
    kind: tuple[str, ...]
    first_block: Ints


class SegmentBlocks(Struct, frozen=True):
    """The pieces of the segments, in order of address.

    Attributes:
        segment: row of the segment.
        size: in bytes; the sizes of a segment's blocks sum to its own.
        requested: bytes that were asked for, before rounding; ``MISSING`` where unknown.
        state: codes into ``states``: active_allocated, active_pending_free, inactive.
    """

    segment: Codes
    address: Ints
    size: Ints
    requested: Ints
    state: Codes
    stack: Codes
    states: tuple[str, ...]

    def is_state(self, *names: str) -> NDArray[np.bool_]:
        """Per block: is it in one of these states?"""
        codes = [code for code, name in enumerate(self.states) if name in names]
        return np.isin(self.state, codes)


class Mark(Struct, frozen=True):
    """One end of a range that the profiler wrote beside the allocator's events: a step."""

    name: str
    is_start: bool
    device: int
    time_us: int


class Snapshot(Struct, frozen=True):
    """A memory snapshot.

    Attributes:
        pools: identities of memory pools, two numbers each; (0, 0) is the default pool, any other
            is private, mostly of a CUDA graph.
        settings: of the allocator, as recorded.
        damage: why the rest of the file is missing; "" when it is whole.
        skipped: records that could not be understood, by what they should have been.
    """

    events: AllocatorEvents
    segments: Segments
    blocks: SegmentBlocks
    stacks: FrameStacks
    pools: tuple[tuple[int, int], ...]
    marks: tuple[Mark, ...]
    settings: dict[str, Any]
    damage: str
    skipped: dict[str, int]

    @property
    def size(self) -> int:
        """Events of the history, and blocks."""
        return len(self.events.size) + len(self.blocks.size)


class MemoryTimeline(Struct, frozen=True, eq=False):
    """Changes of the bytes of each category, in order of time; shape (n,).

    ``base`` are the bytes of each category before the first of them.
    """

    ts: I64  # ns since 1970
    category: I8  # 0 … 7, as CATEGORIES names them
    bytes: I64
    base: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.ts)

    @property
    def first_ns(self) -> int:
        """When it begins."""
        return int(self.ts.min(initial=np.iinfo(np.int64).max)) if len(self.ts) else 0

    @property
    def length_us(self) -> int:
        """Duration."""
        return (int(self.ts.max(initial=0)) - self.first_ns) // 1000 + 1
