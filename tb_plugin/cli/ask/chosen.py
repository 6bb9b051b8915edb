"""The argument and options that name one trace, for every command on one."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from ...session.session import ChosenTrace, Wanted, choose
from ..entry import PATH, START_HELP, say

_OPTIONS = (
    click.option("--span", help="Span of the worker: 1, 2, … in time order.  [default: the last]"),
    click.option("--worker", help="Worker of the start.  [default: the first]"),
    click.option("--start", type=int, help=START_HELP),
    click.option("--run", help="Run: the folder of the trace, below PATH.  [default: the newest]"),
    click.argument("path", type=PATH),
)


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
        if not rest.get("other"):  # a second recording: both are told together
            tell(chosen)
        command(path=path, chosen=chosen, **rest)

    for option in _OPTIONS:
        run_it = option(run_it)
    return run_it


def tell(chosen: ChosenTrace) -> None:
    """Say which trace of a folder was chosen."""
    if chosen.notice():
        say(chosen.notice(), hint="choose with --run, --start, --worker, --span")
