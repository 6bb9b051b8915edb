"""Windows of the Memory view's tables: chosen, searched, sorted and cut; a single block."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from ...analysis.memory.artifact import NO_ADDRESSES
from ...analysis.memory.categories import RULES
from ...analysis.memory.curve import rows_between
from ...analysis.memory.growth import AllocationSite
from ...analysis.memory.model import Category, MemoryColumns, MemoryDevice
from ...analysis.memory.peak import AliveGroup, alive, peaks, step_at
from ...analysis.memory.statistics import statistics
from ...analysis.operators.groups import named
from ...analysis.steps import Scope, scope_of
from ...base.arrays import I32, I64, B
from ...base.errors import NotFoundError, QueryError, UnavailableError
from ..shared import column_named, device_place
from ..table import Column, heads, rows_from, shown, sorts
from ..view import Subject
from . import contract as answers
from .rows import (
    NAMES,
    Chosen,
    MemoryEventRow,
    StatisticsRow,
    begins_in,
    ends_in,
    known_instant,
    known_row,
    known_text,
    label_of,
    of_lines,
    path_name,
)


def device_of(columns: MemoryColumns, key: str) -> MemoryDevice:
    """The device of a number or key; "" is the first one.

    Raises:
        QueryError: there is none.
        UnavailableError: all allocator events are damaged.
    """
    if not columns.devices:
        raise UnavailableError(columns.missing["sizes"])
    keys = [device.key for device in columns.devices]
    return columns.devices[device_place(key, keys) if key.strip() else 0]


def chosen_of(
    subject: Subject, device: str, steps: str, start_ns: int | None, end_ns: int | None
) -> Chosen:
    """The device and the range; instants go before steps.

    Raises:
        QueryError: there is no such device or step, or the range runs backwards.
    """
    columns: MemoryColumns = subject.artifact("")
    scope = scope_of(subject.facts, steps)
    start, end = _range_of_steps(scope, columns)
    start = start if start_ns is None else start_ns
    end = end if end_ns is None else end_ns
    if end <= start:
        raise QueryError("the range of time is empty", hint="`end_ns` has to be after `start_ns`.")
    tells = scope.tells_outside and start_ns is None and end_ns is None
    return Chosen(columns, device_of(columns, device), start, end, tells)


def _range_of_steps(scope: Scope, columns: MemoryColumns) -> tuple[int, int]:
    """From the start of the first step to the end of the last."""
    chosen = scope.steps
    if not chosen or not columns.steps.marked:
        return 0, columns.end_ns
    start, end = columns.steps.start[list(chosen)], columns.steps.end[list(chosen)]
    return int(start.min()), max(int(end.max()), int(start.min()) + 1)


def step_name(columns: MemoryColumns, ts: int) -> str:
    """The step that holds an instant; "" outside of steps."""
    step = step_at(columns, ts)
    return columns.strings[int(columns.steps.name[step])] if step >= 0 else ""


def _heads(kind: type[Struct], columns: MemoryColumns) -> tuple[Column, ...]:
    return shown(heads(kind), of_lines) if columns.is_snapshot else heads(kind)


# --- blocks ---------------------------------------------------------------------------------------


def event_window(subject: Subject, query: answers.MemoryEventQuery) -> answers.MemoryEventTable:
    """A window of the blocks with an end in the range. Raises QueryError."""
    chosen = chosen_of(subject, query.device, query.steps, query.start_ns, query.end_ns)
    columns, device = chosen.columns, chosen.device
    heads_ = _heads(MemoryEventRow, columns)
    if not device.has_addresses:
        return answers.MemoryEventTable(heads_, (), query.offset, 0, 0, 0, NO_ADDRESSES)
    blocks, mine = columns.blocks, device.blocks
    sort_by = column_named(query.sort_by, sorts(MemoryEventRow))
    rows = _touched(chosen, query)
    order = _order(chosen, rows, query, sort_by)
    return answers.MemoryEventTable(
        columns=heads_,
        rows=rows_from(MemoryEventRow, chosen, order),
        offset=query.offset,
        count=len(rows),
        bytes=int(blocks.bytes[rows].sum()),
        largest_bytes=int(blocks.bytes[mine].max(initial=0)),
        missing=columns.missing.get("blocks", ""),
    )


def _touched(chosen: Chosen, query: answers.MemoryEventQuery) -> I64:
    """Rows of the blocks that match."""
    columns, device = chosen.columns, chosen.device
    blocks, mine = columns.blocks, device.blocks
    size = blocks.bytes[mine]
    match = begins_in(chosen, mine) | ends_in(chosen, mine)
    match &= size >= query.min_bytes
    if query.max_bytes is not None:
        match &= size <= query.max_bytes
    if query.category is not None:
        number = next(one for one, name in NAMES.items() if name == query.category)
        match &= blocks.category[mine] == number
    if query.search.strip():
        match &= _named(columns, blocks.path[mine], query.search)
    rows: I64 = np.flatnonzero(match) + mine.start
    return rows


def _named(columns: MemoryColumns, path: I32, search: str) -> B:
    names = columns.path_names
    hit = named(names, np.arange(len(names), dtype=np.int32), search)
    return np.append(hit, np.array([False]))[path]


def _order(chosen: Chosen, rows: I64, query: answers.MemoryEventQuery, sort_by: str) -> I64:
    """The rows of the window, in order; unknown values come last."""
    blocks = chosen.columns.blocks
    start, end = blocks.start[rows], blocks.end[rows]
    if sort_by == "name":
        names = chosen.columns.path_names
        rank = np.zeros(len(names) + 1, np.int64)
        rank[sorted(range(len(names)), key=lambda at: names[at])] = np.arange(len(names))
        rank[-1] = -1
        key = rank[blocks.path[rows]]
    elif sort_by == "category":
        key = blocks.category[rows].astype(np.int64)
    elif sort_by == "bytes":
        key = blocks.bytes[rows]
    else:
        born, freed = begins_in(chosen, rows), ends_in(chosen, rows)
        column, known = {
            "allocated_ns": (start, born),
            "released_ns": (end, freed),
            "alive_ns": (end - start, born & freed),
        }[sort_by]
        last = np.iinfo(np.int64).max
        key = np.where(known, column, last if query.ascending else -last)
    window: I64 = rows[first_of(key if query.ascending else -key, query.offset, query.limit)]
    return window


def first_of(key: I64, offset: int, limit: int) -> I64:
    """The places of a window of a stable order, without sorting the rest."""
    top = offset + limit
    if top >= len(key):
        order: I64 = np.argsort(key, kind="stable")[offset:top]
        return order
    limit_key = np.partition(key, top - 1)[top - 1]
    below = np.flatnonzero(key < limit_key)
    equal = np.flatnonzero(key == limit_key)[: top - len(below)]
    places = np.sort(np.concatenate([below, equal]))
    found: I64 = places[np.argsort(key[places], kind="stable")][offset:]
    return found


def block_details(subject: Subject, query: answers.BlockQuery) -> answers.BlockDetails:
    """One block.

    Raises:
        NotFoundError: there is none of this number.
    """
    columns: MemoryColumns = subject.artifact("")
    blocks, events, row = columns.blocks, columns.events, query.block
    if row >= len(blocks):
        raise NotFoundError(
            f"This recording has no block {row}.", hint="The link is from another recording."
        )
    device = next(one for one in columns.devices if row < one.stop_block)
    rule = RULES[int(blocks.rule[row])]
    allocation, release = int(blocks.allocation[row]), int(blocks.release[row])
    start = int(blocks.start[row])
    category = Category(int(blocks.category[row]))
    return answers.BlockDetails(
        block=row,
        device=device.key,
        bytes=int(blocks.bytes[row]),
        address=f"0x{int(blocks.address[row]) & (1 << 64) - 1:x}",
        life_start_ns=known_instant(start),
        life_end_ns=known_instant(int(blocks.end[row])),
        category=NAMES[category],
        label=label_of(columns, category),
        confidence=rule.confidence,
        why=rule.why,
        ops=_ops(columns, int(events.path[allocation])) if allocation >= 0 else (),
        module=known_text(columns, int(blocks.module[row])),
        line=known_text(columns, int(blocks.frame[row])),
        slice=known_row(int(events.op[allocation])) if allocation >= 0 else None,
        release_ops=_ops(columns, int(events.path[release])) if release >= 0 else (),
        release_slice=known_row(int(events.op[release])) if release >= 0 else None,
        step=step_name(columns, start) if start >= 0 else "",
    )


def _ops(columns: MemoryColumns, path: int) -> tuple[str, ...]:
    names = []
    while path >= 0:
        names.append(columns.strings[int(columns.paths.name[path])])
        path = int(columns.paths.parent[path])
    return tuple(reversed(names))


# --- statistics -----------------------------------------------------------------------------------


def statistics_window(subject: Subject, query: answers.StatisticsQuery) -> answers.StatisticsTable:
    """A window of the ops over the range. Raises QueryError."""
    chosen = chosen_of(subject, query.device, query.steps, query.start_ns, query.end_ns)
    table = statistics(chosen.columns, chosen.device, chosen.start, chosen.end)
    names = [table.text(code) for code in table.name.tolist()]
    rows = np.flatnonzero(named(names, np.arange(len(names), dtype=np.int32), query.search))
    sort_by = column_named(query.sort_by, sorts(StatisticsRow))
    if sort_by == "name":
        by_name = sorted(rows.tolist(), key=lambda at: names[at], reverse=not query.ascending)
        order = np.array(by_name, np.intp)
    else:
        key = getattr(table, sort_by)[rows]
        order = rows[np.argsort(key if query.ascending else -key, kind="stable")]
    span = rows_between(chosen.columns, chosen.device, chosen.start, chosen.end)
    return answers.StatisticsTable(
        columns=_heads(StatisticsRow, chosen.columns),
        rows=rows_from(StatisticsRow, table, order[query.offset : query.offset + query.limit]),
        offset=query.offset,
        count=len(rows),
        increase_bytes=int(table.self_increase_bytes.sum()),
        allocations=int(table.self_allocations.sum()),
        allocation_bytes=int(table.self_allocation_bytes.sum()) if span.stop > span.start else 0,
    )


# --- what is alive --------------------------------------------------------------------------------

_MISSING_SECOND = "The curve of this step has one peak only."


def alive_tree(subject: Subject, query: answers.AliveQuery) -> answers.AliveTree:
    """Contents of the total of a device. Raises QueryError."""
    columns: MemoryColumns = subject.artifact("")
    chosen = chosen_of(subject, query.device, query.steps, query.start_ns, query.end_ns)
    device = chosen.device
    if not device.has_addresses:
        return answers.AliveTree(None, 0, (), NO_ADDRESSES)
    ts = columns.events.ts[device.events]
    if query.at == "time":
        row = int(np.searchsorted(ts, query.at_ns, side="right")) - 1
        at = query.at_ns
    else:
        found = peaks(columns, device, chosen.span)
        row = found.first if query.at == "peak" else found.second
        if row < 0 and query.at == "second":
            return answers.AliveTree(None, 0, (), _MISSING_SECOND)
        at = max(int(ts[row]) if row >= 0 else 0, chosen.start)
    groups = alive(columns, device, row)
    nodes = _Nodes(columns, query.limit).of(groups)
    return answers.AliveTree(at, sum(one.total_bytes for one in groups), nodes, "")


class _Nodes:
    """Boxes of groups: category, module where modules are known, op, size."""

    def __init__(self, columns: MemoryColumns, most: int) -> None:
        self._columns, self._most = columns, most
        self._has_modules = "modules" not in columns.missing

    def of(self, groups: tuple[AliveGroup, ...]) -> tuple[answers.AliveNode, ...]:
        """All boxes, larger siblings first; groups come by size."""
        tree: dict[tuple[object, ...], list[AliveGroup]] = {}
        rest: dict[Category, list[AliveGroup]] = {}
        for number, group in enumerate(groups):
            if number < self._most:
                tree.setdefault(self._keys(group), []).append(group)
            else:
                rest.setdefault(group.category, []).append(group)
        inner: dict[tuple[object, ...], list[AliveGroup]] = {}
        for key, found in tree.items():
            for depth in range(1, len(key) + 1):
                inner.setdefault(key[:depth], []).extend(found)
        for category, found in rest.items():
            inner.setdefault((category,), []).extend(found)
        nodes: list[answers.AliveNode] = []
        self._add(nodes, inner, tree, rest, (), -1)
        return tuple(nodes)

    def _keys(self, group: AliveGroup) -> tuple[object, ...]:
        module = (known_text(self._columns, group.module),) if self._has_modules else ()
        return (group.category, *module, path_name(self._columns, group.path))

    def _add(
        self,
        nodes: list[answers.AliveNode],
        inner: dict[tuple[object, ...], list[AliveGroup]],
        tree: dict[tuple[object, ...], list[AliveGroup]],
        rest: dict[Category, list[AliveGroup]],
        above: tuple[object, ...],
        parent: int,
    ) -> None:
        depth = len(above)
        kinds: tuple[str, ...] = ("category", *(("module",) if self._has_modules else ()), "op")
        below = [key for key in inner if len(key) == depth + 1 and key[:depth] == above]
        below.sort(key=lambda key: -sum(one.total_bytes for one in inner[key]))
        for key in below:
            at = len(nodes)
            first = key[0]
            if depth == 0 and isinstance(first, Category):
                name = label_of(self._columns, first)
            else:
                name = str(key[-1])
            nodes.append(self._node(parent, kinds[depth], name, inner[key]))
            if key in tree:
                nodes.extend(
                    self._leaf(at, one)
                    for one in sorted(tree[key], key=lambda one: -one.total_bytes)
                )
            else:
                self._add(nodes, inner, tree, rest, key, at)
            if depth == 0 and isinstance(key[0], Category) and key[0] in rest:
                nodes.append(self._node(at, "rest", "", rest[key[0]]))

    def _node(
        self, parent: int, kind: str, name: str, groups: list[AliveGroup]
    ) -> answers.AliveNode:
        rule = RULES[main_rule(groups)]
        return answers.AliveNode(
            parent=parent,
            kind=kind,  # type: ignore[arg-type]  # of the names above
            name=name,
            category=NAMES[groups[0].category],
            bytes=sum(one.total_bytes for one in groups),
            count=sum(one.count for one in groups if one.block >= 0),
            each_bytes=None,
            line="",
            block=None,
            slice=None,
            confidence=rule.confidence,
            why=rule.why,
        )

    def _leaf(self, parent: int, group: AliveGroup) -> answers.AliveNode:
        blocks, at = self._columns.blocks, group.block
        rule = RULES[group.rule]
        return answers.AliveNode(
            parent=parent,
            kind="size",
            name=path_name(self._columns, group.path),
            category=NAMES[group.category],
            bytes=group.total_bytes,
            count=group.count if at >= 0 else 0,
            each_bytes=group.bytes,
            line=known_text(self._columns, int(blocks.frame[at])) if at >= 0 else "",
            block=known_row(at),
            slice=known_row(int(blocks.op[at])) if at >= 0 else None,
            confidence=rule.confidence,
            why=rule.why,
        )


def main_rule(groups: list[AliveGroup]) -> int:
    """The rule by which most bytes of some groups are where they are."""
    sums: dict[int, int] = {}
    for one in groups:
        sums[one.rule] = sums.get(one.rule, 0) + one.total_bytes
    return max(sums, key=lambda rule: sums[rule])


def leak_site(columns: MemoryColumns, site: AllocationSite) -> answers.LeakSite:
    """A site of a leak."""
    blocks, at = columns.blocks, site.block
    return answers.LeakSite(
        name=path_name(columns, int(blocks.path[at])),
        module=known_text(columns, int(blocks.module[at])),
        line=known_text(columns, int(blocks.frame[at])),
        bytes=site.bytes,
        count=site.count,
        steps=site.steps,
        block=at,
        slice=known_row(int(blocks.op[at])),
    )
