"""What had to end before a piece of device work could begin: its stream, events, graph edges?

``before`` is the work ahead on the same stream; inside a replay what its edges say, where they were
recorded, and else what ended last before it. ``on`` is a dependency
beyond that, by decreasing trust: a wait that the recorder wrote down with the record of its event;
the order of calls (a wait between two launches on one stream, after a record on another one); work
of another stream that ended just before. The last two are inferred.
"""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from ...base.arrays import I8, I32, I64, ColumnTable, cells, distinct_values, matches, put
from ...base.regex import regex
from ...trace.model import DeviceClass, Link, Trace
from ..device_work import DeviceWork
from .gaps import learn

COINCIDENCE_NS = 15_000  # work that ended so shortly before, or within the launch latency …
LONELY_NS = 20_000  # … on a stream that had nothing to do for so long
MOST_HOPS = 64  # calls of the host and events in a row inside a graph
_LATE_NS = 1_000  # clocks may be off by so much
_WAIT = regex(r"^(cuda|cu|hip)StreamWaitEvent")
_RECORD = regex(r"^(cuda|cu|hip)EventRecord")


class Dependencies(Struct, frozen=True, eq=False):
    """By device row: rows of the device table, −1 = none."""

    before: I32
    on: I32
    inferred: I8
    in_graph: I8  # 1: of a replay, behind other work of it

    @property
    def inferred_count(self) -> int:
        """Number of inferred dependencies."""
        return int(np.count_nonzero(self.inferred))

    def certain(self) -> Dependencies:
        """The same without inferred dependencies."""
        on = np.where(self.inferred > 0, np.int32(-1), self.on)
        return Dependencies(self.before, on, np.zeros_like(self.inferred), self.in_graph)


def dependencies(trace: Trace) -> Dependencies:
    """All that the trace tells, or lets infer."""
    device = trace.device
    count = len(device)
    before = np.full(count, -1, np.int32)
    if count:
        same = np.flatnonzero(np.diff(device.stream, prepend=-1) == 0)
        before[same] = same - 1
    in_graph = _replays(trace, before)
    _by_edges(trace, before)
    on = np.full(count, -1, np.int32)
    inferred = np.zeros(count, np.int8)
    if count > 1:
        _by_records(trace, on)
        _by_call_order(trace, before, on, inferred)
        _by_coincidence(trace, before, on, inferred)
    late = on >= 0
    late[late] = device.end[on[late]] > device.ts[late] + _LATE_NS
    on[late] = -1
    inferred[on < 0] = 0
    return Dependencies(before, on, inferred, in_graph)


def _replays(trace: Trace, before: I32) -> I8:
    """Within a replay the work ahead is what ended last before it, on any stream."""
    device = trace.device
    marked = np.zeros(len(device), np.int8)
    rows = np.flatnonzero(device.link == Link.GRAPH)
    if not len(rows):
        return marked
    rows = rows[np.lexsort((device.ts[rows], device.launch[rows]))]
    launch = device.launch[rows]
    edges = np.flatnonzero(np.diff(launch)) + 1
    for replay in np.split(rows, edges):
        order = np.argsort(device.end[replay], kind="stable")
        ends = device.end[replay][order]
        at = np.searchsorted(ends, device.ts[replay], side="right") - 1
        ahead = np.where(at >= 0, replay[order[np.maximum(at, 0)]], -1)
        inner = (ahead >= 0) & (ahead != replay)
        before[replay[inner]] = ahead[inner]
        marked[replay[inner]] = 1
    return marked


