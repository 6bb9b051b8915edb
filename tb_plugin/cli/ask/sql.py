"""``kinetoscope sql PATH QUERY``: one SELECT over the tables of a recording."""

from __future__ import annotations

import sys

import click

from ...ask.sql import BYTES, MOST_SECONDS, ROWS, SECONDS, SqlRequest, advice_among_ranks
from ...ask.worker import asked
from ...session.session import ChosenTrace
from ...views.table import Column, Table
from ..entry import FORMAT, as_json, printable, say, write
from ..render import tables_markdown, write_csv
from .chosen import of_trace


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
    "--timeout", type=click.FloatRange(0, MOST_SECONDS, min_open=True), default=SECONDS,
    show_default=True, help="Most seconds of the query.",
)  # fmt: skip
def sql(
    path: str,  # noqa: ARG001  # what names the trace
    chosen: ChosenTrace,
    query: str,
    form: str,
    limit: int,
    max_bytes: int,
    skip: int,
    timeout: float,
) -> None:
    """Answers one SELECT over the tables of a recording.

    `FROM dictionary` lists every table and column. Nothing can be written, and no file is read.
    """
    session = chosen.session()
    request = SqlRequest(query, limit, max_bytes, timeout, skip)
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

            for line in plain_table(answer.columns, cells):
                write(printable(line))
    if answer.more:
        done = skip + len(answer.rows)
        say(f"there are more than {done} rows", hint=f"--skip {done} goes on; --limit, --max-bytes")


def _cell(value: object) -> str | int | float | None:
    if value is None or isinstance(value, str | int | float):
        return value
    return as_json(value, indent=-1)
