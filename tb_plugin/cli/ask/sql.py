"""``kinetoscope sql PATH QUERY``: one SELECT over the tables of a recording."""

from __future__ import annotations

import sys
from typing import Any

import click

from ...ask.sql import BYTES, MOST_SECONDS, ROWS, SECONDS, SqlRequest, advice_among_ranks
from ...ask.worker import asked, asked_of_ranks
from ...base.errors import QueryError
from ...session.session import ChosenTrace
from ...views.table import Column, Table
from ..entry import FORMAT, as_json, printable, say, write
from ..render import tables_markdown, write_csv
from .chosen import of_trace, ranks_of_run


@click.command()
@of_trace
@click.argument("query")
@click.option("--format", "form", **FORMAT)
@click.option(
    "--limit", type=click.IntRange(1, 10_000_000), default=ROWS, show_default=True,
    help="Most rows.",
)  # fmt: skip
@click.option(
    "--max-bytes", type=click.IntRange(1, 1 << 30), default=BYTES, show_default=True,
    help="Most bytes of the rows as JSON.",
)  # fmt: skip
@click.option("--skip", type=click.IntRange(0), default=0, help="Leaves out the first rows.")
@click.option(
    "--timeout", "seconds", type=click.FloatRange(0, MOST_SECONDS, min_open=True), default=SECONDS,
    show_default=True, help="Most seconds of the query.",
)  # fmt: skip
@click.option("--ranks", is_flag=True, help="Asks every rank of the run; `rank` is a column.")
@click.option("--full-names", is_flag=True, help="Shows whole names in text.")
def sql(
    path: str,  # noqa: ARG001  # what names the trace
    chosen: ChosenTrace,
    query: str,
    form: str,
    ranks: bool,
    full_names: bool,
    **limits: Any,  # noqa: ANN401  # fields of SqlRequest
) -> None:
    """Answers one SELECT over the tables of a recording.

    `FROM tables` lists them with their columns, `FROM dictionary WHERE column_name = '…'` says what
    a column means. Nothing can be written, and no file is read.
    """
    request = SqlRequest(query, **limits)
    if ranks:
        if request.skip:
            raise QueryError("--skip is of one recording", hint="raise --limit or --max-bytes")
        answer = asked_of_ranks(ranks_of_run(chosen), request)
    else:
        session = chosen.session()
        answer = asked(session.path, request, advice_among_ranks(session, query))
    if form == "json":
        write(as_json(answer, indent=-1))
    else:
        columns = tuple(Column(key, key, kind="name") for key in answer.columns)
        cells = tuple(tuple(map(_cell, row)) for row in answer.rows)
        table = Table("Rows", columns, cells)
        if form == "csv":
            write_csv([table], sys.stdout)
        elif form == "markdown":
            write(tables_markdown((table,)))
        else:
            from ...ask.text import plain_table

            for line in plain_table(answer.columns, cells, sys.stdout.isatty(), full_names):
                write(printable(line))
    if answer.more:
        done = request.skip + len(answer.rows)
        hint = "--limit, --max-bytes" if ranks else f"--skip {done} goes on; --limit, --max-bytes"
        say(f"there are more than {done} rows", hint=hint)


def _cell(value: object) -> str | int | float | None:
    if value is None or isinstance(value, str | int | float):
        return value
    return as_json(value, indent=-1)
