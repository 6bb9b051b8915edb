"""The tree of modules as rows: siblings folded, sorted, searched, and the largest of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from ...analysis.call_tree.paths import sums_below
from ...analysis.compile.model import CompiledFacts
from ...analysis.modules.figures import (
    alike,
    children_of,
    shapes_of,
)
from ...analysis.modules.model import COMPILED, NONE, ModuleColumns
from ...analysis.speed_of_light.figures import SpeedSelection, lit_device
from ...analysis.speed_of_light.model import SpeedColumns
from ...base.arrays import I64
from ...base.errors import QueryError
from ..origins import light_of_modules, modules_of
from ..shared import column_named, steps_of
from ..table import heads, rows_from, sorts
from ..view import Subject
from .contract import ModulesQuery, ModuleTable
from .rows import FOLDED, ModuleGroups, ModuleRow, ModuleTimes, keys_of


class _Place(NamedTuple):
    """A future row: its modules, its depth, and the place of its parent row."""

    members: Sequence[int]
    depth: int
    above: int


class TreeRows(ModuleTimes):
    """Rows of the tree for some steps."""

    def __init__(
        self,
        columns: ModuleColumns,
        steps: tuple[int, ...] | None,
        compiled: CompiledFacts | None = None,
    ) -> None:
        super().__init__(columns, steps, compiled)
        self.steps = steps
        self.inside = children_of(self.tree)
        self.is_module = np.array(
            [self.text(self.tree.type, one) != COMPILED for one in range(len(self.tree))], np.int64
        )
        self.sizes = sums_below(self.is_module, self.tree.parent)
        self.shapes = shapes_of(self.tree, columns.strings)

    def roots(self) -> tuple[ModuleRow, ...]:
        """The modules that no other one called, the largest first."""
        rows = self._rows([_Place((one,), 0, NONE) for one in self.inside.get(NONE, ())])
        return tuple(sorted(rows, key=lambda row: -row.total_ns))

    def table(self, query: ModulesQuery) -> ModuleTable:
        """The rows of a query; depth counts from the row that holds them. Raises QueryError."""
        sort_by = column_named(query.sort_by or "total_ns", sorts(ModuleRow))
        places = self._places(query)
        if query.search.strip():
            places = self._matching(places, query.search)
        count, modules = len(places), sum(map(self._modules_of, places))
        places = self._largest(places, query.limit)
        rows = self._rows(places, query.below)
        ordered = _sorted(places, rows, sort_by, ascending=query.ascending)
        columns, steps = heads(ModuleRow, self), len(self.steps or ())
        return ModuleTable(columns, ordered, count, modules, sort_by, steps)

    def one(self, module: int) -> ModuleRow:
        """The row of one module. Raises QueryError."""
        if module >= len(self.tree):
            raise QueryError("module: there is no such module", hint="Take the key of a row.")
        (row,) = self._rows([_Place((module,), 0, NONE)])
        return row

    def _rows(self, places: Sequence[_Place], below: str = "") -> tuple[ModuleRow, ...]:
        """Rows of places, each after the one around it; the outermost lie in the row ``below``."""
        members = [place.members for place in places]
        keys = keys_of(members)
        groups = ModuleGroups(
            self,
            np.array([one for group in members for one in group], np.int64),
            np.array([0, *accumulate(map(len, members))], np.int64)[:-1],
            keys,
            [keys[place.above] if place.above >= 0 else below for place in places],
            [place.depth for place in places],
        )
        return rows_from(ModuleRow, groups, np.arange(len(places)))

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
        number = key.removesuffix(FOLDED)
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
        """Text to search, for each module."""
        codes = (self.tree.qualified, self.tree.type)
        return tuple(
            " ".join([self.path(one), *(self.text(code, one) or "" for code in codes)]).casefold()
            for one in range(len(self.tree))
        )

    def _modules_of(self, place: _Place) -> int:
        """Number of modules in a row; for several siblings including those inside them."""
        return _sum(self.is_module if len(place.members) == 1 else self.sizes, place.members)

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
    columns, facts = modules_of(subject, subject.artifact("")), subject.facts
    speed, device = light_of_modules(subject), lit_device(facts)
    return _tree_rows(columns, steps_of(facts, steps), facts.compiled, speed, device)


@lru_cache(maxsize=4)
def _tree_rows(
    columns: ModuleColumns,
    steps: tuple[int, ...] | None,
    compiled: CompiledFacts | None,
    speed: SpeedColumns | None,
    device: int | None,
) -> TreeRows:
    rows = TreeRows(columns, steps, compiled)
    if speed and speed.places and len(speed.places.parent) == len(columns.tree):
        rows.lit(SpeedSelection(speed, speed.steps_of(steps), device).by("module"))
    return rows
