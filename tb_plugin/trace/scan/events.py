"""The members of ``traceEvents``, including damaged ones as far as they can be repaired.

The meaning of a text is defined member by member (``_member``): strict JSON; else what ``repair``
makes of the text up to the next place where an event begins; else it is skipped. Runs of events
that are strict JSON mean the same when they are decoded at once (``Runs``). So neither
columns nor faults depend on where a run begins or ends.

The time is linear in the size of the text, whatever it holds: what was found behind a member is
remembered for the next one, and futile searches for the end of a value are bounded by ``Effort``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from ...base.regex import regex
from ..raw import FaultLog
from .cursor import Effort, Lookahead, Probe, ScanLimits, TextWindow, probe
from .json_values import Json, decode_strict, shown
from .repair import MAX_BYTES, Unrepairable, repair

# How an event begins, and which keys follow the array: how to find one's way behind damage. Bounds
# keep a match shorter than _OVERLAP.
_EVENT = regex(rb'\{\s{0,200}"(?:ph|name|cat|pid|tid|ts|dur|args|id|bp|s)"\s{0,200}:')
_ARRAY_END = regex(
    rb'\]\s{0,200},\s{0,200}"(?:schemaVersion|deviceProperties|traceName|displayTimeUnit'
    rb"|baseTimeNanoseconds|distributedInfo|trace_id|record_shapes|with_stack|profile_memory"
    rb"|with_flops|with_modules|host_name|otherData|metadata|systemTraceEvents|stackFrames|samples"
    rb'|INFO|WARNING|ERROR|\w{1,60}_version)"\s{0,200}:'
)
_OVERLAP = 1024
_COMMAS = regex(rb"[, \t\r\n]*")
_BLANKS = b" \t\r\n"

_TAIL = 64 * 1024

Event = Mapping[str, Json]


class Sink(Protocol):
    """Takes events in the order of the text."""

    @property
    def rows(self) -> int:
        """The number of events taken."""
        ...

    def runs(self, limits: ScanLimits) -> Runs:
        """The way in which it takes many events at once."""
        ...

    def events(self, events: Sequence[Event], starts: Sequence[int], end: int) -> None:
        """Takes events that begin at ``starts``; the last one ends before ``end``."""
        ...


class Runs(Protocol):
    """Takes what can be taken at once; the rest is read member by member."""

    def take(self, window: TextWindow) -> bool:
        """Hands over events from the window's position, and moves behind the last of them.

        False when that is not possible here, so that the next members must be read one by one.
        """
        ...

    def singles(self) -> int:
        """The number of members to read one by one where no run is possible."""
        ...


class EventReader:
    """Reads the members of one list of events after the other into a sink."""

    def __init__(
        self, sink: Sink, faults: FaultLog, limits: ScanLimits, tick: Callable[[], None]
    ) -> None:
        self.covered_bytes = 0  # of text that is events, and what stands between them
        self.effort = Effort()
        self._sink = sink
        self._faults = faults
        self._limits = limits
        self._tick = tick
        self._runs = sink.runs(limits)
        self._close = b"]"
        self._stops = _Stops(limits.value_bytes)

    @property
    def rows(self) -> int:
        """The number of events so far."""
        return self._sink.rows

    def read(self, window: TextWindow) -> bool:
        """Reads from behind ``[`` to behind ``]``; False when the text ends before."""
        self._close = b"]"
        return self._read(window)

    def read_lines(self, window: TextWindow) -> bool:
        """Read events that follow one another without a list, to the end of the text.

        False when that is in the middle of an event.
        """
        self._close = b""
        return self._read(window)

    def _read(self, window: TextWindow) -> bool:
        while True:
            self._tick()
            if self._sink.rows > self._limits.events:
                self._faults.add("too_many_events", f"{self._sink.rows} were read", window.place)
                return False
            before = window.place
            if self._runs.take(window):
                self.covered_bytes += window.place - before
                self._comma(window)
                continue
            batch = _Batch(self._sink, self._faults)
            ended = self._singly(window, batch, self._runs.singles())
            batch.flush()
            if ended is not None:
                return ended

    def _singly(self, window: TextWindow, batch: _Batch, count: int) -> bool | None:
        """Reads up to ``count`` members; True behind the end of the list, False where all ends."""
        for _ in range(count):
            char = window.gap(self._faults)
            while char == b",":
                self._stray_commas(window)
                char = window.gap(self._faults)
            if char == self._close:
                window.pos += len(char)
                return True
            if not char:
                self._faults.add("truncated", "before the end of the list of events", window.place)
                return False
            if not self._member(window, batch):
                return False
            self._comma(window)
            self._tick()
        return None

    def _stray_commas(self, window: TextWindow) -> None:
        commas = _COMMAS.match(window.data, window.pos)
        if commas:
            count = window.data.count(b",", *commas.span())
            self._faults.add("stray_comma", "before an event", window.place, count=count)
            window.pos = commas.end()

    def _comma(self, window: TextWindow) -> None:
        """Behind an event: takes the comma that leads to the next one."""
        char = window.gap(self._faults)
        if char == b",":
            place = window.place
            window.pos += 1
            if window.gap(self._faults) == b"]":
                self._faults.add("stray_comma", "behind the last event", place)
        elif char == b"{" and self._close:
            self._faults.add("missing_comma", window.seen(100), window.place)

    def _member(self, window: TextWindow, batch: _Batch) -> bool:
        """Reads one member; False when the text ends inside it."""
        before = window.place
        seen = probe(window, self._limits.value_bytes, self.effort.spare(before))
        found, length = seen.found, seen.length
        if found is Lookahead.VALUE and window.peek_behind(length) in (b",", b"]", b"{", b"/", b""):
            text = window.data[window.pos : window.pos + length]
            if not self._strict(window, batch, text) and not self._repaired(window, batch, text):
                self._skip(window, length)
            return True
        go_on = self._damaged(window, batch, seen)
        self.effort.wasted += max(0, seen.seen - (window.place - before))
        return go_on

    def _damaged(self, window: TextWindow, batch: _Batch, seen: Probe) -> bool:
        """A member that is no JSON, or that something odd follows; False when the text ends."""
        found, length, _ = seen
        if found is Lookahead.OVERSIZED:
            return self._oversized(window)
        stop = self._stops.next(window)
        if stop < 0:
            return self._last(window, batch, seen) if window.eof else self._oversized(window)
        stop = max(stop, 1)  # without a list around it, a bracket that closes one is a stop itself
        text = window.data[window.pos : window.pos + stop].rstrip(_BLANKS + b",")
        if self._repaired(window, batch, text):
            return True
        if found is Lookahead.VALUE and self._strict(window, batch, text[:length]):
            text = text[length:]
        self._skip(window, len(text))
        return True

    def _strict(self, window: TextWindow, batch: _Batch, text: bytes) -> bool:
        try:
            value = decode_strict(text)
        except ValueError:
            return False
        self._take(window, batch, value, text)
        return True

    def _repaired(self, window: TextWindow, batch: _Batch, text: bytes) -> bool:
        if not text.startswith(b"{"):
            return False
        try:
            value, kinds = repair(text)
        except Unrepairable:
            return False
        for kind in kinds:
            self._faults.add(kind, text, window.place)
        self._take(window, batch, value, text)
        return True

    def _take(self, window: TextWindow, batch: _Batch, value: Json, text: bytes) -> None:
        batch.add(value, window.place, len(text))
        window.pos += len(text)
        self.covered_bytes += len(text)

    def _skip(self, window: TextWindow, length: int) -> None:
        behind = window.pos + length
        text = window.data[window.pos : behind].lstrip(_BLANKS)
        if text:
            kind = "skipped_event" if text.startswith(b"{") else "skipped_text"
            window.pos = behind - len(text)
            self._faults.add(kind, text.rstrip(_BLANKS), window.place)
        window.pos = behind

    def _last(self, window: TextWindow, batch: _Batch, seen: Probe) -> bool:
        """A damaged member with no event behind it; False when the text ends inside it."""
        closed = self._stops.closing(window) if self._close else -1
        if window.data.startswith(b"{", window.pos):
            for end in (closed, len(window.data)) if closed >= 0 else (len(window.data),):
                if self._repaired_to(window, batch, end):
                    return True
            text = window.data[window.pos : window.pos + max(seen.length, 0)]
            if seen.found is Lookahead.VALUE and self._strict(window, batch, text):
                return True
        if closed >= 0 and seen.found is not Lookahead.OPEN:
            self._skip(window, closed - window.pos)
            return True
        left = f"{window.left} bytes after the last complete event: {window.seen(150)}"
        self._faults.add("truncated", left, window.place)
        window.pos = len(window.data)
        return False

    def _repaired_to(self, window: TextWindow, batch: _Batch, end: int) -> bool:
        """Repairs all the rest as one event, if that is not too much to be tried in vain."""
        size = end - window.pos
        weight = size * Effort.REPAIR_WEIGHT
        if size > MAX_BYTES or weight > self.effort.spare(window.place):
            return False
        if self._repaired(window, batch, window.data[window.pos : end].rstrip(_BLANKS + b",")):
            return True
        self.effort.wasted += weight
        return False

    def _oversized(self, window: TextWindow) -> bool:
        """Leaves out a member that is larger than the limit; False when no other event follows."""
        self._faults.add("oversized", window.seen(100), window.place)
        window.pos += 1
        while True:
            self._tick()
            distance = self._stops.next(window)
            if distance >= 0:
                skipped = window.data[window.pos : window.pos + distance].rstrip(_BLANKS)
                window.pos += len(skipped.removesuffix(b","))
                return True
            if window.eof:
                window.pos = len(window.data)
                return False
            window.pos = max(window.pos + 1, len(window.data) - _TAIL)


class _Stops:
    """Places where the next event or the end of the list seems to be; no text is searched twice.

    Places are those of the text, so that they stay right when the window moves.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._event = -1  # The last one that was found.
        self._end = -1
        self._no_event = self._no_end = 0  # None begins before, from where the search began.
        self._closing: int | None = None

    def next(self, window: TextWindow) -> int:
        """Distance to where the next event begins, or the list ends; −1 when neither is seen."""
        while True:
            self._look(window)
            found = [at for at in (self._event, self._end) if at >= window.place]
            if found:
                return min(found) - window.place
            if window.left >= self._most_bytes or not window.grow():
                return -1

    def closing(self, window: TextWindow) -> int:
        """Index of the bracket that closes the list where the text ends; −1: it does not."""
        if self._closing is None:
            text = window.data.rstrip()
            if text.endswith(b"}"):
                text = text[:-1].rstrip()
            self._closing = window.offset + len(text) - 1 if text.endswith(b"]") else -1
        at = self._closing - window.offset
        return at if at >= window.pos else -1

    def _look(self, window: TextWindow) -> None:
        """Looks for both in the text in memory, from where it was not searched yet."""
        data, offset = window.data, window.offset
        most = offset + len(data)
        if self._event <= window.place:
            start = max(window.pos + 1, self._no_event - offset)
            self._event = _first_event(data, start)
            if self._event >= 0:
                self._event += offset
            seen = self._event if self._event >= 0 else most - _OVERLAP
            self._no_event = max(self._no_event, seen)
        # An end behind the next event is of no use yet.
        most = min(most, self._event + _OVERLAP) if self._event >= 0 else most
        if self._end < window.place:
            start = max(window.pos, self._no_end - offset)
            end = _ARRAY_END.search(data, start, max(start, most - offset))
            self._end = end.start() + offset if end else -1
            self._no_end = max(self._no_end, self._end if end else most - _OVERLAP)


