"""Which Host header a server on this machine answers, and which requests other sites may not make.

A page of any site can make its own name resolve to 127.0.0.1 and then read what a local server
answers (DNS rebinding). The browser still sends that site's name as Host; so only known names pass.

Such a page can also ask for any address of ours without reading the answer. Where asking has an
effect, that is refused.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from http import HTTPStatus
from typing import TYPE_CHECKING

from werkzeug import Request

from ..base.errors import KinetoscopeError
from .answers import error_answer
from .params import short

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment


_HOST = re.compile(r"(?:\[(?P<address>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9._-]+))(?::[0-9]{0,5})?")


class HostError(KinetoscopeError):
    """The request names a host that this server is not known by."""

    kind = "unknown_host"
    status = HTTPStatus.FORBIDDEN


class CrossSiteError(KinetoscopeError):
    """A page of another site asks for something that has an effect."""

    kind = "cross_site"
    status = HTTPStatus.FORBIDDEN


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server bound to the host."""
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
    """Lets pass what our own page, a person at the address bar, or a program asks.

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
