"""The page's files: types, validators, compression, and nothing from outside the folder."""

from __future__ import annotations

import gzip
import json
import os
import re
from pathlib import Path

import pytest
from tensorboard.backend.security_validator import SecurityValidatorMiddleware
from werkzeug.test import Client

from kinetoscope.base.errors import QueryError
from kinetoscope.web.app import Host, create_app
from kinetoscope.web.page import CONTENT_POLICY, Page, page_alone
from tests.web.drawn import DrawnCatalog

SCRIPT = b"export function render() {}\n" * 100


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A built page, with a secret beside it.

    static/            index.html  index.js  index.js.gz  assets/chunk-1a2b.js …
    static-secret.txt  secret.txt
    """
    static = tmp_path / "static"
    (static / "assets").mkdir(parents=True)
    (static / "index.html").write_text("<!doctype html><title>x</title>")
    (static / "index.js").write_bytes(SCRIPT)
    (static / "index.js.gz").write_bytes(gzip.compress(SCRIPT))
    for name in ("chunk-1a2b.js", "style-3c.css", "font-4d.woff2", "code-5e.wasm", "odd.xyz"):
        (static / "assets" / name).write_bytes(b"content of " + name.encode())
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "static-secret.txt").write_text("secret")
    return static


def client(folder: Path) -> Client:
    """A client of the application with this page, behind TensorBoard's validator."""
    app = create_app(DrawnCatalog(), (), "standalone", Page(folder))
    return Client(SecurityValidatorMiddleware(app))


@pytest.mark.parametrize(
    ("path", "content_type"),
    [
        ("/", "text/html; charset=utf-8"),
        ("/index.html", "text/html; charset=utf-8"),
        ("/index.js", "text/javascript; charset=utf-8"),
        ("/assets/chunk-1a2b.js", "text/javascript; charset=utf-8"),
        ("/assets/style-3c.css", "text/css; charset=utf-8"),
        ("/assets/font-4d.woff2", "font/woff2"),
        ("/assets/code-5e.wasm", "application/wasm"),
        ("/assets/odd.xyz", "application/octet-stream"),
    ],
)
def test_types_are_ours(folder: Path, path: str, content_type: str) -> None:
    response = client(folder).get(path)
    assert response.status_code == 200
    assert response.headers["Content-Type"] == content_type
    assert response.headers["X-Content-Type-Options"] == "nosniff"


def test_hashed_names_are_kept_and_fixed_names_are_asked_for_again(folder: Path) -> None:
    site = client(folder)
    for path in ("/index.js", "/index.html", "/"):
        assert site.get(path).headers["Cache-Control"] == "no-cache"
    assert "immutable" in site.get("/assets/chunk-1a2b.js").headers["Cache-Control"]


@pytest.mark.parametrize("path", ["/index.js", "/", "/assets/chunk-1a2b.js"])
def test_what_the_client_holds_is_not_sent_again(folder: Path, path: str) -> None:
    site = client(folder)
    etag = site.get(path).headers["ETag"]
    again = site.get(path, headers={"If-None-Match": etag})
    assert (again.status_code, again.data) == (304, b"")


def test_a_new_build_shows_without_a_restart(folder: Path) -> None:
    site = client(folder)
    etag = site.get("/index.html").headers["ETag"]
    (folder / "index.html").write_text("<!doctype html><title>new</title>")
    again = site.get("/index.html", headers={"If-None-Match": etag})
    assert (again.status_code, "new" in again.text) == (200, True)


def test_the_packed_sibling_is_sent_where_gzip_is_taken(folder: Path) -> None:
    site = client(folder)
    packed = site.get("/index.js", headers={"Accept-Encoding": "gzip"})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert packed.headers["Content-Type"].startswith("text/javascript")
    assert packed.data == (folder / "index.js.gz").read_bytes()
    assert site.get("/index.js").data == SCRIPT


