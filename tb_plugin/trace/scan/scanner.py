"""The scan: from the text of a trace to a ``RawTrace``, with nothing interpreted.

``RootReader`` reads the outermost array or object: keys in any order, some of them damaged. Another
trace may follow, or events line by line, where a file was written twice.

``EventLines`` reads JSON lines as the members of a list: a comma replaces each line break between
two objects, byte for byte, so that every offset in the text stays valid.
"""

from __future__ import annotations

import ctypes
import gc
import os
import time
from collections.abc import Callable
from contextlib import suppress

from ...base.errors import TraceFormatError
from ...base.machine import thread_count
from ...base.native import native
from ...base.regex import regex
from ..build.times import on_one_axis
from ..io.source import SNIFF_BYTES, Source, WholeText, looks_like_trace, python_repr, root_of
from ..raw import FaultLog, OnProgress, Progress, RawTrace, shorten
from .column_builder import Columns, RawColumns
from .cursor import Effort, Guard, Lookahead, Readable, ScanLimits, TextWindow, probe
from .events import EventReader
from .json_values import Json, decode_strict, plain
from .native import NativeColumns, NativePanic, NativeSink
from .repair import MAX_BYTES, Unrepairable, repair_front
from .sinks import ColumnsSink

_NEXT_KEY = regex(rb'(?:,|(?=\n))\s{0,200}"[^"\\\n]{1,200}"\s{0,200}:')
_END_OF_ROOT = regex(rb"\}\s*\Z")
_OVERLAP = 1024  # More than a match of it may have.
_DOCUMENT = regex(
    rb'\{\s{0,200}"(?:traceEvents|schemaVersion|deviceProperties|displayTimeUnit|traceName'
    rb'|baseTimeNanoseconds|distributedInfo|trace_id)"\s{0,200}:'
    rb'|\[\s{0,200}\{\s{0,200}"(?:ph|name|cat|pid|tid|ts|dur|args|id|bp|s)"\s{0,200}:'
)
_EVENT = regex(rb'\{\s{0,200}"(?:ph|name|cat|pid|tid|ts|dur|args|id|bp|s)"\s{0,200}:')
_REPR = regex(rb"\s{0,200}\{\s{0,200}'")
_BASE = "baseTimeNanoseconds"
_FIRST = 16 * 1024
MAX_REPAIRS = 1000  # of top-level values; no writer damages more, and each try takes time
_AHEAD = 4096  # More than decides where a damaged string ends.
_HINT = "A trace is what export_chrome_trace() writes."


