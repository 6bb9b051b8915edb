"""Arrows of the file: which start belongs to which end, and which events do they connect?

``match_flows`` joins the two ends of each arrow. ``op_at`` finds the op at an end: it is among the
events that were open when the latest started open event began, so it is found by climbing
``Nesting.outer``. ``follow_arrows`` uses arrows as launches of device work without a correlation:
Ascend draws ``HostToDevice`` from a CANN call and ``async_npu`` from the op, both to the start of
the kernel; the first recorders drew ``cpu_to_cuda`` from the op.

``link_backward`` finds the forward op that created the node that a backward op runs. Recorders draw
an arrow (``fwdbwd``). Where it is missing, the sequence number decides: the node was created by the
forward op of that number that started last on that thread.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import pairwise

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ...base.arrays import (
    I32,
    I64,
    ColumnTable,
    Sparse,
    cells,
    distinct,
    equal,
    handed,
    is_any,
    look_up,
    put,
    seen,
    stable_order,
    take,
    where,
)
from ...base.native import call
from ..build.categories import (
    DEPENDENCY_FLOW,
    DEVICE_ROLES,
    FIRST_DEPENDENCY,
    LAUNCH_FLOWS,
    OP_FLOWS,
    is_graph_node,
)
from ..build.device import Activity
from ..build.devices import Streams
from ..build.host import Host
from ..build.nest import innermost_at
from ..build.route import Rows
from ..model import NO_EDGES, FlowTable, GraphEdgeTable, HostKind, RangeTable
from ..raw import FLOW_END, FLOW_START, ID_INT, ID_TEXT, MISSING, RawEvents, RawTrace, Texts

_DENSE = 1 << 20
_FEW = 16  # categories that are matched one after the other


class Ends(ColumnTable, frozen=True, eq=False):
    """Starts or ends of arrows: process, thread (codes), and time as written."""

    pid: I32
    tid: I32
    ts: I64

    @staticmethod
    def at(events: RawEvents, row: I32) -> Ends:
        """Ends of the arrows in these rows of the file."""
        return Ends(take(events.pid, row), take(events.tid, row), take(events.ts, row))


class Arrows(ColumnTable, frozen=True, eq=False):
    """Arrows with both of their ends; ``source[i]`` points at ``target[i]``."""

    source: Ends
    target: Ends


class MatchedFlows(Struct, frozen=True, eq=False):
    """Start and end of each arrow that has both, as rows of the file, in order of the end."""

    start: I32
    end: I32
    category: I32
    dependencies: Arrows  # from node to node of a graph, which are none of those above
    lonely_starts: int
    lonely_ends: int

    def of(self, raw: RawTrace, texts: Texts, categories: Collection[str]) -> Arrows:
        """The arrows of these categories (lower case)."""
        wanted = texts.table(self.category, lambda text: text.casefold() in categories, np.bool_)
        chosen = where(take(wanted, self.category))
        start, end = take(self.start, chosen), take(self.end, chosen)
        return Arrows(Ends.at(raw.events, start), Ends.at(raw.events, end))


def match_flows(raw: RawTrace, texts: Texts, rows: Rows) -> MatchedFlows:
    """Match ends with starts by (category, id). One start may have many ends.

    Of several starts with one key the last one in the file counts.
    """
    starts, ends = rows.flow_starts, rows.flow_ends
    source = _by_number(raw, texts, starts, ends)
    if source is None:
        source = _by_any_id(raw, starts, ends)
    end = ends
    if len(source) and int(source.min()) < 0:
        paired = where(source >= 0)
        source, end = take(source, paired), take(ends, paired)
    used = seen(source, len(starts))
    start = take(starts, source)
    # Between the nodes of a graph: named as launches are, numbered beyond any correlation.
    named_so = texts.code(DEPENDENCY_FLOW)
    inner = np.empty(0, np.int32)
    ids = raw.ints.get(ID_INT)
    outer_start, outer_end = start, end
    if ids is not None and len(ids.value) and int(ids.value.max()) >= FIRST_DEPENDENCY:
        dependency = cells(ids, start, -1) >= FIRST_DEPENDENCY
        dependency &= take(raw.events.category, start) == named_so
        others, inner = where(~dependency), where(dependency)
        outer_start, outer_end = take(start, others), take(end, others)
    return MatchedFlows(
        start=outer_start,
        end=outer_end,
        category=take(raw.events.category, outer_end),
        dependencies=Arrows(
            Ends.at(raw.events, take(start, inner)), Ends.at(raw.events, take(end, inner))
        ),
        lonely_starts=len(starts) - int(np.count_nonzero(used)),
        lonely_ends=len(ends) - len(end),
    )


def _by_number(raw: RawTrace, texts: Texts, starts: I32, ends: I32) -> I32 | None:
    """For each end the index of its start, −1 without one; None where not all ids are numbers.

    Recorders count arrows, so a table from id to start is hardly longer than the list of starts.
    """
    ids = raw.ints.get(ID_INT)
    if ids is None or not len(starts) or not len(ends):
        return None if len(starts) and len(ends) else np.full(len(ends), -1, np.int32)
    events, span = raw.events, max(_DENSE, 8 * len(ids.row))
    if handed(ids.row, np.int32) and handed(events.category, np.int32):
        source, told = np.empty(len(ends), np.int32), np.empty(2, np.int64)
        asked = ids.row, np.ascontiguousarray(ids.value), ids.value.itemsize, len(ids.row)
        of_rows = events.phase, events.category, len(events)
        limits = FLOW_START, FLOW_END, span
        done = call("kinetoscope_match_starts", *asked, *of_rows, *limits, source, len(ends), told)
        if done:
            return source if told.tolist() == [len(starts), len(ends)] else None
    return _by_number_in_python(raw, texts, starts, ends, ids)


def _by_number_in_python(
    raw: RawTrace, texts: Texts, starts: I32, ends: I32, ids: Sparse
) -> I32 | None:
    """The reference of ``_by_number``, where there are starts, ends and ids."""
    phase = take(raw.events.phase, ids.row)
    begun, ended = where(phase == FLOW_START), where(phase == FLOW_END)
    if len(begun) != len(starts) or len(ended) != len(ends):
        return None
    begin_id, end_id = take(ids.value, begun), take(ids.value, ended)
    category = take(raw.events.category, starts)
    end_category = take(raw.events.category, ends)
    kinds = distinct(category, len(texts)).tolist()
    if len(kinds) > _FEW:
        return None
    source = np.full(len(ends), -1, np.int32)
    for kind in kinds:
        mine, theirs = where(category == kind), where(end_category == kind)
        key, asked = take(begin_id, mine), take(end_id, theirs)
        low, high = int(key.min()), int(key.max())
        if high - low >= max(_DENSE, 8 * len(ids.row)):
            return None
        table = np.full(high - low + 1, -1, np.int32)
        put(table, key - low, mine)
        known = (asked >= low) & (asked <= high)
        if not known.all():
            theirs, asked = theirs[known], asked[known]
        put(source, theirs, take(table, asked - low))
    return source


def _by_any_id(raw: RawTrace, starts: I32, ends: I32) -> I32:
    """``_by_number`` for ids of any kind, by sorting: within one key the starts come first."""
    both = np.concatenate([starts, ends])
    category = raw.events.category[both]
    number = cells(raw.ints.get(ID_INT), both, MISSING)
    text = cells(raw.texts.get(ID_TEXT), both, -1)
    is_end = np.arange(len(both)) >= len(starts)
    order = np.lexsort((is_end, text, number, category))
    new = np.ones(len(both), bool)
    new[1:] = False
    for column in (category, number, text):
        in_order = column[order]
        new[1:] |= in_order[1:] != in_order[:-1]
    ended = is_end[order]
    position = np.arange(len(both))
    # An end takes the last row before it that is a start of the same key.
    last_start = np.maximum.accumulate(np.where(ended, -1, position))
    key_begin = np.maximum.accumulate(np.where(new, position, -1))
    paired = np.flatnonzero(ended & (last_start >= key_begin))
    source = np.full(len(ends), -1, np.int32)
    source[order[paired] - len(starts)] = order[last_start[paired]]
    return source


def last_started(offsets: I64, ts: I64, group: I32, at: I64) -> NDArray[np.intp]:
    """The last row of a group that starts at or before an instant, −1 where none does.

    Rows are sorted by (group, ts); group g holds rows [offsets[g], offsets[g + 1]).
    """
    found = np.full(len(at), -1, np.intp)
    order = np.argsort(group, kind="stable")
    in_order = group[order]
    edges = np.flatnonzero(in_order[1:] != in_order[:-1]) + 1
    for asked in np.split(order, edges):
        if len(asked) and (g := int(group[asked[0]])) >= 0:
            low, high = int(offsets[g]), int(offsets[g + 1])
            place = low + np.searchsorted(ts[low:high], at[asked], side="right") - 1
            found[asked] = np.where(place >= low, place, -1)
    return found


# So many steps up without an op mean stacks of Python frames: then every row learns its op at once.
_PATIENCE = 32


def op_around(host: Host, rows: I32) -> I32:
    """The innermost op open at the start of each of these host rows (an op: itself)."""
    rows = np.ascontiguousarray(rows, np.int32)
    return _climb(host, rows, take(host.ts, rows))


def op_at(host: Host, thread: I32, at: I64) -> I32:
    """The innermost op open on a thread at an instant."""
    begun = last_started(host.first, host.ts, thread, at)
    return _climb(host, begun.astype(np.int32), at)


def _climb(host: Host, found: I32, at: I64) -> I32:
    """From events up to the first op that is open at an instant; −1 where there is none."""
    rows, up = len(host), host.nesting.outer
    is_whole = all(handed(one, np.int64) for one in (host.ts, host.dur))
    if is_whole and handed(up, np.int32) and handed(host.kind, np.int8) and handed(at, np.int64, 0):
        climbed = np.array(found, np.int32)
        nested = host.ts, host.dur, up, host.kind, rows, int(HostKind.OP)
        patience = _PATIENCE * len(at)
        if call("kinetoscope_climb", *nested, at, len(at), patience, climbed) is not None:
            return climbed
    return climb_in_python(host, found, at)


def climb_in_python(host: Host, found: I32, at: I64) -> I32:
    """The reference of the climb to open ops; changes ``found``."""
    up: I32 = host.nesting.outer
    active = where(found >= 0)
    steps = 0
    while len(active):
        here = found[active]
        wrong = host.kind[here] != HostKind.OP
        wrong |= host.end_of(here) <= at[active]
        active = active[wrong]
        if steps == _PATIENCE:
            up = op_above(host)
        above = up[found[active]]
        found[active] = above
        active = active[above >= 0]
        steps += 1
    return found


def op_above(host: Host) -> I32:
    """For each row the next op on the way up, −1 without one."""
    outer, kind = host.nesting.outer, host.kind
    if handed(outer, np.int32) and handed(kind, np.int8):
        found = np.empty(len(outer), np.int32)
        if call("kinetoscope_ops_above", outer, kind, len(outer), int(HostKind.OP), found) == 0:
            return found
    return ops_above_in_python(host)


def ops_above_in_python(host: Host) -> I32:
    """The reference of ``op_above``: the way is halved in every round."""
    above: I32 = host.nesting.outer.copy()
    active = where(above >= 0)
    active = active[host.kind[above[active]] != HostKind.OP]
    while len(active):
        higher = above[above[active]]
        above[active] = higher
        active = active[higher >= 0]
        active = active[host.kind[above[active]] != HostKind.OP]
    return above


class LaunchArrows(Struct, frozen=True, eq=False):
    """Arrows from calls and from ops to device work."""

    calls: Arrows
    ops: Arrows


def launch_arrows(raw: RawTrace, texts: Texts, rows: Rows, flows: MatchedFlows) -> LaunchArrows:
    """The arrows to device work; none where every activity has a correlation, which is stronger."""
    if _all_correlated(raw, rows):
        nothing = flows.of(raw, texts, ())
        return LaunchArrows(nothing, nothing)
    return LaunchArrows(flows.of(raw, texts, LAUNCH_FLOWS), flows.of(raw, texts, OP_FLOWS))


def _all_correlated(raw: RawTrace, rows: Rows) -> bool:
    correlation = raw.ints.get("correlation")
    if correlation is None:
        return not len(rows.device)
    known = is_any(take(rows.role, correlation.row), DEVICE_ROLES) & (correlation.value >= 0)
    working = is_any(rows.role, DEVICE_ROLES)
    return int(np.count_nonzero(known)) == int(np.count_nonzero(working))


def follow_arrows(
    texts: Texts,
    host: Host,
    device: Activity,
    streams: Streams,
    arrows: LaunchArrows,
    start: int,
    launch: I32,
    op: I32,
) -> None:
    """Fill launch and op of the device rows that have neither launch nor correlation."""
    orphan = (launch < 0) & (device.correlation < 0)
    if not orphan.any() or not len(arrows.calls) + len(arrows.ops):
        return
    sides = _Sides(texts, host, device, streams, orphan, start)
    row, thread, at = sides.touched(arrows.calls)
    begun = last_started(host.first, host.ts, thread, at)
    caller = innermost_at(host.ts + host.dur, host.nesting.outer, at, begun)
    is_call = caller >= 0
    is_call[is_call] = host.kind[caller[is_call]] == HostKind.RUNTIME
    launch[row[is_call]] = caller[is_call]
    op[row[is_call]] = op_around(host, caller[is_call])
    op[row[~is_call]] = op_at(host, thread[~is_call], at[~is_call])
    row, thread, at = sides.touched(arrows.ops)
    around = op_at(host, thread, at)
    op[row[around >= 0]] = around[around >= 0]


class _Sides(Struct, frozen=True, eq=False):
    """The host and the device that arrows connect."""

    texts: Texts
    host: Host
    device: Activity
    streams: Streams
    orphan: NDArray[np.bool_]
    start: int

    def touched(self, arrows: Arrows) -> tuple[NDArray[np.intp], I32, I64]:
        """Device row, host thread and host time of the arrows that end where an orphan starts."""
        device, size = self.device, len(self.texts)
        source, target = arrows.source, arrows.target
        thread = look_up(source.pid, source.tid, size, self.host.thread_of)
        stream = look_up(target.pid, target.tid, size, self.streams.of_lane)
        at = target.ts - self.start
        offsets = np.searchsorted(device.stream, np.arange(int(device.stream.max()) + 2))
        row = last_started(offsets.astype(np.int64), device.ts, stream, at)
        touched = (row >= 0) & (stream >= 0) & (thread >= 0)
        touched[touched] = (device.ts[row[touched]] == at[touched]) & self.orphan[row[touched]]
        return row[touched], thread[touched], (source.ts - self.start)[touched]


# --- inside graphs --------------------------------------------------------------------------------


def graph_edges(
    texts: Texts, device: Activity, syncs: RangeTable, streams: Streams, arrows: Arrows, start: int
) -> GraphEdgeTable:
    """The nodes that arrows inside graphs connect: from the end of one to the start of another.

    An arrow whose ends are not at a node is left out.
    """
    if not len(arrows):
        return NO_EDGES
    nodes = where(take(texts.table(syncs.category, is_graph_node, np.bool_), syncs.category))
    row = np.concatenate([np.arange(len(device), dtype=np.int32), nodes + np.int32(len(device))])
    stream = np.concatenate([device.stream, syncs.stream[nodes]])
    begin = np.concatenate([device.ts, syncs.ts[nodes]])
    end = begin + np.concatenate([device.dur, syncs.dur[nodes]])

    def node_at(ends: Ends, of_node: I64) -> I32:
        lane = look_up(ends.pid, ends.tid, len(texts), streams.of_lane)
        return _node_at(stream, of_node, lane, ends.ts - start)

    source, target = node_at(arrows.source, end), node_at(arrows.target, begin)
    known = (source >= 0) & (target >= 0) & (source != target)
    return GraphEdgeTable(row[source[known]], row[target[known]])


def _node_at(stream: I32, at: I64, wanted_stream: I32, wanted: I64) -> I32:
    """For each place on a stream the node there, to a nanosecond of rounding; −1 for none."""
    order = np.lexsort((at, stream)).astype(np.int32)
    streams = int(max(stream.max(), wanted_stream.max())) + 1
    offsets = np.searchsorted(stream[order], np.arange(streams + 1)).astype(np.int64)
    found = last_started(offsets, at[order], np.maximum(wanted_stream, 0), wanted + 1)
    there = (found >= 0) & (wanted_stream >= 0)
    there[there] = at[order[found[there]]] >= wanted[there] - 1
    return np.where(there, order[np.maximum(found, 0)], np.int32(-1))


# --- from forward to backward ---------------------------------------------------------------------


class Autograd(Struct, frozen=True, eq=False):
    """Links from backward to forward ops; ``forward`` has an entry per host row."""

    forward: I32
    flows: FlowTable
    by_number: int  # links without an arrow


class NumberedOps(Struct, frozen=True, eq=False):
    """The ops that carry a sequence number, and the number of the thread of their forward op."""

    row: I32
    sequence: I64
    forward_thread: I64  # 0 on ops of the forward pass

    def of(self, chosen: NDArray[np.integer]) -> NumberedOps:
        """Some of them."""
        columns = self.row, self.sequence, self.forward_thread
        return NumberedOps(*(take(column, chosen) for column in columns))


def link_backward(texts: Texts, host: Host, arrows: Arrows, start: int) -> Autograd:
    """Link backward ops to forward ops, by arrows first, then by number."""
    forward = np.full(len(host), -1, np.int32)
    source, target = _by_arrows(texts, host, arrows, start)
    forward[target] = source
    table = FlowTable(source, target)
    numbered = _numbered(host)
    is_backward = numbered.forward_thread > 0
    asked = numbered.of(where(is_backward))
    asked = asked.of(stable_order(asked.forward_thread).astype(np.int32))
    known = _threads_by_arrows(host, source, target)
    found = forward_ops(host, numbered.of(where(~is_backward)), asked, known)
    fill = where((take(forward, asked.row) < 0) & (found >= 0))
    put(forward, take(asked.row, fill), take(found, fill))
    return Autograd(forward, table, len(fill))


def forward_ops(
    host: Host, ahead: NumberedOps, asked: NumberedOps, known: Mapping[int, int]
) -> I32:
    """For each backward op, in the order of their forward threads, its forward op, or −1.

    ``known`` has the host thread of some forward threads. Without it, it is the one whose forward
    ops carry most of the numbers.
    """
    found = np.full(len(asked.row), -1, np.int32)
    if not len(ahead.row) or not len(asked.row):
        return found
    number = asked.forward_thread
    begins = np.flatnonzero(np.append(True, number[1:] != number[:-1]))
    threads = np.array([known.get(one, -1) for one in number[begins].tolist()], np.int32)
    bounds = np.append(begins, len(number)).astype(np.int64)
    if handed(host.ts, np.int64) and handed(host.thread, np.int32):
        forward = ahead.sequence.astype(np.int64, copy=False), ahead.row, len(ahead.row)
        backward = asked.sequence.astype(np.int64, copy=False), asked.row, len(asked.row)
        of_host = host.ts, host.thread, len(host), len(host.threads)
        limit, patience = (
            max(_DENSE, 8 * len(ahead.row)),
            _PATIENCE * (len(ahead.row) + len(number)),
        )
        to = bounds, len(bounds), threads, len(threads), limit, patience, found
        if call("kinetoscope_forward_ops", *forward, *backward, *of_host, *to):
            return found
    return forward_ops_in_python(host, ahead, asked, bounds, threads)


def forward_ops_in_python(
    host: Host, ahead: NumberedOps, asked: NumberedOps, bounds: I64, threads: I32
) -> I32:
    """The reference of ``forward_ops``; a thread that is not known is −1."""
    result = np.full(len(asked.row), -1, np.int32)
    ahead = ahead.of(np.argsort(ahead.sequence, kind="stable"))
    for (low, high), known in zip(pairwise(bounds.tolist()), threads.tolist(), strict=True):
        sequence, before = asked.sequence[low:high], host.ts[asked.row[low:high]]
        matching = ahead.of(_same_number(ahead.sequence, sequence))
        thread = host.thread[matching.row]
        most = int(np.bincount(thread).argmax()) if known < 0 and len(thread) else known
        candidates = matching.of(np.flatnonzero(thread == most))
        ts = host.ts[candidates.row]
        result[low:high] = _last_of_number(
            candidates.sequence, ts, candidates.row, sequence, before
        )
    return result


def _numbered(host: Host) -> NumberedOps:
    sequence: Sparse | None = host.args.get("sequence")
    if sequence is None:
        nothing = np.empty(0, np.int64)
        return NumberedOps(np.empty(0, np.int32), nothing, nothing)
    keep = where(equal(take(host.kind, sequence.row), HostKind.OP) & (sequence.value >= 0))
    row = take(sequence.row, keep)
    number = cells(host.args.get("forward_thread"), row, 0)
    return NumberedOps(row, take(sequence.value, keep), np.maximum(number, 0))


def _runs(number: I64, order: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Indexes in an order by number, one array for each number."""
    in_order = number[order]
    edges = np.flatnonzero(in_order[1:] != in_order[:-1]) + 1
    return np.split(order, edges) if len(order) else []


