"""Patterns of ops on the main thread, and of the memory that they allocate.

* ``read_back``: values of tensors read into Python, one after another
* ``optimizer``: an optimizer that updates its parameters one by one, or group by group
* ``zeroing``: gradients written with zeros instead of forgotten
* ``conversion``: tensors copied into another type or layout
* ``tiny_ops``: long rows of ops that last less than their call costs
* ``per_sample``: a module called again and again, for one sample each
* ``bias``: convolutions with a bias that the batch norm behind them takes away again
* ``made_on_host``: tensors made on the host and then moved to a device
* ``leak``: a total that grows from step to step, and the line that keeps the blocks; by the test of
  ``memory.growth``: it rises by more than 1 MiB a step and 0.1 % of its mean, in four of five steps
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np

from ...base.arrays import (
    I32,
    I64,
    Mask,
    cells,
    distinct_values,
    is_among,
    of_names,
    ranked,
    search,
    stable_order,
    take,
    where,
)
from ...base.group_sums import middles
from ...base.intervals import EMPTY, Intervals, merge, union
from ...base.regex import regex
from ...trace.model import DeviceClass
from ..host_activity import HostRole
from .host_code import MOST_FRAMES, PRINTS, Found, HostCode, of_code

HOST_MEMORY = 0  # c10's DeviceType
TINY_NS = 20_000  # an op below this mostly pays for being called
INTERRUPTED = 5  # … times as long, and it is still one of them
PAUSE_NS = 100_000  # … and between two of one row less than this passes
RARE = 50  # … or, of so many pauses and ops of one call of a frame, one is longer
LEAST_ROW = 100  # ops of one row of tiny ops
LEAST_LOOP = 16  # reads, or calls of a module, in one call of a frame
LEAST_UPDATES = 20  # ops in one call of an optimizer that works parameter by parameter

_READS = of_code(r"^aten::(item|_local_scalar_dense|is_nonzero|equal|nonzero)$")
_TAKES_APART = regex(r"torch/_tensor\.py\(\d+\): __iter__$|^aten::(unbind|split|chunk)$")
_CONVERTS = of_code(r"^aten::(to|_to_copy|contiguous|clone|type_as)$")
_COPY = of_code(r"^aten::copy_$")
_OPTIMIZER = of_code(r"^Optimizer\.step#(\w+)\.step$")
_ZERO_GRAD = of_code(r"^Optimizer\.zero_grad")
_ZEROES = of_code(r"^aten::(zero_|_foreach_zero_)$")
_LOOP_FRAME = of_code(r": _single_tensor_\w+$")
_BIASED = of_code(r"^aten::(conv[123]d|convolution)$")
_BATCH_NORM = of_code(r"^aten::(batch_norm|_batch_norm_impl_index)$")
_MAKES = of_code(r"^aten::(rand|randn|zeros|ones|full|arange|randint|normal_|uniform_|empty)$")
_NO_SIZE = regex(r"^\[\s*\[\s*\]")
_THREE = regex(r"^\[\[[\d,\s]+\],\s*\[[\d,\s]+\],\s*\[\d+\]")


def reads(code: HostCode) -> Iterator[Found]:
    """Values read into Python. Where a frame reads many, from the first of them to the last."""
    reads = code.named(_READS)
    rows = code.outside_of_loader(code.outermost(reads[code.top_op[reads]]))
    # An optimizer reads its own counters, and the text of a tensor its values: other patterns.
    told = merge(code.time(code.named(_OPTIMIZER)), code.time(code.named(PRINTS)))
    rows = code.outside(rows, told)
    for frame, mine in code.by_owner(rows, code.dur[rows], MOST_FRAMES):
        name = code.trace.strings[int(code.name[mine[0]])]
        yield Found("read_back", name, _loops(code, mine), code.host_rows(mine), frame)


def _loops(code: HostCode, rows: I64) -> Intervals:
    """When the rows were open; where one call of a frame has many, from its first to its last.

    Taking a tensor apart for the loop counts, too. Calls that are most of their frame take all of
    it: its own time is that of the loop.
    """
    owner = code.owner[rows].astype(np.int64)
    start, end = code.ts[rows], code.end[rows]
    order = stable_order(owner + 1)
    first = np.flatnonzero(np.diff(owner[order], prepend=-2))
    for own in np.split(order, first[1:]):
        frame = int(owner[own[0]]) if len(own) >= LEAST_LOOP else -1
        if frame < 0:
            continue
        low, high = int(start[own].min()), int(end[own].max())
        low = min(low, _taken_apart(code, frame, low))
        if 2 * (high - low) >= code.dur[frame]:
            low, high = int(code.ts[frame]), int(code.end[frame])
        start[own], end[own] = low, high
    return union(start, end)


def _taken_apart(code: HostCode, frame: int, before: int) -> int:
    """When a frame took a tensor apart for a loop that begins then; else the same instant."""
    low, high = frame + 1, int(np.searchsorted(code.ts, before, side="left"))
    rows = np.flatnonzero((code.parent[low:high] == frame) & (code.end[low:high] <= before))
    if not len(rows):
        return before
    last = low + int(rows[-1])
    name = code.trace.strings[int(code.name[last])]
    return int(code.ts[last]) if _TAKES_APART.search(name) else before


def optimizers(code: HostCode) -> Iterator[Found]:
    """Optimizers that are not fused, with the number of ops of one update.

    The kind of update is told by the names of its ops: one op for all parameters (``_foreach``),
    or one for each.
    """
    annotations = code.named(_OPTIMIZER)
    annotations = annotations[~code.frame[annotations]]
    for name in distinct_values(code.name[annotations]).tolist():
        rows = annotations[code.name[annotations] == name]
        time = code.time(rows)
        inside = code.within(code.top_ops, time)
        if not len(inside):
            continue
        names = {code.trace.strings[one] for one in distinct_values(code.name[inside]).tolist()}
        if any("fused" in one for one in names):
            continue
        foreach = any("_foreach_" in one for one in names)
        calls = len(inside) / len(rows)
        if not foreach and calls < LEAST_UPDATES:
            continue
        loop = rows[:0]
        if not foreach:
            loops = code.named(_LOOP_FRAME)
            loop = code.within(loops[code.frame[loops]], time)
        match = _OPTIMIZER.match(code.trace.strings[name])
        yield Found(
            "optimizer",
            match[1] if match else "",
            time,
            code.host_rows(loop if len(loop) else rows),
            code.trace.strings[int(code.name[loop[0]])] if len(loop) else "",
            {"ops": calls, "foreach": float(foreach), "calls": float(len(rows))},
        )


def zeroing(code: HostCode) -> Iterator[Found]:
    """Gradients that ``zero_grad`` fills with zeros."""
    clears, zeroes = code.named(_ZERO_GRAD), code.named(_ZEROES)
    ranges = code.time(clears[~code.frame[clears]])
    rows = code.within(zeroes[code.top_op[zeroes]], ranges)
    if len(rows):
        name = code.trace.strings[int(code.name[rows[0]])]
        yield Found("zeroing", name, code.time(rows), code.host_rows(rows))


def conversions(code: HostCode) -> Iterator[Found]:
    """Copies into another type or layout that the program asks for, by the frame that does.

    Copies between host and device are no conversions. Numbers without a size are left out: ops
    convert those for themselves.
    """
    converts = np.zeros(len(code.ts), np.bool_)
    converts[code.named(_CONVERTS)] = True
    converts &= code.op
    at = code.named(_COPY)
    at = at[code.op[at]]
    at = at[~is_among(at, _between_memories(code))]
    top = np.full(len(at), -1, np.int64)
    for _ in range(6):
        above = np.where(at >= 0, code.parent[np.maximum(at, 0)], -1)
        inside = (above >= 0) & converts[np.maximum(above, 0)]
        top = np.where(inside, above, top)
        at = np.where(inside, above, -1)
    top = distinct_values(top[top >= 0])
    top = code.outside_of_loader(top[code.top_op[top]])
    top = code.outside(top, code.time(code.named(PRINTS)))
    shapes = cells(code.trace.host.args.get("input_dims"), code.host_rows(top), -1)
    sized = np.array(
        [one < 0 or _NO_SIZE.match(code.trace.strings[one]) is None for one in shapes.tolist()],
        np.bool_,
    )
    top = top[sized] if len(top) else top
    for frame, mine in code.by_owner(top, code.dur[top], MOST_FRAMES):
        name = code.trace.strings[int(code.name[mine[0]])]
        time = code.with_backward(_loops(code, mine))
        yield Found("conversion", name, time, code.host_rows(mine), frame)


def _between_memories(code: HostCode) -> I64:
    """The ops that had a device copy from or to another memory."""
    device = code.trace.device
    op = device.op[(device.klass == DeviceClass.COPY) & (device.op >= code.low)]
    return distinct_values(op[op < code.high].astype(np.int64) - code.low)


def tiny_ops(code: HostCode) -> Iterator[Found]:
    """Rows of at least a hundred short ops with short pauses, by the frame that most are of."""
    told = merge(code.time(code.named(_OPTIMIZER)), code.backward, code.time(code.named(PRINTS)))
    # Ops of the optimizer and of autograd are no code of the user's.
    keep = ~code.begin_in(code.top_ops, merge(code.loading, told))
    top = code.top_ops[keep]
    if not len(top):
        return
    dur = code.dur[top]
    # By the middle of all ops of the name: a single one may have been interrupted.
    short = np.flatnonzero(_typical(code.name[top], dur) < TINY_NS)
    short = short[~_are_long(code, top[short], dur[short])]
    top, place = top[short], np.flatnonzero(keep)[short]
    if not len(top):
        return
    joined = np.zeros(len(top), np.bool_)
    joined[1:] = code.ts[top[1:]] - code.end[top[:-1]] < PAUSE_NS
    joined[1:] |= _interrupted(code, top, place, joined)
    run = np.cumsum(~joined)
    keep = np.bincount(run)[run] >= LEAST_ROW
    rows, number = top[keep], run[keep]
    if not len(rows):
        return
    first = np.flatnonzero(np.diff(number, prepend=-1))
    last = np.append(first[1:], len(rows)) - 1
    spans = union(code.ts[rows[first]], code.end[rows[last]])
    for frame, mine in code.by_owner(rows, code.dur[rows], 2):
        time = code.with_backward(_hull(code, mine, spans))
        kinds = distinct_values(code.name[mine])
        name = code.trace.strings[int(code.name[mine[0]])]
        figures = {"kinds": float(len(kinds))}
        yield Found("tiny_ops", name, time, code.host_rows(mine), frame, figures)


def _are_long(code: HostCode, ops: I64, dur: I64) -> Mask:
    """Ops that last long, where they are no rare exception of their frame's call.

    On a busy machine a thread is interrupted now and then: one op in fifty may be long.
    """
    long = dur >= INTERRUPTED * TINY_NS
    return long & ~_rare(code.owner[ops], long)


def _interrupted(code: HostCode, ops: I64, place: I64, joined: Mask) -> Mask:
    """Whether a long pause before each op but the first is a rare exception of its frame's call.

    ``place`` is that of each op among all ops that no other calls.
    """
    owner = code.owner[ops]
    long = ~joined
    same = np.zeros(len(ops), np.bool_)
    # An op of anything else in between is no pause.
    same[1:] = (owner[1:] == owner[:-1]) & (np.diff(place) == 1)
    return (same & long & _rare(owner, long & same))[1:]


def _rare(owner: I32, marked: Mask) -> Mask:
    """Rows of calls of frames in which one of fifty at most is marked."""
    known = owner >= 0
    result: Mask = known.copy()
    frames = distinct_values(owner[known & marked])
    if not len(frames):
        return result
    # Nothing is said of frames without a marked row but that it is rare there.
    at = np.minimum(search(frames, owner), len(frames) - 1)
    here = np.flatnonzero(frames[at] == owner)
    at = at[here]
    every = np.bincount(at, minlength=len(frames))
    some = np.bincount(at[marked[here]], minlength=len(frames))
    result[here] = (some * RARE <= every)[at]
    return result


def _typical(name: I32, dur: I64) -> I64:
    """For each op the upper median of the durations of its name."""
    codes, place = ranked(name)
    return take(middles(place, dur, len(codes))[1], place)


def _hull(code: HostCode, rows: I64, spans: Intervals) -> Intervals:
    """The spans, each from the first to the last of the rows in it."""
    at = search(spans.start, code.ts[rows], "right") - 1
    first = np.flatnonzero(np.diff(at, prepend=-1))
    last = np.append(first[1:], len(rows)) - 1
    return union(code.ts[rows[first]], code.end[rows[last]])


def per_sample(code: HostCode) -> Iterator[Found]:
    """Modules that one call of a frame calls again and again: outermost ones, by that frame."""
    rows = where(code.module).astype(np.int64)
    rows = code.outside_of_loader(rows[code.parent[rows] >= 0])
    if len(rows) < LEAST_LOOP:
        return
    outer = code.outermost(rows[_often(code, rows)])
    ones = _leading_ones(code, outer)
    for frame, mine in code.by_owner(outer, code.dur[outer], 2):
        loops = len(distinct_values(code.owner[mine]))
        name = code.trace.strings[int(code.name[mine[0]])].removeprefix("nn.Module: ")
        time = code.with_backward(_loops(code, mine))
        known = ones[is_among(outer, mine)]
        figures = {
            "calls": len(mine) / max(loops, 1),
            "ones": float((known == 1).mean()) if (known >= 0).any() else -1.0,
        }
        yield Found("per_sample", name, time, code.host_rows(mine), frame, figures)


def _often(code: HostCode, rows: I64) -> Mask:
    """Rows that have at least ``LEAST_LOOP`` of their name in their call of a frame."""
    owner = code.owner[rows].astype(np.int64)
    key = (owner + 1) * len(code.trace.strings) + code.name[rows]
    order = stable_order(key)
    first = np.flatnonzero(np.diff(key[order], prepend=-1))
    size = np.diff(first, append=len(order))
    often = np.empty(len(rows), np.bool_)
    often[order] = np.repeat(size >= LEAST_LOOP, size)
    return often & (owner >= 0)


def _leading_ones(code: HostCode, rows: I64) -> I64:
    """Whether the first op in each row works on one sample: 1, 0, or −1 where it is not known."""
    told = code.trace.host.args.get("input_dims")
    if told is None:
        return np.full(len(rows), -1, np.int64)
    mine = slice(*np.searchsorted(told.row, (code.low, code.high)).tolist())
    ops, shapes = told.row[mine] - np.int32(code.low), told.value[mine]
    has_shape = take(code.op, ops) & (shapes >= 0)
    ops, shapes = ops[has_shape], shapes[has_shape]
    at = search(ops, rows)
    known = at < len(ops)
    known[known] = code.ts[ops[at[known]]] < code.end[rows[known]]
    result = np.full(len(rows), -1, np.int64)
    one = {
        text: int(re.match(r"^\[\[1\b", code.trace.strings[text]) is not None)
        for text in distinct_values(shapes[at[known]]).tolist()
    }
    result[known] = [one[text] for text in shapes[at[known]].tolist()]
    return result


def biases(code: HostCode) -> Iterator[Found]:
    """Convolutions with a bias whose next op is a batch norm; needs shapes."""
    top, rows = code.top_ops, code.named(_BIASED)
    at = search(top, rows[code.top_op[rows]])
    at = at[at + 1 < len(top)]
    rows = top[at[code.have_name(top[at + 1], _BATCH_NORM)]]
    shapes = cells(code.trace.host.args.get("input_dims"), code.host_rows(rows), -1)
    biased = [
        one >= 0 and _THREE.match(code.trace.strings[one]) is not None for one in shapes.tolist()
    ]
    rows = rows[np.array(biased, np.bool_)] if len(rows) else rows
    for frame, mine in code.by_owner(rows, code.dur[rows], 1):
        name = code.trace.strings[int(code.name[mine[0]])]
        yield Found("bias", name, EMPTY, code.host_rows(mine), frame)


def made_on_host(code: HostCode) -> Iterator[Found]:
    """Tensors that the program makes on the host and copies to a device right away."""
    device = code.trace.device
    copies = np.flatnonzero((device.launch >= code.low) & (device.launch < code.high))
    copies = copies[
        of_names(code.trace.strings, device.name[copies], lambda name: "HtoD" in name, np.bool_)
    ]
    top = code.top_ops
    if not len(copies) or len(top) < 2:
        return
    at = search(top, device.launch[copies].astype(np.int64) - code.low, "right") - 1
    at = at[at > 0]
    makes = code.have_name(top[at - 1], _MAKES)
    moves = code.have_name(top[at], _CONVERTS) | code.have_name(top[at], _COPY)
    rows = top[at][makes & moves]
    for frame, mine in code.by_owner(rows, code.dur[rows], 1):
        name = code.trace.strings[int(code.name[top[at - 1][makes][0]])]
        yield Found("made_on_host", name, code.time(mine), code.host_rows(mine), frame)


def all_ops(code: HostCode) -> Iterator[Found]:
    """All ops of the main thread, the outermost ones, apart from those of the DataLoader."""
    compiles = code.role(HostRole.COMPILE)
    rows = code.outermost(where(code.op & ~compiles))
    rows = code.outside(rows, merge(code.loading, code.time_where(compiles)))
    long = rows[code.dur[rows] >= TINY_NS]
    if len(long):
        name = code.trace.strings[int(code.name[long[np.argmax(code.dur[long])]])]
        yield Found("long_ops", name, code.time(long), code.host_rows(long))


# --- memory ---------------------------------------------------------------------------------------


def leaks(code: HostCode) -> Iterator[Found]:
    """Memory that grows in every step: of the host, and of each device."""
    memory, windows = code.trace.memory, code.windows
    if not len(memory):
        return
    from ..memory.growth import after_warm_up, growth  # of recordings with memory events

    chosen = np.array(after_warm_up(windows.excluded), np.int64)
    if len(chosen) < 2:
        return
    for kind, number in memory.allocating_devices():
        mine = np.flatnonzero((memory.device_type == kind) & (memory.device_id == number))
        total = np.concatenate([np.zeros(1, np.int64), np.cumsum(memory.bytes[mine])])
        at = np.searchsorted(memory.ts[mine], windows.end[chosen], side="left")
        test = growth(total[at] - int(total.min()))
        if test.verdict != "leak":
            continue
        rows = _kept(code, mine)
        owners = _owners(code, rows)
        sizes = memory.bytes[rows]
        frame, where = "", rows
        if len(rows) and (owners >= 0).any():
            names = np.where(owners >= 0, code.name[np.maximum(owners, 0)], -1)
            by_name = np.bincount(names + 1, sizes, len(code.trace.strings) + 1)
            best = int(by_name[1:].argmax())
            frame, where = code.trace.strings[best], rows[names == best]
        figures = {
            "bytes_per_step": test.bytes_per_step,
            "rising": float(test.rising),
            "steps": float(test.steps),
            "device_type": float(kind),
            "device_id": float(number),
            "kept_here": float(memory.bytes[where].sum() / max(len(chosen), 1)),
        }
        yield Found("leak", "", EMPTY, _ops(code, where), frame, figures)


def _kept(code: HostCode, mine: I64) -> I64:
    """Allocations within the steps whose address is not given back; () without addresses."""
    memory = code.trace.memory
    address = memory.address[mine]
    if not len(mine) or not address.all():
        return mine[:0]
    order = np.lexsort((np.arange(len(mine)), address))
    last = np.flatnonzero(np.diff(address[order], append=-1))
    rows = np.sort(mine[order[last]])
    rows = rows[memory.bytes[rows] > 0]
    return rows[code.windows.of(memory.ts[rows]) >= 0]


def _inner(code: HostCode, rows: I64) -> I64:
    """The innermost event of the main thread that is open at each allocation; −1 for none."""
    ts = code.trace.memory.ts[rows]
    at = search(code.ts, ts, "right") - 1
    for _ in range(200):
        outside = (at >= 0) & (code.end[np.maximum(at, 0)] <= ts)
        if not outside.any():
            break
        at = np.where(outside, code.parent[np.maximum(at, 0)], at)
    return np.asarray(at, np.int64)


def _owners(code: HostCode, rows: I64) -> I64:
    if not len(code.ts):
        return np.full(len(rows), -1, np.int64)
    inner = _inner(code, rows)
    return np.where(inner >= 0, code.owner[np.maximum(inner, 0)], -1).astype(np.int64)


def _ops(code: HostCode, rows: I64) -> I64:
    """The events in which the blocks were allocated, as rows of the host table."""
    if not len(code.ts):
        return rows[:0]
    inner = _inner(code, rows)
    return code.host_rows(distinct_values(inner[inner >= 0]))
