"""Which Host header a server on this machine answers.

A page of any site can make its own name resolve to 127.0.0.1 and then read what a local server
answers (DNS rebinding). The browser still sends that site's name as Host; so only known names pass.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from http import HTTPStatus
from typing import TYPE_CHECKING

from werkzeug import Request

from ..base.errors import KinetoscopeError
from .answers import error_answer
from .params import short

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment


class HostError(KinetoscopeError):
    """The request names a host that this server is not known by."""

    kind = "unknown_host"
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
    """The name in a Host header, without port and brackets: "[::1]:6007" → "::1"."""
    if header.startswith("["):
        return header[1:].partition("]")[0].lower()
    name = header.rpartition(":")[0] if header.count(":") == 1 else header
    return name.lower().rstrip(".")
