"""The members of ``traceEvents``, through as much damage as can be understood.

The meaning of a text is defined member by member (``_member``): strict JSON; else what ``repair``
makes of the text up to the next place where an event begins; else it is skipped. Runs of events
that are strict JSON mean the same when they are decoded at once (``runs``). So neither columns nor
faults depend on where a run begins or ends.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from .faults import FaultLog
from .limits import Limits
from .probe import Found, probe
from .repair import Unrepairable, repair
from .sinks import Sink
from .strict import decode_strict
from .values import Json, shown
from .window import Window

# How an event begins, and which keys follow the array: how to find one's way behind damage.
_EVENT = re.compile(rb'\{\s*"(?:ph|name|cat|pid|tid|ts|dur|args|id|bp|s)"\s*:')
_ARRAY_END = re.compile(
    rb'\]\s*,\s*"(?:schemaVersion|deviceProperties|traceName|displayTimeUnit|baseTimeNanoseconds'
    rb"|distributedInfo|trace_id|record_shapes|with_stack|profile_memory|with_flops|with_modules"
    rb"|host_name|otherData|metadata|systemTraceEvents|stackFrames|samples"
    rb'|INFO|WARNING|ERROR|\w+_version)"\s*:'
)
_CLOSED = re.compile(rb"\]\s*\}?\s*\Z")
_BLANKS = b" \t\r\n"

_TAIL = 64 * 1024


class EventReader:
    """Reads the members of one array of events into a sink."""

    def __init__(
        self, sink: Sink, faults: FaultLog, limits: Limits, tick: Callable[[], None]
    ) -> None:
        self._sink = sink
        self._faults = faults
        self._limits = limits
        self._tick = tick
        self._runs = sink.runs(limits)

    def read(self, window: Window) -> bool:
        """Reads from behind ``[`` to behind ``]``; False when the text ends before."""
        while True:
            window.fill(self._limits.block_bytes)
            self._tick()
            if self._sink.rows > self._limits.events:
                self._faults.add("too_many_events", f"{self._sink.rows} were read", window.place)
                return False
            if self._runs.take(window):
                self._comma(window)
                continue
            batch = _Batch(self._sink, self._faults)
            ended = self._singly(window, batch, self._runs.singles())
            batch.flush()
            if ended is not None:
                return ended

    def _singly(self, window: Window, batch: _Batch, count: int) -> bool | None:
        """Reads up to ``count`` members; True behind the end of the array, False where all ends."""
        for _ in range(count):
            char = window.gap(self._faults)
            while char == b",":
                self._faults.add("stray_comma", "before an event", window.place)
                window.pos += 1
                char = window.gap(self._faults)
            if char == b"]":
                window.pos += 1
                return True
            if not char:
                self._faults.add("truncated", "before the end of the list of events", window.place)
                return False
            if not self._member(window, batch):
                return False
            self._comma(window)
        return None

    def _comma(self, window: Window) -> None:
        """Behind an event: takes the comma that leads to the next one."""
        char = window.gap(self._faults)
        if char == b",":
            place = window.place
            window.pos += 1
            if window.gap(self._faults) == b"]":
                self._faults.add("stray_comma", "behind the last event", place)
        elif char == b"{":
            self._faults.add("missing_comma", window.seen(100), window.place)

    def _member(self, window: Window, batch: _Batch) -> bool:
        """Reads one member; False when the text ends inside it."""
        found, length = probe(window, self._limits.value_bytes)
        if found is Found.VALUE and window.peek_behind(length) in (b",", b"]", b"{", b"/", b""):
            text = window.data[window.pos : window.pos + length]
            if not self._strict(window, batch, text) and not self._repaired(window, batch, text):
                self._skip(window, length)
            return True
        if found is Found.OVERSIZED:
            return self._oversized(window)
        stop = self._next_event(window)
        if stop < 0:
            return (
                self._last(window, batch, found, length) if window.eof else self._oversized(window)
            )
        text = window.data[window.pos : window.pos + stop].rstrip(_BLANKS + b",")
        if self._repaired(window, batch, text):
            return True
        if found is Found.VALUE and self._strict(window, batch, text[:length]):
            text = text[length:]
        self._skip(window, len(text))
        return True

    def _strict(self, window: Window, batch: _Batch, text: bytes) -> bool:
        try:
            value = decode_strict(text)
        except ValueError:
            return False
        batch.add(value, window.place, len(text))
        window.pos += len(text)
        return True

    def _repaired(self, window: Window, batch: _Batch, text: bytes) -> bool:
        if not text.startswith(b"{"):
            return False
        try:
            value, kinds = repair(text)
        except Unrepairable:
            return False
        for kind in kinds:
            self._faults.add(kind, text, window.place)
        batch.add(value, window.place, len(text))
        window.pos += len(text)
        return True

    def _skip(self, window: Window, length: int) -> None:
        behind = window.pos + length
        text = window.data[window.pos : behind].lstrip(_BLANKS)
        if text:
            kind = "skipped_event" if text.startswith(b"{") else "skipped_text"
            window.pos = behind - len(text)
            self._faults.add(kind, text.rstrip(_BLANKS), window.place)
        window.pos = behind

    def _next_event(self, window: Window) -> int:
        """Distance to where the next event begins, or the array ends; −1 when neither is seen."""
        while True:
            stops = []
            for match in _EVENT.finditer(window.data, window.pos + 1):
                # Behind a colon or an opening bracket it is a part of this event.
                if _before(window.data, match.start()) not in b":[":
                    stops.append(match.start())
                    break
            end = _ARRAY_END.search(
                window.data, window.pos, stops[0] if stops else len(window.data)
            )
            if end:
                stops.insert(0, end.start())
            if stops:
                return stops[0] - window.pos
            if window.left >= self._limits.value_bytes or not window.grow():
                return -1

    def _last(self, window: Window, batch: _Batch, found: Found, length: int) -> bool:
        """A damaged member with no event behind it; False when the text ends inside it."""
        text = window.data[window.pos :]
        closed = _CLOSED.search(text)
        ends = [closed.start()] if closed else []
        for end in (*ends, len(text)):
            if self._repaired(window, batch, text[:end].rstrip(_BLANKS + b",")):
                return True
        if found is Found.VALUE and self._strict(window, batch, text[:length]):
            return True
        if closed and found is Found.DAMAGE:
            self._skip(window, closed.start())
            return True
        seen = f"{len(text)} bytes after the last complete event: {window.seen(150)}"
        self._faults.add("truncated", seen, window.place)
        window.pos = len(window.data)
        return False

    def _oversized(self, window: Window) -> bool:
        """Leaves out a member that is larger than the limit; False when no other event follows."""
        self._faults.add("oversized", window.seen(100), window.place)
        window.pos += 1
        while True:
            distance = self._next_event(window)
            if distance >= 0:
                skipped = window.data[window.pos : window.pos + distance].rstrip(_BLANKS)
                window.pos += len(skipped.removesuffix(b","))
                return True
            if window.eof:
                window.pos = len(window.data)
                return False
            window.pos = max(window.pos + 1, len(window.data) - _TAIL)


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
        self._events: list[Mapping[str, Json]] = []
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
        """Hands over what was taken."""
        if self._events:
            self._sink.events(self._events, self._places, self._end)
