"""The stored columns of idle time: holders by call path, and critical paths.

Made once per trace when first asked for, then memory-mapped. Cells by step, device and path sum to
the idle time of the device in the step, to the nanosecond: what no call holds has boxes of its own,
by cause.
"""

from __future__ import annotations

import numpy as np

from ...base.arrays import I32, I64, distinct_values, matches
from ...base.artifact_spec import stores
from ...base.regex import regex
from ...trace.model import HostKind, Trace
from ..call_tree.paths import find_paths
from ..device_work import DeviceWork
from ..facts import IDLE_CAUSES
from ..host_activity import hosts_of
from ..steps import step_windows
from .causes import IdleCauses
from .critical_path import critical_path
from .dependencies import dependencies
from .model import CAUSE, STEM, IdleCells, IdleColumns, IdleNodes, PathNames, PathParts
from .names import HeldNames

_STEP = regex(r"^ProfilerStep#\d+$")
_CAUSE_KIND = len(HostKind)


def idle_columns(trace: Trace) -> IdleColumns:
    """The columns of a trace."""
    hosts, windows = hosts_of(trace), step_windows(trace)
    nodes, cells = _flame(trace, IdleCauses(HeldNames(trace, hosts), windows))
    found = dependencies(trace)
    path = critical_path(trace, hosts, windows, found)
    certain = _empty(path)
    if found.inferred_count:
        certain = critical_path(trace, hosts, windows, found.certain())
    return IdleColumns(
        strings=(*trace.strings, "ProfilerStep"),
        nodes=nodes,
        cells=cells,
        path=path,
        path_names=_names(trace, path),
        certain=certain,
        certain_names=_names(trace, certain),
        inferred_count=found.inferred_count,
    )


def _empty(path: PathParts) -> PathParts:
    return PathParts(*(getattr(path, name)[:0] for name in PathParts.__struct_fields__))


def _names(trace: Trace, path: PathParts) -> PathNames:
    name = np.full(len(path), -1, np.int32)
    number = np.full(len(path), -1, np.int32)
    for on, table, first in ((0, trace.host, 0), (1, trace.device, len(trace.host))):
        some = np.flatnonzero((path.on == on) & (path.row >= 0))
        name[some] = table.name[path.row[some]]
        number[some] = path.row[some] + first
    return PathNames(name, number)


def _flame(trace: Trace, causes: IdleCauses) -> tuple[IdleNodes, IdleCells]:
    """The paths that hold idle time, and how much of each device and step."""
    host, kinds = trace.host, np.int32(len(HostKind))
    # One box for all steps: its name comes after the others.
    steps = matches(trace.strings, host.name, _STEP)
    name = np.where(steps, np.int32(len(trace.strings)), host.name)
    paths = find_paths(host.parent, name * kinds + host.kind)
    first = len(paths.parent)
    parts: list[tuple[I64, ...]] = []
    for device, one in enumerate(trace.devices):
        if not one.used:
            continue
        rows, table = causes.rows_of_device(DeviceWork(trace, device))
        # What the device waited for by itself is told by cause, whatever the host was in.
        by_host = rows.cause != CAUSE["device_wait"]
        window, idle = rows.window[by_host], rows.idle[by_host]
        cause = rows.cause[by_host]
        node = paths.node[rows.row[by_host]].astype(np.int64)
        told = np.zeros(table.shape, np.int64)
        np.add.at(told, (window, cause), idle)
        # Events that outlive each other may hold an instant twice: then nobody is told of it.
        twice = (told > table)[window, cause]
        told[told > table] = 0
        step, left = np.nonzero(table > told)
        parts.append((window[~twice], np.full((~twice).sum(), device), node[~twice], idle[~twice],
                      np.ones((~twice).sum(), np.int64)))  # fmt: skip
        parts.append((step, np.full(len(step), device), first + left, (table - told)[step, left],
                      np.zeros(len(step), np.int64)))  # fmt: skip
    columns = [np.concatenate(column) for column in zip(*parts, strict=True)] if parts else [
        np.empty(0, np.int64)] * 5  # fmt: skip
    step, device_of, node, idle, count = columns
    key = (step * max(len(trace.devices), 1) + device_of) * (first + len(IDLE_CAUSES)) + node
    order = np.argsort(key, kind="stable")
    head = np.flatnonzero(np.diff(key[order], prepend=-1))
    top = order[head]
    kept, number = _with_ancestors(paths.parent, node[top], first)
    return (
        IdleNodes(
            parent=_renumbered(paths.parent, kept, number, first),
            name=np.concatenate([
                paths.name // len(HostKind), len(trace.strings) + 1 + np.arange(len(IDLE_CAUSES))
            ])[kept].astype(np.int32),
            kind=np.concatenate([
                paths.name % len(HostKind), np.full(len(IDLE_CAUSES), _CAUSE_KIND)
            ])[kept].astype(np.int8),
        ),
        IdleCells(
            step=step[top].astype(np.int32),
            device=device_of[top].astype(np.int32),
            node=number[node[top]].astype(np.int32),
            idle_ns=np.add.reduceat(idle[order], head) if len(head) else idle[:0],
            count=np.add.reduceat(count[order], head) if len(head) else count[:0],
        ),
    )  # fmt: skip


def _with_ancestors(parent: I32, node: I64, first: int) -> tuple[I64, I64]:
    """The nodes and all that are above them, ascending; and the new number of each."""
    kept = np.zeros(first + len(IDLE_CAUSES), np.bool_)
    kept[node] = True
    at: I64 = node[node < first]
    while len(at):
        at = parent[at].astype(np.int64)
        at = distinct_values(at[at >= 0])
        at = at[~kept[at]]
        kept[at] = True
    return np.flatnonzero(kept), np.cumsum(kept) - 1


def _renumbered(parent: I32, kept: I64, number: I64, first: int) -> I32:
    above = np.full(len(kept), -1, np.int64)
    calls = kept < first
    above[calls] = parent[kept[calls]]
    return np.where(above >= 0, number[np.maximum(above, 0)], -1).astype(np.int32)


make_idle = stores(idle_columns, STEM)
