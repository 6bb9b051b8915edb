"""``kinetoscope report PATH [OTHER]``: one file with the page, for someone without the trace."""

from __future__ import annotations

from pathlib import Path

import click

from ..base.errors import QueryError
from ..base.units import listing, parse_size, size
from ..session.session import Wanted, choose
from ..web.report.document import HINT, MOST_BYTES, report_of
from .entry import PATH, START_HELP, say, write


@click.command()
@click.argument("path", type=PATH)
@click.argument("other", required=False, type=PATH)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="The file.  [default: report.html]"
)
@click.option("--run", help="Run below PATH.  [default: the newest]")
@click.option("--worker", help="Worker of the run.  [default: the first]")
@click.option("--span", help="Span of the worker.  [default: the last]")
@click.option("--start", type=int, help=START_HELP)
@click.option(
    "--max-size",
    default=f"{MOST_BYTES // 1_000_000}MB",
    show_default=True,
    help="Most bytes of the file.",
)
def report(
    path: str,
    other: str | None,
    output: Path | None,
    run: str | None,
    worker: str | None,
    span: str | None,
    start: int | None,
    max_size: str,
) -> None:
    """Writes one HTML file with all views of a recording, to be sent to someone.

    PATH is a trace file or a folder. The file opens in any browser, without a server and without
    the internet. With OTHER it holds their comparison, too; of a run with several ranks it holds
    the comparison of the ranks. Names, paths and shapes of the recording are in it.
    """
    most = parse_size(max_size)
    if most is None:
        raise QueryError(f"{max_size!r} is no size", hint="write it as 5MB")
    chosen = choose(path, Wanted(run, worker, span, start))
    if notice := chosen.notice():
        say(notice)
    made = report_of(chosen, choose(other) if other is not None else None, most)
    target = output or Path("report.html")
    made.write(target)
    write(f"{target}: {size(len(made.content))}")
    if made.left_out:
        say(f"the report leaves out {listing(made.left_out)}")
    say(HINT)
