"""The nodes of a graph in their order, with operators from a recording of the capture."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from msgspec.structs import replace

from ...analysis.graphs.model import NONE, WORK, NodeKind
from ...analysis.operators.groups import in_steps
from ...analysis.operators.short_names import short_names
from ..shared import column_named, known
from ..table import heads, sorts
from ..view import Subject
from . import contract as answers
from .captures import OpenedGraph, opened

MOST_FRAMES = 24
_KINDS: Mapping[int, answers.NodeKindName] = MappingProxyType(
    {
        NodeKind.KERNEL: "kernel",
        NodeKind.COPY: "copy",
        NodeKind.SET: "set",
        NodeKind.HOST: "host",
        NodeKind.EVENT: "event",
    }
)


def node_table(subject: Subject, query: answers.NodeQuery) -> answers.NodeTable:
    """A window of the nodes of a graph. Raises QueryError, NotReadyError."""
    return nodes_of(opened(subject, query), query)


def nodes_of(of: OpenedGraph, query: answers.NodeQuery) -> answers.NodeTable:
    """A window of the nodes of an opened graph. Raises QueryError."""
    sort_by = column_named(query.sort_by or "place", sorts(answers.NodeRow))
    words = query.search.casefold().split()
    rows = [
        row
        for row in node_rows(of)
        if all(word in f"{row.name}\n{row.op or ''}".casefold() for word in words)
    ]
    # In their order of execution unless someone sorts by it the other way round.
    ascending = query.ascending if query.sort_by else True
    there = [row for row in rows if getattr(row, sort_by) is not None]
    there.sort(key=lambda row: getattr(row, sort_by), reverse=not ascending)
    ordered = there + [row for row in rows if getattr(row, sort_by) is None]
    window = ordered[query.offset : query.offset + query.limit]
    return answers.NodeTable(
        columns=heads(answers.NodeRow),
        rows=tuple(window),
        offset=query.offset,
        count=len(rows),
        total_ns=sum(row.total_ns for row in rows),
        sort_by=sort_by,
    )


def node_rows(of: OpenedGraph) -> list[answers.NodeRow]:
    """All nodes of the graph that ran in the chosen steps, in their order."""
    graphs, strings = of.graphs, of.graphs.strings
    nodes, members = graphs.nodes, graphs.members
    low, high = (int(graphs.first_node[of.graph + more]) for more in (0, 1))
    chosen = np.append(in_steps(graphs.replays.step, of.chosen.steps), of.chosen.steps is None)
    idle = np.zeros(len(members), np.int64)
    np.add.at(idle, graphs.idle.next, graphs.idle.ns)
    found = []
    for place, node in enumerate(range(low, high), start=1):
        rows = np.arange(graphs.first_member[node], graphs.first_member[node + 1])
        rows = rows[chosen[members.replay[rows]]]
        if not len(rows):
            continue
        dur = members.dur_ns[rows]
        kind, ahead = int(nodes.kind[node]), int(nodes.ahead[node])
        loan = _loan(of, node - low)
        found.append(
            answers.NodeRow(
                key=str(place),
                place=place,
                number=int(nodes.number[node]) if nodes.number[node] >= 0 else None,
                kind=_KINDS[kind],
                name=strings[int(nodes.name[node])],
                calls=len(rows),
                start_ns=known(float(nodes.start_ns[node])),
                total_ns=int(dur.sum()),
                mean_ns=float(dur.mean()),
                min_ns=int(dur.min()),
                max_ns=int(dur.max()),
                ratio=0.0,
                waits_for=ahead - low + 1 if ahead >= 0 else None,
                idle_ns=float(idle[rows].mean()),
                op=loan[0],
                shapes=loan[1],
                module=loan[2],
                stack=loan[3],
                lent=loan[4],
                longest=int(members.slice[rows[np.argmax(dur)]]),
            )
        )
    return _with_ratios(found)


def _with_ratios(rows: list[answers.NodeRow]) -> list[answers.NodeRow]:
    work = {_KINDS[kind] for kind in WORK}
    whole = sum(row.total_ns for row in rows if row.kind in work)
    return [
        replace(
            row,
            ratio=row.total_ns / whole if whole and row.kind in work else row.ratio,
            short=short,
        )
        for row, short in zip(rows, short_names([row.name for row in rows]), strict=True)
    ]


def _loan(
    of: OpenedGraph, node: int
) -> tuple[str | None, str | None, str | None, tuple[str, ...], bool]:
    """Operator, shapes, module and stack of a node, and true if they come from the capture."""
    loan = of.loan
    launch = int(loan.launch_of_node[node]) if loan is not None else NONE
    if loan is None or launch < 0:
        return None, None, None, (), False
    columns = of.captures[loan.capture][1]
    launches, stacks = columns.launches, columns.stacks

    def text(code: int) -> str | None:
        return columns.strings[code] if code >= 0 else None

    frames: list[str] = []
    at = int(launches.stack[launch])
    while at >= 0 and len(frames) < MOST_FRAMES:
        frames.append(columns.strings[int(stacks.frame[at])])
        at = int(stacks.parent[at])
    return (
        text(int(launches.op[launch])),
        text(int(launches.shapes[launch])),
        text(int(launches.module[launch])),
        tuple(frames),
        True,
    )
