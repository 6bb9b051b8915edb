"""Which trace file does a path mean? A file is itself; below a folder one is chosen.

By default it is the newest run, its first worker, that worker's last span.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ..base.errors import KinetoscopeError, NotFoundError, QueryError, UnavailableError
from ..base.units import plural
from ..store.catalog import pick
from ..store.catalog_snapshot import PoolStatus, publish
from ..store.catalog_state import Record
from ..store.contract import Catalog, ErrorInfo
from ..store.discovery.poller import judge
from ..store.discovery.stability import Patience
from ..store.discovery.walk import (
    Key,
    Logdir,
    Outcome,
    remote_problem,
    resolve,
    walk,
    without_file_scheme,
)
from ..trace.io.sniff import special_file

Place: TypeAlias = tuple[str, str, str]
"""Run, worker, span."""

NO_PATIENCE = Patience(old=0.0, quiet=0.0, incomplete=0.0)
"""A named file is read as it is now."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Names of run, worker and span; None for the default."""

    run: str | None = None
    worker: str | None = None
    span: str | None = None

    @property
    def is_open(self) -> bool:
        """True if no name was given."""
        return self.run is None and self.worker is None and self.span is None


@dataclass(frozen=True, slots=True)
class ChosenTrace:
    """The chosen trace file, and the number of others."""

    path: str
    place: Place | None  # None for a file that was named
    others: int  # traces that were not chosen

    def notice(self) -> str:
        """The choices made by default, as a sentence; "" where there was no choice."""
        if self.place is None or not self.others:
            return ""
        run, worker, span = self.place
        return (
            f"showing run {run}, worker {worker}, span {span}; {plural(self.others, 'other trace')}"
        )


def choose(path: str, wanted: Wanted = Wanted()) -> ChosenTrace:
    """The trace of a path and names.

    Raises:
        NotFoundError: there is no such path, no trace below it, or no such run, worker, span.
        UnavailableError: the path is one of another machine.
        TraceFormatError: it is a pipe, a socket or a device.
        QueryError: names were given, but the path is one file.
    """
    path = local(path)
    if os.path.isdir(path):
        return _below(path, wanted)
    special = special_file(os.stat(path).st_mode)
    if special is not None:
        raise special
    if not wanted.is_open:
        raise QueryError(
            f"{path} is one file", hint="--run, --worker and --span choose below a folder"
        )
    return ChosenTrace(path, None, 0)


def local(path: str) -> str:
    """The path of a file or folder of this machine.

    Raises:
        UnavailableError: it is one of another machine.
        NotFoundError: there is no such path.
    """
    remote = remote_problem(path)
    if remote is not None:
        raise UnavailableError(remote.message, hint=remote.hint)
    path = os.path.expanduser(without_file_scheme(path))
    if os.path.exists(path):
        return path
    lost = lost_link(path)
    if lost:
        raise NotFoundError(f"{path}: {lost}")
    raise NotFoundError(f"there is no file or folder {path}", hint="check the spelling")


def lost_link(path: str) -> str:
    """The message for a link without a target; "" for everything else."""
    if not os.path.islink(path) or os.path.exists(path):
        return ""
    return f"This is a link to {os.readlink(path)}, which is not there."


def _below(folder: str, wanted: Wanted) -> ChosenTrace:
    logdirs = resolve(folder, None)
    records, problems = look(logdirs)
    view = PoolStatus((), lambda _: None)
    published = publish(
        records.values(), logdirs, problems, view, scanning=False, looked=time.time()
    )
    if not published.catalog.runs:
        raise _nothing(folder, published.catalog)
    place = pick(published.catalog, wanted.run, wanted.worker, wanted.span)
    path = records[published.index[place]].found.absolute
    return ChosenTrace(path, place, len(_fitting(published.index, wanted)) - 1)


def look(logdirs: tuple[Logdir, ...]) -> tuple[dict[Key, Record], Sequence[ErrorInfo]]:
    """Every file below the logdirs, judged once as it is now."""
    outcome = Outcome()
    now = time.monotonic()
    records = {key: Record.of(key, found, now) for key, found in walk(logdirs, outcome)}
    judged = {key: one.decided(judge(one, NO_PATIENCE)) for key, one in records.items()}
    return judged, outcome.problems


def _fitting(places: Iterable[Place], wanted: Wanted) -> list[Place]:
    """The places that match the given names."""
    names = (wanted.run, wanted.worker, wanted.span)
    return [
        place
        for place in places
        if all(name in {None, part} for name, part in zip(names, place, strict=True))
    ]


def _nothing(folder: str, catalog: Catalog) -> KinetoscopeError:
    if catalog.problems:
        problem = catalog.problems[0]
        return NotFoundError(problem.message, hint=problem.hint)
    return NotFoundError(
        f"there is no trace below {folder}",
        hint=f"kinetoscope doctor {folder} says why",
    )
