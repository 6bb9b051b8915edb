"""Which forward op created the node that a backward op runs?

Recorders draw an arrow (``fwdbwd``). Where it is missing, the sequence number decides: the node was
created by the forward op of that number that started last on that thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import I32, I64, Sparse, cells, look_up
from ..build.host import Host
from ..model import FlowTable, HostKind
from ..raw import Texts
from .flows import Arrows, Ends, op_at


@dataclass(frozen=True, slots=True, eq=False)
class Autograd:
    """``forward`` has an entry per host row."""

    forward: I32
    flows: FlowTable
    by_number: int  # links without an arrow


@dataclass(frozen=True, slots=True, eq=False)
class _Numbered:
    """The ops that carry a sequence number, and the number of the thread of their forward op."""

    row: I32
    sequence: I64
    forward_thread: I64  # 0 on ops of the forward pass

    def of(self, chosen: NDArray[np.bool_] | NDArray[np.intp]) -> _Numbered:
        return _Numbered(self.row[chosen], self.sequence[chosen], self.forward_thread[chosen])


def link_backward(texts: Texts, host: Host, arrows: Arrows, start: int) -> Autograd:
    """Link backward ops to forward ops, by arrows first, then by number."""
    forward = np.full(len(host), -1, np.int32)
    source, target = _by_arrows(texts, host, arrows, start)
    forward[target] = source
    table = FlowTable(source, target)
    numbered = _numbered(host)
    backward = numbered.forward_thread > 0
    if not backward.any():
        return Autograd(forward, table, 0)
    ahead = numbered.of(~backward)
    ahead = ahead.of(np.argsort(ahead.sequence, kind="stable"))
    by_number = 0
    known = _threads_by_arrows(host, source, target)
    for number, asked in _grouped(numbered.of(backward)):
        matching = ahead.of(_same_number(ahead.sequence, asked.sequence))
        threads = host.thread[matching.row]
        # Without an arrow, the thread whose forward ops carry most of the numbers.
        thread = known.get(number, int(np.bincount(threads).argmax()) if len(threads) else -1)
        candidates = matching.of(threads == thread)
        found = _last_of_number(
            candidates.sequence,
            host.ts[candidates.row],
            candidates.row,
            asked.sequence,
            host.ts[asked.row],
        )
        fill = (forward[asked.row] < 0) & (found >= 0)
        forward[asked.row[fill]] = found[fill]
        by_number += int(np.count_nonzero(fill))
    return Autograd(forward, table, by_number)


def _numbered(host: Host) -> _Numbered:
    sequence: Sparse | None = host.args.get("sequence")
    if sequence is None:
        nothing = np.empty(0, np.int64)
        return _Numbered(np.empty(0, np.int32), nothing, nothing)
    keep = host.kind[sequence.row] == HostKind.OP
    keep &= sequence.value >= 0
    row = sequence.row[keep]
    number = cells(host.args.get("forward_thread"), row, 0)
    return _Numbered(row, sequence.value[keep], np.maximum(number, 0))


def _grouped(ops: _Numbered) -> Iterator[tuple[int, _Numbered]]:
    """The ops by the number of their forward thread, in the order of the numbers."""
    order = np.argsort(ops.forward_thread, kind="stable")
    for part in _runs(ops.forward_thread, order):
        yield int(ops.forward_thread[part[0]]), ops.of(part)


def _runs(number: I64, order: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Indexes in an order by number, one array for each number."""
    in_order = number[order]
    edges = np.flatnonzero(in_order[1:] != in_order[:-1]) + 1
    return np.split(order, edges) if len(order) else []


def _by_arrows(texts: Texts, host: Host, arrows: Arrows, start: int) -> tuple[I32, I32]:
    def touched(ends: Ends) -> I32:
        thread = look_up(ends.pid, ends.tid, len(texts), host.thread_of)
        found = op_at(host, thread, ends.ts - start)
        found[thread < 0] = -1
        return found

    source, target = touched(arrows.source), touched(arrows.target)
    both = (source >= 0) & (target >= 0) & (source != target)
    return source[both], target[both]


def _threads_by_arrows(host: Host, source: I32, target: I32) -> dict[int, int]:
    """The thread behind each profiler thread number, as far as arrows show it."""
    number = cells(host.args.get("forward_thread"), target, 0)
    order = np.argsort(number, kind="stable")
    votes = {int(number[part[0]]): host.thread[source[part]] for part in _runs(number, order)}
    return {n: int(np.bincount(threads).argmax()) for n, threads in votes.items() if n > 0}


def _same_number(numbers: I64, asked: I64) -> NDArray[np.intp]:
    """Positions at which the ascending ``numbers`` equal one of those asked, in order."""
    wanted = np.sort(asked)
    wanted = wanted[np.append(True, wanted[1:] != wanted[:-1])]
    low = np.searchsorted(numbers, wanted, side="left")
    count = np.searchsorted(numbers, wanted, side="right") - low
    before = np.cumsum(count) - count
    return np.asarray(np.arange(int(count.sum())) + np.repeat(low - before, count))


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
