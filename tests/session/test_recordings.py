"""A view over several traces: it finds the other workers of the run, and any other by its place.

log/run/  0.json  rank 0, three steps          log/other/  0.json  twice as long
          1.json  rank 1, three steps
          2.json  is no trace, and no worker
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kinetoscope.analysis.facts import Facts
from kinetoscope.base.artifact_spec import ArtifactSpec
from kinetoscope.base.errors import NotFoundError, UnavailableError
from kinetoscope.session.catalog import facts_catalog
from kinetoscope.session.session import FileSession, Wanted, choose
from kinetoscope.store.discovery.walk import resolve
from kinetoscope.views.view import Recordings, Subject, TracePlace, View
from kinetoscope.web.app import create_app
from tests.waiting import wait_for
from tests.web.trace_files import write_trace

ROWS = ArtifactSpec(
    "rows", "tests.session.test_session:make_rows", lambda folder: (folder / "rows").read_text()
)


class Several(msgspec.Struct, frozen=True):
    """What a view over several traces finds."""

    workers: tuple[tuple[str, int | None, str], ...]  # name, rank, problem
    rows: dict[str, str]  # worker → artifact
    waiting: tuple[str, ...]
    problems: dict[str, str]
    other_ns: int  # of the trace at another place


class SeveralQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``other``: run of the trace to compare with."""

    other: str = ""


def build(subject: Subject, query: SeveralQuery) -> Several:
    beside = subject.recordings
    assert beside.own is not None
    workers = beside.workers()
    found = beside.gather([one.place for one in workers if not one.problem])
    other = beside.subject(TracePlace(query.other or beside.own.run, "0", beside.own.span))
    return Several(
        tuple((one.place.worker, one.rank, one.problem) for one in workers),
        {place.worker: rows for place, rows in found.opened.items()},
        tuple(place.worker for place in found.waiting),
        {place.worker: problem for place, problem in found.problems.items()},
        other.facts.duration_ns,
    )


def several_only(_: Facts, beside: Recordings) -> str | None:
    return None if len(beside.workers()) > 1 else "This run has one worker."


VIEW = View(
    stem="several",
    title="Several",
    key="s",
    question="What do the workers of this run hold?",
    query=SeveralQuery,
    answer=Several,
    build=build,
    tables=lambda _: (),
    unavailable=lambda _: None,
    artifact=ROWS,
    among=several_only,
)


@pytest.fixture(name="log")
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KINETOSCOPE_CACHE_DIR", str(tmp_path / "cache"))
    log = tmp_path / "log"
    for rank in (0, 1):
        _trace_of_rank(log / "run" / f"{rank}.pt.trace.json", rank)
    (log / "run" / "2.pt.trace.json").write_text('{"a": 1}')
    write_trace(log / "other" / "0.pt.trace.json", scale=2)
    return log


def _trace_of_rank(path: Path, rank: int) -> None:
    write_trace(path)
    document = json.loads(path.read_text())
    document["distributedInfo"] = {"backend": "gloo", "rank": rank, "world_size": 2}
    path.write_text(json.dumps(document))


def test_the_command_line_finds_them_in_the_folder(log: Path) -> None:
    session = choose(str(log), Wanted(run="run")).session()
    found = build(session.subject(VIEW), SeveralQuery("other"))
    assert found.workers == (("0", None, ""), ("1", None, ""), ("2", None, ""))
    assert found.problems.keys() == {"2"}  # known once it was tried
    assert found.rows == {"0": "9", "1": "9"}
    assert found.other_ns == 2 * session.facts().duration_ns


def test_what_is_stored_of_others_is_opened_and_nothing_is_made_of_the_rest(log: Path) -> None:
    session = choose(str(log), Wanted(run="run")).session()
    beside: Any = session.subject(VIEW).recordings
    places = [one.place for one in beside.workers()]
    assert beside.stored(places, ROWS) == {}
    assert beside.artifact(places[1], ROWS) == "9"
    assert beside.stored(places, ROWS) == {places[1]: "9"}
    ready = beside.ready(places, ROWS, read=False)
    assert (ready.opened, ready.waiting) == ({places[1]: "9"}, [places[0], places[2]])
    assert beside.ready(places, ROWS, read=True).opened.keys() == {places[0], places[1]}
    elsewhere = msgspec.structs.replace(beside, is_read_here=False)  # it asks and does not wait
    assert elsewhere.ready(places, ROWS, read=False).problems.keys() == {places[2]}
    with pytest.raises(NotFoundError):
        beside.artifact(TracePlace("run", "nobody", "default"), ROWS)


def test_a_file_alone_has_none_beside_it(log: Path) -> None:
    session = FileSession(str(log / "run" / "0.pt.trace.json"))
    assert session.unavailable(VIEW) == "This run has one worker."
    with pytest.raises(UnavailableError):
        session.asked(VIEW)
    beside = session.recordings(VIEW)
    place = TracePlace("run", "1", "default")
    assert beside.own is None
    assert beside.gather([place]).problems == {place: "There is one file only."}
    with pytest.raises(NotFoundError, match="run/1/default"):
        beside.subject(place)


def test_the_server_answers_anew_as_soon_as_more_is_there(log: Path) -> None:
    from werkzeug.test import Client

    def asked(run: str) -> Any:
        answer = site.get("/api/view/several", query_string={"run": run, "other": "other"})
        assert "immutable" not in answer.headers.get("Cache-Control", "")
        return answer

    def whole() -> bool:
        """Both ranks are read, and what is wrong with the third file is known."""
        answer = asked("run")
        if answer.status_code != 200 or answer.get_json()["waiting"]:
            return False
        return bool(answer.get_json()["workers"][2][2])

    place = TracePlace("run", "0", "default")
    with facts_catalog(resolve(str(log), None)) as catalog:
        assert catalog.stored_artifact(place, ROWS) is None
        site = Client(create_app(catalog, (VIEW,), "standalone"))
        wait_for(whole)
        found = asked("run").get_json()
        assert found["rows"] == {"0": "9", "1": "9"}
        assert catalog.stored_artifact(place, ROWS) == "9"
        alone = asked("other")
        assert (alone.status_code, alone.get_json()["error"]["message"]) == (
            409,
            "This run has one worker.",
        )
