"""What does a file of ``export_memory_timeline`` hold? Bytes by category over time.

    .json           [[µs, …], [[0, bytes of each category …], …]]
    .raw.json.gz    [[ns, action, bytes, category], …]

Both are read as changes of the categories' sums. The categories are torch's own, which knows
tensors by identity (``torch/profiler/_memory_profiler.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...base.arrays import I64
from ...base.errors import TraceFormatError
from ..memory_model import MOST_BYTES, MemoryTimeline
from ..raw import FaultLog, OnProgress, Progress
from .json_text import decoded
from .source import Text

CATEGORIES = 8
"""Parameter, optimizer state, input, temporary, activation, gradient, autograd detail, unknown."""
MOST_TEXT = 256 << 20
_LATEST_NS = 1 << 62
_CREATE, _DESTROY, _CHANGE = 2, 4, 3
_BEFORE = -1


def read_timeline(path: Path, on_progress: OnProgress | None = None) -> MemoryTimeline:
    """Read an exported memory timeline, compressed or not.

    Raises:
        TraceFormatError: it is none, it ends in the middle, or it is too large.
    """
    with Text(path, FaultLog()) as text:
        pieces, size = [], 0
        while piece := text.read(1 << 20):
            size += len(piece)
            if size > MOST_TEXT:
                raise _none(f"It has more than {MOST_TEXT >> 20} MiB of text.")
            pieces.append(piece)
            if on_progress is not None:
                on_progress(Progress("reading", text.bytes_done, text.bytes_total, events=0))
    try:
        rows: list[list[Any]] = decoded(b"".join(pieces), list[list[Any]])
        if len(rows) == 2 and len(rows[0]) == len(rows[1]) and _is_sums(rows[1]):
            return _within_reason(_of_sums(rows[0], rows[1]))
        return _within_reason(_of_changes(rows))
    except (ValueError, TypeError, OverflowError) as error:
        raise _none(f"{error}.") from None


def _within_reason(timeline: MemoryTimeline) -> MemoryTimeline:
    """The timeline. Raises ValueError where a time or a sum of bytes is beyond all that exists."""
    ts = timeline.ts
    if len(ts) and not 0 <= int(ts.min()) <= int(ts.max()) <= _LATEST_NS:
        raise ValueError("a time is not after 1970, or beyond 2116")
    for category, base in enumerate(timeline.base):
        # Numbers with a fraction do not wrap around.
        changes = timeline.bytes[timeline.category == category].astype(np.float64)
        held = np.abs(base + np.cumsum(changes))
        if held.max(initial=abs(base)) > MOST_BYTES:
            raise ValueError(
                f"a category holds more than {MOST_BYTES >> 40:,} TiB, which no memory has"
            )
    return timeline


def _none(why: str) -> TraceFormatError:
    return TraceFormatError(
        "memory_timeline",
        f"This begins as an exported memory timeline, and cannot be read: {why}",
        hint="Write it again with prof.export_memory_timeline().",
    )


def _check_sizes(sizes: I64) -> None:
    if sizes.size and max(int(sizes.max()), -int(sizes.min())) > MOST_BYTES:
        raise ValueError(f"a size is more than {MOST_BYTES >> 40:,} TiB, which no memory has")


def _is_sums(rows: Sequence[Any]) -> bool:
    return all(isinstance(row, list) and len(row) == CATEGORIES + 1 for row in rows)


def _of_sums(times: Sequence[Any], sums: Sequence[Any]) -> MemoryTimeline:
    """The sums after each instant, in µs; the first column is not used."""
    us = np.array(times, np.int64)
    if (np.abs(us.astype(np.float64)) > _LATEST_NS // 1000).any():
        raise ValueError("a time is beyond 2116")
    ts = us * 1000
    held = np.array(sums, np.int64).reshape(len(ts), CATEGORIES + 1)[:, 1:]
    _check_sizes(held)
    change = np.diff(held, axis=0)
    row, category = np.nonzero(change)
    return MemoryTimeline(
        ts=ts[1:][row],
        category=category.astype(np.int8),
        bytes=change[row, category],
        base=tuple(held[0].tolist()) if len(held) else (0,) * CATEGORIES,
    )


def _of_changes(rows: Sequence[Any]) -> MemoryTimeline:
    """Allocations, releases, and changes of a category, of which two rows come: −n and +n."""
    table = np.array(rows, np.int64).reshape(len(rows), 4)
    ts, action, size, category = table.T
    _check_sizes(size)
    if ((category < 0) | (category >= CATEGORIES)).any():
        raise ValueError("a category is not known")
    before = ts == _BEFORE
    known = np.isin(action, (_CREATE, _CHANGE, _DESTROY)) & ~before
    base = np.bincount(category[before], size[before], CATEGORIES).astype(np.int64)
    return MemoryTimeline(
        ts=np.maximum.accumulate(ts[known]),
        category=category[known].astype(np.int8),
        bytes=size[known],
        base=tuple(base.tolist()),
    )
