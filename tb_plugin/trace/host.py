"""The host table before links: rows sorted by (thread, ts, −dur), nested, with their kinds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .categories import ANNOTATION_PREFIXES, MODULE_PREFIX, Role
from .columns import by_key_then_ts, cells, pairs_of, place_of, renumber, spread
from .identity import Identity
from .model import HostKind, ThreadTable
from .nest import EXACT_NS, ROUNDED_NS, Nesting, nest
from .raw import RawTrace, Sparse
from .rows import Rows
from .texts import Texts

I8 = NDArray[np.int8]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]

_KINDS = {
    Role.OP: HostKind.OP,
    Role.ANNOTATION: HostKind.ANNOTATION,
    Role.PYTHON: HostKind.PYTHON,
    Role.RUNTIME: HostKind.RUNTIME,
    Role.OVERHEAD: HostKind.OVERHEAD,
    Role.HOST_OTHER: HostKind.OTHER,
}
# Of two events with one start and end the outer one: annotations wrap frames, ops, calls.
_RANK = {
    Role.ANNOTATION: 0,
    Role.HOST_OTHER: 1,
    Role.PYTHON: 2,
    Role.OP: 3,
    Role.RUNTIME: 4,
    Role.OVERHEAD: 5,
}
_CLOCK = {HostKind.PYTHON: 1, HostKind.MODULE: 1, HostKind.RUNTIME: 2}
_COLUMNS = ("correlation", "external_id")
OVERHEAD_PID = "-1"


@dataclass(frozen=True, slots=True, eq=False)
class Host:
    """Columns of ``HostTable`` that need no links; ``memory_thread`` is for ``MemoryTable``."""

    ts: I64
    dur: I64
    name: I32
    category: I32
    kind: I8
    thread: I32
    nesting: Nesting
    correlation: I64
    external_id: I64
    raw: I32
    args: dict[str, Sparse]
    threads: ThreadTable
    memory_thread: I32

    @property
    def end(self) -> I64:
        """``ts + dur``."""
        return self.ts + self.dur

    @property
    def thread_of(self) -> dict[tuple[int, int], int]:
        """Row of the thread table by codes of (pid, tid)."""
        pairs = zip(self.threads.pid.tolist(), self.threads.tid.tolist(), strict=True)
        return {pair: thread for thread, pair in enumerate(pairs)}


def build_host(
    raw: RawTrace, texts: Texts, rows: Rows, identity: Identity, start: int, resolution: int
) -> Host:
    """Sort and nest the host events; times count from ``start``."""
    events = raw.events
    both = np.concatenate([rows.host, rows.memory])
    pid, tid, index = pairs_of(events.pid[both], events.tid[both], len(texts))
    thread, memory_thread = index[: len(rows.host)], index[len(rows.host) :]
    order = _order(raw, rows, thread)
    row = rows.host[order]
    thread = thread[order]
    del both, index, order
    ts = events.ts[row] - start
    dur = rows.dur[row]
    name = events.name[row]
    kind = _kinds(texts, rows.role[row], name)
    first = np.ones(len(row), bool)
    np.not_equal(thread[1:], thread[:-1], out=first[1:])
    nesting = nest(
        ts, dur, first, _clock(kind), ROUNDED_NS if resolution >= ROUNDED_NS else EXACT_NS
    )
    place = place_of(row, len(events))
    correlation = spread(raw.ints.get("correlation"), place, len(row), -1)
    correlation[kind != HostKind.RUNTIME] = -1
    external_id = spread(raw.ints.get("external_id"), place, len(row), -1)
    external_id[(kind != HostKind.OP) & (kind != HostKind.ANNOTATION)] = -1
    args = renumber(raw.ints, place, len(row), _COLUMNS)
    args |= renumber(raw.floats, place, len(row))
    args |= renumber(raw.texts, place, len(row))
    if len(nesting.overrun.row):
        args["overrun"] = nesting.overrun
    if len(unfinished := _unfinished(args.pop("finished", None), place[rows.unfinished])):
        args["finished"] = Sparse(unfinished, np.zeros(len(unfinished), np.int64))
    return Host(
        ts=ts,
        dur=dur,
        name=name,
        category=events.category[row],
        kind=kind,
        thread=thread,
        nesting=nesting,
        correlation=correlation,
        external_id=external_id,
        raw=row,
        args=args,
        threads=_threads(texts, identity, pid, tid),
        memory_thread=memory_thread,
    )


def _order(raw: RawTrace, rows: Rows, thread: I32) -> NDArray[np.intp]:
    """Order by (thread, ts, −dur); what is equal then by kind, id, and place in the file."""
    ts = raw.events.ts[rows.host]
    order = by_key_then_ts(thread, ts)
    same = ts[order[1:]] == ts[order[:-1]]
    same &= thread[order[1:]] == thread[order[:-1]]
    member = np.zeros(len(order), bool)
    member[1:] = same
    member[:-1] |= same
    tied = np.flatnonzero(member)
    if len(tied):
        group = np.cumsum(~np.concatenate([[False], same]))[tied]
        part = order[tied]
        row = rows.host[part]
        rank = np.full(max(Role) + 1, 9, np.int8)
        for role, place in _RANK.items():
            rank[role] = place
        number = cells(raw.ints.get("external_id"), row, np.iinfo(np.int64).max)
        order[tied] = part[np.lexsort((row, number, rank[rows.role[row]], -rows.dur[row], group))]
    return order


def _kinds(texts: Texts, role: NDArray[np.uint8], name: I32) -> I8:
    table = np.full(max(Role) + 1, HostKind.OTHER, np.int8)
    for known, kind in _KINDS.items():
        table[known] = kind
    result = table[role]
    python = result == HostKind.PYTHON
    if python.any():
        module = texts.table(name[python], lambda text: text.startswith(MODULE_PREFIX), np.bool_)
        result[python & module[name]] = HostKind.MODULE
    op = result == HostKind.OP
    if op.any():
        marked = texts.table(name[op], lambda text: text.startswith(ANNOTATION_PREFIXES), np.bool_)
        result[op & marked[name]] = HostKind.ANNOTATION
    return result


def _clock(kind: I8) -> I8:
    table = np.zeros(max(HostKind) + 1, np.int8)
    for known, clock in _CLOCK.items():
        table[known] = clock
    return table[kind]


def _threads(texts: Texts, identity: Identity, pid: I32, tid: I32) -> ThreadTable:
    names = [
        identity.thread_name.get(key, "Profiler overhead" if texts[key[0]] == OVERHEAD_PID else "")
        for key in zip(pid.tolist(), tid.tolist(), strict=True)
    ]
    return ThreadTable(pid, tid, np.array([texts.code(name) for name in names], np.int32))


def _unfinished(finished: Sparse | None, open_begins: I32) -> I32:
    """Rows that never ended, as the recorder writes it; some builds write true on all others."""
    said = np.empty(0, np.int32) if finished is None else finished.row[finished.value == 0]
    return np.unique(np.concatenate([said, open_begins[open_begins >= 0]]))
