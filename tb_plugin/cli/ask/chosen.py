"""The argument and options that name one trace, for every command on one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from inspect import getdoc
from typing import Any

import click

from ...base.errors import UnavailableError
from ...session.session import ChosenTrace, FileSession, Wanted, choose
from ...views import view_named
from ..entry import PATH, START_HELP, say

_OPTIONS = (
    click.option("--span", help="Span of the worker: 1, 2, … in time order.  [default: the last]"),
    click.option("--worker", help="Worker of the start.  [default: the first]"),
    click.option("--start", type=int, help=START_HELP),
    click.option("--run", help="Run: the folder of the trace, below PATH.  [default: the newest]"),
    click.argument("path", type=PATH),
)


_PATH = "PATH is a trace file, a run or a logdir, as for `kinetoscope show`."


def of_trace(command: Callable[..., None]) -> Callable[..., None]:
    """A command on one trace: it gets ``path`` as given, and ``chosen``."""

    @wraps(command)
    def run_it(
        path: str,
        run: str | None,
        start: int | None,
        worker: str | None,
        span: str | None,
        **rest: Any,  # noqa: ANN401  # options of the command
    ) -> None:
        chosen = choose(path, Wanted(run, worker, span, start))
        # A second recording: both are told together. All ranks: none was chosen.
        if not rest.get("others") and not rest.get("ranks"):
            tell(chosen)
        command(path=path, chosen=chosen, **rest)

    if "PATH is" not in (text := getdoc(command) or ""):
        run_it.__doc__ = f"{text}\n\n{_PATH}".strip()
    for option in _OPTIONS:
        run_it = option(run_it)
    return run_it


def tell(chosen: ChosenTrace) -> None:
    """Say which trace of a folder was chosen."""
    if chosen.notice():
        say(chosen.notice(), hint="choose with --run, --start, --worker, --span")


def ranks_of_run(chosen: ChosenTrace) -> Iterator[tuple[int, FileSession]]:
    """Number and recording of each rank of the run.

    Raises:
        UnavailableError: a file was named.
    """
    if chosen.place is None or chosen.folder is None:
        raise UnavailableError("one file has no other ranks", hint="name the folder of the run")
    workers = chosen.session().recordings(view_named("distributed")).workers()
    for at, worker in enumerate(workers):
        if not worker.problem:
            rank = at if worker.rank is None else worker.rank
            yield rank, chosen.folder.session(worker.place)
