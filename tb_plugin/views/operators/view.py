"""Operator: which operations take the time, on the host and on the device, and what calls them?

Besides the answer of the view: its sentence, its definitions, its tables in a terminal.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Literal, NamedTuple

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from ...analysis.call_tree.flame import FlameNode, FlameTree, folded, inverted, pruned, sandwich
from ...analysis.facts import Facts
from ...analysis.operators.artifact import OPERATORS
from ...analysis.operators.credit import REASONS
from ...analysis.operators.flame import KERNEL, KIND_NAMES, flame_tree, waiting_threads
from ...analysis.operators.groups import NamesFound, in_steps, names_found
from ...analysis.operators.model import CallKind, OperatorColumns
from ...analysis.operators.short_names import short_names
from ...analysis.operators.table import GROUPINGS, CallSelection, CallTable, call_table
from ...analysis.recording import not_recorded
from ...analysis.steps import Scope, scope_of
from ...base.errors import NotFoundError
from ...base.units import plural, share
from ...trace.model import DeviceClass
from ..legend import core_words, cores_name
from ..origins import light_of, operators_of, origin_words, origins_of
from ..shared import Flame, flame_of, outside_words, share_parts, steps_of, time_and_count
from ..table import Table, heads, help_of, rows_from, shown, table_from
from ..view import Part, Subject, View
from . import contract as answers
from .contract import (
    FlameGraphQuery,
    FoldedQuery,
    Operators,
    Sandwich,
    SandwichQuery,
)
from .details import details
from .rows import OperatorRow, grouping_of, kinds_named, of_clock, sort_named, table_of


class Words(NamedTuple):
    """The answer in words."""

    headline: str
    detail: str


def words(
    table: CallTable, ops: NDArray[np.intp], facts: Facts, steps: int, *, has_device: bool
) -> Words:
    """The operator that takes most time, in one sentence; ``ops`` are the rows of operators."""
    column = "device_self_ns" if has_device else "self_ns"
    value = np.maximum(getattr(table, column), 0)
    if not value[ops].any():
        none = not_recorded("operator", "No operator was recorded.", facts.torch_era)
        return Words(none, "")
    order = _by(table, column, ops)
    first, of_ops = int(order[0]), int(value[order].sum())
    whole = table.whole_device_self_ns if has_device else table.whole_self_ns
    where = "device" if has_device else "host"
    name = table.text(int(table.name[first])) or "(no name)"
    if table.calls.kind[table.sample[first]] == CallKind.RUNTIME:
        return _by_a_call(table, first, whole, steps)
    half = int((value[order].cumsum() < of_ops / 2).sum()) + 1
    return Words(
        f"{name} takes {share(int(value[first]) / whole)} of the {where} time"
        f"{_of_whole(has_device, table)}.",
        f"{time_and_count(int(value[first]), int(table.count[first]), 'call', steps)}; "
        f"{half} of {plural(len(ops), 'operator')} "
        f"{'takes' if half == 1 else 'take'} half of the operators' {where} time.",
    )


def _of_whole(has_device: bool, table: CallTable) -> str:
    """Clause that limits the time of the sentence to launched work, if other work exists."""
    if not has_device:
        return ""
    activities = table.operators.activities
    recorded = int(activities.dur_ns[in_steps(activities.step, table.steps)].sum())
    return " that calls launched" if recorded > table.whole_device_self_ns else ""


def _by(table: CallTable, column: str, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Some rows of a table, the largest of a column first."""
    order = table.order(column, ascending=False)
    return order[np.isin(order, rows)]


def _op_rows(table: CallTable) -> NDArray[np.intp]:
    """Rows of operators, and of runtime calls outside of them that launched device work."""
    kind = table.calls.kind[table.sample]
    launches = (kind == CallKind.RUNTIME) & (table.device_self_ns > 0)
    return np.flatnonzero((kind == CallKind.OP) | launches)


