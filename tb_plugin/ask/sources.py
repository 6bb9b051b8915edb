"""Tables for SQL and for files, by name.

Tables of events are declared in ``tables``, those of a view in the view; the few made of both
are declared here. ``columns`` gives plain columns, from which DataFrames, Arrow and files are made.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

import msgspec
from msgspec import Struct

from ..analysis.advice.rule import thresholds
from ..analysis.device_work import used_devices
from ..analysis.host_activity import hosts_of
from ..analysis.idle.causes import IdleByPiece, IdleCauses
from ..analysis.idle.names import HeldNames
from ..analysis.steps import EVERYTHING, step_windows
from ..base.errors import NotFoundError, UnavailableError, nearest
from ..session.session import Session
from ..trace.model import Trace
from ..views import view_named
from ..views.kernels.rows import KernelRow
from ..views.memory.rows import MemoryEventRow
from ..views.modules.rows import ModuleRow
from ..views.operators.rows import OperatorRow
from ..views.overview.document import AdviceDocument
from ..views.overview.view import advice_on
from ..views.shared import EVERY_ROW, with_limit
from ..views.table import PER_STEP, fields_of, forms, per_step, unit_of
from .made import MADE, MadeTable, Plain, SourceColumn, transposed
from .tables import (
    EVENT_TABLES,
    EventTableSpec,
    Values,
)


class Source:
    """The tables of one recording, made on demand."""

    def __init__(self, session: Session) -> None:
        self.session = session

    @cached_property
    def trace(self) -> Trace:
        return self.session.trace()

    @cached_property
    def advice(self) -> AdviceDocument:
        return advice_on(self.session.asked(view_named("overview")), "", "", thresholds())

    def columns(self, table: str) -> tuple[SourceColumn, ...]:
        """The columns of a table.

        Raises:
            NotFoundError: there is no such table.
            UnavailableError: this recording does not have it; says why.
        """
        if table in _EVENTS:
            spec = _EVENTS[table]
            return tuple(_event_columns(spec, self.trace))
        if table in _VIEWS:
            return tuple(self._of_view(table))
        if table in _MADE:
            return tuple(_MADE[table].of(self))
        raise no_table(table)

    def _of_view(self, name: str) -> Iterator[SourceColumn]:
        """The first table of a view with every row, as ``show … --format csv`` has it."""
        if name == "blocks":
            yield from self._blocks()
            return
        view = view_named(name)
        answer = view.build(self.session.asked(view), with_limit(view.query(), EVERY_ROW))
        table = per_step(view.tables(answer)[0], has_sums=True)
        for at, column in enumerate(table.columns):
            yield SourceColumn(column.key, column.help, _cells(table.rows, at))

    def _blocks(self) -> Iterator[SourceColumn]:
        """Every block with an allocation or a release in the recording."""
        view = view_named("memory")
        part = next(one for one in view.parts if one.stem == "events")
        query = with_limit(msgspec.convert({"steps": EVERYTHING}, part.query), EVERY_ROW)
        answer: Any = part.build(self.session.subject(view), query)
        if answer.missing and not answer.rows:
            raise UnavailableError(answer.missing)
        for column in answer.columns:
            values = [getattr(row, column.key) for row in answer.rows]
            yield SourceColumn(column.key, column.help, partial(list, values))

    @cached_property
    def idle_by_piece(self) -> list[tuple[int, IdleByPiece]]:
        """The idle time of each device (row), by stretch."""
        trace = self.trace
        causes = IdleCauses(HeldNames(trace, hosts_of(trace)), step_windows(trace))
        return [(work.device, causes.by_piece(work)) for work in used_devices(trace)]


def _cells(rows: Sequence[Sequence[Any]], at: int) -> Callable[[], Plain]:
    return lambda: [row[at] for row in rows]


def _event_columns(spec: EventTableSpec, trace: Trace) -> Iterator[SourceColumn]:
    for column in spec.all_columns(trace):
        yield SourceColumn(column.key, column.help, _of_trace(column.of, trace))


def _of_trace(of: Callable[[Trace], Values], trace: Trace) -> Callable[[], Values]:
    return lambda: of(trace)


def _dictionary(source: Source) -> Sequence[Values | Plain]:
    rows: list[tuple[str, str | None, str | None, str]] = []
    for name in TABLES:
        rows += [
            (name, key, unit_of(key) or None, text) for key, text in declared(source.trace, name)
        ]
    return transposed(rows, 4)


def _tables(source: Source) -> Sequence[Values | Plain]:
    rows = []
    for name in TABLES:
        known = [key for key, _ in declared(source.trace, name)]
        twice = {f"{key}{PER_STEP}" for key in known}
        rows.append((name, ", ".join(key for key in known if key not in twice)))
    return transposed(rows, 2)


def declared(trace: Trace | None, table: str) -> Iterator[tuple[str, str]]:
    """Ids and meanings of the columns of a table, without making any value.

    Without a trace the arguments that only some files have are left out.
    """
    if table in _EVENTS:
        spec = _EVENTS[table]
        columns = spec.columns if trace is None else spec.all_columns(trace)
        yield from ((one.key, one.help) for one in columns)
    elif table in _VIEWS:
        shown = (field.head for field in fields_of(_VIEWS[table]) if field.head.label)
        yield from ((one.key, one.help) for head in shown for one in forms(head))
    else:
        yield from _MADE[table].columns


_EVENTS = {spec.name: spec for spec in EVENT_TABLES}
_VIEWS: Mapping[str, type[Struct]] = {
    "operators": OperatorRow,
    "kernels": KernelRow,
    "modules": ModuleRow,
    "blocks": MemoryEventRow,
}
"""Table → rows of the first table of the view of that name; blocks are those of Memory."""
_MADE: Mapping[str, MadeTable] = {
    **MADE,
    "tables": MadeTable(
        "Every table on one line.",
        (
            ("table_name", "The table."),
            (
                "columns",
                "Ids, which end with their unit. A sum x may have x_per_step.",
            ),
        ),
        _tables,
    ),
    "dictionary": MadeTable(
        "Every column of every table.",
        (
            ("table_name", "The table."),
            ("column_name", "The column."),
            ("unit", "Its unit."),
            ("meaning", "What it is."),
        ),
        _dictionary,
    ),
}
TABLES: Mapping[str, str] = {
    **{name: spec.help for name, spec in _EVENTS.items()},
    **{name: f"Every row of the view {name}." for name in _VIEWS if name != "blocks"},
    "blocks": "Blocks of memory with an allocation or a release in the recording.",
    **{name: made.help for name, made in _MADE.items()},
}
"""Table → meaning of a row."""


def named(tables: Collection[str]) -> tuple[str, ...]:
    """The tables of these names; all where none is given.

    Raises:
        NotFoundError: there is no such table.
    """
    for name in tables:
        if name not in TABLES:
            raise NotFoundError(
                f"there is no table {name[:40]!r}", hint=nearest(name, list(TABLES))
            )
    return tuple(tables) or tuple(TABLES)


def no_table(name: str) -> NotFoundError:
    """The error for an unknown name of a table."""
    return NotFoundError(f"there is no table {name[:40]!r}", hint=nearest(name, list(TABLES)))
