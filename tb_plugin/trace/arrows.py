"""Links from arrows, for device work that has no correlation.

Ascend draws ``HostToDevice`` from a CANN call and ``async_npu`` from the op; both end at the start
of the kernel. The first recorders drew ``cpu_to_cuda`` from the op.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .activity import Activity
from .categories import LAUNCH_FLOWS, OP_FLOWS
from .columns import look_up
from .flows import Flows, last_started
from .host import Host
from .model import HostKind
from .nest import innermost_at
from .ops import OpIndex
from .raw import RawTrace
from .texts import Texts

I32 = NDArray[np.int32]
I64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """The host, the device, and what the file draws between them."""

    raw: RawTrace
    texts: Texts
    host: Host
    ops: OpIndex
    device: Activity
    flows: Flows
    start: int


def follow_arrows(sides: Sides, launch: I32, op: I32) -> None:
    """Fill launch and op of the device rows that have neither launch nor correlation."""
    host, device = sides.host, sides.device
    orphan = (launch < 0) & (device.correlation < 0)
    if not orphan.any() or not len(sides.flows.end):
        return
    row, thread, at = _ends(sides, LAUNCH_FLOWS, orphan)
    offsets = np.searchsorted(host.thread, np.arange(len(host.threads) + 1)).astype(np.int64)
    begun = last_started(offsets, host.ts, thread, at)
    caller = innermost_at(host.end, host.nesting.outer, at, begun)
    is_call = caller >= 0
    is_call[is_call] = host.kind[caller[is_call]] == HostKind.RUNTIME
    launch[row[is_call]] = caller[is_call]
    op[row[is_call]] = sides.ops.around(host, caller[is_call])
    op[row[~is_call]] = sides.ops.at(thread[~is_call], at[~is_call])
    row, thread, at = _ends(sides, OP_FLOWS, orphan)
    around = sides.ops.at(thread, at)
    op[row[around >= 0]] = around[around >= 0]


def _ends(
    sides: Sides, categories: frozenset[str], orphan: NDArray[np.bool_]
) -> tuple[NDArray[np.intp], I32, I64]:
    """Device row, host thread and host time of the arrows that end where an orphan starts."""
    events, host, device = sides.raw.events, sides.host, sides.device
    source, target = sides.flows.of(sides.texts, categories)
    size = len(sides.texts)
    thread = look_up(events.pid[source], events.tid[source], size, host.thread_of)
    stream = look_up(events.pid[target], events.tid[target], size, _streams(sides))
    at = events.ts[target] - sides.start
    offsets = np.searchsorted(device.stream, np.arange(int(device.stream.max()) + 2))
    row = last_started(offsets.astype(np.int64), device.ts, stream, at)
    touched = (row >= 0) & (stream >= 0) & (thread >= 0)
    touched[touched] = (device.ts[row[touched]] == at[touched]) & orphan[row[touched]]
    return row[touched], thread[touched], (events.ts[source] - sides.start)[touched]


def _streams(sides: Sides) -> dict[tuple[int, int], int]:
    """Stream of each (pid, tid) of the device; the first row of a stream knows them."""
    stream, first = np.unique(sides.device.stream, return_index=True)
    rows = sides.device.raw[first]
    pid, tid = sides.raw.events.pid[rows].tolist(), sides.raw.events.tid[rows].tolist()
    return dict(zip(zip(pid, tid, strict=True), stream.tolist(), strict=True))
