"""Which end belongs to which begin? Answered once per file, before its slices are written.

torch writes slices in groups: all begins of a group, then all its ends in the same order. There the
k-th end belongs to the k-th begin, whatever overlaps:

    begin A   begin B   end A   end B        A and B may overlap, on one track

Everybody else closes the innermost open slice of a track.

Where packets were lost, a group is matched from its front up to the loss and from its back down to
it; what is between has no end, and neither has what would match another track.
"""

from __future__ import annotations

from array import array
from typing import Protocol

OPEN, LOST = -(1 << 63), -(1 << 63) + 1
"""In place of a duration: the slice never ends; its end cannot be told."""
_MOST = 1 << 63


def wrapped(value: int) -> int:
    """``value`` as a signed integer of 64 bits."""
    return (value + _MOST) % (1 << 64) - _MOST


class SlicePairs(Protocol):
    """The durations of the slices of a file, in the order of their begins."""

    durations: array[int]
    unpaired: int
    """Ends without a begin."""

    def begin(self, ts: int, track: int) -> None:
        """The next slice begins."""
        ...

    def end(self, ts: int, track: int) -> None:
        """A slice ends."""
        ...

    def lost(self, *, wide: bool) -> None:
        """A packet was lost here, or, if ``wide``, perhaps several."""
        ...

    def finish(self) -> None:
        """The file ends."""
        ...


class StackPairs:
    """An end closes the innermost open slice of its track."""

    def __init__(self) -> None:
        self.durations = array("q")
        self.unpaired = 0
        self._open: dict[int, list[tuple[int, int]]] = {}

    def begin(self, ts: int, track: int) -> None:
        """The next slice begins."""
        self._open.setdefault(track, []).append((len(self.durations), ts))
        self.durations.append(OPEN)

    def end(self, ts: int, track: int) -> None:
        """A slice ends."""
        open_ = self._open.get(track)
        if not open_:
            self.unpaired += 1
            return
        row, began = open_.pop()
        self.durations[row] = max(LOST + 1, wrapped(ts - began))

    def lost(self, *, wide: bool) -> None:
        """A packet was lost here: the innermost open slice may be another one than it seems."""

    def finish(self) -> None:
        """The file ends: what is open stays so."""


class GroupPairs:
    """The k-th end of a group closes its k-th begin."""

    def __init__(self) -> None:
        self.durations = array("q")
        self.unpaired = 0
        self._start()

    def _start(self) -> None:
        self._begins: tuple[array[int], array[int]] = (array("q"), array("Q"))  # ts and track
        self._ends: tuple[array[int], array[int]] = (array("q"), array("Q"))
        self._begin_gaps: list[int] = []  # how many begins were before a loss
        self._end_gaps: list[int] = []
        self._front_lost = self._back_lost = False  # by a loss of unknown length

    def begin(self, ts: int, track: int) -> None:
        """The next slice begins; the first behind an end begins a group."""
        if self._ends[0]:
            gap = self._end_gaps[-1:] == [len(self._ends[0])]
            self.finish()
            self._begin_gaps = [0] if gap else []
        self._begins[0].append(ts)
        self._begins[1].append(track)

    def end(self, ts: int, track: int) -> None:
        """A slice ends."""
        self._ends[0].append(ts)
        self._ends[1].append(track)

    def lost(self, *, wide: bool) -> None:
        """A packet was lost here, or, if ``wide``, perhaps several."""
        if self._ends[0]:
            self._end_gaps.append(len(self._ends[0]))
            self._back_lost |= wide
        else:
            self._begin_gaps.append(len(self._begins[0]))
            self._front_lost |= wide

    def finish(self) -> None:
        """The group ends."""
        begins, ends = len(self._begins[0]), len(self._ends[0])
        front, back = self._matched(begins, ends)
        first = len(self.durations)
        self.durations.extend(array("q", [LOST]) * begins)
        matched = 0
        for index in range(front):
            matched += self._match(first, index, index)
        for index in range(1, back + 1):
            matched += self._match(first, begins - index, ends - index)
        self.unpaired += ends - matched
        self._start()

    def _matched(self, begins: int, ends: int) -> tuple[int, int]:
        """How many begins and ends match from the front, and how many from the back.

        Where it is not known how much was lost, the end of the group may be among it, and the begin
        of the next one.
        """
        begin_gaps, end_gaps = self._begin_gaps, self._end_gaps
        if begin_gaps[-1:] == [begins]:  # lost between the last begin and the first end
            if self._front_lost:
                return 0, 0
            if ends <= begins:
                begin_gaps = [gap for gap in begin_gaps if gap < begins]
            if ends < begins:
                end_gaps = [0, *end_gaps]
        front = min([begins, ends, *begin_gaps[:1], *end_gaps[:1]])
        back = min(
            begins - max(begin_gaps, default=0),
            ends - max(end_gaps, default=0),
            begins - front,
            ends - front,
        )
        return 0 if self._front_lost else front, 0 if self._back_lost else back

    def _match(self, first: int, begin: int, end: int) -> bool:
        dur = wrapped(self._ends[0][end] - self._begins[0][begin])
        if self._ends[1][end] != self._begins[1][begin] or dur < 0:
            return False
        self.durations[first + begin] = dur
        return True
