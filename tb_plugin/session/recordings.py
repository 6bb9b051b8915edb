"""The traces beside an opened one: the other workers of its run, and any other by its place."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ..base.artifact_spec import ArtifactSpec
from ..base.errors import KinetoscopeError, NotFoundError, NotReadyError
from ..store.contract import Catalog, RunInfo, WorkerInfo
from ..views.progress import tell
from ..views.view import Gathered, RunWorker, Subject, TracePlace, View

T = TypeVar("T")


class _Session(Protocol):
    def seen_by(self, view: View) -> Subject: ...

    def artifact(self, spec: ArtifactSpec[T], variant: str = "") -> T: ...


class CatalogRecordings(Struct, frozen=True):
    """The traces of a catalog, of the server's logdirs or of a folder that a command was given."""

    own: TracePlace | None
    catalog: Callable[[], Catalog]
    open: Callable[[TracePlace], _Session]
    stored_of: Callable[[TracePlace, ArtifactSpec[Any]], Any | None]
    view: View
    is_read_here: bool  # by this process, which would wait for it

    def workers(self) -> Sequence[RunWorker]:
        if self.own is None:
            return ()
        run = next((one for one in self.catalog().runs if one.name == self.own.run), None)
        if run is None:
            return ()
        start = start_of(run, self.own)
        alone = [one for one in run.captures if one.name == self.own.worker]
        return [
            _worker(one, self.own, start)
            for one in alone or run.workers
            if any(span.start == start for span in one.spans)
        ]

    def everything(self) -> Sequence[RunWorker]:
        return [
            _worker(one, TracePlace(run.name, one.name, span.key), span.start)
            for run in self.catalog().runs
            for one in every_worker(run)
            for span in one.spans
        ]

    def subject(self, place: TracePlace) -> Subject:
        found = self.open(place).seen_by(self.view)
        if found.recordings.own is None:  # opened as a file of its own
            found = replace(found, recordings=replace(self, own=place))
        return found

    def gather(self, places: Sequence[TracePlace], variant: str = "") -> Gathered:
        if self.view.artifact is None:
            raise TypeError(f"the view {self.view.stem} has no artifact")
        return self._gathered(places, self.view.artifact, variant)

    def ready(
        self, places: Sequence[TracePlace], spec: ArtifactSpec[Any], *, read: bool
    ) -> Gathered:
        if read or not self.is_read_here:
            return self._gathered(places, spec)
        opened = self.stored(places, spec)
        return Gathered(opened, [one for one in places if one not in opened])

    def _gathered(
        self, places: Sequence[TracePlace], spec: ArtifactSpec[Any], variant: str = ""
    ) -> Gathered:
        opened: dict[TracePlace, Any] = {}
        waiting: list[TracePlace] = []
        problems: dict[TracePlace, str] = {}
        for at, place in enumerate(places):
            tell("reading digests", at, len(places))
            try:
                opened[place] = self.open(place).artifact(spec, variant)
            except NotReadyError:
                waiting.append(place)
            except (KinetoscopeError, OSError) as error:
                problems[place] = str(error)
        return Gathered(opened, waiting, problems)

    def stored(
        self, places: Sequence[TracePlace], spec: ArtifactSpec[Any]
    ) -> Mapping[TracePlace, Any]:
        found: dict[TracePlace, Any] = {}
        for place in places:
            with contextlib.suppress(KinetoscopeError, OSError):
                known = self.stored_of(place, spec)
                if known is not None:
                    found[place] = known
        return found

    def artifact(self, place: TracePlace, spec: ArtifactSpec[T], variant: str = "") -> T:
        return self.open(place).artifact(spec, variant)


def every_worker(run: RunInfo) -> Sequence[WorkerInfo]:
    """The workers of a run, and behind them the recordings of captures of its graphs."""
    return (*run.workers, *run.captures)


def start_of(run: RunInfo, place: TracePlace) -> int:
    """The start that a trace of a run is of."""
    spans = (span for one in every_worker(run) if one.name == place.worker for span in one.spans)
    return next((span.start for span in spans if span.key == place.span), len(run.starts))


def _worker(worker: WorkerInfo, own: TracePlace, start: int) -> RunWorker:
    place = TracePlace(own.run, worker.name, own.span)
    spans = (one for one in worker.spans if one.start == start)
    span = next((one for one in spans if one.key == own.span), None)
    problem = span.error.message if span and span.error else ""
    if span is None:
        problem = f"It has no span {own.span}."
    return RunWorker(place, worker.rank, problem)


class Alone:
    """A file that was opened by its path, or a trace in memory: there is none beside it."""

    own = None

    def workers(self) -> Sequence[RunWorker]:
        return ()

    def everything(self) -> Sequence[RunWorker]:
        return ()

    def subject(self, place: TracePlace) -> Subject:
        raise _nothing_there(place)

    def gather(self, places: Sequence[TracePlace], variant: str = "") -> Gathered:  # noqa: ARG002
        return Gathered({}, (), dict.fromkeys(places, "There is one file only."))

    def stored(
        self,
        places: Sequence[TracePlace],  # noqa: ARG002
        spec: ArtifactSpec[Any],  # noqa: ARG002
    ) -> Mapping[TracePlace, Any]:
        return {}

    def ready(
        self,
        places: Sequence[TracePlace],
        spec: ArtifactSpec[Any],  # noqa: ARG002
        *,
        read: bool,  # noqa: ARG002
    ) -> Gathered:
        return Gathered({}, (), dict.fromkeys(places, "There is one file only."))

    def artifact(
        self,
        place: TracePlace,
        spec: ArtifactSpec[T],  # noqa: ARG002
        variant: str = "",  # noqa: ARG002
    ) -> T:
        raise _nothing_there(place)


def _nothing_there(place: TracePlace) -> NotFoundError:
    return NotFoundError(
        f"there is no trace {'/'.join(place)}", hint="open the folder that holds both"
    )
