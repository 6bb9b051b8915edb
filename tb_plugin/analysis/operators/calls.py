"""The calls of a trace: what each took on the host, and what it caused on the device."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...trace.model import HostKind, Trace
from ...trace.raw import Sparse
from ..tensor_cores import MatrixUse
from .credit import Credit, credit, summed
from .flops import flops_of
from .inherit import call_paths, innermost
from .model import CallKind, Calls, Paths, Stacks
from .tree import CallTree, call_tree, sums_below
from .written_stacks import add_written_stacks

I8 = NDArray[np.int8]
I32 = NDArray[np.int32]
I64 = NDArray[np.int64]

KINDS = {
    HostKind.OP: CallKind.OP,
    HostKind.ANNOTATION: CallKind.ANNOTATION,
    HostKind.PYTHON: CallKind.PYTHON,
    HostKind.MODULE: CallKind.MODULE,
    HostKind.RUNTIME: CallKind.RUNTIME,
    HostKind.OVERHEAD: CallKind.OTHER,
    HostKind.OTHER: CallKind.OTHER,
}
_NONE = -1
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_STEP = re.compile(r"ProfilerStep#\d+")


@dataclass(frozen=True, slots=True, eq=False)
class Called:
    """The calls, their stacks, and for each device activity its call and why it has none.

    ``strings`` are those of the trace, with the frames of written stacks behind them.
    """

    strings: tuple[str, ...]
    calls: Calls
    stacks: Stacks
    paths: Paths
    call_of: I32  # per device activity: row of calls, −1
    credit: Credit


def find_calls(trace: Trace, matrix_use: I8) -> Called:
    """One row per call. ``matrix_use`` says of each device activity whether it uses tensor cores.

    Every device activity is credited once, so the device_self_ns of all calls and the activities
    without a call sum to all device time.
    """
    host, device = trace.host, trace.device
    tree = call_tree(host)
    owed = credit(device)
    owned = owed.host >= 0
    owner = np.full(len(device), _NONE, np.int32)
    owner[owned] = tree.survivor[owed.host[owned]]
    count = len(host)
    self_ns = summed(device.dur.astype(np.int64), owner, count)
    matrix_ns = np.where(matrix_use == MatrixUse.YES, device.dur, 0).astype(np.int64)
    matrix_self = summed(matrix_ns, owner, count)
    total_ns = _totals(self_ns, tree)
    matrix_total = _totals(matrix_self, tree)
    kernels = np.bincount(owner[owner >= 0], minlength=count).astype(np.int32)

    frame = (host.kind == HostKind.PYTHON) | (host.kind == HostKind.MODULE)
    above, frames, around = call_paths(frame, host.name, host.parent, host.depth)
    strings, stacks, stack = add_written_stacks(
        trace.strings,
        Stacks(above, frames.astype(np.int32)),
        around,
        host.args.get("call_stack"),
    )
    survives = tree.survives
    label = normal_names(trace.strings, host.name)[host.name] << 8 | _kinds(host.kind)
    up, labels, path = call_paths(survives, label, tree.parent, tree.depth)
    module = _around(host.kind == HostKind.MODULE, trace)
    annotation = _around(host.kind == HostKind.ANNOTATION, trace)
    shapes = spread(host.args.get("input_dims"), count)
    types = spread(host.args.get("input_types"), count)

    rows = np.flatnonzero(survives).astype(np.int32)
    place = np.full(count, _NONE, np.int32)
    place[rows] = np.arange(len(rows), dtype=np.int32)
    calls = Calls(
        host=rows,
        name=host.name[rows],
        kind=_kinds(host.kind[rows]),
        thread=host.thread[rows].astype(np.int32),
        step=host.step[rows].astype(np.int32),
        ts=host.ts[rows],
        total_ns=host.dur[rows].astype(np.int64),
        self_ns=tree.self_ns[rows],
        device_total_ns=total_ns[rows],
        device_self_ns=self_ns[rows],
        tensor_core_total_ns=matrix_total[rows],
        tensor_core_self_ns=matrix_self[rows],
        kernels=kernels[rows],
        shapes=shapes[rows],
        types=types[rows],
        stack=stack[rows],
        path=path[rows],
        module=module[rows],
        annotation=annotation[rows],
        flops=flops_of(trace, rows, shapes[rows]),
    )
    paths = Paths(up, (labels >> 8).astype(np.int32), (labels & 0xFF).astype(np.int8))
    call_of = np.full(len(device), _NONE, np.int32)
    call_of[owned] = place[owner[owned]]
    return Called(strings, calls, stacks, paths, call_of, owed)


def _kinds(kind: I8) -> I8:
    table = np.zeros(max(HostKind) + 1, np.int8)
    for known, shown in KINDS.items():
        table[known] = shown
    return table[kind]


def normal_names(strings: Sequence[str], codes: I32) -> I64:
    """By code: the code of the name without what differs from call to call.

    All ``ProfilerStep#N`` are the first of them, and the address of an object is left out.
    """
    result = np.arange(len(strings), dtype=np.int64)
    first: dict[str, int] = {}
    for code in np.unique(codes).tolist():
        text = _ADDRESS.sub("", strings[code])
        text = "ProfilerStep#" if _STEP.fullmatch(text) else text
        result[code] = first.setdefault(text, code)
    return result


def _totals(self_ns: I64, tree: CallTree) -> I64:
    return sums_below(self_ns, tree.parent, tree.depth)


def _around(marked: NDArray[np.bool_], trace: Trace) -> I32:
    """The name of the innermost marked row at or above each row, −1 where there is none."""
    host = trace.host
    own = np.where(marked, host.name, _NONE).astype(np.int32)
    return innermost(own, host.parent, host.depth)


def spread(sparse: Sparse | None, count: int) -> I32:
    """A sparse column of codes, or of small numbers, as a dense one; −1 where there is none."""
    result = np.full(count, _NONE, np.int32)
    if sparse is not None:
        result[sparse.row] = sparse.value
    return result
