"""Module: which modules ran, what did each cost, and what belongs to none?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from ...analysis.facts import Facts
from ...analysis.modules import artifact
from ...analysis.modules.figures import (
    OutsideFigures,
    alike,
    device_busy_ns,
    flame_tree_of,
    kind_of,
    outside_of,
)
from ...analysis.modules.model import NONE, ModuleColumns, Outside, Phase
from ...analysis.modules.sources import SOURCES
from ...analysis.recording import not_recorded
from ...base.artifact_spec import ArtifactSpec
from ...base.errors import QueryError
from ...base.units import duration, share
from ...trace.recipes import FRAMES, with_option
from ..shared import Flame, flame_of, steps_of
from ..table import Column, ColumnKind, Table
from ..view import Part, Subject, View
from . import contract as answers
from .rows import TreeRows, tree_rows

_HOW_TO_RECORD = (
    "No module was recorded: {}, which names every `nn.Module` call, or without stacks: give our"
    " trace handler the model, `tensorboard_trace_handler(dir, modules=model)`."
)
_MOST = 0.9  # one module with this share of what is around it is not yet the answer
_ASIDE = 0.01  # less overlap than this share of all work is not worth a sentence
_FEW = 0.5  # less of the time in modules than this, and the answer is where the rest is

DEFINITIONS: Mapping[str, str] = MappingProxyType(
    {
        "name": "The instance as the recording names it, or its name in the model. “× 4” stands for"
        " four siblings of equal type and structure.",
        "calls": "How often it was called in the forward pass.",
        "recompute_calls": "How often it was called again inside the backward pass, as activation"
        " checkpointing does.",
        "ops": "Ops in it and in the modules inside it; those inside other ops do not count.",
        "kernels": "Kernels, copies and sets that it launched, with the modules inside it.",
        "total_ns": "Device time of what it and the modules inside it launched, forward, backward"
        " and recompute; without device activity the own time of their ops. Sums of durations.",
        "self_ns": "The same without the modules inside it.",
        "busy_ns": "How long a device ran work of it or of the modules inside it: where kernels run"
        " side by side an instant counts once, on each device and in each step. Of several siblings"
        " the sum of theirs.",
        "forward_ns": "Of the total, what ran in the forward pass.",
        "backward_ns": "Of the total, what autograd ran for the ops of the forward pass.",
        "recompute_ns": "Of the total, what ran because it was called again inside the backward"
        " pass.",
        "ratio": "Of the time of all modules.",
        "host_total_ns": "Length of its calls in the forward pass, on the host.",
        "host_self_ns": "The same without the calls of modules inside it.",
        "host_recompute_ns": "Length of its calls inside the backward pass, on the host.",
        "mean_ns": "Mean length of a call in the forward pass, on the host.",
        "op_total_ns": "Own time of ops and of runtime calls on the host, forward, backward and"
        " recompute, with the modules inside it.",
        "idle_ns": "A device was idle, and what it ran next belongs to this module or to one inside"
        " it.",
        "flops": "Floating point operations of its ops by models of ops and shapes, forward,"
        " backward and recompute, with the modules inside it. Ops without a model count nothing.",
        "born_bytes": "Allocated by its ops and those of the modules inside it, forward, backward"
        " and recompute: on accelerators, or on the host where none allocated.",
        "kept_bytes": "Of what is allocated in its calls, the part that is not released as the"
        " innermost call ends: what it returns, and what it keeps for the backward pass.",
        "spread": "Total of the smallest, the median and the largest of the siblings.",
        "outlier": "Of three siblings or more, the one farthest from their median: by more than 3.5"
        " deviations and 5 %.",
        "qualified": "Name in the model, as `named_modules()` has it.",
    }
)

_PARTS: Mapping[Outside, tuple[str, str]] = MappingProxyType(
    {
        Outside.COMMUNICATION: ("communication", "Collectives that no module called."),
        Outside.OPTIMIZER: ("optimizer", "The optimizer's step and `zero_grad`."),
        Outside.BACKWARD: (
            "backward outside modules",
            (
                "Work of autograd for an op that no module called, such as a functional loss, or"
                " whose forward op is not recorded."
            ),
        ),
        Outside.GRAPH: (
            "replayed graphs",
            (
                "Kernels of a graph replay that no module launched. What a graph holds was launched"
                " when it was captured."
            ),
        ),
        Outside.OTHER: ("outside modules", "Ops and calls with no module around them."),
        Outside.PROLOGUE: (
            "launched before the recording",
            "Its launch lies before the recording began.",
        ),
        Outside.UNLINKED: ("not linked to a launch", "The file links it to no call and no op."),
        Outside.NOTHING: ("after the last work", "Nothing followed in the step."),
    }
)


def build(subject: Subject, query: answers.ModulesQuery) -> answers.Modules:
    """The modules of the chosen steps. Raises QueryError."""
    columns: ModuleColumns = subject.artifact("")
    rows = tree_rows(subject, query.steps)
    steps = steps_of(subject.facts, query.steps)
    outside = outside_of(columns, steps)
    figures = rows.figures
    device = idle = busy_ns = None
    if rows.has_device:
        busy_ns = device_busy_ns(columns, steps)
        modules_ns = int(figures.device_own_ns.sum())
        device = _whole(modules_ns, ((one, one.device_ns) for one in outside))
        idle_ns = sum(int(figures.idle_ns[root]) for root in rows.inside.get(NONE, ()))
        idle = _whole(idle_ns, ((one, one.idle_ns) for one in outside))
    ops = _whole(int(figures.op_own_ns.sum()), ((one, one.op_ns) for one in outside))
    again = int(rows.by_phase[Phase.RECOMPUTE, rows.inside.get(NONE, [])].sum())
    recompute = again / rows.whole if rows.whole else 0.0
    whole = device or ops
    return answers.Modules(
        headline=_headline(rows, whole),
        detail=_detail(recompute, device, busy_ns),
        source=SOURCES.get(columns.source, ""),
        time="device" if rows.has_device else "op",
        step_count=len(subject.facts.steps) if steps is None else len(steps),
        device=device,
        ops=ops,
        idle=idle,
        busy_ns=busy_ns,
        table=rows.table(query),
        roots=rows.roots(),
        recompute_ratio=recompute,
        never_called=columns.never_called,
        missing=dict(columns.missing),
        definitions=dict(DEFINITIONS),
    )


def table(subject: Subject, query: answers.ModulesQuery) -> answers.ModuleTable:
    """The rows, or those inside a row. Raises QueryError."""
    return tree_rows(subject, query.steps).table(query)


def row(subject: Subject, query: answers.ModuleRowQuery) -> answers.ModuleRow:
    """One module. Raises QueryError."""
    return tree_rows(subject, query.steps).one(query.module)


def flame(subject: Subject, query: answers.ModuleFlameQuery) -> Flame:
    """The icicle of all modules, or of one. Raises QueryError."""
    rows = tree_rows(subject, query.steps)
    if query.root >= len(rows.tree):
        raise QueryError("root: there is no such module", hint="Take the node of a box.")
    missing = rows.columns.missing.get("device", "") if query.metric in ("device", "idle") else ""
    tree = flame_tree_of(rows.columns, rows.figures, query.metric, query.root)
    return flame_of(tree, "ns", query.min_ratio, query.focus, missing)


def _whole(modules_ns: int, outside: Iterable[tuple[OutsideFigures, int]]) -> answers.ModuleWhole:
    parts = [answers.ModulePart("modules", "modules", modules_ns, "Work of modules.")]
    for one, ns in outside:
        name, help_ = _PARTS[one.reason]
        if ns:
            parts.append(answers.ModulePart(one.reason.name.lower(), name, ns, help_))
    return answers.ModuleWhole(sum(part.ns for part in parts), modules_ns, tuple(parts))


def _headline(rows: TreeRows, whole: answers.ModuleWhole) -> str:
    """The largest module or group of equal modules, or where the time is if not in modules."""
    what = "device time" if rows.has_device else "time of ops"
    if not whole.total_ns:
        return f"No {what} was recorded in the chosen steps."
    if whole.modules_ns < _FEW * whole.total_ns:
        most = max(whole.parts[1:], key=lambda part: part.ns)
        return (
            f"Modules account for {share(whole.modules_ns / whole.total_ns)} of the {what};"
            f" {share(most.ns / whole.total_ns)} is {most.name}."
        )
    siblings = list(rows.inside.get(NONE, ()))
    around = NONE
    while siblings:
        total = sum(int(rows.total[one]) for one in siblings)
        first = max(siblings, key=lambda one: int(rows.total[one]))
        inner = rows.inside.get(first, [])
        held = sum(int(rows.total[one]) for one in inner)
        if not inner or rows.total[first] < _MOST * total or held < _FEW * rows.total[first]:
            break
        around, siblings = first, inner
    groups = alike(siblings, rows.shapes)
    largest = max(groups, key=lambda group: sum(int(rows.total[one]) for one in group))
    ratio = sum(int(rows.total[one]) for one in largest) / rows.whole
    if len(largest) > 1:
        type_ = kind_of(rows.tree, rows.columns.strings, largest[0])
        inside = f" in {rows.text(rows.tree.name, around)}" if around >= 0 else ""
        return f"{len(largest)} × {type_}{inside}: {share(ratio)} of the {what} in modules."
    name = rows.text(rows.tree.qualified, largest[0]) or rows.text(rows.tree.name, largest[0])
    return f"{name} takes {share(ratio)} of the {what} in modules."


def _detail(recompute: float, whole: answers.ModuleWhole | None, busy_ns: int | None) -> str:
    """What is computed twice, and how much runs side by side."""
    found = []
    if recompute:
        ratio = share(recompute)
        found.append(f"{ratio} of the time in modules is recomputed in the backward pass.")
    if whole is not None and busy_ns is not None and busy_ns < (1 - _ASIDE) * whole.total_ns:
        found.append(
            f"Work overlaps: all of it takes {duration(whole.total_ns)}, in which the device is"
            f" busy for {duration(busy_ns)}."
        )
    return " ".join(found)


def tables(answer: answers.Modules) -> tuple[Table, ...]:
    """The tree, and the parts that sum to all device time, to all time of ops, to the idle time."""
    rows = tuple(
        (
            "  " * row.depth + row.name + (f" × {row.members}" if row.members > 1 else ""),
            *(getattr(row, field) for field, _ in _COLUMNS),
        )
        for row in answer.table.rows
    )
    columns = (
        Column("name", "Module", DEFINITIONS["name"], "name"),
        *(column for _, column in _COLUMNS),
    )
    found = [Table("Modules", columns, rows, answer.table.count)]
    for title, whole in (
        ("Device time", answer.device),
        ("Time of ops", answer.ops),
        ("Idle time before work", answer.idle),
    ):
        if whole is not None and whole.total_ns:
            parts = tuple((part.name, part.ns, part.ns / whole.total_ns) for part in whole.parts)
            columns = (Column("part", "Part"), Column("ns", "Time"), Column("ratio", "Share"))
            found.append(Table(title, columns, parts))
    return tuple(found)


def _column(field: str, label: str, *, is_minor: bool = False) -> tuple[str, Column]:
    kind: ColumnKind = "path" if field == "path" else "name" if field == "type" else "value"
    return field, Column(field, label, DEFINITIONS.get(field, ""), kind, is_minor)


_COLUMNS = (
    _column("calls", "Calls"),
    _column("ops", "Operators"),
    _column("total_ns", "Total"),
    _column("self_ns", "Self"),
    _column("busy_ns", "Busy"),
    _column("forward_ns", "Forward"),
    _column("backward_ns", "Backward"),
    _column("recompute_ns", "Recompute"),
    _column("ratio", "Share"),
    _column("host_total_ns", "Host total"),
    _column("host_self_ns", "Host self"),
    _column("idle_ns", "Idle before"),
    _column("kernels", "Kernels", is_minor=True),
    _column("recompute_calls", "Recompute calls", is_minor=True),
    _column("host_recompute_ns", "Host recompute", is_minor=True),
    _column("mean_ns", "Mean call", is_minor=True),
    _column("op_total_ns", "Ops", is_minor=True),
    _column("flops", "FLOPs", is_minor=True),
    _column("born_bytes", "Allocated", is_minor=True),
    _column("kept_bytes", "Kept", is_minor=True),
    _column("members", "Members", is_minor=True),
    _column("least_ns", "Least", is_minor=True),
    _column("median_ns", "Median", is_minor=True),
    _column("most_ns", "Most", is_minor=True),
    _column("outlier", "Outlier", is_minor=True),
    _column("type", "Type", is_minor=True),
    _column("qualified", "Name in the model", is_minor=True),
    _column("path", "Path", is_minor=True),
)


def unavailable(facts: Facts) -> str | None:
    """Why there is no module, and how to record them."""
    if facts.recording.modules:
        return None
    how = _HOW_TO_RECORD.format(with_option(FRAMES, facts.torch_era))
    return not_recorded("module", how, facts.torch_era)


VIEW = View(
    stem="modules",
    title="Module",
    key="l",
    question="Which modules ran, what did each cost, and what belongs to none?",
    query=answers.ModulesQuery,
    answer=answers.Modules,
    build=build,
    tables=tables,
    unavailable=unavailable,
    artifact=ArtifactSpec(artifact.NAME, artifact.MAKE, artifact.open_modules),
    parts=(
        Part("table", answers.ModulesQuery, answers.ModuleTable, table),
        Part("row", answers.ModuleRowQuery, answers.ModuleRow, row),
        Part("flame", answers.ModuleFlameQuery, Flame, flame),
    ),
)
