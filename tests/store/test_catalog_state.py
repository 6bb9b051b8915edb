"""What each event makes of the records, and what the pool is to do: state, event → state, commands.

The file of all tables is ``a.json`` of the first logdir; a row shows what of its record changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from kinetoscope.store import catalog_state
from kinetoscope.store.cache.disk import StoredSummary
from kinetoscope.store.catalog_state import (
    ArtifactAsked,
    ArtifactFound,
    Asked,
    Attempt,
    CatalogState,
    ColumnsLost,
    ColumnsRead,
    Decided,
    Judged,
    Looked,
    MakingState,
    ReadResult,
    Record,
    Retried,
    Seen,
)
from kinetoscope.store.contract import ErrorInfo
from kinetoscope.store.discovery.walk import FileVersion, FoundFile, Key, Outcome
from kinetoscope.store.ingest.events import (
    Answered,
    Cancel,
    Kept,
    Lost,
    Made,
    MakeRequest,
    Promote,
    Request,
    Restless,
    Submit,
    SummaryOnly,
    Unmade,
)
from kinetoscope.trace.health_record import HealthRecord
from tests.store.fakes import FakeFacts

KEY: Key = (0, "a.json")
OLD, NEW = FileVersion(100, 1), FileVersion(100, 2)
BROKEN = ErrorInfo("broken", "It is broken.")
WAITING, LAZY, QUEUED = Attempt.WAITING, Attempt.LAZY, Attempt.QUEUED
DONE, FAILED, REFUSED, LOCKED = Attempt.DONE, Attempt.FAILED, Attempt.REFUSED, Attempt.LOCKED


def found(version: FileVersion = OLD, path: str = KEY[1]) -> FoundFile:
    return FoundFile(path, f"/logs/{path}", version, unfinished=False)


def record(attempt: Attempt = WAITING, **values: Any) -> Record:
    return replace(Record.of(KEY, found(), 0.0), attempt=attempt, **values)


def result(**values: Any) -> ReadResult:
    """A file that was read, and whose columns are stored."""
    known: dict[str, Any] = {
        "digest": "d",
        "identity": OLD,
        "events": 3,
        "seconds": 1.0,
        "from_cache": False,
        "rank": None,
        "truncated": "",
        "steps": None,
        "note": "",
        "columns": True,
    }
    return ReadResult(**known | values)


def of(*records: Record) -> CatalogState:
    return CatalogState({one.key: one for one in records})


def request(version: FileVersion = OLD, *, as_is: bool = False, columns: bool = False) -> Request:
    return Request(KEY, "/logs/a.json", version, -version.modified_ns, as_is, columns)


def summary(digest: str = "d", note: str = "") -> Answered[FakeFacts]:
    facts = FakeFacts("/logs/a.json", 2, 3, "", HealthRecord(1, 2, 3, 3, {}, 0, 0, ()))
    stored = StoredSummary("/logs/a.json", 100, 3, 1.0, 0, msgspec.Raw(b""))
    return Answered(request(), digest, stored, facts, note=note)


def changes(before: Any, after: Any) -> dict[str, Any]:
    """The fields that differ, of an answer as ``answer.<field>``."""
    found: dict[str, Any] = {}
    for field in after.__struct_fields__:
        old, new = getattr(before, field), getattr(after, field)
        if old == new:
            continue
        if isinstance(old, ReadResult) and isinstance(new, ReadResult):
            found |= {f"answer.{name}": value for name, value in changes(old, new).items()}
        else:
            found[field] = new
    return found


def check(
    before: Record, event: Any, changed: Mapping[str, Any], commands: Sequence[object]
) -> CatalogState:
    """One row of a table: the state before is what it was, too."""
    state = of(before)
    kept = of(before)
    after, told = state.apply(event)
    assert changes(before, after.records[KEY]) == dict(changed)
    assert list(told) == list(commands)
    assert state == kept
    return after


# --- from the poller ------------------------------------------------------------------------------


def test_a_file_is_new_then_known_then_changed_then_gone() -> None:
    first, commands = CatalogState().apply(Seen([(KEY, found())], 0.0))
    assert (list(first.records), list(commands)) == ([KEY], [])
    assert first.records[KEY] == record()
    again, commands = first.apply(Seen([(KEY, found())], 1.0))
    assert (again is first, list(commands)) == (True, [])
    changed, commands = again.apply(Seen([(KEY, found(NEW))], 2.0))
    assert changed.records[KEY].found == found(NEW)
    assert list(commands) == [Cancel(KEY)]
    gone, commands = changed.apply(Looked(Outcome()))
    assert (dict(gone.records), list(commands)) == ({}, [Cancel(KEY)])


@pytest.mark.parametrize(
    ("before", "changed", "commands"),
    [
        (record(WAITING), {"found", "watch"}, [Cancel(KEY)]),
        (record(DONE, answer=result()), {"found", "watch", "attempt"}, [Cancel(KEY)]),
        (record(FAILED, error=BROKEN), {"found", "watch", "attempt", "error"}, [Cancel(KEY)]),
        (record(QUEUED), {"found", "watch", "attempt"}, [Cancel(KEY)]),
        (record(QUEUED, as_is=True), set(), []),
    ],
    ids=["waiting", "read", "failed", "queued", "read although it changes"],
)
def test_a_file_changed(before: Record, changed: set[str], commands: list[object]) -> None:
    after, told = of(before).apply(Seen([(KEY, found(NEW))], 5.0))
    assert set(changes(before, after.records[KEY])) == changed
    assert list(told) == commands
    assert not changed or after.records[KEY].attempt is WAITING
    assert after.records[KEY].answer == before.answer  # shown until there is a newer one


def test_below_a_folder_that_cannot_be_listed_all_stays() -> None:
    problem = ErrorInfo("folder_unreadable", "run: the folder cannot be read.")
    inside = replace(record(), key=(0, "run/b.json"))
    outcome = Outcome(problems=[problem], kept=[(0, "run")])
    after, commands = of(record(), inside).apply(Looked(outcome))
    assert list(after.records) == [(0, "run/b.json")]
    assert (after.problems, list(commands)) == ((problem,), [Cancel(KEY)])


@pytest.mark.parametrize(
    ("before", "judged", "changed", "commands"),
    [
        (record(), Judged(WAITING, "It grows."), {"reason": "It grows."}, []),
        (
            record(reason=""),
            Judged(LAZY, accepted=True),
            {"attempt": QUEUED, "accepted": True},
            [Submit(request())],
        ),
        (
            record(reason=""),
            Judged(LAZY, accepted=True, as_is=True),
            {"attempt": QUEUED, "accepted": True, "as_is": True},
            [Submit(request(as_is=True))],
        ),
        (
            record(reason=""),
            Judged(REFUSED, error=BROKEN),
            {"attempt": REFUSED, "error": BROKEN},
            [],
        ),
        (record(LOCKED, reason=""), Judged(LOCKED, error=BROKEN), {"error": BROKEN}, []),
        (record(QUEUED), Judged(REFUSED, error=BROKEN), {}, []),  # read meanwhile
    ],
    ids=["waits", "a trace", "a trace that never rests", "no trace", "locked", "too late"],
)
def test_a_file_was_judged(
    before: Record, judged: Judged, changed: Mapping[str, Any], commands: list[object]
) -> None:
    check(before, Decided({KEY: judged}), changed, commands)


def test_only_the_newest_are_read_in_advance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog_state, "EAGER_SPANS", 2)
    records = [
        replace(
            record(LAZY, accepted=True),
            key=(0, f"{number}.json"),
            found=found(FileVersion(1, number), f"{number}.json"),
        )
        for number in range(4)
    ]
    after, commands = of(*records).apply(Decided({}))
    assert [one.attempt for one in after.records.values()] == [LAZY, LAZY, QUEUED, QUEUED]
    assert [(one.request.key[1], one.urgent) for one in commands if isinstance(one, Submit)] == [
        ("3.json", False),
        ("2.json", False),
    ]
    monkeypatch.setattr(catalog_state, "EAGER_BYTES", 0)
    assert of(*records).apply(Decided({}))[1] == []


# --- from the pool --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "event", "changed"),
    [
        (
            record(QUEUED),
            summary(note="no room"),
            {
                "accepted": True,
                "answer": result(
                    rank=2,
                    columns=False,
                    note="Not everything could be kept in the cache: no room.",
                ),
            },
        ),
        (  # the same content again: its columns are still there
            record(QUEUED, accepted=True, answer=result(rank=2, note="n", rereads=1)),
            summary(),
            {},
        ),
        (
            record(QUEUED, accepted=True, answer=result(rank=2, digest="other", rereads=1)),
            summary(),
            {"answer.digest": "d", "answer.columns": False, "answer.rereads": 0},
        ),
        (
            record(QUEUED, answer=result(columns=False)),
            Kept(request()),
            {"attempt": DONE, "answer.columns": True},
        ),
        (
            record(QUEUED, answer=result(columns=False)),
            SummaryOnly(request()),
            {"attempt": LAZY},
        ),
        (
            record(QUEUED, answer=result(columns=False)),
            Kept(request(), missing="The disk is full."),
            {"attempt": DONE, "answer.missing": "The disk is full."},
        ),
        (record(QUEUED), Restless(request()), {"attempt": WAITING}),
        (
            record(QUEUED),
            Lost(request(), BROKEN, refused=True),
            {"attempt": REFUSED, "error": BROKEN},
        ),
        (
            record(QUEUED, answer=result(identity=NEW)),
            Lost(request(), BROKEN, refused=False),
            {"attempt": FAILED, "error": BROKEN, "answer": None},
        ),
        (  # the summary is there, only the columns are not
            record(QUEUED, answer=result(columns=False)),
            Lost(request(), BROKEN, refused=False),
            {"attempt": DONE, "answer.missing": "It is broken."},
        ),
        (record(QUEUED), Lost(request(NEW), BROKEN, refused=False), {}),  # of another version
    ],
)
def test_the_pool_reads(before: Record, event: Any, changed: Mapping[str, Any]) -> None:
    check(before, event, changed, [])


def test_of_a_file_that_is_gone_nothing_is_taken() -> None:
    for event in (summary(), Restless(request()), Asked(KEY), ColumnsLost(KEY, "d")):
        assert CatalogState().apply(event) == (CatalogState(), ())


# --- from requests --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "event", "changed", "commands"),
    [
        (record(LAZY), Asked(KEY), {"attempt": QUEUED}, [Submit(request(), urgent=True)]),
        (record(QUEUED), Asked(KEY), {}, [Promote(KEY)]),
        (record(DONE, answer=result()), Asked(KEY), {}, []),
        (record(WAITING), Asked(KEY), {}, []),
        # Of a file whose summary alone is stored, the columns are read when they are asked for.
        (record(LAZY, answer=result(columns=False)), Asked(KEY), {}, []),
        (
            record(LAZY, answer=result(columns=False)),
            Asked(KEY, columns=True),
            {"attempt": QUEUED},
            [Submit(request(columns=True), urgent=True)],
        ),
        (
            record(LAZY, answer=result(identity=NEW)),  # of a version that is no more
            Asked(KEY),
            {"attempt": QUEUED},
            [Submit(request(), urgent=True)],
        ),
        (
            record(FAILED, error=BROKEN),
            Retried([KEY]),
            {"attempt": QUEUED, "error": None},
            [Submit(request(), urgent=True)],
        ),
        (
            record(DONE, answer=result(missing="The disk was full.")),
            Retried([KEY]),
            {"attempt": QUEUED, "answer.missing": ""},
            [Submit(request(columns=True), urgent=True)],
        ),
        (
            record(DONE, answer=result(artifacts={("rows", ""): MakingState(tries=3)})),
            Retried([KEY]),
            {"answer.artifacts": {}},
            [],
        ),
        (
            record(DONE, answer=result()),
            ColumnsLost(KEY, "d"),
            {
                "attempt": QUEUED,
                "answer.columns": False,
                "answer.rereads": 1,
                "answer.note": "The stored copy was damaged or removed, so the file was read"
                " again.",
            },
            [Submit(request(columns=True), urgent=True)],
        ),
        (record(QUEUED, answer=result()), ColumnsLost(KEY, "d"), {}, []),  # being read already
        (record(DONE, answer=result()), ColumnsLost(KEY, "of before"), {}, []),
        (
            record(DONE, answer=result(rereads=2)),
            ColumnsRead(KEY, "d"),
            {"answer.rereads": 0},
            [],
        ),
    ],
)
def test_a_request(
    before: Record, event: Any, changed: Mapping[str, Any], commands: list[object]
) -> None:
    check(before, event, changed, commands)


# --- artifacts ------------------------------------------------------------------------------------

ASKED = ArtifactAsked(KEY, "d", "m:make", "rows", ("", "wide"))
MAKE = MakeRequest(KEY, "/logs/a.json", OLD, "d", 3, "m:make", "rows", ("", "wide"))


def making(**values: Any) -> Mapping[tuple[str, str], MakingState]:
    return {("rows", "wide"): MakingState(**values)}


@pytest.mark.parametrize(
    ("before", "event", "after", "commands"),
    [
        ({}, ASKED, making(is_queued=True, tries=1), [Submit(MAKE, urgent=True)]),
        (making(is_queued=True, tries=1), ASKED, making(is_queued=True, tries=1), []),
        (making(tries=1), ASKED, making(is_queued=True, tries=2), [Submit(MAKE, urgent=True)]),
        (
            making(tries=3),
            ASKED,
            making(tries=3, error=catalog_state._UNREADABLE, cls="UnavailableError"),
            [],
        ),
        (making(tries=1, error=BROKEN), ASKED, making(tries=1, error=BROKEN), []),
        (making(is_queued=True, tries=1), Made(MAKE), making(tries=1), []),
        (
            making(is_queued=True, tries=1),
            Made(MAKE, "no room"),
            making(tries=1, missing="no room"),
            [],
        ),
        (
            making(is_queued=True, tries=1),
            Unmade(MAKE, BROKEN, "UnavailableError"),
            making(tries=1, error=BROKEN, cls="UnavailableError"),
            [],
        ),
        ({}, Made(MAKE), {}, []),  # nobody waits for it any more
        (making(tries=2), ArtifactFound(KEY, "d", "rows", "wide"), {}, []),
    ],
    ids=[
        "asked for",
        "asked for twice",
        "gone, made again",
        "gone too often",
        "failed before",
        "made",
        "made, and kept nowhere",
        "failed",
        "made for nobody",
        "found",
    ],
)
def test_an_artifact(
    before: Mapping[tuple[str, str], MakingState],
    event: Any,
    after: Mapping[tuple[str, str], MakingState],
    commands: list[object],
) -> None:
    changed = {} if before == after else {"answer.artifacts": after}
    check(record(DONE, answer=result(artifacts=before)), event, changed, commands)


@pytest.mark.parametrize(
    ("file", "told", "process"),
    [
        ("run/gpu17_4711.1.pt.trace.json", ("", None), ("gpu17", 4711)),
        ("run/gpu17_4711.1.pt.trace.json", ("gpu18", 12), ("gpu18", 12)),
        ("run/train_50.json", ("", None), ("", None)),  # not named by a handler
    ],
)
def test_node_and_process_by_file_and_name(
    file: str, told: tuple[str, int | None], process: tuple[str, int | None]
) -> None:
    unread = Record.of((0, file), found(path=file), 0.0)
    assert replace(unread, answer=result(process=told)).process == process
    named = unread.process
    assert named == (process if told == ("", None) else ("gpu17", 4711))


def test_an_artifact_of_columns_that_are_gone_has_the_file_read_again() -> None:
    before = record(DONE, answer=result(artifacts=making(is_queued=True, tries=1)))
    after, commands = of(before).apply(Unmade(MAKE, None))
    answer = after.records[KEY].answer
    assert answer is not None
    assert (answer.columns, answer.rereads, answer.artifacts) == (False, 1, making(tries=1))
    assert list(commands) == [Submit(request(columns=True), urgent=True)]
