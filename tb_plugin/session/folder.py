"""Which traces lie below a folder, and which of them is meant? For one command, at this moment.

Apart from ``session``, because who names a file needs none of it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from msgspec import Struct

from ..base.artifact_spec import ArtifactSpec
from ..base.errors import KinetoscopeError, NotFoundError
from ..store.catalog_snapshot import PoolStatus, pick, publish
from ..store.catalog_state import Record
from ..store.contract import Catalog, ErrorInfo
from ..store.discovery.poller import fetch_heads, judge
from ..store.discovery.stability import Patience
from ..store.discovery.walk import FoundFile, Key, Logdir, Outcome, resolve, walk
from ..views.view import TracePlace
from .recordings import every_worker, start_of
from .session import ChosenTrace, FileSession, Wanted, opened

T = TypeVar("T")

NO_PATIENCE = Patience(old=0.0, quiet=0.0, incomplete=0.0)
"""A named file is read as it is now."""


class Folder(Struct, frozen=True):
    """The traces below a folder as they were when it was looked at."""

    catalog: Catalog
    files: Mapping[TracePlace, FoundFile]

    def session(self, place: TracePlace) -> FileSession:
        """One of them.

        Raises:
            NotFoundError: there is none at this place.
        """
        found = pick(self.catalog, *place)
        file = self.files[TracePlace(*found)]
        return opened(file.absolute, file.origin)

    def repeats(self, place: TracePlace) -> Sequence[TracePlace]:
        """The last recording of the same worker in each other start of its run.

        It is the one of that name or rank, or the only one of both starts. Spans of one start share
        the state of the machine: they are no repeats.
        """
        run = next(one for one in self.catalog.runs if one.name == place.run)
        own = next(one for one in every_worker(run) if one.name == place.worker)
        names: dict[int, set[str]] = {}
        for one in run.workers:
            for span in one.spans:
                names.setdefault(span.start, set()).add(one.name)
        start = start_of(run, place)
        found: dict[int, TracePlace] = {}
        for one in run.workers:
            is_same = one.name == own.name or (own.rank is not None and one.rank == own.rank)
            for span in one.spans:
                if is_same or len(names[span.start]) == len(names[start]) == 1:
                    found[span.start] = TracePlace(run.name, one.name, span.key)
        found.pop(start, None)
        return [found[number] for number in sorted(found)]

    def spans(self, place: TracePlace) -> Sequence[TracePlace]:
        """The other recordings of its worker."""
        run = next(one for one in self.catalog.runs if one.name == place.run)
        workers = (one for one in every_worker(run) if one.name == place.worker)
        spans = (span for one in workers for span in one.spans)
        every = (TracePlace(place.run, place.worker, span.key) for span in spans)
        return [one for one in every if one != place]

    def start(self, place: TracePlace) -> str:
        """The start that one of them is of, in words; "" where its run has one."""
        run = next(one for one in self.catalog.runs if one.name == place.run)
        number = start_of(run, place)
        if len(run.starts) < 2:
            return ""
        saved = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(run.starts[number - 1].saved))
        return f"start {number} of {len(run.starts)} ({saved})"

    def stored(self, place: TracePlace, spec: ArtifactSpec[T]) -> T | None:
        """An artifact of one of them, if it was made before; a file that is far is not fetched."""
        file = self.files.get(place)
        if file is None or file.origin is not None:
            return None
        return FileSession(file.absolute).stored_artifact(spec)


def below(folder: str, wanted: Wanted) -> ChosenTrace:
    """The trace of these names below a folder, by default of its newest run.

    Raises:
        NotFoundError: there is no trace, or none of these names.
    """
    logdirs = resolve(folder, None)
    records, problems = look(logdirs)
    view = PoolStatus((), lambda _: None)
    published = publish(
        records.values(), logdirs, problems, view, scanning=False, looked=time.time()
    )
    if not published.catalog.runs:
        raise _nothing(folder, published.catalog)
    files = {TracePlace(*at): records[key].found for at, key in published.index.items()}
    place = TracePlace(
        *pick(published.catalog, wanted.run, wanted.worker, wanted.span, wanted.start)
    )
    others = len(_fitting(files, wanted)) - 1
    chosen = files[place]
    folder_of_it = Folder(published.catalog, files)
    return ChosenTrace(chosen.absolute, place, others, folder_of_it, chosen.origin)


def look(logdirs: tuple[Logdir, ...]) -> tuple[dict[Key, Record], Sequence[ErrorInfo]]:
    """Every file below the logdirs, judged once as it is now."""
    outcome = Outcome()
    now = time.monotonic()
    copies = None
    if any(one.far is not None for one in logdirs):
        from .remote import copies_here

        copies = copies_here()
    records = {key: Record.of(key, found, now) for key, found in walk(logdirs, outcome, copies)}
    fetch_heads(records.values(), copies, None)
    judged = {key: one.decided(judge(one, NO_PATIENCE, copies)) for key, one in records.items()}
    return judged, outcome.problems


def _fitting(places: Iterable[TracePlace], wanted: Wanted) -> list[TracePlace]:
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
        kind = KinetoscopeError if problem.kind.startswith("remote_") else NotFoundError
        return kind(problem.message, hint=problem.hint)
    return NotFoundError(
        f"there is no trace below {folder}",
        hint=f"kinetoscope doctor {folder} says why",
    )
