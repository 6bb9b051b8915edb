"""A view: name, question, query, answer, and the function that builds it (contract)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from msgspec import Struct

from ..analysis.facts import Facts
from ..base.artifact_spec import ArtifactSpec
from ..base.errors import NotFoundError
from ..trace.model import Trace
from .shared import Table


@dataclass(frozen=True, slots=True)
class Subject:
    """The trace behind a request, for a view with an artifact or with parts."""

    facts: Facts
    artifact: Callable[[str], Any]  # variant → what ``ArtifactSpec.open`` returned
    trace: Callable[[], Trace]  # all columns
    event: Callable[[int], Mapping[str, Any]]  # row in the file → the whole event, read again


@dataclass(frozen=True, slots=True)
class Part:
    """A further address of a view: ``api/view/<stem>/<part>``.

    ``build`` answers with a Struct (JSON), with bytes (a binary frame), or with an iterator of
    bytes (a download, whose name ``file`` gives).
    """

    stem: str
    query: type[Struct]
    answer: type[Struct] | None  # None: bytes
    build: Callable[[Subject, Any], Any]
    file: Callable[[Subject, Any], str] | None = None


def no_badge(facts: Facts) -> int | None:  # noqa: ARG001  # the form of View.badge
    """No figure beside the tab's title."""
    return None


@dataclass(frozen=True, slots=True)
class View:
    """One view: a tab of the page, a ``kinetoscope show`` command, a route.

    ``build`` maps the facts of a trace (of a view with an artifact: the Subject) and a query to the
    answer; ``tables`` shows an answer as tables; ``unavailable`` says why these facts cannot fill
    the view, or None.
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
    badge: Callable[[Facts], int | None] = no_badge  # the figure beside the tab's title
    artifact: ArtifactSpec[Any] | None = None
    parts: tuple[Part, ...] = ()


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
