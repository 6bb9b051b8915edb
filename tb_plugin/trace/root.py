"""The outermost array or object of a trace: its keys in any order, through as much damage as can be understood."""

from __future__ import annotations

import re
from itertools import islice
from typing import Any

from ..base.errors import TraceFormatError
from .events import EventReader, Limits
from .faults import FaultLog
from .probe import Found, probe
from .repair import Unrepairable, repair
from .strict import decode_strict, plain
from .window import Window

_NEXT_KEY = re.compile(rb'(?:,|(?=\n))\s*"[^"\\\n]{1,200}"\s*:')
_END_OF_ROOT = re.compile(rb"\}\s*\Z")
_KEYS_TRIED = 32
_HINT = "A trace is what export_chrome_trace() writes."


class RootReader:
    """Reads the root at the window's position; afterwards ``metadata`` holds every key but ``traceEvents``."""

    def __init__(self, window: Window, faults: FaultLog, events: EventReader, limits: Limits) -> None:
        self.metadata: dict[str, Any] = {}
        self._window = window
        self._faults = faults
        self._events = events
        self._limits = limits
        self._lists = 0

    def read_array(self) -> None:
        """A bare array of events."""
        self._gap()
        self._window.pos += 1
        if self._events.read(self._window):
            self._behind()
        self._drain()

    def read_object(self) -> None:
        """An object with ``traceEvents``.

        Raises:
            TraceFormatError: it has none, or none that is a list.
        """
        self._gap()
        self._window.pos += 1
        if self._members():
            self._behind()
        self._drain()
        if not self._lists:
            raise _no_events(self.metadata)

    def _gap(self) -> bytes:
        """Moves over white space and comments; the next byte."""
        window = self._window
        while window.peek() == b"/":
            place = window.place
            comment = window.take_comment()
            if not comment:
                break
            self._faults.add("comment", comment, place)
        return window.data[window.pos : window.pos + 1]

    def _members(self) -> bool:
        """From behind ``{`` to behind ``}``; False when the text ends before."""
        window = self._window
        while True:
            char = self._gap()
            if char == b"}":
                window.pos += 1
                return True
            if not char:
                self._faults.add("truncated", "inside the outermost object", window.place)
                return False
            if char == b",":
                place = window.place
                window.pos += 1
                if self._gap() in (b"}", b","):
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
        if found is not Found.VALUE or not isinstance(key, str) or window.peek_behind(length) != b":":
            return self._skip("skipped_text")
        window.pos += length
        self._gap()
        window.pos += 1
        char = self._gap()
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
            if self._take(key, text, plain_json=True) or self._take(key, text):
                return True
        if found is Found.OVERSIZED:
            return self._skip("oversized", key)
        for distance in self._next_keys():
            text = window.data[window.pos : window.pos + distance].rstrip(b" \t\r\n,")
            if self._take(key, text):
                return True
        if found is Found.OPEN:
            self._faults.add("truncated", f"inside the value of {key!r}", window.place)
            window.pos = len(window.data)
            return False
        return self._skip("bad_metadata", key)

    def _take(self, key: str, text: bytes, *, plain_json: bool = False) -> bool:
        """Decodes ``text`` as the value of ``key``, and moves behind it."""
        decoded = text.decode("utf-8", "replace")
        kinds: tuple[str, ...] = ()
        try:
            if plain_json:
                value = decode_strict(text)
            else:
                value, kinds = repair(decoded)
        except (ValueError, Unrepairable):
            return False
        if not plain_json and "\N{REPLACEMENT CHARACTER}" in decoded and decoded.encode() != text:
            kinds = (*kinds, "bad_utf8")
        for kind in kinds:
            self._faults.add(kind, f"{key}: {decoded}", self._window.place)
        self.metadata[key] = plain(value)
        self._window.pos += len(text)
        return True

    def _skip(self, kind: str, key: str = "") -> bool:
        """Leaves out the text up to the next key or the end; False when neither is in sight."""
        window = self._window
        place = window.place
        distances = self._next_keys()
        length = distances[0] if distances else window.left
        seen = window.seen(length)
        self._faults.add(kind, f"{key}: {seen}" if key else seen, place)
        window.pos += length
        while not distances:
            if window.eof:
                return False
            window.fill(self._limits.block_bytes)
            distances = self._next_keys()
            window.pos += distances[0] if distances else max(1, window.left - 4096)
        return True

    def _next_keys(self) -> list[int]:
        """Distances to where the value at the position may end: before the next keys, or before the last ``}``."""
        window = self._window
        while True:
            matches = islice(_NEXT_KEY.finditer(window.data, window.pos), _KEYS_TRIED)
            distances = [match.start() - window.pos for match in matches]
            if distances or window.left >= self._limits.value_bytes or not window.grow():
                break
        last = _END_OF_ROOT.search(window.data, window.pos) if window.eof else None
        return distances or ([last.start() - window.pos] if last else [])

    def _behind(self) -> None:
        """Text behind the root."""
        window = self._window
        char = self._gap()
        if char and char != b"\0":
            self._faults.add("trailing_text", window.seen(400), window.place)

    def _drain(self) -> None:
        """Reads to the end, so that all of a container is checked and the size of the text is known."""
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


def _no_events(metadata: dict[str, Any]) -> TraceFormatError:
    if "nodes" in metadata:
        return TraceFormatError(
            "execution_trace",
            "This is an execution trace (a graph of operators without times), not a Kineto trace.",
            hint="Open the Kineto trace of the same run.",
        )
    keys = ", ".join(list(metadata)[:8]) or "none"
    return TraceFormatError(
        "no_trace_events", f"The file is JSON, but has no traceEvents (its keys: {keys}).", hint=_HINT
    )
