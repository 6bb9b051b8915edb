"""Structs and parameters that several views share (contract).

For the Operator and the Kernel view: steps, columns, keys, shares. For every view: tables for the
terminal, CSV and pandas.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from operator import attrgetter
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeVar

import msgspec
import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from ..analysis.call_tree.flame import FlameNode, FlameTree, pruned
from ..analysis.facts import Facts
from ..analysis.operators.groups import Grouped
from ..analysis.steps import parse_steps
from ..base.errors import QueryError

S = TypeVar("S", bound=Struct)
Count = Annotated[int, Meta(ge=0, lt=2**31)]
Words = Annotated[str, Meta(max_length=400)]


class SharePart(Struct, frozen=True):
    """One operator's part of a whole."""

    name: str
    ns: int
    ratio: float


class SlowCall(Struct, frozen=True):
    """One call, with its place on the timeline."""

    slice: int
    ts: int
    dur_ns: int
    self_ns: int
    device_ns: int | None
    step: str
    thread: str
    shapes: str


class Flame(Struct, frozen=True):
    """A call tree merged by path, the larger siblings first; boxes too narrow to see are in "…".

    With a box in focus there are, beside what is below it, the boxes around it: one for each level.
    """

    unit: str  # "ns" | "count"
    total: float  # of all roots, whatever is in focus
    nodes: tuple[FlameNode, ...]
    merged: int  # boxes that are in "…"
    missing: str  # why there is nothing to show; "" = there is


def flame_of(
    tree: FlameTree, unit: str, min_ratio: float, focus: int | None = None, missing: str = ""
) -> Flame:
    """The answer with a call tree.

    Raises:
        QueryError: there is no such box to be in focus.
    """
    try:
        nodes = pruned(tree, min_ratio, focus)
    except IndexError:
        raise QueryError("focus: there is no such box", hint="Take the node of a box.") from None
    hidden = sum(node.boxes for node in nodes if node.node < 0)
    return Flame(unit, tree.total, nodes, hidden, missing)


_NO_OTHERS: Mapping[str, str] = MappingProxyType({})


def steps_of(facts: Facts, text: str) -> tuple[int, ...] | None:
    """The chosen steps; None = everything recorded, including outside steps.

    Raises:
        QueryError: there are no such steps.
    """
    return None if text.strip() == "" else parse_steps(text, facts)


def column_named(
    text: str, columns: Collection[str], others: Mapping[str, str] = _NO_OTHERS
) -> str:
    """The column to sort by; ``others`` are further names of columns.

    Raises:
        QueryError: there is no such column.
    """
    column = others.get(text, text)
    if column not in columns:
        also = f"; also {', '.join(others)}" if others else ""
        raise QueryError(
            f"sort_by: there is no column {text[:40]!r}",
            hint=f"Columns: {', '.join(columns)}{also}.",
        )
    return column


def key_named(text: str) -> int:
    """The key of a row from its text; −1 for an invalid one."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else -1


def no_such_row() -> QueryError:
    """The error for a key that no row has."""
    return QueryError("key: there is no such row", hint="Take the key of a row of the table.")


def share_parts(
    table: Grouped, ns: NDArray[np.int64], groups: Iterable[int], whole_ns: int
) -> tuple[SharePart, ...]:
    """Some groups of a table as parts of a whole; ``ns`` is a column of the table."""
    return tuple(
        SharePart(
            table.text(int(table.name[at])),
            int(ns[at]),
            int(ns[at]) / whole_ns if whole_ns else 0.0,
        )
        for at in groups
    )


def known(value: float) -> float | None:
    """A figure; None for NaN."""
    return None if math.isnan(value) else value


def as_structs(kind: type[S], objects: Iterable[object]) -> tuple[S, ...]:
    """Objects as Structs whose fields have the names of their attributes."""
    return tuple(msgspec.convert(one, kind, from_attributes=True) for one in objects)


ColumnKind = Literal["value", "name", "path", "words", "text"]


class Column(Struct, frozen=True):
    """``key`` carries the unit (``compute_ns``); ``label`` and ``help`` are for people.

    ``kind`` says what may be shortened where there is little room: the name of an op or a kernel, a
    path; words of a few lines and text of sentences are never cut. A minor column is shown on a
    terminal only when it is asked for.
    """

    key: str
    label: str
    help: str = ""
    kind: ColumnKind = "value"
    is_minor: bool = False


Cell = str | int | float | None


class Table(Struct, frozen=True):
    """Rows of plain values in the order of the columns; None = not known."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    row_count: int | None = None  # of all that match, where the rows may be only some of them
    note: str = ""  # what the figures are held against, where a title has no room for it


def table_from(
    title: str,
    columns: tuple[Column, ...],
    objects: Iterable[object],
    row_count: int | None = None,
    note: str = "",
    **cells: Callable[[Any], Cell],
) -> Table:
    """A table with a row for each object.

    A cell is the attribute with the name of its column's key, unless ``cells`` says how it is made.
    """
    makers = [cells.get(column.key) or attrgetter(column.key) for column in columns]
    rows = tuple(tuple(cell(one) for cell in makers) for one in objects)
    return Table(title, columns, rows, row_count, note)
