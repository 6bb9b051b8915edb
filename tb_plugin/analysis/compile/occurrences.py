"""Which compilations lie inside a recording, and when?

By the clock of the handler's record, else by the twin ``…_data: compile_id=F/C`` that torch writes
beside each phase (torch 2.11).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ...base.arrays import I64, distinct_values, matches, search
from ...base.intervals import length_within, union
from ...base.regex import regex
from ...trace.model import Trace

_ID = regex(r"\bcompile_id=(?P<id>\d+/\d+)")
PHASE = regex(r"\(dynamo_timed\)$|^(entire_frame_compile|backend_compile|_compile\b|compile_fx)")
"""A phase of a compilation."""
_CLOCK_NS = 10**18  # since 1970: an earlier zero is no wall clock


def compilations_in(trace: Trace) -> list[tuple[str, int, int]]:
    """Compile id, begin and duration of each compilation, in the order of time."""
    record = trace.compile_record
    told = [
        (one.id, one.start_us * 1000 - trace.base_ns, one.dur_us * 1000)
        for one in (record.compilations if record is not None else ())
        if one.id and one.start_us is not None and one.dur_us is not None
    ]
    if told and trace.base_ns > _CLOCK_NS:
        inside = (one for one in told if one[1] + one[2] > 0 and one[1] < trace.end_ns)
        return sorted(inside, key=lambda one: one[1])
    host = trace.host
    twins = np.flatnonzero(matches(trace.strings, host.name, _ID))
    if not len(twins):
        return []
    busy = np.flatnonzero(matches(trace.strings, host.name, PHASE))
    found: dict[int, tuple[str, int, int]] = {}
    # A twin lies in the outermost range of its compilation.
    for thread in distinct_values(host.thread[twins]).tolist():
        of_thread = busy[host.thread[busy] == thread]
        spans = union(host.ts[of_thread], host.ts[of_thread] + host.dur[of_thread])
        mine = twins[host.thread[twins] == thread]
        at = search(spans.start, host.ts[mine], side="right") - 1
        for row, span in zip(mine.tolist(), at.tolist(), strict=True):
            match = _ID.search(trace.strings[int(host.name[row])])
            if span >= 0 and match and (thread << 32 | span) not in found:
                begin, end = int(spans.start[span]), int(spans.end[span])
                found[thread << 32 | span] = match["id"], begin, end - begin
    return sorted(found.values(), key=lambda one: one[1])


def phases_ns(trace: Trace) -> int:
    """Time in which any thread compiled, as far as the trace has the phases."""
    host = trace.host
    rows = np.flatnonzero(matches(trace.strings, host.name, PHASE))
    spans = union(host.ts[rows], host.end[rows])
    return int((spans.end - spans.start).sum())


def first_compiled_ns(found: Iterable[tuple[str, int, int]], start: I64, end: I64) -> I64:
    """Time of first compilations, those of version 0, within each of some windows."""
    first = [(ts, ts + dur) for identity, ts, dur in found if identity.endswith("/0")]
    spans = union(*(np.array([one[i] for one in first], np.int64) for i in (0, 1)))
    spent: I64 = length_within(spans, start, end)
    return spent
