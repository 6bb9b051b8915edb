"""From a file to a ``Trace``: inflate, scan, build.

Each line of ``build`` answers one question; the module it calls explains how. The columns of the
file are freed as soon as they are in tables: at no moment are they in memory twice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ..base.arrays import I8, I32, Sparse, distinct, last_end, take
from ..base.machine import side_by_side, threads_kept
from .build.categories import DEPENDENCY_FLOW, FORWARD_FLOWS
from .build.device import (
    WITHOUT,
    Activity,
    build_activity,
    build_counters,
    build_memory,
    counter_devices,
    occupancy_of,
    order_device,
    order_instants,
    order_ranges,
)
from .build.devices import Devices, Streams, find_devices, find_streams
from .build.host import (
    Host,
    HostIds,
    build_host,
    find_threads,
    kinds_of_host,
    name_host,
    name_threads,
    nest_host,
    take_ids,
    time_host,
)
from .build.metadata import Census, ProcessMetadata, describe, identify, take_census
from .build.occupancy import Filled
from .build.order import TablePlaces, order_rows, places_in, split
from .build.route import Rows, sort_out
from .build.times import base_ns, resolution_ns
from .compile_record import record_beside
from .health.checks import HealthInputs, examine
from .io.folded import folded_trace, is_folded
from .io.source import TIMELINE, beginning, special_file
from .link.collectives import MarkedRows, classify, find_collectives, mark_collectives
from .link.flows import (
    Arrows,
    Autograd,
    LaunchArrows,
    MatchedFlows,
    graph_edges,
    launch_arrows,
    link_backward,
    match_flows,
)
from .link.launches import Launches, SharedStarts, correlate, shared_starts
from .link.steps import find_steps, step_at, step_of_rows, whole_trace
from .model import (
    CollectiveTable,
    CounterTable,
    DeviceTable,
    EventTable,
    HostTable,
    MemoryTable,
    StepTable,
    Trace,
)
from .pickles import PICKLE
from .raw import OnProgress, Progress, RawTrace, Texts, without_addresses
from .scan.scanner import scan

_OWNERS = ("phase", "pid", "tid")
_TIMES = ("ts", "dur")
_NAMES = ("category", "name")


def build(raw: RawTrace, path: str | Path, file_bytes: int) -> Trace:
    """The trace of a file. Any result of a scanner is accepted; oddities become notes."""
    raw = without_addresses(raw)
    texts, events = Texts(raw.strings), len(raw.events)
    census, identity = side_by_side(
        partial(take_census, raw.events, texts), partial(identify, raw, texts)
    )
    rows = sort_out(raw, texts, identity, census)
    start = rows.start
    # What adds texts does so in one order, however many threads there are.
    texts.code(DEPENDENCY_FLOW)
    threads, linked, (devices, streams), resolution = side_by_side(
        partial(find_threads, raw, texts, rows),
        partial(_arrows, raw, texts, rows),
        partial(_find_devices, raw, texts, rows, identity, census),
        partial(resolution_ns, (rows.ts, rows.dur), (rows.host, rows.device)),
    )
    recording = describe(raw, texts, identity, census, start, resolution)
    flows, arrows, forward_arrows, shared = linked
    thread_table = name_threads(threads, texts, identity)
    of_counter = counter_devices(raw, texts, rows.counters, devices)
    given = side_by_side(
        *(
            partial(order_ranges, raw, texts, rows, some, stream, devices, start)
            for some, stream in (
                (rows.device_annotations, streams.of_annotation),
                (rows.syncs, streams.of_sync),
                (rows.ranges, streams.of_range),
            )
        ),
    )
    # Nobody asks any more whose an event is: room for the tables that are made from here on.
    raw = _without(raw, _OWNERS)
    ordered, device_rows, memory_rows, counter_rows = side_by_side(
        partial(order_rows, rows.host, threads.of_host, rows.ts, rows.dur),
        partial(order_device, raw, rows, streams, start),
        partial(order_instants, raw, rows, rows.memory, threads.of_memory, start),
        partial(order_instants, raw, rows, rows.counters, of_counter, start),
    )
    del threads
    rows = replace(rows, host=ordered.row[:0])  # in the order of the file they are needed no more
    times, kinds = side_by_side(
        partial(time_host, raw, rows, ordered, len(thread_table)),
        partial(kinds_of_host, raw, texts),
    )
    raw, rows = _without(raw, _TIMES), replace(rows, ts=times.ts[:0], dur=times.dur[:0])
    host_rows = name_host(raw, rows, times, kinds)
    tally, unfinished = rows.tally, rows.unfinished
    columns, raw = _sparse_of(raw), _without(raw, _NAMES, sparse=True)
    del rows, ordered, times

    tables = (host_rows, device_rows, *given, memory_rows, counter_rows)
    nesting, filled = side_by_side(
        partial(nest_host, host_rows, resolution),
        partial(_fill, texts, columns, events, tables, unfinished, streams),
    )
    activity, memory, counters = filled.activity, filled.memory, filled.counters
    annotations, syncs, ranges = (
        replace(table, args=own) for table, own in zip(given, filled.args[2:5], strict=True)
    )
    host = build_host(
        host_rows, thread_table, nesting, filled.ids, filled.args[0], filled.open_begins
    )
    marked_rows = filled.collectives
    del tables, host_rows, device_rows, nesting, filled

    def launched() -> tuple[Launches, I8, CollectiveTable]:
        found = correlate(texts, host, activity, streams, arrows, shared, start)
        klass = classify(texts, host, activity, found.op)
        calls = find_collectives(texts, host, marked_rows, found.launch, found.op, klass)
        return found, klass, calls

    lasting = (host, activity, annotations, syncs, ranges)
    # What takes longest begins first. Only ``launched`` adds texts.
    (launches, klass, collectives), occupancy, autograd, marked, end_ns = side_by_side(
        launched,
        partial(occupancy_of, texts, activity, devices),
        partial(link_backward, texts, host, forward_arrows, start),
        partial(_marked_steps, texts, host),
        partial(_end_of, lasting, (memory, counters)),
    )
    steps = marked[0] if marked else whole_trace(texts, end_ns)
    host_steps = marked[1] if marked else step_of_rows(steps, host)
    device_steps = _device_steps(activity, launches, steps, host_steps)
    device = _device_table(activity, launches, klass, device_steps, occupancy)
    health = examine(
        HealthInputs(
            texts=texts,
            identity=identity,
            census=census,
            tally=tally,
            flows=flows,
            host=host,
            device=device,
            annotations=annotations,
            syncs=syncs,
            ranges=ranges,
            memory=memory,
            counters=counters,
            steps=steps,
            devices=devices,
            launches=launches,
            occupancy=(occupancy.computed, occupancy.unknown),
            autograd=autograd,
            recording=recording,
            faults=raw.faults,
            end_ns=end_ns,
            events=events,
            file_bytes=file_bytes,
            text_bytes=raw.text_bytes,
        )
    )
    return Trace(
        path=str(path),
        base_ns=base_ns(raw.metadata) + start,
        end_ns=end_ns,
        strings=texts.freeze(),
        host=_host_table(host, autograd, host_steps),
        device=device,
        device_annotations=annotations,
        syncs=syncs,
        ranges=ranges,
        memory=memory,
        counters=counters,
        flows=autograd.flows,
        collectives=collectives,
        threads=host.threads,
        streams=streams.table,
        steps=steps,
        devices=devices.devices,
        recording=recording,
        blocks=replace(raw.blocks, metadata=identity.rows),
        health=health,
        seek=raw.seek,
        graph_edges=graph_edges(texts, activity, syncs, streams, flows.dependencies, start),
    )


def _arrows(
    raw: RawTrace, texts: Texts, rows: Rows
) -> tuple[MatchedFlows, LaunchArrows, Arrows, SharedStarts]:
    """The arrows of the file: all, those to device work, from forward to backward, shared ones."""
    flows = match_flows(raw, texts, rows)
    return (
        flows,
        launch_arrows(raw, texts, rows, flows),
        flows.of(raw, texts, FORWARD_FLOWS),
        shared_starts(raw, rows),
    )


def _find_devices(
    raw: RawTrace, texts: Texts, rows: Rows, identity: ProcessMetadata, census: Census
) -> tuple[Devices, Streams]:
    pids = _device_pids(raw, rows, len(texts))
    devices = find_devices(raw, texts, identity, census, pids, rows.device)
    return devices, find_streams(raw, texts, rows, identity, devices)


def _without(raw: RawTrace, dense: Collection[str], *, sparse: bool = False) -> RawTrace:
    """The events without columns that are in tables by now, so that their memory is freed."""
    events = replace(raw.events, **{name: getattr(raw.events, name)[:0].copy() for name in dense})
    if sparse:
        return replace(raw, events=events, ints={}, floats={}, texts={})
    return replace(raw, events=events)


def _sparse_of(raw: RawTrace) -> dict[str, Sparse]:
    """The sparse columns: integers, then numbers, then texts; each group by name."""
    groups = (raw.ints, raw.floats, raw.texts)
    return {name: group[name] for group in groups for name in sorted(group)}


class _Filled(Struct, frozen=True, eq=False):
    """Sparse columns completed by their cells; ``args`` are those of each table."""

    ids: HostIds
    args: list[dict[str, Sparse]]
    open_begins: I32
    activity: Activity
    memory: MemoryTable
    counters: CounterTable
    collectives: MarkedRows


def _fill(
    texts: Texts,
    columns: dict[str, Sparse],
    count: int,
    tables: tuple[Any, ...],
    unfinished: I32,
    streams: Streams,
) -> _Filled:
    """Put the cells of a file of ``count`` rows into tables, and build those without links."""
    places = places_in([table.raw for table in tables], count)
    ids = take_ids(columns, places, tables[0])
    args = _split(columns, places)

    def adding_texts() -> tuple[Activity, CounterTable, MarkedRows]:
        return (
            build_activity(texts, tables[1], streams, args[1]),
            build_counters(tables[6], texts, args[6]),
            mark_collectives(texts, tables[0], args[0]),
        )

    (activity, counters, collectives), memory = side_by_side(
        adding_texts, partial(build_memory, tables[5], args[5])
    )
    return _Filled(ids, args, places.of(unfinished, 0), activity, memory, counters, collectives)


def _split(columns: dict[str, Sparse], places: TablePlaces) -> list[dict[str, Sparse]]:
    """The sparse columns of each table, in their order; ``columns`` is empty afterwards."""
    skip: list[Collection[str]] = [() for _ in places.first[1:]]
    skip[1] = WITHOUT[1:]
    return split(columns, places, skip)


def _end_of(lasting: Iterable[EventTable], instants: Iterable[MemoryTable | CounterTable]) -> int:
    """The last instant of some tables, which is not before the start of all."""
    ends = [last_end(table.ts, table.dur) for table in lasting if len(table.ts)]
    ends += [int(table.ts.max()) for table in instants if len(table)]
    return max(0, max(ends, default=0))


def _device_pids(raw: RawTrace, rows: Rows, size: int) -> set[int]:
    """Processes that need a device: all with activity; of those with ranges, the known devices."""

    def of(some: I32) -> set[int]:
        return set(distinct(take(raw.events.pid, some), size).tolist())

    found = of(rows.device)
    for some in (rows.device_annotations, rows.syncs, rows.ranges):
        found |= of(some) & rows.device_pids
    return found


def _marked_steps(texts: Texts, host: Host) -> tuple[StepTable, I32] | None:
    """The steps that are marked, and that of each host row."""
    steps = find_steps(texts, host)
    return None if steps is None else (steps, step_of_rows(steps, host))


def _device_steps(activity: Activity, launches: Launches, steps: StepTable, of_host: I32) -> I32:
    """The step that launched each activity; in files without launches, the step at its start."""
    origin = np.where(launches.launch >= 0, launches.launch, launches.op)
    known = origin >= 0
    if known.all():
        return take(of_host, origin)
    result = step_at(steps, activity.ts)
    result[known] = of_host[origin[known]]
    if steps.source != "whole_trace" and (launches.launch >= 0).any():
        # Where launches are known, work without one belongs to no step.
        result[~known] = -1
    return result


def _host_table(host: Host, autograd: Autograd, step: I32) -> HostTable:
    return HostTable(
        ts=host.ts,
        dur=host.dur,
        name=host.name,
        category=host.category,
        kind=host.kind,
        thread=host.thread,
        parent=host.nesting.parent,
        depth=host.nesting.depth,
        self_ns=host.nesting.self_ns,
        step=step,
        correlation=host.correlation,
        external_id=host.external_id,
        forward=autograd.forward,
        raw=host.raw,
        args=host.args,
    )


def _device_table(
    activity: Activity, launches: Launches, klass: I8, step: I32, occupancy: Filled
) -> DeviceTable:
    return DeviceTable(
        ts=activity.ts,
        dur=activity.dur,
        name=activity.name,
        category=activity.category,
        kind=activity.kind,
        klass=klass,
        device=activity.device,
        stream=activity.stream,
        correlation=activity.correlation,
        launch=launches.launch,
        op=launches.op,
        step=step,
        link=launches.link,
        raw=activity.raw,
        args=occupancy.put_into(activity.args),
    )


def read(path: str | Path, on_progress: OnProgress | None = None) -> Trace:
    """Read a trace, compressed or not, complete or not; stacks, snapshots, timelines of memory.

    Raises:
        TraceFormatError: the file is no trace; ``kind`` says what it is instead.
        NotFoundError: there is no such file.
    """
    path = Path(path)
    special = special_file(path.stat().st_mode) if path.exists() else None
    if special is not None:
        raise special
    head = b"" if is_folded(path) else beginning(path)
    if PICKLE.match(head):
        return _of_snapshot(path, on_progress)
    if TIMELINE.match(head):
        return _of_timeline(path, on_progress)
    with threads_kept():
        # Only build() may hold the columns, so that it can let them go one by one.
        scanned = [scan(folded_trace(path) if is_folded(path) else path, on_progress)]
        file_bytes = path.stat().st_size
        if on_progress is not None:
            on_progress(Progress("linking", file_bytes, file_bytes, len(scanned[0].events)))
        trace = build(scanned.pop(), path, file_bytes)
    record = record_beside(path, trace.recording.handler)
    return trace if record is None else replace(trace, compile_record=record)


# Few files are of memory alone: what reads them is imported for them.


def _of_snapshot(path: Path, on_progress: OnProgress | None) -> Trace:
    from .pickles.history import length_us, ranges_json, steps_of, with_snapshot
    from .pickles.snapshot import read_snapshot

    snapshot = read_snapshot(path, on_progress)
    text = ranges_json(length_us(snapshot), steps_of(snapshot))
    return with_snapshot(build(scan(text), path, path.stat().st_size), snapshot)


def _of_timeline(path: Path, on_progress: OnProgress | None) -> Trace:
    from .io.memory_timeline import read_timeline
    from .pickles.history import ranges_json, with_timeline

    timeline = read_timeline(path, on_progress)
    text = ranges_json(timeline.length_us)
    return with_timeline(build(scan(text), path, path.stat().st_size), timeline)
