"""The columns behind the Memory view: allocator events, and their blocks (contract).

    events   ▲   ▲ ▼    ▼ ▲      a row per [memory] instant, device by device in order of time
    blocks   ├───┼─┤    │ ├───…  a block from its allocation to its release; some have one end only
    …────────┴──────────┘        this one was there before the recording began

``allocated`` and ``reserved`` are totals after an event. What a device held before its first event
is its ``base_bytes``; the blocks of it that are released within the recording are rows of
``MemoryBlocks`` without an allocation. So at every event the bytes of all open blocks, what was
there before and is never released, and what no event explains (``Strays``) sum to ``allocated``
exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from functools import cached_property
from typing import Any

import numpy as np
from msgspec import Struct

from ...base.arrays import I8, I32, I64

NONE = -1


class Category(IntEnum):
    """Category of a block, in the order of the stack: long-lived below, flickering above."""

    PARAMETER = 0
    OPTIMIZER = 1
    INPUT = 2
    COMMUNICATION = 3
    UNKNOWN = 4
    GRADIENT = 5
    AUTOGRAD = 6
    ACTIVATION = 7
    TEMPORARY = 8


class MemoryDevice(Struct, frozen=True):
    """One counter of allocated bytes: a device, or memory of the host that is counted apart."""

    key: str  # "cuda:0", "hip:1", "cpu", "cpu:shared"
    label: str  # "GPU 0 · Tesla V100-SXM2-32GB", "CPU"
    kind: int  # c10 DeviceType
    number: int  # −1 for the CPU
    capacity_bytes: int | None  # as deviceProperties say
    first: int  # of its events
    stop: int
    first_block: int
    stop_block: int
    first_band: int
    stop_band: int
    has_totals: bool  # else ``allocated`` is the change since the recording began
    has_reserved: bool
    has_addresses: bool
    base_bytes: int  # held before its first event; 0 where totals are not recorded
    kept_bytes: int  # of these, never released within the recording
    gradient_bytes: int  # most that gradients took at once; 0 without any
    kept_states_bytes: int  # of what was kept, inferred to be the optimizer's states
    first_segment: int = 0  # rows of SegmentSpans; none but in a memory snapshot
    stop_segment: int = 0

    @property
    def events(self) -> slice:
        """Its rows of MemoryEvents."""
        return slice(self.first, self.stop)

    @property
    def blocks(self) -> slice:
        """Its rows of MemoryBlocks."""
        return slice(self.first_block, self.stop_block)


class MemoryEvents(Struct, frozen=True, eq=False):
    """One row per allocation or release, device by device, in order of time; shape (n,)."""

    ts: I64
    bytes: I64  # negative = released
    allocated: I64  # total after it; without totals the sum of bytes since the first
    reserved: I64  # total after it, −1 where not recorded
    path: I32  # row of OpPaths: the ops that ran, −1 outside of ops
    block: I32  # row of MemoryBlocks, −1 without addresses
    op: I32  # host row of the innermost op, which is its slice on the timeline; −1
    raw: I32  # row in the file

    def __len__(self) -> int:
        return len(self.ts)


class MemoryBlocks(Struct, frozen=True, eq=False):
    """One row per block, device by device, in order of allocation; shape (m,)."""

    start: I64  # ts of the allocation; BEFORE where it was there before the recording
    end: I64  # ts of the release; NEVER where it is not released
    bytes: I64
    address: I64
    offset: I64  # of the address in the bands of the device, see AddressBands
    allocation: I32  # row of MemoryEvents, −1
    release: I32  # row of MemoryEvents, −1
    path: I32  # row of OpPaths: the ops that allocated it, else those that released it; −1
    op: I32  # host row of the innermost of these, −1
    module: I32  # code of the innermost module around it, −1
    frame: I32  # code of the innermost Python frame of the user's code, else of any; −1
    category: I8  # Category
    rule: I8  # row of categories.RULES: why

    def __len__(self) -> int:
        return len(self.start)


BEFORE = -1
NEVER = 1 << 62


class Strays(Struct, frozen=True, eq=False):
    """Changes of a total that no event explains, and ends of blocks that were not recorded."""

    event: I32  # row of MemoryEvents with which it shows, ascending
    category: I8
    bytes: I64

    def __len__(self) -> int:
        return len(self.event)


class AddressBands(Struct, frozen=True, eq=False):
    """Where the addresses of blocks lie together, device by device, ascending; shape (bands,).

    What lies between bands was never used: it is left out, and offsets go on without it.
    """

    address: I64
    offset: I64  # of its first byte: the bytes of all bands below
    bytes: I64

    def __len__(self) -> int:
        return len(self.address)


class SegmentSpans(Struct, frozen=True, eq=False):
    """Segments that the allocator had reserved, with their times, device by device; shape (n,).

    A segment, or the part of an expandable one that was mapped. In order of address.
    """

    start: I64  # ts; BEFORE where it was there before the history
    end: I64  # ts; NEVER where it is there at its end
    address: I64
    offset: I64  # see AddressBands
    bytes: I64
    pool: I32  # row of MemoryColumns.pools

    def __len__(self) -> int:
        return len(self.start)


class SegmentPool(Struct, frozen=True):
    """Segments that serve the same requests: of one size class, stream and pool."""

    name: str  # "large, stream 0"
    is_private: bool  # mostly of a CUDA graph


class FailedAllocation(Struct, frozen=True):
    """The last failed allocation of a device, explained."""

    device: str  # key
    ts: int
    requested_bytes: int
    headline: str
    sentence: str
    failures: int  # of the history
    holders: tuple[tuple[str, int, int], ...]  # code, bytes, blocks: what held most then


class OpPaths(Struct, frozen=True, eq=False):
    """Distinct chains of ops as a trie; parents come before their children."""

    parent: I32  # −1 at the root
    name: I32  # code

    def __len__(self) -> int:
        return len(self.parent)


class OpTimes(Struct, frozen=True, eq=False):
    """Names of all ops, once in the order of their starts and once in that of their ends."""

    start: I64
    name_by_start: I32
    end: I64
    name_by_end: I32


class StepRanges(Struct, frozen=True, eq=False):
    """Steps on the host; allocator events have host times."""

    name: I32
    number: I64
    start: I64
    end: I64
    marked: bool  # False: nothing marks steps, the whole trace counts as one

    def __len__(self) -> int:
        return len(self.start)


class AllocatorCalls(Struct, frozen=True, eq=False):
    """Calls that ask a device for memory or give it back: slow, and rare after warm-up."""

    ts: I64
    dur: I64
    name: I32
    host: I32  # host row

    def __len__(self) -> int:
        return len(self.ts)


class MemoryColumns(Struct, frozen=True, eq=False, dict=True):
    """All columns behind the view; arrays may be memory-mapped."""

    strings: tuple[str, ...]
    devices: tuple[MemoryDevice, ...]  # accelerators first
    events: MemoryEvents
    blocks: MemoryBlocks
    strays: Strays
    bands: AddressBands
    paths: OpPaths
    ops: OpTimes
    steps: StepRanges
    allocator: AllocatorCalls
    end_ns: int  # behind the trace and its last allocator event
    trains: bool  # autograd ran, or kept a record of some op
    missing: Mapping[str, str]  # what cannot be shown → why, and how to record it
    segments: SegmentSpans
    pools: tuple[SegmentPool, ...]
    failures: tuple[FailedAllocation, ...]
    is_snapshot: bool  # paths are those of Python frames, not of ops
    told_base: tuple[int, ...] = ()  # by Category, of an exported timeline: what held before it

    @cached_property
    def computed(self) -> dict[str, dict[str, Any]]:
        """Results that hold for all ranges of a device, by its key; filled at the first use."""
        return {}

    @cached_property
    def path_names(self) -> tuple[str, ...]:
        """Name of each path as the events table shows it: ``aten::ones (aten::empty)``."""
        names = [self.strings[code] for code in self.paths.name.tolist()]
        return tuple(
            f"{names[up]} ({name})" if up >= 0 and name.startswith("aten::empty") else name
            for name, up in zip(names, self.paths.parent.tolist(), strict=True)
        )

    @cached_property
    def event_category(self) -> I8:
        """Category of the block of each event; shape (events,)."""
        found = np.full(len(self.events), Category.UNKNOWN, np.int8)
        known = self.events.block >= 0
        found[known] = self.blocks.category[self.events.block[known]]
        return found
