"""A catalog over a folder that lives: files appear, grow, are replaced and go."""

from __future__ import annotations

import gzip
import os
import shutil
import time
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from kinetoscope.base.errors import NotFoundError, TraceFormatError, UnavailableError
from kinetoscope.store.cache.disk import Cache, entry
from kinetoscope.store.catalog import BeingRead, CatalogService, Timing
from kinetoscope.store.contract import SpanInfo
from kinetoscope.store.discovery.walk import resolve
from kinetoscope.store.ingest.pool import PoolLimits
from kinetoscope.trace.model import Trace
from tests.store.conftest import CacheAt, Serve, needs_permissions
from tests.store.fakes import (
    QUICK,
    READ,
    SUMMARIZE,
    FakeFacts,
    states,
    trace_text,
    write_trace,
)
from tests.waiting import wait_for

RULE = "w0.1700000000000.pt.trace.json"
PATIENT = replace(QUICK, patience=replace(QUICK.patience, incomplete=1e9, longest=1e9))
"""A file whose end is missing is waited for, however busy the machine is."""


def tree(service: CatalogService[FakeFacts]) -> dict[str, dict[str, list[str]]]:
    return {
        run.name: {worker.name: [span.key for span in worker.spans] for worker in run.workers}
        for run in service.snapshot().runs
    }


def span_of(service: CatalogService[FakeFacts], name: str) -> SpanInfo:
    """The first span of the first worker of a run, as the page is told."""
    return next(run.workers[0].spans[0] for run in service.snapshot().runs if run.name == name)


def events_of(service: CatalogService[FakeFacts], run: str = "run") -> int:
    return service.summary(service.locate(run, None, None)).events


def test_runs_workers_spans(logdir: Path, serve: Serve) -> None:
    write_trace(logdir / "w.pt.trace.json")
    for worker in ("w0", "w10", "w2"):
        for stamp in (1_700_000_000_000, 1_700_000_090_000, 1_700_000_100_000):
            write_trace(logdir / "train" / f"{worker}.{stamp}.pt.trace.json.gz")
    write_trace(logdir / "deep/er/rank-1.json.gz", rank=7)
    write_trace(logdir / "deep/er/rank-0.json.gz")
    (logdir / "train" / "events.out.tfevents.1.host").write_bytes(b"x")
    service = serve()
    assert service.wait_first_look(10)
    three = ["1", "2", "3"]
    wait_for(lambda: list(states(service).values()) == ["ready"] * 12)
    assert tree(service) == {
        "deep/er": {"rank-0": ["default"], "rank-1": ["default"]},
        "logs": {"w": ["default"]},
        "train": {"w0": three, "w2": three, "w10": three},
    }
    ranks = {w.name: w.rank for r in service.snapshot().runs for w in r.workers}
    assert (ranks["rank-0"], ranks["rank-1"], ranks["w0"]) == (0, 7, None)
    assert service.snapshot().files_total == 12


def test_an_answer_by_names_and_by_default(logdir: Path, serve: Serve) -> None:
    old = write_trace(logdir / "old" / RULE, events=1)
    write_trace(logdir / "new" / RULE, events=2)
    write_trace(logdir / "new" / RULE.replace("17", "18"), events=3)
    os.utime(old, (1, 1))
    service = serve()
    wait_for(lambda: list(states(service).values()) == ["ready"] * 3)
    for names, events in ((("old", "w0", "1"), 1), (("new", "w0", "1"), 2), ((None,) * 3, 3)):
        entry_ = service.locate(*names)
        assert service.summary(entry_).events == events
        trace = trace_of(service, *names)
        assert len(trace.host) == events
        assert trace.path == service.summary(entry_).path == entry_.path
    assert span_of(service, "old").digest == service.locate("old", "w0", "1").digest


def trace_of(service: CatalogService[FakeFacts], *names: str | None) -> Trace:
    """The columns, as soon as they are there."""

    def once() -> list[Trace]:
        try:
            return [service.trace(service.locate(*(names or (None, None, None))))]
        except BeingRead:
            return []

    return wait_for(once)[0]


def test_names_that_are_not_there(logdir: Path, serve: Serve) -> None:
    service = serve()
    service.wait_first_look(10)
    with pytest.raises(NotFoundError, match="no trace in"):
        service.locate(None, None, None)
    write_trace(logdir / "resnet" / RULE)
    wait_for(lambda: tree(service))
    for names, hint in (
        (("resnte", None, None), "resnet"),
        (("resnet", "w1", None), "w0"),
        (("resnet", "w0", "9"), "1"),
    ):
        with pytest.raises(NotFoundError) as error:
            service.locate(*names)
        assert hint in error.value.hint