class RootReader:
    """Reads the root at the window's position into ``metadata``, all but ``traceEvents``."""

    def __init__(
        self, window: TextWindow, faults: FaultLog, events: EventReader, limits: ScanLimits
    ) -> None:
        self.metadata: dict[str, Json] = {}
        self.bases: list[tuple[int, Json]] = []
        """The first row of each document behind the first, and its ``baseTimeNanoseconds``."""
        self._window = window
        self._faults = faults
        self._events = events
        self._limits = limits
        self._lists = 0
        self._lists_before = 0  # in the documents before this one
        self._documents = 0
        self._repairs_left = MAX_REPAIRS
        self._kept_bytes = 0
        self._no_key = 0  # No next key begins before this place, from where it was looked for.

    def read_array(self) -> None:
        """A bare array of events."""
        self._window.gap(self._faults)
        self._window.pos += 1
        if self._events.read(self._window):
            self._behind()
        self._drain()

    def read_lines(self) -> None:
        """Events line by line, without a root."""
        self._faults.add("json_lines", self._window.seen(100), self._window.place)
        self._events.read_lines(self._window)
        self._drain()

    def read_object(self) -> None:
        """An object with ``traceEvents``.

        Raises:
            TraceFormatError: it has none, or none that is a list.
        """
        whole = self._object()
        if whole:
            self._behind()
        self._drain()
        if not self._lists:
            raise _no_events(self.metadata) if whole else _ends_early()

    def _object(self) -> bool:
        """From ``{`` to behind ``}``; False when the text ends before."""
        self._window.gap(self._faults)
        self._window.pos += 1
        return self._members()

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
        if window.data[window.pos : window.pos + 1] != b'"':
            return self._skip("skipped_text")
        found, length, _ = probe(window, self._limits.value_bytes, self._limits.value_bytes)
        if found is Lookahead.OPEN:
            seen = window.seen(150)
            self._faults.add("truncated", f"inside a key of the outermost object: {seen}", place)
            window.pos = len(window.data)
            return False
        try:
            key = decode_strict(window.data[window.pos : window.pos + length])
        except ValueError:
            return self._skip("skipped_text")
        if found is not Lookahead.VALUE or window.peek_behind(length) != b":":
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
        if key in self.metadata and not self._documents:
            self._faults.add("repeated_key", key, place)
        return self._value(key)

    def _list(self, place: int) -> bool:
        self._window.pos += 1
        if self._lists > self._lists_before:
            self._faults.add("repeated_events", "", place)
        self._lists += 1
        self._window.fill(SNIFF_BYTES)
        if _REPR.match(self._window.data, self._window.pos):
            raise python_repr()
        return self._events.read(self._window)

    def _value(self, key: str) -> bool:
        window = self._window
        before, effort = window.place, self._events.effort
        found, length, seen = probe(window, self._limits.value_bytes, effort.spare(before))
        if found is Lookahead.VALUE and window.peek_behind(length) in (b",", b"}", b"/", b""):
            text = window.data[window.pos : window.pos + length]
            try:
                value = plain(decode_strict(text))
            except (ValueError, RecursionError):
                pass
            else:
                self._keep(key, value, text)
                return True
        if found is Lookahead.OVERSIZED:
            return self._skip("oversized", key)
        self._repairs_left -= 1
        go_on = self._repairs_left >= 0 and self._repaired(key)
        if not go_on and found is Lookahead.OPEN:
            self._faults.add("truncated", f"inside the value of {key!r}", window.place)
            window.pos = len(window.data)
            return False
        go_on = go_on or self._skip("bad_metadata", key)
        effort.wasted += max(0, seen - (window.place - before))
        return go_on

    def _repaired(self, key: str) -> bool:
        """Takes a value that is nearly JSON, if something follows it that may follow a value."""
        window, effort = self._window, self._events.effort
        size = _FIRST
        while True:
            if size * Effort.REPAIR_WEIGHT > effort.spare(window.place):
                return False
            window.fill(size)
            text = window.data[window.pos : window.pos + size]
            effort.wasted += len(text) * Effort.REPAIR_WEIGHT
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
        if self._documents:
            if key == _BASE:
                self.bases[-1] = (self.bases[-1][0], value)
            self.metadata.setdefault(key, value)
        elif self._kept_bytes > self._limits.metadata_bytes:
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
            start = max(window.pos, self._no_key - window.offset)
            quote = window.data.find(b'"', start)
            match = quote >= 0 and _NEXT_KEY.search(window.data, max(start, quote - _OVERLAP))
            if match:
                self._no_key = window.offset + match.start()
                return match.start() - window.pos
            self._no_key = max(self._no_key, window.offset + len(window.data) - _OVERLAP)
            if window.left >= self._limits.value_bytes or not window.grow():
                break
        last = _END_OF_ROOT.search(window.data, window.pos) if window.eof else None
        return last.start() - window.pos if last else -1

    def _behind(self) -> None:
        """Read the text behind the root: documents and events; other text is counted."""
        window = self._window
        while (char := window.gap(self._faults)) and char != b"\0":
            window.fill(SNIFF_BYTES)
            head = window.data[window.pos : window.pos + SNIFF_BYTES]
            if _EVENT.match(head) and b'"traceEvents"' not in head.partition(b"\n")[0]:
                self._faults.add("json_lines", window.seen(100), window.place)
                self._lists += 1
                self._events.read_lines(window)
                return
            if char in b"{[" and (_DOCUMENT.match(head) or looks_like_trace(head)):
                if not self._document(char):
                    return
            else:
                self._faults.add("trailing_text", window.seen(400), window.place)
                if not self._next_document():
                    return

    def _document(self, char: bytes) -> bool:
        """Another trace behind the first; False when the text ends inside it."""
        window = self._window
        self._faults.add("repeated_document", window.seen(100), window.place)
        self._documents += 1
        self._lists_before = self._lists
        self.bases.append((self._events.rows, None))
        if char == b"{":
            return self._object()
        window.pos += 1
        self._lists += 1
        return self._events.read(window)

    def _next_document(self) -> bool:
        """Moves to where another trace seems to begin; False at the end of the text."""
        window = self._window
        window.pos += 1
        while True:
            self._events.covered_bytes += window.left
            match = _DOCUMENT.search(window.data, window.pos)
            if match:
                self._events.covered_bytes -= len(window.data) - match.start()
                window.pos = match.start()
                return True
            if window.eof:
                window.pos = len(window.data)
                return False
            self._events.covered_bytes -= min(_OVERLAP, window.left)
            window.pos = max(window.pos, len(window.data) - _OVERLAP)
            window.fill(window.left + self._limits.block_bytes)

    def _drain(self) -> None:
        """Reads to the end: the container is checked, and the size of the text is known."""
        window = self._window
        while not window.eof:
            self._events.covered_bytes += window.left
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
    if _is_execution_trace(metadata):
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


