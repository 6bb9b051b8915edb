"""Every address answers, in JSON, with the right status and headers, whatever is asked."""

from __future__ import annotations

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tensorboard.backend.security_validator import SecurityValidatorMiddleware
from werkzeug.test import Client, TestResponse

from kinetoscope import __version__
from kinetoscope.base.errors import TraceFormatError
from kinetoscope.web.app import Choice, create_app
from kinetoscope.web.contract import CONTRACT
from tests.conftest import ROOT
from tests.web.drawn import (
    CHOICE,
    Counted,
    DrawnCatalog,
    Lengths,
    absent_view,
    broken_view,
    length_view,
    parted_view,
)

IMMUTABLE = "private, max-age=31536000, immutable"


def build_many(*_: object) -> Lengths:
    """A large answer."""
    return Lengths(("step",) * 1000, (1,) * 1000)


MANY = replace(length_view(), stem="many", build=build_many)


def client(catalog: DrawnCatalog | None = None, counted: Counted | None = None) -> Client:
    """A client of the application over a drawn catalog, behind TensorBoard's validator."""
    views = (length_view(counted), absent_view(), broken_view(), MANY, parted_view())
    app = create_app(catalog or DrawnCatalog(), views, "standalone")
    return Client(SecurityValidatorMiddleware(app))


def error_of(response: TestResponse) -> dict[str, str]:
    """The error of an answer, which holds nothing else."""
    assert response.mimetype == "application/json"
    body = response.get_json()
    assert body.keys() == {"error"}
    assert body["error"].keys() == {"kind", "message", "hint"}
    error: dict[str, str] = body["error"]
    return error


def span_digest(site: Client) -> str:
    """The digest that the catalog tells of its only span."""
    digest: str = site.get("/api/catalog").get_json()["runs"][0]["workers"][0]["spans"][0]["digest"]
    return digest


# --- the routes ---------------------------------------------------------------------------------


def test_info_lists_the_views_in_tab_order() -> None:
    body = client().get("/api/info").get_json()
    assert [view["stem"] for view in body["views"]] == [
        "lengths",
        "absent",
        "broken",
        "many",
        "parted",
    ]
    assert body["views"][0] == {
        "stem": "lengths",
        "title": "Lengths",
        "key": "l",
        "question": "How long is each step?",
    }
    assert body["host"] == "standalone"
    assert body["vscode"] is False
    assert "prof.step()" in body["recipe"]


def test_info_knows_the_editor_that_started_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VSCODE_TENSORBOARD_LAUNCH", "1")
    assert client().get("/api/info").get_json()["vscode"] is True


def test_catalog_names_travel_as_text() -> None:
    (run,) = client().get("/api/catalog").get_json()["runs"]
    assert run["name"] == "resnet/50 & <b>"


def test_trace_tells_the_shell_what_it_needs() -> None:
    body = client().get("/api/trace", query_string=CHOICE).get_json()
    assert [(s["name"], s["number"], s["dur_ns"]) for s in body["steps"]] == [
        ("ProfilerStep#5", 5, 100),
        ("ProfilerStep#6", 6, 200),
    ]
    states = {view["stem"]: (view["unavailable"], view["badge"]) for view in body["views"]}
    assert states["lengths"] == (None, 2)
    assert states["absent"] == ("not available, because no device activity was recorded", None)
    assert (body["rank"], body["device_type"], body["worst"]) == (7, "CPU", "good")


def test_what_is_not_chosen_is_chosen_by_the_catalog() -> None:
    body = client().get("/api/trace").get_json()
    assert {name: body[name] for name in CHOICE} == CHOICE


@pytest.mark.parametrize(
    ("query", "lengths"),
    [
        ({}, [100, 200]),
        ({"scale": "3"}, [300, 600]),
        ({"only": "1"}, [200]),
        ({"only": "null"}, [100, 200]),
    ],
)
def test_a_view_answers_its_query(query: dict[str, str], lengths: list[int]) -> None:
    body = client().get("/api/view/lengths", query_string=CHOICE | query).get_json()
    assert body["dur_ns"] == lengths


