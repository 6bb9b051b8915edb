"""``kinetoscope hang PATH…``: which rank never entered which collective?"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import click
import numpy as np

from ..analysis.distributed.hang import PROBLEMS, HangReport, explain_hang, said_ranks
from ..base.errors import NotFoundError, TraceFormatError
from ..trace.pickles.flight_recorder import CollectiveLog, logs_below, read_log
from ..views.table import Column, Table
from .entry import FORMAT, as_json, printable, say, write
from .render import (
    TableLayout,
    escaped,
    print_tables,
    tables_markdown,
    width_of,
    wrapped,
    write_csv,
)

HANGS = 7
"""Exit code: a collective did not end."""


@click.command()
@click.argument(
    "paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(path_type=Path)
)
@click.option("--format", "form", **FORMAT)
@click.option(
    "--exit-code/--no-exit-code",
    "tells",
    default=False,
    help=f"End with {HANGS} if a collective did not end.",
)
def hang(paths: tuple[Path, ...], form: str, tells: bool) -> int:
    """Explains a hang from what each rank wrote down: which one never entered which collective.

    PATH is a folder, or files: dumps of PyTorch's flight recorder (TORCH_NCCL_DUMP_ON_TIMEOUT=1,
    TORCH_NCCL_DEBUG_INFO_TEMP_FILE), or logs of the NCCL Inspector (NCCL_INSPECTOR_DUMP_DIR).
    """
    logs = list(_read(paths))
    report = explain_hang(logs)
    found = tables(report, logs)
    if form == "json":
        write(as_json(_plain(report)))
    elif form == "csv":
        write_csv(found, sys.stdout)
    elif form == "markdown":
        said = (report.sentence, report.detail, *report.notes)
        write("\n\n".join([*map(escaped, filter(None, said)), tables_markdown(found)]))
    else:
        width = width_of(sys.stdout)
        for text in (report.sentence, report.detail, *report.notes):
            for line in wrapped(printable(text), width):
                write(line)
        write("")
        print_tables(found, sys.stdout, TableLayout(width, None, "--format csv has them"))
    return HANGS if tells and report.stuck else 0


def _read(paths: Sequence[Path]) -> Iterable[CollectiveLog]:
    """The logs of all files; one that cannot be used is named, the others count.

    Raises:
        NotFoundError: there is no such path, or no log below it.
        TraceFormatError: a file that was named alone is no log.
    """
    found = 0
    for path in paths:
        if not path.exists():
            raise NotFoundError(f"there is no file or folder {path}", hint="check the spelling")
        for file in logs_below(path):
            try:
                yield from read_log(file)
                found += 1
            except (TraceFormatError, OSError) as error:
                if len(paths) == 1 and file == path:
                    raise
                say(f"{file.name} was left out: {error}")
    if not found:
        raise NotFoundError(
            f"there is no dump of a flight recorder and no log of the NCCL Inspector in "
            f"{', '.join(map(str, paths))}",
            hint="set TORCH_NCCL_TRACE_BUFFER_SIZE=2000, TORCH_NCCL_DUMP_ON_TIMEOUT=1 and"
            " TORCH_NCCL_DEBUG_INFO_TEMP_FILE in the job",
        )


def tables(report: HangReport, logs: Sequence[CollectiveLog]) -> tuple[Table, ...]:
    """Unfinished collectives, the position of each rank, and measured speeds of finished ones."""
    found = [_stuck_table(report)] if report.stuck else []
    found.append(_rank_table(report))
    speed = _speed_table(logs)
    return (*found, speed) if speed.rows else tuple(found)


def _stuck_table(report: HangReport) -> Table:
    columns = (
        Column("group", "Group", "description of the process group", "name"),
        Column("group_ranks", "Ranks", "of the group"),
        Column("operation", "Operation", "", "name"),
        Column("sequence", "#", "its number in the group"),
        Column("problem", "Problem"),
        Column("missed", "Missed", "ranks that did not enter it, or differ"),
        Column("waiting", "Waiting", "ranks that entered it and did not leave"),
        Column("no_log", "No log", "ranks of which there is no log"),
        Column("part_of_log", "Part of log", "ranks whose log is not whole: nobody knows of them"),
        Column("place", "Issued at", "on a rank that waits", "path"),
    )
    rows = tuple(
        (
            one.group.label,
            len(one.group.ranks),
            one.operation,
            one.sequence,
            PROBLEMS[one.kind],
            _ranks(one.missed),
            _ranks(one.waiting),
            _ranks(one.unknown),
            _ranks(one.unclear),
            one.place,
        )
        for one in report.stuck
    )
    return Table("Collectives that did not end", columns, rows)


def _ranks(ranks: Sequence[int]) -> str:
    return said_ranks(ranks).partition(" ")[2] if len(ranks) else ""


def _rank_table(report: HangReport) -> Table:
    columns = (
        Column("group", "Group", "", "name"),
        Column("rank", "Rank"),
        Column("entered", "Entered", "number of the last collective that it entered"),
        Column("completed", "Ended", "number of the last collective that ended on it"),
        Column("pending", "Pending", "entered, and not ended"),
        Column("file", "File", "", "path"),
    )
    rows = tuple(
        (
            group.label,
            one.rank,
            one.entered if one.log.writer == "flight recorder" and one.entered >= 0 else None,
            one.completed if one.completed >= 0 else None,
            len(one.pending) if one.log.writer == "flight recorder" else None,
            one.log.path,
        )
        for group in report.groups
        for one in group.members
    )
    return Table("Ranks", columns, rows)


def _speed_table(logs: Sequence[CollectiveLog]) -> Table:
    """Collectives that ended by operation and size: how long they took; as the Inspector tells."""
    columns = (
        Column("operation", "Operation", "", "name"),
        Column("bytes", "Size"),
        Column("calls", "Calls", "on all ranks"),
        Column("p50_ns", "Median"),
        Column("most_ns", "Longest"),
        Column("bus_gbs", "Bus GB/s", "median; as NCCL computes it"),
    )
    found: dict[tuple[str, int], list[tuple[float, float]]] = {}
    for log in logs:
        for row in np.flatnonzero(log.dur_ns >= 0).tolist():
            name = log.operations[log.operation[row]]
            pair = (float(log.dur_ns[row]), float(log.bus_gbs[row]))
            found.setdefault((name, int(log.bytes[row])), []).append(pair)
    rows = []
    for (name, size), pairs in found.items():
        took, bus = np.array(pairs).T
        speed = float(np.median(bus)) if not np.isnan(bus).any() else None
        rows.append((name, size if size >= 0 else None, len(pairs), int(np.median(took)),
                     int(took.max()), speed))  # fmt: skip
    rows.sort(key=lambda row: -row[3] * row[2])
    return Table("Collectives that ended", columns, tuple(rows))


def _plain(report: HangReport) -> dict[str, object]:
    """The report without the logs themselves."""
    return {
        "sentence": report.sentence,
        "detail": report.detail,
        "notes": report.notes,
        "ranks": report.ranks,
        "missing": report.missing,
        "stuck": [
            {
                "group": one.group.label,
                "group_ranks": one.group.ranks,
                "kind": one.kind,
                "operation": one.operation,
                "sequence": one.sequence,
                "missed": one.missed,
                "waiting": one.waiting,
                "no_log": one.unknown,
                "part_of_log": one.unclear,
                "waits_elsewhere": {str(rank): said for rank, said in one.elsewhere.items()},
                "last": {str(rank): said for rank, said in one.last.items()},
                "place": one.place,
            }
            for one in report.stuck
        ],
        "groups": [
            {
                "label": group.label,
                "ranks": group.ranks,
                "ranks_guessed": group.is_guessed,
                "members": [
                    {"rank": one.rank, "entered": one.entered, "completed": one.completed}
                    for one in group.members
                ],
            }
            for group in report.groups
        ],
    }
