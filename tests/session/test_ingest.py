"""A logdir is read into the cache once, whoever does the work, and whatever dies meanwhile."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from kinetoscope.analysis.distributed.rank.digest import DIGEST
from kinetoscope.analysis.modules.artifact import MODULES
from kinetoscope.session.catalog import facts_catalog
from kinetoscope.session.ingest import (
    TRIES,
    IngestOutcome,
    IngestTask,
    ingest,
    ingest_file,
    tasks_of,
)
from kinetoscope.store.cache.beside import BESIDE, folders_beside
from kinetoscope.store.cache.location import open_cache
from kinetoscope.store.discovery.walk import resolve
from kinetoscope.trace.model import Trace
from kinetoscope.trace.raw import OnProgress
from kinetoscope.trace.read import read
from tests.store.fakes import QUICK
from tests.views.distributed.drawn_ranks import write_run
from tests.waiting import wait_for
from tests.web.trace_files import write_trace

SPECS = (MODULES,)
RANKS = 4


@pytest.fixture(name="logdir")
def _logdir(tmp_path: Path) -> Path:
    for rank in range(RANKS):
        write_trace(tmp_path / f"log/run/rank{rank}.1.pt.trace.json", op=f"aten::op{rank}")
    return tmp_path / "log"


def traces(logdir: Path) -> list[str]:
    return sorted(str(path) for path in logdir.glob("run/*.json"))


def tasks(logdir: Path, root: Path, **choice: bool) -> list[IngestTask]:
    return tasks_of(traces(logdir), open_cache(str(root)).roots[0], SPECS, **choice)


def stored(root: Path) -> dict[str, bytes]:
    """Every stored file by its place, but for notes and what only tells how long it took."""
    return {
        file.relative_to(root).as_posix(): file.read_bytes()
        for file in sorted((root / "entries").rglob("*"))
        if file.is_file()
    }


def local(workers: int) -> Callable[[], Executor]:
    """Threads: a process takes a second to start, and does the same."""
    return lambda: ThreadPoolExecutor(workers)


def processes(workers: int) -> Callable[[], Executor]:
    return lambda: ProcessPoolExecutor(workers, get_context("spawn"))


def test_every_file_is_stored_and_the_second_run_reads_none(logdir: Path, tmp_path: Path) -> None:
    root = tmp_path / "cache"
    first = ingest(tasks(logdir, root), local(2), 2)
    assert {path: one.state for path, one in first.items()} == dict.fromkeys(traces(logdir), "read")
    before = stored(root)
    assert len({place.split("/")[1] for place in before}) == RANKS
    second = ingest(tasks(logdir, root), local(2), 2)
    assert {one.state for one in second.values()} == {"found"}
    assert stored(root) == before
    assert list((root / "tmp").iterdir()) == []


def test_what_an_interrupted_run_stored_is_not_read_again(logdir: Path, tmp_path: Path) -> None:
    root = tmp_path / "cache"
    for task in tasks(logdir, root)[:2]:
        assert ingest_file(task).state == "read"
    states = [one.state for one in ingest(tasks(logdir, root), local(2), 2).values()]
    assert sorted(states) == ["found"] * 2 + ["read"] * (RANKS - 2)


def dies_once(task: IngestTask) -> IngestOutcome:
    """The first process that takes a rank 3 is killed while it has unfinished files there."""
    mark = Path(task.root) / "died"
    is_third = "rank3" in task.path or "_1003." in task.path
    if is_third and not mark.exists():
        mark.touch()
        (Path(task.root) / "tmp/half").mkdir(parents=True)
        os.kill(os.getpid(), signal.SIGKILL)
    return ingest_file(task)


def test_a_killed_worker_costs_one_more_try(logdir: Path, tmp_path: Path) -> None:
    root, calm = tmp_path / "cache", tmp_path / "calm"
    seen: list[str] = []
    told = ingest(
        tasks(logdir, root), processes(2), 2, lambda one: seen.append(one.path), dies_once
    )
    assert sorted(seen) == traces(logdir), "told once of each"
    # What was stored when the pool broke, and not told yet, is found by the second try.
    assert {one.state for one in told.values()} <= {"read", "found"}
    assert max(one.tries for one in told.values()) == 2
    ingest(tasks(logdir, calm), local(2), 2)
    assert stored(root) == stored(calm)


def always_dies(task: IngestTask) -> IngestOutcome:
    if "rank3" in task.path:
        os.kill(os.getpid(), signal.SIGKILL)
    return ingest_file(task)


def test_a_file_that_kills_its_process_takes_no_other_with_it(logdir: Path, tmp_path: Path) -> None:
    found = ingest(tasks(logdir, tmp_path / "cache"), processes(1), 1, work=always_dies)
    failed = [one for one in found.values() if one.state == "failed"]
    assert [Path(one.path).name for one in failed] == ["rank3.1.pt.trace.json"]
    assert "In 3 tries the process that read it was killed." in failed[0].message
    assert len(found) == RANKS


def fails(task: IngestTask) -> IngestOutcome:
    """As a reader with a fault in it."""
    with pytest.MonkeyPatch.context() as patch:
        if "rank3" in task.path:
            patch.setattr("kinetoscope.session.ingest.with_path", None)
        return ingest_file(task)


def test_an_exception_in_a_process_is_told_as_what_it_is(logdir: Path, tmp_path: Path) -> None:
    """Its type, what it says and where; once, and no advice that is about something else."""
    found = ingest(tasks(logdir, tmp_path / "cache"), processes(1), 1, work=fails)
    (failed,) = [one for one in found.values() if one.state == "failed"]
    assert Path(failed.path).name == "rank3.1.pt.trace.json"
    assert "TypeError: 'NoneType' object is not callable (session/ingest.py:" in failed.message
    assert failed.message.endswith(", in _stored)")
    assert "workers" not in failed.hint
    assert failed.tries == 1
    assert len(found) == RANKS


def test_a_failure_of_the_executor_is_told_as_what_it_is(logdir: Path, tmp_path: Path) -> None:
    def raises(task: IngestTask) -> IngestOutcome:
        raise ValueError(f"lost {Path(task.path).name}")

    found = ingest(tasks(logdir, tmp_path / "cache"), local(1), 1, work=raises)
    assert {one.tries for one in found.values()} == {TRIES}
    for path, one in found.items():
        assert f"ValueError: lost {Path(path).name}" in one.message
        assert one.hint == ""


class BreaksEarly(ThreadPoolExecutor):
    """Takes one task, and is broken when it is given the second one."""

    taken = 0

    def submit(self, *asked: Any, **others: Any) -> Future[Any]:
        self.taken += 1
        if self.taken > 1:
            raise BrokenProcessPool("a process ended")
        return super().submit(*asked, **others)


def test_a_pool_that_breaks_before_a_task_is_handed_over_is_made_anew(
    logdir: Path, tmp_path: Path
) -> None:
    pools: list[Executor] = [BreaksEarly(1)]
    connect = lambda: pools.pop() if pools else ThreadPoolExecutor(1)  # noqa: E731
    found = ingest(tasks(logdir, tmp_path / "cache"), connect, 2)
    assert sorted(found) == traces(logdir)
    assert {one.state for one in found.values()} <= {"read", "found"}
    assert max(one.tries for one in found.values()) == 2


def test_pools_that_are_broken_from_the_start_end_in_an_answer(
    logdir: Path, tmp_path: Path
) -> None:
    def connect() -> Executor:
        pool = BreaksEarly(1)
        pool.taken = 1
        return pool

    found = ingest(tasks(logdir, tmp_path / "cache"), connect, 2)
    assert sorted(found) == traces(logdir)
    assert {(one.state, one.tries) for one in found.values()} == {("failed", TRIES)}


def test_a_file_that_is_no_trace_is_refused_alone(logdir: Path, tmp_path: Path) -> None:
    (logdir / "run/rank9.1.pt.trace.json").write_text("no JSON")
    found = ingest(tasks(logdir, tmp_path / "cache"), local(1), 1)
    assert sorted(one.state for one in found.values()) == ["read"] * RANKS + ["refused"]


# --- a cluster ------------------------------------------------------------------------------------


@pytest.fixture(name="cluster", scope="module")
def _cluster() -> Iterator[Any]:
    """Two workers, each a process of its own."""
    distributed = pytest.importorskip("distributed", reason="dask.distributed is not installed")
    cluster = distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        dashboard_address=None,
        silence_logs=50,
    )
    with cluster, distributed.Client(cluster, set_as_default=False) as client:
        yield client


def test_a_cluster_stores_what_local_processes_do(
    cluster: Any,
    logdir: Path,
    tmp_path: Path,
) -> None:
    roots = tmp_path / "here", tmp_path / "there"
    ingest(tasks(logdir, roots[0]), local(2), 2)
    found = ingest(tasks(logdir, roots[1]), lambda: cluster.get_executor(pure=False, retries=2), 4)
    assert {one.state for one in found.values()} == {"read"}
    assert stored(roots[1]) == stored(roots[0])


def test_a_killed_worker_of_a_cluster_loses_and_doubles_nothing(
    cluster: Any, logdir: Path, tmp_path: Path
) -> None:
    root, calm = tmp_path / "cache", tmp_path / "calm"
    found = ingest(
        tasks(logdir, root),
        lambda: cluster.get_executor(pure=False, retries=2),
        4,
        work=dies_once,
    )
    assert sorted(found) == traces(logdir)
    assert {one.state for one in found.values()} <= {"read", "found"}
    ingest(tasks(logdir, calm), local(2), 2)
    assert stored(root) == stored(calm)


def test_the_command_line_uses_the_cluster_at_an_address(
    cluster: Any, logdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.cli.runs import run

    monkeypatch.setenv("KINETOSCOPE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr("kinetoscope.cli.ingest.ProcessPoolExecutor", None)  # not even started
    told = run("ingest", logdir, "--scheduler", cluster.scheduler.address)
    assert told.exit_code == 0
    assert told.stdout.startswith(f"{RANKS} traces: {RANKS} read.\n")
    again = run("ingest", logdir, "--scheduler", cluster.scheduler.address)
    assert again.stdout.startswith(f"{RANKS} traces: {RANKS} stored before.\n")


MANY = 64


def test_64_ranks_are_digested_alike_by_processes_and_by_a_cluster_that_loses_a_worker(
    cluster: Any, tmp_path: Path
) -> None:
    """Summaries and digests are equal to the byte: none is lost, doubled, or half there."""
    run = write_run(tmp_path / "log/run", MANY, steps=2)
    paths = sorted(str(path) for path in run.glob("*.json"))

    def of(root: Path) -> list[IngestTask]:
        return tasks_of(paths, open_cache(str(root)).roots[0], (DIGEST,))

    here, there = tmp_path / "here", tmp_path / "there"
    ingest(of(here), processes(2), 2)
    seen: list[str] = []
    found = ingest(
        of(there),
        lambda: cluster.get_executor(pure=False, retries=2),
        4,
        lambda one: seen.append(one.path),
        dies_once,
    )
    assert (there / "died").exists()
    assert sorted(seen) == paths, "told once of each"
    assert {one.state for one in found.values()} <= {"read", "found"}
    kept = stored(there)
    assert kept == stored(here)
    assert len({place.split("/")[1] for place in kept}) == MANY
    assert sum("digest" in place for place in kept) >= MANY
    again = ingest(of(there), local(1), 1)
    assert {one.state for one in again.values()} == {"found"}


# --- beside the logdir ----------------------------------------------------------------------------


def test_a_viewer_with_a_cache_of_its_own_reads_no_trace(
    logdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy of the logdir: equal bytes have equal answers, whatever their times."""
    import shutil

    from kinetoscope.session import session

    root = logdir / BESIDE
    ingest(tasks(logdir, root, is_beside=True), local(2), 2)
    elsewhere = tmp_path / "elsewhere"
    shutil.copytree(logdir, elsewhere, copy_function=shutil.copyfile)
    monkeypatch.setenv("KINETOSCOPE_CACHE_DIR", str(tmp_path / "own"))
    monkeypatch.setattr("kinetoscope.trace.read.read", lambda *_: pytest.fail("it read the trace"))
    for path in traces(elsewhere):
        opened = session.FileSession(path)
        assert opened.facts().path == path
        assert opened.artifact(SPECS[0]) is not None


