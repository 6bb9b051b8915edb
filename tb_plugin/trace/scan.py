"""Stage one: the text of a trace → RawTrace. Nothing is interpreted here."""

from __future__ import annotations

import ctypes
import gc
import os
import time
from collections.abc import Callable
from contextlib import suppress

from ..base.errors import TraceFormatError
from ..base.native import native
from .clock import on_one_axis
from .events import EventReader
from .faults import FaultLog
from .inflate import Source, TextAhead
from .limits import Guard, Limits
from .lines import EventLines
from .native_columns import NativeColumns, NativePanic
from .native_scan import NativeSink
from .raw import OnProgress, Progress, RawTrace
from .raw_columns import Columns, RawColumns
from .root import RootReader
from .sinks import ColumnsSink
from .sniff import SNIFF_BYTES, root_of
from .window import Window

PROGRESS_SECONDS = 0.2


def scan(
    stream: Source, on_progress: OnProgress | None = None, *, limits: Limits | None = None
) -> RawTrace:
    """Reads a trace into columns (``raw`` describes them, ``faults.KINDS`` what is tolerated).

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
    limits: Limits | None = None,
) -> RawTrace:
    """As ``scan``, with the library.

    Raises:
        NativePanic: the library failed, and said nothing of the trace.
    """

    def sink(faults: FaultLog) -> NativeSink:
        return NativeSink(NativeColumns(library), faults)

    return _open_and_read(stream, sink, on_progress, limits or Limits())


def scan_in_python(
    stream: Source, on_progress: OnProgress | None = None, *, limits: Limits | None = None
) -> RawTrace:
    """As ``scan``, without the library: the reference."""

    def sink(faults: FaultLog) -> ColumnsSink:
        return ColumnsSink(RawColumns(), faults)

    return _open_and_read(stream, sink, on_progress, limits or Limits())


def _open_and_read(
    stream: Source,
    sink_of: Callable[[FaultLog], ColumnsSink | NativeSink],
    on_progress: OnProgress | None,
    limits: Limits,
) -> RawTrace:
    faults = FaultLog()
    collecting = gc.isenabled()
    gc.disable()  # Millions of short-lived objects without cycles: it would only look at them.
    try:
        with TextAhead(stream, faults) as text:
            return _read(stream, text, sink_of(faults), faults, on_progress, limits)
    finally:
        if collecting:
            gc.enable()


def _read(
    stream: Source,
    text: TextAhead,
    sink: ColumnsSink | NativeSink,
    faults: FaultLog,
    on_progress: OnProgress | None,
    limits: Limits,
) -> RawTrace:
    columns: Columns = sink.columns
    guard = Guard(_name_of(stream), limits, text.bytes_total)
    progress = _ticker(text, columns, on_progress)

    def tick() -> None:
        guard.check(window.place, events.covered_bytes, columns.rows)
        progress()

    window = Window(text, limits.block_bytes, tick)
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
        window = Window(EventLines(window.data, text), limits.block_bytes, tick)
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


def _name_of(stream: Source) -> str:
    if isinstance(stream, (str, os.PathLike)):
        return os.path.basename(os.fspath(stream))
    return "The file"


def _ticker(
    text: TextAhead, columns: Columns, on_progress: OnProgress | None
) -> Callable[[], None]:
    next_tick = 0.0

    def tick() -> None:
        nonlocal next_tick
        now = time.monotonic()
        if on_progress is not None and now >= next_tick:
            next_tick = now + PROGRESS_SECONDS
            on_progress(Progress("reading", text.bytes_done, text.bytes_total, columns.rows))

    return tick
