"""Which op is open when: the ops of the host, nested among themselves."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .flows import last_started
from .host import Host
from .model import HostKind
from .nest import innermost_at, outer_rows

I32 = NDArray[np.int32]
I64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class OpIndex:
    """The ops among the host rows, nested among themselves, to ask which one is open when."""

    row: I32
    end: I64
    outer: I32
    offsets: I64  # by thread
    ts: I64

    def around(self, host: Host, rows: I32) -> I32:
        """The innermost op open at the start of each of these host rows (an op: itself)."""
        start = np.searchsorted(self.row, rows, side="right") - 1
        known = start >= 0
        known[known] = host.thread[self.row[start[known]]] == host.thread[rows[known]]
        return self._rows(host.ts[rows], np.where(known, start, -1))

    def at(self, thread: I32, at: I64) -> I32:
        """The innermost op open on a thread at an instant."""
        return self._rows(at, last_started(self.offsets, self.ts, thread, at))

    def _rows(self, at: I64, start: NDArray[np.intp]) -> I32:
        found = innermost_at(self.end, self.outer, at, start)
        result = np.full(len(at), -1, np.int32)
        result[found >= 0] = self.row[found[found >= 0]]
        return result


def index_ops(host: Host) -> OpIndex:
    """Prepare the ops of the host for questions."""
    row = np.flatnonzero(host.kind == HostKind.OP).astype(np.int32)
    thread = host.thread[row]
    first = np.ones(len(row), bool)
    np.not_equal(thread[1:], thread[:-1], out=first[1:])
    ts = host.ts[row]
    end = ts + host.dur[row]
    offsets = np.searchsorted(thread, np.arange(len(host.threads) + 1))
    return OpIndex(row, end, outer_rows(ts, end, first), offsets.astype(np.int64), ts)