# --- a folder that lives --------------------------------------------------------------------------


def test_a_trace_appears_in_a_known_run(logdir: Path, serve: Serve) -> None:
    write_trace(logdir / "run" / "a.json")
    service = serve()
    wait_for(lambda: states(service) == {"run/a.json": "ready"})
    version = service.snapshot().version
    write_trace(logdir / "run" / "b.json")
    wait_for(lambda: states(service).get("run/b.json") == "ready")
    assert tree(service) == {"run": {"a": ["default"], "b": ["default"]}}
    assert service.snapshot().version != version


def test_a_half_written_file_is_waited_for(logdir: Path, serve: Serve) -> None:
    (logdir / "run").mkdir()
    text = trace_text(events=100)
    path = logdir / "run" / RULE
    path.write_text(text[:1000])
    service = serve(timing=PATIENT)
    wait_for(lambda: states(service) == {f"run/{RULE}": "waiting"} and bool(tree(service)))
    with pytest.raises(BeingRead, match="in the middle"):
        service.locate("run", "w0", "1")
    for end in (2000, 3000, len(text)):
        time.sleep(0.1)
        path.write_text(text[:end])
    wait_for(lambda: states(service) == {f"run/{RULE}": "ready"})
    assert events_of(service) == 100


def test_a_file_that_stays_half_is_read_as_it_is(logdir: Path, serve: Serve) -> None:
    (logdir / "run").mkdir()
    path = logdir / "run" / RULE
    path.write_text(trace_text(events=100)[:2000])
    service = serve()
    wait_for(lambda: states(service) == {f"run/{RULE}": "ready"})
    (file,) = service.snapshot().files
    assert file.verdict == "truncated"
    assert file.reason == "Cut short. The end is missing."
    assert 10 < events_of(service) < 100
    path.write_text(trace_text(events=100))
    wait_for(lambda: service.snapshot().files[0].verdict == "in use")
    assert events_of(service) == 100


def test_a_file_that_never_rests_is_read_as_it_is_now_and_then(logdir: Path, serve: Serve) -> None:
    path = logdir / "run" / RULE
    path.parent.mkdir()
    path.write_text(trace_text(events=20)[:500])
    service = serve()

    def grow() -> str:
        with path.open("a") as file:
            file.write(' {"ph": "X"},')
        return service.snapshot().files[0].verdict if service.snapshot().files else ""

    wait_for(lambda: grow() == "truncated")
    first = events_of(service)
    wait_for(lambda: grow() == "truncated" and events_of(service) > first)


def test_temporary_names_are_shown_and_never_read(logdir: Path, serve: Serve) -> None:
    temporary = write_trace(logdir / "run" / f".{RULE}.a1b2.tmp")
    service = serve()
    wait_for(lambda: list(states(service).values()) == ["waiting"])
    time.sleep(0.5)
    (file,) = service.snapshot().files
    assert (file.state, file.run) == ("waiting", None)
    assert "final name" in file.reason
    temporary.rename(logdir / "run" / RULE)
    wait_for(lambda: states(service) == {f"run/{RULE}": "ready"})


def test_a_replaced_file_is_read_again_and_the_old_answer_stays(
    logdir: Path, serve: Serve, tmp_path: Path
) -> None:
    path = write_trace(logdir / "run" / RULE, events=1)
    service = serve()
    wait_for(lambda: states(service) == {f"run/{RULE}": "ready"})
    first = service.locate("run", "w0", "1")
    started = tmp_path / "started"
    go = tmp_path / "go"
    other = write_trace(tmp_path / "other", events=2, started=str(started), wait=str(go))
    os.replace(other, path)
    wait_for(started.exists)
    wait_for(lambda: span_of(service, "run").progress)
    during = span_of(service, "run")
    assert (during.state, during.digest) == ("ready", first.digest)
    assert events_of(service) == 1
    go.touch()
    wait_for(lambda: service.locate("run", "w0", "1").digest != first.digest)
    assert events_of(service) == 2
    assert service.summary(first).events == 1  # who holds the old key gets the old answer


