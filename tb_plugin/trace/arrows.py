"""Links from arrows, for device work that has no correlation.

Ascend draws ``HostToDevice`` from a CANN call and ``async_npu`` from the op; both end at the start
of the kernel. The first recorders drew ``cpu_to_cuda`` from the op.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .activity import Activity
from .categories import DEVICE_ROLES, LAUNCH_FLOWS, OP_FLOWS
from .columns import is_any, look_up, take
from .flows import Arrows, Flows, last_started
from .host import Host
from .model import HostKind
from .nest import innermost_at
from .ops import op_around, op_at
from .raw import RawTrace
from .rows import Rows
from .streams import Streams
from .texts import Texts

I32 = NDArray[np.int32]
I64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class LaunchArrows:
    """Arrows from calls and from ops to device work."""

    calls: Arrows
    ops: Arrows


def launch_arrows(raw: RawTrace, texts: Texts, rows: Rows, flows: Flows) -> LaunchArrows:
    """The arrows to device work; none where all of it has a correlation, which tells more."""
    if _all_correlated(raw, rows):
        nothing = flows.of(raw, texts, ())
        return LaunchArrows(nothing, nothing)
    return LaunchArrows(flows.of(raw, texts, LAUNCH_FLOWS), flows.of(raw, texts, OP_FLOWS))


def _all_correlated(raw: RawTrace, rows: Rows) -> bool:
    correlation = raw.ints.get("correlation")
    if correlation is None:
        return not len(rows.device)
    known = is_any(take(rows.role, correlation.row), DEVICE_ROLES) & (correlation.value >= 0)
    working = is_any(rows.role, DEVICE_ROLES)
    return int(np.count_nonzero(known)) == int(np.count_nonzero(working))


def follow_arrows(
    texts: Texts,
    host: Host,
    device: Activity,
    streams: Streams,
    arrows: LaunchArrows,
    start: int,
    launch: I32,
    op: I32,
) -> None:
    """Fill launch and op of the device rows that have neither launch nor correlation."""
    orphan = (launch < 0) & (device.correlation < 0)
    if not orphan.any() or not len(arrows.calls) + len(arrows.ops):
        return
    sides = _Sides(texts, host, device, streams, orphan, start)
    row, thread, at = sides.touched(arrows.calls)
    offsets = np.searchsorted(host.thread, np.arange(len(host.threads) + 1)).astype(np.int64)
    begun = last_started(offsets, host.ts, thread, at)
    caller = innermost_at(host.ts + host.dur, host.nesting.outer, at, begun)
    is_call = caller >= 0
    is_call[is_call] = host.kind[caller[is_call]] == HostKind.RUNTIME
    launch[row[is_call]] = caller[is_call]
    op[row[is_call]] = op_around(host, caller[is_call])
    op[row[~is_call]] = op_at(host, thread[~is_call], at[~is_call])
    row, thread, at = sides.touched(arrows.ops)
    around = op_at(host, thread, at)
    op[row[around >= 0]] = around[around >= 0]


@dataclass(frozen=True, slots=True, eq=False)
class _Sides:
    """The host and the device that arrows connect."""

    texts: Texts
    host: Host
    device: Activity
    streams: Streams
    orphan: NDArray[np.bool_]
    start: int

    def touched(self, arrows: Arrows) -> tuple[NDArray[np.intp], I32, I64]:
        """Device row, host thread and host time of the arrows that end where an orphan starts."""
        device, size = self.device, len(self.texts)
        source, target = arrows.source, arrows.target
        thread = look_up(source.pid, source.tid, size, self.host.thread_of)
        stream = look_up(target.pid, target.tid, size, self.streams.of_lane)
        at = target.ts - self.start
        offsets = np.searchsorted(device.stream, np.arange(int(device.stream.max()) + 2))
        row = last_started(offsets.astype(np.int64), device.ts, stream, at)
        touched = (row >= 0) & (stream >= 0) & (thread >= 0)
        touched[touched] = (device.ts[row[touched]] == at[touched]) & self.orphan[row[touched]]
        return row[touched], thread[touched], (source.ts - self.start)[touched]
