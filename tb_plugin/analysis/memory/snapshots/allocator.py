"""What did the allocator of a device hold at a moment, and which code asked for it?"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np
from msgspec import Struct

from ....base.arrays import I64
from ....trace.memory_model import FrameStacks, Snapshot
from ...timeline.build.lane_layout import is_of_others
from ..model import NEVER
from .lives import BlockLives, Reserved, block_lives, segment_lives

SITE_FRAMES = 3


class HeldBlock(Struct, frozen=True):
    """Memory that is in use: an allocation."""

    address: int
    size: int
    stack: int


class AllocatorState(Struct, frozen=True):
    """State of one device's allocator at one moment.

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
    """The state of a device's allocator right before event ``row`` of the snapshot."""
    reserved = [one.what for one in segment_lives(snapshot, device) if one.born < row <= one.freed]
    return AllocatorState(held_at(block_lives(snapshot, device), row), tuple(reserved))


def held_at(lives: BlockLives, row: int) -> tuple[HeldBlock, ...]:
    """The allocations right before event ``row``, in order of address."""
    there = np.flatnonzero((lives.born < row) & (row <= lives.freed))
    there = there[np.argsort(lives.address[there], kind="stable")]
    columns = (lives.address[there], lives.size[there], lives.stack[there])
    rows = zip(*(column.tolist() for column in columns), strict=True)
    return tuple(HeldBlock(address, size, stack) for address, size, stack in rows)


def held_bytes(snapshot: Snapshot, device: int) -> I64:
    """Bytes in use before each event of the snapshot and after the last: one more than events."""
    return bytes_before(block_lives(snapshot, device), len(snapshot.events.size))


def bytes_before(lives: BlockLives, events: int) -> I64:
    """Bytes in use before each event, and after the last."""
    change = np.zeros(events + 1, np.int64)
    np.add.at(change, lives.born + 1, lives.size)
    ended = lives.freed != NEVER
    np.add.at(change, lives.freed[ended] + 1, -lives.size[ended])
    total: I64 = np.cumsum(change)
    return total


def peak_state(snapshot: Snapshot, device: int) -> AllocatorState:
    """State at the peak."""
    lives = block_lives(snapshot, device)
    row = int(bytes_before(lives, len(snapshot.events.size)).argmax())
    reserved = [one.what for one in segment_lives(snapshot, device) if one.born < row <= one.freed]
    return AllocatorState(held_at(lives, row), tuple(reserved))


class SiteBytes(Struct, frozen=True):
    """Code that holds memory: innermost frames of the user's own, bytes, number of allocations."""

    frames: tuple[str, ...]
    size: int
    count: int


def own_frames(stacks: FrameStacks, stack: int) -> tuple[str, ...]:
    """The frames of the user's own code, innermost first; of libraries, where there are no others.

    () for an allocation without a stack.
    """
    python = [frame for frame in stacks.of(stack) if frame[1].endswith((".py", ".pyx", ".ipynb"))]
    named = [f"{filename}({line}): {name}" for name, filename, line in python]
    own = [name for name in named if not is_of_others(name)]
    return tuple(own or named)


def site_of(stacks: FrameStacks, stack: int) -> tuple[str, ...]:
    """The innermost three frames of the user's code."""
    return own_frames(stacks, stack)[:SITE_FRAMES]


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
