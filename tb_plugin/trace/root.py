"""The outermost array or object of a trace: keys in any order, some of them damaged."""

from __future__ import annotations

import re

from ..base.errors import TraceFormatError
from .events import EventReader
from .faults import FaultLog, shorten
from .limits import Limits
from .probe import Found, probe
from .repair import MAX_BYTES, Unrepairable, repair_front
from .strict import decode_strict, plain
from .values import Json
from .window import Window

_NEXT_KEY = re.compile(rb'(?:,|(?=\n))\s*"[^"\\\n]{1,200}"\s*:')
_END_OF_ROOT = re.compile(rb"\}\s*\Z")
_FIRST = 16 * 1024
MAX_REPAIRS = 1000  # of top-level values; no writer damages more, and each try takes time
_AHEAD = 4096  # More than decides where a damaged string ends.
_HINT = "A trace is what export_chrome_trace() writes."


class RootReader:
    """Reads the root at the window's position into ``metadata``, all but ``traceEvents``."""

    def __init__(
        self, window: Window, faults: FaultLog, events: EventReader, limits: Limits
    ) -> None:
        self.metadata: dict[str, Json] = {}
        self._window = window
        self._faults = faults
        self._events = events
        self._limits = limits
        self._lists = 0
        self._repairs_left = MAX_REPAIRS
        self._kept_bytes = 0

    def read_array(self) -> None:
        """A bare array of events."""
        self._window.gap(self._faults)
        self._window.pos += 1
        if self._events.read(self._window):
            self._behind()
        self._drain()

    def read_object(self) -> None:
        """An object with ``traceEvents``.

        Raises:
            TraceFormatError: it has none, or none that is a list.
        """
        self._window.gap(self._faults)
        self._window.pos += 1
        whole = self._members()
        if whole:
            self._behind()
        self._drain()
        if not self._lists:
            raise _no_events(self.metadata) if whole else _ends_early()

    def _members(self) -> bool:
        """From behind ``{`` to behind ``}``; False when the text ends before."""
        window = self._window
        while True:
            char = self._window.gap(self._faults)
            if char == b"}":
                window.pos += 1
                return True
            if not char:
                self._faults.add("truncated", "inside the outermost object", window.place)
                return False
            if char == b",":
                place = window.place
                window.pos += 1
                if self._window.gap(self._faults) in (b"}", b","):
                    self._faults.add("stray_comma", "in the outermost object", place)
            elif not self._member():
                return False

    def _member(self) -> bool:
        window = self._window
        place = window.place
        found, length = probe(window, self._limits.value_bytes)
        try:
            key = decode_strict(window.data[window.pos : window.pos + length])
        except ValueError:
            return self._skip("skipped_text")
        if (
            found is not Found.VALUE
            or not isinstance(key, str)
            or window.peek_behind(length) != b":"
        ):
            return self._skip("skipped_text")
        window.pos += length
        self._window.gap(self._faults)
        window.pos += 1
        char = self._window.gap(self._faults)
        if key == "traceEvents":
            if char == b"[":
                return self._list(place)
            if not self._lists:
                raise _odd_events(char)
        if key in self.metadata:
            self._faults.add("repeated_key", key, place)
        return self._value(key)

    def _list(self, place: int) -> bool:
        self._window.pos += 1
        if self._lists:
            self._faults.add("repeated_events", "", place)
        self._lists += 1
        return self._events.read(self._window)

    def _value(self, key: str) -> bool:
        window = self._window
        found, length = probe(window, self._limits.value_bytes)
        if found is Found.VALUE and window.peek_behind(length) in (b",", b"}", b"/", b""):
            text = window.data[window.pos : window.pos + length]
            try:
                value = plain(decode_strict(text))
            except (ValueError, RecursionError):
                pass
            else:
                self._keep(key, value, text)
                return True
        if found is Found.OVERSIZED:
            return self._skip("oversized", key)
        self._repairs_left -= 1
        if self._repairs_left >= 0 and self._repaired(key):
            return True
        if found is Found.OPEN:
            self._faults.add("truncated", f"inside the value of {key!r}", window.place)
            window.pos = len(window.data)
            return False
        return self._skip("bad_metadata", key)

    def _repaired(self, key: str) -> bool:
        """Takes a value that is nearly JSON, if something follows it that may follow a value."""
        window = self._window
        size = _FIRST
        while True:
            window.fill(size)
            text = window.data[window.pos : window.pos + size]
            found = None
            try:
                found = repair_front(text)
                understood = found[1]
            except Unrepairable as failure:
                understood = failure.at
            # Near the end of what is seen, a string may have found a wrong end, or none.
            if understood <= len(text) - _AHEAD or (window.eof and len(text) == window.left):
                break
            if size >= MAX_BYTES:
                return False
            size *= 8
        if not found or text[found[1] : found[1] + 1] not in (b",", b"}", b""):
            return False
        value, length, kinds = found
        for kind in kinds:
            self._faults.add(kind, f"{key}: {shorten(text[:length])}", window.place)
        self._keep(key, plain(value), text[:length])
        return True

    def _keep(self, key: str, value: Json, text: bytes) -> None:
        """Takes the value and moves behind its text."""
        self._kept_bytes += len(key) + len(text)
        if self._kept_bytes > self._limits.metadata_bytes:
            self._faults.add("oversized", f"{key}: {shorten(text)}", self._window.place)
        else:
            self.metadata[key] = value
        self._window.pos += len(text)

    def _skip(self, kind: str, key: str = "") -> bool:
        """Leaves out the text up to the next key or the end; False when neither is in sight."""
        window = self._window
        place = window.place
        distance = self._next_key()
        seen = window.seen(distance if distance >= 0 else window.left)
        self._faults.add(kind, f"{key}: {seen}" if key else seen, place)
        while distance < 0:
            if window.eof:
                window.pos = len(window.data)
                return False
            window.pos = max(window.pos + 1, len(window.data) - _AHEAD)
            distance = self._next_key()
        window.pos += distance
        return True

    def _next_key(self) -> int:
        """Distance to what seems to be the next key, or to the last bracket; −1: neither seen."""
        window = self._window
        while True:
            match = _NEXT_KEY.search(window.data, window.pos)
            if match:
                return match.start() - window.pos
            if window.left >= self._limits.value_bytes or not window.grow():
                break
        last = _END_OF_ROOT.search(window.data, window.pos) if window.eof else None
        return last.start() - window.pos if last else -1

    def _behind(self) -> None:
        """Text behind the root."""
        window = self._window
        char = self._window.gap(self._faults)
        if char and char != b"\0":
            self._faults.add("trailing_text", window.seen(400), window.place)

    def _drain(self) -> None:
        """Reads to the end: the container is checked, and the size of the text is known."""
        window = self._window
        while not window.eof:
            window.pos = len(window.data)
            window.fill(self._limits.block_bytes)


def _odd_events(char: bytes) -> TraceFormatError:
    what = {b"{": "an object", b"n": "null", b'"': "a text"}.get(char, "something else")
    return TraceFormatError(
        "trace_events_type",
        f"The file has traceEvents, but it is {what} instead of a list of events.",
        hint=f"{_HINT} The tool that wrote this file changed it.",
    )


def _ends_early() -> TraceFormatError:
    return TraceFormatError(
        "truncated",
        "The file ends before its list of events begins.",
        hint="The recording job may have died while writing it. Record again.",
    )


def _no_events(metadata: dict[str, Json]) -> TraceFormatError:
    if "nodes" in metadata:
        return TraceFormatError(
            "execution_trace",
            "This is an execution trace (a graph of operators without times), not a Kineto trace.",
            hint="Open the Kineto trace of the same run.",
        )
    keys = ", ".join(list(metadata)[:8]) or "none"
    return TraceFormatError(
        "no_trace_events",
        f"The file is JSON, but has no traceEvents (its keys: {keys}).",
        hint=_HINT,
    )
