"""Stage one: the text of a trace → RawTrace. Nothing is interpreted here."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

from .faults import FaultLog
from .events import EventReader, Limits
from .inflate import Source, Text
from .raw import COUNTER_ARGS, FLOAT_ARGS, ID_INT, ID_TEXT, INT_ARGS, TEXT_ARGS, OnProgress, Progress, RawTrace
from .raw_columns import RawColumns
from .root import RootReader
from .sinks import ColumnsSink
from .sniff import SNIFF_BYTES, root_of
from .window import Window

PROGRESS_SECONDS = 0.2


def scan(stream: Source, on_progress: OnProgress | None = None, *, limits: Limits | None = None) -> RawTrace:
    """Reads a trace into columns (``raw`` describes them, ``faults.KINDS`` what is tolerated).

    ``on_progress`` is called at most five times a second, and once at the end.

    Raises:
        TraceFormatError: it is no trace; ``kind`` says what it is.
        NotFoundError: there is no such file.
    """
    faults = FaultLog()
    collecting = gc.isenabled()
    gc.disable()  # Millions of short-lived objects without cycles: the collector would only look at them.
    try:
        with Text(stream, faults) as text:
            return _scan(text, faults, on_progress, limits or Limits())
    finally:
        if collecting:
            gc.enable()


def _scan(text: Text, faults: FaultLog, on_progress: OnProgress | None, limits: Limits) -> RawTrace:
    columns = RawColumns()
    tick = _ticker(text, columns, on_progress)
    window = Window(text, limits.block_bytes)
    events = EventReader(ColumnsSink(columns, faults), faults, limits, tick)
    window.fill(SNIFF_BYTES)
    reader = RootReader(window, faults, events, limits)
    if root_of(window.data[:SNIFF_BYTES]) == "array":
        reader.read_array()
        columns.check_phases()
    else:
        reader.read_object()
    if on_progress is not None:
        on_progress(Progress("reading", text.bytes_total, text.bytes_total, columns.rows))
    return RawTrace(
        events=columns.events(),
        ints=columns.sparse((*INT_ARGS.values(), ID_INT)),
        floats=columns.sparse(tuple(FLOAT_ARGS.values())),
        texts=columns.sparse((*TEXT_ARGS.values(), ID_TEXT, COUNTER_ARGS)),
        strings=tuple(columns.codes),
        metadata=reader.metadata,
        blocks=columns.blocks(),
        faults=faults.result(),
        text_bytes=window.offset + len(window.data),
    )


def _ticker(text: Text, columns: RawColumns, on_progress: OnProgress | None) -> Callable[[], None]:
    next_tick = 0.0

    def tick() -> None:
        nonlocal next_tick
        now = time.monotonic()
        if on_progress is not None and now >= next_tick:
            next_tick = now + PROGRESS_SECONDS
            on_progress(Progress("reading", text.bytes_done, text.bytes_total, columns.rows))

    return tick
