"""A server on this machine answers to its own names only."""

from __future__ import annotations

import pytest
from werkzeug import Response
from werkzeug.test import Client

from kinetoscope.web.app import create_app
from kinetoscope.web.middleware import host_name, is_loopback, only_known_hosts
from tests.web.drawn import DrawnCatalog


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("localhost", "localhost"),
        ("LOCALHOST:6007", "localhost"),
        ("localhost.:6007", "localhost"),
        ("127.0.0.1:6007", "127.0.0.1"),
        ("[::1]:6007", "::1"),
        ("[::1]", "::1"),
        ("localhost:", "localhost"),
        ("", ""),
        # No hosts, however they begin:
        ("::1", ""),
        ("[::1].evil.example", ""),
        ("[::1]evil.example:80", ""),
        ("[::1]:80:80", ""),
        ("[::1", ""),
        ("[localhost]", ""),
        ("[]", ""),
        ("localhost:x", ""),
        ("localhost:80@evil.example", ""),
        ("localhost/..", ""),
        ("localhost\n", ""),
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
        ("[::1].evil.example", 403),
        ("[::1]@evil.example", 403),
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


# --- requests of other sites ----------------------------------------------------------------------

OURS = {"Host": "127.0.0.1:6007"}


@pytest.mark.parametrize("route", ["/api/rescan", "/api/retry?logdir=./logs&path=x.json"])
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),  # a program
        ({"Sec-Fetch-Site": "none"}, 200),  # the address bar
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Sec-Fetch-Site": "same-origin", "Referer": "https://hub.example/user/bob/"}, 200),
        ({"Origin": "http://127.0.0.1:6007"}, 200),
        ({"Referer": "http://127.0.0.1:6007/index.html"}, 200),
        ({"X-Forwarded-Host": "hub.example", "Referer": "https://hub.example/bob/"}, 200),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),  # another port of this machine
        ({"Sec-Fetch-Site": ""}, 403),
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Referer": "http://127.0.0.1:6007.evil.example/"}, 403),
        ({"Referer": "http://127.0.0.1:6007@evil.example/"}, 403),
        ({"Origin": "http://[::1"}, 403),
    ],
)
def test_other_sites_cause_nothing(route: str, headers: dict[str, str], status: int) -> None:
    catalog = DrawnCatalog()
    client = Client(create_app(catalog, (), "standalone"))
    response = client.get(route, headers=OURS | headers)
    assert response.status_code == status
    assert bool(catalog.calls) is (status == 200)
    if status == 403:
        assert response.get_json()["error"]["kind"] == "cross_site"
