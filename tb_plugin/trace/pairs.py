"""Begin and end events of one thread become ranges; Kineto writes none, other tools do.

B aten::mm ──┐
B aten::t ─┐ │
E ─────────┘ │      the last open begin ends first, unless the end names another one
E ───────────┘
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .raw import RawEvents
from .texts import Texts

I32 = NDArray[np.int32]
I64 = NDArray[np.int64]

_END = ord("E")


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """``begin[i]`` ends at ``end_ts[i]``; ``open`` never ends; the rows count in the file."""

    begin: I32
    end_ts: I64
    open: I32
    stray_ends: int

    @staticmethod
    def none() -> Pairs:
        """A file without such events."""
        empty = np.empty(0, np.int32)
        return Pairs(empty, np.empty(0, np.int64), empty, 0)


def pair(events: RawEvents, rows: I32, texts: Texts) -> Pairs:
    """Match the ends among ``rows`` with the begins, thread by thread, in the order of time.

    At one instant, file order decides: writers emit an end before the next begin.
    """
    order = rows[np.argsort(events.ts[rows], kind="stable")]
    unnamed = texts.code("")
    open_begins: dict[tuple[int, int], list[tuple[int, int]]] = {}
    begin: list[int] = []
    end_ts: list[int] = []
    stray = 0
    for row, phase, pid, tid, name, ts in zip(
        order.tolist(),
        events.phase[order].tolist(),
        events.pid[order].tolist(),
        events.tid[order].tolist(),
        events.name[order].tolist(),
        events.ts[order].tolist(),
        strict=True,
    ):
        stack = open_begins.setdefault((pid, tid), [])
        if phase != _END:
            stack.append((row, name))
            continue
        at = _position(stack, name, unnamed)
        if at < 0:
            stray += 1
        else:
            begin.append(stack.pop(at)[0])
            end_ts.append(ts)
    left = sorted(row for stack in open_begins.values() for row, _ in stack)
    return Pairs(
        np.array(begin, np.int32), np.array(end_ts, np.int64), np.array(left, np.int32), stray
    )


def _position(stack: list[tuple[int, int]], name: int, unnamed: int) -> int:
    """Which open begin an end closes: the last one of its name, the last one when it has none."""
    if name == unnamed:
        return len(stack) - 1
    for at in range(len(stack) - 1, -1, -1):
        if stack[at][1] in {name, unnamed}:
            return at
    return -1
