"""The slices of a trace as one list, table by table; their order by name, and their arrows.

Arrows lead from launches to device work and from forward to backward ops.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ....base.arrays import I32, I64, U8, distinct, is_any, take, where
from ....base.group_sums import sums_by
from ....base.native import call
from ....trace.model import DeviceClass, DeviceKind, HostKind, RangeTable, Trace
from ...host_activity import HostRole, role_of
from ..model import FlowKind, NameIndex, Places, SliceFlag, SliceFlows, SliceKind, Tables


def index_names(name: I32, ts: I64, dur: I64, names: int) -> NameIndex:
    """The slices of each name in order of time; ``name`` holds codes below ``names``."""
    first = np.zeros(names + 1, np.int64)
    np.cumsum(np.bincount(name, minlength=names), out=first[1:])
    rows, sum_ns = np.empty(len(name), np.int32), np.empty(names, np.int64)
    arguments = (name, ts, dur, len(name), first, names, rows, sum_ns)
    if call("kinetoscope_by_name", *arguments) is not None:
        return NameIndex(first, rows, sum_ns)
    by_time = np.argsort(ts, kind="stable").astype(np.int32)
    code = name[by_time]
    # Of 16 bits numpy sorts by counting.
    order = np.argsort(code.astype(np.uint16) if names <= 1 << 16 else code, kind="stable")
    return NameIndex(first, by_time[order], sums_by(name, dur, names))


def flows_of(trace: Trace, tables: Tables) -> SliceFlows:
    """All arrows by their source; the op is the source where no call was recorded."""
    origin = np.where(trace.device.launch >= 0, trace.device.launch, trace.device.op)
    launched = np.flatnonzero(origin >= 0)
    backward = _backward(trace)
    waited, waiting = (
        _node_slices(trace, nodes, tables)
        for nodes in (trace.graph_edges.source, trace.graph_edges.target)
    )
    hosts = np.concatenate([origin[launched], trace.host.forward[backward]]) + tables.host
    source = np.concatenate([hosts, waited])
    target = np.concatenate([launched + tables.device, backward + tables.host, waiting])
    kind = np.repeat(
        np.array([FlowKind.LAUNCH, FlowKind.BACKWARD, FlowKind.DEPENDENCY], np.uint8),
        [len(launched), len(backward), len(waited)],
    )
    order = np.lexsort((target, source))
    source, target = source[order].astype(np.int32), target[order].astype(np.int32)
    by_target = np.lexsort((source, target)).astype(np.int32)
    return SliceFlows(source, target, kind[order], by_target)


def _node_slices(trace: Trace, nodes: I32, tables: Tables) -> I64:
    """Slices of nodes of graphs: device activity, or behind it, waits."""
    work = len(trace.device)
    slices: I64 = np.where(nodes < work, nodes + tables.device, nodes - work + tables.syncs)
    return slices


def _backward(trace: Trace) -> I32:
    """Backward ops whose forward op is known, by an arrow of the file or by sequence number.

    Of ops inside each other that have one forward op in common, only the outermost counts.
    """
    forward, parent = trace.host.forward, trace.host.parent
    rows = np.flatnonzero(forward >= 0)
    above = parent[rows]
    inner = (above >= 0) & (forward[above] == forward[rows])
    outer: I32 = rows[~inner].astype(np.int32)
    return outer


_HOST = {
    HostKind.OP: SliceKind.OP,
    HostKind.ANNOTATION: SliceKind.ANNOTATION,
    HostKind.PYTHON: SliceKind.PYTHON,
    HostKind.MODULE: SliceKind.MODULE,
    HostKind.RUNTIME: SliceKind.RUNTIME,
    HostKind.OVERHEAD: SliceKind.OVERHEAD,
    HostKind.OTHER: SliceKind.OTHER,
}
_DEVICE = {
    DeviceClass.COMPUTE: SliceKind.COMPUTE,
    DeviceClass.COMMUNICATION: SliceKind.COMMUNICATION,
    DeviceClass.COPY: SliceKind.MEMCPY,
    DeviceClass.MEMSET: SliceKind.MEMSET,
}


def tables_of(trace: Trace) -> Tables:
    """The first slice of each table."""
    lengths = [len(table) for table in _all(trace)]
    return Tables(0, *np.cumsum(lengths).tolist())


def column(trace: Trace, name: str) -> NDArray[Any]:
    """A column that all tables have, for all slices."""
    return np.concatenate([getattr(table, name) for table in _all(trace)])


def names_of(trace: Trace) -> tuple[tuple[str, ...], I32]:
    """The distinct names of slices, and the code of each slice's name."""
    codes = column(trace, "name")
    used = distinct(codes, len(trace.strings)).tolist()
    new = np.zeros(max(len(trace.strings), 1), np.int32)
    new[used] = np.arange(len(used), dtype=np.int32)
    return tuple(trace.strings[code] for code in used), new[codes]


