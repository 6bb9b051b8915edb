"""Whatever is asked, the application answers: never with 500, never with HTML that it was sent."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from werkzeug.test import Client, EnvironBuilder, run_wsgi_app

from kinetoscope.session.catalog import facts_catalog
from kinetoscope.store.discovery.walk import resolve
from kinetoscope.views import all_views
from kinetoscope.web.app import create_app
from tests.drawing import draw_at, memory
from tests.waiting import wait_for

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

PICTURE = """
    step   |11111111112222222222|
    frame  | ffffffffffffffff   |
    op     |  aaaaaa   b        |
    call   |   l k     n        |
    gpu    |     llkkk   nn     |
    """
VIEW_PATHS = tuple(f"view/{view.stem}" for view in all_views())
PART_PATHS = tuple(f"view/{view.stem}/{part.stem}" for view in all_views() for part in view.parts)
ROUTES = ("info", "catalog", "rescan", "retry", "trace", "source", *VIEW_PATHS, *PART_PATHS)
_KEYS = """
    run worker span digest path logdir file line steps device layout level tiles blocks series slice
    hops by direction text mode columns tracks start_ns end_ns limit offset sort sort_by ascending
    key group_by stack_depth name first count metric min_share kinds search
"""
VALUES = [
    *("", "0", "1", "-1", "0-3", "0.0", "1e999", "nan", "9" * 400, str(2**63), str(-(2**63))),
    *("true", "null", "a", "(a+)+$", "[", "\\", "../../etc/passwd", "/etc/passwd", "%00", "\0"),
    *("<script>", "logs", "worker0.pt.trace.json", "split", "name", "regex", "lane", "next"),
    *("a" * 5000, "\ud800", "\U0001f9ea", "1,1,1", "all", "4-2", "0,0-99999999"),
]
_HEADERS = """
    Host If-None-Match If-Modified-Since Accept-Encoding Range Origin Referer Sec-Fetch-Site
    X-Forwarded-Host Content-Length Content-Type Cookie Accept
"""

odd = st.sampled_from(VALUES) | st.text(max_size=20)
paths = (
    st.sampled_from(ROUTES).map(lambda route: f"/api/{route}")
    | st.tuples(st.sampled_from(ROUTES), odd).map(lambda two: f"/api/{two[0]}/{two[1]}")
    | odd.map(lambda text: f"/{text}")
    | st.sampled_from(["", "/", "//", "/api", "/api/", "/api//info", "/assets/../index.html"])
)
queries = st.lists(st.tuples(st.sampled_from(_KEYS.split()) | odd, odd), max_size=6)
header_values = odd.map(lambda text: "".join(c for c in text if c not in "\r\n" and c < "\u0100"))
headers = st.dictionaries(st.sampled_from(_HEADERS.split()), header_values, max_size=4)


@cache
def site() -> Iterator[WSGIApplication]:
    """The application over a small trace of everything, once all is made that its views need."""
    logdir = Path(tempfile.mkdtemp(prefix="kinetoscope-test-"), "logs")
    logdir.mkdir()
    draw_at(logdir / "worker0.pt.trace.json", PICTURE, events=[memory(3, 512, 512)])
    with facts_catalog(resolve((str(logdir),), None)) as catalog:
        app = create_app(catalog, all_views(), "standalone")
        client = Client(app)
        for path in VIEW_PATHS:
            address = f"/api/{path}"
            wait_for(partial(_is_made, client, address))
        while True:
            yield app


@settings(max_examples=600, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(["GET", "GET", "GET", "HEAD", "POST", "PUT", "X"]), paths, queries, headers)
def test_every_request_is_answered(
    method: str, path: str, query: list[tuple[str, str]], sent: dict[str, str]
) -> None:
    builder = EnvironBuilder(method=method, base_url="http://localhost/")
    environ = builder.get_environ()
    environ["PATH_INFO"] = path.encode("utf-8", "surrogatepass").decode("latin-1")
    pairs = "&".join(f"{quoted(name)}={quoted(value)}" for name, value in query)
    environ["QUERY_STRING"] = pairs
    for name, value in sent.items():
        key = name.upper().replace("-", "_")
        environ[key if key.startswith("CONTENT_") else f"HTTP_{key}"] = value
    pieces, status, told = run_wsgi_app(next(site()), environ, buffered=True)
    body, code = b"".join(pieces), int(status[:3])
    assert code < 500 or code == 503  # a page that is not built
    if told["Content-Type"].startswith("text/html"):
        assert b"<script>" not in body.lower()
    elif code >= 400 and method != "HEAD" and code != 503:
        assert json.loads(body)["error"]["message"]


def _is_made(client: Client, address: str) -> bool:
    return client.get(address).status_code not in {202, 404}


def quoted(text: str) -> str:
    """As it may stand in a query: mostly escaped, sometimes as it is."""
    data = text.encode("utf-8", "surrogatepass")
    return "".join(chr(b) if 47 < b < 123 else f"%{b:02x}" for b in data)
