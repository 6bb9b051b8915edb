"""One of two compared snapshots: its sites at the peak, how long they live, its curve by steps."""

from __future__ import annotations

from collections import defaultdict
from itertools import chain

import numpy as np
from msgspec import Struct

from ....base.arrays import F64, I64, median
from ..curve import curve
from ..model import BEFORE, NEVER, NONE, MemoryColumns, MemoryDevice
from ..peak import peaks, total_after
from .allocator import SITE_FRAMES, SiteBytes

_POINTS = 600


class SideOfPeaks(Struct, frozen=True):
    """Memory of a device at its peak, by the code that allocated it.

    ``lifetime_ns`` and ``allocations`` are by the frames of a site: the median of its blocks with
    both ends in the history, and how many were allocated in it. The sites sum to ``peak_bytes``.
    """

    peak_bytes: int
    sites: tuple[SiteBytes, ...]
    lifetime_ns: dict[tuple[str, ...], int]
    allocations: dict[tuple[str, ...], int]


def side_of(columns: MemoryColumns, device: MemoryDevice) -> SideOfPeaks:
    """The sites of one snapshot at its own peak."""
    blocks, mine = columns.blocks, device.blocks
    row = peaks(columns, device).first
    event = device.first + row
    born, release = blocks.allocation[mine], blocks.release[mine]
    held = born <= event if row >= 0 else blocks.start[mine] == BEFORE
    held &= np.where(release >= 0, release > event, blocks.end[mine] == NEVER)
    start, end, size = blocks.start[mine], blocks.end[mine], blocks.bytes[mine]
    ended = (start != BEFORE) & (end != NEVER)
    found: dict[tuple[str, ...], list[int]] = defaultdict(lambda: [0, 0, 0])
    lives: dict[tuple[str, ...], list[I64]] = defaultdict(list)
    paths, place = np.unique(blocks.path[mine], return_inverse=True)
    order = np.argsort(place, kind="stable")
    edges = np.searchsorted(place[order], np.arange(len(paths) + 1))
    for number, path in enumerate(paths.tolist()):
        rows = order[edges[number] : edges[number + 1]]
        site = _frames(columns, path)
        sums = found[site]
        at_peak = rows[held[rows]]
        sums[0] += int(size[at_peak].sum())
        sums[1] += len(at_peak)
        sums[2] += int((start[rows] != BEFORE).sum())
        closed = rows[ended[rows]]
        lives[site].append(end[closed] - start[closed])
    total = total_after(columns, device, row)
    rest = total - sum(bytes_ for bytes_, _, _ in found.values())
    if rest:
        found[()][0] += rest
        found[()][1] += 1
    sites = [
        SiteBytes(frames, bytes_, count) for frames, (bytes_, count, _) in found.items() if count
    ]
    return SideOfPeaks(
        total,
        tuple(sorted(sites, key=lambda one: -one.size)),
        {
            frames: int(median(np.concatenate(parts)))
            for frames, parts in lives.items()
            if any(map(len, parts))
        },
        {frames: allocated for frames, (_, _, allocated) in found.items()},
    )


def _frames(columns: MemoryColumns, path: int) -> tuple[str, ...]:
    names: list[str] = []
    while path != NONE and len(names) < SITE_FRAMES:
        names.append(columns.strings[int(columns.paths.name[path])])
        path = int(columns.paths.parent[path])
    return tuple(names)


class StepCurve(Struct, frozen=True, eq=False):
    """Allocated bytes over steps: 2.5 is the middle of the third. Without steps all is one."""

    at: F64
    bytes: I64
    steps: int


def over_steps(columns: MemoryColumns, device: MemoryDevice) -> StepCurve:
    """The curve of a device, each step as wide as any other."""
    steps = columns.steps
    if steps.marked and len(steps):
        start, end = steps.start, np.maximum(steps.end, steps.start + 1)
    else:
        start, end = np.array([0], np.int64), np.array([max(1, columns.end_ns)], np.int64)
    each = max(20, _POINTS // len(start))
    drawn = [
        curve(columns, device, int(low), int(high), each)
        for low, high in zip(start[:_POINTS].tolist(), end[:_POINTS].tolist(), strict=True)
    ]
    at = [
        number + (one.ts - start[number]) / (end[number] - start[number])
        for number, one in enumerate(drawn)
    ]
    return StepCurve(
        np.concatenate(at),
        np.fromiter(chain.from_iterable(one.allocated.tolist() for one in drawn), np.int64),
        len(drawn),
    )
