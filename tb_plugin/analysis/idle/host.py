"""What did the thread that runs the steps do, where no device was recorded?

Each instant belongs to the innermost event open on it, as exclusive time. Its name is kept with the
part of the step that it counts as and with its place in the code.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import I8, I32, I64
from ...base.intervals import Intervals, length_within
from ...trace.model import HostKind, Trace
from ..call_tree.paths import innermost
from ..facts import Held, HostPartition
from ..host_activity import HostRole, Hosts
from ..steps import Windows
from .holders import holders
from .names import HeldNames

PARTS = tuple(name for name in HostPartition.__struct_fields__ if name != "overlap_ns")
_PART = {name.removesuffix("_ns"): at for at, name in enumerate(PARTS)}
_OF_ROLE = {
    HostRole.DATALOADER: "dataloader",
    HostRole.COMMUNICATION: "communication",
    HostRole.COMPILE: "compile",
    HostRole.OPTIMIZER: "optimizer",
    HostRole.BACKWARD: "backward",
}
_OF_KIND = {
    HostKind.OP: "forward",
    HostKind.ANNOTATION: "uninstrumented",
    HostKind.PYTHON: "python",
    HostKind.MODULE: "forward",
    HostKind.RUNTIME: "runtime",
    HostKind.OVERHEAD: "uninstrumented",
    HostKind.OTHER: "uninstrumented",
}


def host_held(names: HeldNames, windows: Windows) -> list[tuple[Held, ...]]:
    """The names that the main thread was in, by step, the largest exclusive time first."""
    hosts = names.hosts
    some = windows.end > windows.start
    if hosts.main < 0 or not some.any():
        return [()] * len(windows)
    spans = Intervals(windows.start[some], windows.end[some])
    frames = Intervals(windows.start, windows.end)
    rows = holders(hosts.trace, hosts, hosts.main, spans, frames)
    return names.held(rows.of(_parts_of(hosts, rows.row)), len(windows), PARTS)


def _parts_of(hosts: Hosts, rows: I32) -> I8:
    """The part of the step that each row counts as: by the role around it, else by its kind."""
    host = hosts.trace.host
    code = np.full(max(HostRole) + 1, -1, np.int32)
    for role, name in _OF_ROLE.items():
        code[role] = _PART[name]
    around = innermost(code[hosts.role], host.parent)[rows]
    of_kind = np.array([_PART[_OF_KIND[kind]] for kind in sorted(_OF_KIND)], np.int32)
    return np.where(around >= 0, around, of_kind[host.kind[rows]]).astype(np.int8)


def parallel(trace: Trace, hosts: Hosts, windows: Windows) -> tuple[I64, I64]:
    """By step: time with an op or call open, summed over threads, and how many threads had any."""
    spent = np.zeros(len(windows), np.int64)
    threads = np.zeros(len(windows), np.int64)
    works: NDArray[np.bool_] = hosts.op | hosts.runtime
    for thread in range(len(trace.threads)):
        busy = length_within(hosts.ranges(works, [thread]), windows.start, windows.end)
        spent += busy
        threads += busy > 0
    return spent, threads
