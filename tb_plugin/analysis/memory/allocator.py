"""What did the allocator of a device hold at a moment, and which code asked for it?

From a memory snapshot, which holds the state at its end and what happened before: events are undone
from there, one by one, so the history may begin anywhere.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...trace.pickles.snapshot import MISSING, FrameStacks, Snapshot
from ..timeline.build.lane_layout import is_of_others

SMALL = 1 << 20
"""Requests up to here are served from segments of 2 MiB (c10/core/AllocatorConfig.h)."""
ROUND = 512
SITE_FRAMES = 3


@dataclass(frozen=True, slots=True)
class HeldBlock:
    """Memory that is in use: an allocation."""

    address: int
    size: int
    stack: int


@dataclass(frozen=True, slots=True)
class Reserved:
    """Memory that the allocator took from the device: a segment, or a mapped part of one."""

    address: int
    size: int
    stream: int
    pool: tuple[int, int]
    is_small: bool
    is_expandable: bool

    @property
    def is_private(self) -> bool:
        """It belongs to a pool of its own, mostly of a CUDA graph."""
        return self.pool != (0, 0)


@dataclass(frozen=True, slots=True)
class AllocatorState:
    """What one device's allocator held at one moment.

    ``held`` and ``reserved`` are in order of address; every allocation lies in one segment.
    """

    held: tuple[HeldBlock, ...]
    reserved: tuple[Reserved, ...]

    def free_pieces(self) -> list[tuple[Reserved, int]]:
        """The gaps between allocations: their segment and their bytes."""
        pieces = []
        at = 0
        for segment in self.reserved:
            end = segment.address
            while at < len(self.held) and self.held[at].address < segment.address + segment.size:
                one = self.held[at]
                if one.address > end:
                    pieces.append((segment, one.address - end))
                end = max(end, one.address + one.size)
                at += 1
            if segment.address + segment.size > end:
                pieces.append((segment, segment.address + segment.size - end))
        return pieces


def state_at(snapshot: Snapshot, device: int, row: int) -> AllocatorState:
    """The state of a device's allocator right before event ``row`` of the snapshot.

    What was freed within the history comes back with the size that the events name, rounded as the
    allocator rounds, and with the stack of its allocation where that is in the history too.
    """
    held, reserved = _final(snapshot, device)
    events = snapshot.events
    born = _births(snapshot, device)
    names = [events.actions[code] for code in events.action[row:]]
    for at, action in reversed(list(enumerate(names, row))):
        if events.device[at] != device:
            continue
        address, bytes_ = int(events.address[at]), int(events.size[at])
        if action == "alloc":
            held.pop(address, None)
        elif action == "free_completed":
            birth = born.get(at)
            stack = MISSING if birth is None else int(events.stack[birth])
            held[address] = HeldBlock(address, rounded(bytes_), stack)
        elif action in ("segment_alloc", "segment_map"):
            reserved = list(_without(reserved, address, bytes_))
        elif action in ("segment_free", "segment_unmap"):
            pool = int(events.pool[at])
            reserved.append(
                Reserved(
                    address,
                    bytes_,
                    int(events.stream[at]),
                    snapshot.pools[pool] if pool >= 0 else (0, 0),
                    action == "segment_free" and bytes_ <= 2 * SMALL,
                    action == "segment_unmap",
                )
            )
    return AllocatorState(
        tuple(sorted(held.values(), key=lambda one: one.address)),
        tuple(sorted(reserved, key=lambda one: one.address)),
    )


def _births(snapshot: Snapshot, device: int) -> dict[int, int]:
    """Row of the end of an allocation → row of its beginning, for those that have both."""
    events = snapshot.events
    begins, ends = events.is_action("alloc"), events.is_action("free_completed")
    latest: dict[int, int] = {}
    born = {}
    for row in np.flatnonzero((begins | ends) & (events.device == device)).tolist():
        address = int(events.address[row])
        if begins[row]:
            latest[address] = row
        elif address in latest:
            born[row] = latest.pop(address)
    return born


def held_bytes(snapshot: Snapshot, device: int) -> NDArray[np.int64]:
    """Bytes in use before each event of the snapshot and after the last: one more than events.

    Summed backwards from the state at the end; sizes are rounded as the allocator rounds them.
    """
    held, _ = _final(snapshot, device)
    events = snapshot.events
    on = events.device == device
    bytes_ = rounded_all(events.size)
    change = np.where(events.is_action("alloc") & on, bytes_, 0)
    change -= np.where(events.is_action("free_completed") & on, bytes_, 0)
    last = sum(one.size for one in held.values())
    return last - np.concatenate((np.cumsum(change[::-1])[::-1], [0]))


def peak_state(snapshot: Snapshot, device: int) -> AllocatorState:
    """What was held when it was most."""
    return state_at(snapshot, device, int(held_bytes(snapshot, device).argmax()))


def _final(snapshot: Snapshot, device: int) -> tuple[dict[int, HeldBlock], list[Reserved]]:
    segments, blocks = snapshot.segments, snapshot.blocks
    reserved = [
        Reserved(
            int(segments.address[row]),
            int(segments.size[row]),
            int(segments.stream[row]),
            snapshot.pools[segments.pool[row]] if segments.pool[row] >= 0 else (0, 0),
            segments.kind[row] == "small",
            bool(segments.is_expandable[row]),
        )
        for row in range(len(segments.size))
        if segments.device[row] == device
    ]
    in_use = blocks.is_state("active_allocated", "active_pending_free")
    held = {
        int(blocks.address[row]): HeldBlock(
            int(blocks.address[row]), int(blocks.size[row]), int(blocks.stack[row])
        )
        for row in in_use.nonzero()[0]
        if segments.device[blocks.segment[row]] == device
    }
    return held, reserved


def _without(reserved: Iterable[Reserved], address: int, bytes_: int) -> Iterator[Reserved]:
    """The segments less a range: mapped parts of an expandable segment may lie inside one."""
    end = address + bytes_
    for one in reserved:
        stop = one.address + one.size
        if stop <= address or end <= one.address:
            yield one
            continue
        for start, finish in ((one.address, address), (end, stop)):
            if start < finish:
                yield Reserved(
                    start, finish - start, one.stream, one.pool, one.is_small, one.is_expandable
                )


def rounded(request: int) -> int:
    """A request as the allocator rounds it: up to a multiple of 512 bytes."""
    return int(rounded_all(np.array([request]))[0])


def rounded_all(requests: NDArray[np.int64]) -> NDArray[np.int64]:
    """``rounded`` of each request."""
    return np.maximum(ROUND, -(-requests // ROUND) * ROUND)


@dataclass(frozen=True, slots=True)
class SiteBytes:
    """Code that holds memory: innermost frames of the user's own, bytes, number of allocations."""

    frames: tuple[str, ...]
    size: int
    count: int


def site_of(stacks: FrameStacks, stack: int) -> tuple[str, ...]:
    """The innermost frames of the user's own code; of libraries, where there are no others.

    () for an allocation without a stack.
    """
    python = [frame for frame in stacks.of(stack) if frame[1].endswith((".py", ".pyx", ".ipynb"))]
    named = [f"{filename}({line}): {name}" for name, filename, line in python]
    own = [name for name in named if not is_of_others(name)]
    return tuple((own or named)[:SITE_FRAMES])


def sites(held: Iterable[HeldBlock], stacks: FrameStacks) -> tuple[SiteBytes, ...]:
    """Which code asked for these allocations, the site with the most bytes first."""
    by_stack: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    for one in held:
        by_stack[one.stack][0] += one.size
        by_stack[one.stack][1] += 1
    by_site: dict[tuple[str, ...], list[int]] = defaultdict(lambda: [0, 0])
    for stack, (bytes_, number) in by_stack.items():
        sums = by_site[site_of(stacks, stack)]
        sums[0] += bytes_
        sums[1] += number
    found = (SiteBytes(frames, bytes_, number) for frames, (bytes_, number) in by_site.items())
    return tuple(sorted(found, key=lambda site: -site.size))
