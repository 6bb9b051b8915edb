"""The first pass over a file: what stands behind the place where it is used.

The ends of slices, and, in torch's own files, where each piece of work of a device ended.
"""

from __future__ import annotations

import re
from collections import Counter

from ...base.regex import regex
from .packets import Event, Kind, Packets, Sequence
from .slices import GroupPairs, SlicePairs, StackPairs, wrapped
from .wire import BadPacket, Frames, Loss

_LANE = regex(r"\[(\d{1,9})\] (.*)", re.DOTALL | re.ASCII)


class Notes:
    """What was odd: how often, and the place and a number of the first."""

    def __init__(self) -> None:
        self.count: Counter[str] = Counter()
        self.first: dict[str, tuple[int, int]] = {}

    def add(self, kind: str, place: int, value: int, count: int = 1) -> None:
        """Count some; ``value`` is a size, a field number or an iid, as the kind says."""
        self.count[kind] += count
        self.first[kind] = min(self.first.get(kind, (place, value)), (place, value))

    def merged(self, other: Notes) -> Notes:
        """Both."""
        result = Notes()
        for notes in (self, other):
            for kind, count in notes.count.items():
                result.add(kind, *notes.first[kind], count)
        return result


def lane_of(sequence: Sequence, iid: int) -> tuple[str, str]:
    """A lane of a device in a file of torch's: number and label, from "[000007] stream 7"."""
    match = _LANE.fullmatch(sequence.specs.get(iid, ""))
    return (str(int(match[1])), match[2]) if match else (str(iid), f"lane {iid}")


class Survey:
    """Takes a file piece by piece."""

    def __init__(self) -> None:
        self.frames = Frames()
        self.packets = Packets(self.frames.data)
        self.slices: SlicePairs | None = None
        self.ends: dict[int, tuple[int, int, str]] = {}
        """Event id → end in ns, GPU and lane of a device's work."""
        self.notes = Notes()
        self.rows = 0
        self.event_bytes = 0
        self._lost_before = False  # right before the first slice

    def feed(self, piece: bytes, *, last: bool) -> None:
        """Take the next bytes of the file; ``last`` when none follow."""
        for taken in self.frames.feed(piece, last=last):
            if isinstance(taken, Loss):
                self.notes.add(taken.kind, taken.place, taken.bytes)
                self._lost(wide=taken.wide)
                continue
            try:
                events = self.packets.read(taken)
            except BadPacket:
                self._lost(wide=False)
                continue
            before = self.rows
            for event in events:
                self._take(event)
            self._lost_before = False
            if self.rows > before:
                self.event_bytes += taken.bytes
        if last and self.slices is not None:
            self.slices.finish()
            if self.slices.unpaired:
                self.notes.add("unpaired_end", -1, 0, self.slices.unpaired)

    def _lost(self, *, wide: bool) -> None:
        self._lost_before = True
        if self.slices is not None:
            self.slices.lost(wide=wide)

    def _take(self, event: Event) -> None:
        if event.kind in (Kind.TRACK, Kind.OTHER):
            return
        self.rows += 1
        if event.kind in (Kind.BEGIN, Kind.END):
            if self.slices is None:
                self.slices = GroupPairs() if self.packets.from_torch else StackPairs()
                if self._lost_before:
                    self.slices.lost(wide=False)
            told = self.slices.begin if event.kind is Kind.BEGIN else self.slices.end
            told(event.ts, event.track)
        elif event.kind is Kind.STAGE and self.packets.from_torch:
            work = event.message
            lane, _ = lane_of(event.sequence, work.number(13))
            end = wrapped(event.ts + work.number(2))
            self.ends[work.number(1)] = (end, work.number(11), lane)
