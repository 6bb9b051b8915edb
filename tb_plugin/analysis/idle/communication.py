"""How much of a device's communication holds it up, and would be gained if it cost nothing?

Exposed is what no kernel hides. Of each exposed piece [x, y) the next compute kernel k on the
device, launched at l, tells whether it was the collective that kept it waiting:

    collective  x██████████████y
    call              l├┤               [x, l) host-limited: k did not exist yet
    k                           ██      [l, y) blocking

The host may itself have waited for the collective before it launched k: what it spent in blocking
calls counts as blocking. Without a k, or a known launch of it, nothing tells.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import I64, distinct_values
from ...base.intervals import Intervals, length_within, overlaps, subtract, union
from ...trace.model import DeviceClass, Trace
from ..facts import Communication
from ..host_activity import Hosts
from ..steps import Windows


def communication(trace: Trace, hosts: Hosts, windows: Windows, device: int) -> list[Communication]:
    """The communication of a device (row of ``Trace.devices``) by step."""
    rows = trace.device.rows_of(device)
    klass = trace.device.klass[rows]
    if not (klass == DeviceClass.COMMUNICATION).any():
        return [Communication()] * len(windows)
    compute = np.flatnonzero(klass == DeviceClass.COMPUTE) + rows.start
    kernels = _ranges(trace, compute)
    collectives = _ranges(trace, np.flatnonzero(klass == DeviceClass.COMMUNICATION) + rows.start)
    some = windows.end > windows.start
    frames = Intervals(windows.start[some], windows.end[some])
    exposed = subtract(collectives, kernels)
    piece, frame = overlaps(exposed, frames)
    start = np.maximum(exposed.start[piece], frames.start[frame])
    end = np.minimum(exposed.end[piece], frames.end[frame])
    window = np.flatnonzero(some)[frame]
    limited, known = _host_limited(trace, hosts, compute, start, end, exposed.end[piece])
    length = end - start

    def per_window(values: I64) -> list[int]:
        sums: list[int] = np.bincount(window, values, len(windows)).astype(np.int64).tolist()
        return sums

    columns = (
        length_within(collectives, windows.start, windows.end).tolist(),
        per_window(length),
        per_window(np.where(known, length - limited, 0)),
        per_window(np.where(known, limited, 0)),
        per_window(np.where(known, 0, length)),
    )
    return [Communication(*one) for one in zip(*columns, strict=True)]


def _host_limited(
    trace: Trace, hosts: Hosts, compute: I64, start: I64, end: I64, whole_end: I64
) -> tuple[I64, NDArray[np.bool_]]:
    """Of each piece the time before the launch of the next kernel; False: that is not known."""
    ts = trace.device.ts[compute]
    order = np.argsort(ts, kind="stable")
    at = np.searchsorted(ts[order], whole_end)
    follows = at < len(order)
    known = follows.copy()
    launch = np.full(len(at), -1, np.int64)
    launch[follows] = trace.device.launch[compute[order[at[follows]]]]
    known &= launch >= 0
    limited = np.zeros(len(at), np.int64)
    begun, thread = limited.copy(), np.full(len(at), -1)
    begun[known] = trace.host.ts[launch[known]]
    thread[known] = trace.host.thread[launch[known]]
    limited[known] = np.clip(begun[known] - start[known], 0, (end - start)[known])
    for one in distinct_values(thread[known]).tolist():
        mine = (thread == one) & (limited > 0)
        waits = hosts.ranges(hosts.blocking, [one])
        limited[mine] -= length_within(waits, start[mine], start[mine] + limited[mine])
    return limited, known


def _ranges(trace: Trace, rows: I64) -> Intervals:
    ts = trace.device.ts[rows]
    return union(ts, ts + trace.device.dur[rows])


def exposed_alone(trace: Trace, rows: I64, busy: Intervals, windows: Windows) -> I64:
    """The union of some device work, per step, in which nothing of ``busy`` runs."""
    alone = subtract(_ranges(trace, rows), busy)
    return length_within(alone, windows.start, windows.end)
