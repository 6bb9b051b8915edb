"""The WSGI application: the API below api/, the page everywhere else.

A route is a function from a request to an answer; ``ROUTES`` is the table of them. TensorBoard and
the standalone server mount the same application; it knows paths only relative to its root.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace
from werkzeug import Request

from .. import __version__
from ..analysis.facts import Facts
from ..analysis.serving.phases import phase_of_steps
from ..analysis.steps import outliers
from ..analysis.wording import step_noun
from ..base.errors import KinetoscopeError, NotFoundError, short
from ..base.native import reader
from ..base.version import release
from ..session.catalog import Traces
from ..session.session import CatalogSession, Session
from ..store.catalog import BeingRead, Entry
from ..store.contract import Catalog, WorkerInfo
from ..trace.health_record import WORST_FIRST
from ..views.origins import has_replays, near_captures
from ..views.shared import S, once, parse
from ..views.table import as_said
from ..views.view import Part, TracePlace, View, view_among
from .computing import Computing
from .contract import CONTRACT, RECIPE, Info, Reading, StepInfo, TraceInfo, ViewInfo, ViewState
from .documentation import PREFIX, documentation
from .middleware import refuse_other_sites
from .page import Page, in_vscode, page_alone
from .responses import (
    NEVER_CHANGES,
    REVALIDATE,
    Answer,
    Body,
    Download,
    answer_digest,
    body_answer,
    digest,
    error_answer,
    json_answer,
    program,
    unchanged,
)
from .source_files import NamedFiles, SourceQuery, source_place, started_in

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

log = logging.getLogger(__name__)

API_PREFIX = "/api/"
METHODS = ("GET", "HEAD")


def trace_info(entry: Entry, session: Session, views: Sequence[View]) -> TraceInfo:
    """Steps, the state of each view, and the health of the trace."""
    facts = session.facts()
    severities = {note.severity for note in facts.health.notes}
    return TraceInfo(
        digest=answer_digest(entry.digest),
        run=entry.run,
        worker=entry.worker,
        span=entry.span,
        rank=entry.rank,
        device_type=facts.device_type,
        step_source=facts.step_source,
        noun=step_noun(facts),
        steps=_steps(facts),
        views=tuple(_state(view, session) for view in views),
        note_count=len(facts.health.costly),
        worst=next((s for s in WORST_FIRST if s in severities), "good"),
    )


def _state(view: View, session: Session) -> ViewState:
    reason = session.unavailable(view)
    return ViewState(
        view.stem,
        reason,
        None
        if reason
        else view.badge(session.asked(view) if view.looks_beside else session.facts()),
    )


def _steps(facts: Facts) -> tuple[StepInfo, ...]:
    marks, phases = outliers(facts), phase_of_steps(facts)
    return tuple(
        StepInfo(
            index=step.index,
            number=step.number,
            name=step.name,
            dur_ns=step.dur_ns,
            excluded=step.excluded,
            outlier=marks[step.index],
            phase=phases.get(step.index, ""),
        )
        for step in facts.steps
    )


Host = Literal["tensorboard", "standalone"]
Saver = Callable[[Traces, TracePlace, str], bytes]
"""The report of a trace, of the steps of a parameter."""


class Site(Struct, frozen=True):
    """Shared dependencies of the routes."""

    catalog: Traces
    views: Mapping[str, View]  # by stem, in tab order
    host: Host
    named: NamedFiles
    computing: Computing
    started_in: Path | None  # the working directory when the server was started
    save: Saver | None  # how a report is made; None: this server makes none


class Nothing(Struct, frozen=True, forbid_unknown_fields=True):
    """No parameters."""


class Choice(Struct, frozen=True, forbid_unknown_fields=True):
    """One trace; by default the newest run, the first worker, the last span.

    ``digest`` as told by the catalog makes the answer one that never changes.
    """

    run: str = ""
    worker: str = ""
    span: str = ""
    digest: str = ""


class FileChoice(Struct, frozen=True, forbid_unknown_fields=True):
    """One file as the catalog names it."""

    path: str
    logdir: str


def info(site: Site, request: Request) -> Answer:
    """The version of this program, and its views."""
    _asked(request, Nothing)
    views = tuple(ViewInfo(v.stem, v.title, v.key, v.question) for v in site.views.values())
    saves = site.save is not None
    body = Info(
        __version__, release(), CONTRACT, reader(), site.host, in_vscode(), saves, views, RECIPE
    )
    return json_answer(request, body)


def catalog(site: Site, request: Request) -> Answer:
    """Everything below the logdirs."""
    _asked(request, Nothing)
    return _catalog_answer(request, site.catalog.snapshot())


def rescan(site: Site, request: Request) -> Answer:
    """Looks again at once."""
    refuse_other_sites(request)
    _asked(request, Nothing)
    return _catalog_answer(request, site.catalog.rescan())


def retry(site: Site, request: Request) -> Answer:
    """Reads a failed or refused file again."""
    refuse_other_sites(request)
    file = _asked(request, FileChoice)
    return _catalog_answer(request, site.catalog.retry(file.logdir, file.path))


def trace(site: Site, request: Request) -> Answer:
    """Data of one trace that the shell needs."""
    choice = _asked(request, Choice)

    def build(entry: Entry) -> Body:
        session = CatalogSession(site.catalog, entry)
        return trace_info(entry, session, tuple(site.views.values()))

    alone = not any(view.among for view in site.views.values())
    return _trace_answer(site, request, choice, build, alone=lambda _: alone)


def view(site: Site, request: Request, path: str) -> Answer:
    """One view of one trace, or one part of it: ``timeline``, ``timeline/tiles``."""
    stem, slash, name = path.partition("/")
    chosen = site.views.get(stem) or view_among(site.views.values(), stem)
    part = part_named(chosen, name) if slash else None
    choice, query = _asked_of_trace(request, (part or chosen).query)

    def build(entry: Entry) -> Body:
        session = CatalogSession(site.catalog, entry)
        if part is None:
            built: Struct = chosen.build(session.asked(chosen), query)
            return as_said(built, session.facts())
        subject = session.subject(chosen)
        body = part.build(subject, query)
        if isinstance(body, Struct):
            return as_said(body, subject.facts)
        return Download(part.file(subject, query), body) if part.file else body

    def alone(entry: Entry) -> bool:
        if chosen.among is not None or (part.reads_others if part else chosen.reads_others(query)):
            return False
        session = CatalogSession(site.catalog, entry)
        if chosen.lends and has_replays(session.facts()) and near_captures(session.seen_by(chosen)):
            return False
        beside = part is None and chosen.looks_beside
        return not beside or len(session.recordings(chosen).workers()) < 2

    shared = part is None or part.file is None  # a download is made anew for each who takes it
    return _trace_answer(site, request, choice, build, alone=alone, shared=shared)


def part_named(view: View, name: str) -> Part:
    """The part of a view.

    Raises:
        NotFoundError: there is none of this name.
    """
    for part in view.parts:
        if part.stem == name:
            return part
    known = ", ".join(part.stem for part in view.parts)
    raise NotFoundError(
        f"there is no part {short(name)!r} of the view {view.stem}",
        hint=f"parts: {known}" if known else f"ask for api/view/{view.stem} itself",
    )


def source(site: Site, request: Request) -> Answer:
    """The place of a source file of a stack. It depends on the disk, so it is not cached."""
    choice, query = _asked_of_trace(request, SourceQuery)
    try:
        entry = _located(site, choice)
        place = source_place(site.catalog, entry, query, site.named, site.started_in)
        return json_answer(request, place)
    except BeingRead as error:
        return _reading_answer(request, error)


class ReportQuery(Struct, frozen=True, forbid_unknown_fields=True):
    """Steps that the report opens with; "" the usual ones."""

    steps: str = ""


def report(site: Site, request: Request) -> Answer:
    """The shown trace as one file for others; each request makes it again."""
    refuse_other_sites(request)
    choice, query = _asked_of_trace(request, ReportQuery)
    if site.save is None:
        raise NotFoundError("this server makes no reports", hint="use kinetoscope report")
    try:
        entry = _located(site, choice)
    except BeingRead as error:
        return _reading_answer(request, error)
    place = TracePlace(entry.run, entry.worker, entry.span)
    content = site.save(site.catalog, place, query.steps)
    name = f"{entry.worker}.kinetoscope.html"
    return body_answer(request, Download(name, iter([content])), etag="", cache="no-store")


ROUTES: Mapping[str, Callable[[Site, Request], Answer]] = MappingProxyType(
    {
        "info": info,
        "catalog": catalog,
        "rescan": rescan,
        "retry": retry,
        "trace": trace,
        "source": source,
        "report": report,
    }
)
VIEW_PREFIX = "view/"


def answer(site: Site, request: Request, name: str) -> Answer:
    """The answer of the route below api/.

    Raises:
        KinetoscopeError: whatever the route cannot do.
    """
    if name.startswith(VIEW_PREFIX):
        return view(site, request, name[len(VIEW_PREFIX) :])
    if name not in ROUTES:
        raise NotFoundError(f"there is no address api/{short(name)}")
    return ROUTES[name](site, request)


def _catalog_answer(request: Request, body: Catalog) -> Answer:
    etag = digest(body.version, program())
    return unchanged(request, etag) or json_answer(request, _for_page(body), etag=etag)


def _for_page(body: Catalog) -> Catalog:
    """The catalog with digests that also name the program."""

    def named(workers: Sequence[WorkerInfo]) -> tuple[WorkerInfo, ...]:
        return tuple(
            replace(one, spans=tuple(replace(span, digest=answer_digest(span.digest))
                                     for span in one.spans))
            for one in workers
        )  # fmt: skip

    runs = tuple(
        replace(run, workers=named(run.workers), captures=named(run.captures)) for run in body.runs
    )
    return replace(body, runs=runs)


def _trace_answer(
    site: Site,
    request: Request,
    choice: Choice,
    build: Callable[[Entry], Body],
    *,
    alone: Callable[[Entry], bool],
    shared: bool = True,
) -> Answer:
    """The answer of a trace: 304 before anything is computed, 202 while it is read or computed.

    Where the file has changed since the page learned its digest, the answer is that of the file as
    it is now, and not kept. What other traces take part in (not ``alone``) is computed each time.
    A ``shared`` answer is computed once for all who ask at the same time.
    """
    try:
        entry = _located(site, choice)
        current = answer_digest(entry.digest)

        def body() -> Body:
            if not shared:
                return build(entry)
            return site.computing.answer(_question(request, entry), lambda: build(entry))

        if not alone(entry):
            return body_answer(request, body(), etag="", cache=REVALIDATE)
        cache = NEVER_CHANGES if choice.digest == current else REVALIDATE
        etag = digest(current, request.path, request.query_string)
        return unchanged(request, etag, cache=cache) or body_answer(
            request, body(), etag=etag, cache=cache
        )
    except BeingRead as error:
        return _reading_answer(request, error)


def _question(request: Request, entry: Entry) -> Hashable:
    """Key of a request and its content: equal keys have equal answers."""
    own = Choice.__struct_fields__
    query = sorted(one for one in request.args.items(multi=True) if one[0] not in own)
    place = (entry.run, entry.worker, entry.span, entry.key, entry.digest)
    return request.path, tuple(query), place


def _asked(request: Request, query: type[S]) -> S:
    """The parameters of a request. Raises QueryError."""
    return parse(once(request.args.items(multi=True)), query)


def _asked_of_trace(request: Request, query: type[S]) -> tuple[Choice, S]:
    """The trace and the parameters of a request. Raises QueryError."""
    given = once(request.args.items(multi=True))
    common = {key: given.pop(key) for key in Choice.__struct_fields__ if key in given}
    return parse(common, Choice), parse(given, query)


def _located(site: Site, choice: Choice) -> Entry:
    """The chosen trace.

    Raises:
        NotFoundError: there is no such trace.
        BeingRead: the file is being read.
    """
    return site.catalog.locate(choice.run or None, choice.worker or None, choice.span or None)


def _reading_answer(request: Request, error: BeingRead) -> Answer:
    """The answer while a trace is being read: try again."""
    return json_answer(request, Reading(error.progress), status=error.status, cache="no-store")


# --- the application ------------------------------------------------------------------------------


class MethodError(KinetoscopeError):
    """Everything is a GET: TensorBoard's client may turn a POST into one."""

    kind = "bad_method"
    status = HTTPStatus.METHOD_NOT_ALLOWED


