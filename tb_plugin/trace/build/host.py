"""The host table before links: rows sorted by (thread, ts, −dur), nested, each with its kind."""

from __future__ import annotations

from functools import partial

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ...base.arrays import (
    I8,
    I32,
    I64,
    Sparse,
    cells,
    combine,
    distinct,
    distinct_values,
    is_among,
    is_any,
    lookup,
    pairs_at,
    put,
    take,
    where,
)
from ...base.machine import side_by_side
from ..model import EventTable, HostKind, ThreadTable
from ..raw import RawTrace, Texts
from .categories import ANNOTATION_PREFIXES, MODULE_PREFIX, EventRole
from .metadata import ProcessMetadata
from .nest import EXACT_NS, ROUNDED_NS, Nesting, nest
from .order import OrderedRows, order_rows
from .route import Rows

_KINDS = {
    EventRole.OP: HostKind.OP,
    EventRole.ANNOTATION: HostKind.ANNOTATION,
    EventRole.PYTHON: HostKind.PYTHON,
    EventRole.RUNTIME: HostKind.RUNTIME,
    EventRole.OVERHEAD: HostKind.OVERHEAD,
    EventRole.HOST_OTHER: HostKind.OTHER,
}
# Of two events with one start and end the outer one: annotations wrap frames, ops, calls.
_RANK = {
    EventRole.ANNOTATION: 0,
    EventRole.HOST_OTHER: 1,
    EventRole.PYTHON: 2,
    EventRole.OP: 3,
    EventRole.RUNTIME: 4,
    EventRole.OVERHEAD: 5,
}
# Events of a kind whose names begin so are of another kind.
_RENAMED = (
    (HostKind.PYTHON, HostKind.MODULE, (MODULE_PREFIX,)),
    (HostKind.OP, HostKind.ANNOTATION, ANNOTATION_PREFIXES),
)
_CLOCK = {HostKind.PYTHON: 1, HostKind.MODULE: 1, HostKind.RUNTIME: 2}
OVERHEAD_PID = "-1"


class ThreadRows(Struct, frozen=True, eq=False):
    """The thread table, and the thread of each row of two parts of ``Rows``."""

    table: ThreadTable
    of_host: I32
    of_memory: I32


class HostRows(EventTable, frozen=True, eq=False):
    """The rows of the host table in order, before sparse columns."""

    kind: I8
    thread: I32
    raw: I32
    names: I32  # the codes that occur in ``name``
    first: I64  # the first row of each thread, and behind the last one


class Host(EventTable, frozen=True, eq=False):
    """Columns of ``HostTable`` that need no links."""

    kind: I8
    thread: I32
    nesting: Nesting
    correlation: I64
    external_id: I64
    raw: I32
    args: dict[str, Sparse]
    threads: ThreadTable
    names: I32  # the codes that occur in ``name``
    first: I64  # the first row of each thread, and behind the last one
    calls: Sparse  # the correlations above 0 of runtime calls
    owners: Sparse  # the external ids above 0 of ops and annotations

    @property
    def thread_of(self) -> dict[tuple[int, int], int]:
        """Row of the thread table by codes of (pid, tid)."""
        pairs = zip(self.threads.pid.tolist(), self.threads.tid.tolist(), strict=True)
        return {pair: thread for thread, pair in enumerate(pairs)}

    def end_of(self, rows: NDArray[np.integer]) -> I64:
        """``ts + dur`` of some rows."""
        return np.asarray(self.ts[rows] + self.dur[rows])


def find_threads(raw: RawTrace, texts: Texts, rows: Rows, identity: ProcessMetadata) -> ThreadRows:
    """Threads by (process, thread), with the names that the file gives them."""
    both = np.concatenate([rows.host, rows.memory]) if len(rows.memory) else rows.host
    pid, tid, index = pairs_at(both, raw.events.pid, raw.events.tid, len(texts))
    names = [
        identity.thread_name.get(key, "Profiler overhead" if texts[key[0]] == OVERHEAD_PID else "")
        for key in zip(pid.tolist(), tid.tolist(), strict=True)
    ]
    table = ThreadTable(pid, tid, np.array([texts.code(name) for name in names], np.int32))
    return ThreadRows(table, index[: len(rows.host)], index[len(rows.host) :])


def order_host(
    raw: RawTrace, texts: Texts, rows: Rows, threads: ThreadRows, start: int
) -> HostRows:
    """The host events in the order of the table; times count from ``start``."""
    ordered = order_rows(rows.host, threads.of_host, rows.ts, rows.dur)
    _settle_ties(raw, rows, ordered)
    row = ordered.row
    ts, dur, (name, names, kind), category = side_by_side(
        lambda: _from(start, take(rows.ts, row)),
        partial(take, rows.dur, row),
        partial(_names_and_kinds, raw, texts, rows, row),
        partial(take, raw.events.category, row),
    )
    first = np.full(len(threads.table) + 1, len(row), np.int64)
    first[: len(ordered.first)] = ordered.first
    return HostRows(ts, dur, name, category, kind, ordered.group, row, names, first)


