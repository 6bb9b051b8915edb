"""``kinetoscope report PATH [OTHER]``: one file with the page, for someone without the trace."""

from __future__ import annotations

from pathlib import Path

import click

from ..base.errors import QueryError
from ..base.regex import regex
from ..base.units import size
from ..session.session import Wanted, choose
from ..web.report import MOST_SIZE
from ..web.report.document import HINT, ReportOptions, report_of
from .entry import PATH, START_HELP, say, write

_TIME = r"(\d+(?:\.\d+)?)\s*(ns|us|µs|ms|s)"
_RANGE = regex(rf"\s*{_TIME}\s*[-–]\s*{_TIME}\s*")
_UNITS = {"ns": 1, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9}


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
    default=MOST_SIZE,
    show_default=True,
    help="Most bytes of the file.",
)
@click.option("--steps", default="", help="Steps that it opens with: 3, 2-5.  [default: the usual]")
@click.option(
    "--range",
    "ranges",
    multiple=True,
    metavar="FROM-TO",
    help="Times of the timeline in full detail, such as 20ms-98ms; may be given several times."
    "  [default: the typical and the longest step]",
)
@click.option("--redact", is_flag=True, help="Replace folders, hosts and users by codes.")
def report(  # noqa: PLR0913, PLR0917  # the options of the command
    path: str,
    other: str | None,
    output: Path | None,
    run: str | None,
    worker: str | None,
    span: str | None,
    start: int | None,
    max_size: str,
    steps: str,
    ranges: tuple[str, ...],
    redact: bool,
) -> None:
    """Writes one HTML file with all views of a recording, to be sent to someone.

    PATH is a trace file or a folder. The file opens in any browser, without a server and without
    the internet. With OTHER it holds their comparison, too; of a run with several ranks it holds
    the comparison of the ranks. Names, paths and shapes of the recording are in it; --redact leaves
    paths, hosts and users out.
    """
    chosen = choose(path, Wanted(run, worker, span, start))
    if notice := chosen.notice():
        say(notice)
    options = ReportOptions(max_size, steps, [_range(one) for one in ranges], redact)
    made = report_of(chosen, choose(other) if other is not None else None, options)
    target = output or Path("report.html")
    made.write(target)
    write(f"{target}: {size(len(made.content))}")
    for gap in made.left_out:
        say(gap)
    say(HINT)


def _range(text: str) -> tuple[int, int]:
    """Times in ns of such as 20ms-98ms.

    Raises:
        QueryError: it is no range.
    """
    match = _RANGE.fullmatch(text)
    times = [int(float(match[at]) * _UNITS[match[at + 1]]) for at in (1, 3)] if match else [0, 0]
    if times[0] >= times[1]:
        raise QueryError(f"{text!r} is no range of time", hint="write it as 20ms-98ms")
    return times[0], times[1]
