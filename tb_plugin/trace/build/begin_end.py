"""Ranges from begin and end events. Kineto writes whole ranges; other tools write such pairs.

B aten::mm ──┐
B aten::t ─┐ │
E ─────────┘ │      the last open begin ends first, unless the end names another one
E ───────────┘
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...base.arrays import I32, I64
from ..raw import RawEvents
from .strings import Texts

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
        """No pairs: a file without begin and end events."""
        empty = np.empty(0, np.int32)
        return Pairs(empty, np.empty(0, np.int64), empty, 0)


def pair(events: RawEvents, rows: I32, texts: Texts) -> Pairs:
    """Match the ends among ``rows`` with the begins, thread by thread, in the order of time.

    At one instant, file order decides: writers emit an end before the next begin.
    """
    order = rows[np.argsort(events.ts[rows], kind="stable")]
    unnamed = texts.code("")
    threads: dict[tuple[int, int], _Open] = {}
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
        thread = threads.get((pid, tid))
        if thread is None:
            thread = threads[pid, tid] = _Open(unnamed)
        if phase != _END:
            thread.add(row, name)
            continue
        closed = thread.close(name)
        if closed < 0:
            stray += 1
        else:
            begin.append(closed)
            end_ts.append(ts)
    left = sorted(row for thread in threads.values() for row in thread.left())
    return Pairs(
        np.array(begin, np.int32), np.array(end_ts, np.int64), np.array(left, np.int32), stray
    )


class _Open:
    """The open begins of one thread, by name; a step costs the same however many there are."""

    def __init__(self, unnamed: int) -> None:
        self._unnamed = unnamed
        self._rows: list[int] = []  # in order; what an end closed by its name stays for a while
        self._names: list[int] = []
        self._places: dict[int, list[int]] = {}  # name → places of what is open

    def add(self, row: int, name: int) -> None:
        """Add a begin event."""
        self._places.setdefault(name, []).append(len(self._rows))
        self._rows.append(row)
        self._names.append(name)

    def close(self, name: int) -> int:
        """The row that an end closes: the last begin of its name; of any name if it has none."""
        self._forget_closed()
        if name == self._unnamed:
            name = self._names[-1] if self._names else name
        candidates = [self._places.get(one) or [-1] for one in (name, self._unnamed)]
        places = max(candidates, key=lambda one: one[-1])
        return self._rows[places.pop()] if places[-1] >= 0 else -1

    def left(self) -> list[int]:
        """The rows without an end."""
        return [self._rows[place] for places in self._places.values() for place in places]

    def _forget_closed(self) -> None:
        while self._rows and (self._places[self._names[-1]] or [-1])[-1] != len(self._rows) - 1:
            self._rows.pop()
            self._names.pop()
