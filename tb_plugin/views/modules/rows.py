"""The tree of modules as rows: siblings folded, sorted, searched, and the largest of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np

from ...analysis.call_tree.paths import sums_below
from ...analysis.modules.figures import (
    ModuleFigures,
    alike,
    children_of,
    figures_of,
    kind_of,
    shapes_of,
    spread_of,
)
from ...analysis.modules.model import NONE, ModuleColumns, Phase
from ...base.arrays import I32, I64
from ...base.errors import QueryError
from ..shared import column_named, steps_of
from ..view import Subject
from .contract import ModuleRow, ModulesQuery, ModuleTable

_FOLDED = "+"  # ends the key of a row of several siblings, after the first of them
SORTS = (
    "name", "calls", "ops", "kernels", "total_ns", "self_ns", "busy_ns", "forward_ns",
    "backward_ns", "recompute_ns", "ratio", "host_total_ns", "host_self_ns", "mean_ns",
    "op_total_ns", "idle_ns", "flops", "born_bytes", "kept_bytes",
)  # fmt: skip


class _Place(NamedTuple):
    """A row to be: the modules it stands for, its depth, and the place of the row around it."""

    members: Sequence[int]
    depth: int
    above: int


class TreeRows:
    """Rows of the tree for some steps."""

    def __init__(self, columns: ModuleColumns, steps: tuple[int, ...] | None) -> None:
        self.columns, self.tree = columns, columns.tree
        self.figures: ModuleFigures = figures_of(columns, steps)
        self.has_device = "device" not in columns.missing
        figures, device = self.figures, self.has_device
        self.by_phase = figures.device_total_ns if device else figures.op_total_ns
        self.total: I64 = self.by_phase.sum(axis=0)
        self.own: I64 = (figures.device_own_ns if device else figures.op_own_ns).sum(axis=0)
        self.whole = int(self.own.sum())
        self.inside = children_of(self.tree)
        self.sizes = sums_below(np.ones(len(self.tree), np.int64), self.tree.parent)
        self.shapes = shapes_of(self.tree, columns.strings)

    def roots(self) -> tuple[ModuleRow, ...]:
        """The modules that no other one called, the largest first."""
        rows = [self._row(_Place((one,), 0, NONE), "") for one in self.inside.get(NONE, ())]
        return tuple(sorted(rows, key=lambda row: -row.total_ns))

    def table(self, query: ModulesQuery) -> ModuleTable:
        """The rows of a query; depth counts from the row that holds them. Raises QueryError."""
        sort_by = column_named(query.sort_by or "total_ns", SORTS)
        places = self._places(query)
        if query.search.strip():
            places = self._matching(places, query.search)
        count, modules = len(places), sum(map(self._modules_of, places))
        places = self._largest(places, query.limit)
        rows: list[ModuleRow] = []
        for place in places:
            above = rows[place.above].key if place.above >= 0 else query.below
            rows.append(self._row(place, above))
        ordered = _sorted(places, rows, sort_by, ascending=query.ascending)
        return ModuleTable(ordered, count, modules, sort_by)

    def one(self, module: int) -> ModuleRow:
        """The row of one module. Raises QueryError."""
        if module >= len(self.tree):
            raise QueryError("module: there is no such module", hint="Take the key of a row.")
        return self._row(_Place((module,), 0, NONE), "")

    # --- which rows there are -------------------------------------------------------------------

    def _places(self, query: ModulesQuery) -> list[_Place]:
        """All rows by depth first. What several siblings hold is not there: ``below`` asks."""
        found: list[_Place] = []
        waiting = [_Place(one, 0, NONE) for one in reversed(self._top(query))]
        while waiting:
            place = waiting.pop()
            found.append(place)
            if len(place.members) == 1:
                inner = self._groups(self.inside.get(place.members[0], ()), fold=query.fold)
                at = len(found) - 1
                waiting.extend(_Place(one, place.depth + 1, at) for one in reversed(inner))
        return found

    def _top(self, query: ModulesQuery) -> list[Sequence[int]]:
        """The outermost rows of a query."""
        key = query.below
        if not key:
            return self._groups(self.inside.get(NONE, ()), fold=query.fold)
        number = key.removesuffix(_FOLDED)
        module = int(number) if number.isascii() and number.isdecimal() and len(number) < 10 else -1
        if not 0 <= module < len(self.tree):
            raise QueryError("below: there is no such row", hint="Take the key of a row.")
        if number == key:
            return self._groups(self.inside.get(module, ()), fold=query.fold)
        siblings = self.inside[int(self.tree.parent[module])]
        members = next(group for group in alike(siblings, self.shapes) if module in group)
        return [(one,) for one in members]

    def _groups(self, siblings: Sequence[int], *, fold: bool) -> list[Sequence[int]]:
        return [*alike(siblings, self.shapes)] if fold else [(one,) for one in siblings]

    def _matching(self, places: list[_Place], search: str) -> list[_Place]:
        """The rows with all words of a search in their path or type, and the rows around them.

        Several siblings in one row stay if a module in one of them matches.
        """
        words = search.casefold().split()
        hit = np.array([all(word in text for word in words) for text in self.searched], np.int64)
        below = sums_below(hit, self.tree.parent)
        kept = [
            _sum(below if len(place.members) > 1 else hit, place.members) > 0 for place in places
        ]
        for at in range(len(places) - 1, -1, -1):
            if kept[at] and places[at].above >= 0:
                kept[places[at].above] = True
        return _only(places, kept)

    @cached_property
    def searched(self) -> tuple[str, ...]:
        """What a search looks at, for each module."""
        codes = (self.tree.qualified, self.tree.type)
        return tuple(
            " ".join([self._path(one), *(self.text(code, one) or "" for code in codes)]).casefold()
            for one in range(len(self.tree))
        )

    def _modules_of(self, place: _Place) -> int:
        """How many modules a row stands for; of several siblings those inside them, too."""
        return 1 if len(place.members) == 1 else _sum(self.sizes, place.members)

    def _largest(self, places: list[_Place], limit: int) -> list[_Place]:
        """So many rows, the largest; a row is never there without the one around it."""
        if len(places) <= limit:
            return places
        # No row is larger than the one around it, and of equal ones the outer comes first.
        total = [int(self.total[list(place.members)].sum()) for place in places]
        order = sorted(range(len(places)), key=lambda at: (-total[at], at))[:limit]
        kept = [False] * len(places)
        for at in order:
            kept[at] = True
        return _only(places, kept)

    # --- one row --------------------------------------------------------------------------------

    def _row(self, place: _Place, above: str) -> ModuleRow:
        figures, members = self.figures, list(place.members)
        first, several = members[0], len(members) > 1
        totals = [int(self.total[one]) for one in members]
        spread = spread_of(totals) if several else None
        phases = [int(self.by_phase[phase, members].sum()) for phase in Phase]
        calls = _sum(figures.calls, members)
        host = _sum(figures.host_total_ns, members)
        missing, columns = self.columns.missing, self.columns.calls
        longest = self._longest(members)
        type_ = self.text(self.tree.type, first) or ""
        name = self.text(self.tree.name, first) or ""
        total = sum(totals)
        return ModuleRow(
            key=f"{first}{_FOLDED}" if several else f"{first}",
            parent=above,
            depth=place.depth,
            name=kind_of(self.tree, self.columns.strings, first) if several else name,
            type=type_,
            qualified=None if several else self.text(self.tree.qualified, first),
            path=self._path(first),
            members=len(members),
            inside=len(members) if several else len(self.inside.get(first, ())),
            least_ns=spread.least if spread else None,
            median_ns=spread.median if spread else None,
            most_ns=spread.most if spread else None,
            outlier=self.text(self.tree.name, members[spread.outlier])
            if spread and spread.outlier is not None
            else None,
            calls=calls,
            recompute_calls=_sum(figures.again, members),
            ops=_sum(figures.ops, members),
            kernels=_sum(figures.activities, members) if self.has_device else None,
            total_ns=total,
            self_ns=_sum(self.own, members),
            busy_ns=_sum(figures.busy_ns, members) if self.has_device else None,
            forward_ns=phases[Phase.FORWARD],
            backward_ns=phases[Phase.BACKWARD],
            recompute_ns=phases[Phase.RECOMPUTE],
            ratio=total / self.whole if self.whole else 0.0,
            host_total_ns=host,
            host_self_ns=_sum(figures.host_own_ns, members),
            host_recompute_ns=_sum(figures.host_again_ns, members),
            mean_ns=host / calls if calls else None,
            op_total_ns=int(figures.op_total_ns[:, members].sum()),
            idle_ns=_sum(figures.idle_ns, members) if self.has_device else None,
            flops=None if "flops" in missing else float(figures.flops[members].sum()),
            born_bytes=None if "memory" in missing else _sum(figures.born_bytes, members),
            kept_bytes=None
            if "memory" in missing or "kept" in missing
            else _sum(figures.kept_bytes, members),
            slice=None if longest is None else int(columns.host[longest]),
            ts=None if longest is None else int(columns.ts[longest]),
            dur_ns=None if longest is None else int(columns.dur_ns[longest]),
        )

    def _longest(self, members: Sequence[int]) -> int | None:
        """The row of the longest call."""
        calls = [int(self.figures.longest[one]) for one in members]
        known = [call for call in calls if call >= 0]
        if not known:
            return None
        return max(known, key=lambda call: int(self.columns.calls.dur_ns[call]))

    def text(self, codes: I32, module: int) -> str | None:
        """The text of a module in a column of codes."""
        code = int(codes[module])
        return self.columns.strings[code] if code >= 0 else None

    def _path(self, module: int) -> str:
        names: list[str] = []
        while module >= 0:
            names.append(self.text(self.tree.name, module) or "")
            module = int(self.tree.parent[module])
        return "/".join(reversed(names))


def _sum(column: I64, members: Sequence[int]) -> int:
    return int(column[list(members)].sum())


def _only(places: list[_Place], kept: Sequence[bool]) -> list[_Place]:
    """The rows kept, with their new places."""
    number = {}
    result: list[_Place] = []
    for at, place in enumerate(places):
        if kept[at]:
            number[at] = len(result)
            result.append(place._replace(above=number.get(place.above, NONE)))
    return result


def _sorted(
    places: Sequence[_Place], rows: Sequence[ModuleRow], sort_by: str, *, ascending: bool
) -> tuple[ModuleRow, ...]:
    """The rows by depth first, siblings by a column; those without a value come last."""
    inside: dict[int, list[int]] = {}
    for at, place in enumerate(places):
        inside.setdefault(place.above, []).append(at)

    def key(at: int) -> tuple[bool, float | str]:
        value = getattr(rows[at], sort_by)
        if isinstance(value, str):
            return False, value.casefold()
        return value is None, 0.0 if value is None else (value if ascending else -value)

    ordered: list[ModuleRow] = []
    waiting = [NONE]
    while waiting:
        at = waiting.pop()
        if at >= 0:
            ordered.append(rows[at])
        inner = sorted(inside.get(at, ()), key=key)
        if sort_by == "name" and not ascending:
            inner.reverse()
        waiting.extend(reversed(inner))
    return tuple(ordered)


def tree_rows(subject: Subject, steps: str) -> TreeRows:
    """The rows of the chosen steps; the last few are kept. Raises QueryError."""
    return _tree_rows(subject.artifact(""), steps_of(subject.facts, steps))


@lru_cache(maxsize=4)
def _tree_rows(columns: ModuleColumns, steps: tuple[int, ...] | None) -> TreeRows:
    return TreeRows(columns, steps)
