"""Which table every row of the file goes to, and why the others go nowhere.

Nothing is dropped in silence: each row of the file is in one of the row lists, in
``used_elsewhere`` (it gave names, or the end of a range), or counted under a reason in ``ignored``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .categories import (
    DEVICE_ROLES,
    HOST_ROLES,
    MEMORY_CATEGORIES,
    MEMORY_NAME,
    MTIA_ROLES,
    PROCESS_ROLES,
    TASK_ROLES,
    Role,
    role_of,
)
from .clock import Bounds, believable, bounds
from .columns import has_cell
from .identity import META, Identity
from .pairs import Pairs, pair
from .raw import MISSING, NO_DUR, RawTrace
from .texts import Texts

I32 = NDArray[np.int32]
I64 = NDArray[np.int64]

BEGIN, END, COMPLETE, COUNTER = ord("B"), ord("E"), ord("X"), ord("C")
FLOW_START, FLOW_STEP, FLOW_END = ord("s"), ord("t"), ord("f")
INSTANTS = tuple(ord(letter) for letter in "iIR")

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


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Rows of the file by table, ascending; ``role`` and ``dur`` have an entry for every row."""

    role: NDArray[np.uint8]  # Role of duration events
    dur: I64  # ns, never negative
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
    limits: Bounds
    negative: int
    absurd: int
    without_dur: int
    used_elsewhere: int
    ignored: Mapping[str, int]


def sort_out(raw: RawTrace, texts: Texts, identity: Identity) -> Rows:
    """Decide for every row of the file."""
    events = raw.events
    phase = events.phase
    role = _roles(raw, texts, identity)
    device_pids = _device_pids(raw, role, identity)
    _settle_either(raw, texts, role, device_pids)

    ranged = phase == COMPLETE
    memory = _is_memory(raw, texts, ranged)
    ranged &= ~memory
    begins = np.flatnonzero((phase == BEGIN) | (phase == END))
    pairs = pair(events, begins.astype(np.int32), texts) if len(begins) else Pairs.none()
    ranged[pairs.begin] = True
    ranged[pairs.open] = True

    limits = bounds(events.ts[ranged] if ranged.any() else events.ts[memory])
    dated = believable(events.ts, limits)
    ignored: dict[str, int] = {}

    def ignore(reason: str, count: int) -> None:
        if count:
            ignored[reason] = ignored.get(reason, 0) + count

    counters = phase == COUNTER
    wanted = ranged | memory | counters
    missing = wanted & (events.ts == MISSING)
    ignore("event without a time stamp", int(np.count_nonzero(missing)))
    ignore("event without a believable time", int(np.count_nonzero(wanted & ~dated & ~missing)))

    flow = (phase == FLOW_START) | (phase == FLOW_END)
    ignore("end without a begin", pairs.stray_ends)
    other = ~(wanted | flow | (phase == META) | (phase == BEGIN) | (phase == END))
    for code, count in enumerate(np.bincount(phase[other], minlength=1).tolist()):
        if code in INSTANTS:
            ignore("marker", count)
        else:
            ignore(_REASONS.get(code, "event of another phase"), count)

    dur, negative, absurd, without = _durations(raw, pairs, ranged & dated, limits)
    ranged &= dated

    def of(*roles: Role) -> I32:
        mask = np.isin(role, np.array(roles, np.uint8)) & ranged
        return np.flatnonzero(mask).astype(np.int32)

    def at(mask: NDArray[np.bool_]) -> I32:
        return np.flatnonzero(mask).astype(np.int32)

    return Rows(
        role=role,
        dur=dur,
        host=of(*HOST_ROLES),
        device=of(*DEVICE_ROLES),
        device_annotations=of(Role.DEVICE_ANNOTATION),
        syncs=of(Role.SYNC),
        ranges=of(Role.RANGE),
        memory=at(memory & dated),
        counters=at(counters & dated),
        flow_starts=at(phase == FLOW_START),
        flow_ends=at(phase == FLOW_END),
        unfinished=pairs.open,
        device_pids=device_pids,
        limits=limits,
        negative=negative,
        absurd=absurd,
        without_dur=without,
        used_elsewhere=int(np.count_nonzero(phase == META)) + len(pairs.begin),
        ignored=ignored,
    )


