"""Module: which modules ran, what did each cost, and what belongs to none?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from ...analysis.facts import Facts
from ...analysis.modules.artifact import MODULES
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
from ...analysis.steps import Scope, scope_of
from ...base.errors import QueryError
from ...base.units import duration, share
from ...trace.recipes import FRAMES, with_option
from ..origins import modules_of
from ..shared import Flame, flame_of, outside_words, time_per_step
from ..table import Table, heads, table_from
from ..view import Part, Subject, View
from . import contract as answers
from .rows import ModuleRow
from .tree import TreeRows, tree_rows

_HOW_TO_RECORD = (
    "No module was recorded: {}, which names every `nn.Module` call, or without stacks: give our"
    " trace handler the model, `tensorboard_trace_handler(dir, modules=model)`."
)
_MOST = 0.9  # one module with this share of what is around it is not yet the answer
_ASIDE = 0.01  # less overlap than this share of all work is not worth a sentence
_FEW = 0.5  # less of the time in modules than this, and the answer is where the rest is

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
                "Kernels of a graph replay that no module launched. Modules launch the work of a"
                " graph only during its capture."
            ),
        ),
        Outside.OTHER: ("outside modules", "Ops and calls with no module around them."),
        Outside.PROLOGUE: (
            "launched before the recording",
            "The profiler started after its launch, so the module that launched it is not known.",
        ),
        Outside.UNLINKED: ("not linked to a launch", "The file links it to no call and no op."),
        Outside.NOTHING: ("after the last work", "Nothing followed in the step."),
    }
)


def build(subject: Subject, query: answers.ModulesQuery) -> answers.Modules:
    """The modules of the chosen steps. Raises QueryError."""
    columns = modules_of(subject, subject.artifact(""))
    rows = tree_rows(subject, query.steps)
    scope = scope_of(subject.facts, query.steps)
    steps = scope.steps
    outside = outside_of(columns, steps)
    figures = rows.figures
    device = idle = busy_ns = None
    if rows.has_device:
        busy_ns = device_busy_ns(columns, steps)
        modules_ns = int(figures.device_self_ns.sum())
        device = _whole(modules_ns, ((one, one.device_ns) for one in outside))
        idle_ns = sum(int(figures.idle_ns[root]) for root in rows.inside.get(NONE, ()))
        idle = _whole(idle_ns, ((one, one.idle_ns) for one in outside))
    ops = _whole(int(figures.op_self_ns.sum()), ((one, one.op_ns) for one in outside))
    again = int(rows.by_phase[Phase.RECOMPUTE, rows.inside.get(NONE, [])].sum())
    recompute = again / rows.whole if rows.whole else 0.0
    whole = device or ops
    return answers.Modules(
        headline=_headline(rows, whole),
        detail=_detail(
            recompute,
            device,
            busy_ns,
            _left_out(columns, scope, whole, rows),
            scope.divisor(subject.facts),
        ),
        source=SOURCES.get(columns.source, ""),
        time="device" if rows.has_device else "op",
        step_count=scope.count(subject.facts),
        device=device,
        ops=ops,
        idle=idle,
        busy_ns=busy_ns,
        table=rows.table(query),
        roots=rows.roots(),
        recompute_ratio=recompute,
        never_called=columns.never_called,
        missing=dict(columns.missing),
    )


def table(subject: Subject, query: answers.ModulesQuery) -> answers.ModuleTable:
    """The rows, or those inside a row. Raises QueryError."""
    return tree_rows(subject, query.steps).table(query)


def row(subject: Subject, query: answers.ModuleRowQuery) -> ModuleRow:
    """One module. Raises QueryError."""
    return tree_rows(subject, query.steps).one(query.module)


def flame(subject: Subject, query: answers.ModuleFlameQuery) -> Flame:
    """The icicle of all modules, or of one. Raises QueryError."""
    rows = tree_rows(subject, query.steps)
    if query.root >= len(rows.tree):
        raise QueryError("root: there is no such module", hint="Take the node of a box.")
    missing = rows.columns.missing.get("device", "") if query.metric in ("device", "idle") else ""
    tree = flame_tree_of(rows.columns, rows.figures, query.metric, query.root)
    return flame_of(tree, "ns", query.min_ratio, query.focus, missing, in_order=True)


def _whole(modules_ns: int, outside: Iterable[tuple[OutsideFigures, int]]) -> answers.ModuleWhole:
    others = [(one.reason, ns) for one, ns in outside if ns]
    total = modules_ns + sum(ns for _, ns in others)

    def part(key: str, name: str, ns: int, help_: str) -> answers.ModulePart:
        return answers.ModulePart(key, name, ns, ns / total if total else 0.0, help_)

    parts = [part("modules", "modules", modules_ns, "Work of modules.")]
    for reason, ns in others:
        name, help_ = _PARTS[reason]
        parts.append(part(reason.name.lower(), name, ns, help_))
    return answers.ModuleWhole(total, modules_ns, tuple(parts))


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


def _left_out(
    columns: ModuleColumns, scope: Scope, whole: answers.ModuleWhole, rows: TreeRows
) -> str:
    """Time outside of the steps."""
    figure = "device_ns" if rows.has_device else "op_ns"
    recorded = sum(int(getattr(one, figure).sum()) for one in (columns.sums, columns.outside))
    noun = "device time" if rows.has_device else "time of ops"
    return outside_words(scope, noun, recorded, whole.total_ns)


def _detail(
    recompute: float,
    whole: answers.ModuleWhole | None,
    busy_ns: int | None,
    outside: str,
    steps: int,
) -> str:
    """Recomputed time, parallel time, and time outside of the steps."""
    found = []
    if recompute:
        ratio = share(recompute)
        found.append(f"{ratio} of the time in modules is recomputed in the backward pass.")
    if whole is not None and busy_ns is not None and busy_ns < (1 - _ASIDE) * whole.total_ns:
        found.append(
            f"Kernels overlap: their durations sum to {time_per_step(whole.total_ns, steps)}, the"
            f" device is busy for {duration(busy_ns // steps)}."
        )
    return " ".join([*found, outside] if outside else found)


def tables(answer: answers.Modules) -> tuple[Table, ...]:
    """The tree, and the parts that sum to all device time, to all time of ops, to the idle time."""
    table = answer.table
    wholes = (
        ("Device time", answer.device),
        ("Time of ops", answer.ops),
        ("Idle time before work", answer.idle),
    )
    return (
        table_from(
            "Modules",
            table.columns,
            table.rows,
            table.count,
            step_count=table.step_count,
            name=_in_tree,
        ),
        *(
            table_from(title, heads(answers.ModulePart), whole.parts, step_count=table.step_count)
            for title, whole in wholes
            if whole is not None and whole.total_ns
        ),
    )


def _in_tree(row: ModuleRow) -> str:
    """The name of a row, below the one around it."""
    return "  " * row.depth + row.name + (f" × {row.members}" if row.members > 1 else "")


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
    lends=True,
    artifact=MODULES,
    parts=(
        Part("table", answers.ModulesQuery, answers.ModuleTable, table),
        Part("row", answers.ModuleRowQuery, ModuleRow, row),
        Part("flame", answers.ModuleFlameQuery, Flame, flame),
    ),
)