def _is_execution_trace(metadata: dict[str, Json]) -> bool:
    """True for output of ExecutionTraceObserver: nodes with an id, and a schema or pid."""
    nodes = metadata.get("nodes")
    return (
        isinstance(nodes, list)
        and bool(nodes)
        and all(isinstance(node, dict) and "id" in node for node in nodes[:10])
        and ("schema" in metadata or "pid" in metadata)
    )


_BREAK = regex(rb"(?<=\})([ \t\r]*)\n(?=[ \t\r\n]*\{)")
_OPEN_END = regex(rb"\}[ \t\r\n]*\Z")
_TAIL = 4096  # Who writes more blanks between two lines gets along without the comma.


class EventLines:
    """Events line by line as a list: a line break between two objects becomes a comma."""

    def __init__(self, begun: bytes, text: Readable) -> None:
        self._waiting = begun  # Read, and not yet looked through.
        self._text = text
        self._ready = b""

    def read(self, n: int, /) -> bytes:
        """Up to n bytes; b"" only at the end."""
        while not self._ready:
            more = self._text.read(n)
            text = _BREAK.sub(rb"\1,", self._waiting + more)
            # What follows the last object may begin in what is read next.
            tail = _OPEN_END.search(text, max(0, len(text) - _TAIL)) if more else None
            cut = tail.start() if tail else len(text)
            self._ready, self._waiting = text[:cut], text[cut:]
            if not more:
                break
        data, self._ready = self._ready[:n], self._ready[n:]
        return data


PROGRESS_SECONDS = 0.2
# Rows after which it is estimated how many there will be; then room is made for some more.
LEAST_EXPECTED, EXPECTED_MORE, MOST_TIMES = 128 * 1024, 1.2, 64


def scan(
    stream: Source, on_progress: OnProgress | None = None, *, limits: ScanLimits | None = None
) -> RawTrace:
    """Read a trace into columns (``raw`` describes them, ``raw.KINDS`` the tolerated faults).

    With the native library where there is one. ``on_progress`` is called at most five times a
    second, and once at the end.

    Raises:
        TraceFormatError: it is no trace; ``kind`` says what it is.
        NotFoundError: there is no such file.
    """
    library = native().library
    if library is not None:
        with suppress(NativePanic):
            return scan_natively(library, stream, on_progress, limits=limits)
    return scan_in_python(stream, on_progress, limits=limits)


def scan_natively(
    library: ctypes.CDLL,
    stream: Source,
    on_progress: OnProgress | None = None,
    *,
    limits: ScanLimits | None = None,
) -> RawTrace:
    """As ``scan``, with the library; on all cores, unless ``limits`` say how many threads.

    Raises:
        NativePanic: the library failed, and said nothing of the trace.
    """

    def sink(faults: FaultLog) -> NativeSink:
        return NativeSink(NativeColumns(library), faults)

    return _open_and_read(stream, sink, on_progress, limits or _on_all_threads())