def _roles(raw: RawTrace, texts: Texts, identity: Identity) -> NDArray[np.uint8]:
    events = raw.events
    role = texts.table(events.category, role_of, np.uint8)[events.category]
    timed = (events.phase == COMPLETE) | (events.phase == BEGIN)
    bare = timed & (events.category == texts.code(""))
    if bare.any():
        # Exporters without categories: the process says what its events are.
        by_pid = np.full(len(texts), Role.EITHER, np.uint8)
        for pid in texts.used(events.pid).tolist():
            known = PROCESS_ROLES.get(identity.process_name.get(pid, texts[pid]))
            if known is not None:
                by_pid[pid] = known
        role[bare] = by_pid[events.pid[bare]]
        unknown = bare & (role == Role.EITHER)
        if np.array_equal(bare, timed) and unknown.any():
            # No category in the whole file: host events are ops, as in the first recorders.
            labelled = np.zeros(len(texts), bool)
            labelled[list(identity.label)] = True
            role[unknown & ~labelled[events.pid]] = Role.OP
    if (tasks := raw.texts.get("task_type")) is not None:
        by_task = texts.table(
            tasks.value, lambda text: TASK_ROLES.get(text.casefold(), Role.KERNEL), np.uint8
        )
        free = role[tasks.row] == Role.EITHER
        role[tasks.row[free]] = by_task[tasks.value[free]]
    vendor = np.flatnonzero(timed & (role == Role.DEVICE_OTHER))
    if len(vendor):
        by_name = texts.table(
            events.name[vendor], lambda text: MTIA_ROLES.get(text, Role.DEVICE_OTHER), np.uint8
        )
        role[vendor] = by_name[events.name[vendor]]
    return np.asarray(role)


def _device_pids(raw: RawTrace, role: NDArray[np.uint8], identity: Identity) -> frozenset[int]:
    """Processes that stand for devices: so labelled, or with device work and no host work."""
    events = raw.events
    timed = (events.phase == COMPLETE) | (events.phase == BEGIN)
    own = (*DEVICE_ROLES, Role.DEVICE_ANNOTATION)
    working = np.unique(events.pid[timed & np.isin(role, own)]).tolist()
    hosts = set(np.unique(events.pid[timed & np.isin(role, HOST_ROLES)]).tolist())
    found = set(working) - hosts - identity.host_labelled
    return frozenset(found | identity.label.keys())


def _settle_either(
    raw: RawTrace, texts: Texts, role: NDArray[np.uint8], device_pids: frozenset[int]
) -> None:
    """Decide host or device for categories that may be both, and for unknown ones."""
    events = raw.events
    rows = np.flatnonzero(role == Role.EITHER)
    rows = rows[(events.phase[rows] == COMPLETE) | (events.phase[rows] == BEGIN)]
    if not len(rows):
        return
    device = np.isin(events.pid[rows], list(device_pids))
    host_pids = np.unique(events.pid[np.isin(role, HOST_ROLES)])
    strange = ~np.isin(events.pid[rows], host_pids)
    device |= has_cell(raw.ints.get("stream"), rows)
    device |= strange & (events.category[rows] == texts.code("collective_comm"))
    role[rows] = np.where(device, Role.DEVICE_OTHER, Role.HOST_OTHER)


def _is_memory(raw: RawTrace, texts: Texts, ranged: NDArray[np.bool_]) -> NDArray[np.bool_]:
    events = raw.events
    named = events.name == texts.code(MEMORY_NAME)
    if not named.any():
        return np.asarray(named)
    fits = texts.table(events.category, lambda text: text in MEMORY_CATEGORIES, np.bool_)
    return np.asarray(named & fits[events.category] & (ranged | np.isin(events.phase, INSTANTS)))


def _durations(
    raw: RawTrace, pairs: Pairs, ranged: NDArray[np.bool_], limits: Bounds
) -> tuple[I64, int, int, int]:
    """Durations that make sense, and how many were negative, absurdly long, or missing."""
    events = raw.events
    dur = np.array(events.dur)
    dur[pairs.begin] = pairs.end_ts - events.ts[pairs.begin]
    ts = events.ts
    if len(pairs.open):
        whole = ranged & (dur >= 0)
        whole[pairs.open] = False
        end = int((ts[whole] + dur[whole]).max()) if whole.any() else int(ts[pairs.open].max())
        dur[pairs.open] = np.maximum(end - ts[pairs.open], 0)
    short = ranged & (dur < 0)
    missing = short & (dur == NO_DUR)
    long = ranged & (dur > limits.high - np.clip(ts, limits.low, limits.high))
    counts = (
        int(np.count_nonzero(short & ~missing)),
        int(np.count_nonzero(long)),
        int(np.count_nonzero(missing)),
    )
    dur[long] = 0
    np.maximum(dur, 0, out=dur)
    return (dur, *counts)
