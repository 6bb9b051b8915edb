"""The standalone server on a real socket."""

from __future__ import annotations

import contextlib
import http.client
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from werkzeug.serving import BaseWSGIServer

from kinetoscope.web import serve
from kinetoscope.web.app import create_app
from kinetoscope.web.serve import (
    MOST_CONNECTIONS,
    PORTS_TRIED,
    Address,
    AddressError,
    free_port,
    listen,
    url,
)
from tests.waiting import wait_for
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


# --- clients that send half a request -------------------------------------------------------------


def half_sent(server: BaseWSGIServer, sent: bytes = b"GET / HTTP/1.1\r\n") -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=20)
    connection.sendall(sent)
    return connection


def threads_of(server: BaseWSGIServer) -> int:
    """Threads of this server alone: another one of this process may still have some."""
    targets = (getattr(one, "_target", None) for one in threading.enumerate())
    return sum(one == server.process_request_thread for one in targets)  # type: ignore[attr-defined]


def test_half_sent_requests_hold_no_others_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "REQUEST_SECONDS", 1000.0)
    with running(Address(port=0)) as server:
        held = [half_sent(server) for _ in range(MOST_CONNECTIONS + 100)]
        try:
            assert get(server, "/api/info")[0] == 200
            # The thread of a connection that was closed ends a little later.
            wait_for(lambda: threads_of(server) <= MOST_CONNECTIONS)
            assert held[0].recv(100) == b"", "the oldest was closed"
        finally:
            for one in held:
                one.close()


def test_a_request_that_does_not_arrive_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the time of the whole, however often a byte comes."""
    monkeypatch.setattr(serve, "REQUEST_SECONDS", 0.5)
    with running(Address(port=0)) as server, half_sent(server) as connection:
        with pytest.raises(ConnectionError):  # noqa: PT012  # which of them fails is open
            for _ in range(2000):
                connection.sendall(b"x")
                time.sleep(0.01)
        wait_for(lambda: threads_of(server) == 0)
        assert get(server, "/api/info")[0] == 200


def test_a_body_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "REQUEST_BYTES", 1000)
    head = b"POST /api/info HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000000\r\n\r\n"
    with running(Address(port=0)) as server, half_sent(server, head) as connection:
        with contextlib.suppress(ConnectionError):
            connection.sendall(bytes(1 << 20))
        wait_for(lambda: threads_of(server) == 0)


def test_where_all_are_busy_a_further_one_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "MOST_CONNECTIONS", 1)
    began, go_on = threading.Event(), threading.Event()

    def slow(environ: object, start_response: Any) -> list[bytes]:
        began.set()
        go_on.wait(30)
        start_response("200 OK", [("Content-Length", "0")])
        return [b""]

    server = listen(slow, Address(port=0))
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        with half_sent(server, b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n") as first:
            assert began.wait(30)
            assert get(server, "/")[0] == 503
            go_on.set()
            assert first.recv(100).startswith(b"HTTP/1.1 200")
        wait_for(lambda: threads_of(server) == 0)
        assert get(server, "/")[0] == 200
    finally:
        go_on.set()
        server.shutdown()
        thread.join()
