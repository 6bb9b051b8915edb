"""Stage one: the text of a trace → RawTrace. Nothing is interpreted here."""

from __future__ import annotations

import gc
import re
import time
from itertools import islice
from typing import Any

from ..base.errors import TraceFormatError
from .events import EventReader, Limits, decode_strict
from .faults import FaultLog
from .inflate import Source, Text
from .probe import Found, probe
from .raw import COUNTER_ARGS, FLOAT_ARGS, ID_INT, ID_TEXT, INT_ARGS, TEXT_ARGS, OnProgress, Progress, RawTrace
from .raw_columns import RawColumns
from .repair import Unrepairable, repair
from .sniff import SNIFF_BYTES, root_of
from .timestamps import NumberText
from .window import Window

PROGRESS_SECONDS = 0.2
KEYS_TRIED = 32
_NEXT_KEY = re.compile(rb'(?:,|(?=\n))\s*"[^"\\\n]{1,200}"\s*:')
_END_OF_ROOT = re.compile(rb"\}\s*\Z")


def scan(stream: Source, on_progress: OnProgress | None = None, *, limits: Limits | None = None) -> RawTrace:
    """Reads a trace into columns (``raw`` describes them, ``faults.KINDS`` what is tolerated).

    Raises:
        TraceFormatError: it is no trace; ``kind`` says what it is.
        NotFoundError: there is no such file.
    """
    faults = FaultLog()
    collecting = gc.isenabled()
    gc.disable()  # Millions of short-lived objects without cycles: the collector would only look at them.
    try:
        with Text(stream, faults) as text:
            return _Scanner(text, faults, on_progress, limits or Limits()).run()
    finally:
        if collecting:
            gc.enable()