def _by_a_call(table: CallTable, first: int, whole: int, steps: int) -> Words:
    """The sentence where calls of the runtime, not operators, launched most device time."""
    name = table.text(int(table.name[first])) or "(no name)"
    part = share(int(table.device_self_ns[first]) / whole)
    spent_ns, count = int(table.device_self_ns[first]), int(table.count[first])
    how = f"`{name}`: {time_and_count(spent_ns, count, 'call', steps)}"
    if "GraphLaunch" in name:
        return Words(
            f"Graphs launch {part} of the device time and hide its operators.",
            f"{how}. The Kernel view shows what ran.",
        )
    return Words(
        f"`{name}`, called outside of operators, launches {part} of the device time.",
        f"{how}. The Kernel view shows what ran.",
    )


def tables(answer: Operators) -> tuple[Table, ...]:
    """The rows with every column of the page, and with the shares that key_averages() prints."""
    found = [
        table_from(
            "Operators",
            answer.table.columns,
            answer.table.rows,
            answer.table.count,
            step_count=answer.table.step_count,
            detail=lambda row: row.detail.replace("\n", " ‹ ") or None,
        )
    ]
    if answer.unattributed:
        lost = table_from(
            "Unattributed",
            answer.unattributed_columns,
            answer.unattributed,
            step_count=answer.table.step_count,
        )
        found.append(lost)
    return tuple(found)


NO_EVENTS = "The file holds no event that lasts, so there is no operator to show."
_NEEDS = {"shape": "shapes", "stack": "stacks", "line": "stacks", "module": "modules"}
Stem = Literal["device_self", "device_total", "host_self", "host_total"]
_CHARTS: tuple[tuple[Stem, str, str], ...] = (
    ("device_self", "Device self time", "device_self_ns"),
    ("device_total", "Device total time", "device_total_ns"),
    ("host_self", "Host self time", "self_ns"),
    ("host_total", "Host total time", "total_ns"),
)


def build(subject: Subject, query: answers.OperatorQuery) -> answers.Operators:
    """The operators of the chosen steps. Raises QueryError."""
    origins = origins_of(subject)
    operators, facts = origins.operators, subject.facts
    scope = scope_of(facts, query.steps)
    kinds = kinds_named(query.kinds) | {CallKind.OP}
    table = _lit(subject, table_of(operators, facts, query))
    # What is charted is in the table already, unless other calls or groups were asked for.
    is_charted = not query.search and grouping_of(query)[0] == "name"
    by_name = table
    if not is_charted or kinds_named(query.kinds) != kinds:
        by_name = call_table(operators, CallSelection(scope.steps, kinds))
    ops = _op_rows(by_name)
    chosen = np.flatnonzero(in_steps(operators.activities.step, scope.steps))
    has_device = bool(len(operators.activities))
    coverage = flops_coverage(operators, chosen) if has_device else None
    headline, detail = words(by_name, ops, facts, scope.divisor(facts), has_device=has_device)
    outside = _outside(operators, scope, chosen)
    cores = cores_name(facts.devices)
    graphs = origin_words(origins, facts)
    return answers.Operators(
        headline=headline,
        detail=" ".join(text for text in (detail, graphs, outside) if text),
        step_count=scope.count(facts),
        charts=tuple(
            _chart(by_name, ops, one, query.parts)
            for one in _CHARTS
            if has_device or one[0].startswith("host")
        ),
        table=_window(subject, query, table),
        device_ns=int(operators.activities.dur_ns[chosen].sum()) if has_device else None,
        unattributed_columns=heads(answers.Unattributed),
        unattributed=_unattributed(operators, chosen),
        flops_coverage=coverage,
        flops_missing=operators.missing.get("flops", "")
        or ("" if coverage else operators.missing.get("shapes", "")),
        cores_name=cores,
        groupings={
            grouping: operators.missing.get(_NEEDS.get(grouping, ""), "") for grouping in GROUPINGS
        },
        missing=dict(operators.missing),
    )


def window(subject: Subject, query: answers.OperatorQuery) -> answers.OperatorTable:
    """A window of the table. Raises QueryError."""
    return _window(
        subject, query, _lit(subject, table_of(operators_of(subject), subject.facts, query))
    )


def _lit(subject: Subject, table: CallTable) -> CallTable:
    """The table with the light of ops. Calls of one name are ops on whatever device they ran."""
    if table.group_by != "name":
        return table
    return structs.replace(table, light=light_of(subject, "op", table.steps, None))


