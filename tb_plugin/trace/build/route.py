"""Which table does each row of the file belong to, and why are the other rows left out?

Nothing is dropped in silence: each row of the file is in one of the row lists, in
``used_elsewhere`` (it gave names, or the end of a range), or counted under a reason in ``ignored``.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import Struct

from ...base.arrays import (
    I32,
    I64,
    U8,
    Mask,
    count_codes,
    flags_by_code,
    has_cell,
    is_any,
    lookup,
    put,
    rows_by_code,
    seen,
    take,
    where,
)
from ...base.machine import side_by_side
from ..raw import (
    BEGIN,
    COMPLETE,
    COUNTER,
    END,
    FLOW_END,
    FLOW_START,
    FLOW_STEP,
    INSTANTS,
    META,
    RANGED,
    RawEvents,
    RawTrace,
    Texts,
)
from .categories import (
    DEVICE_ROLES,
    HOST_ROLES,
    MEMORY_CATEGORIES,
    MEMORY_NAME,
    MTIA_ROLES,
    MTIA_WORK,
    PROCESS_ROLES,
    ROLES,
    TASK_ROLES,
    EventRole,
    role_of,
)
from .metadata import Census, ProcessMetadata, by_kind, is_by_torch
from .times import OPEN, Pairs, pair, settle_rows

_REASONS = {
    0: "event without a phase",
    ord("b"): "asynchronous range",
    ord("n"): "asynchronous range",
    ord("e"): "asynchronous range",
    ord("S"): "asynchronous range",
    ord("T"): "asynchronous range",
    ord("p"): "asynchronous range",
    ord("P"): "sample",
    ord("N"): "object",
    ord("O"): "object",
    ord("D"): "object",
    FLOW_STEP: "flow step",
}
_PLACED = frozenset({COMPLETE, BEGIN, END, COUNTER, FLOW_START, FLOW_END, META})
_NO_ROLE = 255


class UnusedRows(Struct, frozen=True):
    """Rows that are in no table, and counts of impossible durations."""

    negative: int
    absurd: int
    without_dur: int
    flow_ends: int  # both ends of all arrows
    used_elsewhere: int
    ignored: Mapping[str, int]


class Rows(Struct, frozen=True, eq=False):
    """Rows of the file by table, ascending, and the reasons for all others."""

    role: U8  # Role of the rows in tables of duration events; an entry for every row of the file
    ts: I64  # as written, of every row of the file
    dur: I64  # the same; of rows in tables, corrected
    start: int  # the first time stamp of all rows in tables
    host: I32
    device: I32
    device_annotations: I32
    syncs: I32
    ranges: I32
    memory: I32
    counters: I32
    flow_starts: I32
    flow_ends: I32
    unfinished: I32  # begins without an end; last until the end of the trace
    device_pids: frozenset[int]
    tally: UnusedRows


_TABLES = (
    HOST_ROLES,
    DEVICE_ROLES,
    (EventRole.DEVICE_ANNOTATION,),
    (EventRole.SYNC,),
    (EventRole.RANGE,),
)


def sort_out(raw: RawTrace, texts: Texts, identity: ProcessMetadata, census: Census) -> Rows:
    """Decide the table of every row of the file."""
    events = raw.events
    phase = events.phase

    def roles() -> tuple[U8, frozenset[int]]:
        role = _roles(raw, texts, identity, census)
        device_pids = _device_pids(events, role, identity, len(texts))
        _settle_either(raw, texts, census, role, device_pids)
        return role, device_pids

    def others() -> list[I32]:
        groups = (COUNTER,), (FLOW_START,), (FLOW_END,), tuple(INSTANTS)
        *found, instants = rows_by_code(phase, groups)
        return [*found, _memory_rows(events, texts, census, named_so, instants)]

    # What adds texts does so in one order, however many threads there are.
    named_so = texts.code(MEMORY_NAME)
    (role, device_pids), (counters, flow_starts, flow_ends, allocations) = side_by_side(
        roles, others
    )
    put(role, allocations, np.full(len(allocations), _NO_ROLE, np.uint8))
    halves = census.of_phase(BEGIN) + census.of_phase(END)
    pairs = pair(events, where(is_any(phase, (BEGIN, END))), texts) if halves else Pairs.none()
    last_open = int(events.ts[pairs.open].max()) if len(pairs.open) else 0
    found = settle_rows(
        rows_by_code(role, _TABLES),
        (allocations, counters),
        events.ts,
        _durations(events, pairs),
        last_open,
    )
    ignored = dict(found.settled.ignored)
    if pairs.stray_ends:
        ignored["end without a begin"] = pairs.stray_ends
    _ignore_others(ignored, census, take(phase, allocations))
    host, device, device_annotations, syncs, ranges = found.ranges
    memory, counters = found.instants
    return Rows(
        role=role,
        ts=events.ts,
        dur=found.dur,
        start=found.start,
        host=host,
        device=device,
        device_annotations=device_annotations,
        syncs=syncs,
        ranges=ranges,
        memory=memory,
        counters=counters,
        flow_starts=flow_starts,
        flow_ends=flow_ends,
        unfinished=pairs.open,
        device_pids=device_pids,
        tally=UnusedRows(
            found.settled.negative,
            found.settled.absurd,
            found.settled.without_dur,
            flow_ends=census.of_phase(FLOW_START) + census.of_phase(FLOW_END),
            used_elsewhere=census.of_phase(META) + len(pairs.begin),
            ignored=ignored,
        ),
    )


def _ignore_others(ignored: dict[str, int], census: Census, memory: U8) -> None:
    """Count the rows of phases that make no table; instants of the allocator do make one."""
    taken = count_codes(memory)
    for phase in sorted(set(census.phase.tolist()) - _PLACED):
        count = census.of_phase(phase) - int(taken[phase])
        if count:
            reason = _REASONS.get(phase, "event of another phase")
            reason = "marker" if phase in INSTANTS else reason
            ignored[reason] = ignored.get(reason, 0) + count


def _roles(raw: RawTrace, texts: Texts, identity: ProcessMetadata, census: Census) -> U8:
    """The role of every range or begin of one, as far as it is known; of all other rows none."""
    events = raw.events

    def answer(phase: int, category: str) -> int:
        return role_of(category) if phase in RANGED else _NO_ROLE

    role = by_kind(events, texts, census, answer, _NO_ROLE)
    unnamed = texts.code("")
    if unnamed in (categories := census.categories(RANGED)):
        # Exporters without categories: the process says what its events are.
        bare = (role != _NO_ROLE) & (events.category == unnamed)
        by_pid = np.full(len(texts), EventRole.EITHER, np.uint8)
        for pid in np.flatnonzero(seen(events.pid, len(texts))).tolist():
            known = PROCESS_ROLES.get(identity.process_name.get(pid, texts[pid]))
            if known is not None:
                by_pid[pid] = known
        role[bare] = by_pid[events.pid[bare]]
        unknown = bare & (role == EventRole.EITHER)
        if categories == [unnamed] and unknown.any() and is_by_torch(raw, texts, identity, census):
            # No category in the whole file: host events are ops, as in the first recorders.
            labelled = np.zeros(len(texts), bool)
            labelled[list(identity.label)] = True
            role[unknown & ~labelled[events.pid]] = EventRole.OP
    if (tasks := raw.texts.get("task_type")) is not None:
        by_task = texts.table(
            tasks.value, lambda text: TASK_ROLES.get(text.casefold(), EventRole.KERNEL), np.uint8
        )
        free = role[tasks.row] == EventRole.EITHER
        role[tasks.row[free]] = by_task[tasks.value[free]]
    if not any(role_of(texts[code]) == EventRole.DEVICE_OTHER for code in categories):
        return role
    vendor = where(role == EventRole.DEVICE_OTHER)
    if len(vendor):
        runs = texts.table(
            events.category[vendor], lambda text: text.casefold() == MTIA_WORK, np.bool_
        )[events.category[vendor]]
        role[vendor[runs]] = EventRole.KERNEL
        by_name = texts.table(
            events.name[vendor], lambda text: MTIA_ROLES.get(text, EventRole.EITHER), np.uint8
        )[events.name[vendor]]
        told = by_name != EventRole.EITHER
        role[vendor[told]] = by_name[told]
    return role


_OF_HOST, _OF_DEVICE = 1, 2


def _sides(events: RawEvents, role: U8, size: int) -> tuple[Mask, Mask]:
    """Processes, by pid code, that have work of the host, and those with work of a device."""
    flags = lookup(dict.fromkeys(HOST_ROLES, _OF_HOST), 256)
    flags[[*DEVICE_ROLES, EventRole.DEVICE_ANNOTATION]] = _OF_DEVICE
    found = flags_by_code(events.pid, role, flags.view(np.uint8), size)
    return (found & _OF_HOST) > 0, (found & _OF_DEVICE) > 0


def _device_pids(
    events: RawEvents, role: U8, identity: ProcessMetadata, size: int
) -> frozenset[int]:
    """Processes that are devices: labelled as one, or with device work and no host work."""
    of_host, of_device = _sides(events, role, size)
    found = set(np.flatnonzero(of_device & ~of_host).tolist()) - identity.host_labelled
    return frozenset(found | identity.label.keys())


def _settle_either(
    raw: RawTrace, texts: Texts, census: Census, role: U8, device_pids: frozenset[int]
) -> None:
    """Decide host or device for categories that may be both, and for unknown ones."""
    events = raw.events
    if all(role_of(texts[code]) != EventRole.EITHER for code in census.categories(RANGED)):
        return
    rows = where(role == EventRole.EITHER)
    if not len(rows):
        return
    is_device = np.zeros(len(texts), bool)
    is_device[list(device_pids)] = True
    pid = events.pid[rows]
    device = is_device[pid]
    # What is no range tells of its process, too.
    by_category = by_kind(events, texts, census, lambda _, category: role_of(category), _NO_ROLE)
    of_host = _sides(events, np.where(role == _NO_ROLE, by_category, role), len(texts))[0]
    strange = ~of_host[pid]
    device |= has_cell(raw.ints.get("stream"), rows)
    device |= strange & (events.category[rows] == texts.code("collective_comm"))
    known = texts.table(events.category[rows], lambda text: text.casefold() in ROLES, np.bool_)
    on_device = np.where(known[events.category[rows]], EventRole.KERNEL, EventRole.DEVICE_OTHER)
    role[rows] = np.where(device, on_device, EventRole.HOST_OTHER)


def _memory_rows(
    events: RawEvents, texts: Texts, census: Census, named_so: int, instants: I32
) -> I32:
    """Allocator events: Kineto writes them as instants, Python exporters as ranges."""
    if any(texts[code] in MEMORY_CATEGORIES for code in census.categories((COMPLETE,))):
        rows = where(events.name == named_so)
        rows = rows[is_any(take(events.phase, rows), (COMPLETE, *INSTANTS))]
    else:
        rows = take(instants, where(take(events.name, instants) == named_so))
    category = take(events.category, rows)
    fits = take(texts.table(category, lambda text: text in MEMORY_CATEGORIES, np.bool_), category)
    return rows if fits.all() else take(rows, where(fits))


def _durations(events: RawEvents, pairs: Pairs) -> I64:
    """Durations as written; of a begin, from it to its end, or ``OPEN``."""
    if not len(pairs.begin) and not len(pairs.open):
        return events.dur
    dur = np.array(events.dur)
    dur[pairs.begin] = pairs.end_ts - events.ts[pairs.begin]
    dur[pairs.open] = OPEN
    return dur
