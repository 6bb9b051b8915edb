"""Kernel: which kernels run on the device, how well, and which ops launch them?"""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from ...analysis.facts import Facts
from ...analysis.graphs.artifact import GRAPHS
from ...analysis.graphs.table import graph_table
from ...analysis.operators.artifact import OPERATORS
from ...analysis.operators.groups import group
from ...analysis.operators.kernels import (
    ChosenKernels,
    KernelGroups,
    copy_table,
    family_codes,
    kernel_rows,
    kernel_table,
    op_names,
    whole_ns,
)
from ...analysis.operators.model import OperatorColumns
from ...analysis.overview.utilization import MatrixUse
from ...analysis.steps import scope_of
from ...base.units import plural, share
from ...trace.model import Link
from ..legend import core_words, cores_name
from ..origins import light_of, operators_of
from ..shared import (
    SharePart,
    SlowCall,
    column_named,
    key_named,
    no_such_row,
    outside_words,
    share_parts,
    time_and_count,
)
from ..table import Column, Table, heads, rows_from, shown, sorts, table_from
from ..view import Part, Subject, View
from . import contract as answers
from .captures import OpenedGraph, opened
from .copies import CopyRow
from .graphs import (
    graph_page,
    page_of,
)
from .nodes import node_table, nodes_of
from .rows import GraphRow, KernelRow, chosen_of

MOST_PARTS = 10
MOST = 100  # parts of an opened row
MOST_CALLS = 20
TENSOR_CORE_SHARE = (
    "Share of the duration of all compute kernels of the chosen steps that runs on tensor cores, by"
    " the kernels' names. Collectives, copies and sets are no candidates. “Tensor-core time” of the"
    " Overview counts only kernels that an op launched, and their time within the steps of one"
    " device: where graphs or compiled code launch kernels without a known op, the two differ."
)
_OWNERS = ("modules", "stacks")  # what kernels are grouped by
_NO_GRAPH = "No kernel was replayed by a graph in this recording."


def build(subject: Subject, query: answers.KernelQuery) -> answers.Kernels:
    """The kernels of the chosen steps. Raises QueryError."""
    operators = operators_of(subject)
    chosen = chosen_of(subject.facts, query.steps, query.device)
    scope = scope_of(subject.facts, query.steps)
    by_name = kernel_table(operators, chosen)
    copies = copy_table(operators, chosen)
    classes = _classes(operators, chosen)
    headline, detail = _words(by_name, classes, subject.facts, scope.divisor(subject.facts))
    recorded_ns = whole_ns(operators, ChosenKernels(device=chosen.device))
    outside = outside_words(scope, "kernel time", recorded_ns, by_name.whole_ns)
    graph = _graph(subject, query)
    cores = cores_name(subject.facts.devices)
    missing = {
        key: text
        for key, text in (*operators.missing.items(), *subject.facts.unavailable.items())
        if key in ("occupancy", "blocks", "direction", "counters")
    }
    if not (operators.activities.link == Link.GRAPH).any():
        missing["graphs"] = _NO_GRAPH
    missing |= {key: text for key, text in operators.missing.items() if key in _OWNERS}
    return answers.Kernels(
        headline=headline,
        detail=f"{detail} {outside}".strip(),
        step_count=scope.count(subject.facts),
        kernel_ns=int(by_name.total_ns.sum()),
        copies_ns=int(copies.total_ns.sum()),
        kernels=_shares(by_name),
        classes=classes,
        tensor_core=_tensor_core(operators, chosen),
        cores_name=cores,
        table=window(subject, query),
        copies_columns=heads(CopyRow),
        copies=rows_from(CopyRow, copies, copies.order("total_ns", ascending=False)),
        graph=None if graph is None else page_of(graph),
        nodes=None if graph is None else nodes_of(graph, _nodes_asked(query)),
        devices=operators.devices,
        missing=missing,
        definitions={"tensor_core_share": core_words(TENSOR_CORE_SHARE, cores)},
    )


def window(subject: Subject, query: answers.KernelQuery) -> answers.KernelTable:
    """A window of the table. Raises QueryError."""
    operators = operators_of(subject)
    chosen = chosen_of(subject.facts, query.steps, query.device, query.search, query.search_op)
    row = GraphRow if query.group_by == "graph" else KernelRow
    sort_by = column_named(query.sort_by or "total_ns", sorts(row))
    table = (
        graph_table(operators, subject.other_artifact(GRAPHS), chosen)
        if query.group_by == "graph"
        else kernel_table(operators, chosen, query.group_by)
    )
    if query.group_by == "name" and not query.search_op:
        light = light_of(subject, "kernel", chosen.steps, chosen.device)
        table = replace(table, light=light)
    order = table.order(sort_by, ascending=query.ascending)
    cores = cores_name(subject.facts.devices)
    return answers.KernelTable(
        columns=shown(heads(row, table), lambda text: core_words(text, cores)),
        rows=rows_from(row, table, order[query.offset : query.offset + query.limit]),
        offset=query.offset,
        count=len(table),
        calls=int(table.count.sum()),
        total_ns=int(table.total_ns.sum()),
        sort_by=sort_by,
        step_count=len(chosen.steps or ()),
    )


