"""The first pass over a file: what stands behind the place where it is used.

The ends of slices, and, in torch's own files, where each piece of work of a device ended.
"""

from __future__ import annotations

import re

from kinetoscope.base.regex import regex
from kinetoscope.trace.perfetto.native import Notes
from tests.reference.perfetto.wire import BadPacket, Frames, Loss

from .packets import Event, Kind, Packets, Sequence
from .slices import GroupPairs, SlicePairs, StackPairs, wrapped

_LANE = regex(r"\[(\d{1,9})\] (.*)", re.DOTALL | re.ASCII)


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