def _on_all_threads() -> ScanLimits:
    return ScanLimits(threads=thread_count(), is_shared=True)


def scan_in_python(
    stream: Source, on_progress: OnProgress | None = None, *, limits: ScanLimits | None = None
) -> RawTrace:
    """As ``scan``, without the library: the reference."""

    def sink(faults: FaultLog) -> ColumnsSink:
        return ColumnsSink(RawColumns(), faults)

    return _open_and_read(stream, sink, on_progress, limits or ScanLimits())


def _open_and_read(
    stream: Source,
    sink_of: Callable[[FaultLog], ColumnsSink | NativeSink],
    on_progress: OnProgress | None,
    limits: ScanLimits,
) -> RawTrace:
    faults = FaultLog()
    collecting = gc.isenabled()
    gc.disable()  # Millions of short-lived objects without cycles: it would only look at them.
    try:
        with WholeText(stream, faults) as text:
            return _read(stream, text, sink_of(faults), faults, on_progress, limits)
    finally:
        if collecting:
            gc.enable()


def _read(
    stream: Source,
    text: WholeText,
    sink: ColumnsSink | NativeSink,
    faults: FaultLog,
    on_progress: OnProgress | None,
    limits: ScanLimits,
) -> RawTrace:
    columns: Columns = sink.columns
    guard = Guard(_name_of(stream), limits, text.bytes_total)
    progress = _ticker(text, columns, on_progress)

    expected = LEAST_EXPECTED

    def tick() -> None:
        nonlocal expected
        guard.check(window.place, events.covered_bytes, columns.rows)
        progress()
        if columns.rows >= expected:
            expected = max(_rows_in_all(columns.rows, window, text), columns.rows + 1)
            columns.expect(expected)

    window = TextWindow(text, limits.block_bytes, tick)
    events = EventReader(sink, faults, limits, tick)
    window.fill(SNIFF_BYTES)
    if not window.data and ("gzip_truncated" in faults or "gzip_corrupt" in faults):
        raise TraceFormatError(
            "gzip_damaged",
            "The compressed file is damaged before any of its text.",
            hint="Copy it again, or record again.",
        )
    root = root_of(window.data[:SNIFF_BYTES])
    if root == "lines":
        window = TextWindow(EventLines(window.data, text), limits.block_bytes, tick)
        window.fill(SNIFF_BYTES)
    reader = RootReader(window, faults, events, limits)
    if root == "object":
        reader.read_object()
    else:
        reader.read_lines() if root == "lines" else reader.read_array()
        columns.check_phases()
    if on_progress is not None:
        on_progress(Progress("reading", text.bytes_total, text.bytes_total, columns.rows))
    blocks = columns.blocks()
    found = columns.finish()
    if "truncated" not in faults and "gzip_corrupt" not in faults:
        faults.rename("gzip_truncated", "gzip_unfinished")
    return RawTrace(
        events=on_one_axis(found.events, reader.metadata, reader.bases),
        ints=found.ints,
        floats=found.floats,
        texts=found.texts,
        strings=found.strings,
        metadata=reader.metadata,
        blocks=blocks,
        faults=faults.result(),
        text_bytes=window.offset + len(window.data),
        seek=text.seek_index(),
    )


def _rows_in_all(rows: int, window: TextWindow, text: WholeText) -> int:
    """Estimated number of all rows, slightly too high, from the text read so far."""
    share = window.place / window.end_place * text.bytes_done / text.bytes_total
    return min(int(rows / share * EXPECTED_MORE), MOST_TIMES * rows)


def _name_of(stream: Source) -> str:
    if isinstance(stream, (str, os.PathLike)):
        return os.path.basename(os.fspath(stream))
    return "The file"


def _ticker(
    text: WholeText, columns: Columns, on_progress: OnProgress | None
) -> Callable[[], None]:
    next_tick = 0.0

    def tick() -> None:
        nonlocal next_tick
        now = time.monotonic()
        if on_progress is not None and now >= next_tick:
            next_tick = now + PROGRESS_SECONDS
            on_progress(Progress("reading", text.bytes_done, text.bytes_total, columns.rows))

    return tick