def _graph(subject: Subject, query: answers.KernelQuery) -> OpenedGraph | None:
    """The graph that the query asks for, too."""
    if not query.graph:
        return None
    asked = answers.GraphQuery(
        query.graph, query.steps, query.device, query.capture_run, query.capture_worker
    )
    return opened(subject, asked)


def _nodes_asked(query: answers.KernelQuery) -> answers.NodeQuery:
    return answers.NodeQuery(query.graph, query.steps, query.device, limit=query.limit)


def _shares(table: KernelGroups) -> tuple[SharePart, ...]:
    total = int(table.total_ns.sum())
    order = table.order("total_ns", ascending=False)[:MOST_PARTS]
    return share_parts(table, table.total_ns, order.tolist(), total)


def _classes(operators: OperatorColumns, chosen: ChosenKernels) -> tuple[SharePart, ...]:
    """All classes by time, "unclassified" last; they sum to the kernels."""
    rows = kernel_rows(operators, chosen)
    names, codes = family_codes(operators)
    sums: dict[str, int] = {"unclassified": 0}
    for code, family in enumerate(names):
        spent = int(operators.activities.dur_ns[rows[codes[rows] == code]].sum())
        sums[family.name] = sums.get(family.name, 0) + spent
    total = sum(sums.values())
    order = sorted(sums, key=lambda name: (name == "unclassified", -sums[name], name))
    return tuple(
        SharePart(name, sums[name], sums[name] / total if total else 0.0)
        for name in order
        if sums[name] or name == "unclassified"
    )


def _tensor_core(operators: OperatorColumns, chosen: ChosenKernels) -> dict[str, int]:
    rows = kernel_rows(operators, chosen)
    spent = np.bincount(
        operators.activities.tensor_core[rows],
        operators.activities.dur_ns[rows],
        len(MatrixUse),
    )
    return {use.name.lower(): int(spent[use]) for use in MatrixUse}


TOLD_RATIO = 0.01  # of the kernel time: less without a class is not worth a word
_ABBREVIATIONS = {"gemm": "GEMM", "moe": "MoE"}


def _words(
    table: KernelGroups, classes: tuple[SharePart, ...], facts: Facts, steps: int
) -> tuple[str, str]:
    if "kernels" in facts.unavailable:
        return "Kernels are not available.", facts.unavailable["kernels"]
    headline, detail = _words_of(table, classes, steps)
    if "copies" in facts.unavailable:
        detail = f"{detail} {facts.unavailable['copies']}".strip()
    return headline, detail


def _words_of(table: KernelGroups, classes: tuple[SharePart, ...], steps: int) -> tuple[str, str]:
    if not len(table):
        return "No kernel ran in the chosen steps.", ""
    total, count = int(table.total_ns.sum()), int(table.count.sum())
    spent = time_and_count(total, count, "kernel", steps)
    detail = f"{spent}; {plural(len(table), 'name')}."
    *known, unknown = classes  # the one without a class is last
    if not known:
        return "No name of a kernel tells its class.", detail
    first = known[0]
    said = _ABBREVIATIONS.get(first.name, f"{first.name[:1].upper()}{first.name[1:]}")
    takes = f"{said} kernels take {share(first.ratio)}"
    if unknown.ns > first.ns:  # it may hold a larger class
        return f"{share(unknown.ratio)} of the kernel time has no known class; {takes}.", detail
    more = f"; {share(unknown.ratio)} has no known class" if unknown.ratio >= TOLD_RATIO else ""
    return f"{takes} of the kernel time{more}.", detail


def tables(answer: answers.Kernels) -> tuple[Table, ...]:
    """The rows, the classes, the copies and the tensor cores, with every column of the page."""
    steps = answer.table.step_count
    classes = tuple((part.name, part.ns, part.ratio) for part in answer.classes)
    candidates = answer.kernel_ns - answer.tensor_core["none"]
    cores = tuple(
        (name, ns, ns / candidates if candidates and name != "none" else None)
        for name, ns in answer.tensor_core.items()
    )
    time = (Column("total_ns", "Time", is_sum=True), Column("ratio", "Share of all kernels"))
    share_head = core_words("Tensor-core share", answer.cores_name)
    of_candidates = Column("ratio", share_head, answer.definitions["tensor_core_share"])
    title = "Graphs" if any(isinstance(row, GraphRow) for row in answer.table.rows) else "Kernels"
    found = [
        table_from(
            title,
            answer.table.columns,
            answer.table.rows,
            answer.table.count,
            step_count=steps,
        ),
        *_tables_of_graph(answer),
        Table("Classes", (Column("kernel_class", "Class"), *time), classes, step_count=steps),
        Table(
            answer.cores_name,
            (Column("tensor_core", answer.cores_name), time[0], of_candidates),
            cores,
            step_count=steps,
        ),
    ]
    if answer.copies:
        copies = answer.copies
        found.append(table_from("Copies and sets", answer.copies_columns, copies, step_count=steps))
    return tuple(found)


