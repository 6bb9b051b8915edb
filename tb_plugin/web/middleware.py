"""Middleware: a path prefix (/user/bob/ → /), the Host header, and requests of other sites.

A page of any site can make its own name resolve to 127.0.0.1 and then read what a local server
answers (DNS rebinding). The browser still sends that site's name as Host; so only known names pass.

Such a page can also send a request to any of our addresses without reading the answer. Where the
request has an effect, it is refused.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from http import HTTPStatus
from typing import TYPE_CHECKING

from werkzeug import Request

from ..base.errors import KinetoscopeError, NotFoundError, short
from ..base.regex import regex
from .responses import Answer, error_answer

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment


def mounted(app: WSGIApplication, prefix: str) -> WSGIApplication:
    """The application below the prefix ("/user/bob"); other paths are not found.

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


_HOST = regex(r"(?:\[(?P<address>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(?::[0-9]{0,5})?")


class HostError(KinetoscopeError):
    """The request names an unknown host."""

    kind = "unknown_host"
    status = HTTPStatus.FORBIDDEN


class CrossSiteError(KinetoscopeError):
    """A page of another site sends a request that has an effect."""

    kind = "cross_site"
    status = HTTPStatus.FORBIDDEN


def is_loopback(host: str) -> bool:
    """True if only this machine can reach a server bound to the host."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def only_known_hosts(app: WSGIApplication, allowed: Iterable[str]) -> WSGIApplication:
    """The application for loopback names and the allowed ones; 403 for any other."""
    names = {name.lower() for name in allowed}

    def checked(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        host = host_name(environ.get("HTTP_HOST", ""))
        if is_loopback(host) or host in names:
            return app(environ, start_response)
        error = HostError(
            f"this server is not known as {short(host)!r}",
            hint=f"start it with --allow-host {short(host)}" if host else "send a Host header",
        )
        return error_answer(Request(environ), error)(environ, start_response)

    return checked


def host_name(header: str) -> str:
    """The name in a Host header, without port and brackets: "[::1]:6007" → "::1".

    "" for what is none: "[::1].evil.example" begins like an address, and is no host.
    """
    match = _HOST.fullmatch(header)
    if match is None:
        return ""
    return (match["address"] or match["name"]).lower().removesuffix(".")


def refuse_other_sites(request: Request) -> None:
    """Allow requests of our own page, of the address bar, and of programs; refuse other pages.

    Browsers say ``Sec-Fetch-Site`` themselves, also through a proxy that changes Host. To plain
    HTTP on another machine they do not; there ``Origin`` or ``Referer`` tell, where they are sent.

    Raises:
        CrossSiteError: the page of another site asks.
    """
    site = request.headers.get("Sec-Fetch-Site")
    if site is None:
        known = {request.host.lower(), request.headers.get("X-Forwarded-Host", "").lower()}
        origin = request.headers.get("Origin") or request.headers.get("Referer")
        is_ours = origin is None or _authority(origin) in known - {""}
    else:
        is_ours = site in {"same-origin", "none"}
    if not is_ours:
        raise CrossSiteError(
            "pages of other sites may not ask for this", hint="ask from kinetoscope's own page"
        )


def _authority(address: str) -> str:
    """The host and port of an origin or an address, as a Host header has them."""
    return address.partition("://")[2].partition("/")[0].lower()
