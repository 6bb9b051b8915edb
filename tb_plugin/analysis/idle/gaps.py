"""When was a device idle, which work ended it, and what was the device doing for it meanwhile?

A gap [a, b) of a device ends with its next work, whose call began at l and returned at r. The gap
is cut there, and at what a device needs by itself:

    device  ▒▒▒▒▒                              ▒▒▒▒▒
    call             l├────────┤r
            …    a────┼────────┼────┬──────────b
                 host │ launch │ λ  │ device waits        l > a: the work did not exist yet

    device  ▒▒▒▒▒                 ▒▒▒▒▒
    call     ├──┤r   a────┬───────b
                       τ  │ device waits                  r ≤ a: it was queued

λ (launch latency: call returned → work begins, on an empty queue) and τ (gap between two queued
neighbours of one stream) are learned from the trace, because both differ between devices by a
factor of ten and may be 0.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ...base.arrays import I8, I32, I64, put, search, take, where
from ...base.intervals import Intervals, complement, overlaps
from ...trace.model import Link, Trace
from ..device_work import DeviceWork
from ..facts import Learned
from ..steps import Windows

LEAST_SAMPLES = 30
FALLBACK_LATENCY_NS, FALLBACK_GAP_NS = 10_000, 2_000
AMD_LATENCY_NS, AMD_GAP_NS = 20_000, 0
_QUEUED_NS = 5_000  # a call that returned so long before the work ahead ended had queued its work
_MOST_TIMES = 4  # p90 of a constant is believed up to so many times its median
_PERCENTILE = 90
MOST_NS = 100_000  # no device needs longer by itself


class Ending(IntEnum):
    """The call that ended a gap."""

    KNOWN = 0
    UNKNOWN = 1  # the work is there, its call is not
    BEFORE = 2  # the call came before the recording
    NOTHING = 3  # no work follows


class IdlePieces(Struct, frozen=True):
    """Stretches of idle time of one device, in time order, cut at the windows' edges."""

    start: I64
    end: I64
    window: I32
    thread: I32  # that launched the next work; the main thread where that is not known
    begun: I64  # start of the call that launched it; ``end`` where no call is known
    launched: I64  # end of that call, −1: not known
    following: I32  # row of the device table: the next work; −1 where nothing follows
    call: I32  # row of the host table: the call; −1
    ending: I8  # Ending

    def only(self, chosen: I64) -> IdlePieces:
        """Some of them."""
        return IdlePieces(*(getattr(self, column)[chosen] for column in self.__struct_fields__))

    def without(self, some: Intervals) -> IdlePieces:
        """Parts of gaps outside of some stretches of time; each still leads to the next work."""
        if not len(some) or not len(self.start):
            return self
        rest = complement(some, int(self.start[0]), int(self.end[-1]))
        mine, kept = overlaps(Intervals(self.start, self.end), rest)
        start = np.maximum(self.start[mine], rest.start[kept])
        end = np.minimum(self.end[mine], rest.end[kept])
        return replace(self.only(mine), start=start, end=end)


def idle_pieces(work: DeviceWork, main: int, windows: Windows) -> IdlePieces:
    """The idle time of a device in all windows; ``main`` is the main thread, or −1."""
    busy = work.busy
    far = np.iinfo(np.int64).max
    gap_start = np.concatenate([np.array([-far], np.int64), busy.end])
    gap_end = np.concatenate([busy.start, np.array([far], np.int64)])
    some = windows.end > windows.start
    frames = Intervals(windows.start[some], windows.end[some])
    gap, frame = overlaps(Intervals(gap_start, gap_end), frames)
    start = np.maximum(take(gap_start, gap), take(frames.start, frame))
    end = np.minimum(take(gap_end, gap), take(frames.end, frame))
    window = take(np.flatnonzero(some).astype(np.int32), frame)
    # The work that ends each gap: of several that start together, any.
    place = search(take(work.ts, work.by_time), busy.start)
    ends = take(work.by_time, place) + work.slice.start
    following = take(np.append(ends, -1).astype(np.int32), gap)
    return _with_calls(work.trace, main, start, end, window, following)


def _with_calls(
    trace: Trace, main: int, start: I64, end: I64, window: I32, work: I32
) -> IdlePieces:
    """The calls that launched the work after each gap, and their threads."""
    device, host = trace.device, trace.host
    call, op = (np.full(len(work), -1, np.int32) for _ in range(2))
    some = where(work >= 0)
    follows = take(work, some)
    put(call, some, take(device.launch, follows))
    put(op, some, take(device.op, follows))
    ending = np.full(len(work), Ending.NOTHING, np.int8)
    ending[some] = Ending.UNKNOWN
    ending[some[take(device.link, follows) == Link.PROLOGUE]] = Ending.BEFORE
    thread = np.full(len(work), max(main, 0), np.int32)
    begun, launched = end.copy(), np.full(len(work), -1, np.int64)
    # Where no call was recorded but its op was, the work is launched by the end of that op.
    for row, is_op in ((op, True), (call, False)):
        known = where((row >= 0) & (call < 0)) if is_op else where(row >= 0)
        rows = take(row, known)
        ending[known] = Ending.KNOWN
        put(thread, known, take(host.thread, rows))
        called = take(host.ts, rows)
        returned = called + take(host.dur, rows)
        put(launched, known, returned)
        put(begun, known, returned if is_op else called)
    return IdlePieces(start, end, window, thread, begun, launched, work, call, ending)


