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
    distinct,
    distinct_values,
    is_among,
    lookup,
    pairs_at,
    take,
)
from ...base.machine import each, side_by_side
from ..model import EventTable, HostKind, ThreadTable
from ..raw import RawTrace, Texts
from .categories import ANNOTATION_PREFIXES, MODULE_PREFIX, EventRole
from .metadata import ProcessMetadata
from .nest import EXACT_NS, ROUNDED_NS, Nesting, nest
from .order import Kinds, OrderedRows, TablePlaces, fill_names, fill_times, take_numbers
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
    correlation: I32 | I64
    external_id: I32 | I64
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


class ThreadPairs(Struct, frozen=True, eq=False):
    """Codes of the process and the thread of each thread, and the thread of each row."""

    pid: I32
    tid: I32
    of_host: I32
    of_memory: I32

    def __len__(self) -> int:
        return len(self.pid)


def find_threads(raw: RawTrace, texts: Texts, rows: Rows) -> ThreadPairs:
    """Threads by (process, thread)."""
    both = np.concatenate([rows.host, rows.memory]) if len(rows.memory) else rows.host
    pid, tid, index = pairs_at(both, raw.events.pid, raw.events.tid, len(texts))
    return ThreadPairs(pid, tid, index[: len(rows.host)], index[len(rows.host) :])


def name_threads(threads: ThreadPairs, texts: Texts, identity: ProcessMetadata) -> ThreadTable:
    """The threads with the names that the file gives them."""
    names = [
        identity.thread_name.get(key, "Profiler overhead" if texts[key[0]] == OVERHEAD_PID else "")
        for key in zip(threads.pid.tolist(), threads.tid.tolist(), strict=True)
    ]
    codes = np.array([texts.code(name) for name in names], np.int32)
    return ThreadTable(threads.pid, threads.tid, codes)


class HostTimes(Struct, frozen=True, eq=False):
    """The rows of the host table in order, with their times, which count from the start of all."""

    row: I32  # of the file
    thread: I32
    ts: I64
    dur: I64
    first: I64  # the first row of each thread, and behind the last one


def time_host(raw: RawTrace, rows: Rows, ordered: OrderedRows, threads: int) -> HostTimes:
    """The times of host events; ``ordered`` are their rows by thread and time, but for ties."""
    row = ordered.row
    times, thread = side_by_side(partial(fill_times, rows, row), lambda: ordered.group)
    first = np.full(threads + 1, len(row), np.int64)
    first[: len(ordered.first)] = ordered.first
    _settle_ties(raw, rows, row, times.tied[~is_among(times.tied, first)])
    return HostTimes(row, thread, times.ts, times.dur, first)


def name_host(raw: RawTrace, rows: Rows, times: HostTimes, kinds: Kinds) -> HostRows:
    """The rows of the host table: what each event is, beside its times."""
    named = fill_names(raw.events, rows.role, times.row, kinds)
    return HostRows(
        ts=times.ts,
        dur=times.dur,
        name=named.name,
        category=named.category,
        kind=named.kind,
        thread=times.thread,
        raw=times.row,
        names=named.names,
        first=times.first,
    )


def _settle_ties(raw: RawTrace, rows: Rows, row: I32, tied: I32) -> None:
    """Order events of one start and one end by kind, id and place in the file, in ``row``."""
    if not len(tied):
        return
    begins = np.ones(len(tied), bool)
    np.not_equal(tied[1:], tied[:-1] + 1, out=begins[1:])
    group = np.cumsum(begins)
    # Of each group also the row before the first that is tied, which stands before it here.
    head = np.flatnonzero(begins)
    at = np.insert(tied, head, tied[head] - np.int32(1))
    group = np.insert(group, head, group[head])
    rank = np.full(max(EventRole) + 1, 9, np.int8)
    for role, place in _RANK.items():
        rank[role] = place
    number = cells(raw.ints.get("external_id"), row[at], np.iinfo(np.int64).max)
    rank = rank[rows.role[row[at]]]
    # Mostly they are written so; otherwise, the order within each group is by both, then by row.
    is_less = (rank[1:] < rank[:-1]) | ((rank[1:] == rank[:-1]) & (number[1:] < number[:-1]))
    if (is_less & (group[1:] == group[:-1])).any():
        row[at] = row[at][np.lexsort((row[at], number, rank, group))]


