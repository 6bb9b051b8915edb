"""Which graphs were replayed, of which nodes, and what did each replay wait for inside?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from ...base.arrays import I8, I32, I64, B, ColumnTable, cells, distinct_values, has_cell, of_names
from ...base.intervals import complement, union
from ...trace.build.categories import is_graph_node
from ...trace.link.iterations import batch_of
from ...trace.model import DeviceKind, HostKind, HostTable, Link, Trace
from ..call_tree.paths import innermost
from ..idle.dependencies import GraphNodes
from .model import (
    NONE,
    WORK,
    GraphColumns,
    GraphNodeTable,
    GraphTable,
    IdleKind,
    IdleTable,
    MemberTable,
    NodeKind,
    ReplayTable,
)

_HOST_NODE = "graph_host_node"


def batches(strings: tuple[str, ...], host: HostTable) -> I32:
    """By host row the batch size of the innermost annotation around it that tells one; −1."""
    own = np.full(len(host), NONE, np.int32)
    marked = np.flatnonzero(host.kind == HostKind.ANNOTATION)
    own[marked] = of_names(strings, host.name[marked], batch_of, np.int32)
    return innermost(own, host.parent)


def graphs_of(trace: Trace) -> GraphColumns:
    """All graphs of a trace. Their kernels and those outside of graphs are all kernels."""
    held = _held(trace)
    replay, count = _replay_of(trace, held)
    told = _replays(trace, held, replay, count)
    graph_of_replay, graph, graphs = _graphs(held, replay, told)
    node, nodes = _nodes(held, replay, told.ts, graph)
    order = np.lexsort((held.ts, node))
    host, device = len(trace.host), len(trace.device)
    # Slices: host, device activity, annotations of the device, syncs.
    slices = host + held.row + (held.row >= device) * len(trace.device_annotations)
    members = MemberTable(
        row=held.row[order],
        replay=replay[order],
        node=node[order],
        slice=slices[order].astype(np.int32),
        ts=held.ts[order],
        dur_ns=held.dur[order],
    )
    edges = GraphNodes.of(trace)
    of_activity = np.full(device, NONE, np.int32)
    work = held.row < device
    of_activity[held.row[work]] = graph[work]
    replays = replace(told, graph=graph_of_replay)
    is_work = np.isin(nodes.kind[members.node], WORK)
    busy, gaps = _gaps(members, is_work, len(replays))
    busy_ns = replays.end - replays.ts - busy
    return GraphColumns(
        strings=trace.strings,
        graphs=graphs,
        replays=replace(replays, busy_ns=busy_ns),
        nodes=replace(nodes, ahead=_ahead(edges, members, len(nodes))),
        members=members,
        idle=_idle(trace, edges, members, nodes, gaps),
        of_activity=of_activity,
        devices=tuple(f"{one.type} {one.index}" for one in trace.devices),
        has_edges=edges is not None,
    )


class _Held(ColumnTable, frozen=True, eq=False):
    """Everything that graphs hold: device rows, then rows of the waits behind them."""

    row: I32
    kind: I8
    name: I32
    ts: I64
    dur: I64
    device: I32
    launch: I32
    correlation: I64
    graph_id: I64  # −1
    node_id: I64  # −1


def _held(trace: Trace) -> _Held:
    device, syncs = trace.device, trace.syncs
    ids = device.args.get("graph_id")
    every = np.arange(len(device))
    rows = np.flatnonzero((device.link == Link.GRAPH) | (cells(ids, every, 0) > 0))
    categories = of_names(trace.strings, syncs.category, is_graph_node, np.bool_)
    waits = np.flatnonzero(categories & (syncs.device >= 0))
    if not len(rows):
        waits = waits[:0]
    is_host = of_names(
        trace.strings, syncs.category[waits], lambda text: text.casefold() == _HOST_NODE, np.bool_
    )
    kinds = np.full(len(rows), NodeKind.KERNEL, np.int8)
    kinds[device.kind[rows] == DeviceKind.MEMCPY] = NodeKind.COPY
    kinds[device.kind[rows] == DeviceKind.MEMSET] = NodeKind.SET

    def both(of_work: NDArray[Any], of_waits: NDArray[Any], kind: type) -> NDArray[Any]:
        return np.concatenate([of_work, of_waits]).astype(kind)

    def told(name: str) -> NDArray[Any]:
        return both(
            cells(device.args.get(name), rows, NONE), cells(syncs.args.get(name), waits, NONE), int
        )

    node_id = told("graph_node_id")
    node_id[: len(rows)][~has_cell(device.args.get("graph_node_id"), rows)] = NONE
    return _Held(
        row=both(rows, waits + len(device), np.int32),
        kind=both(kinds, np.where(is_host, NodeKind.HOST, NodeKind.EVENT), np.int8),
        name=both(device.name[rows], syncs.name[waits], np.int32),
        ts=both(device.ts[rows], syncs.ts[waits], np.int64),
        dur=both(device.dur[rows], syncs.dur[waits], np.int64),
        device=both(device.device[rows], syncs.device[waits], np.int32),
        launch=both(device.launch[rows], np.full(len(waits), NONE), np.int32),
        correlation=both(
            device.correlation[rows], cells(syncs.args.get("correlation"), waits, 0), np.int64
        ),
        graph_id=told("graph_id"),
        node_id=node_id,
    )


def _replay_of(trace: Trace, held: _Held) -> tuple[I32, int]:
    """The replay of everything held, −1 where it is not known; and how many replays there are.

    A replay is the work of one launch on one device. A wait belongs to the work with its
    correlation, and without one to the last replay of its graph that began before it.
    """
    replay = np.full(len(held), NONE, np.int32)
    work = np.flatnonzero(held.row < len(trace.device))
    known = work[(held.launch[work] >= 0) | (held.correlation[work] > 0)]
    if not len(known):
        return replay, 0
    launched = held.launch[known] >= 0
    by_id = np.unique(held.correlation[known], return_inverse=True)[1] + len(trace.host)
    token = np.where(launched, held.launch[known], by_id)
    code = coded(held.device[known], token)
    count = int(code.max()) + 1
    # In order of time.
    first = np.full(count, np.iinfo(np.int64).max)
    np.minimum.at(first, code, held.ts[known])
    rank = np.empty(count, np.int32)
    rank[np.argsort(first, kind="stable")] = np.arange(count, dtype=np.int32)
    replay[known] = rank[code]
    by_correlation = {
        (device, number): mine
        for device, number, mine in zip(
            held.device[known].tolist(),
            held.correlation[known].tolist(),
            replay[known].tolist(),
            strict=True,
        )
        if number > 0
    }
    waits = np.arange(len(work), len(held))
    pairs = zip(held.device[waits].tolist(), held.correlation[waits].tolist(), strict=True)
    replay[waits] = [by_correlation.get(pair, NONE) for pair in pairs]
    lonely = waits[replay[waits] < 0]
    ahead = _last_ahead(coded(held.device, held.graph_id), held.ts, known, lonely)
    found = ahead >= 0
    replay[lonely[found]] = replay[ahead[found]]
    return replay, count


def _last_ahead(key: I64, ts: I64, known: I64, asked: I64) -> I64:
    """By asked row the last of the known ones with its key that begins no later, −1 for none."""
    times = distinct_values(ts)
    place = key * max(len(times), 1) + np.searchsorted(times, ts)
    order = known[np.lexsort((-known, place[known]))]  # of several at one time the first one
    at = np.searchsorted(place[order], place[asked], side="right") - 1
    last: I64 = order[np.maximum(at, 0)] if len(order) else np.full(len(asked), NONE)
    return np.where((at >= 0) & (key[last] == key[asked]), last, NONE)


def _replays(trace: Trace, held: _Held, replay: I32, count: int) -> ReplayTable:
    """The replays, each yet without its graph and its busy time."""
    host = trace.host
    work = np.flatnonzero((replay >= 0) & (held.row < len(trace.device)))
    mine = replay[work]
    ts = np.full(count, np.iinfo(np.int64).max)
    end = np.full(count, np.iinfo(np.int64).min)
    np.minimum.at(ts, mine, held.ts[work])
    np.maximum.at(end, mine, held.ts[work] + held.dur[work])
    launch = np.full(count, NONE, np.int32)
    launch[mine] = held.launch[work]
    step = np.full(count, NONE, np.int32)
    step[mine] = trace.device.step[held.row[work]]
    batch = np.full(count, NONE, np.int32)
    called = np.flatnonzero(launch >= 0)
    if len(called):
        batch[called] = batches(trace.strings, host)[launch[called]]
    return ReplayTable(
        graph=np.full(count, NONE, np.int32),
        launch=launch,
        step=step,
        batch=batch,
        ts=ts,
        end=end,
        busy_ns=np.zeros(count, np.int64),
        node_count=np.bincount(replay[replay >= 0], minlength=count).astype(np.int32),
    )


def _graphs(held: _Held, replay: I32, replays: ReplayTable) -> tuple[I32, I32, GraphTable]:
    """The graph of each replay, of everything held, and the graphs by kernel time."""
    keys: dict[tuple[Any, ...], int] = {}
    of_replay = np.full(len(replays), NONE, np.int32)
    some = np.flatnonzero(replay >= 0)
    order = some[np.lexsort((held.name[some] * 8 + held.kind[some], replay[some]))]
    bounds = np.searchsorted(replay[order], np.arange(len(replays) + 1))
    content = held.name.astype(np.int64) * 8 + held.kind
    for at, (low, high) in enumerate(zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)):
        rows = order[low:high]
        device = int(held.device[rows[0]])
        ids = held.graph_id[rows]
        ids = ids[ids > 0]
        if len(ids):
            values, counts = np.unique(ids, return_counts=True)
            key: tuple[Any, ...] = (device, int(values[np.argmax(counts)]))
        else:
            key = (device, NONE, int(replays.batch[at]), content[rows].tobytes())
        of_replay[at] = keys.setdefault(key, len(keys))
    of_held = np.full(len(held), NONE, np.int32)
    of_held[some] = of_replay[replay[some]]
    for at in np.flatnonzero((replay < 0) & (held.graph_id > 0)).tolist():
        key = (int(held.device[at]), int(held.graph_id[at]))
        of_held[at] = keys.setdefault(key, len(keys))
    spent = np.zeros(len(keys), np.int64)
    kernels = (held.kind == NodeKind.KERNEL) & (of_held >= 0)
    np.add.at(spent, of_held[kernels], held.dur[kernels])
    order = np.argsort(-spent, kind="stable")
    rank = np.empty(len(keys) + 1, np.int32)
    rank[order] = np.arange(len(keys), dtype=np.int32)
    rank[-1] = NONE  # of what has no graph
    found = list(keys)
    listed = [found[at] for at in order.tolist()]
    with_ids = np.zeros(len(keys), np.int8)
    with_ids[rank[of_held[(held.node_id >= 0) & (of_held >= 0)]]] = 1
    table = GraphTable(
        device=np.array([key[0] for key in listed], np.int32),
        number=np.array([key[1] for key in listed], np.int64),
        node_ids=with_ids,
    )
    return rank[of_replay], rank[of_held], table


def _nodes(held: _Held, replay: I32, replay_ts: I64, graph: I32) -> tuple[I32, GraphNodeTable]:
    """The node of everything held, and the nodes by graph and mean start."""
    order = np.lexsort((held.ts, held.kind, held.name, replay))
    run = np.flatnonzero(
        (np.diff(replay[order], prepend=-2) != 0)
        | (np.diff(held.name[order], prepend=-2) != 0)
        | (np.diff(held.kind[order], prepend=-2) != 0)
    )
    turn = np.empty(len(held), np.int64)
    turn[order] = np.arange(len(held)) - np.repeat(run, np.diff(np.append(run, len(held))))
    turn[replay < 0] = 0
    has_id = held.node_id >= 0
    name = np.where(has_id, NONE, held.name.astype(np.int64) * 8 + held.kind)
    inner = np.where(has_id, held.graph_id, turn)
    code = coded(graph, name, inner, held.node_id)
    count = int(code.max(initial=-1)) + 1
    first = np.full(count, len(held), np.int64)
    np.minimum.at(first, code, np.arange(len(held)))
    known = replay >= 0
    offset = np.zeros(len(held))
    offset[known] = held.ts[known] - replay_ts[replay[known]]
    sums = np.bincount(code[known], offset[known], count)
    number = np.bincount(code[known], minlength=count)
    start = np.where(number > 0, sums / np.maximum(number, 1), np.nan)
    by_start = np.lexsort((first, np.where(np.isnan(start), np.inf, start), graph[first]))
    rank = np.empty(count, np.int32)
    rank[by_start] = np.arange(count, dtype=np.int32)
    sample = first[by_start]
    table = GraphNodeTable(
        graph=graph[sample],
        kind=held.kind[sample],
        name=held.name[sample],
        number=held.node_id[sample],
        start_ns=start[by_start],
        ahead=np.full(count, NONE, np.int32),
    )
    return rank[code], table


def coded(*columns: NDArray[Any]) -> I64:
    """One dense number per combination of values."""
    result = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        inner = np.unique(column, return_inverse=True)[1].astype(np.int64)
        result = np.unique(result << 32 | inner, return_inverse=True)[1].astype(np.int64)
    return result


def _ahead(edges: GraphNodes | None, members: MemberTable, nodes: int) -> I32:
    """The node that each one waits for, by what ended last in most replays."""
    result = np.full(nodes, NONE, np.int32)
    if edges is None or not len(members):
        return result
    source = edges.ahead[members.row]
    node_of_row = np.full(len(edges), NONE, np.int32)
    node_of_row[members.row] = members.node
    some = np.flatnonzero(source >= 0)
    some = some[node_of_row[source[some]] >= 0]
    pair = members.node[some].astype(np.int64) << 32 | node_of_row[source[some]]
    values, counts = np.unique(pair, return_counts=True)
    order = np.argsort(counts, kind="stable")
    result[values[order] >> 32] = values[order] & 0xFFFFFFFF
    return result


# --- idle time inside of replays ------------------------------------------------------------------


class _Gaps(ColumnTable, frozen=True, eq=False):
    """Time inside replays in which nothing of the replay runs on the device."""

    replay: I32
    start: I64
    end: I64
    before: I64  # the member that ended last
    next: I64  # the member that runs next


def _gaps(members: MemberTable, is_work: B, count: int) -> tuple[I64, _Gaps]:
    """The idle time of each replay, and its gaps in order of time."""
    rows = np.flatnonzero(is_work & (members.replay >= 0))
    rows = rows[np.lexsort((members.ts[rows], members.replay[rows]))]
    replay, ts = members.replay[rows], members.ts[rows]
    end = ts + members.dur_ns[rows]
    # The furthest end so far within each replay: ends as ranks, behind all of replays before.
    by_end = np.argsort(end, kind="stable")
    rank = np.empty(len(rows), np.int64)
    rank[by_end] = np.arange(len(rows))
    offset = replay.astype(np.int64) * max(len(rows), 1)
    furthest = np.maximum.accumulate(rank + offset) - offset if len(rows) else rank
    before = by_end[furthest[:-1]]
    inner = np.flatnonzero((np.diff(replay) == 0) & (ts[1:] > end[before])) if len(rows) else before
    gaps = _Gaps(
        replay=replay[inner + 1],
        start=end[before[inner]],
        end=ts[inner + 1],
        before=rows[before[inner]],
        next=rows[inner + 1],
    )
    idle = np.zeros(count, np.int64)
    np.add.at(idle, gaps.replay, gaps.end - gaps.start)
    return idle, gaps


def _idle(
    trace: Trace,
    edges: GraphNodes | None,
    members: MemberTable,
    nodes: GraphNodeTable,
    gaps: _Gaps,
) -> IdleTable:
    """Causes of each gap; all parts sum to the gaps."""
    found: list[tuple[NDArray[Any], ...]] = []
    nobody = np.full(len(gaps), NONE, np.int32)

    def add(gap: I64, kind: IdleKind, waited: I32, ns: I64, *, inferred: bool = False) -> None:
        some = np.flatnonzero(ns > 0)
        kinds = np.full(len(some), kind, np.int8)
        marks = np.full(len(some), inferred, np.int8)
        found.append(
            (gaps.replay[gap[some]], kinds, waited[some], gaps.next[gap[some]], ns[some], marks)
        )

    piece, start, end = _device_idle(trace, members, gaps)
    left = end - start
    add(
        np.arange(len(gaps)),
        IdleKind.OTHER,
        nobody,
        gaps.end - gaps.start - _sum(piece, left, len(gaps)),
    )
    hosts = nodes.kind[members.node] == NodeKind.HOST
    if edges is not None:
        node_of_row = np.full(len(edges), NONE, np.int32)
        node_of_row[members.row] = members.node
        at, row, since, until = edges.waits(members.row[gaps.next[piece]], start, end)
        node = node_of_row[row]
        is_host = (node >= 0) & (nodes.kind[node] == NodeKind.HOST)
        over = np.clip(edges.ts[row] + edges.dur[row], since, until)
        ran = np.where(is_host, over - since, 0)
        add(piece[at], IdleKind.HOST, node, ran)
        add(piece[at], IdleKind.LATENCY, node, until - since - ran)
        left = left - _sum(at, until - since, len(piece))
        # What edges do not tell is the first part of a piece. A call of the host without a
        # correlation has no edges: it is known by its time alone.
        end = start + left
        linked = np.zeros(len(edges), np.bool_)
        linked[trace.graph_edges.source] = True
        hosts &= ~linked[members.row] & (edges.ahead[members.row] < 0)
    for host, overlapped in _overlapped(members, hosts, gaps.replay[piece], start, end):
        mine = overlapped[left[overlapped] > 0]
        waited = np.full(len(mine), members.node[host], np.int32)
        begun = np.clip(members.ts[host], start[mine], end[mine])
        ended = np.clip(members.ts[host] + members.dur_ns[host], begun, end[mine])
        ran = np.minimum(ended - begun, left[mine])
        left[mine] -= ran
        add(piece[mine], IdleKind.HOST, waited, ran, inferred=True)
        after = np.where(ran > 0, np.minimum(end[mine] - ended, left[mine]), 0)
        left[mine] -= after
        add(piece[mine], IdleKind.LATENCY, waited, after, inferred=True)
    if edges is not None:
        add(piece, IdleKind.UNKNOWN, nobody[piece], left)
    else:
        add(piece, IdleKind.LATENCY, members.node[gaps.before[piece]], left, inferred=True)
    columns = [np.concatenate(column) for column in zip(*found, strict=True)]
    order = np.lexsort((columns[3], columns[0]))
    replay, kind, waited, following, ns, inferred = (column[order] for column in columns)
    return IdleTable(
        replay, kind, waited.astype(np.int32), following.astype(np.int32), ns, inferred
    )


def _overlapped(
    members: MemberTable, hosts: B, replay: I32, start: I64, end: I64
) -> Iterator[tuple[int, I64]]:
    """Calls of the host, each with the pieces of idle time of its replay that it overlaps."""
    # Pieces of one replay are disjoint, and in order of time.
    order = np.argsort(replay, kind="stable")
    count = int(replay.max(initial=NONE)) + 1
    first = np.searchsorted(replay[order], np.arange(count + 1))
    for host in np.flatnonzero(hosts & (members.replay >= 0) & (members.replay < count)).tolist():
        own = int(members.replay[host])
        mine = order[first[own] : first[own + 1]]
        low = np.searchsorted(end[mine], members.ts[host], side="right")
        high = np.searchsorted(start[mine], members.ts[host] + members.dur_ns[host], side="left")
        if low < high:
            yield host, mine[low:high]


def _sum(code: I64, value: I64, count: int) -> I64:
    result = np.zeros(count, np.int64)
    np.add.at(result, code, value)
    return result


def _device_idle(trace: Trace, members: MemberTable, gaps: _Gaps) -> tuple[I64, I64, I64]:
    """The parts of gaps in which nothing at all runs on the device: of which gap, from, to."""
    device = trace.device
    of_gap = device.device[members.row[gaps.next]] if len(gaps) else np.empty(0, np.int32)
    found: list[tuple[I64, I64, I64]] = []
    for one in np.unique(of_gap).tolist():
        rows = device.rows_of(one)
        mine = np.flatnonzero(of_gap == one)
        free = complement(
            union(device.ts[rows], device.end[rows]),
            int(gaps.start[mine].min()),
            int(gaps.end[mine].max()),
        )
        low = np.searchsorted(free.end, gaps.start[mine], side="right")
        high = np.searchsorted(free.start, gaps.end[mine], side="left")
        count = np.maximum(high - low, 0)
        at = np.repeat(np.arange(len(mine)), count)
        within = np.arange(len(at)) - np.repeat(np.cumsum(count) - count, count)
        which = low[at] + within
        found.append(
            (
                mine[at],
                np.maximum(free.start[which], gaps.start[mine[at]]),
                np.minimum(free.end[which], gaps.end[mine[at]]),
            )
        )
    if not found:
        nothing = np.empty(0, np.int64)
        return nothing, nothing, nothing
    piece, start, end = (np.concatenate(column) for column in zip(*found, strict=True))
    return piece, start, end
