"""Counter figures of a device by step: integrals by part, and figures derived from them.

``step_counters`` integrates every known counter over the parts of each step, once, when a recording
is read. ``measured`` adds them up over chosen steps; a ``CounterSum`` has the figures.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct

from ...base.arrays import I64
from ...base.intervals import EMPTY, Intervals, complement, merge, overlaps, subtract
from ..device_work import DeviceWork
from ..facts import CounterFacts, Integral, StepCounter
from ..steps import Selection, Windows
from .samples import Series, extremes, integrals, real

LEAST_COVERED_RATIO = 0.8
"""A figure needs samples for so much of its time."""
LOCKED_RATIO = 1e-3
"""A clock that changes by less, over the whole recording, is taken for a locked one."""

PARTS = {
    "compute_ns": "compute",
    "exposed_communication_ns": "exposed_communication",
    "exposed_copy_ns": "exposed_copy",
    "memset_ns": "memset",
    "idle_ns": "idle",
}
"""Parts of a step that sum to it: fields of ``Partition`` and of ``StepCounter``."""
WORK = tuple(part for part in PARTS if part != "idle_ns")


def step_counters(
    work: DeviceWork, windows: Windows, series: Sequence[Series]
) -> list[tuple[StepCounter, ...]]:
    """Per step, each series over the parts of the step as the device saw it."""
    if not series or not len(windows):
        return [()] * len(windows)
    parts = _parts(work, windows)
    cells = len(windows)
    frame = Intervals(windows.start, windows.end)
    pieces = [_cut(part, frame) for part in parts]
    working = _cut(merge(*parts[:-1]), frame)
    columns: list[list[StepCounter]] = []
    for one in series:
        compute, communication, copy, memset, idle = (
            integrals(one.steps, part.start, part.end, cell, cells) for part, cell in pieces
        )
        seen = extremes(one.steps, *working, cells)
        columns.append(
            [
                StepCounter(
                    compute[at],
                    communication[at],
                    copy[at],
                    memset[at],
                    idle[at],
                    ends.samples,
                    ends.low,
                    ends.high,
                )
                for at, ends in zip(range(cells), seen, strict=True)
            ]
        )
    return list(zip(*columns, strict=True))


def _parts(work: DeviceWork, windows: Windows) -> list[Intervals]:
    """When each part goes on, in the order of ``PARTS``; disjoint, together the windows."""
    busy = EMPTY
    found: list[Intervals] = []
    for layer in (work.compute, work.communication, work.copies, work.memsets):
        found.append(subtract(layer, busy))
        busy = merge(busy, layer)
    found.append(complement(busy, int(windows.start.min()), int(windows.end.max())))
    return found


def _cut(time: Intervals, frame: Intervals) -> tuple[Intervals, I64]:
    """The part of a set inside the windows, and the window of each piece."""
    at, window = overlaps(time, frame)
    start = np.maximum(time.start[at], frame.start[window])
    end = np.minimum(time.end[at], frame.end[window])
    return Intervals(start, end), window.astype(np.int64)


class CounterSum(Struct, frozen=True, dict=True):
    """One counter over the chosen steps of a device."""

    facts: CounterFacts
    parts: dict[str, Integral]  # by part of ``PARTS``
    lengths: dict[str, int]  # of the same parts, covered or not
    samples: int  # that hold while the device works; one that holds in two steps counts twice
    low: int
    high: int

    def integral(self, *parts: str) -> Integral:
        """Over some parts, by default over all of the steps."""
        some = [self.parts[name] for name in parts or PARTS]
        return Integral(sum(one.amount for one in some), sum(one.ns for one in some))

    def covered(self, *parts: str) -> float:
        """The share of these parts that samples cover; 0 where they last no time."""
        length = sum(self.lengths[name] for name in parts or PARTS)
        return self.integral(*parts).ns / length if length else 0.0

    def mean(self, *parts: str) -> float | None:
        """The mean over these parts, weighted by time; None where too little is covered."""
        found = self.integral(*parts)
        if not found.ns or self.covered(*parts) < LEAST_COVERED_RATIO:
            return None
        return real(found.amount / found.ns, self.facts.decimals)

    def total(self, *parts: str) -> float | None:
        """∫ dt in seconds: joules of watts, bytes of bytes per second; None as in ``mean``."""
        if self.mean(*parts) is None:
            return None
        return real(self.integral(*parts).amount, self.facts.decimals) / 1e9

    @cached_property
    def lowest(self) -> float | None:
        """The least sample that held while the device worked."""
        return self._end(self.low)

    @cached_property
    def highest(self) -> float | None:
        """The greatest of them."""
        return self._end(self.high)

    def _end(self, value: int) -> float | None:
        return real(value, self.facts.decimals) if self.mean(*WORK) is not None else None


def is_constant(counter: CounterFacts) -> bool:
    """True if it kept one value throughout: a clock was locked, or never limited."""
    return counter.high - counter.low <= LOCKED_RATIO * abs(counter.high)


def measured(selection: Selection, device: int | None = None) -> tuple[CounterSum, ...]:
    """The counters of a device, by default the chosen one, over the chosen steps."""
    row = selection.device if device is None else device
    if row is None:
        return ()
    seen = [one for step in selection.steps if (one := selection.device_step(step, row))]
    sums: list[CounterSum] = []
    for at, facts in enumerate(selection.facts.devices[row].counters):
        some = [one.counters[at] for one in seen if one.counters]
        held = [one for one in some if one.samples]
        sums.append(
            CounterSum(
                facts=facts,
                parts={
                    name: _added([getattr(one, field) for one in some])
                    for name, field in PARTS.items()
                },
                lengths={name: sum(getattr(one.partition, name) for one in seen) for name in PARTS},
                samples=sum(one.samples for one in held),
                low=min((one.low for one in held), default=0),
                high=max((one.high for one in held), default=0),
            )
        )
    return tuple(sums)


def _added(some: Sequence[Integral]) -> Integral:
    return Integral(sum(one.amount for one in some), sum(one.ns for one in some))


def counter_of(
    sums: Sequence[CounterSum],
    kind: str,
    unit: Callable[[str], bool] = bool,
) -> CounterSum | None:
    """The counter of a kind whose unit is as asked, by default any that is known; None: none."""
    return next((one for one in sums if one.facts.kind == kind and unit(one.facts.unit)), None)
