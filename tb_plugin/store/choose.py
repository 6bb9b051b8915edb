"""Which trace a path means: a file is itself; below a folder one is chosen.

What is not given is the newest run, its first worker, that worker's last span.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ..base.errors import KinetoscopeError, NotFoundError, QueryError
from ..base.units import plural
from . import looking
from .catalog_types import Catalog, ErrorInfo
from .logdirs import Logdir, resolve
from .lookup import pick
from .publish import View, publish
from .records import Key, Record
from .settle import Patience

Place: TypeAlias = tuple[str, str, str]
"""Run, worker, span."""

NO_PATIENCE = Patience(old=0.0, quiet=0.0, incomplete=0.0)
"""Whoever names a file wants it read as it is now."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Names that were given; None where the choice is ours."""

    run: str | None = None
    worker: str | None = None
    span: str | None = None

    @property
    def is_open(self) -> bool:
        """Whether nothing was said."""
        return self.run is None and self.worker is None and self.span is None


@dataclass(frozen=True, slots=True)
class Chosen:
    """A trace file, and what else there was."""

    path: str
    place: Place | None  # None for a file that was named
    others: int  # traces that were not chosen

    def notice(self) -> str:
        """What was chosen without being told to; "" where there was no choice."""
        if self.place is None or not self.others:
            return ""
        run, worker, span = self.place
        return (
            f"showing run {run}, worker {worker}, span {span}; "
            f"{plural(self.others, 'other trace')}: choose with --run, --worker, --span"
        )


def choose(path: str, wanted: Wanted = Wanted()) -> Chosen:
    """The trace that is meant.

    Raises:
        NotFoundError: there is no such path, no trace below it, or no such run, worker, span.
        QueryError: names were given, but the path is one file.
    """
    if os.path.isdir(path):
        return _below(path, wanted)
    if not os.path.exists(path):
        raise NotFoundError(f"there is no file or folder {path}", hint="check the spelling")
    if not wanted.is_open:
        raise QueryError(
            f"{path} is one file", hint="--run, --worker and --span choose below a folder"
        )
    return Chosen(path, None, 0)


def only(path: str) -> str:
    """The file, or the only trace below a folder.

    Raises:
        NotFoundError: as ``choose``.
        QueryError: there are several; names some.
    """
    chosen = choose(path)
    if chosen.others:
        raise QueryError(
            f"there are {chosen.others + 1} traces below {path}",
            hint=f"name one of them, for example {chosen.path}",
        )
    return chosen.path


def _below(folder: str, wanted: Wanted) -> Chosen:
    logdirs = resolve(folder, None)
    records, problems = look(logdirs)
    view = View({}, lambda _: None)
    published = publish(
        records.values(), logdirs, problems, view, scanning=False, looked=time.time()
    )
    if not published.catalog.runs:
        raise _nothing(folder, published.catalog)
    place = pick(published.catalog, wanted.run, wanted.worker, wanted.span)
    path = records[published.index[place]].found.absolute
    return Chosen(path, place, len(_fitting(published.index, wanted)) - 1)


def look(logdirs: tuple[Logdir, ...]) -> tuple[dict[Key, Record], Sequence[ErrorInfo]]:
    """Every file below the logdirs, judged once as it is now."""
    outcome = looking.Outcome()
    now = time.monotonic()
    records = {key: Record.of(key, found, now) for key, found in looking.walk(logdirs, outcome)}
    for record in records.values():
        looking.judge(record, NO_PATIENCE).note_in(record)
    return records, outcome.problems


def _fitting(places: Iterable[Place], wanted: Wanted) -> list[Place]:
    """The places that the given names leave to choose from."""
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