class GraphNodes(ColumnTable, frozen=True, eq=False):
    """The nodes of graphs whose edges were recorded: rows of the device table, then of the waits.

    ``ahead`` is the node that ended last of those that a node waits for, −1 for none.
    """

    ts: I64
    dur: I64
    name: I32
    ahead: I32

    @staticmethod
    def of(trace: Trace) -> GraphNodes | None:
        """None in a recording without edges."""
        edges, tables = trace.graph_edges, (trace.device, trace.syncs)
        if not len(edges):
            return None
        ts, dur, name = (
            np.concatenate([getattr(table, column) for table in tables])
            for column in ("ts", "dur", "name")
        )
        order = np.argsort((ts + dur)[edges.source], kind="stable")
        ahead = np.full(len(ts), -1, np.int32)
        put(ahead, edges.target[order], edges.source[order])  # of several the last one stays
        return GraphNodes(ts, dur, name, ahead)

    def waited_for(self, work: I32, start: I64, end: I64) -> tuple[I64, I32, I64]:
        """Which nodes some work (device rows) waited for in the stretches before it.

        The place of the stretch, the node, and its ns; one entry for each node of a stretch.
        """
        at, node, since, until = self.waits(work, start, end)
        return at, node, until - since

    def waits(self, work: I32, start: I64, end: I64) -> tuple[I64, I32, I64, I64]:
        """The same with the instants from which and until which a node was waited for.

        Each stretch is told from its end: what ran last ahead of the work holds it from its own
        start on; before that it is the turn of the node that this one waited for.
        """
        at = np.flatnonzero((work >= 0) & (end > start))
        node, until = work[at], end[at].copy()
        found: list[tuple[I64, I32, I64, I64]] = []
        for _ in range(MOST_HOPS):
            node = self.ahead[node]
            some = np.flatnonzero((node >= 0) & (until > start[at]))
            at, node, until = at[some], node[some], until[some]
            if not len(at):
                break
            since = np.clip(self.ts[node], start[at], until)
            found.append((at, node, since, until))
            until = since
        if not found:
            nothing = np.empty(0, np.int64)
            return nothing, nothing.astype(np.int32), nothing, nothing
        places, nodes, begun, ended = (
            np.concatenate(column) for column in zip(*found, strict=True)
        )
        some = np.flatnonzero(ended > begun)
        return places[some], nodes[some], begun[some], ended[some]


def _by_edges(trace: Trace, before: I32) -> None:
    """Recorded edges give the predecessors; roots follow the work before the replay."""
    nodes = GraphNodes.of(trace)
    if nodes is None:
        return
    device = trace.device
    count = len(device)
    targets = distinct_values(trace.graph_edges.target)
    targets = targets[targets < count]
    ahead = nodes.ahead[targets]
    for _ in range(MOST_HOPS):  # calls of the host and events are no device work
        beyond = np.flatnonzero(ahead >= count)
        if not len(beyond):
            break
        ahead[beyond] = nodes.ahead[ahead[beyond]]
    before[targets] = np.where(ahead < count, ahead, -1)
    inner = np.zeros(count, np.bool_)
    inner[targets] = True
    sources = trace.graph_edges.source
    roots = distinct_values(sources[(sources < count)])
    for root in roots[~inner[roots]].tolist():
        at = root - 1
        while at >= 0 and device.launch[at] == device.launch[root]:
            at -= 1
        same = at >= 0 and device.stream[at] == device.stream[root]
        before[root] = at if same else -1


def _launched(trace: Trace) -> tuple[I64, I64]:
    """Device rows with a known launch in the order of their launches, and when these were."""
    device = trace.device
    rows = np.flatnonzero((device.launch >= 0) & (device.link == Link.CORRELATION))
    at = trace.host.ts[device.launch[rows]]
    order = np.argsort(at, kind="stable")
    return rows[order], at[order]


