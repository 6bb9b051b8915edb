"""How much of a collective did nothing hide, and how much of that held the rank up?

*Exposed* is the time of a collective in which nothing computed. *Blocking* is the part of it in
which the next work was already issued: had the exchange been free, this time would have been gone.
In the rest the host had not issued anything yet, so that the device would have been idle anyway.

    comm     ████████████████
    compute  ████                  ▒▒▒ next kernel
    host              ▲ launch of it
             covered  host  block
             4        5     7

Defined in the design notes on overlap; the gain of faster communication is at most the blocking
part, summed over all collectives.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from ....base.arrays import I64, Mask
from ....base.intervals import Intervals, length_within, subtract, union
from ....trace.model import DeviceClass, Trace
from ...host_activity import Hosts

_TOLERANCE_NS = 2_000
PARTS = 8
"""Of a collective whose cover by compute is kept."""


class Exposure(Struct, frozen=True, eq=False):
    """Per collective; exposed = blocking + host-limited + unknown."""

    exposed_ns: I64
    blocking_ns: I64
    unknown_ns: I64
    covered: I64  # (n, PARTS): time under compute in each eighth


def computing(trace: Trace, hosts: Hosts) -> Intervals:
    """When this rank computed: kernels; without a device, ops that are no collectives."""
    device = trace.device
    if len(device):
        rows = device.klass == DeviceClass.COMPUTE
        return union(device.ts[rows], device.ts[rows] + device.dur[rows])
    return hosts.ranges(working_ops(trace, hosts))


def working_ops(trace: Trace, hosts: Hosts) -> Mask:
    """Ops that compute: no collectives, nor ops that call one and may wait for it.

    FSDP gathers in hooks of the backward pass, inside an op of autograd: what else runs in it is
    marked by itself.
    """
    works: Mask = hosts.op & ~hosts.collective
    around = trace.host.parent[np.flatnonzero(hosts.op & hosts.collective)]
    while len(around := around[around >= 0]):
        works[around] = False
        around = trace.host.parent[around]
    return works


def exposure(trace: Trace, hosts: Hosts, busy: Intervals, arrival: I64, release: I64) -> Exposure:
    """The exposure of collectives between two instants each; shape of the columns (n,)."""
    edges = arrival[:, None] + (release - arrival)[:, None] * np.arange(PARTS + 1) // PARTS
    covered = np.stack(
        [length_within(busy, edges[:, part], edges[:, part + 1]) for part in range(PARTS)], axis=1
    ) if len(arrival) else np.zeros((0, PARTS), np.int64)  # fmt: skip
    exposed = (release - arrival) - covered.sum(axis=1)
    if not len(trace.device):
        # On the host the waiting thread is held up by all of it that it does not work through.
        return Exposure(exposed, exposed.copy(), np.zeros_like(exposed), covered)
    blocking, unknown = np.zeros_like(exposed), np.zeros_like(exposed)
    next_start, next_launch = _next_work(trace)
    spans = _blocking_spans(trace, hosts)
    for at, (low, high) in enumerate(zip(arrival.tolist(), release.tolist(), strict=True)):
        bare = subtract(Intervals(np.array([low]), np.array([high])), busy)
        for x, y in zip(bare.start.tolist(), bare.end.tolist(), strict=True):
            held, open_ = _blocking(x, y, next_start, next_launch, spans)
            blocking[at] += held
            unknown[at] += open_
    return Exposure(exposed, blocking, unknown, covered)


def _blocking(
    x: int, y: int, starts: I64, launches: I64, spans: tuple[I64, I64]
) -> tuple[int, int]:
    """Of an exposed piece the blocking time and the unknown time."""
    low = int(np.searchsorted(spans[0], y, side="left"))
    # A call that waits for the exchange begins before its end and returns after it.
    waiting = np.flatnonzero(spans[1][:low] >= y - _TOLERANCE_NS)
    since = int(spans[0][:low][waiting].min()) if len(waiting) else y
    at = int(np.searchsorted(starts, y - _TOLERANCE_NS))
    if at == len(starts):
        held = max(y - max(x, since), 0)
        return held, (y - x) - held
    launch = int(launches[at])
    if launch < 0:
        return 0, y - x
    host_limited = min(max(launch - x, 0), y - x)
    by_itself = max(min(x + host_limited, y) - max(x, since), 0)
    return (y - x) - host_limited + by_itself, 0


def _next_work(trace: Trace) -> tuple[I64, I64]:
    """Compute in the order of its start, and when each was launched (−1 unknown)."""
    device = trace.device
    rows = np.flatnonzero(device.klass == DeviceClass.COMPUTE)
    rows = rows[np.argsort(device.ts[rows], kind="stable")]
    launch = device.launch[rows]
    return device.ts[rows], np.where(
        launch >= 0, trace.host.ts[np.maximum(launch, 0)] if len(trace.host) else -1, -1
    )


def _blocking_spans(trace: Trace, hosts: Hosts) -> tuple[I64, I64]:
    """Calls that wait for the device, in the order of their start."""
    rows = np.flatnonzero(hosts.blocking)
    rows = rows[np.argsort(trace.host.ts[rows], kind="stable")]
    return trace.host.ts[rows], trace.host.ts[rows] + trace.host.dur[rows]
