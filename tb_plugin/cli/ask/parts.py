"""Answers that the page has within a view, as commands: critical path, what-if, a stretch of time.

Options are the fields of the part's query; tables are the Structs of its answer.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any

import click
from msgspec import Struct

from ...base.errors import QueryError
from ...base.regex import regex
from ...session.session import ChosenTrace
from ...views import view_named
from ...views.shared import parse
from ...views.table import Column, ColumnKind, Table, fields_of, heads
from ..entry import FORMAT, as_json, printable, write
from ..render import TableLayout, print_tables, progress_bar, tables_markdown, width_of, write_csv
from ..show import ROWS, first_rows, options
from ..show import chosen as query_of
from .chosen import of_trace


def _command(name: str, stem: str, part_name: str, text: str) -> click.Command:
    view = view_named(stem)
    part = next(one for one in view.parts if one.stem == part_name)

    def run_it(chosen: ChosenTrace, form: str, rows: int, **values: Any) -> None:  # noqa: ANN401
        values.pop("path")
        with progress_bar(chosen.shown) as on_progress:
            subject = chosen.session(on_progress).subject(view)
            answer = part.build(subject, query_of(part.query, values))
        _print(answer, form, rows)

    run_it.__doc__ = text
    command = click.option("--format", "form", **FORMAT)(of_trace(run_it))
    command = click.option(
        "--limit", "rows", type=click.IntRange(min=1), default=ROWS, show_default=True,
        help="Rows of each table; JSON and CSV have all.",
    )(command)  # fmt: skip
    made = click.command(name)(command)
    made.params.extend(options(part.query))
    return made


def _print(answer: Struct, form: str, rows: int) -> None:
    tables = tuple(tables_of(answer))
    if form not in ("json", "csv"):
        tables = tuple(first_rows(table, rows) for table in tables)
    if form == "json":
        write(as_json(answer))
    elif form == "csv":
        write_csv(tables, sys.stdout)
    elif form == "markdown":
        write("\n\n".join([*sentences(answer), tables_markdown(tables)]))
    else:
        for text in sentences(answer):
            write(printable(text))
        print_tables(tables, sys.stdout, TableLayout(width_of(sys.stdout), None, "--format csv"))


def sentences(answer: Struct) -> list[str]:
    """Texts of an answer, in their order."""
    values = (getattr(answer, name) for name in answer.__struct_fields__)
    return [value for value in values if isinstance(value, str) and value]


def tables_of(answer: Struct) -> Iterator[Table]:
    """A table for each list of Structs, by declared columns, else by plain fields; then figures."""
    figures = []
    for name in answer.__struct_fields__:
        value = getattr(answer, name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            figures.append((name, value))
        elif isinstance(value, tuple) and value and isinstance(value[0], Struct):
            if isinstance(value[0], Column):
                continue
            columns = heads(type(value[0])) or _plain_columns(value[0])
            rows = tuple(tuple(getattr(one, column.key) for column in columns) for one in value)
            yield Table(name.capitalize(), columns, rows)
    if figures:
        columns = tuple(_column(name, is_numeric=True) for name, _ in figures)
        yield Table("Figures", columns, (tuple(figure for _, figure in figures),))


def _column(key: str, *, is_numeric: bool) -> Column:
    label = key.removesuffix("_ns").replace("_", " ").capitalize()
    kind: ColumnKind = "name" if key in ("text", "label", "name") else "value"
    return Column(key, label, kind=kind, is_numeric=is_numeric)


def _plain_columns(row: Struct) -> tuple[Column, ...]:
    return tuple(
        _column(field.head.key, is_numeric=field.head.is_numeric)
        for field in fields_of(type(row))
        if isinstance(getattr(row, field.head.key), str | int | float | None)
    )


path = _command("path", "overview", "path", "Shows the critical path of the steps.")
whatif = _command(
    "whatif",
    "distributed",
    "what_if",
    "Replays a step of all ranks with one change.\n\n"
    "PATH is the folder of a run with several ranks. Ranks, nodes, pipeline stages and process"
    " groups have the order of `kinetoscope show distributed`.",
)

_INSTANT = regex(r"(-?\d+(?:\.\d+)?)\s*(ns|us|µs|ms|s)?", re.ASCII)
_FACTORS = {None: 1, "ns": 1, "us": 1_000, "µs": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
_KINDS = {"host": ("thread", "python"), "device": ("stream", "graph")}


def instant(text: str) -> int:
    """Nanoseconds meant by ``12.5ms``, ``1s`` or ``12500000``.

    Raises:
        QueryError: it is no instant.
    """
    match = _INSTANT.fullmatch(text.strip())
    if match is None:
        raise QueryError(f"{text[:40]!r} is no instant", hint="write 12.5ms, 1s or 12500000")
    whole, _, decimals = match[1].partition(".")
    factor = _FACTORS[match[2]]
    part = int((decimals + "000000000")[:9]) * factor // 1_000_000_000 if decimals else 0
    return int(whole) * factor + (-part if whole.startswith("-") else part)


@click.command()
@of_trace
@click.option("--from", "low", required=True, help="Begin, from the start of the trace: 12.5ms.")
@click.option("--to", "high", required=True, help="End: 13ms.")
@click.option(
    "--what", type=click.Choice(["all", "host", "device"]), default="all", show_default=True,
    help="Threads of the host, streams of devices, or both.",
)  # fmt: skip
@click.option("--limit", type=click.IntRange(1, 5000), default=25, show_default=True,
              help="Names.")  # fmt: skip
@click.option("--format", "form", **FORMAT)
def window(
    path: str,  # noqa: ARG001  # what names the trace
    chosen: ChosenTrace,
    low: str,
    high: str,
    what: str,
    limit: int,
    form: str,
) -> None:
    """Shows what ran between two instants, by name."""
    view = view_named("timeline")
    part = next(one for one in view.parts if one.stem == "area")
    with progress_bar(chosen.shown) as on_progress:
        subject = chosen.session(on_progress).subject(view)
        tracks = ""
        if what != "all":
            manifest: Any = view.build(subject, view.query())
            some = [str(at) for at, one in enumerate(manifest.tracks) if one.kind in _KINDS[what]]
            tracks = ",".join(some)
        given = {"start_ns": str(instant(low)), "end_ns": str(instant(high)), "tracks": tracks}
        answer: Any = part.build(subject, parse({**given, "limit": str(limit)}, part.query))
    _print(answer, form, limit)
