"""The flame graph of the Operator view, its sandwich, and folded stacks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from ...analysis.call_tree.flame import KERNEL, FlameTree, Shown, flame_tree, folded, shown
from ...analysis.call_tree.sandwich import sandwich
from ...analysis.operators.model import CallKind, OperatorColumns
from ...base.errors import NotFoundError, QueryError
from ..shared import Flame, FlameNode, steps_of
from ..view import Subject
from .contract import FlameGraphQuery, FoldedQuery, Sandwich, SandwichQuery
from .rows import kinds_named

KERNEL_NAME = "kernel"
NARROW = 0.0005


def flame(subject: Subject, query: FlameGraphQuery) -> Flame:
    """The flame graph of the chosen steps. Raises QueryError."""
    operators: OperatorColumns = subject.artifact("")
    missing = operators.missing.get("device", "") if query.metric == "device" else ""
    tree = tree_of(operators, steps_of(subject.facts, query.steps), query.metric, query.levels)
    try:
        seen = shown(tree, operators.strings, query.focus, query.min_ratio)
    except IndexError:
        raise QueryError("focus: there is no such box", hint="Take the node of a box.") from None
    return Flame(_unit(query.metric), seen.total, _boxes(seen), seen.merged, missing)


def around(subject: Subject, query: SandwichQuery) -> Sandwich:
    """Callers and callees of a name.

    Raises:
        NotFoundError: no box has this name.
    """
    operators: OperatorColumns = subject.artifact("")
    tree = tree_of(operators, steps_of(subject.facts, query.steps), query.metric, query.levels)
    codes = {int(code) for code in tree.name if code >= 0}
    code = next((code for code in codes if operators.strings[code] == query.name), None)
    found = None if code is None else sandwich(tree, code)
    if found is None:
        raise NotFoundError(f"The flame graph has no box {query.name[:80]!r}.")
    strings = operators.strings
    return Sandwich(
        name=query.name,
        unit=_unit(query.metric),
        value=found.value,
        self_value=found.self_value,
        calls=found.calls,
        callers=_boxes(shown(found.callers, strings, min_ratio=NARROW)),
        callees=_boxes(shown(found.callees, strings, min_ratio=NARROW)),
    )


def folded_stacks(subject: Subject, query: FoldedQuery) -> Iterator[bytes]:
    """A line per path: names joined by ";", a blank, ns or calls. Raises QueryError."""
    operators: OperatorColumns = subject.artifact("")
    tree = tree_of(operators, steps_of(subject.facts, query.steps), query.metric, query.levels)
    return (line.encode() for line in folded(tree, operators.strings))


def folded_name(subject: Subject, query: FoldedQuery) -> str:
    """The name of the downloaded file; other programs know its ending."""
    del subject
    return f"{query.metric}.stacks"


def tree_of(
    operators: OperatorColumns, steps: tuple[int, ...] | None, metric: str, levels: str
) -> FlameTree:
    """The boxes; the last few graphs are kept, since opening a box needs the same graph."""
    names = [name.strip() for name in levels.split(",") if name.strip()]
    calls = [name for name in names if name != KERNEL_NAME]
    kinds = {int(kind) for kind in kinds_named(",".join(calls))} if calls else set()
    if KERNEL_NAME in names:
        kinds.add(KERNEL)
    return _tree(operators, steps, metric, frozenset(kinds))


@lru_cache(maxsize=8)
def _tree(
    operators: OperatorColumns, steps: tuple[int, ...] | None, metric: str, kinds: frozenset[int]
) -> FlameTree:
    return flame_tree(operators, steps, metric, kinds)


def _unit(metric: str) -> str:
    return "count" if metric == "calls" else "ns"


def _boxes(seen: Shown) -> tuple[FlameNode, ...]:
    return tuple(
        FlameNode(
            box.node,
            box.parent,
            box.name,
            kind_name(box.kind),
            box.value,
            box.self_value,
            box.calls,
        )
        for box in seen.boxes
    )


def kind_name(kind: int) -> str:
    """The kind of a box in words; "" for a merged box."""
    if kind < 0:
        return ""
    if kind < len(CallKind):
        return CallKind(kind).name.lower()
    return KERNEL_NAME if kind == KERNEL else "unattributed"