def test_rescan_and_retry_reach_the_catalog_and_answer_it() -> None:
    catalog = DrawnCatalog()
    site = client(catalog)
    assert site.get("/api/rescan").get_json()["version"] == "v1"
    file = {"path": "../x.json", "logdir": "./logs"}
    assert site.get("/api/retry", query_string=file).get_json()["version"] == "v1"
    assert catalog.calls == ["rescan", "retry ./logs ../x.json"]


# --- what is not so -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "query", "status", "kind", "words"),
    [
        ("/api/nothing", {}, 404, "not_found", "no address api/nothing"),
        ("/api", {}, 404, "not_found", "no address"),
        ("/api/", {}, 404, "not_found", "no address"),
        ("/nothing.js", {}, 404, "not_found", "no file 'nothing.js'"),
        ("/api/view/nothing", CHOICE, 404, "not_found", "no view 'nothing'"),
        ("/api/view/lengths/", CHOICE, 404, "not_found", "no part '' of the view lengths"),
        ("/api/view/parted/nothing", CHOICE, 404, "not_found", "no part 'nothing'"),
        ("/api/view/parted/text/more", CHOICE, 404, "not_found", "no part 'text/more'"),
        ("/api/view/parted/text", {**CHOICE, "times": "x"}, 400, "bad_query", "not a whole number"),
        ("/api/view/parted/text", {**CHOICE, "scale": "1"}, 400, "bad_query", "unknown field"),
        ("/api/trace", {**CHOICE, "run": "other"}, 404, "not_found", "no such span"),
        ("/api/info", {"x": "1"}, 400, "bad_query", "unknown field `x`"),
        ("/api/catalog", {"x": "1"}, 400, "bad_query", "unknown field `x`"),
        ("/api/retry", {"path": "x"}, 400, "bad_query", "`logdir`"),
        ("/api/view/lengths", {**CHOICE, "scale": "x"}, 400, "bad_query", "not a whole number"),
        ("/api/view/lengths", {**CHOICE, "steps": ""}, 400, "bad_query", "unknown field `steps`"),
        ("/api/view/absent", CHOICE, 409, "not_available", "no device activity"),
    ],
)
def test_what_cannot_be_answered_says_why(
    path: str, query: dict[str, str], status: int, kind: str, words: str
) -> None:
    response = client().get(path, query_string=query)
    error = error_of(response)
    assert (response.status_code, error["kind"]) == (status, kind)
    assert words in error["message"]


def test_a_parameter_given_twice_is_refused() -> None:
    response = client().get("/api/trace?run=a&run=b&worker=&span=")
    assert response.status_code == 400
    assert "twice" in error_of(response)["message"]


def test_an_unknown_parameter_is_told_the_known_ones() -> None:
    response = client().get("/api/view/lengths", query_string=CHOICE | {"stpes": "1"})
    assert error_of(response)["hint"] == "known parameters: scale, only, upper"


def test_an_error_of_reading_reaches_the_page() -> None:
    error = TraceFormatError("lfs_pointer", "this is a Git LFS pointer", hint="git lfs pull")
    response = client(DrawnCatalog(state="refused", error=error)).get(
        "/api/view/lengths", query_string=CHOICE
    )
    assert response.status_code == 422
    assert error_of(response) == {
        "kind": "lfs_pointer",
        "message": "this is a Git LFS pointer",
        "hint": "git lfs pull",
    }


@pytest.mark.parametrize("path", ["/api/trace", "/api/view/lengths"])
def test_while_reading_the_answer_is_progress(path: str) -> None:
    response = client(DrawnCatalog(state="reading")).get(path, query_string=CHOICE)
    assert response.status_code == 202
    assert response.get_json()["reading"]["bytes_done"] == 512
    assert response.headers["Cache-Control"] == "no-store"
    assert "ETag" not in response.headers