def test_html_carries_a_policy_that_tensorboard_accepts(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    site = client(folder)
    for path in ("/", "/index.html", "/index.js", "/nothing"):
        site.get(path)
    assert site.get("/").headers["Content-Security-Policy"] == CONTENT_POLICY
    assert "In 3.0" not in caplog.text
    assert not re.search(r"https?:", CONTENT_POLICY), "no foreign host"


@pytest.mark.parametrize(
    "path",
    [
        "/../secret.txt",
        "/assets/../../secret.txt",
        "//secret.txt",
        "/..\\secret.txt",
        "/../static-secret.txt",
        "/assets/..%2f..%2fsecret.txt",
        "/assets",
        "/assets/",
        "/index.js/",
        "/INDEX.JS",
        "/index.js\x00",
        "/" + "a/" * 5000,
    ],
)
def test_only_listed_names_are_served(folder: Path, path: str) -> None:
    environ = {"PATH_INFO": path}
    response = client(folder).get("/", environ_overrides=environ)
    assert response.status_code == 404
    assert response.get_json()["error"]["kind"] == "not_found"


def test_an_absolute_path_is_a_name_like_any_other(folder: Path) -> None:
    path = str(folder.parent / "secret.txt")
    assert client(folder).get("/", environ_overrides={"PATH_INFO": f"/{path}"}).status_code == 404
    assert client(folder).get("/", environ_overrides={"PATH_INFO": path}).status_code == 404


def test_the_page_alone_is_framed_by_itself_and_by_vs_code(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def framed(host: Host) -> str:
        policy = (
            Client(create_app(DrawnCatalog(), (), host)).get("/").headers["Content-Security-Policy"]
        )
        return policy.partition("frame-ancestors ")[2]

    monkeypatch.delenv("VSCODE_TENSORBOARD_LAUNCH", raising=False)
    assert framed("standalone") == "'self'"
    assert framed("tensorboard") == ""  # notebooks frame it from other addresses
    monkeypatch.setenv("VSCODE_TENSORBOARD_LAUNCH", "1")
    assert framed("standalone").startswith("'self' vscode-webview: ")


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="the system has no symbolic links")
def test_a_linked_folder_is_not_listed(folder: Path) -> None:
    (folder / "outside").symlink_to(folder.parent, target_is_directory=True)
    assert client(folder).get("/outside/secret.txt").status_code == 404


def test_a_page_that_is_not_built_says_how_to_build_it(tmp_path: Path) -> None:
    site = client(tmp_path / "static")
    html = site.get("/")
    assert html.status_code == 503
    assert "tools/build_page.py" in html.text
    assert html.headers["Content-Security-Policy"] == CONTENT_POLICY
    # TensorBoard calls render() of this module: it must show the sentence.
    script = site.get("/index.js")
    assert (script.status_code, script.mimetype) == (200, "text/javascript")
    (text,) = re.findall(r"textContent = (.+);", script.text)
    assert "tools/build_page.py" in json.loads(text)
    assert site.get("/assets/x.js").status_code == 404


def test_the_page_is_framed_by_the_origin_that_has_the_token() -> None:
    page = page_alone(["https://hub.example:8443"], token="secret")  # no password
    client = Client(create_app(DrawnCatalog(), (), "standalone", page))

    def framers(address: str, **headers: str) -> str:
        policy = client.get(address, headers=headers).headers["Content-Security-Policy"]
        return policy.partition("frame-ancestors ")[2]

    assert framers("/") == "'self' https://hub.example:8443"
    notebook = {"Referer": "http://localhost:8888/lab/tree/a.ipynb"}
    assert framers("/?frame=secret", **notebook) == (
        "'self' https://hub.example:8443 http://localhost:8888"
    )
    for address in ("/?frame=wrong", "/?frame=", "/"):
        assert framers(address, **notebook) == framers("/")
    for odd in ("", "javascript:1", "http://a b/", "http://a;script-src *", "http://a.example'x"):
        assert framers("/?frame=secret", Referer=odd) == framers("/")
    for none in ("*", "hub.example", "https://a; script-src *", "https://a/b"):
        with pytest.raises(QueryError, match="is no origin"):
            page_alone([none])
