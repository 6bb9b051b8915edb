"""A server on this machine answers to its own names only."""

from __future__ import annotations

import pytest
from werkzeug import Response
from werkzeug.test import Client

from kinetoscope.web.hosts import host_name, is_loopback, only_known_hosts


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("localhost", "localhost"),
        ("LOCALHOST:6007", "localhost"),
        ("localhost.:6007", "localhost"),
        ("127.0.0.1:6007", "127.0.0.1"),
        ("[::1]:6007", "::1"),
        ("[::1]", "::1"),
        ("::1", "::1"),
        ("", ""),
    ],
)
def test_host_name(header: str, name: str) -> None:
    assert host_name(header) == name


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("localhost", True),
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("0.0.0.0", False),  # noqa: S104
        ("192.168.0.1", False),
        ("localhost.evil.example", False),
        ("127.0.0.1.evil.example", False),
        ("", False),
    ],
)
def test_loopback(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ("localhost:6007", 200),
        ("127.0.0.1", 200),
        ("[::1]:6007", 200),
        ("Hub.Example:443", 200),  # allowed below
        ("evil.example", 403),
        ("127.0.0.1.evil.example:6007", 403),
        ("hub.example.evil.example", 403),
        ("localhost@evil.example", 403),
        ("", 403),
    ],
)
def test_only_known_names_are_answered(header: str, status: int) -> None:
    client = Client(only_known_hosts(Response("fine"), ["hub.example"]))
    response = client.get("/", environ_overrides={"HTTP_HOST": header})
    assert response.status_code == status
    if status == 403:
        assert response.get_json()["error"]["kind"] == "unknown_host"
        assert response.headers["X-Content-Type-Options"] == "nosniff"