def test_a_mistake_of_ours_is_told_without_its_details(caplog: pytest.LogCaptureFixture) -> None:
    response = client().get("/api/view/broken", query_string=CHOICE)
    assert response.status_code == 500
    assert error_of(response)["kind"] == "internal"
    assert "secret" not in response.text
    assert "secret detail" in caplog.text


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
def test_only_get_and_head(method: str) -> None:
    response = client().open("/api/info", method=method)
    assert response.status_code == 405
    assert response.headers["Allow"] == "GET, HEAD"
    assert error_of(response)["kind"] == "bad_method"


def test_head_is_get_without_a_body() -> None:
    site = client()
    whole, head = site.get("/api/info"), site.head("/api/info")
    assert head.data == b""
    assert head.headers["Content-Length"] == str(len(whole.data))
    assert head.headers["ETag"] == whole.headers["ETag"]


@pytest.mark.parametrize(
    ("path", "query", "status"),
    [
        ("/api/info", {}, 200),
        ("/api/view/lengths", CHOICE, 200),
        ("/api/view/absent", CHOICE, 409),
        ("/api/nothing", {}, 404),
        ("/api/catalog?x=1", {}, 400),
    ],
)
def test_every_answer_names_the_program(path: str, query: dict[str, str], status: int) -> None:
    response = client().get(path, query_string=query or None)
    assert response.status_code == status
    assert response.headers["Kinetoscope-Program"] == f"{__version__} {CONTRACT}"


def test_an_unchanged_answer_and_one_that_is_still_made_name_the_program() -> None:
    site = client()
    etag = site.get("/api/catalog").headers["ETag"]
    same = site.get("/api/catalog", headers={"If-None-Match": etag})
    later = client(DrawnCatalog(state="reading")).get("/api/trace")
    assert (same.status_code, later.status_code) == (304, 202)
    for response in (same, later):
        assert response.headers["Kinetoscope-Program"] == f"{__version__} {CONTRACT}"


def test_the_page_has_the_version_and_contract_that_info_tells() -> None:
    """The built page compares; so both must come from the sources of now."""
    types = (ROOT / "frontend/src/api/types.gen.ts").read_text(encoding="utf-8")
    info = client().get("/api/info").get_json()
    assert f'export const VERSION = "{info["version"]}";' in types
    assert f'export const CONTRACT = "{info["contract"]}";' in types


# --- caching ------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/api/info", "/api/catalog", "/api/trace", "/api/view/lengths"])
def test_what_the_client_holds_is_not_sent_again(path: str) -> None:
    site = client()
    query = CHOICE if path in {"/api/trace", "/api/view/lengths"} else {}
    first = site.get(path, query_string=query)
    assert first.headers["Cache-Control"] == "no-cache"
    again = site.get(path, query_string=query, headers={"If-None-Match": first.headers["ETag"]})
    assert (again.status_code, again.data) == (304, b"")
    assert again.headers["ETag"] == first.headers["ETag"]


def test_a_304_computes_nothing() -> None:
    counted = Counted()
    site = client(counted=counted)
    etag = site.get("/api/view/lengths", query_string=CHOICE).headers["ETag"]
    site.get("/api/view/lengths", query_string=CHOICE, headers={"If-None-Match": etag})
    assert counted.builds == 1


def test_another_query_is_another_version() -> None:
    site = client()
    etag = site.get("/api/view/lengths", query_string=CHOICE).headers["ETag"]
    other = site.get(
        "/api/view/lengths", query_string=CHOICE | {"scale": "2"}, headers={"If-None-Match": etag}
    )
    assert other.status_code == 200


def test_a_changed_catalog_is_sent_anew() -> None:
    catalog = DrawnCatalog()
    site = client(catalog)
    etag = site.get("/api/catalog").headers["ETag"]
    catalog.version = "v2"
    assert site.get("/api/catalog", headers={"If-None-Match": etag}).status_code == 200


@pytest.mark.parametrize("path", ["/api/trace", "/api/view/lengths"])
def test_an_answer_by_digest_never_changes(path: str) -> None:
    site = client()
    digest = span_digest(site)
    assert digest.startswith("d1-")
    response = site.get(path, query_string=CHOICE | {"digest": digest})
    assert response.headers["Cache-Control"] == IMMUTABLE


