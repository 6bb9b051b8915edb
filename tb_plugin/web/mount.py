"""Serving an application below a path: /user/bob/ → /."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from werkzeug import Request

from ..base.errors import NotFoundError
from .answers import Answer, error_answer

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment


def mounted(app: WSGIApplication, prefix: str) -> WSGIApplication:
    """The application below the prefix ("/user/bob"); nothing outside it is answered.

    The bare prefix is redirected to the one with a slash: the page's addresses are relative.
    """
    prefix = prefix.rstrip("/")

    def below(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "")
        if path == prefix and prefix:
            return _to_folder(prefix)(environ, start_response)
        if not path.startswith(f"{prefix}/"):
            outside = NotFoundError("nothing is served here", hint=f"the page is at {prefix}/")
            return error_answer(Request(environ), outside)(environ, start_response)
        inner = {
            **environ,
            "SCRIPT_NAME": environ.get("SCRIPT_NAME", "") + prefix,
            "PATH_INFO": path[len(prefix) :],
        }
        return app(inner, start_response)

    return below


def _to_folder(prefix: str) -> Answer:
    answer = Answer(status=302, content_type="text/plain; charset=utf-8")
    # Relative: a proxy before us may have a prefix of its own.
    answer.headers["Location"] = f"{prefix.rpartition('/')[2]}/"
    return answer
