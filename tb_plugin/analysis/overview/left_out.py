"""Which steps, and which end of the recording, are left out: cut off, slow, or the recorder's?"""

from __future__ import annotations

import numpy as np

from ...base.arrays import I64, Mask, is_among, matches, median
from ...base.regex import regex
from ...trace.link.iterations import read_name
from ...trace.model import HostKind, Trace
from ..compile.occurrences import compilations_in, first_compiled_ns

INCOMPLETE = "incomplete"
WARM_UP = "warm-up"
COMPLETE_RATIO = 0.8  # a last step with less than this part of any other's work was cut off
WARM_UP_RATIO = 1.5  # a first step this much longer than the median is warming up
WARM_UP_STEPS = 3  # … told from this many steps on
COMPILE_RATIO = 0.01  # of a step: a step with more first compilation is warming up


TAIL_RATIO = 0.05  # of the last step: a shorter end without work is no matter
_STOPS = regex(r"^\w+DeviceSynchronize$")  # what the recorder calls when it stops


def tail_of(trace: Trace, start: int, end: int) -> int:
    """The end of the last step in which only the recorder ran, behind all work of devices, in ns.

    It begins behind the last work, where the recorder's own events, or a synchronization of the
    device, are all that is left of the host, but for ranges that are still open.
    """
    host, device = trace.host, trace.device
    if not len(device) or not len(host):
        return 0
    work = int(device.end.max())
    late = np.flatnonzero(host.end > work)
    stops = (host.kind[late] == HostKind.RUNTIME) & (host.ts[late] >= work)
    stops &= matches(trace.strings, host.name[late], _STOPS)
    own = stops | (host.kind[late] == HostKind.OVERHEAD)
    others = late[~own & (host.kind[late] != HostKind.ANNOTATION)]
    until = max(work, int(host.end[others].max(initial=0)))
    is_long = end - until > TAIL_RATIO * (end - start)
    return end - until if own.any() and until > start and is_long else 0


def left_out(trace: Trace, start: I64, end: I64, work: I64) -> tuple[str | None, ...]:
    """Why each step is left out by default: a truncated tail, warm-up, or None.

    Warm-up is a slow first step, and each step in which code is compiled for the first time, as
    long as another one is left.

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
        usual = median((end - start)[complete])
        if end[0] - start[0] > WARM_UP_RATIO * usual:
            reason[0] = WARM_UP
    compiled = first_compiled_ns(compilations_in(trace), start, end)
    warm = (compiled > COMPILE_RATIO * (end - start)).tolist()
    hot = [why is None and is_warm for why, is_warm in zip(reason, warm, strict=True)]
    if sum(hot) < reason.count(None):
        reason = [WARM_UP if one else why for one, why in zip(hot, reason, strict=True)]
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
