"""Patterns of memory: totals that grow from step to step, and the line that keeps the blocks.

A leak by the test of ``memory.growth``: the total at the ends of the steps rises by more than
1 MiB a step and 0.1 % of its mean, in four of five steps.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...base.arrays import I64, distinct_values
from ...base.intervals import EMPTY
from ..memory.growth import after_warm_up, growth
from .host_code import Found, HostCode

HOST_MEMORY = 0  # c10's DeviceType


def leaks(code: HostCode) -> Iterator[Found]:
    """Memory that grows in every step: of the host, and of each device."""
    memory, windows = code.trace.memory, code.windows
    chosen = np.array(after_warm_up(windows.excluded), np.int64)
    if not len(memory) or len(chosen) < 2:
        return
    keys = sorted(set(zip(memory.device_type.tolist(), memory.device_id.tolist(), strict=True)))
    for kind, number in keys:
        mine = np.flatnonzero((memory.device_type == kind) & (memory.device_id == number))
        total = np.concatenate([np.zeros(1, np.int64), np.cumsum(memory.bytes[mine])])
        at = np.searchsorted(memory.ts[mine], windows.end[chosen], side="left")
        test = growth(total[at] - int(total.min()))
        if test.verdict != "leak":
            continue
        rows = _kept(code, mine)
        owners = _owners(code, rows)
        sizes = memory.bytes[rows]
        frame, where = "", rows
        if len(rows) and (owners >= 0).any():
            names = np.where(owners >= 0, code.name[np.maximum(owners, 0)], -1)
            by_name = np.bincount(names + 1, sizes, len(code.trace.strings) + 1)
            best = int(by_name[1:].argmax())
            frame, where = code.trace.strings[best], rows[names == best]
        figures = {
            "bytes_per_step": test.bytes_per_step,
            "rising": float(test.rising),
            "steps": float(test.steps),
            "device_type": float(kind),
            "device_id": float(number),
            "kept_here": float(memory.bytes[where].sum() / max(len(chosen), 1)),
        }
        yield Found("leak", "", EMPTY, _ops(code, where), frame, figures)


def _kept(code: HostCode, mine: I64) -> I64:
    """Allocations within the steps whose address is not given back; () without addresses."""
    memory = code.trace.memory
    address = memory.address[mine]
    if not len(mine) or not address.all():
        return mine[:0]
    order = np.lexsort((np.arange(len(mine)), address))
    last = np.flatnonzero(np.diff(address[order], append=-1))
    rows = np.sort(mine[order[last]])
    rows = rows[memory.bytes[rows] > 0]
    return rows[code.steps_of(memory.ts[rows]) >= 0]


def _inner(code: HostCode, rows: I64) -> I64:
    """The innermost event of the main thread that is open at each allocation; −1 for none."""
    ts = code.trace.memory.ts[rows]
    at = np.searchsorted(code.ts, ts, side="right") - 1
    for _ in range(200):
        outside = (at >= 0) & (code.end[np.maximum(at, 0)] <= ts)
        if not outside.any():
            break
        at = np.where(outside, code.parent[np.maximum(at, 0)], at)
    return np.asarray(at, np.int64)


def _owners(code: HostCode, rows: I64) -> I64:
    if not len(code.ts):
        return np.full(len(rows), -1, np.int64)
    inner = _inner(code, rows)
    return np.where(inner >= 0, code.owner[np.maximum(inner, 0)], -1).astype(np.int64)


def _ops(code: HostCode, rows: I64) -> I64:
    """The events in which the blocks were allocated, as rows of the host table."""
    if not len(code.ts):
        return rows[:0]
    inner = _inner(code, rows)
    return code.host_rows(distinct_values(inner[inner >= 0]))
