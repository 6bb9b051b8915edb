"""When was a device idle, and which work and which thread ended it?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...base.arrays import I64
from ...base.intervals import Intervals, overlaps, union
from ...trace.model import Trace
from ..steps import Windows


@dataclass(frozen=True, slots=True)
class IdlePieces:
    """Stretches of idle time of one device, in time order, cut at the windows' edges."""

    start: I64
    end: I64
    window: I64
    thread: I64  # that launched the next work; the main thread where that is not known
    launched: I64  # end of the call that launched it, −1: not known
    following: I64  # row of the device table: the next work; −1 where nothing follows


def idle_pieces(trace: Trace, main: int, windows: Windows, device: int) -> IdlePieces:
    """The idle time of a device in all windows; ``main`` is the main thread, or −1."""
    rows = trace.device.rows_of(device)
    ts = trace.device.ts[rows]
    order = np.argsort(ts, kind="stable")
    ts = ts[order]
    busy = union(ts, ts + trace.device.dur[rows][order])
    far = np.iinfo(np.int64).max
    gap_start = np.concatenate([np.array([-far], np.int64), busy.end])
    gap_end = np.concatenate([busy.start, np.array([far], np.int64)])
    some = windows.end > windows.start
    frames = Intervals(windows.start[some], windows.end[some])
    gap, frame = overlaps(Intervals(gap_start, gap_end), frames)
    start = np.maximum(gap_start[gap], frames.start[frame])
    end = np.minimum(gap_end[gap], frames.end[frame])
    window = np.flatnonzero(some)[frame]
    # The work that ends each gap: of several that start together, any.
    work = np.append(order[np.searchsorted(ts, busy.start, side="left")], -1)[gap]
    work[work >= 0] += rows.start
    launch = np.full(len(gap), -1, np.int64)
    launch[work >= 0] = trace.device.launch[work[work >= 0]]
    known = launch >= 0
    thread = np.full(len(gap), max(main, 0), np.int64)
    launched = np.full(len(gap), -1, np.int64)
    if len(trace.host):
        thread[known] = trace.host.thread[launch[known]]
        launched[known] = trace.host.ts[launch[known]] + trace.host.dur[launch[known]]
    return IdlePieces(start, end, window, thread, launched, work)
