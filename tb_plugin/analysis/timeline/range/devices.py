"""Busy time of the devices and values of the counters within a range of time."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from msgspec import Struct

from ....base.intervals import EMPTY, Intervals, complement, intersect, merge, subtract, union
from ..model import DEVICE_TRACKS, Counter, SliceKind
from ..timeline import Opened
from .sums import Area, inside, slices_in

_COMPUTE = (SliceKind.COMPUTE, SliceKind.DEVICE_OTHER)  # as everywhere: work that is nothing else
_COPY = (SliceKind.MEMCPY,)
_REST = (SliceKind.MEMSET,)
NO_START_UP: Mapping[str, Intervals] = MappingProxyType({})


class AreaDevice(Struct, frozen=True):
    """One device within an area; busy + idle + unknown = the length of the area."""

    label: str
    busy_ns: int
    idle_ns: int
    unknown_ns: int  # not busy in the head of the recording, or in start-up
    compute_ns: int
    communication_ns: int
    overlap_ns: int  # of compute and communication
    copy_ns: int
    gaps: int
    longest_gap_ns: int
    longest_gap_ts: int | None


def devices_in(
    opened: Opened,
    start: int,
    end: int,
    head: int = 0,
    start_up: Mapping[str, Intervals] = NO_START_UP,
) -> tuple[AreaDevice, ...]:
    """Every device that has streams, over all of them; each figure is the length of a union.

    A device is busy or not, whichever rows of the picture are looked at. Until ``head`` it may
    have been on work launched before the recording, so no gap there is idle. Nor is one in
    ``start_up`` (by the key of the device's group).
    """
    timeline = opened.timeline
    streams: dict[int, list[int]] = {}
    for number, track in enumerate(opened.layout.tracks):
        if track.kind in DEVICE_TRACKS:
            streams.setdefault(track.group, []).append(number)
    found = []
    for number, tracks in sorted(streams.items()):
        group = timeline.groups[number]
        not_idle = start_up.get(group.key, EMPTY)
        found.append(_device(opened, group.label, Area(start, end, tuple(tracks)), head, not_idle))
    return tuple(found)


def _device(opened: Opened, label: str, area: Area, head: int, start_up: Intervals) -> AreaDevice:
    slices = opened.timeline.slices
    ids = slices_in(opened, area)
    cut = inside(slices, ids, area.start, area.end)
    kind, stop = slices.kind[ids], cut.ts + cut.dur

    def of(*kinds: SliceKind) -> Intervals:
        chosen = np.isin(kind, kinds)
        return union(cut.ts[chosen], stop[chosen]) if chosen.any() else EMPTY

    compute, communication = of(*_COMPUTE), of(SliceKind.COMMUNICATION)
    copy = of(*_COPY)
    busy = merge(compute, communication, copy, of(*_REST))
    known = min(max(area.start, head), area.end) if head else area.start
    gaps = subtract(complement(busy, known, area.end), start_up)
    lengths = gaps.end - gaps.start
    longest = int(lengths.argmax()) if len(gaps) else -1
    return AreaDevice(
        label=label,
        busy_ns=busy.total_ns,
        idle_ns=gaps.total_ns,
        unknown_ns=area.length - busy.total_ns - gaps.total_ns,
        compute_ns=compute.total_ns,
        communication_ns=communication.total_ns,
        overlap_ns=intersect(compute, communication).total_ns,
        copy_ns=copy.total_ns,
        gaps=len(gaps),
        longest_gap_ns=int(lengths[longest]) if len(gaps) else 0,
        longest_gap_ts=int(gaps.start[longest]) if len(gaps) else None,
    )


class SeriesUse(Struct, frozen=True):
    """Figures of a series within a range; None: no value yet."""

    low: float | None
    high: float | None
    mean: float | None  # weighted by time
    delta: float | None  # value at the end less the value at the start


def series_in(counter: Counter, start: int, end: int) -> SeriesUse:
    """Figures of a series in [start, end). A value holds until the next sample."""
    first = int(np.searchsorted(counter.ts, start, side="right")) - 1
    last = int(np.searchsorted(counter.ts, end, side="left"))
    first = max(first, 0)
    values = np.asarray(counter.value[first:last], np.float64)
    if not len(values):
        return SeriesUse(None, None, None, None)
    edges = np.append(np.maximum(counter.ts[first:last], start), end)
    spans = np.diff(edges).astype(np.float64)
    weight = float(spans.sum())
    # Samples of one instant have no length, but peaks count.
    mean = float((values * spans).sum()) / weight if weight > 0 else float(values.mean())
    return SeriesUse(float(values.min()), float(values.max()), mean, float(values[-1] - values[0]))
