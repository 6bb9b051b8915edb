"""From an op of the backward pass to the forward op that created its node.

Recorders draw an arrow (``fwdbwd``). Where it is missing, the sequence number tells: the node was
created by the last started forward op of that number on that thread.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .categories import FORWARD_FLOWS
from .columns import cells, look_up
from .flows import Flows
from .host import Host
from .model import FlowTable, HostKind
from .ops import OpIndex
from .raw import RawTrace
from .texts import Texts

I32 = NDArray[np.int32]
I64 = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Autograd:
    """``forward`` has an entry per host row."""

    forward: I32
    flows: FlowTable
    by_number: int  # links without an arrow


def link_backward(
    raw: RawTrace, texts: Texts, host: Host, ops: OpIndex, flows: Flows, start: int
) -> Autograd:
    """Link backward ops to forward ops, by arrows first, then by number."""
    forward = np.full(len(host.ts), -1, np.int32)
    source, target = _by_arrows(raw, texts, host, ops, flows, start)
    forward[target] = source
    table = FlowTable(source, target)
    row = np.flatnonzero(host.kind == HostKind.OP).astype(np.int32)
    sequence = cells(host.args.get("sequence"), row, -1)
    number = cells(host.args.get("forward_thread"), row, 0)
    backward = (sequence >= 0) & (number > 0)
    if not backward.any():
        return Autograd(forward, table, 0)
    ahead = (sequence >= 0) & (number <= 0)
    by_number = 0
    known = _threads_by_arrows(host, source, target)
    for thread_number in np.unique(number[backward]).tolist():
        asked = backward & (number == thread_number)
        thread = known.get(thread_number)
        if thread is None:
            thread = _thread_of_number(host, row, sequence, ahead, asked)
        candidates = ahead & (host.thread[row] == thread)
        found = _last_of_number(
            sequence[candidates],
            host.ts[row[candidates]],
            row[candidates],
            sequence[asked],
            host.ts[row[asked]],
        )
        rows = row[asked]
        fill = (forward[rows] < 0) & (found >= 0)
        forward[rows[fill]] = found[fill]
        by_number += int(np.count_nonzero(fill))
    return Autograd(forward, table, by_number)


def _by_arrows(
    raw: RawTrace, texts: Texts, host: Host, ops: OpIndex, flows: Flows, start: int
) -> tuple[I32, I32]:
    begin, end = flows.of(texts, FORWARD_FLOWS)
    events = raw.events

    def op_at(rows: I32) -> I32:
        thread = look_up(events.pid[rows], events.tid[rows], len(texts), host.thread_of)
        found = ops.at(thread, events.ts[rows] - start)
        found[thread < 0] = -1
        return found

    source, target = op_at(begin), op_at(end)
    both = (source >= 0) & (target >= 0) & (source != target)
    return source[both], target[both]


def _threads_by_arrows(host: Host, source: I32, target: I32) -> dict[int, int]:
    """The thread behind each profiler thread number, as far as arrows tell."""
    number = cells(host.args.get("forward_thread"), target, 0)
    votes: dict[int, I32] = {
        n: host.thread[source[number == n]] for n in np.unique(number).tolist()
    }
    return {n: int(np.bincount(threads).argmax()) for n, threads in votes.items() if n > 0}


def _thread_of_number(
    host: Host,
    row: I32,
    sequence: I64,
    ahead: NDArray[np.bool_],
    asked: NDArray[np.bool_],
) -> int:
    """The thread whose forward ops carry most of the asked sequence numbers."""
    matching = ahead & np.isin(sequence, sequence[asked])
    if not matching.any():
        return -1
    return int(np.bincount(host.thread[row[matching]]).argmax())


def _last_of_number(number: I64, ts: I64, row: I32, asked: I64, before: I64) -> I32:
    """For each asked number the last row of that number that started before an instant, or −1."""
    count = len(number)
    key = np.concatenate([number, asked])
    order = np.lexsort((np.arange(len(key)) < count, np.concatenate([ts, before]), key))
    position = np.arange(len(key))
    is_row = order < count
    last = np.maximum.accumulate(np.where(is_row, position, -1))
    query = np.flatnonzero(~is_row)
    at = last[query]
    result = np.full(len(asked), -1, np.int32)
    good = at >= 0
    good[good] = key[order[at[good]]] == key[order[query[good]]]
    result[order[query[good]] - count] = row[order[at[good]]]
    return result