def test_the_answer_for_a_file_that_changed_since_is_not_kept() -> None:
    catalog = DrawnCatalog()
    site = client(catalog)
    old = span_digest(site)
    catalog.digest = "d2"
    response = site.get("/api/view/lengths", query_string=CHOICE | {"digest": old})
    assert response.status_code == 200
    assert response.headers["Cache-Control"] == "no-cache"


def test_errors_are_not_kept() -> None:
    digest = span_digest(client())
    response = client().get("/api/view/absent", query_string=CHOICE | {"digest": digest})
    assert response.headers["Cache-Control"] == "no-store"


# --- compression --------------------------------------------------------------------------------


def test_a_large_answer_is_compressed_where_it_is_taken() -> None:
    site = client()
    plain = site.get("/api/view/many", query_string=CHOICE)
    packed = site.get("/api/view/many", query_string=CHOICE, headers={"Accept-Encoding": "gzip"})
    assert "Content-Encoding" not in plain.headers
    assert packed.headers["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in packed.headers["Vary"]
    assert len(packed.data) < len(plain.data) / 10
    assert gzip.decompress(packed.data) == plain.data


@pytest.mark.parametrize("accepted", ["", "identity", "gzip;q=0", "br"])
def test_who_takes_no_gzip_gets_none(accepted: str) -> None:
    headers = {"Accept-Encoding": accepted}
    response = client().get("/api/view/many", query_string=CHOICE, headers=headers)
    assert "Content-Encoding" not in response.headers


def test_a_small_answer_is_sent_as_it_is() -> None:
    response = client().get("/api/catalog", headers={"Accept-Encoding": "gzip"})
    assert "Content-Encoding" not in response.headers


# --- from outside -------------------------------------------------------------------------------

HOSTILE = [
    "../../etc/passwd",
    "..%2f..%2fetc/passwd",
    "<script>alert(1)</script>",
    "\x00",
    "%00",
    "x" * 50_000,
    "\ud800",
    "\u202e",
    "a\r\nSet-Cookie: x=1",
    "'; DROP TABLE runs; --",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_are_told_as_text_and_shortly(text: str) -> None:
    site = client()
    raw = text.encode("utf-8", "surrogatepass").decode("latin-1")
    queries = [{**CHOICE, "run": raw}, {**CHOICE, "scale": raw}, {**CHOICE, raw: "1"}]
    answers = [site.get("/api/view/lengths", query_string=query) for query in queries]
    answers += [site.get(f"{start}{raw}") for start in ("/", "/api/", "/api/view/", "/assets/")]
    for answer in answers:
        assert answer.status_code in {400, 404}
        assert error_of(answer)["message"]
        assert len(answer.data) < 1000
        assert "Set-Cookie" not in answer.headers


@given(path=st.binary(max_size=40), query=st.binary(max_size=60))
def test_any_address_gets_a_json_answer(path: bytes, query: bytes) -> None:
    environ = {
        "PATH_INFO": "/api/" + path.decode("latin-1"),
        "QUERY_STRING": query.decode("latin-1"),
    }
    response = client().get("/", environ_overrides=environ)
    assert response.mimetype == "application/json"
    assert response.status_code in {200, 400, 404}


def test_the_validator_of_tensorboard_has_nothing_to_say(
    caplog: pytest.LogCaptureFixture,
) -> None:
    site = client()
    etag = site.get("/api/info").headers["ETag"]
    site.get("/api/info", headers={"If-None-Match": etag})
    site.get("/")
    site.get("/nothing")
    site.post("/api/info")
    assert "TensorBoard" not in caplog.text
    assert "In 3.0" not in caplog.text


def test_no_view_takes_a_parameter_that_chooses_the_trace() -> None:
    from kinetoscope.views import all_views

    for view in all_views():
        assert not {*view.query.__struct_fields__} & {*Choice.__struct_fields__}
