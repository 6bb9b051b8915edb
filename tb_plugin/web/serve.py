"""The standalone server: the same application as in TensorBoard, on an address of its own."""

from __future__ import annotations

import errno
import logging
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

from ..base.errors import KinetoscopeError
from .hosts import is_loopback, only_known_hosts
from .mount import mounted

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

log = logging.getLogger(__name__)

LOOPBACK = "127.0.0.1"
FIRST_PORT = 6007
"""Beside TensorBoard's 6006."""
PORTS_TRIED = 20


class AddressError(KinetoscopeError):
    """The server cannot listen there."""

    kind = "address"


@dataclass(frozen=True)
class Address:
    """Where to listen. ``port`` None: the first free one from 6007 on; 0: any free one."""

    host: str = LOOPBACK
    port: int | None = None
    path_prefix: str = ""
    allowed_hosts: Sequence[str] = ()

    @property
    def is_public(self) -> bool:
        """Whether other machines can reach it."""
        return not is_loopback(self.host)


class QuietHandler(WSGIRequestHandler):
    """Requests are no news; they are logged for who asks for it."""

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        log.debug("%s %s %s", self.requestline, code, size)

    def log(self, type: str, message: str, *args: object) -> None:  # noqa: A002, ARG002  # theirs
        log.debug(message, *args)


def listen(app: WSGIApplication, address: Address) -> BaseWSGIServer:
    """A server that listens; ``serve_forever()`` and ``server_close()`` are the caller's.

    Raises:
        AddressError: the port is taken, or the host is none of this machine.
    """
    prefix = "/" + address.path_prefix.strip("/") if address.path_prefix.strip("/") else ""
    served = mounted(app, prefix) if prefix else app
    if not address.is_public:
        served = only_known_hosts(served, address.allowed_hosts)
    bound = _bind(address)
    with bound:  # make_server listens on a duplicate of the descriptor
        return make_server(
            address.host,
            bound.getsockname()[1],
            served,
            threaded=True,
            request_handler=QuietHandler,
            fd=bound.fileno(),
        )


def url(server: BaseWSGIServer, address: Address) -> str:
    """What to type into a browser."""
    host = address.host
    if host in {"0.0.0.0", "::"}:  # noqa: S104  # compared, not bound
        host = socket.gethostname()
    host = f"[{host}]" if ":" in host else host
    prefix = address.path_prefix.strip("/")
    return f"http://{host}:{server.port}/" + (f"{prefix}/" if prefix else "")


def _bind(address: Address) -> socket.socket:
    ports = [address.port]
    if address.port is None:
        ports = list(range(FIRST_PORT, FIRST_PORT + PORTS_TRIED))
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    for port in ports:
        bound = socket.socket(family, socket.SOCK_STREAM)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((address.host, port))
        except (OSError, OverflowError) as error:
            bound.close()
            if isinstance(error, OSError) and error.errno == errno.EADDRINUSE:
                continue
            raise AddressError(
                f"cannot listen on {address.host}:{port}: {error}", hint="choose another --host"
            ) from error
        bound.listen()
        return bound
    raise AddressError(
        f"port {ports[0]} is taken"
        if address.port is not None
        else f"the ports {ports[0]} to {ports[-1]} are all taken",
        hint="choose another with --port, or any free one with --port 0",
    )
