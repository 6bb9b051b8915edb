"""The page of one replayed graph: its replays, what they waited for, the lent operators."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from ...analysis.graphs.model import NONE, IdleKind
from ...base.units import duration, plural, share
from ..shared import SharePart, no_such_row
from ..table import heads, rows_from
from ..view import Subject
from . import contract as answers
from .captures import OpenedGraph, opened
from .nodes import node_rows
from .rows import GraphRow

MOST_REPLAYS = 20
MOST_WAITS = 30
MOST_OPS = 100
_QUANTILES = (("min", 0.0), ("5 %", 0.05), ("25 %", 0.25), ("median", 0.5), ("75 %", 0.75),
              ("95 %", 0.95), ("max", 1.0))  # fmt: skip
_WAITS: Mapping[int, answers.WaitKind] = MappingProxyType(
    {
        IdleKind.LATENCY: "latency",
        IdleKind.HOST: "host",
        IdleKind.OTHER: "other",
        IdleKind.UNKNOWN: "unknown",
    }
)
_NO_IDS = (
    "The recorder wrote no graph ids: replays of work of the same names count as one graph."
    " The recorders of CUDA write ids."
)
_NO_NODE_IDS = "The recorder wrote no node ids: the k-th work of a name in a replay is one node."
_NO_EDGES = (
    "No dependencies between nodes were recorded: each gap is assigned to the node that ended last"
    " before it, marked inferred."
)
_EDGES_OF_NVIDIA = " torch 2.15 records them with `CuspyConfig(enable_graph_dependencies=True)`."
_NO_BATCH = "No range around its launches names a batch size."
_NO_REPLAYS = "It was not replayed in the chosen steps."


# --- the page of one graph ------------------------------------------------------------------------


def graph_page(subject: Subject, query: answers.GraphQuery) -> answers.GraphPage:
    """One graph. Raises QueryError, NotReadyError."""
    return page_of(opened(subject, query))


def page_of(of: OpenedGraph) -> answers.GraphPage:
    """The page of an opened graph."""
    graphs = of.graphs
    (row,) = rows_from(GraphRow, of.table, np.array([of.at]))
    if row.replays is None:
        raise no_such_row()
    waits = _waits(of)
    ops = _ops(of)
    rows = of.table.of_graph[of.at]
    missing = {}
    if row.number is None:
        missing["ids"] = _NO_IDS
    if not graphs.graphs.node_ids[of.graph]:
        missing["node_ids"] = _NO_NODE_IDS
    if not graphs.has_edges:
        # Cuspy, which does, records NVIDIA's devices alone.
        vendor = of.subject.facts.devices[int(graphs.graphs.device[of.graph])].vendor
        missing["dependencies"] = _NO_EDGES + (_EDGES_OF_NVIDIA if vendor in ("NVIDIA", "") else "")
    if not row.batch:
        missing["batch"] = _NO_BATCH
    if not len(rows):
        missing["replays"] = _NO_REPLAYS
    if of.capture.state != "lent":
        missing["operators"] = of.capture.text
    headline, detail = _words(row, waits)
    return answers.GraphPage(
        headline=headline,
        detail=detail,
        row=row,
        waits_columns=heads(answers.InsideWait),
        waits=waits[:MOST_WAITS],
        waits_count=len(waits),
        quantiles=_quantiles(of.table.span_ns[rows]),
        replays=_replays(of, rows),
        ops=ops[:MOST_OPS],
        ops_count=len(ops),
        capture=of.capture,
        missing=missing,
    )


def _words(
    row: GraphRow,
    waits: tuple[answers.InsideWait, ...],
) -> tuple[str, str]:
    said = f"{row.name[0].upper()}{row.name[1:]}"
    part = f"{share(row.ratio)} of the kernel time"
    if not row.replays or row.replay_p50_ns is None:
        return f"{said} holds {part}.", _NO_REPLAYS
    inside = row.inside_idle_ns or 0
    idle = inside / row.replay_ns if row.replay_ns else 0.0
    first = waits[0] if waits else None
    what = {
        "host": "calls of the host",
        "latency": "launches inside the graph",
        "other": "other work of the device",
        "unknown": "what is not recorded",
    }
    held = f", most of it for {what[first.kind]}" if first else ""
    median = duration(row.replay_p50_ns)
    headline = f"{said} holds {part} and is idle for {share(idle)} of its replays."
    each = f"of {median}" if row.replays == 1 else f"{median} each in the median"
    detail = (
        f"{plural(row.replays, 'replay')} of {plural(row.nodes or 0, 'node')}, {each};"
        f" {duration(inside)} idle inside{held}."
    )
    return headline, detail


def _quantiles(spans: NDArray[np.int64]) -> tuple[SharePart, ...]:
    ordered = np.sort(spans)
    if not len(ordered):
        return ()

    def at(part: float) -> int:
        return int(ordered[max(int(np.ceil(part * len(ordered))), 1) - 1])

    median = at(0.5)
    return tuple(
        SharePart(label, at(part), at(part) / median if median else 0.0)
        for label, part in _QUANTILES
    )


def _replays(of: OpenedGraph, rows: NDArray[np.intp]) -> tuple[answers.GraphReplay, ...]:
    """The longest replays first."""
    replays, operators = of.graphs.replays, of.table.operators
    order = rows[np.argsort(-of.table.span_ns[rows], kind="stable")][:MOST_REPLAYS]
    members = of.graphs.members
    made = []
    for at in order.tolist():
        launch, step = int(replays.launch[at]), int(replays.step[at])
        if launch < 0:
            mine = np.flatnonzero(members.replay == at)
            launch = int(members.slice[mine[np.argmin(members.ts[mine])]])
        span = int(of.table.span_ns[at])
        made.append(
            answers.GraphReplay(
                slice=launch,
                ts=int(replays.ts[at]),
                dur_ns=span,
                idle_ns=span - int(replays.busy_ns[at]),
                nodes=int(replays.node_count[at]),
                step=operators.steps[step] if step >= 0 else "",
                batch=int(replays.batch[at]) if replays.batch[at] >= 0 else None,
            )
        )
    return tuple(made)


def _waits(of: OpenedGraph) -> tuple[answers.InsideWait, ...]:
    """Idle time inside replays by awaited node, most first."""
    graphs, idle = of.graphs, of.graphs.idle
    chosen = np.zeros(len(graphs.replays), np.bool_)
    chosen[of.table.of_graph[of.at]] = True
    rows = np.flatnonzero(chosen[idle.replay])
    total = int(idle.ns[rows].sum())
    sums: dict[tuple[int, str, bool], list[int]] = {}
    places: dict[tuple[int, str, bool], set[int]] = {}
    for at in rows.tolist():
        node, ns = int(idle.waited[at]), int(idle.ns[at])
        name = graphs.strings[int(graphs.nodes.name[node])] if node >= 0 else ""
        key = (int(idle.kind[at]), name, bool(idle.inferred[at]))
        # ns, stretches, the longest, what ran after it
        found = sums.setdefault(key, [0, 0, -1, 0])
        found[0] += ns
        found[1] += 1
        if ns > found[2]:
            found[2:] = [ns, int(graphs.members.slice[idle.next[at]])]
        places.setdefault(key, set()).update({node} - {NONE})
    first = int(graphs.first_node[of.graph])
    made = [
        answers.InsideWait(
            kind=_WAITS[kind],
            name=name,
            nodes=len(places[kind, name, inferred]),
            place=_only(places[kind, name, inferred], first),
            idle_ns=ns,
            ratio=ns / total if total else 0.0,
            count=count,
            inferred=inferred,
            longest=longest,
        )
        for (kind, name, inferred), (ns, count, _, longest) in sums.items()
    ]
    return tuple(sorted(made, key=lambda one: (-one.idle_ns, one.name)))


def _only(nodes: set[int], first: int) -> int | None:
    return next(iter(nodes)) - first + 1 if len(nodes) == 1 else None


def _ops(of: OpenedGraph) -> tuple[answers.LentOp, ...]:
    """The kernel time of the graph by lent operator."""
    if of.loan is None:
        return ()
    sums: dict[str, list[int]] = {}
    whole = 0
    for row in node_rows(of):
        if row.kind != "kernel":
            continue
        found = sums.setdefault(row.op or "", [0, 0])
        found[0] += 1
        found[1] += row.total_ns
        whole += row.total_ns
    made = [
        answers.LentOp(name, count, ns, ns / whole if whole else 0.0)
        for name, (count, ns) in sums.items()
    ]
    return tuple(sorted(made, key=lambda one: (-one.total_ns, one.name)))