def kinds_of(trace: Trace) -> U8:
    """``SliceKind`` of each slice."""
    device = _translated(trace.device.klass, _DEVICE)
    other = (trace.device.kind == DeviceKind.OTHER) & (trace.device.klass == DeviceClass.COMPUTE)
    device[other] = SliceKind.DEVICE_OTHER
    rest = (
        (trace.device_annotations, SliceKind.DEVICE_ANNOTATION),
        (trace.syncs, SliceKind.SYNC),
        (trace.ranges, SliceKind.RANGE),
    )
    parts = [np.full(len(table), kind, np.uint8) for table, kind in rest]
    return np.concatenate([_host_kinds(trace), device, *parts])


def parents_of(trace: Trace) -> I32:
    """The slice around each slice of the host; −1 for device slices."""
    tables = tables_of(trace)
    result = np.full(tables.end, -1, np.int32)
    result[: tables.device] = trace.host.parent
    return result


def self_of(trace: Trace) -> NDArray[np.int64]:
    """Time not covered by children; 0 for slices that are not on the host."""
    return np.concatenate([trace.host.self_ns, *(table.dur for table in _all(trace)[1:])])


def steps_of(trace: Trace) -> Places:
    """The step of each slice: on the host the one it starts in, on a device the launching one."""
    if trace.steps.source == "whole_trace":
        return np.full(tables_of(trace).end, -1, np.int8)
    tables = tables_of(trace)
    few = len(trace.steps) <= np.iinfo(np.int8).max
    step = np.full(tables.end, -1, np.int8 if few else narrow(len(trace.steps)))
    step[: tables.device] = trace.host.step
    step[tables.device : tables.device_annotations] = trace.device.step
    return step


def flags_of(trace: Trace) -> U8:
    """All flags but those of the layout and of arrows."""
    flags = np.zeros(tables_of(trace).end, np.uint8)
    parent = trace.host.parent
    flags[parent[parent >= 0]] |= np.uint8(SliceFlag.CHILDREN)
    for table, first in _placed(trace):
        finished = table.args.get("finished")
        if finished is not None:
            flags[first + finished.row[finished.value == 0]] |= np.uint8(SliceFlag.INCOMPLETE)
    return flags


def narrow(count: int) -> type[np.signedinteger[Any]]:
    """The smallest of our types for ``count`` row numbers."""
    return np.int16 if count <= np.iinfo(np.int16).max else np.int32


def _host_kinds(trace: Trace) -> U8:
    kinds = _translated(trace.host.kind, _HOST)
    marked = where(is_any(trace.host.kind, (HostKind.OP, HostKind.ANNOTATION)))
    name = take(trace.host.name, marked)
    is_loader = np.zeros(max(len(trace.strings), 1), np.bool_)
    for code in distinct(name, len(trace.strings)).tolist():
        is_loader[code] = role_of(trace.strings[code]) is HostRole.DATALOADER
    kinds[marked[is_loader[name]]] = SliceKind.LOADER
    return kinds


def _translated(values: NDArray[np.int8], table: dict[Any, SliceKind]) -> U8:
    translation = np.zeros(max(table) + 1, np.uint8)
    for known, kind in table.items():
        translation[known] = kind
    return translation[values]


def _all(trace: Trace) -> tuple[Any, ...]:
    return (trace.host, trace.device, trace.device_annotations, trace.syncs, trace.ranges)


def _placed(trace: Trace) -> Iterator[tuple[RangeTable, int]]:
    tables = tables_of(trace)
    firsts = (
        tables.host,
        tables.device,
        tables.device_annotations,
        tables.syncs,
        tables.ranges,
    )
    yield from zip(_all(trace), firsts, strict=True)
