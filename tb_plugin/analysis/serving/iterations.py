"""The iterations of a trace with their work on the device, and the gaps between them.

host     ├ it 0 ┤├ it 1 ┤
device             ▒▒▒▒▒▒▒   ▓▓▓▓▓▓▓▓
                   └──── period 0 ──┘ …
                          └gap of 1┘
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import structs

from ...base.arrays import I32, I64, Mask, distinct, equal, matches, where
from ...base.intervals import length_within
from ...base.regex import regex
from ...trace.link.iterations import NO_GROUP, UNMARKED, Iteration, Requests, counted
from ...trace.link.steps import FoundIterations, find_forwards, find_iterations
from ...trace.model import DeviceClass, HostKind, Link, Trace
from ..device_work import DeviceWork
from ..facts import IDLE_CAUSES, HostPartition
from ..idle.causes import IdleCauses
from ..idle.names import HeldNames, host_held
from ..kernel_families import families
from ..overview.attribution import host_partitions
from ..overview.left_out import INCOMPLETE
from ..steps import Windows
from .model import GapBefore, IterationFacts

IN_HEAD = "lies in the head of the recording"
CUT_OFF = "the recording ends in it"
NO_WORK = "launches no recorded work"
HOST_CAUSES = HostPartition.__struct_fields__[:-1]  # without ``overlap_ns``
_APART = {
    DeviceClass.COMMUNICATION: "communication",
    DeviceClass.COPY: "copy",
    DeviceClass.MEMSET: "memset",
}

# Ops whose first argument is the query, or the scores of eager attention; place of its length.
_HEADS_FIRST = r"aten::_?scaled_dot_product_\w+|aten::_?softmax"
_TOKENS_FIRST = r"aten::_flash_attention_forward|flash_attn::_flash_attn_forward"
_ATTENTION = regex(rf"^(?:({_HEADS_FIRST})|{_TOKENS_FIRST})$")
_RANK = 4


def iterations_of(
    trace: Trace, works: Sequence[DeviceWork], windows: Windows, names: HeldNames
) -> tuple[IterationFacts, ...]:
    """The iterations of an inference engine, in order of time; () in another recording.

    Their work is that of the device with most of it.
    """
    rows, told = _ranges(trace)
    if not told:
        return ()
    host = trace.host
    begin, stop = host.ts[rows], host.ts[rows] + host.dur[rows]
    of_work = [_iteration_of(work, begin, stop) for work in works]
    counts = [int(np.count_nonzero(one >= 0)) for one in of_work]
    at = int(np.argmax(counts)) if counts else -1
    work, index = (works[at], of_work[at]) if at >= 0 else (None, np.zeros(0, np.int64))
    count = len(told)
    if work is None:
        # Without a device the host does the work, within the range.
        start, end, has_work = begin, stop, np.ones(count, np.bool_)
    else:
        start, end = _spans(work, index, count, stop)
        has_work = np.bincount(index[index >= 0], minlength=count) > 0
    in_head = start < windows.head_ns
    start, end = (np.maximum(edge, windows.head_ns) for edge in (start, end))
    busy, start_up, to_next = end - start, np.zeros(count, np.int64), np.diff(start)
    if work is not None:
        not_judged = IdleCauses(names, windows).start_up(work).time
        start_up = length_within(not_judged, start, end)
        to_next -= length_within(not_judged, start[:-1], start[1:])
        busy = np.minimum(length_within(work.busy, start, end), end - start)
    step = _step_of(trace, begin)
    calls, replays, graph_ns = _launches(work, index, count)
    by_family = _families(work, index, count)
    left_out = _left_out(has_work, end, step, windows)
    neighbours = _neighbours(told, has_work, start)
    gaps = _gaps(work, names, start, end, neighbours)
    # The start of an iteration is recorded even where the recording ends in it.
    has_period = {i - 1 for i in neighbours if not in_head[i - 1]}
    return tuple(
        IterationFacts(
            index=i,
            number=one.number if one.number is not None else i,
            step=int(step[i]),
            label=one.label,
            engine=one.engine,
            phase=one.phase,
            is_certain=one.is_certain,
            is_speculative=one.is_speculative,
            batch=one.batch,
            padded=one.padded,
            context=one.context,
            generation=one.generation,
            host_start_ns=int(begin[i]),
            host_end_ns=int(stop[i]),
            start_ns=int(start[i]),
            end_ns=int(end[i]),
            busy_ns=int(busy[i]),
            launches=int(calls[i]),
            replays=int(replays[i]),
            graph_ns=int(graph_ns[i]),
            period_ns=int(to_next[i]) if i in has_period else None,
            gap=gaps.get(i),
            left_out=left_out[i],
            families=by_family[i],
            start_up_ns=int(start_up[i]),
        )
        for i, one in enumerate(told)
    )


def _ranges(trace: Trace) -> tuple[I32, tuple[Iteration, ...]]:
    host = trace.host
    found = find_iterations(
        trace.text, host.name, host.thread, host.ts, host.dur,
        where(equal(host.kind, HostKind.ANNOTATION)),
    )  # fmt: skip
    if found is not None:
        return found.rows, found.told
    found = find_forwards(trace.text, host) if trace.steps.family in UNMARKED else None
    if found is None:
        return np.zeros(0, np.int32), ()
    return found.rows, _with_phases(trace, found)


def _with_phases(trace: Trace, found: FoundIterations) -> tuple[Iteration, ...]:
    """Phase, requests and tokens by the query of the first attention: decode has one token."""
    host, dims = trace.host, trace.host.args.get("input_dims")
    if dims is None:
        return found.told
    rows = where(host.kind == HostKind.OP)
    rows = rows[matches(trace.strings, host.name[rows], _ATTENTION)]
    rows = rows[np.isin(rows, dims.row)]
    told = list(found.told)
    for place, row in enumerate(found.rows.tolist()):
        at = int(np.searchsorted(rows, row))
        first = int(rows[at]) if at < len(rows) else -1
        inside = first >= 0 and host.thread[first] == host.thread[row]
        inside &= inside and host.ts[first] < host.ts[row] + host.dur[row]
        if inside:
            code = dims.value[np.searchsorted(dims.row, first)]
            name, query = trace.text(int(host.name[first])), trace.text(int(code))
            told[place] = _of_query(told[place], name, query)
    return tuple(told)


def _of_query(one: Iteration, name: str, dims: str) -> Iteration:
    query = json.loads(dims)[0]
    if not isinstance(query, list) or len(query) != _RANK:
        return one
    found = _ATTENTION.match(name)
    batch, length = query[0], query[2 if found and found[1] else 1]
    if length > 1:
        return counted(one.engine, one.rank, Requests(batch, batch * length), NO_GROUP)
    return counted(one.engine, one.rank, NO_GROUP, Requests(batch, batch))


def _iteration_of(work: DeviceWork, begin: I64, stop: I64) -> I64:
    """The iteration that launched each row of a device, −1."""
    at = np.searchsorted(begin, work.begun, side="right") - 1
    inside = work.is_launched & (at >= 0)
    inside &= work.begun < stop[at]
    return np.where(inside, at, -1)


def _spans(work: DeviceWork, index: I64, count: int, stop: I64) -> tuple[I64, I64]:
    """First start and last end of the work of each iteration; its end on the host where none."""
    first = np.full(count, np.iinfo(np.int64).max, np.int64)
    last = np.full(count, np.iinfo(np.int64).min, np.int64)
    own = np.flatnonzero(index >= 0)
    np.minimum.at(first, index[own], work.ts[own])
    np.maximum.at(last, index[own], work.ts[own] + work.dur[own])
    empty = last < first
    return np.where(empty, stop, first), np.where(empty, stop, last)


def _step_of(trace: Trace, begin: I64) -> I64:
    if trace.steps.source == "iteration":
        return np.arange(len(begin))
    if trace.steps.source != "profiler_step":
        return np.full(len(begin), -1)
    at = np.searchsorted(trace.steps.ts, begin, side="right") - 1
    return np.where((at >= 0) & (begin < trace.steps.end[at]), at, -1)


def _launches(work: DeviceWork | None, index: I64, count: int) -> tuple[I64, I64, I64]:
    """By iteration: calls that launched work, those that replay a graph, and kernel time of it."""
    if work is None:
        nothing = np.zeros(count, np.int64)
        return nothing, nothing, nothing
    device = work.trace.device
    own = np.flatnonzero(index >= 0)
    _, first = np.unique(work.launch[own], return_index=True)
    in_graph = device.link[work.slice] == Link.GRAPH
    calls = np.bincount(index[own[first]], minlength=count)
    replays = np.bincount(index[own[first]][in_graph[own[first]]], minlength=count)
    kernels = own[in_graph[own] & (work.klass[own] != DeviceClass.COPY)]
    spent = np.bincount(index[kernels], work.dur[kernels], count).astype(np.int64)
    return calls.astype(np.int64), replays.astype(np.int64), spent


def _families(work: DeviceWork | None, index: I64, count: int) -> list[Mapping[str, int]]:
    """Device time of each iteration by family, the largest first."""
    if work is None:
        return [{} for _ in range(count)]
    trace, known = work.trace, families()
    name = trace.device.name[work.slice]
    codes: dict[str, int] = {}
    of_name = np.zeros(len(trace.strings), np.int64)
    for code in distinct(name, len(trace.strings)).tolist():
        family = known.of(trace.strings[code]).name
        of_name[code] = codes.setdefault(family, len(codes))
    kind = of_name[name]
    for klass, text in _APART.items():
        kind[work.klass == klass] = codes.setdefault(text, len(codes))
    own = np.flatnonzero(index >= 0)
    cell = index[own] * len(codes) + kind[own]
    sums = np.bincount(cell, work.dur[own], count * len(codes)).reshape(count, -1)
    return [
        {
            text: int(row[code])
            for text, code in sorted(codes.items(), key=lambda one: -row[one[1]])
            if row[code]
        }
        for row in sums
    ]


def _left_out(has_work: Mask, end: I64, step: I64, windows: Windows) -> list[str]:
    found = []
    for i, has in enumerate(has_work.tolist()):
        cut = step[i] >= 0 and windows.excluded[step[i]] == INCOMPLETE
        why = NO_WORK if not has else IN_HEAD if end[i] <= windows.head_ns else ""
        found.append(why or (CUT_OFF if cut else ""))
    return found


def _neighbours(told: Sequence[Iteration], has_work: Mask, start: I64) -> frozenset[int]:
    """Iterations whose predecessor was recorded with its work, which began before theirs."""
    found = set()
    for i in range(1, len(told)):
        one, before = told[i].number, told[i - 1].number
        follows = one is None or before is None or one == before + 1
        if follows and has_work[i] and has_work[i - 1] and start[i] > start[i - 1]:
            found.add(i)
    return frozenset(found)


def _gaps(
    work: DeviceWork | None,
    names: HeldNames,
    start: I64,
    end: I64,
    neighbours: frozenset[int],
) -> dict[int, GapBefore]:
    """The gap before each iteration that follows a recorded one; idle time by cause and holder."""
    mine = sorted(neighbours)
    if not mine:
        return {}
    at = np.array(mine)
    reached, last = np.maximum.accumulate(end)[at - 1], np.maximum.accumulate(start)[at]
    low, high = np.minimum(reached, last), last  # windows ascend, whatever streams did
    zero = np.zeros(len(at), np.int64)
    windows = Windows(low, high, low, high, zero, zero, (None,) * len(at))
    if work is None:
        parts = host_partitions(names.trace, names.hosts, windows)
        cells = np.array([structs.astuple(part)[:-1] for part in parts])
        causes, held = HOST_CAUSES, host_held(names, windows)
    else:
        table = IdleCauses(names, windows).of_device(work)
        cells, causes, held = table.ns, IDLE_CAUSES, [one.held for one in table.idle]
    texts = names.table()
    found = {}
    for row, i in enumerate(mine):
        idle = int(cells[row].sum())
        top = held[row][0] if held[row] else None
        found[i] = GapBefore(
            ns=int(high[row] - low[row]),
            idle_ns=idle,
            cause=causes[int(cells[row].argmax())] if idle else "",
            holder=texts[top.name].name if top is not None else "",
            holder_ns=top.idle_ns if top is not None else 0,
        )
    return found