def test_a_file_replaced_by_something_else(logdir: Path, serve: Serve) -> None:
    path = write_trace(logdir / "run" / "a.json")
    service = serve()
    wait_for(lambda: states(service) == {"run/a.json": "ready"})
    path.write_text("<!doctype html><title>404</title>")
    wait_for(lambda: states(service) == {"run/a.json": "refused"})
    assert tree(service) == {}


def test_a_touched_file_keeps_its_key(logdir: Path, serve: Serve) -> None:
    path = write_trace(logdir / "run" / RULE)
    service = serve()
    wait_for(lambda: states(service) == {f"run/{RULE}": "ready"})
    digest = service.locate("run", "w0", "1").digest
    os.utime(path, (5, 5))
    wait_for(lambda: service.snapshot().files[0].from_cache)
    assert service.locate("run", "w0", "1").digest == digest


def test_a_trace_is_read_again_once_its_record_of_compilations_is_there(
    logdir: Path, serve: Serve
) -> None:
    path = write_trace(logdir / "run" / RULE)
    service = serve()
    wait_for(lambda: states(service) == {f"run/{RULE}": "ready"})
    first = service.locate("run", "w0", "1").digest
    record = path.with_name("w0.1700000000000.compile.json.gz")
    record.write_bytes(b"as it is")
    wait_for(lambda: service.locate("run", "w0", "1").digest != first)
    second = service.locate("run", "w0", "1").digest
    record.write_bytes(b"as it is now")
    wait_for(lambda: service.locate("run", "w0", "1").digest not in (first, second))
    assert states(service) == {f"run/{RULE}": "ready"}
    record.unlink()
    wait_for(lambda: service.locate("run", "w0", "1").digest == first)


def test_deleted_files_and_runs_go(logdir: Path, serve: Serve) -> None:
    write_trace(logdir / "a" / RULE)
    write_trace(logdir / "b" / RULE)
    write_trace(logdir / "b" / "other.json", events=9)
    service = serve()
    wait_for(lambda: list(states(service).values()) == ["ready"] * 3)
    held = service.locate("b", "w0", "1")
    shutil.rmtree(logdir / "a")
    (logdir / "b" / RULE).unlink()
    wait_for(lambda: tree(service) == {"b": {"other": ["default"]}})
    assert service.snapshot().files_total == 1
    with pytest.raises(NotFoundError):
        service.locate("a", None, None)
    assert service.summary(held).events == 1


def test_a_logdir_that_appears_later(tmp_path: Path, serve: Serve) -> None:
    service = serve(tmp_path / "later")
    assert service.wait_first_look(10)
    (problem,) = service.snapshot().problems
    assert problem.kind == "logdir_missing"
    write_trace(tmp_path / "later" / "run" / RULE)
    wait_for(lambda: tree(service) == {"run": {"w0": ["1"]}})
    assert service.snapshot().problems == ()


def test_a_quiet_folder_keeps_its_version(logdir: Path, serve: Serve) -> None:
    write_trace(logdir / "run" / RULE)
    service = serve()
    wait_for(lambda: states(service) == {f"run/{RULE}": "ready"})
    wait_for(lambda: service._pool.is_busy is False)
    before = service.rescan()
    after = service.rescan()
    assert after.version == before.version
    assert after.looked > before.looked


# --- what is no trace -----------------------------------------------------------------------------


def test_each_file_is_listed_with_a_verdict(logdir: Path, serve: Serve) -> None:
    (logdir / "run").mkdir()
    write_trace(logdir / "run" / "good.json")
    for name, content in {
        "config.json": b'{"lr": 0.1}',
        "page.json": b"<html>",
        "empty.json": b"",
        "pointer.pt.trace.json.gz": gzip.compress(b"version https://git-lfs.github.com/spec/v1\n"),
        "capture.gz": gzip.compress(b"nothing"),
        "events.out.tfevents.1": b"x",
    }.items():
        (logdir / "run" / name).write_bytes(content)
    service = serve()
    wait_for(lambda: states(service).get("run/good.json") == "ready")
    wait_for(lambda: not {"waiting", "queued", "reading"} & set(states(service).values()))
    assert [(f.path, f.state, f.verdict) for f in service.snapshot().files] == [
        ("run/config.json", "refused", "not a trace"),
        ("run/empty.json", "refused", "not a trace"),
        ("run/good.json", "ready", "in use"),
        ("run/page.json", "refused", "not a trace"),
        ("run/pointer.pt.trace.json.gz", "refused", "not a trace"),
    ]
    assert tree(service) == {"run": {"good": ["default"], "pointer": ["default"]}}
    with pytest.raises(TraceFormatError) as error:
        service.locate("run", "pointer", None)
    assert error.value.hint