def test_what_is_beside_has_the_read_permissions_of_the_logdir(logdir: Path) -> None:
    logdir.chmod(0o777)
    ingest(tasks(logdir, logdir / BESIDE, is_beside=True), local(1), 1)
    modes = {
        (path.is_dir(), path.stat().st_mode & 0o777)
        for path in (logdir / BESIDE, *(logdir / BESIDE / "entries").rglob("*"))
    }
    assert modes == {(True, 0o755), (False, 0o644)}, "others may read, not write"


def test_a_server_of_the_folder_above_finds_what_lies_in_a_run(
    logdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ingest(tasks(logdir, logdir / "run" / BESIDE, is_beside=True), local(2), 2)
    monkeypatch.setenv("KINETOSCOPE_CACHE_DIR", str(tmp_path / "own"))
    with facts_catalog(resolve([str(logdir)], None), QUICK) as service:
        wait_for(lambda: [one.state for one in service.snapshot().files] == ["ready"] * RANKS)
        assert all(one.from_cache for one in service.snapshot().files)
        for one in service.snapshot().runs[0].workers:
            place = ("run", one.name, one.spans[0].key)
            assert service.stored_artifact(place, SPECS[0]) is not None


def test_a_changed_file_is_not_taken_for_what_was_stored(logdir: Path) -> None:
    root = logdir / BESIDE
    (path, *_) = traces(logdir)
    ingest(tasks(logdir, root, is_beside=True), local(1), 1)
    assert folders_beside(path) == (root,)
    write_trace(Path(path), op="aten::changed")
    os.utime(path, (time.time() - 100, time.time() - 100))
    states = [
        one.state for one in ingest(tasks(logdir, root, is_beside=True), local(1), 1).values()
    ]
    assert sorted(states) == ["found"] * (RANKS - 1) + ["read"]


def reads(path: str, on_progress: OnProgress) -> Trace:
    return read(path, on_progress)


def changes_what_it_reads(path: str, on_progress: OnProgress) -> Trace:
    write_trace(Path(path), op="aten::other")
    return read(path, on_progress)


def test_nothing_is_stored_of_a_file_that_changes_while_it_is_read(
    logdir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = tasks(logdir, tmp_path / "cache")[0]
    module = "kinetoscope.session.ingest.READER"
    monkeypatch.setattr(module, f"{__name__}:reads")
    assert ingest_file(replace(task, artifacts=())).state == "read"
    before = stored(Path(task.root))
    # The summary is there, of the file as it was: what is made now may not lie beside it.
    monkeypatch.setattr(module, f"{__name__}:changes_what_it_reads")
    outcome = ingest_file(task)
    assert (outcome.state, outcome.message) == ("failed", "It changed while it was read.")
    assert stored(Path(task.root)) == before
