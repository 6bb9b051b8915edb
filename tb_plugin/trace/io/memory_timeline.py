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

import msgspec
import numpy as np

from ...base.errors import TraceFormatError
from ..memory_model import MemoryTimeline
from ..raw import FaultLog, OnProgress, Progress
from .source import Text

CATEGORIES = 8
"""Parameter, optimizer state, input, temporary, activation, gradient, autograd detail, unknown."""
MOST_BYTES = 256 << 20
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
            if size > MOST_BYTES:
                raise _none(f"It has more than {MOST_BYTES >> 20} MiB of text.")
            pieces.append(piece)
            if on_progress is not None:
                on_progress(Progress("reading", text.bytes_done, text.bytes_total, events=0))
    try:
        rows = msgspec.json.decode(b"".join(pieces), type=list[list[Any]])
        if len(rows) == 2 and len(rows[0]) == len(rows[1]) and _is_sums(rows[1]):
            return _of_sums(rows[0], rows[1])
        return _of_changes(rows)
    except (msgspec.DecodeError, ValueError, TypeError, OverflowError) as error:
        raise _none(f"{error}.") from None


def _none(why: str) -> TraceFormatError:
    return TraceFormatError(
        "memory_timeline",
        f"This begins as an exported memory timeline, and cannot be read: {why}",
        hint="Write it again with prof.export_memory_timeline().",
    )


def _is_sums(rows: Sequence[Any]) -> bool:
    return all(isinstance(row, list) and len(row) == CATEGORIES + 1 for row in rows)


def _of_sums(times: Sequence[Any], sums: Sequence[Any]) -> MemoryTimeline:
    """The sums after each instant, in µs; the first column is not used."""
    ts = np.array(times, np.int64) * 1000
    held = np.array(sums, np.int64).reshape(len(ts), CATEGORIES + 1)[:, 1:]
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
