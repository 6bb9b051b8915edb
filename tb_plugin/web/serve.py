"""The standalone server: the application of TensorBoard's tab, on an address of its own."""

from __future__ import annotations

import errno
import logging
import os
import socket
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

from ..base.errors import KinetoscopeError
from .middleware import is_loopback, mounted, only_known_hosts

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

log = logging.getLogger(__name__)

LOOPBACK = "127.0.0.1"
FIRST_PORT = 6007
"""Beside TensorBoard's 6006."""
PORTS_TRIED = 20


class AddressError(KinetoscopeError):
    """The server cannot listen on this address."""

    kind = "address"


class Address(Struct, frozen=True):
    """The address to listen on. ``port`` None: the first free one from 6007 on; 0: any free one."""

    host: str = LOOPBACK
    port: int | None = None
    path_prefix: str = ""
    allowed_hosts: Sequence[str] = ()

    @property
    def is_public(self) -> bool:
        """Whether other machines can reach it."""
        return not is_loopback(self.host)


class QuietHandler(WSGIRequestHandler):
    """Logs requests only at the debug level."""

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
    ports = [address.port] if address.port is not None else _usual_ports(FIRST_PORT)
    with _bind(address, ports) as bound:  # make_server listens on a duplicate of the descriptor
        return make_server(
            address.host,
            bound.getsockname()[1],
            served,
            threaded=True,
            request_handler=QuietHandler,
            fd=bound.fileno(),
        )


def url(server: BaseWSGIServer, address: Address) -> str:
    """The address to open in a browser."""
    host = address.host
    if host in {"0.0.0.0", "::"}:  # noqa: S104  # compared, not bound
        host = socket.gethostname()
    host = f"[{host}]" if ":" in host else host
    prefix = address.path_prefix.strip("/")
    return f"http://{host}:{server.port}/" + (f"{prefix}/" if prefix else "")


def free_port(address: Address, first: int) -> int:
    """The first free port from ``first`` on.

    Raises:
        AddressError: none of the next twenty is free, or the host is none of this machine.
    """
    with _bind(address, _usual_ports(first)) as bound:
        port: int = bound.getsockname()[1]
    return port


def _usual_ports(first: int) -> Sequence[int]:
    return range(first, first + PORTS_TRIED)


def _bind(address: Address, ports: Sequence[int]) -> socket.socket:
    """A socket that listens on the first of the ports that is free."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    for port in ports:
        bound = socket.socket(family, socket.SOCK_STREAM)
        if os.name == "posix":  # elsewhere it would let two programs share a port
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((address.host, port))
        except OSError as error:
            bound.close()
            if error.errno != errno.EADDRINUSE:
                raise AddressError(
                    f"cannot listen on {address.host}: {error.strerror or error}",
                    hint="choose another --host or --port",
                ) from error
        else:
            bound.listen()
            return bound
    taken = f"port {ports[0]} is" if len(ports) == 1 else f"ports {ports[0]} to {ports[-1]} are"
    raise AddressError(f"{taken} taken", hint="choose another --port")