def _first_event(data: bytes, start: int) -> int:
    for match in _EVENT.finditer(data, start):
        # Behind a colon or an opening bracket it is a part of this event.
        if _before(data, match.start()) not in b":[":
            return match.start()
    return -1


def _before(data: bytes, at: int) -> bytes:
    """The last byte before ``at`` that is no white space."""
    while at > 0 and data[at - 1] in _BLANKS:
        at -= 1
    return data[at - 1 : at]


class _Batch:
    """Events read one by one, on their way to the sink."""

    def __init__(self, sink: Sink, faults: FaultLog) -> None:
        self._sink = sink
        self._faults = faults
        self._events: list[Event] = []
        self._places: list[int] = []
        self._end = 0

    def add(self, value: Json, place: int, length: int) -> None:
        """Takes the value of one member."""
        if not isinstance(value, dict):
            self._faults.add("not_an_event", shown(value), place)
            return
        self._events.append(value)
        self._places.append(place)
        self._end = place + length

    def flush(self) -> None:
        """Hand over the collected events."""
        if self._events:
            self._sink.events(self._events, self._places, self._end)


# --- blocks of sound events -----------------------------------------------------------------------

_CUT = regex(rb"\}(?=[ \t\r\n]*,[ \t\r\n]*\{)")
_SMALL = 64 * 1024
_FEW, _MANY = 16, 4096


