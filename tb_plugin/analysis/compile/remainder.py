"""How much of a compiled step still runs eager, op by op, and which ops are that?

Device activity counts where there is any: its durations, by the op that launched it. Else the host
does: compiled graphs, eager ops, compilation and checks of guards. A graph is marked by Inductor
and AOT autograd; other back ends leave the region alone.
"""

from __future__ import annotations

import numpy as np

from ...base.arrays import I32, I64, B, distinct_values, is_among, matches
from ...base.intervals import Intervals, length_within, subtract, union
from ...base.regex import regex
from ...trace.model import HostKind, Trace
from ..call_tree.paths import innermost
from .model import EagerOp, Remainder
from .occurrences import PHASE

_GRAPH = regex(r"^(## Call CompiledFxGraph|CompiledFunction(Backward)?$)")
_REGION = regex(r"^Torch-Compiled Region\b")
_AROUND = regex(
    r"^(Torch-Compiled Region|## Call|Pregraph|ProfilerStep#|AOTDispatcher|CompiledFunction|"
    r"autograd::engine::evaluate_function: CompiledFunctionBackward)"
)
_LOOKUP = regex(r"^TorchDynamo Cache Lookup$")
_COMPILER = regex(r"^dynamo$")  # around the phases, in torch 2.13
MOST_OPS = 50
_MOST_LEVELS = 64


def remainder_of(trace: Trace) -> Remainder | None:
    """Graphs and eager ops of the steps that ran compiled code; None where none ran."""
    host, strings = trace.host, trace.strings
    regions = matches(strings, host.name, _REGION)
    graphs = matches(strings, host.name, _GRAPH)
    if not regions.any() and not graphs.any():
        return None
    graphs = graphs if graphs.any() else regions
    steps = distinct_values(host.step[graphs | regions])
    steps = steps[steps >= 0] if trace.steps.source != "whole_trace" else steps[:0]
    inside = is_among(host.step, steps) if len(steps) else np.ones(len(host), np.bool_)
    compiled = _at_or_below(graphs, host.parent)
    busy = matches(strings, host.name, PHASE) | matches(strings, host.name, _COMPILER)
    compiling = _at_or_below(busy, host.parent)
    lookups = matches(strings, host.name, _LOOKUP)
    ops = (host.kind == HostKind.OP) & ~compiled & ~compiling & ~lookups
    ops &= ~matches(strings, host.name, _AROUND)
    owner = _outermost(np.asarray(ops), host.parent)
    if len(trace.device):
        return _of_device(trace, compiled, owner, steps)
    eager = np.flatnonzero(inside & (owner == np.arange(len(host))))
    spent, in_graphs, in_compiler = host.dur[eager].copy(), 0, 0
    for thread in distinct_values(host.thread[inside]).tolist():
        here = inside & (host.thread == thread)
        compiles, runs, checks = (
            union(host.ts[here & one], host.end[here & one]) for one in (busy, graphs, lookups)
        )
        own = subtract(runs, compiles)
        in_graphs += _length(own)
        in_compiler += _length(compiles)
        mine = host.thread[eager] == thread
        rows = eager[mine]
        for other in (own, compiles, checks):
            spent[mine] -= length_within(other, host.ts[rows], host.end[rows])
    return Remainder(
        on="host",
        steps=len(steps),
        graph_ns=in_graphs,
        eager_ns=int(spent.sum()),
        compile_ns=in_compiler,
        guard_ns=int(host.dur[lookups & inside].sum()),
        unknown_ns=0,
        ops=_listed(trace, eager, spent),
    )


def _of_device(trace: Trace, compiled: B, owner: I32, steps: I64) -> Remainder:
    device = trace.device
    rows = np.arange(len(device))
    if len(steps):
        rows = np.flatnonzero(is_among(device.step, steps))
    launch = np.where(device.op[rows] >= 0, device.op[rows], device.launch[rows])
    dur, known = device.dur[rows], launch >= 0
    in_graph = known & compiled[launch]
    eager = known & ~in_graph
    named = np.where(owner[launch] >= 0, owner[launch], launch)
    return Remainder(
        on="device",
        steps=len(steps),
        graph_ns=int(dur[in_graph].sum()),
        eager_ns=int(dur[eager].sum()),
        compile_ns=0,
        guard_ns=0,
        unknown_ns=int(dur[~known].sum()),
        ops=_listed(trace, named[eager], dur[eager]),
    )


def _at_or_below(mask: B, parent: I32) -> B:
    marks = np.where(mask, np.int32(1), np.int32(-1)).astype(np.int32)
    return np.asarray(innermost(marks, parent) > 0)


def _outermost(mask: B, parent: I32) -> I32:
    """Of each row: the outermost marked row at or above it; −1."""
    index = np.where(mask, np.arange(len(mask), dtype=np.int32), np.int32(-1)).astype(np.int32)
    found: I32 = np.append(innermost(index, parent), np.int32(-1))
    outer = np.append(parent, np.int32(-1))
    for _ in range(_MOST_LEVELS):
        above = found[outer[found]]
        if not (above >= 0).any():
            break
        found = np.where(above >= 0, above, found)
    return found[:-1]


def _length(spans: Intervals) -> int:
    return int((spans.end - spans.start).sum())


def _listed(trace: Trace, rows: I64, ns: I64) -> tuple[EagerOp, ...]:
    """Time by the name of the outermost eager op, those that take most first."""
    names, at = np.unique(trace.host.name[rows], return_inverse=True)
    spent = np.bincount(at, ns, len(names)).astype(np.int64)
    calls = [len(distinct_values(rows[at == one])) for one in range(len(names))]
    order = np.argsort(-spent, kind="stable")[:MOST_OPS].tolist()
    return tuple(EagerOp(trace.strings[names[one]], calls[one], int(spent[one])) for one in order)