def _by_records(trace: Trace, on: I32) -> None:
    """Waits for events that the recorder wrote down with the record that they wait for."""
    syncs, host = trace.syncs, trace.host
    rows = np.arange(len(syncs))
    record = cells(syncs.args.get("wait_on_record"), rows, -1)
    waiter = cells(syncs.args.get("correlation"), rows, -1)
    source = cells(syncs.args.get("wait_on_stream"), rows, -1)
    chosen = np.flatnonzero((record > 0) & (syncs.stream >= 0))
    if not len(chosen):
        return
    calls = np.flatnonzero(host.correlation > 0)
    order = calls[np.argsort(host.correlation[calls], kind="stable")]
    ids = host.correlation[order].astype(np.int64)
    launched, launched_ts = _launched(trace)
    stream = trace.device.stream[launched]
    number = trace.streams.stream
    for one in chosen.tolist():
        at = int(np.searchsorted(ids, record[one]))
        if at >= len(ids) or ids[at] != record[one]:
            continue
        recorded = int(host.ts[order[at]])
        known = int(np.searchsorted(ids, waiter[one]))
        waited = int(syncs.ts[one])
        if waiter[one] > 0 and known < len(ids) and ids[known] == waiter[one]:
            waited = int(host.ts[order[known]])
        mine = syncs.stream[one]
        after = np.flatnonzero((stream == mine) & (launched_ts > waited))
        ahead = launched_ts < recorded
        ahead &= number[stream] == source[one] if source[one] >= 0 else stream != mine
        sources = np.flatnonzero(ahead)
        if len(after) and len(sources):
            on[launched[after[0]]] = launched[sources[-1]]


def _by_call_order(trace: Trace, before: I32, on: I32, inferred: I8) -> None:
    """A wait between two launches on one stream waits for the record before it on another one."""
    host, device = trace.host, trace.device
    runtime = np.flatnonzero(host.correlation > 0)
    names = host.name[runtime]
    waits = np.sort(host.ts[runtime[matches(trace.strings, names, _WAIT)]])
    records = np.sort(host.ts[runtime[matches(trace.strings, names, _RECORD)]])
    launched, launched_ts = _launched(trace)
    if not len(waits) or not len(records) or not len(launched):
        return
    # Work whose launch is the first on its stream after a wait.
    at = np.searchsorted(waits, launched_ts) - 1
    ahead = before[launched]
    known = (ahead >= 0) & (at >= 0) & (on[launched] < 0)
    previous = np.full(len(launched), -1, np.int64)
    has_call = known.copy()
    has_call[known] = device.launch[ahead[known]] >= 0
    previous[has_call] = host.ts[device.launch[ahead[has_call]]]
    wait_ts = waits[np.maximum(at, 0)]
    chosen = np.flatnonzero(has_call & (wait_ts > previous))
    record = np.searchsorted(records, wait_ts[chosen], side="right") - 1
    chosen, record = chosen[record >= 0], record[record >= 0]
    # The last work launched before that record, where it is of another stream and ended in time.
    source = np.searchsorted(launched_ts, records[record]) - 1
    chosen, source = chosen[source >= 0], launched[source[source >= 0]]
    work = launched[chosen]
    fits = device.stream[source] != device.stream[work]
    fits &= device.end[source] <= device.ts[work] + _LATE_NS
    on[work[fits]] = source[fits]
    inferred[work[fits]] = 1


def _by_coincidence(trace: Trace, before: I32, on: I32, inferred: I8) -> None:
    """Work that begins as work of another stream ends, on a stream that stood still.

    One of the two is a collective: what it computes with, or on, is of another stream.
    """
    device = trace.device
    is_collective = device.klass == DeviceClass.COMMUNICATION
    if not is_collective.any():
        return
    order = np.argsort(device.end, kind="stable")
    ends = device.end[order]
    at = np.searchsorted(ends, device.ts, side="right") - 1
    source = order[np.maximum(at, 0)]
    ahead_end = np.where(before >= 0, device.end[np.maximum(before, 0)], np.int64(-(1 << 62)))
    fits = (at >= 0) & (on < 0) & (is_collective | is_collective[source])
    near = [
        max(COINCIDENCE_NS, learn(DeviceWork(trace, row)).latency_ns)
        for row in range(len(trace.devices))
    ]
    fits &= device.ts - ends[np.maximum(at, 0)] <= np.array(near)[device.device]
    fits &= (device.stream[source] != device.stream) & (device.device[source] == device.device)
    fits &= device.ts - ahead_end > LONELY_NS
    called = device.launch >= 0
    called[called] = trace.host.end[device.launch[called]] < device.ts[called] - COINCIDENCE_NS
    fits &= called
    on[fits] = source[fits]
    inferred[fits] = 1
