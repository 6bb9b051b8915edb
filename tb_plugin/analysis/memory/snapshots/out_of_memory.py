"""Cause of a failed allocation: requested size, free memory, and the missing amount."""

from __future__ import annotations

from enum import Enum

from msgspec import Struct

from ....base.units import plural, size
from ....trace.memory_model import Snapshot
from .allocator import AllocatorState, SiteBytes, sites, state_at
from .lives import SMALL, Reserved, rounded

SITES = 3
NEARLY_EMPTY = 0.1


class Cause(Enum):
    """Why an allocation failed."""

    FRAGMENTATION = "fragmentation"
    CAPACITY = "capacity"
    OTHERS = "others"


class OutOfMemory(Struct, frozen=True):
    """One failed allocation. All sizes in bytes.

    Attributes:
        row: the event of the snapshot.
        time_us: since 1970; ``MISSING`` where the recorder wrote none.
        requested: what was asked for.
        device_free: free on the device, outside the allocator; ``MISSING`` where unknown.
        reserved, allocated: what the allocator held, and what of it was in use.
        usable: the free pieces that could have served, had they been one; ``largest`` of them.
        elsewhere: free pieces that this request may not use: of the other size class, of another
            stream.
        private: free pieces of private pools, mostly of CUDA graphs.
        short: bytes that were missing even if all free memory were one piece; 0 if none.
        is_expandable: segments were expandable already.
        splits: bytes of segments that are large enough and held open by few allocations.
        sites: the code that held most, largest first.
    """

    row: int
    time_us: int
    device: int
    requested: int
    device_free: int
    reserved: int
    allocated: int
    usable: int
    pieces: int
    largest: int
    elsewhere: int
    private: int
    short: int
    is_expandable: bool
    splits: int
    cause: Cause
    sites: tuple[SiteBytes, ...]


def explain(
    snapshot: Snapshot, total: int | None = None, device: int | None = None
) -> OutOfMemory | None:
    """The last failed allocation of a snapshot, or of a device; None if none failed.

    ``total`` is the memory of the device, where it is known: then memory that neither this
    allocator holds nor is free belongs to others. The decision is that of the allocator itself: a
    free piece of the same size class and stream, else a new segment from the device.
    """
    failed = snapshot.events.is_action("oom")
    if device is not None:
        failed &= snapshot.events.device == device
    failures = failed.nonzero()[0]
    if not len(failures):
        return None
    row = int(failures[-1])
    events = snapshot.events
    device, stream = int(events.device[row]), int(events.stream[row])
    request, free = int(events.size[row]), int(events.address[row])
    code = int(events.pool[row])
    pool = snapshot.pools[code] if code >= 0 else (0, 0)
    state = state_at(snapshot, device, row)
    need = rounded(request)
    usable, elsewhere, private = [], 0, 0
    for segment, piece in state.free_pieces():
        if segment.pool != pool:
            private += piece if segment.is_private else 0
            elsewhere += 0 if segment.is_private else piece
        elif segment.stream != stream or segment.is_small != (need <= SMALL):
            elsewhere += piece
        else:
            usable.append(piece)
    reserved = sum(one.size for one in state.reserved)
    allocated = sum(one.size for one in state.held)
    short = max(0, need - sum(usable) - max(0, free))
    return OutOfMemory(
        row=row,
        time_us=int(events.time_us[row]),
        device=device,
        requested=request,
        device_free=free,
        reserved=reserved,
        allocated=allocated,
        usable=sum(usable),
        pieces=len(usable),
        largest=max(usable, default=0),
        elsewhere=elsewhere,
        private=private,
        short=short,
        is_expandable=any(one.is_expandable for one in state.reserved),
        splits=_held_open(state, need),
        cause=_cause(short, reserved, free, total),
        sites=sites(state.held, snapshot.stacks)[:SITES],
    )


def _cause(short: int, reserved: int, free: int, total: int | None) -> Cause:
    if short == 0:
        return Cause.FRAGMENTATION
    if total is not None and total - reserved - max(0, free) >= max(short, total // 4):
        return Cause.OTHERS
    return Cause.CAPACITY


def _held_open(state: AllocatorState, need: int) -> int:
    """Bytes of segments that could hold the request, were it not for a few small allocations."""
    used: dict[Reserved, int] = {one: one.size for one in state.reserved}
    for segment, piece in state.free_pieces():
        used[segment] -= piece
    return sum(
        segment.size
        for segment, bytes_ in used.items()
        if segment.size >= need and 0 < bytes_ <= NEARLY_EMPTY * segment.size
    )


def in_short(found: OutOfMemory) -> str:
    """The failure and its cause, as a headline."""
    asked = f"An allocation of {size(found.requested)} failed"
    if found.cause is Cause.FRAGMENTATION:
        return f"{asked}: the memory is fragmented."
    if found.cause is Cause.OTHERS:
        return f"{asked}: others hold the memory of the device."
    return f"{asked}: the memory is full, {size(found.short)} short."


def sentence(found: OutOfMemory) -> str:
    """The failure as a person would tell it, with its figures."""
    parts = [f"{size(found.requested)} was asked for"]
    if found.device_free >= 0:
        parts.append(f"{size(found.device_free)} was free on the device")
    unused = found.reserved - found.allocated
    parts.append(
        f"of {size(found.reserved)} that the allocator had reserved, {size(unused)} was not in use"
    )
    text = "; ".join(parts) + ". "
    if found.cause is Cause.FRAGMENTATION:
        text += (
            f"The free memory would have sufficed, but its {plural(found.pieces, 'piece')} are too "
            f"small, {size(found.largest)} the largest: the memory is fragmented. "
        )
        if not found.is_expandable:
            text += "Expandable segments would have served. "
        elif found.splits:
            text += "A limit for splitting blocks may serve. "
    elif found.cause is Cause.OTHERS:
        text += "Another process, or a library beside torch, holds most of the device's memory. "
    else:
        text += f"Even as one piece, the free memory is {size(found.short)} short: it is full. "
    if found.private:
        text += f"{size(found.private)} is free in private pools, mostly of CUDA graphs. "
    return text.rstrip()