def _window(
    subject: Subject, query: answers.OperatorQuery, table: CallTable
) -> answers.OperatorTable:
    operators = table.operators
    sort_by = sort_named(query.sort_by, operators)
    order = table.order(sort_by, ascending=query.ascending)
    has_device = bool(len(operators.activities))
    cores = cores_name(subject.facts.devices)
    return answers.OperatorTable(
        columns=of_clock(
            shown(heads(OperatorRow, table), lambda text: core_words(text, cores)), sort_by
        ),
        rows=rows_from(OperatorRow, table, order[query.offset : query.offset + query.limit]),
        offset=query.offset,
        count=len(table),
        calls=int(table.count.sum()),
        self_ns=int(table.self_ns.sum()),
        device_self_ns=int(table.device_self_ns.sum()) if has_device else None,
        sort_by=sort_by,
        step_count=len(table.steps or ()),
    )


def _outside(operators: OperatorColumns, scope: Scope, chosen: NDArray[np.intp]) -> str:
    """Time outside of the steps: of the device if one was recorded."""
    dur_ns, calls = operators.activities.dur_ns, operators.calls
    if len(dur_ns):
        spent = int(dur_ns[chosen].sum())
        return outside_words(scope, "device time", int(dur_ns.sum()), spent)
    own_ns = np.where(calls.kind == CallKind.OP, np.maximum(calls.own_ns, 0), 0)
    spent = int(own_ns[in_steps(calls.step, scope.steps)].sum())
    return outside_words(scope, "operators' host time", int(own_ns.sum()), spent)


def _chart(
    table: CallTable, ops: NDArray[np.intp], about: tuple[Stem, str, str], most: int
) -> answers.ShareChart:
    stem, title, column = about
    value: NDArray[np.int64] = getattr(table, column)
    order = _by(table, column, ops)
    order = order[value[order] > 0]
    on_device = stem.startswith("device")
    total = table.whole_device_self_ns if on_device else table.whole_self_ns
    others = total - int(value[order].sum()) if stem.endswith("self") else 0
    top, rest = order[:most], order[most:]
    return answers.ShareChart(
        stem=stem,
        title=title,
        definition=help_of(OperatorRow, column),
        total_ns=total,
        parts=share_parts(table, value, top.tolist(), total),
        rest_ns=int(value[rest].sum()),
        rest_count=len(rest),
        others_ns=others,
    )


def find(subject: Subject, query: answers.FindQuery) -> answers.FindAnswer:
    """Matching ops, annotations and kernels, the best matches of each."""
    operators = operators_of(subject)
    return answers.FindAnswer(
        tuple(
            _names_of(operators, kind, names_found(operators, kind, query.search, query.limit))
            for kind in ("op", "annotation", "kernel")
        )
    )


def _names_of(
    operators: OperatorColumns, kind: Literal["op", "annotation", "kernel"], found: NamesFound
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
    operators: OperatorColumns, chosen: NDArray[np.intp]
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
                device_ns=int(activities.dur_ns[rows].sum()),
                activities=len(rows),
                example=operators.strings[int(activities.name[longest])],
                slice=operators.first_slice + longest,
            )
        )
    return tuple(found)


def flops_coverage(operators: OperatorColumns, chosen: NDArray[np.intp]) -> float | None:
    """Share of the device compute time whose op has a model; None without compute time."""
    activities, calls = operators.activities, operators.calls
    compute = chosen[activities.klass[chosen] == DeviceClass.COMPUTE]
    whole = int(activities.dur_ns[compute].sum())
    owned = compute[activities.call[compute] >= 0]
    modelled = owned[~np.isnan(calls.flops[activities.call[owned]])]
    return int(activities.dur_ns[modelled].sum()) / whole if whole else None


def unavailable(facts: Facts) -> str | None:
    """Why there is no operator."""
    return None if facts.steps else NO_EVENTS


# --- the flame graph, its sandwich, and folded stacks ---------------------------------------------

KERNEL_NAME = "kernel"
NARROW = 0.0005  # of a sandwich: what is less is too narrow to see


