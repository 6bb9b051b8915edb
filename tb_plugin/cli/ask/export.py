"""``kinetoscope export PATH --to DIR``: every table of a recording as a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from ...ask.files import FileFormat, write_tables
from ...ask.sources import Source
from ...base.units import plural, size
from ...session.session import ChosenTrace, Session
from ..entry import WordChoice, as_json, printable, write
from .chosen import of_trace, ranks_of_run


@click.command()
@of_trace
@click.option("--to", "folder", required=True, type=click.Path(file_okay=False, path_type=Path),
              help="Folder of the files; made where it is not there.")  # fmt: skip
@click.option("--format", "form", type=WordChoice(("parquet", "arrow", "csv"), {}),
              default="parquet", show_default=True, help="Kind of the files.")  # fmt: skip
@click.option("--tables", default="", help="Tables by name, with commas.  [default: all]")
@click.option("--ranks", is_flag=True, help="Every rank of the run, in folders rank=N.")
@click.option("--report", type=WordChoice(("text", "json"), {}), default="text", show_default=True,
              help="Format of the report; json: a line for each table, and errors.")  # fmt: skip
def export(
    path: str,  # noqa: ARG001  # what names the trace
    chosen: ChosenTrace,
    folder: Path,
    form: FileFormat,
    tables: str,
    ranks: bool,
    report: str,
) -> None:
    """Writes every table of a recording as a file.

    A table `dictionary` explains all columns. Parquet and Arrow have unit and meaning in their
    metadata; beside a CSV file, a JSON file has them.
    """
    names = tuple(part.strip() for part in tables.split(",") if part.strip())
    for place, session in _sessions(chosen, folder, ranks):
        for one in write_tables(Source(session), place, form, names):
            if report == "json":
                write(as_json(one, indent=-1))
            elif one.reason:
                write(printable(f"{one.table}: not available: {one.reason}"))
            else:
                write(printable(f"{one.file}: {plural(one.rows, 'row')}, {size(one.bytes)}"))


def _sessions(chosen: ChosenTrace, folder: Path, ranks: bool) -> Iterator[tuple[Path, Session]]:
    if not ranks:
        yield folder, chosen.session()
        return
    for rank, session in ranks_of_run(chosen):
        yield folder / f"rank={rank}", session
