"""The WSGI application: the API below api/, the page everywhere else.

TensorBoard and the standalone server mount the same one; it knows paths only relative to its root.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from http import HTTPStatus
from typing import TYPE_CHECKING

from werkzeug import Request

from ..base.errors import KinetoscopeError, NotFoundError
from ..session.catalog import Traces
from ..views.view import View
from . import routes
from .page import Page, page_alone
from .responses import Answer, error_answer

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

log = logging.getLogger(__name__)

API_PREFIX = "/api/"
METHODS = ("GET", "HEAD")


class MethodError(KinetoscopeError):
    """Everything is a GET: TensorBoard's client may turn a POST into one."""

    kind = "bad_method"
    status = HTTPStatus.METHOD_NOT_ALLOWED


class InternalError(KinetoscopeError):
    """A bug of ours. The details are in the log, not in the answer."""

    kind = "internal"


def create_app(
    catalog: Traces, views: tuple[View, ...], host: routes.Host, page: Page | None = None
) -> WSGIApplication:
    """The application over a catalog. Every request gets a response; errors are JSON."""
    site = routes.site(catalog, views, host)
    files = page or (page_alone() if host == "standalone" else Page())

    def app(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        request = Request(environ)
        answer = _guarded(site, files, request)
        return answer(environ, start_response)

    return app


def _guarded(site: routes.Site, page: Page, request: Request) -> Answer:
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


def _answer(site: routes.Site, page: Page, request: Request) -> Answer:
    if request.method not in METHODS:
        answer = error_answer(request, MethodError("only GET and HEAD are answered here"))
        answer.headers["Allow"] = ", ".join(METHODS)
        return answer
    if request.path.startswith(API_PREFIX):
        return routes.answer(site, request, request.path[len(API_PREFIX) :])
    if request.path == API_PREFIX.rstrip("/"):
        raise NotFoundError("there is no address api")
    return page.answer(request, request.path.lstrip("/") or "index.html")
