"""Operator: which operations take the time, on the host and on the device, and who calls them?"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..analysis.facts import Facts
from ..analysis.operators import artifact
from ..analysis.operators.credit import REASONS
from ..analysis.operators.model import CallKind, Operators
from ..analysis.operators.search import NamesFound, in_steps, names_found
from ..analysis.operators.table import CallTable, Chosen, call_table
from ..trace.model import DeviceClass
from . import operators_answers as answers
from .groups import share_parts, steps_of
from .operators_details import details
from .operators_flame import around, flame, folded_name, folded_stacks
from .operators_rows import rows_of, sort_named, table_of, wall_of
from .operators_text import DEFINITIONS, tables, words
from .view import Artifact, Part, Scope, Subject, View

NO_EVENTS = "The file holds no event that lasts, so there is no operator to show."
_NEEDS = {"shape": "shapes", "stack": "stacks", "module": "stacks"}
Stem = Literal["device_self", "device_total", "host_self", "host_total"]
# Stem, title, column, and the column that sums to the whole: totals hold what is inside them.
_CHARTS: tuple[tuple[Stem, str, str, str], ...] = (
    ("device_self", "Device self time", "device_self_ns", "device_self_ns"),
    ("device_total", "Device total time", "device_total_ns", "device_self_ns"),
    ("host_self", "Host self time", "self_ns", "self_ns"),
    ("host_total", "Host total time", "total_ns", "self_ns"),
)
OPS = frozenset({CallKind.OP})


def build(subject: Subject, query: answers.OperatorQuery) -> answers.Operators:
    """The operators of the chosen steps. Raises QueryError."""
    operators: Operators = subject.artifact("")
    facts = subject.facts
    steps = steps_of(facts, query.steps)
    by_name = call_table(operators, Chosen(steps, OPS))
    chosen = np.flatnonzero(in_steps(operators.activities.step, steps))
    has_device = bool(len(operators.activities))
    coverage = flops_coverage(operators, chosen) if has_device else None
    said = words(by_name, has_device=has_device)
    return answers.Operators(
        headline=said.headline,
        detail=said.detail,
        step_count=len(facts.steps) if steps is None else len(steps),
        charts=_charts(by_name, query.parts, has_device=has_device),
        table=window(subject, query),
        device_ns=int(operators.activities.dur_ns[chosen].sum()) if has_device else None,
        unattributed=_unattributed(operators, chosen),
        flops_coverage=coverage,
        flops_missing=operators.missing.get("flops", "")
        or ("" if coverage else operators.missing.get("shapes", "")),
        groupings={
            grouping: operators.missing.get(_NEEDS.get(grouping, ""), "")
            for grouping in ("name", "shape", "stack", "module", "thread", "annotation")
        },
        missing=dict(operators.missing),
        definitions=DEFINITIONS,
    )


def window(subject: Subject, query: answers.OperatorQuery) -> answers.OperatorTable:
    """A window of the table. Raises QueryError."""
    operators: Operators = subject.artifact("")
    table = table_of(operators, subject.facts, query)
    sort_by = sort_named(query.sort_by, operators)
    order = table.order(sort_by, ascending=query.ascending)
    wall_ns = wall_of(subject.facts, steps_of(subject.facts, query.steps))
    has_device = bool(len(operators.activities))
    return answers.OperatorTable(
        rows=rows_of(table, order[query.offset : query.offset + query.limit], wall_ns),
        offset=query.offset,
        count=len(table),
        calls=int(table.count.sum()),
        self_ns=int(table.self_ns.sum()),
        device_self_ns=int(table.device_self_ns.sum()) if has_device else None,
        sort_by=sort_by,
    )


def _charts(table: CallTable, most: int, *, has_device: bool) -> tuple[answers.ShareChart, ...]:
    return tuple(
        _chart(table, stem, title, (column, whole), most)
        for stem, title, column, whole in _CHARTS
        if has_device or stem.startswith("host")
    )


def _chart(
    table: CallTable, stem: Stem, title: str, columns: tuple[str, str], most: int
) -> answers.ShareChart:
    column, whole = columns
    value: NDArray[np.int64] = getattr(table, column)
    order = table.order(column, ascending=False)
    order = order[value[order] > 0]
    total = int(getattr(table, whole).sum())
    top, rest = order[:most], order[most:]
    return answers.ShareChart(
        stem=stem,
        title=title,
        definition=DEFINITIONS[column],
        total_ns=total,
        parts=share_parts(table, value, top.tolist(), total),
        rest_ns=int(value[rest].sum()),
        rest_count=len(rest),
    )


def find(subject: Subject, query: answers.FindQuery) -> answers.FindAnswer:
    """What is called so: ops, annotations and kernels, the best matches of each."""
    operators: Operators = subject.artifact("")
    return answers.FindAnswer(
        tuple(
            _names_of(operators, kind, names_found(operators, kind, query.search, query.limit))
            for kind in ("op", "annotation", "kernel")
        )
    )


def _names_of(
    operators: Operators, kind: Literal["op", "annotation", "kernel"], found: NamesFound
) -> answers.NamesOfKind:
    sums = operators.sums_by_name[kind]
    rows = (
        answers.NameFound(
            operators.strings[code], str(code), int(sums.count[code]), int(sums.ns[code])
        )
        for code in found.codes.tolist()
    )
    return answers.NamesOfKind(kind, tuple(rows), found.count)


def _unattributed(
    operators: Operators, chosen: NDArray[np.intp]
) -> tuple[answers.Unattributed, ...]:
    activities = operators.activities
    lost = chosen[activities.call[chosen] < 0]
    found = []
    for code, reason in enumerate(REASONS):
        rows = lost[activities.reason[lost] == code]
        if not len(rows):
            continue
        longest = int(rows[activities.dur_ns[rows].argmax()])
        found.append(
            answers.Unattributed(
                reason=reason,
                ns=int(activities.dur_ns[rows].sum()),
                activities=len(rows),
                example=operators.strings[int(activities.name[longest])],
                slice=operators.first_slice + longest,
            )
        )
    return tuple(found)


def flops_coverage(operators: Operators, chosen: NDArray[np.intp]) -> float | None:
    """Share of the device compute time whose op has a model; None where nothing computes."""
    activities, calls = operators.activities, operators.calls
    compute = chosen[activities.klass[chosen] == DeviceClass.COMPUTE]
    whole = int(activities.dur_ns[compute].sum())
    owned = compute[activities.call[compute] >= 0]
    modelled = owned[~np.isnan(calls.flops[activities.call[owned]])]
    return int(activities.dur_ns[modelled].sum()) / whole if whole else None


def unavailable(facts: Facts) -> str | None:
    """Why there is no operator."""
    return None if facts.steps else NO_EVENTS


VIEW = View(
    stem="operators",
    title="Operator",
    key="p",
    question="Which operations take the time, and who calls them?",
    scope=Scope.TRACE,
    query=answers.OperatorQuery,
    answer=answers.Operators,
    build=build,
    tables=tables,
    unavailable=unavailable,
    artifact=Artifact(artifact.NAME, artifact.MAKE, artifact.open_operators),
    parts=(
        Part("table", answers.OperatorQuery, answers.OperatorTable, window),
        Part("find", answers.FindQuery, answers.FindAnswer, find),
        Part("row", answers.RowQuery, answers.OperatorDetails, details),
        Part("flame", answers.FlameGraphQuery, answers.Flame, flame),
        Part("around", answers.SandwichQuery, answers.Sandwich, around),
        Part("folded", answers.FoldedQuery, None, folded_stacks, folded_name),
    ),
)
