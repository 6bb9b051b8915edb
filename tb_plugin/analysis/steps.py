"""From when to when does a step last, seen from host and device together?

A step begins on the host and ends when the last device work it launched has ended, so it is
extended by that work and the next step begins no earlier: windows are laid end to end and never
overlap.

    host     ├─ step 1 ─┤├─ step 2 ─┤
    device      ▒▒▒▒▒▒▒▒▒▒▒▓▓▓▓▓▓▓▓▓▓▓
    windows  ├─── 1 ──────┤├── 2 ────┤

``outliers`` marks steps that are unusually long or short.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..base.arrays import I64, is_among
from ..trace.model import HostKind, Trace
from .facts import Facts

INCOMPLETE = "incomplete"
WARM_UP = "warm-up"
COMPLETE_RATIO = 0.8  # a last step with less than this part of any other's work was cut off
WARM_UP_RATIO = 1.5  # a first step this much longer than the median is warming up
WARM_UP_STEPS = 3  # … told from this many steps on


@dataclass(frozen=True, slots=True, eq=False)
class Windows:
    """The windows of all steps in order; ``start[i] ≤ end[i] ≤ start[i + 1]``; shape (steps,)."""

    host_start: I64
    host_end: I64
    start: I64
    end: I64
    launches: I64  # calls that launched device work in this step
    device_events: I64  # device work launched in this step
    excluded: tuple[str | None, ...]

    def __len__(self) -> int:
        return len(self.start)

    @property
    def edges(self) -> I64:
        """start, end, start, end …: cell 2i is window i, cell 2i + 1 the gap after it."""
        edges = np.empty(2 * len(self), np.int64)
        edges[0::2], edges[1::2] = self.start, self.end
        return edges


def step_windows(trace: Trace) -> Windows:
    """The windows of all steps; those to leave out by default are marked, never dropped."""
    host_start, host_end = trace.steps.ts, trace.steps.end
    count = len(host_start)
    if not count or not (len(trace.host) or len(trace.device)):
        nothing = np.zeros(0, np.int64)
        return Windows(nothing, nothing, nothing, nothing, nothing, nothing, ())
    if trace.steps.source == "whole_trace":
        start, end = _whole(trace)
        events, launches = np.array([len(trace.device)]), np.array([_distinct(trace.device.launch)])
        return Windows(host_start, host_end, start, end, launches, events, (None,))
    first, last, events, launches = _device_work(trace, count)
    start, end = _end_to_end(trace, first, last, events)
    work = events if events.any() else _ops_per_step(trace, count)
    if (launches[events > 0] > 0).all() and launches.any():
        # A replay of a graph is one launch, however much it starts.
        work = launches
    excluded = _mark(end - start, work, unfinished=_unfinished(trace))
    return Windows(host_start, host_end, start, end, launches, events, excluded)


def _whole(trace: Trace) -> tuple[I64, I64]:
    """One window around all events with a duration, on the host and on devices."""
    tables = [table for table in (trace.host, trace.device) if len(table)]
    start = min(int(table.ts.min()) for table in tables)
    end = max(int(table.end.max()) for table in tables)
    return np.array([start]), np.array([end])


def _device_work(trace: Trace, count: int) -> tuple[I64, I64, I64, I64]:
    """Per step: first start and last end of its device work, its amount, its number of calls."""
    device = trace.device
    first = np.full(count, np.iinfo(np.int64).max, np.int64)
    last = np.full(count, np.iinfo(np.int64).min, np.int64)
    events = np.bincount(device.step + 1, minlength=count + 1)[1:].astype(np.int64)
    if len(device):
        # Work of one step lies together on each stream: what is compared is runs, not rows.
        run = np.flatnonzero(np.diff(device.step, prepend=-2))
        step = device.step[run]
        own = step >= 0
        np.minimum.at(first, step[own], np.minimum.reduceat(device.ts, run)[own])
        np.maximum.at(last, step[own], np.maximum.reduceat(device.end, run)[own])
    # A call launches in one step, however much it launches.
    step_of_call = np.full(len(trace.host), -1, np.int32)
    launched = np.flatnonzero((device.step >= 0) & (device.launch >= 0))[::-1]
    step_of_call[device.launch[launched]] = device.step[launched]
    launches = np.bincount(step_of_call + 1, minlength=count + 1)[1:].astype(np.int64)
    return first, last, events, launches


def _end_to_end(trace: Trace, first: I64, last: I64, events: I64) -> tuple[I64, I64]:
    """Each step from the end of the one before, or its own start, to the end of its last work."""
    host_start, host_end = trace.steps.ts, trace.steps.end
    start, end = np.empty_like(host_start), np.empty_like(host_end)
    reached = _prologue_end(trace, first, events)
    for i in range(len(host_start)):
        start[i] = max(reached, host_start[i])
        end[i] = max(host_end[i], start[i], last[i] if events[i] else start[i])
        reached = end[i]
    return start, end


def _prologue_end(trace: Trace, first: I64, events: I64) -> int:
    """The end of device work launched before the first step."""
    begin = int(trace.steps.ts[0])
    if not events[0]:
        return begin
    device = trace.device
    before = (device.step < 0) & (device.end < first[0])
    return max(begin, int(device.end[before].max())) if before.any() else begin


def _ops_per_step(trace: Trace, count: int) -> I64:
    """The number of ops of each step, for runs without device work."""
    ops = trace.host.step[(trace.host.kind == HostKind.OP) & (trace.host.step >= 0)]
    return np.bincount(ops, minlength=count).astype(np.int64)


def _unfinished(trace: Trace) -> NDArray[np.bool_]:
    """Steps whose range was still open when the recording ended."""
    finished = trace.host.args.get("finished")
    if finished is None:
        return np.zeros(len(trace.steps), np.bool_)
    open_rows = finished.row[finished.value == 0]
    result: NDArray[np.bool_] = is_among(trace.steps.host, open_rows) & (trace.steps.host >= 0)
    return result


def _mark(length: I64, work: I64, unfinished: NDArray[np.bool_]) -> tuple[str | None, ...]:
    """Why each step is left out by default: a truncated tail, a slow first step, or None."""
    reason: list[str | None] = [INCOMPLETE if cut else None for cut in unfinished]
    last = len(reason) - 1
    if work.any():
        while last > 0 and not work[last]:
            reason[last] = INCOMPLETE
            last -= 1
        if last > 0 and work[last] < COMPLETE_RATIO * int(work[:last].min()):
            reason[last] = INCOMPLETE
    complete = np.array([why is None for why in reason])
    if complete.sum() >= WARM_UP_STEPS and complete[0]:
        usual = float(np.median(length[complete]))
        if length[0] > WARM_UP_RATIO * usual:
            reason[0] = WARM_UP
    return tuple(reason)


def _distinct(rows: NDArray[np.int32]) -> int:
    return int(np.count_nonzero(np.bincount(rows[rows >= 0])))


_MAD_TO_SIGMA = 1.4826
SIGMAS = 3.5
LEAST_RATIO = 0.05  # of the median: below this a difference is not worth a mark


def outliers(facts: Facts) -> tuple[bool, ...]:
    """Per step: |length − median| > 3.5 σ and > 5 % of the median.

    σ is told by the median absolute deviation; the median is that of the steps not left out by
    default.
    """
    lengths = [step.dur_ns for step in facts.steps]
    usual = [
        length for length, step in zip(lengths, facts.steps, strict=True) if step.excluded is None
    ]
    if len(usual) < 3:
        return (False,) * len(lengths)
    middle = float(np.median(usual))
    limit = max(SIGMAS * sigma_of(usual), LEAST_RATIO * middle)
    return tuple(abs(length - middle) > limit for length in lengths)


def sigma_of(values: Sequence[int]) -> float:
    """The deviation of values by the median distance from their median."""
    middle = float(np.median(values))
    return _MAD_TO_SIGMA * float(np.median([abs(value - middle) for value in values]))
