"""Scanned traces as a reader likes to see them: one dict per row, missing values left out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kinetoscope.trace.io.source import Text
from kinetoscope.trace.raw import MISSING, NO_DUR, FaultLog, RawTrace
from kinetoscope.trace.scan.cursor import ScanLimits
from kinetoscope.trace.scan.scanner import scan

TINY = ScanLimits(block_bytes=1, value_bytes=1 << 20)
"""Blocks of one event: the smallest step that a scanner can take."""


def rows(raw: RawTrace) -> list[dict[str, Any]]:
    """Every row with its texts spelled out; times in ns."""
    events, text = raw.events, raw.strings
    table: list[dict[str, Any]] = []
    for row in range(len(events)):
        cells: dict[str, Any] = {
            "ph": chr(events.phase[row]) if events.phase[row] else "",
            "cat": text[events.category[row]],
            "name": text[events.name[row]],
            "pid": text[events.pid[row]],
            "tid": text[events.tid[row]],
        }
        cells = {key: value for key, value in cells.items() if value}
        if events.ts[row] != MISSING:
            cells["ts"] = int(events.ts[row])
        if events.dur[row] != NO_DUR:
            cells["dur"] = int(events.dur[row])
        table.append(cells)
    for columns, is_text in ((raw.ints, False), (raw.floats, False), (raw.texts, True)):
        for name, sparse in columns.items():
            for row, value in zip(sparse.row.tolist(), sparse.value.tolist(), strict=True):
                table[row][name] = text[value] if is_text else value
    return table


def faults(raw: RawTrace) -> dict[str, int]:
    """Kind → count."""
    return {fault.kind: fault.count for fault in raw.faults}


def everything(raw: RawTrace) -> dict[str, Any]:
    """All that a scan says, comparable by ==; save the blocks, which are the scanner's own."""
    return {
        "rows": rows(raw),
        "strings": raw.strings,
        "metadata": raw.metadata,
        "faults": raw.faults,
        "text_bytes": raw.text_bytes,
        "dtypes": [str(column.dtype) for column in _columns(raw)],
    }


def _columns(raw: RawTrace) -> list[Any]:
    events = raw.events
    dense = [events.phase, events.category, events.name, events.pid, events.tid, events.ts]
    tables: tuple[Mapping[str, Any], ...] = (raw.ints, raw.floats, raw.texts)
    return [*dense, events.dur, *(s.value for t in tables for s in t.values())]


def scan_events(*events: str | Mapping[str, Any], limits: ScanLimits | None = None) -> RawTrace:
    """Scans a trace of these events: JSON texts, sound or not, or dicts."""
    texts = [event if isinstance(event, str) else json.dumps(event) for event in events]
    return scan(document(*texts), limits=limits)


def document(*events: str) -> bytes:
    """The text of a trace."""
    return ('{"schemaVersion": 1, "traceEvents": [\n' + ",\n".join(events) + "\n]}").encode()


def plain_text(path: Path) -> bytes:
    """What a sound file holds, inflated; of protobuf, the text that stands for it."""
    import gzip

    if ".pftrace" in path.name:
        with Text(path, FaultLog()) as text:
            return b"".join(iter(lambda: text.read(1 << 20), b""))
    data = path.read_bytes()
    while data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    return data