def _from(start: int, ts: I64) -> I64:
    ts -= start
    return ts


def _settle_ties(raw: RawTrace, rows: Rows, ordered: OrderedRows) -> None:
    """Order events of one start and one end by kind, id and place in the file."""
    tied = ordered.tied
    if not len(tied):
        return
    at = distinct_values(np.concatenate([tied, tied - 1]))
    group = np.cumsum(~is_among(at, tied))
    row = ordered.row[at]
    rank = np.full(max(EventRole) + 1, 9, np.int8)
    for role, place in _RANK.items():
        rank[role] = place
    number = cells(raw.ints.get("external_id"), row, np.iinfo(np.int64).max)
    rank = rank[rows.role[row]]
    # Mostly they are written so; otherwise, the order within each group is by both, then by row.
    is_less = (rank[1:] < rank[:-1]) | ((rank[1:] == rank[:-1]) & (number[1:] < number[:-1]))
    if (is_less & (group[1:] == group[:-1])).any():
        ordered.row[at] = row[np.lexsort((row, number, rank, group))]


def build_host(
    rows: HostRows,
    threads: ThreadRows,
    args: dict[str, Sparse],
    open_begins: I32,
    resolution: int,
) -> Host:
    """Nest the host events; ``open_begins`` are those rows that never ended."""
    first = np.zeros(len(rows), bool)
    first[rows.first[rows.first < len(rows)]] = True
    tolerance = ROUNDED_NS if resolution >= ROUNDED_NS else EXACT_NS
    kind = rows.kind

    def nested() -> Nesting:
        clock = np.asarray(take(lookup(_CLOCK, max(HostKind) + 1), kind))
        return nest(rows.ts, rows.dur, first, clock, tolerance)

    def numbers(column: Sparse | None, kinds: tuple[HostKind, ...]) -> tuple[I64, Sparse]:
        """A column that means something on rows of some kinds; elsewhere −1. Those above 0."""
        result = np.full(len(rows), -1, np.int64)
        if column is None:
            return result, Sparse(np.empty(0, np.int32), result[:0])
        kept = where(is_any(take(kind, column.row), kinds))
        row, value = take(column.row, kept), take(column.value, kept)
        put(result, row, value.astype(np.int64, copy=False))
        if len(value) and int(value.min()) <= 0:
            useful = where(value > 0)
            row, value = take(row, useful), take(value, useful)
        return result, Sparse(row, value)

    written = args.pop("correlation", None), args.pop("external_id", None)
    nesting, (correlation, calls), (external_id, owners) = side_by_side(
        nested,
        lambda: numbers(written[0], (HostKind.RUNTIME,)),
        lambda: numbers(written[1], (HostKind.OP, HostKind.ANNOTATION)),
    )
    if len(nesting.overrun.row):
        args["overrun"] = nesting.overrun
    if len(unfinished := _unfinished(args.pop("finished", None), open_begins)):
        args["finished"] = Sparse(unfinished, np.zeros(len(unfinished), np.int64))
    return Host(
        ts=rows.ts,
        dur=rows.dur,
        name=rows.name,
        category=rows.category,
        kind=kind,
        thread=rows.thread,
        nesting=nesting,
        correlation=correlation,
        external_id=external_id,
        raw=rows.raw,
        args=args,
        threads=threads.table,
        names=rows.names,
        first=rows.first,
        calls=calls,
        owners=owners,
    )


def _names_and_kinds(raw: RawTrace, texts: Texts, rows: Rows, row: I32) -> tuple[I32, I32, I8]:
    """The names of some rows, which codes occur, and the kinds, by role and name."""
    name = take(raw.events.name, row)
    names = distinct(name, len(texts))
    roles = max(EventRole) + 1
    kinds = [lookup(_KINDS, roles, HostKind.OTHER)]
    index = np.zeros(len(texts), np.int32)
    for old, new, prefixes in _RENAMED:
        renamed = texts.table(names, partial(_begins, prefixes), np.bool_)
        index[renamed] = len(kinds) * roles
        kinds.append(np.where(kinds[0] == old, np.int8(new), kinds[0]))
    table = np.concatenate(kinds).view(np.uint8)
    kind = combine(name, take(rows.role, row), index, table)
    return name, names, kind.view(np.int8)


def _begins(prefixes: tuple[str, ...], text: str) -> bool:
    return text.startswith(prefixes)


def _unfinished(finished: Sparse | None, open_begins: I32) -> I32:
    """Rows that the recorder marks as never ended; some builds write true on all others instead."""
    said = np.empty(0, np.int32) if finished is None else finished.row[finished.value == 0]
    return distinct_values(np.concatenate([said, open_begins]))
