"""``kinetoscope doctor PATH``: every file, whether it is used, and if not, why."""

from __future__ import annotations

import os
import sys

import click
import msgspec

from ..store.choose import local
from ..trace.health import COSTLY
from ..views.table import Column, Table
from .entry import write
from .examine import FileReport, examine_file, examine_folder
from .installation import Fact, installation
from .tables import Layout, print_tables, width_of

NOTHING_TO_SHOW = 3
USABLE = ("in use", "truncated")


class Report(msgspec.Struct, frozen=True):
    """What doctor says, as JSON."""

    installation: tuple[Fact, ...]
    files: tuple[FileReport, ...]
    problems: tuple[str, ...]


@click.command()
@click.argument("path")
@click.option(
    "--format",
    "form",
    type=click.Choice(("table", "json")),
    default="table",
    show_default=True,
    help="For people, for programs.",
)
def doctor(path: str, form: str) -> int:
    """Lists every file: whether it is used, and if not, why.

    PATH is a trace file, a run or a logdir. What looks like a trace is read, as TensorBoard would.
    Exit code 3: there is nothing that can be shown.
    """
    report = examine(path)
    if form == "json":
        write(msgspec.json.format(msgspec.json.encode(report), indent=2).decode())
    else:
        print_tables(_tables(report), sys.stdout, Layout(width_of(sys.stdout)))
    if not any(file.verdict in USABLE for file in report.files):
        return NOTHING_TO_SHOW
    return 0


def examine(path: str) -> Report:
    """Looks at everything that the path means.

    Raises:
        NotFoundError: there is no such path.
        UnavailableError: it is one of another machine.
    """
    path = local(path)
    if os.path.isdir(path):
        files, problems = examine_folder(path)
    else:
        files, problems = (examine_file(path),), ()
    return Report(installation(), files, problems)


def _tables(report: Report) -> tuple[Table, ...]:
    tables = [
        Table(
            "Installation",
            (Column("what", "What"), Column("value", "Value", kind="words")),
            tuple((fact.what, fact.value) for fact in report.installation),
        ),
        _files(report.files),
        _notes(report.files),
    ]
    if report.problems:
        rows = tuple((problem,) for problem in report.problems)
        tables.append(Table("Problems", (Column("problem", "Problem", kind="words"),), rows))
    return tuple(tables)


def _files(files: tuple[FileReport, ...]) -> Table:
    columns = (
        Column("file", "File", kind="path"),
        Column("verdict", "Verdict"),
        Column("file_bytes", "Size"),
        Column("event_count", "Events"),
        Column("run", "Run", kind="path", is_minor=True),
        Column("worker", "Worker", kind="path", is_minor=True),
        Column("span", "Span", is_minor=True),
        Column("reason", "Why", kind="text"),
    )
    rows = tuple(
        (f.file, f.verdict, f.file_bytes, f.event_count, f.run, f.worker, f.span, _why(f))
        for f in files
    )
    return Table("Files", columns, rows)


def _why(file: FileReport) -> str:
    return " ".join(text for text in (file.reason, file.hint) if text)


def _notes(files: tuple[FileReport, ...]) -> Table:
    """All notes of one file; of several only those that cost something."""
    columns = (
        Column("file", "File", kind="path"),
        Column("severity", "Severity"),
        Column("title", "Note", kind="words"),
        Column("count", "Count"),
        Column("consequence", "Consequence", kind="text"),
        Column("remedy", "Remedy", kind="text"),
    )
    rows = tuple(
        (file.file, note.severity, note.title, note.count or None, note.consequence, note.remedy)
        for file in files
        for note in file.notes
        if len(files) == 1 or note.severity in COSTLY
    )
    title = "Health" if len(files) == 1 else "Health: errors and warnings"
    return Table(title, columns, rows)
