"""In which pass of the training did a rank call a collective, and what wraps its model?

The role of a process group hangs on both: gradients are reduced in the backward pass or between it
and the optimizer, activations of a layer that is cut in the forward pass. What is called elsewhere
(a metric behind the optimizer) tells nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ....base.arrays import I8, I64, matches
from ....base.intervals import Intervals
from ....base.regex import regex
from ....trace.model import Trace
from ...call_tree.paths import innermost
from ...host_activity import HostRole, Hosts
from ...steps import Windows
from ..model import Phase
from .calls import Call
from .points import steps_of

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
    """The ``Phase`` of each call."""
    backward = hosts.with_role(HostRole.BACKWARD)
    if not len(calls) or not backward.any():
        return np.full(len(calls), Phase.UNKNOWN, np.int8)
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
    result = np.full(len(calls), Phase.ELSEWHERE, np.int8)
    result[(begins < optimizes) & (begins < high)] = Phase.FORWARD
    result[(ended > optimized) & (ended > low) & (optimizes <= begins) & (optimizes < high)] = (
        Phase.BACKWARD
    )
    result[(caller >= 0) & within[caller]] = Phase.BACKWARD
    seen = np.array([one.caller >= 0 or bool(one.device_rows) for one in calls])
    result[(caller < 0) | ~seen] = Phase.UNKNOWN  # of a worker's range, the call is not known
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