class Damaged(Exception):
    """A block is not strict JSON. ``at`` is near the first damaged byte; −1 when unknown.

    It only helps to find the damage sooner: nothing else depends on it.
    """

    def __init__(self, at: int = -1) -> None:
        super().__init__(at)
        self.at = at


class BlockRuns:
    """Blocks of whole events, for a decoder of JSON arrays.

    A block ends at a ``}`` that is followed by ``, {``. If that is inside a string or a nested
    value, the block has an open quote or bracket and does not decode: no wrong cut goes unnoticed.
    """

    def __init__(self, take_block: Callable[[bytes, int], None], limits: ScanLimits) -> None:
        self._take_block = take_block
        self._limits = limits
        self._span = limits.block_bytes
        self._few = _FEW

    def take(self, window: TextWindow) -> bool:
        """Hands over as many events as are surely whole, if they are strict JSON."""
        taken = self._take(window)
        if taken:
            self._few = _FEW
        return taken

    def singles(self) -> int:
        """The number of members to read one by one: it grows while there is damage."""
        few = self._few
        self._few = min(2 * few, _MANY)
        return few

    def _take(self, window: TextWindow) -> bool:
        window.fill(self._limits.run_bytes)
        cut = _last_cut(window, window.pos + self._span)
        try:
            if cut < 0:
                return False
            self._block(window, cut)
        except Damaged as damage:
            self._span = min(_SMALL, self._limits.block_bytes)
            cut = _last_cut(window, window.pos + damage.at - 1) if damage.at > 0 else -1
            try:
                if cut < 0:
                    return False
                self._block(window, cut)
            except Damaged:
                return False
        else:
            self._span = min(2 * self._span, self._limits.block_bytes)
        return True

    def _block(self, window: TextWindow, cut: int) -> None:
        self._take_block(b"[" + window.data[window.pos : cut] + b"]", window.place)
        window.pos = cut


def _last_cut(window: TextWindow, stop: int) -> int:
    """Index behind the last event before ``stop`` that another one seems to follow; −1: none."""
    stop = min(stop, len(window.data))
    start = max(window.pos, stop - _TAIL)
    at = window.data.rfind(b"}", start, stop)
    while at >= 0 and not _CUT.match(window.data, at):
        at = window.data.rfind(b"}", start, at)
    return at + 1 if at >= 0 else -1
