"""Counter figures of groups of device work: the kernels of one name, class or launch.

Each figure is over the union of a group's intervals, so that work side by side counts once in its
group. Groups that run at the same time share the device, and each is told all of its power: the
figures of groups do not sum to those of the device.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import F64, I64, ColumnTable
from ...base.intervals import length_before
from .measured import LEAST_COVERED_RATIO
from .samples import Series, before

LEAST_SAMPLES = 20
MEMORY_BOUND_PERCENT = 60.0
SM_ACTIVE_PERCENT = 80.0
"""A group is bound by memory when DRAM is this busy while the multiprocessors are."""


class GroupWork(ColumnTable, frozen=True, eq=False):
    """When each group works on one device: its union, by group and time; shape (pieces,)."""

    group: I64
    start: I64
    end: I64


def union_by_group(group: NDArray[np.integer], start: I64, end: I64) -> GroupWork:
    """The union of the intervals of each group; intervals come in any order."""
    keep = end > start
    of: I64 = group[keep].astype(np.int64)
    start, end = start[keep], end[keep]
    if not len(of):
        return GroupWork(of, start, end)
    order = np.lexsort((start, of))
    of, start, end = of[order], start[order], end[order]
    # Each group on a stretch of its own, so that one running maximum serves all.
    low = int(start.min())
    span = int(end.max()) - low + 1
    reach = np.maximum.accumulate(end - low + of * span)
    first = np.append(True, start[1:] - low + of[1:] * span > reach[:-1])
    head = np.flatnonzero(first)
    last = np.append(head[1:] - 1, len(start) - 1)
    return GroupWork(of[head], start[head], reach[last] - of[head] * span + low)


class GroupFigure(ColumnTable, frozen=True, eq=False):
    """One kind of counter by group; NaN where samples cover too little; shape (groups,)."""

    mean: F64
    total: F64  # ∫ dt in unit · s
    samples: I64  # that hold while the group runs


def group_figures(
    series: Sequence[Series],
    works: Mapping[int, GroupWork],
    groups: int,
) -> GroupFigure:
    """One counter by group, from its series of each device. ``works``: the work by device.

    Traffic in bytes per second whose peak is known is told in percent of it.
    """
    amount, covered = np.zeros(groups), np.zeros(groups, np.int64)
    samples = np.zeros(groups, np.int64)
    for one in series:
        work = works.get(one.device)
        if work is None or not len(work):
            continue
        by = 10.0**-one.facts.decimals * (100.0 / one.facts.peak if one.facts.peak else 1.0)
        exact = np.zeros(groups, np.int64)
        np.add.at(exact, work.group, before(one.steps, work.end) - before(one.steps, work.start))
        amount += exact * by
        held = one.steps.covered
        length_of = length_before(held, work.end) - length_before(held, work.start)
        np.add.at(covered, work.group, length_of)
        samples += _samples(one, work, groups)
    length = np.zeros(groups, np.int64)
    for work in works.values():
        np.add.at(length, work.group, work.end - work.start)
    enough = (covered > 0) & (covered >= LEAST_COVERED_RATIO * length)
    mean = np.where(enough, amount / np.maximum(covered, 1), np.nan)
    return GroupFigure(mean, np.where(enough, amount / 1e9, np.nan), samples)


def _samples(one: Series, work: GroupWork, groups: int) -> I64:
    """Number of samples that hold while each group runs; each counts once in a group."""
    steps = one.steps
    low = np.searchsorted(steps.end, work.start, side="right")
    high = np.searchsorted(steps.start, work.end, side="left")
    # Pieces of a group are in order of time: what the one before reached is counted already.
    before_ = np.append(0, high[:-1])
    before_[np.append(True, work.group[1:] != work.group[:-1])] = 0
    count = np.zeros(groups, np.int64)
    np.add.at(count, work.group, np.maximum(high - np.maximum(low, before_), 0))
    return count


def is_memory_bound(dram: GroupFigure, sm_active: GroupFigure) -> NDArray[np.bool_]:
    """Groups in which DRAM keeps the multiprocessors waiting, both in percent; shape (groups,)."""
    told = (dram.samples >= LEAST_SAMPLES) & (sm_active.samples >= LEAST_SAMPLES)
    busy = (dram.mean >= MEMORY_BOUND_PERCENT) & (sm_active.mean >= SM_ACTIVE_PERCENT)
    return np.asarray(told & busy)
