"""Parts of a view: JSON, binary frames and downloads, each below the view's address."""

from __future__ import annotations

import gzip
from collections.abc import Iterator

import pytest
from msgspec.structs import replace
from tensorboard.backend.security_validator import SecurityValidatorMiddleware
from werkzeug.test import Client, create_environ, run_wsgi_app

from kinetoscope.views.view import Subject
from kinetoscope.web.app import create_app
from tests.web.drawn import CHOICE, DrawnCatalog, TimesQuery, parted_view
from tests.web.test_app import IMMUTABLE, error_of, span_digest

VIEW = "/api/view/parted"


def client(catalog: DrawnCatalog | None = None) -> Client:
    """A client of a view with parts, behind TensorBoard's validator."""
    app = create_app(catalog or DrawnCatalog(), (parted_view(),), "tensorboard")
    return Client(SecurityValidatorMiddleware(app))


def test_a_view_with_an_artifact_is_built_from_it() -> None:
    body = client().get(VIEW, query_string=CHOICE).get_json()
    assert body["names"][0] == "echo plain"


def test_a_part_answers_json_from_the_variant_it_asks_for() -> None:
    response = client().get(f"{VIEW}/text", query_string=CHOICE | {"times": "3"})
    assert response.get_json()["names"] == ["echo loud"] * 3


def test_a_part_answers_bytes() -> None:
    response = client().get(f"{VIEW}/frame", query_string=CHOICE)
    assert response.mimetype == "application/octet-stream"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.data == bytes(range(256)) * 2


def test_bytes_are_compressed_where_it_is_taken_and_worth_it() -> None:
    headers = {"Accept-Encoding": "gzip"}
    large = client().get(f"{VIEW}/frame", query_string=CHOICE | {"times": "9"}, headers=headers)
    assert large.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(large.data) == bytes(range(256)) * 9
    small = client().get(f"{VIEW}/frame", query_string=CHOICE, headers=headers)
    assert "Content-Encoding" not in small.headers


def test_a_download_has_a_name_that_is_no_path() -> None:
    response = client().get(f"{VIEW}/download", query_string=CHOICE)
    assert response.data == b"piece 0\npiece 1\n"
    assert response.mimetype == "application/gzip"
    assert response.headers["Content-Disposition"] == (
        'attachment; filename="gr__e__2_.json.gz"; '
        "filename*=UTF-8''gr%C3%B6%C3%9Fe%2F%222%22.json.gz"
    )


def test_a_download_is_sent_while_it_is_made_and_ends_with_its_client() -> None:
    made: list[int] = []

    def pieces(subject: Subject, query: TimesQuery) -> Iterator[bytes]:
        try:
            for index in range(100):
                made.append(index)
                yield b"piece"
        finally:
            made.append(-1)

    view = parted_view()
    parts = tuple(replace(one, build=pieces) if one.file else one for one in view.parts)
    app = create_app(DrawnCatalog(), (replace(view, parts=parts),), "tensorboard")
    environ = create_environ(f"{VIEW}/download", query_string=CHOICE)
    sent, status, headers = run_wsgi_app(app, environ)
    arriving = iter(sent)
    assert (next(arriving), next(arriving)) == (b"piece", b"piece")
    assert made == [0, 1]
    assert status == "200 OK"
    assert headers["ETag"]
    assert "Content-Length" not in headers
    sent.close()  # type: ignore[attr-defined]  # as a WSGI server does
    assert made == [0, 1, -1]


def test_what_goes_wrong_before_the_first_piece_is_told() -> None:
    response = client().get(f"{VIEW}/download", query_string=CHOICE | {"fail_at": "0"})
    assert response.status_code == 404
    assert error_of(response)["message"] == "the file is gone"
    assert "Content-Disposition" not in response.headers


def test_an_empty_download_is_one() -> None:
    response = client().get(f"{VIEW}/download", query_string=CHOICE | {"times": "0"})
    assert (response.status_code, response.data) == (200, b"")


@pytest.mark.parametrize("part", ["", "/text", "/frame", "/download"])
def test_what_the_client_holds_is_not_computed_again(part: str) -> None:
    site = client()
    first = site.get(VIEW + part, query_string=CHOICE)
    assert first.headers["Cache-Control"] == "no-cache"
    headers = {"If-None-Match": first.headers["ETag"]}
    again = site.get(VIEW + part, query_string=CHOICE, headers=headers)
    assert (again.status_code, again.data) == (304, b"")


@pytest.mark.parametrize("part", ["", "/text", "/frame", "/download"])
def test_an_answer_by_digest_never_changes(part: str) -> None:
    site = client()
    query = CHOICE | {"digest": span_digest(site)}
    assert site.get(VIEW + part, query_string=query).headers["Cache-Control"] == IMMUTABLE


@pytest.mark.parametrize("part", ["", "/text"])
def test_while_the_artifact_is_prepared_the_answer_is_progress(part: str) -> None:
    response = client(DrawnCatalog(prepared=False)).get(VIEW + part, query_string=CHOICE)
    assert response.status_code == 202
    assert response.get_json()["reading"]["bytes_done"] == 512
    assert response.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("part", ["", "/text", "/frame", "/download"])
def test_head_is_get_without_a_body(part: str) -> None:
    response = client().head(VIEW + part, query_string=CHOICE)
    assert (response.status_code, response.data) == (200, b"")