class HostIds(Struct, frozen=True, eq=False):
    """The ids of host events, and cells of the same columns that are in other tables."""

    correlation: I32 | I64
    external_id: I32 | I64
    calls: Sparse  # the correlations above 0 of runtime calls
    owners: Sparse  # the external ids above 0 of ops and annotations


_NUMBERED = {
    "correlation": (HostKind.RUNTIME,),
    "external_id": (HostKind.OP, HostKind.ANNOTATION),
}


def take_ids(columns: dict[str, Sparse], places: TablePlaces, rows: HostRows) -> HostIds:
    """Take the ids of host events, the first table, out of the columns of the file."""

    def taken(name: str) -> tuple[I32 | I64, Sparse]:
        column = columns.get(name)
        if column is None:
            nothing = np.full(len(rows), -1, np.int32)
            return nothing, Sparse(np.empty(0, np.int32), nothing[:0])
        numbers, useful, columns[name] = take_numbers(column, places, rows.kind, _NUMBERED[name])
        return numbers, useful

    (correlation, calls), (external_id, owners) = each(taken, list(_NUMBERED))
    return HostIds(correlation, external_id, calls, owners)


def nest_host(rows: HostRows, resolution: int) -> Nesting:
    """Nest the host events."""
    first = np.zeros(len(rows), bool)
    first[rows.first[rows.first < len(rows)]] = True
    tolerance = ROUNDED_NS if resolution >= ROUNDED_NS else EXACT_NS
    clock = np.asarray(take(lookup(_CLOCK, max(HostKind) + 1), rows.kind.view(np.uint8)))
    return nest(rows.ts, rows.dur, first, clock, tolerance)


def build_host(
    rows: HostRows,
    threads: ThreadTable,
    nesting: Nesting,
    numbers: HostIds,
    args: dict[str, Sparse],
    open_begins: I32,
) -> Host:
    """The host events with their other columns; ``open_begins`` are those that never ended."""
    if len(nesting.overrun.row):
        args["overrun"] = nesting.overrun
    if len(unfinished := _unfinished(args.pop("finished", None), open_begins)):
        args["finished"] = Sparse(unfinished, np.zeros(len(unfinished), np.int64))
    return Host(
        ts=rows.ts,
        dur=rows.dur,
        name=rows.name,
        category=rows.category,
        kind=rows.kind,
        thread=rows.thread,
        nesting=nesting,
        correlation=numbers.correlation,
        external_id=numbers.external_id,
        raw=rows.raw,
        args=args,
        threads=threads,
        names=rows.names,
        first=rows.first,
        calls=numbers.calls,
        owners=numbers.owners,
    )


def kinds_of_host(raw: RawTrace, texts: Texts) -> Kinds:
    """The kinds of host events, by role and name."""
    names = distinct(raw.events.name, len(texts))
    roles = max(EventRole) + 1
    kinds = [lookup(_KINDS, roles, HostKind.OTHER)]
    index = np.zeros(len(texts), np.int32)
    for old, new, prefixes in _RENAMED:
        renamed = texts.table(names, partial(_begins, prefixes), np.bool_)
        index[np.flatnonzero(renamed)] = len(kinds) * roles
        kinds.append(np.where(kinds[0] == old, np.int8(new), kinds[0]))
    return Kinds(index, np.concatenate(kinds).view(np.uint8))


def _begins(prefixes: tuple[str, ...], text: str) -> bool:
    return text.startswith(prefixes)


def _unfinished(finished: Sparse | None, open_begins: I32) -> I32:
    """Rows that the recorder marks as never ended; some builds write true on all others instead."""
    said = np.empty(0, np.int32) if finished is None else finished.row[finished.value == 0]
    return distinct_values(np.concatenate([said, open_begins]))
