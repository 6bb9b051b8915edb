"""How does a memory snapshot, or a memory timeline, become a trace? Its steps, its length, notes.

It has no ops and no kernels. Of what other views live on there is only the range in which
the history was recorded, and the steps that the profiler marked beside it; the allocator's events
stay columns of their own (``Trace.snapshot``).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import msgspec
from msgspec.structs import replace

from ..health.checks import note
from ..health_record import worst_first
from ..memory_model import MISSING, MemoryTimeline, Snapshot
from ..model import Trace

PID = "memory snapshot"
HISTORY = "Memory history"


def first_us(snapshot: Snapshot) -> int:
    """When the history begins, µs since 1970; 0 where no times were recorded."""
    return min(_times(snapshot), default=0)


def _times(snapshot: Snapshot) -> Iterator[int]:
    known = snapshot.events.time_us[snapshot.events.time_us > 0]
    if len(known):
        yield from (int(known.min()), int(known.max()))
    yield from (mark.time_us for mark in snapshot.marks if mark.time_us > 0)


def has_times(snapshot: Snapshot) -> bool:
    """True if each event has a time; torch 2.0 wrote none."""
    return bool((snapshot.events.time_us > 0).all())


def length_us(snapshot: Snapshot) -> int:
    """Duration of the history; without times a µs for each event."""
    if not has_times(snapshot):
        return max(1, len(snapshot.events.size))
    return max(_times(snapshot), default=0) - first_us(snapshot) + 1


def ranges_json(length: int, steps: Iterable[tuple[str, int, int]] = ()) -> bytes:
    """The history and the steps in it as a trace in JSON, µs from the start of the history."""
    same = {"ph": "X", "cat": "user_annotation", "pid": PID, "tid": PID}
    events = [(HISTORY, 0, length), *steps]
    ranges = [{**same, "name": name, "ts": ts, "dur": dur} for name, ts, dur in events]
    text = {"schemaVersion": 1, "profile_memory": 1, "with_stack": 1, "traceEvents": ranges}
    return json.dumps(text).encode()


def steps_of(snapshot: Snapshot) -> Iterator[tuple[str, int, int]]:
    """Name, start and length of each marked range, of the device that has most of them.

    In µs from the start of the history.
    """
    if not has_times(snapshot):
        return
    origin = first_us(snapshot)
    devices = [mark.device for mark in snapshot.marks]
    most = max(set(devices), key=devices.count, default=MISSING)
    open_: dict[str, int] = {}
    for mark in snapshot.marks:
        if mark.device != most or mark.time_us <= 0:
            continue
        if mark.is_start:
            open_[mark.name] = mark.time_us
        elif mark.name in open_:
            start = open_.pop(mark.name)
            yield mark.name, start - origin, max(0, mark.time_us - start)


def with_snapshot(trace: Trace, snapshot: Snapshot) -> Trace:
    """The trace of ``ranges_json`` with its snapshot, and the health notes for it."""
    skipped = sum(snapshot.skipped.values())
    notes = []
    if snapshot.damage:
        notes.append(note("truncated", example=snapshot.damage))
    if skipped:
        parts = ", ".join(f"{what} ({many:,})" for what, many in snapshot.skipped.items())
        notes.append(note("snapshot_records", skipped, example=parts))
    if not len(snapshot.events.size):
        notes.append(note("snapshot_no_history"))
    elif not has_times(snapshot):
        notes.append(note("snapshot_no_times"))
    records = len(snapshot.events.size) + len(snapshot.blocks.size) + len(snapshot.segments.size)
    health = msgspec.structs.replace(
        trace.health,
        events=records,
        used=records,
        ignored={},
        skipped=skipped,
        notes=worst_first(notes),
    )
    return replace(trace, base_ns=first_us(snapshot) * 1000, health=health, snapshot=snapshot)


def with_timeline(trace: Trace, timeline: MemoryTimeline) -> Trace:
    """The trace of ``ranges_json`` with its memory timeline."""
    changes = len(timeline)
    health = msgspec.structs.replace(
        trace.health, events=changes, used=changes, ignored={}, notes=()
    )
    return replace(trace, base_ns=timeline.first_ns, health=health, timeline=timeline)
