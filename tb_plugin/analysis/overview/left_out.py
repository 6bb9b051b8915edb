"""Which steps are left out by default: those that were cut off, and a slow first one?"""

from __future__ import annotations

import numpy as np

from ...base.arrays import I64, Mask, is_among, median
from ...trace.link.iterations import read_name
from ...trace.model import Trace

INCOMPLETE = "incomplete"
WARM_UP = "warm-up"
COMPLETE_RATIO = 0.8  # a last step with less than this part of any other's work was cut off
WARM_UP_RATIO = 1.5  # a first step this much longer than the median is warming up
WARM_UP_STEPS = 3  # … told from this many steps on


def left_out(trace: Trace, length: I64, work: I64) -> tuple[str | None, ...]:
    """Why each step is left out by default: a truncated tail, a slow first step, or None.

    Iterations of an engine differ in their work by phase, so that only those of one phase and batch
    size are compared, and a long first one is no warm-up.
    """
    reason: list[str | None] = [INCOMPLETE if cut else None for cut in _unfinished(trace)]
    of_engine = trace.steps.source == "iteration"
    kinds = [_kind_of(trace.text(code)) if of_engine else None for code in trace.steps.name]
    last = len(reason) - 1
    if work.any():
        while last > 0 and not work[last]:
            reason[last] = INCOMPLETE
            last -= 1
        alike = [int(work[i]) for i in range(last) if kinds[i] == kinds[last]]
        if alike and work[last] < COMPLETE_RATIO * min(alike):
            reason[last] = INCOMPLETE
    complete = np.array([why is None for why in reason])
    if complete.sum() >= WARM_UP_STEPS and complete[0] and not of_engine:
        usual = median(length[complete])
        if length[0] > WARM_UP_RATIO * usual:
            reason[0] = WARM_UP
    return tuple(reason)


def _kind_of(name: str) -> tuple[str, int | None] | None:
    told = read_name(name)
    return (told.phase, told.batch) if told is not None else None


def _unfinished(trace: Trace) -> Mask:
    """Steps whose range was still open when the recording ended, or that began after the loop."""
    if any(note.kind == "after_loop" for note in trace.health.notes):
        return np.ones(len(trace.steps), np.bool_)
    finished = trace.host.args.get("finished")
    if finished is None:
        return np.zeros(len(trace.steps), np.bool_)
    open_rows = finished.row[finished.value == 0]
    result: Mask = is_among(trace.steps.host, open_rows) & (trace.steps.host >= 0)
    return result
