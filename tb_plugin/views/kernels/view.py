"""Kernel: which kernels run on the device, how well, and which ops launch them?"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from ...analysis.counters.groups import LEAST_SAMPLES, MEMORY_BOUND_PERCENT, SM_ACTIVE_PERCENT
from ...analysis.facts import Facts
from ...analysis.graphs.artifact import GRAPHS
from ...analysis.graphs.table import graph_table
from ...analysis.operators import artifact
from ...analysis.operators.kernels import (
    ChosenKernels,
    KernelGroups,
    copy_table,
    family_codes,
    kernel_rows,
    kernel_table,
)
from ...analysis.operators.model import OperatorColumns
from ...analysis.overview.utilization import MatrixUse
from ...base.artifact_spec import ArtifactSpec
from ...base.units import duration, plural, share
from ...trace.model import Link
from ..legend import core_words, cores_name, tables_in_core_words
from ..shared import SharePart, column_named, share_parts
from ..table import Cell, Column, ColumnKind, Table, table_from
from ..view import Part, Subject, View
from . import contract as answers
from .captures import OpenedGraph, opened
from .graphs import (
    FROM_CAPTURE,
    GRAPH_DEFINITIONS,
    GRAPH_SORTS,
    graph_page,
    graph_rows,
    page_of,
)
from .nodes import node_table, nodes_of
from .rows import SORTS, chosen_of, copy_rows, details, rows_of

MOST_PARTS = 10
_MEASURED = (
    "Mean over samples, each of which holds until the next; needs samples for 80\u00a0% of the"
    " time. Kernels shorter than the time between samples share them with their neighbours."
)
_SHARED = "What runs at the same time shares the device, and each row is told all of it."
DEFINITIONS: Mapping[str, str] = MappingProxyType(
    {
        "name": "The kernel, class or graph; what the grouping does not tell apart is one row.",
        "op": "The operator that launched it.",
        "calls": "How often it ran.",
        "total_ns": "Sum of the durations on the device.",
        "ratio": "Of the durations of all chosen kernels.",
        "min_ns": "The shortest.",
        "mean_ns": "Total by calls.",
        "p50_ns": "Half of them take no longer.",
        "p95_ns": "95 % of them take no longer.",
        "max_ns": "The longest.",
        "tensor_core": "Whether its name shows tensor cores; unknown where the name does not say."
        " Kernels that move data are no candidates.",
        "tensor_core_share": "Of the durations of all compute kernels of the chosen steps, the part"
        " of those that run on tensor cores by their name. Collectives, copies and sets"
        " are no candidates. “Tensor-core time” of the Overview takes only kernels that an op"
        " launched, and their time within the steps of one device: where graphs or compiled code"
        " launch kernels without a known op, the two differ.",
        "op_eligible": "Whether the op it is credited to may run on tensor cores: matrix products,"
        " convolutions, attention.",
        "blocks_per_sm": "Mean blocks per multiprocessor, weighted by duration. Below 1, some"
        " multiprocessors have nothing to do.",
        "occupancy": "Mean estimated achieved occupancy: warps on a multiprocessor of those it can"
        " hold, weighted by duration. The recorder computes it from grid, block, registers and"
        " shared memory.",
        "registers": "Registers per thread.",
        "shared_bytes": "Shared memory per block.",
        "grid": "Blocks of the launch.",
        "block": "Threads of a block.",
        "launch_ns": "Mean time from the start of the launching call to the start on the device.",
        "queue_ns": "Mean time from the end of the launching call to the start on the device: the"
        " wait for what was launched before.",
        "energy_j": f"∫ power dt while kernels of the row run. {_MEASURED} {_SHARED}",
        "power_w": f"Mean power of the board while they run. {_MEASURED} {_SHARED}",
        "sm_clock_mhz": f"Mean clock of the multiprocessors while they run. {_MEASURED}",
        "sm_active_percent": "Multiprocessors with at least one warp, counted by the device."
        f" {_MEASURED}",
        "dram_percent": "Traffic of the device's memory, counted by the device, of its peak."
        f" {_MEASURED}",
        "memory_bound": "Measured, not estimated from shapes: DRAM at"
        f" {MEMORY_BOUND_PERCENT:.0f}\u00a0% of its peak or more while"
        f" {SM_ACTIVE_PERCENT:.0f}\u00a0% of the multiprocessors or more are active, by"
        f" {LEAST_SAMPLES} samples or more.",
        "bandwidth": "Bytes by the time spent copying.",
        "kernel_class": "What it is for, by rules over names that a file of yours may extend.",
        **GRAPH_DEFINITIONS,
    }
)
_NO_GRAPH = "No kernel was replayed by a graph in this recording."


def build(subject: Subject, query: answers.KernelQuery) -> answers.Kernels:
    """The kernels of the chosen steps. Raises QueryError."""
    operators: OperatorColumns = subject.artifact("")
    chosen = chosen_of(subject.facts, query.steps, query.device)
    by_name = kernel_table(operators, chosen)
    copies = copy_table(operators, chosen)
    steps = chosen.steps
    classes = _classes(operators, chosen)
    headline, detail = _words(by_name, classes, subject.facts)
    graph = _graph(subject, query)
    cores = cores_name(subject.facts.devices)
    missing = {
        key: text
        for key, text in (*operators.missing.items(), *subject.facts.unavailable.items())
        if key in ("occupancy", "blocks", "direction", "counters")
    }
    if not (operators.activities.link == Link.GRAPH).any():
        missing["graphs"] = _NO_GRAPH
    return answers.Kernels(
        headline=headline,
        detail=detail,
        step_count=len(subject.facts.steps) if steps is None else len(steps),
        kernel_ns=int(by_name.total_ns.sum()),
        copies_ns=int(copies.total_ns.sum()),
        kernels=_shares(by_name),
        classes=classes,
        tensor_core=_tensor_core(operators, chosen),
        cores_name=cores,
        table=window(subject, query),
        copies=copy_rows(copies),
        graph=None if graph is None else page_of(graph),
        nodes=None if graph is None else nodes_of(graph, _nodes_asked(query)),
        devices=operators.devices,
        missing=missing,
        definitions={key: core_words(text, cores) for key, text in DEFINITIONS.items()},
    )


def window(subject: Subject, query: answers.KernelQuery) -> answers.KernelTable:
    """A window of the table. Raises QueryError."""
    operators: OperatorColumns = subject.artifact("")
    chosen = chosen_of(subject.facts, query.steps, query.device, query.search, query.search_op)
    by_graph = query.group_by == "graph"
    sort_by = column_named(query.sort_by or "total_ns", GRAPH_SORTS if by_graph else SORTS)
    everything = ChosenKernels(chosen.steps, chosen.device)
    whole = int(operators.activities.dur_ns[kernel_rows(operators, everything)].sum())
    part = slice(query.offset, query.offset + query.limit)
    if by_graph:
        graphs = graph_table(operators, subject.other_artifact(GRAPHS), chosen)
        order = graphs.order(sort_by, ascending=query.ascending)
        rows = graph_rows(graphs, order[part].tolist(), whole)
        table: KernelGroups = graphs
    else:
        table = kernel_table(operators, chosen, query.group_by)
        order = table.order(sort_by, ascending=query.ascending)
        rows = rows_of(table, order[part], whole)
    return answers.KernelTable(
        rows=rows,
        offset=query.offset,
        count=len(table),
        calls=int(table.count.sum()),
        total_ns=int(table.total_ns.sum()),
        sort_by=sort_by,
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


def _words(table: KernelGroups, classes: tuple[SharePart, ...], facts: Facts) -> tuple[str, str]:
    if "kernels" in facts.unavailable:
        return "Kernels are not available.", facts.unavailable["kernels"]
    headline, detail = _words_of(table, classes)
    if "copies" in facts.unavailable:
        detail = f"{detail} {facts.unavailable['copies']}".strip()
    return headline, detail


def _words_of(table: KernelGroups, classes: tuple[SharePart, ...]) -> tuple[str, str]:
    if not len(table):
        return "No kernel ran in the chosen steps.", ""
    spent, count = duration(int(table.total_ns.sum())), int(table.count.sum())
    detail = f"{spent} in {plural(count, 'kernel')} of {plural(len(table), 'name')}."
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
    classes = tuple((part.name, part.ns, part.ratio) for part in answer.classes)
    candidates = answer.kernel_ns - answer.tensor_core["none"]
    cores = tuple(
        (name, ns, ns / candidates if candidates and name != "none" else None)
        for name, ns in answer.tensor_core.items()
    )
    time = (Column("total_ns", "Time"), Column("ratio", "Share", DEFINITIONS["ratio"]))
    of_candidates = Column("ratio", "Tensor-core share", DEFINITIONS["tensor_core_share"])
    found = [
        _rows(answer),
        *_tables_of_graph(answer),
        Table("Classes", (Column("kernel_class", "Class"), *time), classes),
        Table(
            "Tensor cores", (Column("tensor_core", "Tensor cores"), time[0], of_candidates), cores
        ),
    ]
    if answer.copies:
        copies = table_from(
            "Copies and sets",
            _COPY_COLUMNS,
            answer.copies,
            total_bytes=lambda row: row.bytes,
            bandwidth_bytes_per_s=lambda row: row.bandwidth,
        )
        found.append(copies)
    return tables_in_core_words(found, answer.cores_name)


def _rows(answer: answers.Kernels) -> Table:
    if any(row.graph for row in answer.table.rows):
        return _graph_rows(answer)
    return table_from(
        "Kernels",
        _columns_of(answer.table.rows),
        answer.table.rows,
        answer.table.count,
        occupancy_percent=lambda row: row.occupancy,
    )


def _graph_rows(answer: answers.Kernels) -> Table:
    """Cells of a row, and of its figures as a graph."""

    def cell(row: answers.KernelRow, name: str) -> Cell:
        if name in answers.GraphFigures.__struct_fields__ or name == "key":
            return getattr(row if name == "key" else row.graph, name) if row.graph else None
        value: Cell = getattr(row, name)
        return value

    rows = tuple(
        tuple(cell(row, column.key) for column in _GRAPH_COLUMNS) for row in answer.table.rows
    )
    return Table("Graphs", _GRAPH_COLUMNS, rows, answer.table.count)


def _tables_of_graph(answer: answers.Kernels) -> tuple[Table, ...]:
    """The nodes of the graph that was asked for, and what its replays waited for."""
    page, nodes = answer.graph, answer.nodes
    if page is None or nodes is None:
        return ()
    title = f"Nodes of {page.row.name}"
    return (
        table_from(
            title,
            _NODE_COLUMNS,
            nodes.rows,
            nodes.count,
            note=page.capture.text,
            lent=lambda row: FROM_CAPTURE if row.lent else None,
            stack=lambda row: " ← ".join(row.stack) or None,
        ),
        table_from(
            f"Idle inside {page.row.name}",
            _WAIT_COLUMNS,
            page.waits,
            page.waits_count,
            idle_ns=lambda row: row.ns,
            inferred=lambda row: "by order" if row.inferred else "recorded",
        ),
    )


def _column(field: str, label: str, key: str = "", *, is_minor: bool = False) -> Column:
    """The column of a field of a row; its key carries the unit."""
    kind: ColumnKind = "name" if field in ("name", "op", "fused", "source") else "value"
    return Column(key or field, label, DEFINITIONS.get(field, ""), kind, is_minor)


_COLUMNS = (
    _column("name", "Name"),
    _column("op", "Operator"),
    _column("grid", "Grid"),
    _column("block", "Block"),
    _column("kernel_class", "Class"),
    _column("calls", "Calls"),
    _column("total_ns", "Total"),
    _column("ratio", "Share"),
    _column("mean_ns", "Mean"),
    _column("blocks_per_sm", "Blocks per SM"),
    _column("occupancy", "Est. occupancy %", "occupancy_percent"),
    _column("tensor_core", "Tensor cores"),
    _column("registers", "Registers"),
    _column("shared_bytes", "Shared memory"),
    _column("min_ns", "Min", is_minor=True),
    _column("p50_ns", "Median", is_minor=True),
    _column("p95_ns", "p95", is_minor=True),
    _column("max_ns", "Max", is_minor=True),
    _column("launch_ns", "Launch", is_minor=True),
    _column("queue_ns", "Queue", is_minor=True),
    _column("op_eligible", "Op eligible", is_minor=True),
    _column("fused", "Fused ops", is_minor=True),
    _column("source", "Generated into", is_minor=True),
    _column("link", "Found by", is_minor=True),
    _column("class_why", "Class because", is_minor=True),
)
_GRAPH_COLUMNS = (
    _column("name", "Graph"),
    _column("key", "Key"),
    _column("batch", "Batch"),
    _column("replays", "Replays"),
    _column("nodes", "Nodes"),
    _column("node_ns", "Per node"),
    _column("replay_min_ns", "Replay min"),
    _column("replay_p50_ns", "Median"),
    _column("replay_p95_ns", "p95", is_minor=True),
    _column("replay_max_ns", "Max"),
    _column("replay_ns", "Replays in all", is_minor=True),
    _column("inside_idle_ns", "Idle inside"),
    _column("number", "Recorded id", is_minor=True),
    _column("device", "Device", is_minor=True),
    _column("calls", "Kernels"),
    _column("total_ns", "Kernel time"),
    _column("ratio", "Share"),
)
_NODE_COLUMNS = (
    _column("place", "Place"),
    _column("kind", "Kind"),
    _column("name", "Name"),
    _column("op", "Operator"),
    _column("calls", "Calls"),
    _column("start_ns", "Start"),
    _column("mean_ns", "Mean"),
    _column("total_ns", "Total"),
    _column("ratio", "Share"),
    _column("waits_for", "Waits for"),
    _column("idle_ns", "Idle before"),
    _column("shapes", "Shapes"),
    _column("lent", "Operator is", is_minor=True),
    _column("module", "Module", is_minor=True),
    _column("stack", "Stack", is_minor=True),
    _column("min_ns", "Min", is_minor=True),
    _column("max_ns", "Max", is_minor=True),
    _column("number", "Recorded id", is_minor=True),
)
_WAIT_COLUMNS = (
    _column("kind", "Waited for"),
    _column("name", "Node"),
    _column("nodes", "Nodes"),
    _column("place", "Place"),
    _column("ns", "Idle", "idle_ns"),
    _column("ratio", "Share"),
    _column("count", "Stretches"),
    _column("inferred", "Known by"),
)
_MEASURED_COLUMNS = (
    _column("energy_j", "Energy"),
    _column("power_w", "Power"),
    _column("sm_clock_mhz", "SM clock"),
    _column("sm_active_percent", "SM active %"),
    _column("dram_percent", "DRAM %"),
    _column("memory_bound", "Memory-bound"),
)


def _columns_of(rows: tuple[answers.KernelRow, ...]) -> tuple[Column, ...]:
    """All columns; those of counters where a row has one of them."""
    measured = tuple(
        column
        for column in _MEASURED_COLUMNS
        if any(getattr(row, column.key) not in (None, False) for row in rows)
    )
    return (*_COLUMNS, *measured)


_COPY_COLUMNS = (
    _column("name", "Name"),
    _column("direction", "Direction", is_minor=True),
    _column("calls", "Calls"),
    _column("total_ns", "Total"),
    _column("bytes", "Size", "total_bytes"),
    _column("bandwidth", "Bandwidth", "bandwidth_bytes_per_s"),
    _column("mean_ns", "Mean", is_minor=True),
    _column("max_ns", "Max", is_minor=True),
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
    artifact=ArtifactSpec(artifact.NAME, artifact.MAKE, artifact.open_operators),
    reads_others=lambda query: bool(query.graph),
    parts=(
        Part("table", answers.KernelQuery, answers.KernelTable, window),
        Part("row", answers.KernelRowQuery, answers.KernelDetails, details),
        Part("graph", answers.GraphQuery, answers.GraphPage, graph_page, reads_others=True),
        Part("nodes", answers.NodeQuery, answers.NodeTable, node_table, reads_others=True),
    ),
)
