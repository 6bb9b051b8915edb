"""Which ranges, frames and ops of the host take most of a step, and which names are there at all?

A rank that runs what no other rank runs, or runs it for longer, is named with that. Names are
compared without their numbers: ``rank2_work`` is ``rank3_work`` of another rank. The passes of the
training, and the wrapper of the model, tell the roles of process groups.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ....base.arrays import I8, I64, matches, of_names
from ....base.intervals import Intervals
from ....base.regex import regex
from ....trace.model import HostKind, Trace
from ...call_tree.paths import innermost
from ...host_activity import BACKEND_RANGE, HostRole, Hosts
from ...idle.places import is_own_frame
from ...steps import Windows
from ..model import LEAST_RANGE, MOST_NAMES, MOST_RANGES, DigestRanges, TrainingPass
from .calls import Call
from .points import steps_of

_NUMBER = regex(r"0x[0-9a-f]+|\d+", re.IGNORECASE)


@lru_cache(maxsize=4096)
def common_name(name: str) -> str:
    """A name as all ranks write it.

    >>> common_name("evaluate_rank12 at 0x7f3a")
    'evaluate_rank# at #'
    """
    return _NUMBER.sub("#", name)


def ranges_of(
    trace: Trace, hosts: Hosts, windows: Windows, code: Callable[[str], int]
) -> DigestRanges:
    """Names with at least 0.2 % of each step, at most 20 a step; O(events × log events)."""
    host = trace.host
    told, of_row = _told(trace, hosts), host.step.astype(np.int64)
    if trace.steps.source == "iteration":
        between = np.flatnonzero(told & (of_row < 0))
        of_row[between] = steps_of(windows, host.ts[between].tolist())
    rows = np.flatnonzero(told & (of_row >= 0) & (of_row < len(windows)))
    rows = rows[_outermost(trace, rows)]
    key = of_row[rows] * len(trace.strings) + host.name[rows]
    found, of_key = np.unique(key, return_inverse=True)
    total = np.bincount(of_key.reshape(-1), host.dur[rows], len(found)).astype(np.int64)
    step, name = found // max(len(trace.strings), 1), found % max(len(trace.strings), 1)
    large = total >= LEAST_RANGE * (windows.end - windows.start)[step]
    kept: list[int] = []
    for number in range(len(windows)):
        here = np.flatnonzero(large & (step == number))
        kept.extend(here[np.argsort(-total[here], kind="stable")[:MOST_RANGES]].tolist())
    return DigestRanges(
        step=step[kept].astype(np.int32),
        name=np.array([code(trace.text(int(one))) for one in name[kept]], np.int32),
        total_ns=total[kept],
    )


def names_of(trace: Trace, hosts: Hosts) -> I64:
    """Hashes of the names of the same events in all steps; empty where there are too many."""
    used = np.unique(trace.host.name[_told(trace, hosts)])
    hashes = {hash_of(trace.text(int(name))) for name in used.tolist()}
    return np.array(sorted(hashes) if len(hashes) <= MOST_NAMES else [], np.int64)


def hash_of(name: str) -> int:
    """A number of 16 bits for a name without its numbers.

    Of two names with one number, each looks as if other ranks ran it: nothing is claimed of it.
    """
    return zlib.crc32(common_name(name).encode()) & 0xFFFF


def _told(trace: Trace, hosts: Hosts) -> NDArray[np.bool_]:
    """Ranges, ops, modules, frames of the user's code and what these call, such as `sleep`.

    No marks of steps, no exchanges.
    """
    host = trace.host
    own = of_names(trace.strings, host.name, is_own_frame, np.bool_)
    above = host.parent
    above = np.where((above >= 0) & hosts.marker[above], host.parent[above], above)
    own |= (above >= 0) & own[above]
    exchange = of_names(
        trace.strings, host.name, lambda text: BACKEND_RANGE.match(text) is not None, np.bool_
    )
    kinds = np.isin(host.kind, (HostKind.OP, HostKind.ANNOTATION, HostKind.MODULE))
    shown = kinds | ((host.kind == HostKind.PYTHON) & own)
    told: NDArray[np.bool_] = shown & ~hosts.marker & ~hosts.collective & ~exchange
    return told


def _outermost(trace: Trace, rows: I64) -> NDArray[np.int64]:
    """Those of the rows that lie in none of the same name on their thread."""
    host = trace.host
    if not len(rows):
        return rows
    order = np.lexsort((-host.dur[rows], host.ts[rows], host.thread[rows], host.name[rows]))
    there = rows[order]
    fresh = np.ones(len(there), np.bool_)
    fresh[1:] = (np.diff(host.name[there]) != 0) | (np.diff(host.thread[there]) != 0)
    ts, end = host.ts[there].astype(np.int64), (host.ts[there] + host.dur[there]).astype(np.int64)
    room = int(end.max() - ts.min()) + 1
    shift = np.cumsum(fresh) * room - int(ts.min())
    reach = np.maximum.accumulate(shift + end)
    outer = np.concatenate([[True], (shift + ts)[1:] >= reach[:-1]])
    rows_of_outer: I64 = order[outer]
    return rows_of_outer


# --- passes of the training -----------------------------------------------------------------------

_STEPS = regex(r"^Optimizer\.step\b")
_WRAPPERS = (
    ("data", regex(r"^DistributedDataParallel\.forward$|ddp\.reducer::|distributed::reducer::")),
    ("sharded", regex(r"^FSDP::|^FullyShardedDataParallel\.|torch/distributed/fsdp/")),
)


def wrappers_of(trace: Trace, hosts: Hosts) -> tuple[str, ...]:
    """The roles of what wraps the model by names of its ranges: DDP "data", FSDP "sharded"."""
    return tuple(
        role for role, pattern in _WRAPPERS if matches(trace.strings, hosts.names, pattern).any()
    )


def phases_of(trace: Trace, hosts: Hosts, windows: Windows, calls: Sequence[Call]) -> I8:
    """The ``TrainingPass`` of each call.

    Gradients are reduced in the backward pass or between it and the optimizer, activations of a
    layer that is cut in the forward pass; calls elsewhere (a metric behind the optimizer) tell
    nothing of the role of their group.
    """
    backward = hosts.with_role(HostRole.BACKWARD)
    if not len(calls) or not backward.any():
        return np.full(len(calls), TrainingPass.UNKNOWN, np.int8)
    passes = hosts.ranges(backward)
    steps = hosts.ranges(matches(trace.strings, trace.host.name, _STEPS))
    within = innermost(backward.view(np.int8) - np.int8(1), trace.host.parent) >= 0
    at = np.array([one.issue for one in calls], np.int64)
    caller = np.array([one.caller if one.caller >= 0 else one.host for one in calls], np.int64)
    step = steps_of(windows, at.tolist())
    low = np.where(step >= 0, windows.start[step], 0)
    high = np.where(step >= 0, windows.end[step], trace.end_ns)
    ended, optimized = _last(passes, at, low), _last(steps, at, low)
    begins, optimizes = _next(passes, at, high), _next(steps, at, high)
    result = np.full(len(calls), TrainingPass.ELSEWHERE, np.int8)
    result[(begins < optimizes) & (begins < high)] = TrainingPass.FORWARD
    result[(ended > optimized) & (ended > low) & (optimizes <= begins) & (optimizes < high)] = (
        TrainingPass.BACKWARD
    )
    result[(caller >= 0) & within[caller]] = TrainingPass.BACKWARD
    seen = np.array([one.caller >= 0 or bool(one.device_rows) for one in calls])
    # The call that a range of a worker's thread belongs to is not known.
    result[(caller < 0) | ~seen] = TrainingPass.UNKNOWN
    return result


def _last(found: Intervals, at: I64, low: I64) -> I64:
    """The last end before each instant, no earlier than ``low``."""
    ends = np.concatenate([[-1], found.end])
    result: I64 = np.maximum(ends[np.searchsorted(found.end, at, "right")], low)
    return result


def _next(found: Intervals, at: I64, high: I64) -> I64:
    """The next start behind each instant, no later than ``high``."""
    starts = np.concatenate([found.start, [np.iinfo(np.int64).max]])
    result: I64 = np.minimum(starts[np.searchsorted(found.start, at)], high)
    return result