def _by_arrows(texts: Texts, host: Host, arrows: Arrows, start: int) -> tuple[I32, I32]:
    def touched(ends: Ends) -> I32:
        thread = look_up(ends.pid, ends.tid, len(texts), host.thread_of)
        found = op_at(host, thread, ends.ts - start)
        found[thread < 0] = -1
        return found

    source, target = touched(arrows.source), touched(arrows.target)
    both = (source >= 0) & (target >= 0) & (source != target)
    return source[both], target[both]


def _threads_by_arrows(host: Host, source: I32, target: I32) -> dict[int, int]:
    """The thread behind each profiler thread number, as far as arrows show it."""
    number = cells(host.args.get("forward_thread"), target, 0)
    order = np.argsort(number, kind="stable")
    votes = {int(number[part[0]]): host.thread[source[part]] for part in _runs(number, order)}
    return {n: int(np.bincount(threads).argmax()) for n, threads in votes.items() if n > 0}


def _same_number(numbers: I64, asked: I64) -> NDArray[np.intp]:
    """Positions at which the ascending ``numbers`` equal one of those asked, in order."""
    wanted = np.sort(asked)
    wanted = wanted[np.append(True, wanted[1:] != wanted[:-1])]
    low = np.searchsorted(numbers, wanted, side="left")
    count = np.searchsorted(numbers, wanted, side="right") - low
    before = np.cumsum(count) - count
    return np.asarray(np.arange(int(count.sum())) + np.repeat(low - before, count))


def _last_of_number(number: I64, ts: I64, row: I32, asked: I64, before: I64) -> I32:
    """For each asked number the last row of that number that started before an instant, or −1."""
    count = len(number)
    key = np.concatenate([number, asked])
    order = np.lexsort((np.arange(len(key)) < count, np.concatenate([ts, before]), key))
    position = np.arange(len(key))
    is_row = order < count
    last = np.maximum.accumulate(np.where(is_row, position, -1))
    query = np.flatnonzero(~is_row)
    at = last[query]
    result = np.full(len(asked), -1, np.int32)
    good = at >= 0
    good[good] = key[order[at[good]]] == key[order[query[good]]]
    result[order[query[good]] - count] = row[order[at[good]]]
    return result
