"""The members of ``traceEvents``: from text to columns, through as much damage as can be understood.

The meaning of a text is defined event by event (``_one``): a strict decoder, then ``repair``, then on to the
next place where an event begins. Whole blocks that are strict JSON mean the same and are decoded at once;
so the columns and the faults do not depend on where blocks are cut.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .faults import FaultLog
from .loose import add_loose
from .probe import Found, probe
from .raw_columns import RawColumns
from .repair import Unrepairable, repair
from .timestamps import NumberText
from .window import Window

# How an event begins, for finding the next one behind damage; and how the array ends.
_FIELDS = rb'"(?:ph|name|cat|pid|tid|ts|dur|args|id|bp|s)"\s*:'
_HEADERS = (
    rb'"(?:schemaVersion|deviceProperties|traceName|displayTimeUnit|baseTimeNanoseconds|distributedInfo|trace_id'
    rb'|record_shapes|with_stack|profile_memory|with_flops|with_modules|host_name|otherData|systemTraceEvents'
    rb'|metadata|INFO|WARNING|ERROR|\w+_version)"\s*:'
)
_NEXT_EVENT = re.compile(rb"\}\s*(?:,\s*)?(?=\{\s*" + _FIELDS + rb")")
_ARRAY_END = re.compile(rb"\}\s*,?\s*(?=\]\s*(?:,\s*" + _HEADERS + rb"|\}?\s*\Z))")
_CUT = re.compile(rb"\}(?=\s*,\s*\{)")
_LONE_SURROGATE = re.compile(
    rb"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F]"
)
_TAIL = 64 * 1024
_SINGLE = 64
_MAX_SINGLE = 4096


def _no_constant(_: str) -> None:
    raise ValueError("NaN and Infinity are no JSON")


def _int(text: str) -> int | NumberText:
    return int(text) if len(text) < 400 else NumberText(text)


_STRICT = json.JSONDecoder(parse_float=NumberText, parse_int=_int, parse_constant=_no_constant)


def decode_strict(text: bytes) -> Any:
    """``text`` as Python values, numbers with a fraction as ``NumberText``.

    Raises:
        ValueError: it is not JSON, not UTF-8, or names half a surrogate pair.
    """
    if _LONE_SURROGATE.search(text):
        raise ValueError("half a surrogate pair")
    try:
        return _STRICT.decode(text.decode("utf-8"))
    except RecursionError:
        raise ValueError("too deep") from None


@dataclass(frozen=True, slots=True)
class Limits:
    """What bounds memory and look-ahead."""

    block_bytes: int = 4 * 1024 * 1024
    value_bytes: int = 64 * 1024 * 1024  # of one event or one top-level value


class EventReader:
    """Reads the members of one ``traceEvents`` into ``columns``."""

    def __init__(
        self, columns: RawColumns, faults: FaultLog, limits: Limits, tick: Callable[[], None]
    ) -> None:
        self._columns = columns
        self._faults = faults
        self._limits = limits
        self._tick = tick

    def read(self, window: Window) -> bool:
        """Reads from behind ``[`` to behind ``]``; False when the text ends before."""
        single = 0
        patience = _SINGLE
        while True:
            window.fill(self._limits.block_bytes)
            self._tick()
            if not single and self._block(window):
                patience = _SINGLE
                continue
            batch = _Batch(self._columns, self._faults)
            ended = self._some(window, batch, single or patience)
            batch.flush()
            if ended is not None:
                return ended
            single = 0
            patience = min(2 * patience, _MAX_SINGLE)

    def _block(self, window: Window) -> bool:
        """Decodes all complete events in the window at once, if they are strict JSON."""
        data = window.data
        cuts = [m.end() for m in _CUT.finditer(data, max(window.pos, len(data) - _TAIL))]
        for cut in reversed(cuts[-3:]):
            try:
                events = decode_strict(b"[" + data[window.pos : cut] + b"]")
            except ValueError:
                continue
            if not all(type(event) is dict and event for event in events):
                return False
            place = _Places(data[window.pos : cut], window.place)
            add_loose(self._columns, self._faults, events, place)
            self._columns.add_block(window.place, cut - window.pos, len(events))
            window.pos = cut
            self._comma(window)
            return True
        return False

    def _some(self, window: Window, batch: _Batch, count: int) -> bool | None:
        """Reads up to ``count`` events one by one; True behind the end of the array, False at the end of the text."""
        for _ in range(count):
            char = window.peek()
            while char in (b",", b"/"):
                if char == b"/" and not self._comment(window):
                    break
                if char == b",":
                    self._faults.add("stray_comma", "", window.place)
                    window.pos += 1
                char = window.peek()
            if char == b"]":
                window.pos += 1
                return True
            if not char:
                self._faults.add("truncated", "after the last event, before the end of the list", window.place)
                return False
            if not self._one(window, batch):
                return False
            self._comma(window)
        return None

    def _comma(self, window: Window) -> None:
        """Behind an event: takes the comma that leads to the next one."""
        char = window.peek()
        while char == b"/" and self._comment(window):
            char = window.peek()
        if char == b",":
            comma = window.place
            window.pos += 1
            if window.peek() == b"]":
                self._faults.add("stray_comma", "", comma)
        elif char == b"{":
            self._faults.add("missing_comma", "", window.place)

    def _comment(self, window: Window) -> bool:
        window.fill(4096)
        match = re.compile(rb"//[^\n]*|/\*.*?\*/", re.DOTALL).match(window.data, window.pos)
        if not match:
            return False
        self._faults.add("comment", match[0].decode("utf-8", "replace"), window.place)
        window.pos = match.end()
        return True

    def _one(self, window: Window, batch: _Batch) -> bool:
        """One member at ``window.pos``; False when the text ends inside it."""
        found, end = probe(window, self._limits.value_bytes)
        start = window.pos
        if found is Found.VALUE and self._value(window, batch, end):
            return True
        end, known = self._boundary(window, start)
        text = window.data[start:end]
        try:
            value, kinds = repair(text.decode("utf-8", "replace"))
        except Unrepairable:
            pass
        else:
            if "\N{REPLACEMENT CHARACTER}" in text.decode("utf-8", "replace") and not _is_utf8(text):
                kinds = (*kinds, "bad_utf8")
            for kind in kinds:
                self._faults.add(kind, text.decode("utf-8", "replace"), window.place)
            batch.add(value, window.place, end - start)
            window.pos = end
            return True
        if known:
            self._faults.add("skipped_event", text.decode("utf-8", "replace"), window.place)
            window.pos = end
            return True
        if found is Found.OVERSIZED or not window.eof:
            self._faults.add("oversized", text[:1000].decode("utf-8", "replace"), window.place)
            window.pos = len(window.data)
            return self._seek(window)
        missing = len(window.data) - start
        self._faults.add(
            "truncated",
            f"{missing} bytes after the last complete event: {text[:150].decode('utf-8', 'replace')}",
            window.place,
        )
        window.pos = len(window.data)
        return False

    def _value(self, window: Window, batch: _Batch, end: int) -> bool:
        start = window.pos
        text = window.data[start:end]
        try:
            value = decode_strict(text)
        except ValueError:
            return False
        batch.add(value, window.place, end - start)
        window.pos = end
        return True

    def _boundary(self, window: Window, start: int) -> tuple[int, bool]:
        """End of the damaged event at ``start``: before the next one, or before the end of the array."""
        while True:
            match = _NEXT_EVENT.search(window.data, window.pos + 1)
            last = _ARRAY_END.search(window.data, window.pos + 1, match.start() + 1 if match else len(window.data))
            if last and (window.eof or not last[0].rstrip().endswith(b"\0")):
                return last.start() + 1, True
            if match:
                return match.start() + 1, True
            if window.left >= self._limits.value_bytes or not window.grow():
                return len(window.data), False

    def _seek(self, window: Window) -> bool:
        """Moves to the next place where an event begins; False when there is none."""
        while True:
            window.fill(self._limits.block_bytes)
            match = _NEXT_EVENT.search(window.data, window.pos)
            if match:
                window.pos = match.end()
                return True
            if window.eof:
                window.pos = len(window.data)
                self._faults.add("truncated", "", window.place)
                return False
            window.pos = max(window.pos, len(window.data) - 4096)


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


class _Batch:
    """Events read one by one, on their way to the columns."""

    def __init__(self, columns: RawColumns, faults: FaultLog) -> None:
        self._columns = columns
        self._faults = faults
        self._events: list[Mapping[str, Any]] = []
        self._places: list[int] = []
        self._end = 0

    def add(self, value: Any, place: int, length: int) -> None:
        """Takes the value of one member."""
        if not isinstance(value, dict):
            self._faults.add("not_an_event", str(value), place)
            return
        self._events.append(value)
        self._places.append(place)
        self._end = place + length

    def flush(self) -> None:
        """Hands over what was taken."""
        if self._events:
            add_loose(self._columns, self._faults, self._events, self._places.__getitem__)
            start = self._places[0]
            self._columns.add_block(start, self._end - start, len(self._events))


class _Places:
    """Where the events of a strict block begin; found only when somebody asks."""

    def __init__(self, text: bytes, offset: int) -> None:
        self._text = text
        self._offset = offset
        self._starts: list[int] | None = None

    def __call__(self, index: int) -> int:
        if self._starts is None:
            text = self._text.decode("latin-1")
            skip = re.compile(r"[ \t\r\n,]*")
            self._starts = []
            at = skip.match(text, 0).end()  # type: ignore[union-attr]
            while at < len(text):
                self._starts.append(self._offset + at)
                at = _STRICT.raw_decode(text, at)[1]
                at = skip.match(text, at).end()  # type: ignore[union-attr]
        return self._starts[index]