def flame(subject: Subject, query: FlameGraphQuery) -> Flame:
    """The flame graph of the chosen steps. Raises QueryError."""
    operators = operators_of(subject)
    missing = operators.missing.get("device", "") if query.metric == "device" else ""
    tree = _tree_of(subject, query)
    if query.inverted:
        tree = inverted(tree)
    shown = query.min_ratio, query.focus, missing
    found = flame_of(tree, _unit(query.metric), *shown, compiled=subject.facts.compiled)
    steps = steps_of(subject.facts, query.steps)
    left_out = () if query.waiting else tuple(_waiting(operators, steps).values())
    return structs.replace(found, nodes=_shortened(found.nodes), left_out=left_out)


def _shortened(nodes: tuple[FlameNode, ...]) -> tuple[FlameNode, ...]:
    """The boxes of kernels with names that tell them apart."""
    names = sorted({one.name for one in nodes if one.kind == KIND_NAMES[KERNEL]})
    short = dict(zip(names, short_names(names), strict=True))
    return tuple(
        structs.replace(one, short=short[one.name]) if one.name in short else one for one in nodes
    )


def around(subject: Subject, query: SandwichQuery) -> Sandwich:
    """Callers and callees of a name.

    Raises:
        NotFoundError: no box has this name.
    """
    found = sandwich(_tree_of(subject, query), query.name)
    if found is None:
        raise NotFoundError(f"The flame graph has no box {query.name[:80]!r}.")
    return Sandwich(
        name=query.name,
        unit=_unit(query.metric),
        value=found.value,
        self_value=found.own,
        calls=found.count,
        callers=pruned(found.callers, NARROW),
        callees=pruned(found.callees, NARROW),
    )


def folded_stacks(subject: Subject, query: FoldedQuery) -> Iterator[bytes]:
    """A line per path: names joined by ";", a blank, ns or calls. Raises QueryError."""
    return (line.encode() for line in folded(_tree_of(subject, query)))


def folded_name(subject: Subject, query: FoldedQuery) -> str:
    """The name of the downloaded file; other programs know its ending."""
    del subject
    return f"{query.metric}.stacks"


def _tree_of(subject: Subject, query: FoldedQuery) -> FlameTree:
    """The boxes; the last few graphs are kept, since opening a box needs the same graph."""
    names = [name.strip() for name in query.levels.split(",") if name.strip()]
    calls = [name for name in names if name != KERNEL_NAME]
    kinds = {int(kind) for kind in kinds_named(",".join(calls))} if calls else set()
    if KERNEL_NAME in names:
        kinds.add(KERNEL)
    steps = steps_of(subject.facts, query.steps)
    operators = operators_of(subject)
    left_out = () if query.waiting else tuple(_waiting(operators, steps))
    return _tree(operators, steps, query.metric, frozenset(kinds), left_out)


@lru_cache(maxsize=8)
def _tree(
    operators: OperatorColumns,
    steps: tuple[int, ...] | None,
    metric: str,
    kinds: frozenset[int],
    left_out: tuple[int, ...],
) -> FlameTree:
    return flame_tree(operators, steps, metric, kinds, left_out)


@lru_cache(maxsize=8)
def _waiting(operators: OperatorColumns, steps: tuple[int, ...] | None) -> dict[int, str]:
    return waiting_threads(operators, steps)


def _unit(metric: str) -> str:
    return "count" if metric == "calls" else "ns"


VIEW = View(
    stem="operators",
    title="Operator",
    key="p",
    question="Which operations take the time, and what calls them?",
    query=answers.OperatorQuery,
    answer=answers.Operators,
    build=build,
    tables=tables,
    unavailable=unavailable,
    artifact=OPERATORS,
    lends=True,
    parts=(
        Part("table", answers.OperatorQuery, answers.OperatorTable, window),
        Part("find", answers.FindQuery, answers.FindAnswer, find),
        Part("row", answers.RowQuery, answers.OperatorDetails, details),
        Part("flame", answers.FlameGraphQuery, Flame, flame),
        Part("around", answers.SandwichQuery, answers.Sandwich, around),
        Part("folded", answers.FoldedQuery, None, folded_stacks, folded_name),
    ),
)
