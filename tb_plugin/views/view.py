"""A view: name, question, query, answer, and the function that builds it (contract)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

from msgspec import Struct, field

from ..analysis.facts import Facts
from ..base.artifact_spec import ArtifactSpec
from ..base.errors import NotFoundError
from ..trace.model import Trace
from .table import Table

T = TypeVar("T")


class TracePlace(NamedTuple):
    """Names of the run, the worker and the span of a trace below the logdirs."""

    run: str
    worker: str
    span: str


class RunWorker(Struct, frozen=True):
    """One worker of a run, with its trace of one span; ``problem`` says why there is none."""

    place: TracePlace
    rank: int | None
    problem: str = ""


class Gathered(Struct, frozen=True):
    """The artifacts of several traces, as far as they are there."""

    opened: Mapping[TracePlace, Any]  # what ``ArtifactSpec.open`` returned
    waiting: Sequence[TracePlace] = ()  # still being read, or prepared
    problems: Mapping[TracePlace, str] = field(default_factory=dict)  # why there is none


class Recordings(Protocol):
    """The traces below the same logdirs, for a view over several."""

    @property
    def own(self) -> TracePlace | None:
        """The place of the requested trace; None for a file that was opened alone."""

    def workers(self) -> Sequence[RunWorker]:
        """The workers of its run, itself among them, each with the same span."""

    def everything(self) -> Sequence[RunWorker]:
        """Every trace of every run, itself among them."""

    def subject(self, place: TracePlace) -> Subject:
        """Another trace, seen by the same view. Nothing is read before its first use.

        Raises:
            NotFoundError: there is none at this place.
            TraceFormatError: it was refused, or reading it failed.
        """

    def gather(self, places: Sequence[TracePlace], variant: str = "") -> Gathered:
        """The view's artifact of each trace. Missing ones are made, and are ``waiting``."""

    def stored(
        self, places: Sequence[TracePlace], spec: ArtifactSpec[Any]
    ) -> Mapping[TracePlace, Any]:
        """An artifact of the traces that have it already; nothing is read or made."""

    def ready(
        self, places: Sequence[TracePlace], spec: ArtifactSpec[Any], *, read: bool
    ) -> Gathered:
        """An artifact of each trace. Other processes begin to make the missing ones.

        This process makes it only where ``read``, and waits for it.
        """

    def artifact(self, place: TracePlace, spec: ArtifactSpec[T], variant: str = "") -> T:
        """An artifact of one of these traces, of a spec that another view has, too.

        Raises:
            NotFoundError: there is no trace at this place, or no such variant.
            NotReadyError: it is being read, or made.
            TraceFormatError: the trace was refused.
        """


class Subject(Struct, frozen=True):
    """The trace behind a request, for a view with an artifact or with parts."""

    facts: Facts
    artifact: Callable[[str], Any]  # variant → what ``ArtifactSpec.open`` returned
    trace: Callable[[], Trace]  # all columns
    event: Callable[[int], Mapping[str, Any]]  # row in the file → the whole event, read again
    other_artifact: Callable[[ArtifactSpec[Any]], Any]  # of a spec that another view has, too
    recordings: Recordings


class Part(Struct, frozen=True):
    """A further address of a view: ``api/view/<stem>/<part>``.

    ``build`` answers with a Struct (JSON), with bytes (a binary frame), or with an iterator of
    bytes (a download, whose name ``file`` gives).
    """

    stem: str
    query: type[Struct]
    answer: type[Struct] | None  # None: bytes
    build: Callable[[Subject, Any], Any]
    file: Callable[[Subject, Any], str] | None = None
    reads_others: bool = False  # other traces take part: the answer is not kept


def no_badge(facts: Facts) -> int | None:  # noqa: ARG001  # the form of View.badge
    """No figure beside the tab's title."""
    return None


def reads_no_others(query: Any) -> bool:  # noqa: ANN401, ARG001  # the form of View.reads_others
    """The answer is of one trace."""
    return False


class View(Struct, frozen=True):
    """One view: a tab of the page, a ``kinetoscope show`` command, a route.

    ``build`` maps the facts of a trace (of a view with an artifact: the Subject) and a query to the
    answer; ``tables`` shows an answer as tables; ``unavailable`` says why these facts cannot fill
    the view, or None. A view over several traces has ``among``, which says why those around this
    one cannot fill it; it is built from the Subject, and its answers are asked for again whenever
    the catalog changes. So are those of a view that ``looks_beside``, if there is another worker.
    """

    stem: str  # "overview": route, CLI name, file stem in every layer
    title: str  # "Overview"
    key: str  # the letter after g that opens it
    question: str  # "Where did the step's time go?"
    query: type[Struct]
    answer: type[Struct]
    build: Callable[[Any, Any], Struct]
    tables: Callable[[Any], tuple[Table, ...]]
    unavailable: Callable[[Facts], str | None]
    badge: Callable[[Any], int | None] = no_badge  # the figure beside the tab's title
    of_memory_alone: bool = False  # it can show a file without ops and kernels
    of_other_programs: bool = False  # it can show what another program than PyTorch recorded
    artifact: ArtifactSpec[Any] | None = None
    at_once: Callable[[Any, Any], Struct] | None = None  # as ``build``, and stores no artifact
    parts: tuple[Part, ...] = ()
    among: Callable[[Facts, Recordings], str | None] | None = None
    looks_beside: bool = False  # it says what other workers of the run show, where there are any
    reads_others: Callable[[Any], bool] = reads_no_others  # of a query: see Part.reads_others
    lends: bool = (
        False  # operators of replayed graphs come from recordings beside: see views/origins
    )


def view_among(views: Iterable[View], name: str) -> View:
    """The view with this stem, or with this title in any case.

    Raises:
        NotFoundError: there is none; the hint lists stems and titles.
    """
    known = tuple(views)
    for view in known:
        if view.stem == name or view.title.casefold() == name.casefold():
            return view
    listed = ", ".join(f"{view.stem} ({view.title})" for view in known)
    raise NotFoundError(f"there is no view {name[:40]!r}", hint=f"views: {listed}")
