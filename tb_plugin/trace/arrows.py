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
from .flows import Flows, last_started
from .host import Host
from .model import HostKind
from .nest import innermost_at
from .ops import OpIndex
from .raw import RawTrace
from .texts import Texts

I32 = NDArray[np.int32]
I64 = NDArray[np.int64]

_Key = tuple[int, int, int]


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
    orphan = np.flatnonzero((launch < 0) & (device.correlation < 0))
    if not len(orphan) or not len(sides.flows.end):
        return
    place = dict(zip(_keys(sides.raw, device.raw[orphan]), orphan.tolist(), strict=True))
    offsets = np.searchsorted(host.thread, np.arange(len(host.threads) + 1)).astype(np.int64)
    row, thread, at = _ends(sides, LAUNCH_FLOWS, place)
    begun = last_started(offsets, host.ts, thread, at)
    caller = innermost_at(host.end, host.nesting.outer, at, begun)
    is_call = caller >= 0
    is_call[is_call] = host.kind[caller[is_call]] == HostKind.RUNTIME
    launch[row[is_call]] = caller[is_call]
    op[row[is_call]] = sides.ops.around(host, caller[is_call])
    op[row[~is_call]] = sides.ops.at(thread[~is_call], at[~is_call])
    row, thread, at = _ends(sides, OP_FLOWS, place)
    around = sides.ops.at(thread, at)
    op[row[around >= 0]] = around[around >= 0]


def _ends(
    sides: Sides, categories: frozenset[str], place: dict[_Key, int]
) -> tuple[NDArray[np.intp], I32, I64]:
    """Device row, host thread and host time of the arrows that end at a place."""
    source, target = sides.flows.of(sides.texts, categories)
    threads = sides.host.threads
    thread_of = {
        key: thread
        for thread, key in enumerate(zip(threads.pid.tolist(), threads.tid.tolist(), strict=True))
    }
    found = [
        (place[end], thread_of[pid, tid], ts - sides.start)
        for end, (pid, tid, ts) in zip(
            _keys(sides.raw, target), _keys(sides.raw, source), strict=True
        )
        if end in place and (pid, tid) in thread_of
    ]
    table = np.array(found, np.int64).reshape(-1, 3)
    return table[:, 0].astype(np.intp), table[:, 1].astype(np.int32), table[:, 2]


def _keys(raw: RawTrace, rows: I32) -> list[_Key]:
    events = raw.events
    return list(
        zip(
            events.pid[rows].tolist(),
            events.tid[rows].tolist(),
            events.ts[rows].tolist(),
            strict=True,
        )
    )