def _tables_of_graph(answer: answers.Kernels) -> tuple[Table, ...]:
    """The nodes of the requested graph, and the waits of its replays."""
    page, nodes = answer.graph, answer.nodes
    if page is None or nodes is None:
        return ()
    name = page.row.name
    return (
        table_from(
            f"Nodes of {name}", nodes.columns, nodes.rows, nodes.count, note=page.capture.text
        ),
        table_from(f"Idle inside {name}", page.waits_columns, page.waits, page.waits_count),
    )


def details(subject: Subject, query: answers.KernelRowQuery) -> answers.KernelDetails:
    """The parts of a row. Raises QueryError for an unknown key."""
    operators = operators_of(subject)
    chosen = chosen_of(subject.facts, query.steps, query.device)
    table = kernel_table(operators, chosen, query.group_by)
    key = key_named(query.key)
    at = int(np.searchsorted(table.groups.key, key))
    if at >= len(table) or int(table.groups.key[at]) != key:
        raise no_such_row()
    members = table.groups.of(at)
    by_properties = kernel_table(operators, chosen, "properties")
    launches = _within(by_properties, members)
    ops = _ops(operators, members)
    shown_row = rows_from(KernelRow, table, np.array([at]))[0]
    name = shown_row.name
    return answers.KernelDetails(
        row=shown_row,
        ops=ops[:MOST],
        ops_count=len(ops),
        launches=rows_from(KernelRow, by_properties, launches[:MOST]),
        launches_count=len(launches),
        slowest=_slowest(operators, members[::-1][:MOST_CALLS]),
        fused_lines=subject.facts.compiled.made_of(name)[1] if subject.facts.compiled else "",
    )


def _within(table: KernelGroups, members: NDArray[np.int64]) -> NDArray[np.intp]:
    """The groups with some of the members, by time."""
    inside = np.zeros(len(table.activities), np.bool_)
    inside[members] = True
    held = np.flatnonzero(table.groups.any(inside))
    order = np.argsort(-table.total_ns[held], kind="stable")
    return held[order]


def _ops(operators: OperatorColumns, members: NDArray[np.int64]) -> tuple[answers.OpOfKernel, ...]:
    spent = operators.activities.dur_ns
    groups = group(members, op_names(operators), spent)
    total = groups.sums(spent)
    return tuple(
        answers.OpOfKernel(
            name=operators.strings[code] if (code := int(groups.key[at])) >= 0 else "",
            calls=int(groups.size[at]),
            total_ns=int(total[at]),
        )
        for at in np.argsort(-total, kind="stable").tolist()
    )


def _slowest(operators: OperatorColumns, members: NDArray[np.int64]) -> tuple[SlowCall, ...]:
    activities = operators.activities
    return tuple(
        SlowCall(
            slice=operators.first_slice + at,
            ts=int(activities.ts[at]),
            dur_ns=int(activities.dur_ns[at]),
            self_ns=int(activities.dur_ns[at]),
            device_ns=int(activities.dur_ns[at]),
            step=operators.steps[int(activities.step[at])] if activities.step[at] >= 0 else "",
            thread=operators.devices[int(activities.device[at])],
            shapes="",
        )
        for at in members.tolist()
    )


def unavailable(facts: Facts) -> str | None:
    """Why there is no kernel."""
    if any(device.used for device in facts.devices):
        return None
    return facts.unavailable.get("devices", "No device activity was recorded.")


VIEW = View(
    stem="kernels",
    title="Kernel",
    key="k",
    question="What runs on the device, how well, and what launched it?",
    query=answers.KernelQuery,
    answer=answers.Kernels,
    build=build,
    tables=tables,
    unavailable=unavailable,
    artifact=OPERATORS,
    lends=True,
    reads_others=lambda query: bool(query.graph),
    parts=(
        Part("table", answers.KernelQuery, answers.KernelTable, window),
        Part("row", answers.KernelRowQuery, answers.KernelDetails, details),
        Part("graph", answers.GraphQuery, answers.GraphPage, graph_page, reads_others=True),
        Part("nodes", answers.NodeQuery, answers.NodeTable, node_table, reads_others=True),
    ),
)