class _Scanner:
    def __init__(self, text: Text, faults: FaultLog, on_progress: OnProgress | None, limits: Limits) -> None:
        self._text = text
        self._faults = faults
        self._limits = limits
        self._window = Window(text, limits.block_bytes)
        self._columns = RawColumns()
        self._events = EventReader(self._columns, faults, limits, self._tick)
        self._metadata: dict[str, Any] = {}
        self._lists = 0
        self._on_progress = on_progress
        self._next_tick = 0.0

    def run(self) -> RawTrace:
        window = self._window
        window.fill(SNIFF_BYTES)
        root = root_of(window.data[:SNIFF_BYTES])
        self._blank()
        window.pos += 1
        if root == "array":
            self._lists = 1
            if self._events.read(window):
                self._behind_root()
            self._check_array()
        else:
            if self._object():
                self._behind_root()
            if not self._lists:
                raise _no_events(self._metadata)
        self._tick(last=True)
        return self._result()

    def _result(self) -> RawTrace:
        columns = self._columns
        return RawTrace(
            events=columns.events(),
            ints=columns.sparse((*INT_ARGS.values(), ID_INT)),
            floats=columns.sparse(tuple(FLOAT_ARGS.values())),
            texts=columns.sparse((*TEXT_ARGS.values(), ID_TEXT, COUNTER_ARGS)),
            strings=tuple(columns.codes),
            metadata=self._metadata,
            blocks=columns.blocks(),
            faults=self._faults.result(),
            text_bytes=self._window.place + self._window.left,
        )

    def _tick(self, *, last: bool = False) -> None:
        if self._on_progress is None:
            return
        now = time.monotonic()
        if last or now >= self._next_tick:
            self._next_tick = now + PROGRESS_SECONDS
            done = self._text.bytes_total if last else self._text.bytes_done
            self._on_progress(Progress("reading", done, self._text.bytes_total, self._columns.rows))

    def _blank(self) -> bytes:
        """Skips white space and comments; the next byte."""
        window = self._window
        while True:
            char = window.peek()
            if char != b"/":
                return char
            window.fill(64 * 1024)
            match = re.compile(rb"//[^\n]*|/\*.*?\*/", re.DOTALL).match(window.data, window.pos)
            if not match:
                return char
            self._faults.add("comment", match[0].decode("utf-8", "replace"), window.place)
            window.pos = match.end()

    def _object(self) -> bool:
        """From behind ``{`` to behind ``}``; False when the text ends before."""
        window = self._window
        while True:
            char = self._blank()
            if char == b"}":
                window.pos += 1
                return True
            if char == b",":
                window.pos += 1
                if self._blank() in (b"}", b","):
                    self._faults.add("stray_comma", "", window.place)
                continue
            if not char:
                self._faults.add("truncated", "inside the outermost object", window.place)
                return False
            if not self._member(char):
                return False

    def _member(self, char: bytes) -> bool:
        window = self._window
        found, end = probe(window, self._limits.value_bytes) if char == b'"' else (Found.DAMAGE, 0)
        if found is not Found.VALUE:
            return self._resync("skipped_text")
        key = str(_value(window.data[window.pos : end]))
        start = window.place
        window.pos = end
        if self._blank() != b":":
            return self._resync("skipped_text")
        window.pos += 1
        char = self._blank()
        if key == "traceEvents":
            if char == b"[":
                window.pos += 1
                if self._lists:
                    self._faults.add("repeated_events", "", start)
                self._lists += 1
                return self._events.read(window)
            if not self._lists:
                raise _odd_events(char)
        if key in self._metadata:
            self._faults.add("repeated_key", key, start)
        return self._metadata_value(key)

    def _metadata_value(self, key: str) -> bool:
        window = self._window
        found, end = probe(window, self._limits.value_bytes)
        if found is Found.VALUE:
            text = window.data[window.pos : end]
            after = window.data[end : end + 4096].lstrip(b" \t\r\n")[:1]
            if after in (b",", b"}", b"", b"/"):
                try:
                    self._metadata[key] = _plain(decode_strict(text))
                except ValueError:
                    pass
                else:
                    window.pos = end
                    return True
        elif found is Found.OPEN:
            self._faults.add("truncated", f"inside the value of {key!r}", window.place)
            window.pos = len(window.data)
            return False
        return self._odd_metadata(key)

    def _odd_metadata(self, key: str) -> bool:
        """A value that is no JSON: repaired up to one of the next keys, else left out."""
        window = self._window
        for end in self._next_keys():
            text = window.data[window.pos : end].decode("utf-8", "replace")
            try:
                value, kinds = repair(text.rstrip(" \t\r\n,"))
            except Unrepairable:
                continue
            for kind in kinds:
                self._faults.add(kind, f"{key}: {text}", window.place)
            self._metadata[key] = _plain(value)
            window.pos = end
            return True
        return self._resync("bad_metadata", key)

    def _resync(self, kind: str, key: str = "") -> bool:
        """Leaves out the text up to the next key; False when there is none."""
        window = self._window
        end = next(iter(self._next_keys()), -1)
        stop = len(window.data) if end < 0 else end
        text = window.data[window.pos : min(stop, window.pos + 400)].decode("utf-8", "replace")
        self._faults.add(kind, f"{key}: {text}" if key else text, window.place)
        window.pos = stop
        return end >= 0

    def _next_keys(self) -> list[int]:
        """Where the value at the position may end: before the next keys, or before the end of the root."""
        window = self._window
        while True:
            ends = [match.start() for match in islice(_NEXT_KEY.finditer(window.data, window.pos), KEYS_TRIED)]
            if ends or window.left >= self._limits.value_bytes or not window.grow():
                break
        root = _END_OF_ROOT.search(window.data, window.pos)
        return ends or ([root.start()] if root else [])

    def _behind_root(self) -> None:
        window = self._window
        if char := self._blank():
            window.fill(1000)
            text = window.data[window.pos : window.pos + 400].decode("utf-8", "replace")
            if char != b"\0":
                self._faults.add("trailing_text", text, window.place)
        while window.left or not window.eof:
            window.pos = len(window.data)
            window.fill(self._limits.block_bytes)

    def _check_array(self) -> None:
        if not any(chunk.any() for chunk in self._columns._dense["phase"]):
            raise TraceFormatError(
                "not_events",
                "This is a JSON array, but not of trace events.",
                hint="A trace is what export_chrome_trace() writes.",
            )


def _value(text: bytes) -> Any:
    try:
        return decode_strict(text)
    except ValueError:
        return text.decode("utf-8", "replace")


def _plain(value: Any) -> Any:
    """``value`` with ordinary floats."""
    if isinstance(value, NumberText):
        return float(value)
    if isinstance(value, dict):
        return {key: _plain(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value


def _odd_events(char: bytes) -> TraceFormatError:
    what = {b"{": "an object", b"n": "null", b'"': "a text"}.get(char, "no list")
    return TraceFormatError(
        "trace_events_type",
        f"The file has traceEvents, but it is {what} instead of a list of events.",
        hint="A trace is what export_chrome_trace() writes; the tool that wrote this file changed it.",
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
        "no_trace_events",
        f"The file is JSON, but has no traceEvents (its keys: {keys}).",
        hint="A trace is what export_chrome_trace() writes.",
    )
