"""``kinetoscope show VIEW PATH``: a view of a trace as a table, JSON or CSV.

Each view is a command of its own, made from the registry; the fields of its query are its options.
"""

from __future__ import annotations

import sys
from typing import Any

import click
import msgspec
from msgspec import Struct

from ..analysis.facts import Facts
from ..analysis.findings import Sentence
from ..analysis.summarize import summarize
from ..base.errors import QueryError
from ..store.choose import Wanted, choose
from ..views import VIEWS
from ..views.table import Table
from ..views.view import Subject, View
from ..web.local_subject import subject_of_trace
from ..web.subject import available
from .entry import say, write
from .query_options import chosen, options
from .reading import facts_of, trace_of
from .tables import print_tables, write_csv
from .text import printable

FORMATS = ("table", "json", "csv")
COMMON = ("path", "run", "worker", "span", "format", "table")
"""Parameters of every view; no field of a query may be called so."""


@click.group()
def show() -> None:
    """Shows a view of a trace.

    PATH is a trace file, a run or a logdir. Below a folder the newest run, its first worker and
    that worker's last span are shown, unless others are chosen.
    """


def show_view(view: View, values: dict[str, Any]) -> None:
    """Reads the trace and writes the answer to standard output."""
    query = chosen(view.query, values)
    trace = choose(values["path"], Wanted(values["run"], values["worker"], values["span"]))
    if trace.notice():
        say(trace.notice())
    answer = view.build(_asked_of(view, trace.path), query)
    if values["format"] == "json":
        write(msgspec.json.format(msgspec.json.encode(answer), indent=2).decode())
        return
    tables = _selected(view.tables(answer), values["table"])
    if values["format"] == "csv":
        write_csv(tables, sys.stdout)
        return
    if values["table"] is None:
        _print_sentence(answer)
    print_tables(tables, sys.stdout)


def _asked_of(view: View, path: str) -> Facts | Subject:
    """What the view is built from: facts, which may be in the cache, or the whole trace.

    Raises:
        UnavailableError: this trace cannot fill the view.
    """
    if view.artifact is None:
        return available(view, facts_of(path))
    trace = trace_of(path)
    return subject_of_trace(view, trace, summarize(trace))


def _selected(tables: tuple[Table, ...], number: int | None) -> tuple[Table, ...]:
    if number is None:
        return tables
    if 1 <= number <= len(tables):
        return (tables[number - 1],)
    titles = ", ".join(f"{i} {table.title}" for i, table in enumerate(tables, start=1))
    raise QueryError(f"there is no table {number}", hint=f"tables: {titles}")


def _print_sentence(answer: Struct) -> None:
    """The answer first, where the view has one in words."""
    sentence = getattr(answer, "sentence", None)
    if isinstance(sentence, Sentence):
        write(printable(sentence.headline))
        rest = [text for text in (sentence.detail, sentence.agreement) if text]
        write(printable(" · ".join(rest)) + "\n")


def _command(view: View) -> click.Command:
    def run(**values: Any) -> None:  # noqa: ANN401  # what the options give
        show_view(view, values)

    params: list[click.Parameter] = [
        click.Argument(["path"]),
        click.Option(["--run"], help="Run: the folder of the trace, below PATH."),
        click.Option(["--worker"], help="Worker within the run."),
        click.Option(["--span"], help="Span of the worker: 1, 2, … in time order."),
        click.Option(["--format"], type=click.Choice(FORMATS), default="table", show_default=True),
        click.Option(["--table"], type=int, help="Only the table of this number (not for JSON)."),
        *options(view.query),
    ]
    return click.Command(view.stem, params=params, callback=run, help=view.question)


for _view in VIEWS:
    show.add_command(_command(_view))