class DeviceSide(Struct, frozen=True):
    """The device's part of each piece: it begins at ``ready``, when the work was launched.

    ``latency_ns``, ``gap_ns``, ``wait_ns``, ``graph_ns`` and ``before_ns`` sum to the rest of it.
    """

    ready: I64
    latency_ns: I64
    gap_ns: I64
    wait_ns: I64
    graph_ns: I64
    before_ns: I64

    def only(self, chosen: I64) -> DeviceSide:
        """Some of them."""
        return DeviceSide(*(getattr(self, column)[chosen] for column in self.__struct_fields__))


def device_side(trace: Trace, pieces: IdlePieces, learned: Learned) -> DeviceSide:
    """Divide the rest of each piece after the launch (module docstring)."""
    known = pieces.ending == Ending.KNOWN
    before = pieces.ending == Ending.BEFORE
    ready = np.where(known, np.clip(pieces.launched, pieces.start, pieces.end), pieces.end)
    ready[before] = pieces.start[before]
    rest = pieces.end - ready
    nothing = np.zeros(len(rest), np.int64)
    in_graph = known & _inside_graph(trace, pieces)
    plain = known & ~in_graph
    queued = plain & (pieces.launched <= pieces.start)
    gap = np.where(queued, np.minimum(rest, learned.gap_ns), nothing)
    # Launched just before the work ahead ended: the latency is not over yet.
    latency = np.maximum(pieces.launched + learned.latency_ns - (ready + gap), 0)
    latency = np.where(plain, np.minimum(latency, rest - gap), nothing)
    return DeviceSide(
        ready=ready,
        latency_ns=latency,
        gap_ns=gap,
        wait_ns=np.where(plain, rest - gap - latency, nothing),
        graph_ns=np.where(in_graph, rest, nothing),
        before_ns=np.where(before, rest, nothing),
    )


def _inside_graph(trace: Trace, pieces: IdlePieces) -> np.ndarray:
    """True for pieces within a replay: work of the same launch began before the gap."""
    device = trace.device
    inside = np.zeros(len(pieces.start), np.bool_)
    some = np.flatnonzero(pieces.following >= 0)
    some = some[device.link[pieces.following[some]] == Link.GRAPH]
    if not len(some):
        return inside
    graph = np.flatnonzero(device.link == Link.GRAPH)
    launch, ts = device.launch[graph], device.ts[graph]
    order = np.lexsort((ts, launch))
    launch, ts = launch[order], ts[order]
    first = np.searchsorted(launch, pieces.call[some], side="left")
    inside[some] = ts[first] < pieces.end[some]
    return inside


def learn(work: DeviceWork) -> Learned:
    """λ and τ of a device, from the work that tells; a fallback where too little does."""
    trace, ts = work.trace, work.ts
    follows = work.is_launched & (trace.device.link[work.slice] == Link.CORRELATION)
    follows[1:] &= np.diff(trace.device.stream[work.slice]) == 0
    follows[:1] = False
    some = where(follows)
    before = some - np.int32(1)
    ahead = take(ts, before) + take(work.dur, before)
    ts, begun, returned = take(ts, some), take(work.begun, some), take(work.returned, some)
    amd = trace.devices[work.device].vendor == "AMD"
    gap, gaps = _usual(
        (ts - ahead)[returned < ahead - _QUEUED_NS], AMD_GAP_NS if amd else FALLBACK_GAP_NS
    )
    lag, lags = _usual(
        (ts - returned)[(ahead <= begun) & (ts >= returned)],
        AMD_LATENCY_NS if amd else FALLBACK_LATENCY_NS,
    )
    return Learned(lag, lags, gap, gaps)


def _usual(samples: I64, fallback: int) -> tuple[int, int]:
    """The 90th percentile, at least 0, and the number of samples; 0 for the fallback.

    More than a tenth of the samples may be waits: they must not be what is usual.
    """
    count = len(samples)
    if count < LEAST_SAMPLES:
        return fallback, 0
    places = [count // 2, min(count - 1, count * _PERCENTILE // 100)]
    middle, high = np.partition(samples, places)[places].tolist()
    return max(0, min(high, max(_MOST_TIMES * middle, fallback), MOST_NS)), count
