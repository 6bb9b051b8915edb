"""The host table before links: rows sorted by (thread, ts, −dur), nested, each with its kind."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...base.arrays import (
    I8,
    I32,
    I64,
    Sparse,
    by_key_then_ts,
    cells,
    dense,
    distinct,
    distinct_values,
    is_any,
    lookup,
    pairs_of,
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


@dataclass(frozen=True, slots=True, eq=False)
class ThreadRows:
    """The thread table, and the thread of each row of two parts of ``Rows``."""

    table: ThreadTable
    of_host: I32
    of_memory: I32


@dataclass(frozen=True, slots=True, eq=False)
class HostRows(EventTable):
    """The rows of the host table in order, before sparse columns."""

    kind: I8
    thread: I32
    raw: I32
    names: I32  # the codes that occur in ``name``


@dataclass(frozen=True, slots=True, eq=False)
class Host(EventTable):
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
    both = np.concatenate([rows.host.row, rows.memory.row])
    pid, tid, index = pairs_of(take(raw.events.pid, both), take(raw.events.tid, both), len(texts))
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
    part = rows.host
    order = by_key_then_ts(threads.of_host, part.ts)
    ts, thread = side_by_side(partial(take, part.ts, order), partial(take, threads.of_host, order))
    same = ts[1:] == ts[:-1]
    same &= thread[1:] == thread[:-1]
    _settle_ties(raw, rows, order, same)
    del same
    ts -= start
    row = take(part.row, order)
    dur, (name, names), role, category = side_by_side(
        partial(take, part.dur, order),
        partial(_names_of, raw.events.name, row, len(texts)),
        partial(take, rows.role, row),
        partial(take, raw.events.category, row),
    )
    del order
    return HostRows(ts, dur, name, category, _kinds(texts, role, name, names), thread, row, names)


def _names_of(column: I32, rows: I32, size: int) -> tuple[I32, I32]:
    """The names of some rows, and which codes occur."""
    name = take(column, rows)
    return name, distinct(name, size)


def _settle_ties(
    raw: RawTrace, rows: Rows, order: NDArray[np.intp], same: NDArray[np.bool_]
) -> None:
    """Order events of one start by −dur; equal ones by kind, id and place in the file.

    ``same[i]``: the rows i and i + 1 of ``order`` start at one instant on one thread.
    """
    member = np.zeros(len(order), bool)
    member[1:] = same
    member[:-1] |= same
    tied = np.flatnonzero(member)
    if not len(tied):
        return
    group = np.cumsum(~same[np.maximum(tied - 1, 0)])
    part = order[tied]
    row = rows.host.row[part]
    rank = np.full(max(EventRole) + 1, 9, np.int8)
    for role, place in _RANK.items():
        rank[role] = place
    number = cells(raw.ints.get("external_id"), row, np.iinfo(np.int64).max)
    dur = rows.host.dur[part]
    order[tied] = part[np.lexsort((row, number, rank[rows.role[row]], -dur, group))]


def build_host(
    rows: HostRows,
    threads: ThreadRows,
    args: dict[str, Sparse],
    open_begins: I32,
    resolution: int,
) -> Host:
    """Nest the host events; ``open_begins`` are those rows that never ended."""
    first = np.ones(len(rows), bool)
    np.not_equal(rows.thread[1:], rows.thread[:-1], out=first[1:])
    tolerance = ROUNDED_NS if resolution >= ROUNDED_NS else EXACT_NS
    kind = rows.kind

    def nested() -> Nesting:
        clock = np.asarray(take(lookup(_CLOCK, max(HostKind) + 1), kind))
        return nest(rows.ts, rows.dur, first, clock, tolerance)

    def numbers(column: Sparse | None, kinds: tuple[HostKind, ...]) -> I64:
        """A column that means something on rows of some kinds; elsewhere −1."""
        result = dense(column, len(rows), -1)
        result[~is_any(kind, kinds)] = -1
        return result

    written = args.pop("correlation", None), args.pop("external_id", None)
    nesting, correlation, external_id = side_by_side(
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
    )


def _kinds(texts: Texts, role: NDArray[np.uint8], name: I32, names: I32) -> I8:
    result = np.asarray(take(lookup(_KINDS, max(EventRole) + 1, HostKind.OTHER), role))
    for old, new, prefixes in _RENAMED:
        named = texts.table(names, partial(_begins, prefixes), np.bool_)
        if named.any():
            rows = where(result == old)
            renamed = rows[take(named, take(name, rows))]
            put(result, renamed, np.full(len(renamed), new, np.int8))
    return result


def _begins(prefixes: tuple[str, ...], text: str) -> bool:
    return text.startswith(prefixes)


def _unfinished(finished: Sparse | None, open_begins: I32) -> I32:
    """Rows that the recorder marks as never ended; some builds write true on all others instead."""
    said = np.empty(0, np.int32) if finished is None else finished.row[finished.value == 0]
    return distinct_values(np.concatenate([said, open_begins]))
