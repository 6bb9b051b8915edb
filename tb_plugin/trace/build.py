"""Stage two of the reader: columns of raw events → a frozen `Trace`.

Each line of ``build`` answers one question; the module it calls explains how.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .activity import Activity, build_activity, build_counters, build_memory, build_ranges
from .autograd import Autograd, link_backward
from .classify import classify
from .clock import base_ns, resolution_ns
from .collectives import find_collectives
from .correlate import Launches, correlate
from .devices import find_devices
from .examine import Evidence, examine
from .flows import match_flows
from .host import Host, build_host
from .identity import identify
from .model import DeviceTable, HostTable, StepTable, Trace
from .ops import index_ops
from .raw import ID_INT, ID_TEXT, RawTrace
from .recording import describe
from .rows import Rows, sort_out
from .steps import find_steps, step_at
from .streams import find_streams
from .texts import Texts

I8 = NDArray[np.int8]
I32 = NDArray[np.int32]


def build(raw: RawTrace, path: str | Path, file_bytes: int) -> Trace:
    """The trace of a file. Whatever a scanner hands over is read; oddities end in notes."""
    texts = Texts(raw.strings)
    identity = identify(raw, texts)
    rows = sort_out(raw, texts, identity)
    start = _start(raw, rows)
    resolution = _resolution(raw, rows)
    host = build_host(raw, texts, rows, identity, start, resolution)
    devices = find_devices(raw, texts, identity, _device_pids(raw, rows), rows.device)
    streams = find_streams(raw, texts, rows, identity, devices)
    activity = build_activity(raw, rows, streams, start)
    annotations = build_ranges(
        raw, rows.device_annotations, rows.dur, streams.of_annotation, devices, start
    )
    syncs = build_ranges(raw, rows.syncs, rows.dur, streams.of_sync, devices, start)
    ranges = build_ranges(raw, rows.ranges, rows.dur, streams.of_range, devices, start)
    memory = build_memory(raw, rows, host.memory_thread, start)
    counters = build_counters(raw, texts, rows, start)
    recording = describe(raw, texts, identity, start, resolution)
    raw, rows = _let_go(raw), replace(rows, dur=rows.dur[:0], role=rows.role[:0])

    flows = match_flows(raw, rows)
    launches = correlate(raw, texts, rows, host, activity, flows, start)
    autograd = link_backward(raw, texts, host, index_ops(host), flows, start)
    klass = classify(texts, host, activity, launches.op)
    collectives = find_collectives(texts, host, launches.launch, launches.op, klass)
    ends = [table.end for table in (host, activity, annotations, syncs, ranges)]
    end_ns = max(int(end.max()) for end in (*ends, memory.ts, counters.ts, np.zeros(1)) if len(end))
    steps = find_steps(texts, host, end_ns)
    device = _device_table(
        activity, launches, klass, _device_steps(activity, launches, host, steps)
    )
    health = examine(
        Evidence(
            texts=texts,
            identity=identity,
            rows=rows,
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
            autograd=autograd,
            recording=recording,
            faults=raw.faults,
            end_ns=end_ns,
            events=len(raw.events),
            file_bytes=file_bytes,
            text_bytes=raw.text_bytes,
        )
    )
    return Trace(
        path=str(path),
        base_ns=base_ns(raw.metadata) + start,
        end_ns=end_ns,
        strings=texts.freeze(),
        host=_host_table(host, autograd, step_at(steps, host.ts)),
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
        blocks=raw.blocks,
        health=health,
    )


def _start(raw: RawTrace, rows: Rows) -> int:
    """The first instant of the trace as the file writes it."""
    ts = raw.events.ts
    parts = (
        rows.host,
        rows.device,
        rows.device_annotations,
        rows.syncs,
        rows.ranges,
        rows.memory,
        rows.counters,
    )
    return min((int(ts[part].min()) for part in parts if len(part)), default=0)


def _resolution(raw: RawTrace, rows: Rows) -> int:
    both = np.concatenate([rows.host, rows.device])
    return resolution_ns(raw.events.ts[both], rows.dur[both])


def _let_go(raw: RawTrace) -> RawTrace:
    """Without the columns that are in tables now, so that their memory can be used again."""
    ints = {name: column for name, column in raw.ints.items() if name == ID_INT}
    texts = {name: column for name, column in raw.texts.items() if name == ID_TEXT}
    return replace(raw, ints=ints, floats={}, texts=texts)


def _device_pids(raw: RawTrace, rows: Rows) -> set[int]:
    """Processes whose rows need a device: all of activity, and of ranges those known as devices."""
    pid = raw.events.pid
    found = {int(code) for code in np.unique(pid[rows.device])}
    for part in (rows.device_annotations, rows.syncs, rows.ranges):
        found |= {int(code) for code in np.unique(pid[part])} & rows.device_pids
    return found


def _device_steps(activity: Activity, launches: Launches, host: Host, steps: StepTable) -> I32:
    """The step that launched each activity; without any launches, the one that runs."""
    origin = np.where(launches.launch >= 0, launches.launch, launches.op)
    at = np.where(origin >= 0, host.ts[origin] if len(host.ts) else 0, activity.ts)
    result = step_at(steps, at)
    if steps.source != "whole_trace" and (launches.launch >= 0).any():
        # Where launches are known, work without one belongs to no step.
        result[origin < 0] = -1
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


def _device_table(activity: Activity, launches: Launches, klass: I8, step: I32) -> DeviceTable:
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
        args=activity.args,
    )