def test_a_lost_file_is_marked_and_can_be_tried_again(logdir: Path, serve: Serve) -> None:
    path = write_trace(logdir / "run" / RULE, then="kill")
    write_trace(logdir / "good.json")
    service = serve()
    wait_for(lambda: set(states(service).values()) == {"failed", "ready"})
    span = span_of(service, "run")
    assert span.error is not None
    assert span.error.kind == "killed"
    with pytest.raises(TraceFormatError, match="SIGKILL"):
        service.locate("run", "w0", "1")
    # The same size and time: only a retry reads it again.
    status = path.stat()
    path.write_text(path.read_text().replace('"kill"', '"well"'))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    time.sleep(0.3)
    assert states(service)[f"run/{RULE}"] == "failed"
    service.retry(str(logdir), f"run/{RULE}")
    wait_for(lambda: states(service)[f"run/{RULE}"] == "ready")
    with pytest.raises(NotFoundError):
        service.retry(str(logdir), "run/../../etc/passwd")


@needs_permissions
def test_an_unreadable_file_is_read_once_it_can_be(logdir: Path, serve: Serve) -> None:
    path = write_trace(logdir / "run" / RULE)
    path.chmod(0)
    service = serve()
    wait_for(lambda: states(service) == {f"run/{RULE}": "failed"})
    path.chmod(0o600)
    wait_for(lambda: states(service) == {f"run/{RULE}": "ready"})


@pytest.mark.skipif(os.name == "nt", reason="needs file names that are bytes")
def test_a_name_that_is_no_text(logdir: Path, serve: Serve) -> None:
    run = os.fsdecode(b"run\xff")
    write_trace(logdir / run / os.fsdecode(b"w\xfe.1700000000000.pt.trace.json"), events=3)
    service = serve()
    wait_for(lambda: list(states(service).values()) == ["ready"])
    assert tree(service) == {r"run\xff": {r"w\xfe": ["1"]}}
    entry_ = service.locate(r"run\xff", r"w\xfe", "1")
    assert run in entry_.path
    assert r"run\xff" in service.summary(entry_).path
    assert len(trace_of(service).host) == 3
    msgspec.json.encode((service.snapshot(), service.summary(entry_)))


# --- several logdirs ------------------------------------------------------------------------------


def test_equal_runs_of_two_logdirs_stay_apart(tmp_path: Path, serve: Serve) -> None:
    for number, name in enumerate("ab", start=1):
        write_trace(tmp_path / name / "run" / RULE, events=number)
    service = serve(tmp_path / "a", tmp_path / "b")
    wait_for(lambda: list(states(service).values()) == ["ready"])  # equal paths in two logdirs
    wait_for(lambda: [f.state for f in service.snapshot().files] == ["ready"] * 2)
    assert tree(service) == {"a/run": {"w0": ["1"]}, "b/run": {"w0": ["1"]}}
    assert (events_of(service, "a/run"), events_of(service, "b/run")) == (1, 2)


def test_the_run_in_the_logdir_itself_and_one_of_its_name(logdir: Path, serve: Serve) -> None:
    write_trace(logdir / RULE)
    write_trace(logdir / "logs" / RULE)
    service = serve()
    wait_for(lambda: tree(service) == {".": {"w0": ["1"]}, "logs": {"w0": ["1"]}})