class InternalError(KinetoscopeError):
    """An internal error. The details are in the log, not in the answer."""

    kind = "internal"


def create_app(
    catalog: Traces,
    views: tuple[View, ...],
    host: Host,
    page: Page | None = None,
    save: Saver | None = None,
    computing: Computing | None = None,
) -> WSGIApplication:
    """The application over a catalog. Every request gets a response; errors are JSON."""
    by_stem = MappingProxyType({v.stem: v for v in views})
    site = Site(catalog, by_stem, host, NamedFiles(), computing or Computing(), started_in(), save)
    files = page or (page_alone() if host == "standalone" else Page())

    def app(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        request = Request(environ)
        return _guarded(site, files, request)(environ, start_response)

    return app


def _guarded(site: Site, page: Page, request: Request) -> Answer:
    try:
        return _answer(site, page, request)
    except KinetoscopeError as error:
        return error_answer(request, error)
    except Exception:  # the outermost boundary: a mistake of ours still answers in JSON
        log.exception("no answer to %s", request.path[:200])
        hint = "the server's log has the details; please report them"
        return error_answer(
            request, InternalError("something went wrong in kinetoscope itself", hint=hint)
        )


def _answer(site: Site, page: Page, request: Request) -> Answer:
    if request.method not in METHODS:
        refused = error_answer(request, MethodError("only GET and HEAD are answered here"))
        refused.headers["Allow"] = ", ".join(METHODS)
        return refused
    if request.path.startswith(API_PREFIX):
        return answer(site, request, request.path[len(API_PREFIX) :])
    if request.path == API_PREFIX.rstrip("/"):
        raise NotFoundError("there is no address api")
    name = request.path.lstrip("/")
    if name.startswith(PREFIX):
        return page.guarded(request, documentation(request, name[len(PREFIX) :]))
    return page.answer(request, name or "index.html")
