"""Whether readers say the same of a text: every column to the byte, every fault, every refusal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from kinetoscope.base.errors import TraceFormatError
from kinetoscope.base.native import native
from kinetoscope.trace.io.source import Source
from kinetoscope.trace.raw import RawTrace
from kinetoscope.trace.scan.cursor import ScanLimits
from kinetoscope.trace.scan.scanner import scan_in_python, scan_natively
from tests.trace.reread import read_event

Scan: TypeAlias = Callable[[Source, "ScanLimits | None"], RawTrace]
SMALL = ScanLimits(block_bytes=300, value_bytes=64 * 1024 * 1024)
"""So small that even short texts have several blocks."""


def by_python(source: Source, limits: ScanLimits | None = None) -> RawTrace:
    """The reference."""
    return scan_in_python(source, limits=limits)


def by_library(source: Source, limits: ScanLimits | None = None) -> RawTrace:
    """The native scanner, which must be there."""
    library = native().library
    assert library is not None, native().reason
    return scan_natively(library, source, limits=limits)


def verdict(scan: Scan, source: Source, limits: ScanLimits | None = None) -> RawTrace | str:
    """The columns, or the kind of a refusal."""
    try:
        return scan(source, limits)
    except TraceFormatError as refusal:
        return refusal.kind


def differences(first: RawTrace | str, second: RawTrace | str) -> list[str]:
    """In what two verdicts differ; blocks are the reader's own choice."""
    if isinstance(first, str) or isinstance(second, str):
        return [] if first == second else [f"{_short(first)} != {_short(second)}"]
    one, other = arrays(first), arrays(second)
    found = [f"columns {set(one) ^ set(other)}"] if one.keys() != other.keys() else []
    found += [f"order of columns {list(one)}"] if not found and list(one) != list(other) else []
    for name in one.keys() & other.keys():
        if one[name].dtype != other[name].dtype:
            found.append(f"{name}: {one[name].dtype} != {other[name].dtype}")
        elif one[name].tobytes() != other[name].tobytes():
            found.append(f"{name}: {one[name].tolist()[:20]} != {other[name].tolist()[:20]}")
    for name in ("strings", "faults", "metadata", "text_bytes"):
        left, right = getattr(first, name), getattr(second, name)
        if left != right:
            found.append(f"{name}: {str(left)[:2000]} != {str(right)[:2000]}")
    return found


def blocks_differ(first: RawTrace | str, second: RawTrace | str) -> list[str]:
    """In what the blocks of two verdicts differ, which have the same columns."""
    if isinstance(first, str) or isinstance(second, str):
        return []
    return [
        f"blocks, {name}"
        for name in ("offset", "length", "first_row")
        if not np.array_equal(getattr(first.blocks, name), getattr(second.blocks, name))
    ]


def arrays(raw: RawTrace) -> dict[str, np.ndarray[Any, Any]]:
    """Every column by a name."""
    events = raw.events
    named = {name: getattr(events, name) for name in events.__struct_fields__}
    for table in (raw.ints, raw.floats, raw.texts):
        for name, sparse in table.items():
            named[f"{name} row"], named[name] = sparse.row, sparse.value
    return named


def block_faults(raw: RawTrace, source: Source, rows: list[int]) -> list[str]:
    """What is wrong with the blocks, and with these rows when they are read again."""
    offset, length, first = raw.blocks.offset, raw.blocks.length, raw.blocks.first_row
    found = []
    if not (first[0] == 0 and (np.diff(first) > 0).all() and first[-1] == len(raw.events)):
        found.append(f"first rows {first.tolist()[:20]} of {len(raw.events)}")
    ends = offset + length
    if not ((length > 0).all() and (ends[:-1] <= offset[1:]).all()):
        found.append(f"blocks {list(zip(offset.tolist(), length.tolist(), strict=True))[:20]}")
    for row in rows:
        event = read_event(source, raw.blocks, row)
        name = event.get("name", "")
        if isinstance(name, str) and name != raw.strings[raw.events.name[row]]:
            found.append(f"event {row} is {event}")
    return found


def _short(verdict: RawTrace | str) -> str:
    return verdict if isinstance(verdict, str) else f"{len(verdict.events)} events"