def test_a_remote_logdir_without_its_library_is_a_problem_only(
    logdir: Path, cache: Cache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kinetoscope.handlers.remote_address._is_installed", lambda _: False)
    write_trace(logdir / "run" / RULE)
    logdirs = resolve(None, f"far:s3://bucket/x,near:{logdir}")
    with CatalogService(
        logdirs, summarize=SUMMARIZE, summary_type=FakeFacts, read=READ, cache=cache
    ) as service:
        assert service.wait_first_look(10)
        assert [p.kind for p in service.snapshot().problems] == ["remote_extra"]
        assert list(tree(service)) == ["near/run"]


# --- amounts --------------------------------------------------------------------------------------


def test_only_the_newest_are_read_in_advance(
    logdir: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kinetoscope.store.catalog_state.EAGER_SPANS", 3)
    for number in range(6):
        path = write_trace(logdir / "run" / f"w{number}.pt.trace.json", events=number)
        os.utime(path, (1000 + number, 1000 + number))
    service = serve()
    newest = [f"run/w{number}.pt.trace.json" for number in (3, 4, 5)]
    wait_for(lambda: [p for p, s in states(service).items() if s == "ready"] == newest)
    time.sleep(0.3)
    assert [p for p, s in states(service).items() if s == "ready"] == newest
    older = next(f for f in service.snapshot().files if f.state == "queued")
    assert "when it is opened" in older.reason
    with pytest.raises(BeingRead) as error:
        service.locate("run", "w0", "default")
    assert error.value.progress.bytes_total > 0
    assert error.value.progress.file == "run/w0.pt.trace.json"
    wait_for(lambda: states(service)["run/w0.pt.trace.json"] == "ready")


def test_two_thousand_files(logdir: Path, serve: Serve) -> None:
    """Found in one look, read a few, listed in part, and counted whole."""
    for number in range(2100):
        folder = logdir / f"run{number % 50}"
        folder.mkdir(exist_ok=True)
        (folder / f"w{number}.json").write_text('{"traceEvents": []}')
        os.utime(folder / f"w{number}.json", (1000, 1000))
    service = serve(limits=PoolLimits(1), timing=Timing())
    assert service.wait_first_look(60)
    catalog = service.snapshot()
    assert (len(catalog.runs), catalog.files_total, len(catalog.files)) == (50, 2100, 2000)
    assert not catalog.scanning
    service.close()


# --- the cache ------------------------------------------------------------------------------------


def test_the_next_server_reads_nothing(logdir: Path, serve: Serve) -> None:
    write_trace(logdir / "run" / RULE, events=3)
    first = serve()
    wait_for(lambda: states(first) == {f"run/{RULE}": "ready"})
    trace_of(first)
    first.close()
    second = serve()
    wait_for(lambda: states(second) == {f"run/{RULE}": "ready"})
    (file,) = second.snapshot().files
    assert file.from_cache
    assert events_of(second) == 3


@pytest.mark.parametrize("what", ["summary.json", "columns/host.plain", ""])
def test_a_damaged_answer_is_read_again(
    logdir: Path, serve: Serve, cache: Cache, what: str
) -> None:
    write_trace(logdir / "run" / RULE, events=3)
    first = serve()
    wait_for(lambda: states(first) == {f"run/{RULE}": "ready"})
    digest = first.locate(None, None, None).digest
    wait_for(lambda: cache.has_columns(digest))
    first.close()
    second = serve()
    wait_for(lambda: states(second) == {f"run/{RULE}": "ready"})
    wait_for(lambda: not second._pool.is_busy)
    if what:
        os.truncate(entry(cache.roots[0], digest) / what, 10)
    else:
        shutil.rmtree(entry(cache.roots[0], digest))
    cache.load_summary(digest, "/p")  # drops a damaged one
    assert len(trace_of(second).host) == 3
    wait_for(lambda: "was read again" in second.snapshot().files[0].reason)


def test_without_a_cache_folder_everything_works_and_says_so(
    logdir: Path, serve: Serve, tmp_path: Path, cache_at: CacheAt
) -> None:
    (tmp_path / "c").write_text("in the way")
    write_trace(logdir / "run" / RULE, events=3)
    service = serve(cache=cache_at(tmp_path / "c"))
    wait_for(lambda: states(service) == {f"run/{RULE}": "ready"})
    (problem,) = service.snapshot().problems
    assert problem.kind == "cache_unusable"
    assert "kept for this session only" in problem.message
    assert len(trace_of(service).host) == 3


def test_where_nothing_can_be_written_the_summary_stays_in_memory(
    logdir: Path, serve: Serve, tmp_path: Path
) -> None:
    (tmp_path / "c").write_text("in the way")
    nowhere = Cache((tmp_path / "c" / "d",), 1 << 30)
    write_trace(logdir / "run" / RULE, events=3)
    service = serve(cache=nowhere)
    wait_for(lambda: states(service) == {f"run/{RULE}": "ready"})
    wait_for(lambda: "could not be kept" in service.snapshot().files[0].reason)
    wait_for(lambda: not service._pool.is_busy)
    assert events_of(service) == 3
    with pytest.raises(UnavailableError, match="could not be kept"):
        service.trace(service.locate(None, None, None))  # a server reads no trace itself


def test_closing_twice_and_without_starting(cache: Cache) -> None:
    service = CatalogService((), summarize=SUMMARIZE, summary_type=FakeFacts, cache=cache)
    assert service.snapshot().runs == ()
    service.close()
    service.close()
