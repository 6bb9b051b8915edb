"""The standalone server: the application of TensorBoard's tab without TensorBoard.

Clients that send half a request, or read no answer, take neither all threads nor memory: a request
has ``REQUEST_SECONDS`` and ``REQUEST_BYTES`` to arrive in, each piece of the answer
``SEND_SECONDS``. Of more than ``MOST_CONNECTIONS`` the one that has been silent longest is closed.
"""

from __future__ import annotations

import contextlib
import errno
import io
import logging
import os
import socket
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from werkzeug.serving import BaseWSGIServer, ThreadedWSGIServer, WSGIRequestHandler

from ..base.errors import KinetoscopeError
from .middleware import is_loopback, mounted, only_known_hosts

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer
    from _typeshed.wsgi import WSGIApplication

log = logging.getLogger(__name__)

LOOPBACK = "127.0.0.1"
FIRST_PORT = 6007
"""Beside TensorBoard's 6006."""
PORTS_TRIED = 20

REQUEST_SECONDS = 10.0
REQUEST_BYTES = 1 << 20
SEND_SECONDS = 60.0
MOST_CONNECTIONS = 64
_BUSY = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 2\r\n\r\n"


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
        """True if other machines can reach it."""
        return not is_loopback(self.host)


class _Arriving(io.RawIOBase):
    """The bytes of one request, as long as its time and size last."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._end = time.monotonic() + REQUEST_SECONDS
        self._rest = REQUEST_BYTES

    def readable(self) -> bool:
        """True."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Read available bytes; 0 at the end of the request or of its size.

        Raises:
            TimeoutError: the request took too long.
        """
        rest = self._end - time.monotonic()
        if rest <= 0:
            raise TimeoutError
        self._connection.settimeout(rest)
        try:
            with memoryview(buffer) as view:
                count = self._connection.recv_into(view[: self._rest]) if self._rest else 0
        finally:
            self._connection.settimeout(SEND_SECONDS)
        self._rest -= count
        return count


class Handler(WSGIRequestHandler):
    """Reads a request within its limits; logs requests only at the debug level."""

    timeout = SEND_SECONDS

    def setup(self) -> None:
        """Read through the limits."""
        super().setup()
        self.rfile.close()
        self.rfile = io.BufferedReader(_Arriving(self.connection))

    def run_wsgi(self) -> None:
        """Answer a request that has arrived."""
        if isinstance(self.server, _Server):
            self.server.has_arrived(self.connection)
        super().run_wsgi()

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        log.debug("%s %s %s", self.requestline, code, size)

    def log(self, type: str, message: str, *args: object) -> None:  # noqa: A002, ARG002  # theirs
        log.debug(message, *args)


class _Server(ThreadedWSGIServer):
    """A thread for each connection, for so many at most."""

    def __init__(self, host: str, port: int, app: WSGIApplication, fd: int) -> None:
        super().__init__(host, port, app, Handler, fd=fd)
        self._changing = threading.Lock()
        self._silent: dict[socket.socket, None] = {}  # whose request has not arrived, oldest first
        self._answered: set[socket.socket] = set()

    def process_request(self, request: socket.socket, client_address: object) -> None:  # type: ignore[override]  # theirs has no types
        """Begin a thread; where there are too many, in the place of the oldest silent one."""
        with self._changing:
            if len(self._silent) + len(self._answered) >= MOST_CONNECTIONS:
                oldest = next(iter(self._silent), None)
                if oldest is None:
                    self._refuse(request)
                    return
                del self._silent[oldest]
                _end(oldest)
            self._silent[request] = None
        super().process_request(request, client_address)

    def has_arrived(self, request: socket.socket) -> None:
        """Note that the request of a connection is whole."""
        with self._changing:
            if request in self._silent:
                del self._silent[request]
                self._answered.add(request)

    def shutdown_request(self, request: socket.socket) -> None:  # type: ignore[override]
        """Close a connection."""
        with self._changing:
            self._silent.pop(request, None)
            self._answered.discard(request)
        super().shutdown_request(request)

    def _refuse(self, request: socket.socket) -> None:
        with contextlib.suppress(OSError):
            request.settimeout(0)
            request.send(_BUSY)
        super().shutdown_request(request)


def _end(connection: socket.socket) -> None:
    """End what its thread waits for; the thread closes it."""
    with contextlib.suppress(OSError):  # it has gone
        connection.shutdown(socket.SHUT_RDWR)


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
    with _bind(address, ports) as bound:  # the server listens on a duplicate of the descriptor
        return _Server(address.host, bound.getsockname()[1], served, bound.fileno())


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
