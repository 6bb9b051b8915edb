"""The application over the real catalog: from a file on disk to the answer, and later changes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import Client, TestResponse

from kinetoscope.session.catalog import facts_catalog
from kinetoscope.session.session import FileSession
from kinetoscope.store.discovery.walk import resolve
from kinetoscope.trace import read as reader
from kinetoscope.trace.model import Trace
from kinetoscope.views import all_views
from kinetoscope.web.app import create_app
from tests.waiting import wait_for
from tests.web.trace_files import write_trace

OLD = 1_700_000_000
"""A time stamp of a file that nobody is writing any more."""


def write_old(path: Path, **options: Any) -> Path:
    """A trace that was written long ago, so that nobody waits for its end."""
    write_trace(path, **options)
    os.utime(path, (OLD, OLD))
    return path


@contextmanager
def served(root: Path) -> Iterator[tuple[Client, Path]]:
    """A client over a logdir of its own, and the logdir.

    log/run/host_1.1700000000000.pt.trace.json.gz    a trace
    log/page.trace.json                              a web page that calls itself a trace
    """
    logdir = root / "log"
    write_old(logdir / "run" / "host_1.1700000000000.pt.trace.json.gz")
    page = logdir / "page.trace.json"
    page.write_text("<!doctype html><title>sign in</title>")
    os.utime(page, (OLD, OLD))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KINETOSCOPE_CACHE_DIR", str(root / "cache"))
        with facts_catalog(resolve(str(logdir), None)) as catalog:
            assert catalog.wait_first_look(60)
            yield Client(create_app(catalog, all_views(), "standalone")), logdir


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[tuple[Client, Path]]:
    """Client and logdir, to be changed at will."""
    with served(tmp_path) as both:
        yield both


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Client, Path]]:
    """Client and logdir for tests that only look; the trace is read."""
    with served(tmp_path_factory.mktemp("shared")) as both:
        wait_ready(both[0])
        yield both


@pytest.fixture
def site(shared: tuple[Client, Path]) -> Client:
    """The client of the shared ones."""
    return shared[0]


def span_of(site: Client) -> dict[str, Any]:
    """The only span of the catalog."""
    (run,) = site.get("/api/catalog").get_json()["runs"]
    span: dict[str, Any] = run["workers"][0]["spans"][0]
    return span


def wait_ready(site: Client) -> None:
    """Asks as the page does: 202 with progress until it is there.

    The catalog is made anew by a thread of its own, and knows of the answer a moment later.
    """
    wait_for(lambda: site.get("/api/trace").status_code != 202)
    wait_for(lambda: bool(span_of(site)["digest"]))


def test_the_first_answers_are_progress_then_the_view(fresh: tuple[Client, Path]) -> None:
    site, _ = fresh
    seen = []

    def answered() -> bool:
        response = site.get("/api/view/overview")
        seen.append(response.get_json())
        return response.status_code == 200

    wait_for(answered)
    assert all(body.keys() == {"reading"} for body in seen[:-1])
    assert [step["dur_ns"] for step in seen[-1]["steps"]] == [100_000, 150_000, 100_000]


def test_the_shell_learns_of_the_steps(site: Client) -> None:
    body = site.get("/api/trace").get_json()
    assert [step["name"] for step in body["steps"]] == [f"ProfilerStep#{n}" for n in range(3)]
    assert [view["stem"] for view in body["views"]] == [view.stem for view in all_views()]
    assert body["device_type"] == "GPU"
    assert body["digest"] == span_of(site)["digest"]


def test_the_pickers_learn_how_long_a_step_takes(site: Client) -> None:
    steps = span_of(site)["steps"]
    lengths = [one["dur_ns"] for one in site.get("/api/trace").get_json()["steps"]]
    assert (steps["median_ns"], steps["count"]) == (sorted(lengths)[1], 3)
    assert steps["script"] == ""  # this file does not tell


def test_every_view_answers_or_says_why_not(site: Client) -> None:
    reasons = {
        view["stem"]: view["unavailable"] for view in site.get("/api/trace").get_json()["views"]
    }
    assert (
        sum(reason is None for reason in reasons.values())
        >= sum(view.among is None for view in all_views()) - 2
    )
    del reasons["diff"]  # it asks which recording is the base
    for stem, reason in reasons.items():
        if reason is None:
            assert answer(site, f"/api/view/{stem}").status_code == 200
        else:
            refused = answer(site, f"/api/view/{stem}")
            assert (refused.status_code, refused.get_json()["error"]["message"]) == (409, reason)


def answer(site: Client, address: str, **query: str) -> TestResponse:
    """What an address answers in the end; what it needs may be prepared first."""

    kept: list[TestResponse] = []

    def is_final() -> bool:
        kept[:] = [site.get(address, query_string=query or None)]
        return kept[0].status_code != 202

    wait_for(is_final)
    return kept[0]


def test_the_parts_of_the_trace_view_answer(site: Client) -> None:
    view = "/api/view/timeline"
    manifest = answer(site, view).get_json()
    window = f"start_ns=0&end_ns={manifest['end_ns']}"
    for part in (
        "names",
        "tiles?level=9&tiles=0-1&blocks=0.0",
        "minimap?columns=64",
        "slice?slice=0",
        "move?slice=0&by=lane",
        "search?text=step",
        "hit?text=step",
        f"area?{window}",
        f"flame?{window}",
        f"rows?{window}",
        "flows?slice=0",
        f"bundles?{window}",
        f"export?{window}",
    ):
        response = answer(site, f"{view}/{part}")
        assert response.status_code == 200, f"{part}: {response.text}"
    assert answer(site, f"{view}/tiles?level=9&tiles=0&blocks=99.0").status_code == 400
    assert answer(site, f"{view}/slice?slice=99999").status_code == 404


def test_a_step_that_is_not_there_is_a_bad_query(site: Client) -> None:
    response = answer(site, "/api/view/overview", steps="99")
    assert response.status_code == 400
    assert response.get_json()["error"]["kind"] == "bad_query"


def test_a_file_that_is_no_trace_is_listed_with_the_reason(site: Client) -> None:
    files = site.get("/api/catalog").get_json()["files"]
    (page,) = [file for file in files if file["path"] == "page.trace.json"]
    assert (page["state"], page["verdict"]) == ("refused", "not a trace")
    assert page["reason"]


def test_a_replaced_file_is_another_digest(fresh: tuple[Client, Path]) -> None:
    site, logdir = fresh
    wait_ready(site)
    before = span_of(site)["digest"]
    path = next(logdir.glob("run/*"))
    write_trace(path, scale=2)
    os.utime(path, (OLD + 1, OLD + 1))

    def changed() -> bool:
        site.get("/api/rescan")
        return span_of(site)["digest"] not in {"", before}

    wait_for(changed)
    stale = answer(site, "/api/view/overview", digest=before)
    assert stale.headers["Cache-Control"] == "no-cache"
    assert [step["dur_ns"] for step in stale.get_json()["steps"]] == [200_000, 300_000, 200_000]


def test_a_new_file_appears_after_a_rescan(fresh: tuple[Client, Path]) -> None:
    site, logdir = fresh
    write_old(logdir / "other" / "host_1.pt.trace.json")
    names = [run["name"] for run in site.get("/api/rescan").get_json()["runs"]]
    assert names == ["other", "run"]


def test_retry_names_a_file_of_the_catalog_only(shared: tuple[Client, Path]) -> None:
    site, logdir = shared
    page = {"logdir": str(logdir), "path": "page.trace.json"}
    assert site.get("/api/retry", query_string=page).status_code == 200
    for path in ("../../etc/passwd", "/etc/passwd", "", "\x00"):
        response = site.get("/api/retry", query_string={**page, "path": path})
        assert response.status_code == 404


def test_what_the_catalog_kept_is_found_by_content(
    shared: tuple[Client, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, logdir = shared
    monkeypatch.setenv("KINETOSCOPE_CACHE_DIR", str(logdir.parent / "cache"))
    paths: list[str] = []
    plain = reader.read

    def read(path: str, _: object) -> Trace:
        paths.append(path)
        return plain(path)

    monkeypatch.setattr(reader, "read", read)
    copy = tmp_path / "copy.json.gz"
    copy.write_bytes(next(logdir.glob("run/*")).read_bytes())
    assert FileSession(str(copy)).facts().path == str(copy)
    assert paths == []
    other = str(write_trace(tmp_path / "other.json", op="aten::add"))
    FileSession(other).facts()
    assert paths == [other]
