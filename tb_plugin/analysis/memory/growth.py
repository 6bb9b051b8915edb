"""Does memory grow from step to step, how often is it asked for, and how much is left?

``steps_of`` gives the figures of each step, ``growth`` the test for a leak, ``leaking_sites`` what
was allocated in step after step and never released.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from msgspec import Struct

from ...base.arrays import I64, distinct_values, equal_rows, median
from .curve import total_before
from .model import NEVER, MemoryColumns, MemoryDevice

LEAST_STEPS = 4
"""Steps after the warm-up that the test for a leak needs."""
LEAST_GROWTH = 1 << 20
LEAST_GROWTH_RATIO = 0.001  # of the mean at the ends of the steps
RISING_RATIO = 0.8  # of the differences from step to step
_MOST_STEPS = 400  # slopes are between pairs


class StepMemory(Struct, frozen=True, eq=False):
    """One row per step; shape (steps,)."""

    start_bytes: I64  # the total when it begins
    end_bytes: I64
    peak_bytes: I64  # the highest total in it, its start included
    allocations: I64
    allocated_bytes: I64  # releases aside
    device_calls: I64  # calls that asked the device for memory or gave it back
    device_ns: I64  # their time on the host


def steps_of(columns: MemoryColumns, device: MemoryDevice) -> StepMemory:
    """The figures of each step on the host."""
    events, mine, steps = columns.events, device.events, columns.steps
    ts, allocated = events.ts[mine], events.allocated[mine]
    grows = np.maximum(events.bytes[mine], 0)
    before = total_before(columns, device)
    # The recording as one step has its last event in it.
    end = steps.end if steps.marked else np.full(len(steps.end), columns.end_ns)
    low, high = np.searchsorted(ts, steps.start), np.searchsorted(ts, end)
    held = np.concatenate([[before], allocated, [0]])  # the last one closes the last step
    peak = np.maximum.reduceat(held, np.stack([low, high + 1], axis=1).reshape(-1))[::2]
    calls = columns.allocator
    first, last = np.searchsorted(calls.ts, steps.start), np.searchsorted(calls.ts, end)
    return StepMemory(
        start_bytes=held[low],
        end_bytes=held[high],
        peak_bytes=peak,
        allocations=_between(grows > 0, low, high),
        allocated_bytes=_between(grows, low, high),
        device_calls=last - first,
        device_ns=_between(calls.dur, first, last),
    )


def _between(value: np.ndarray, low: I64, high: I64) -> I64:
    sums = np.concatenate([[0], np.cumsum(value.astype(np.int64))])
    return np.asarray(sums[high] - sums[low])


class Growth(Struct, frozen=True):
    """The test for a leak over the totals at the ends of steps.

    A leak: the median of the slopes between all pairs of steps (Theil–Sen) is more than 1 MiB a
    step and 0.1 % of the mean, and four of five differences are rises.
    """

    verdict: Literal["leak", "none", "not known"]
    bytes_per_step: float
    rising: int  # of the differences from step to step
    steps: int


def growth(end_bytes: I64) -> Growth:
    """The test over consecutive steps, warm-up and unfinished steps left out."""
    count = len(end_bytes)
    if count < LEAST_STEPS:
        return Growth("not known", 0.0, 0, count)
    at = distinct_values(np.linspace(0, count - 1, min(count, _MOST_STEPS)).astype(np.int64))
    value = end_bytes[at].astype(np.float64)
    left, right = np.triu_indices(len(at), 1)
    slope = median((value[right] - value[left]) / (at[right] - at[left]))
    rising = int(np.count_nonzero(np.diff(end_bytes) > 0))
    limit = max(LEAST_GROWTH, LEAST_GROWTH_RATIO * float(end_bytes.mean()))
    leaks = slope > limit and rising >= RISING_RATIO * (count - 1)
    return Growth("leak" if leaks else "none", slope, rising, count)


class AllocationSite(Struct, frozen=True):
    """Blocks of one op, module, line and size that were allocated and never released."""

    block: int  # row of MemoryBlocks: the last of them
    bytes: int  # of one
    count: int
    steps: int  # in which some were allocated


def leaking_sites(
    columns: MemoryColumns, device: MemoryDevice, chosen: tuple[int, ...], most: int
) -> tuple[AllocationSite, ...]:
    """Sites of blocks that outlive the two steps after theirs, the largest sum first.

    ``chosen`` are the consecutive steps of the test; the last two are too young to tell. A site
    allocates in most of the others.
    """
    steps, blocks, mine = columns.steps, columns.blocks, device.blocks
    old = chosen[:-2]
    if not old or not device.has_addresses:
        return ()
    start = blocks.start[mine]
    step = np.searchsorted(steps.start, start, side="right") - 1
    rows = np.flatnonzero((step >= old[0]) & (step <= old[-1]) & (blocks.end[mine] == NEVER))
    rows += mine.start
    keys = (blocks.bytes[rows], blocks.frame[rows], blocks.module[rows], blocks.path[rows])
    found = []
    for same in equal_rows(*keys):
        group = rows[same]
        in_steps = len(distinct_values(step[group - mine.start]))
        if in_steps >= RISING_RATIO * len(old):
            found.append(
                AllocationSite(int(group[-1]), int(blocks.bytes[group[0]]), len(group), in_steps)
            )
    return tuple(sorted(found, key=lambda one: -one.bytes * one.count)[:most])


def after_warm_up(excluded: tuple[str | None, ...]) -> tuple[int, ...]:
    """The steps of the test: those not left out, without the first where there are others."""
    usual = [at for at, why in enumerate(excluded) if why is None]
    if usual and usual[0] == 0 and len(usual) > 1:
        usual = usual[1:]
    return tuple(usual)
