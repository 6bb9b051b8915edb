"""The calls of a trace: host time of each, and the device time it caused.

The tree of calls is that of ``torch.profiler``: children lie strictly inside their parents, and a
call whose only child has its own name is one call with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from ...base.arrays import (
    I8,
    I32,
    I64,
    B,
    SomeRows,
    Sparse,
    chunks,
    dense_codes,
    distinct,
    filled,
    is_any,
    lookup,
    places_of,
    put,
    take,
    where,
)
from ...base.columns import Array
from ...base.group_sums import group_sums
from ...base.native import call
from ...base.regex import regex
from ...trace.build.nest import nest
from ...trace.model import HostKind, HostTable, Trace
from ..call_tree.paths import NONE, call_paths, few_sums_below, innermost
from ..modules.sources import module_rows, range_marks
from ..overview.utilization import MatrixUse
from ..recording import says
from .credit import Credit, credit
from .flops import OddArguments, flops_of
from .model import CallKind, CallPaths, Calls, Stacks
from .stacks import add_written_stacks, own_frames


class CallTree(Struct, frozen=True, eq=False):
    """One entry per host row. ``survivor`` is the row that counts for it."""

    parent: I32  # the innermost event that contains it strictly, −1
    self_ns: I64  # without direct children; 0 for a row that does not survive
    survivor: I32  # itself, or the outermost of a chain of only children of one name

    @property
    def survives(self) -> B:
        """True if a row is a separate call."""
        return np.asarray(self.survivor == np.arange(len(self.survivor), dtype=np.int32))


def call_tree(host: HostTable) -> CallTree:
    """Parent and child calls by strict containment, without tolerance, on each thread.

        addmm █████████████████      call 1: addmm, self = own time + that of its only child addmm
        addmm  ███████████████
        copy     ███                 call 2

    An event that outlives the one it started in is no child of it, and what starts while both are
    open belongs to the later one.
    """
    count = len(host)
    parent, survivor = np.empty(count, np.int32), np.empty(count, np.int32)
    own = np.empty(count, np.int64)
    given = (
        np.ascontiguousarray(column, kind)
        for column, kind in (
            (host.thread, np.int32),
            (host.ts, np.int64),
            (host.dur, np.int64),
            (host.name, np.int32),
        )
    )
    if call("kinetoscope_call_tree", *given, count, parent, own, survivor) is None:
        return call_tree_in_python(host)
    return CallTree(parent, own, survivor)


def call_tree_in_python(host: HostTable) -> CallTree:
    """The reference of ``call_tree``."""
    count = len(host)
    parent = _strict_parents(host.thread, host.ts, host.dur)
    child = where(parent >= 0)
    above = take(parent, child)
    inside = group_sums(above, take(host.dur, child), count)
    own = host.dur - inside.total
    only = take(inside.count, above) == 1
    only &= take(host.name, child) == take(host.name, above)
    survivor = np.arange(count, dtype=np.int32)
    survivor[child[only]] = NONE
    survivor = innermost(survivor, parent)
    _move(own, survivor)
    return CallTree(parent, own, survivor)


def _move(own: I64, survivor: I32) -> None:
    """Add the values of dropped rows to the rows that replace them; few are dropped."""
    merged = where(survivor != np.arange(len(survivor), dtype=np.int32))
    np.add.at(own, take(survivor, merged), take(own, merged))
    own[merged] = 0


def time_of_frames(host: HostTable, tree: CallTree, frame: B) -> I64:
    """Time in ns missing from the self time of each call because Python frames are its children.

        aten::mm ██████████████      without frames it has no child: 14, not 8
        frame      ██████

    0 for frames, and for rows that do not survive.
    """
    others = where(~frame)
    dur = take(host.dur, others)
    parent = _strict_parents(take(host.thread, others), take(host.ts, others), dur)
    child = where(parent >= 0)
    inside = group_sums(take(parent, child), take(dur, child), len(others))
    own = np.zeros(len(host), np.int64)
    own[others] = dur - inside.total
    _move(own, tree.survivor)
    return np.where(frame | ~tree.survives, 0, own - tree.self_ns)


def _strict_parents(thread: I32, ts: I64, dur: I64) -> I32:
    """The innermost event that contains each without tolerance, on its thread."""
    first = np.ones(len(ts), bool)
    np.not_equal(thread[1:], thread[:-1], out=first[1:])
    return nest(ts, dur, first, np.zeros(len(ts), np.int8), 0).parent


KINDS = {
    HostKind.OP: CallKind.OP,
    HostKind.ANNOTATION: CallKind.ANNOTATION,
    HostKind.PYTHON: CallKind.PYTHON,
    HostKind.MODULE: CallKind.MODULE,
    HostKind.RUNTIME: CallKind.RUNTIME,
    HostKind.OVERHEAD: CallKind.OTHER,
    HostKind.OTHER: CallKind.OTHER,
}


def _call_kinds(kind: I8) -> I8:
    """``KINDS`` of each host row, in chunks: a whole index would be widened first."""
    table, result = lookup(KINDS, max(HostKind) + 1), np.empty(len(kind), np.int8)
    for part in chunks(len(kind)):
        np.take(table, kind[part], out=result[part], mode="clip")
    return result


_NONE = -1
_KIND_BITS = 3  # beside the code of a name: more texts than 2 to the power of 28 fit no memory
ADDRESS = regex(r" at 0x[0-9a-fA-F]+")
_STEP = regex(r"ProfilerStep#\d+")


class Keep(Struct, frozen=True):
    """Consumer of a column, by name, as soon as it is computed; returns its replacement."""

    whole: Callable[[str, Array], Array]
    part: Callable[[str, Array, SomeRows], Array]  # some rows of it
    few: Callable[[str, Sparse, int], Array]  # of so many rows, 0 where the sparse one has none


KEEP_IN_MEMORY = Keep(
    whole=lambda _, column: column,
    part=lambda _, column, rows: take(column, rows.number),
    few=lambda _, column, count: filled(column, count),
)


class Called(Struct, frozen=True, eq=False):
    """The calls, their stacks, and for each device activity its call or why it has none.

    ``strings`` are those of the trace, with the frames of written stacks behind them.
    """

    strings: tuple[str, ...]
    calls: Calls
    stacks: Stacks
    paths: CallPaths
    call_of: I32  # per device activity: row of calls, −1
    credit: Credit
    odd: OddArguments


def find_calls(trace: Trace, matrix_use: I8, keep: Keep = KEEP_IN_MEMORY) -> Called:
    """One row per call. ``matrix_use`` says of each device activity whether it uses tensor cores.

    Every device activity is credited once, so the device_self_ns of all calls and the activities
    without a call sum to all device time. ``keep`` gets each column of the calls by name: of
    millions of calls, few columns should be in memory at once.
    """
    host, count = trace.host, len(trace.host)
    tree = call_tree(host)
    survives = tree.survives
    rows = SomeRows(survives, where(survives))
    owed = credit(trace.device)
    owned = owed.host >= 0
    launching = _launching(owned, tree.survivor[owed.host[owned]], rows)

    columns: dict[str, Array] = {}

    def add(name: str, column: Array) -> None:
        columns[name] = keep.part(name, column, rows)

    add("self_ns", tree.self_ns)
    frames = _frames_that_torch_left_out(trace)
    apart = (
        np.empty(0, np.int64)
        if frames is None
        else take(time_of_frames(host, tree, frames), rows.number)
    )
    columns["frames_ns"] = keep.whole("frames_ns", apart)
    for name, few in _device_time(trace, matrix_use, launching, rows, tree.parent).items():
        columns[name] = keep.few(name, few, len(rows))
    parent = tree.parent
    del tree
    kinds = _call_kinds(host.kind)
    label = take(normal_names(trace.strings, host.name), host.name)
    label <<= _KIND_BITS
    label |= kinds
    up, labels, path = call_paths(survives, label, parent)
    add("path", path)
    del path, label, survives, parent
    strings, stacks = _add_stacks(add, trace)
    add("module", _of_forward(_around(module_rows(trace), trace), trace))
    annotation = (host.kind == HostKind.ANNOTATION) & (range_marks(trace) == 0)
    add("annotation", _around(annotation, trace))
    del annotation
    shapes = spread(host.args.get("input_dims"), count)
    flops, odd = flops_of(trace, rows.number, take(shapes, rows.number))
    columns["flops"] = keep.whole("flops", flops)
    add("shapes", shapes)
    del shapes
    add("types", spread(host.args.get("input_types"), count))
    add("name", host.name)
    add("kind", kinds)
    add("thread", host.thread.astype(np.int32, copy=False))
    add("step", host.step.astype(np.int32, copy=False))
    add("ts", host.ts)
    add("total_ns", host.dur.astype(np.int64, copy=False))
    columns["host"] = keep.whole("host", rows.number)
    call_of = np.full(len(trace.device), _NONE, np.int32)
    call_of[owned] = take(launching.call, launching.of)
    paths = CallPaths(up, labels >> _KIND_BITS, (labels & (1 << _KIND_BITS) - 1).astype(np.int8))
    return Called(strings, Calls(**columns), stacks, paths, call_of, owed, odd)


def _frames_that_torch_left_out(trace: Trace) -> NDArray[np.bool_] | None:
    """Python frames in a recording of torch 1.11, which had no rows for them; None for others.

    Only that version wrote frames and, by itself, the stack of each op as text.
    """
    frame = is_any(trace.host.kind, (HostKind.PYTHON, HostKind.MODULE))
    if trace.recording.torch_era != "D" or not frame.any() or not says(trace, "call_stack"):
        return None
    return frame


class Launching(Struct, frozen=True, eq=False):
    """The calls that launched device activities."""

    has: B  # by activity: whether a call launched it
    of: I32  # of each activity that has one: which of these calls
    row: I32  # of the host table, ascending
    call: I32  # row of the calls


def _launching(has: B, host: I32, rows: SomeRows) -> Launching:
    row, of = dense_codes(host, len(rows.mask))
    return Launching(has, of, row, places_of(rows.number, row))


def _device_time(
    trace: Trace, matrix_use: I8, launching: Launching, rows: SomeRows, parent: I32
) -> dict[str, Sparse]:
    """Device time that each call launched, itself and below it: of few calls, by column."""
    count = len(launching.row)
    spans = trace.device.dur.astype(np.int64)
    matrix_spans = np.where(matrix_use == MatrixUse.YES, spans, 0)
    launched = group_sums(launching.of, spans[launching.has], count)
    matrix = group_sums(launching.of, matrix_spans[launching.has], count)
    own = np.stack([launched.total, matrix.total])
    above, total = few_sums_below(launching.row, own, parent)
    place = places_of(rows.number, above)
    are_calls = where(place >= 0)
    calls = take(place, are_calls)
    return {
        "kernels": Sparse(launching.call, launched.count.astype(np.int32)),
        "device_self_ns": Sparse(launching.call, own[0]),
        "device_total_ns": Sparse(calls, take(total[0], are_calls)),
        "tensor_core_self_ns": Sparse(launching.call, own[1]),
        "tensor_core_total_ns": Sparse(calls, take(total[1], are_calls)),
    }


def _add_stacks(add: Callable[[str, Array], None], trace: Trace) -> tuple[tuple[str, ...], Stacks]:
    """Add the frames around each call; returns all texts and the trie of stacks."""
    host = trace.host
    frame = is_any(host.kind, (HostKind.PYTHON, HostKind.MODULE))
    above, frames, around = call_paths(frame, host.name, host.parent)
    strings, stacks, stack = add_written_stacks(
        trace.strings, Stacks(above, frames), around, host.args.get("call_stack")
    )
    add("stack", stack)
    owner = np.append(np.int32(_NONE), own_frames(stacks, strings))
    add("owner", _of_forward(take(owner, stack + np.int32(1)), trace))
    return strings, stacks


def _of_forward(code: I32, trace: Trace) -> I32:
    """The codes, with those of a forward op for its backward op and for what that calls."""
    host = trace.host
    rows = where((host.forward >= 0) & (code < 0))
    if not len(rows):
        return code
    result = code.copy()
    put(result, rows, take(code, take(host.forward, rows)))
    return innermost(result, host.parent)


def normal_names(strings: Sequence[str], codes: I32) -> I32:
    """By code: the code of the name without the parts that differ from call to call.

    All ``ProfilerStep#N`` are the first of them, and the address of an object is left out.
    """
    result = np.arange(len(strings), dtype=np.int32)
    first: dict[str, int] = {}
    for code in distinct(codes, len(strings)).tolist():
        text = strings[code]
        if " at 0x" in text:
            text = ADDRESS.sub("", text)
        if text.startswith("ProfilerStep#") and _STEP.fullmatch(text):
            text = "ProfilerStep#"
        result[code] = first.setdefault(text, code)
    return result


def _around(mask: B, trace: Trace) -> I32:
    """The name of the innermost marked row at or above each row, −1 where there is none."""
    own, rows = np.full(len(mask), _NONE, np.int32), where(mask)
    put(own, rows, take(trace.host.name, rows))
    return innermost(own, trace.host.parent)


def spread(sparse: Sparse | None, count: int) -> I32:
    """A sparse column of codes, or of small numbers, as a dense one; −1 where there is none."""
    result = np.full(count, _NONE, np.int32)
    if sparse is not None:
        put(result, sparse.row, sparse.value.astype(np.int32, copy=False))
    return result
