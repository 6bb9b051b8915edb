"""The application below a path."""

from __future__ import annotations

import pytest
from werkzeug import Request, Response
from werkzeug.test import Client

from kinetoscope.web.middleware import mounted


@Request.application
def echo(request: Request) -> Response:
    """Says where it thinks it is."""
    return Response(f"{request.script_root}|{request.path}", content_type="text/plain")


@pytest.mark.parametrize(
    ("prefix", "path", "answer"),
    [
        ("/user/bob", "/user/bob/", "/user/bob|/"),
        ("/user/bob/", "/user/bob/api/info", "/user/bob|/api/info"),
        ("", "/api/info", "|/api/info"),
    ],
)
def test_paths_below_the_prefix_reach_the_application(prefix: str, path: str, answer: str) -> None:
    assert Client(mounted(echo, prefix)).get(path).text == answer


@pytest.mark.parametrize("path", ["/", "/user/bobby/", "/api/info", "/user"])
def test_nothing_else_does(path: str) -> None:
    response = Client(mounted(echo, "/user/bob")).get(path)
    assert response.status_code == 404
    assert response.get_json()["error"]["hint"] == "the page is at /user/bob/"


def test_the_bare_prefix_leads_to_the_folder() -> None:
    response = Client(mounted(echo, "/user/bob")).get("/user/bob")
    # Relative, so that it also holds behind a proxy that takes a part of the path away.
    assert (response.status_code, response.headers["Location"]) == (302, "bob/")
