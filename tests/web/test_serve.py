"""The standalone server on a real socket."""

from __future__ import annotations

import http.client
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from werkzeug.serving import BaseWSGIServer

from kinetoscope.web.app import create_app
from kinetoscope.web.serve import PORTS_TRIED, Address, AddressError, free_port, listen, url
from tests.web.drawn import DrawnCatalog


@contextmanager
def running(address: Address) -> Iterator[BaseWSGIServer]:
    """A server that answers until the end of the block."""
    server = listen(create_app(DrawnCatalog(), (), "standalone"), address)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()


def get(server: BaseWSGIServer, path: str, host: str = "localhost") -> tuple[int, bytes]:
    """Status and body of a GET that names this host."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    try:
        connection.request("GET", path, headers={"Host": host})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


@contextmanager
def taken() -> Iterator[int]:
    """A port that another program listens on."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield other.getsockname()[1]


def test_it_answers_on_any_free_port() -> None:
    with running(Address(port=0)) as server:
        assert server.port > 0
        assert get(server, "/api/info")[0] == 200
        assert url(server, Address(port=0)) == f"http://127.0.0.1:{server.port}/"


def test_a_name_from_elsewhere_is_refused() -> None:
    with running(Address(port=0, allowed_hosts=("hub.example",))) as server:
        assert get(server, "/api/info", "evil.example")[0] == 403
        assert get(server, "/api/info", "hub.example")[0] == 200


def test_below_a_prefix() -> None:
    address = Address(port=0, path_prefix="user/bob/")
    with running(address) as server:
        assert get(server, "/user/bob/api/info")[0] == 200
        assert get(server, "/api/info")[0] == 404
        assert url(server, address).endswith(f":{server.port}/user/bob/")


def test_a_port_that_was_asked_for_and_is_taken_is_an_error() -> None:
    with taken() as port, pytest.raises(AddressError, match=f"port {port} is taken"):
        listen(create_app(DrawnCatalog(), (), "standalone"), Address(port=port))


def test_a_taken_port_is_passed_over() -> None:
    with taken() as port:
        found = free_port(Address(), port)
    assert port < found < port + PORTS_TRIED


@pytest.mark.parametrize("host", ["203.0.113.1", "no such host", "256.256.256.256"])
def test_a_host_that_is_not_here_is_an_error(host: str) -> None:
    with pytest.raises(AddressError, match="cannot listen"):
        listen(create_app(DrawnCatalog(), (), "standalone"), Address(host=host, port=0))


@pytest.mark.parametrize(
    ("host", "public"),
    [("127.0.0.1", False), ("localhost", False), ("::1", False), ("10.0.0.5", True), ("", True)],
)
def test_only_loopback_is_private(host: str, public: bool) -> None:
    assert Address(host=host).is_public is public
