"""The pool: every file gets an answer or a reason, whatever becomes of its process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from kinetoscope.base.errors import KinetoscopeError
from kinetoscope.store.cache import content_key
from kinetoscope.store.cache.disk import Cache
from kinetoscope.store.discovery.walk import FileVersion, Key
from kinetoscope.store.ingest import resources
from kinetoscope.store.ingest.child import Child
from kinetoscope.store.ingest.events import (
    Answered,
    Cancel,
    Kept,
    Lost,
    PoolEvent,
    Promote,
    Request,
    Restless,
    Submit,
)
from kinetoscope.store.ingest.jobs import Job, Work, read_file
from kinetoscope.store.ingest.pool import IngestPool, PoolLimits
from kinetoscope.store.ingest.protocol import READING_SHARE, Pace, Progressed, describe
from tests.conftest import ROOT
from tests.store.fakes import READ, SUMMARIZE, FakeFacts, write_trace
from tests.waiting import wait_for

Open = Callable[..., "Pool"]
NEVER = 1e9  # seconds: however slow the machine is, nothing takes so long
ONE_AT_A_TIME = PoolLimits(1, overdue_seconds=NEVER)


class Pool:
    """A pool and the event it brought, by file name."""

    def __init__(self, cache: Cache, limits: PoolLimits, **names: str) -> None:
        decoder = msgspec.json.Decoder(FakeFacts)
        read, summarize = names.get("read", READ), names.get("summarize", SUMMARIZE)
        self.work: Work[FakeFacts] = Work(read, summarize, decoder.decode, "v")
        self.event: list[PoolEvent[FakeFacts]] = []
        self.pool: IngestPool[FakeFacts] = IngestPool(self.work, cache, self.event.append, limits)

    def submit(self, *paths: Path, urgent: bool = False) -> None:
        for path in paths:
            identity = FileVersion.of(path.stat())
            self.pool.do(Submit(Request(key(path), str(path), identity, 0), urgent))

    def of(self, path: Path) -> list[PoolEvent[FakeFacts]]:
        return [n for n in self.event if n.request.key == key(path)]

    def last(self, path: Path) -> Any:
        """The final event of a file."""
        final = (Kept, Lost, Restless)
        return wait_for(lambda: next((n for n in self.of(path) if isinstance(n, final)), None))


def key(path: Path) -> Key:
    return (0, path.name)


@pytest.fixture
def open_pool(cache: Cache) -> Iterator[Open]:
    opened: list[Pool] = []

    def start(limits: PoolLimits | None = None, **names: str) -> Pool:
        opened.append(Pool(cache, limits or PoolLimits(2), **names))
        return opened[-1]

    yield start
    for one in opened:
        one.pool.close()


def test_the_summary_comes_first_then_the_columns(
    tmp_path: Path, cache: Cache, open_pool: Open
) -> None:
    pool = open_pool()
    path = write_trace(tmp_path / "a.json.gz", events=7, rank=2)
    pool.submit(path)
    assert pool.last(path) == Kept(Request(key(path), str(path), FileVersion.of(path.stat()), 0))
    answered, _ = pool.of(path)
    assert isinstance(answered, Answered)
    assert (answered.summary.events, answered.summary.rank) == (7, 2)
    assert (answered.from_cache, answered.note, answered.homeless) == (False, "", False)
    trace = cache.load_trace(answered.digest, str(path))
    assert trace is not None
    assert len(trace.host) == 7
    # What was unfinished goes after the last event was told.
    assert wait_for(lambda: not any((cache.roots[0] / "tmp").iterdir()))


def test_the_second_time_no_process_is_needed(tmp_path: Path, open_pool: Open) -> None:
    path = write_trace(tmp_path / "a.json")
    first, second = open_pool(), open_pool(read="no_such_module:read")
    first.submit(path)
    assert isinstance(first.last(path), Kept)
    second.submit(path)
    assert isinstance(second.last(path), Kept)
    assert [n.from_cache for n in second.of(path) if isinstance(n, Answered)] == [True]


@pytest.mark.skipif(sys.platform != "linux", reason="notes are kept on Linux alone")
def test_the_process_of_a_new_file_begins_before_its_bytes_are_hashed(
    tmp_path: Path, cache: Cache, open_pool: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(content_key, "NOTED", 1)
    monkeypatch.setattr(content_key, "REST_SECONDS", -1.0)
    path = write_trace(tmp_path / "a.json")
    pool = open_pool()
    events: list[PoolEvent[FakeFacts]] = []
    done: list[str] = []

    def opening(path: str, *mode: Any) -> Any:
        done.append("bytes")
        return open(path, *mode)

    def none() -> Child:
        done.append("process")
        raise KinetoscopeError("No process could be started.")

    def read() -> list[str]:
        """What was done, in order, where no process can be started."""
        done.clear()
        events.clear()
        request = Request(key(path), str(path), FileVersion.of(path.stat()), 0)
        read_file(Job(request, cache, events.append), request, pool.work, none)
        return done

    monkeypatch.setattr(content_key, "open", opening, raising=False)
    with pytest.raises(KinetoscopeError):
        read()
    assert done == ["process", "bytes", "process"]  # begun in vain, and then missed
    pool.submit(path)
    assert isinstance(pool.last(path), Kept)
    assert read() == []  # a note, and a result: nothing is needed
    assert [type(event) for event in events] == [Answered, Kept]
    for note in (cache.roots[0] / content_key.NOTES).iterdir():
        note.unlink()
    assert read() == ["process", "bytes"]  # not missed: the result is there
    assert [type(event) for event in events] == [Answered, Kept]


def test_a_reader_that_cannot_be_loaded_is_a_reason_too(tmp_path: Path, open_pool: Open) -> None:
    path = write_trace(tmp_path / "a.json")
    pool = open_pool(read="no_such_module:read")
    pool.submit(path)
    assert "no_such_module" in pool.last(path).error.message


@pytest.mark.skipif(os.name == "nt", reason="needs signals")
@pytest.mark.parametrize(
    ("then", "kind", "refused", "words"),
    [
        ("kill", "killed", False, "SIGKILL"),
        ("segfault", "crashed", False, "SIGSEGV"),
        ("exit", "crashed", False, "exit code 7: the last words"),
        ("refuse", "html", True, "This is a web page."),
        ("unavailable", "not_available", False, "No."),
        ("bug", "internal", False, "ZeroDivisionError: a bug"),
        ("memory", "out_of_memory", False, "memory"),
    ],
)
def test_a_lost_file_says_why_and_the_others_go_on(
    tmp_path: Path, open_pool: Open, then: str, kind: str, refused: bool, words: str
) -> None:
    pool = open_pool(PoolLimits(1))
    bad = write_trace(tmp_path / "bad.json", then=then)
    good = write_trace(tmp_path / "good.json")
    pool.submit(bad, good)
    lost = pool.last(bad)
    assert isinstance(lost, Lost)
    assert (lost.error.kind, lost.refused) == (kind, refused)
    assert words in lost.error.message
    assert isinstance(pool.last(good), Kept)


def test_a_process_killed_from_outside(tmp_path: Path, open_pool: Open) -> None:
    pool = open_pool()
    started = tmp_path / "started"
    path = write_trace(tmp_path / "a.json", started=str(started), then="hang")
    pool.submit(path)
    wait_for(lambda: started.exists() and started.read_text())
    assert pool.pool.running() == {key(path): int(started.read_text())}
    os.kill(int(started.read_text()), signal.SIGKILL)
    assert pool.last(path).error.kind == "killed"


def test_a_process_that_says_nothing_is_ended(tmp_path: Path, open_pool: Open) -> None:
    pool = open_pool(PoolLimits(1, stall_seconds=1.5))
    path = write_trace(tmp_path / "a.json", then="hang")
    pool.submit(path)
    lost = pool.last(path)
    assert lost.error.kind == "stalled"
    assert "no progress" in lost.error.message


def test_of_a_cancelled_file_nothing_more_is_heard(tmp_path: Path, open_pool: Open) -> None:
    pool = open_pool(ONE_AT_A_TIME)
    started = tmp_path / "started"
    reading = write_trace(tmp_path / "a.json", started=str(started), then="hang")
    queued = write_trace(tmp_path / "b.json", events=2)
    last = write_trace(tmp_path / "c.json", events=3)
    pool.submit(reading, queued, last)
    wait_for(started.exists)
    pool.pool.do(Cancel(key(queued)))
    pool.pool.do(Cancel(key(reading)))
    assert pool.pool.progress(key(reading)) is None
    pool.last(last)
    assert pool.of(reading) == pool.of(queued) == []


def test_a_file_that_changes_meanwhile_is_not_kept(
    tmp_path: Path, cache: Cache, open_pool: Open
) -> None:
    pool = open_pool()
    started = tmp_path / "started"
    go = tmp_path / "go"
    path = write_trace(tmp_path / "a.json", started=str(started), wait=str(go))
    gone = write_trace(tmp_path / "gone.json", wait=str(go))
    never = write_trace(tmp_path / "never.json")
    pool.submit(path, gone)
    wait_for(started.exists)
    path.write_text(path.read_text() + " ")
    gone.unlink()
    go.touch()
    assert isinstance(pool.last(path), Restless)
    assert isinstance(pool.last(gone), Restless)
    identity = FileVersion.of(never.stat())
    never.unlink()
    pool.pool.do(Submit(Request(key(never), str(never), identity, 0)))
    assert isinstance(pool.last(never), Restless)
    assert list((cache.roots[0] / "entries").iterdir()) == []


def test_progress_while_waiting_and_reading(tmp_path: Path, open_pool: Open) -> None:
    pool = open_pool(ONE_AT_A_TIME)
    started = tmp_path / "started"
    go = tmp_path / "go"
    first = write_trace(tmp_path / "a.json", started=str(started), wait=str(go))
    second = write_trace(tmp_path / "b.json", events=2)
    pool.submit(first, second)
    wait_for(started.exists)
    waiting, reading = pool.pool.progress(key(second)), pool.pool.progress(key(first))
    assert waiting is not None
    assert reading is not None
    assert waiting.phase == "waiting for a free process"
    assert reading.phase == "reading events"
    assert reading.bytes_total == first.stat().st_size
    assert reading.seconds > 0
    go.touch()
    pool.last(second)
    assert pool.pool.progress(key(first)) is None


def test_what_somebody_waits_for_comes_first(tmp_path: Path, open_pool: Open) -> None:
    """With its process busy, the pool takes one more for the file that is looked at."""
    pool = open_pool(ONE_AT_A_TIME)
    started = tmp_path / "started"
    slow = write_trace(tmp_path / "slow.json", started=str(started), then="hang")
    queue = [write_trace(tmp_path / f"{i}.json", events=i) for i in (1, 2, 3)]
    pool.submit(slow, *queue)
    wait_for(started.exists)
    pool.pool.do(Promote(key(queue[2])))
    assert isinstance(pool.last(queue[2]), Kept)
    assert pool.of(queue[0]) == pool.of(queue[1]) == []
    pool.pool.do(Cancel(key(slow)))
    assert isinstance(pool.last(queue[1]), Kept)


def test_large_files_wait_for_memory(tmp_path: Path, open_pool: Open) -> None:
    # There is room for one, and nothing goes ahead of what takes long.
    pool = open_pool(PoolLimits(2, memory_bytes=150 << 20, overdue_seconds=NEVER))
    started = [tmp_path / f"started{i}" for i in (0, 1)]
    go = tmp_path / "go"
    paths = [
        write_trace(tmp_path / f"{i}.json", started=str(started[i]), wait=str(go)) for i in (0, 1)
    ]
    pool.submit(*paths)
    # Both are looked into at once: either of them may be the first to be read.
    first = wait_for(lambda: next((i + 1 for i in (0, 1) if started[i].exists()), 0)) - 1
    assert set(pool.pool.running()) == {key(paths[first])}
    assert not started[1 - first].exists()
    go.touch()
    assert isinstance(pool.last(paths[first]), Kept)
    assert not started[1 - first].exists() or pool.of(paths[first])
    assert isinstance(pool.last(paths[1 - first]), Kept)


def test_a_file_larger_than_the_budget_is_read_alone(tmp_path: Path, open_pool: Open) -> None:
    pool = open_pool(PoolLimits(2, memory_bytes=1 << 20))  # room for none
    paths = [write_trace(tmp_path / f"{i}.json") for i in range(3)]
    pool.submit(*paths)
    assert all(isinstance(pool.last(path), Kept) for path in paths)


def test_a_file_that_cannot_be_looked_at_holds_up_no_other(
    tmp_path: Path, open_pool: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that does not answer: the file is measured without the lock of the pool."""
    slow, quick = (write_trace(tmp_path / name) for name in ("slow.json", "quick.json"))
    answers = threading.Event()
    usual = resources.memory_of

    def memory_of(path: str, size: int) -> int:
        if path == str(slow):
            answers.wait(600)
        return usual(path, size)

    monkeypatch.setattr(resources, "memory_of", memory_of)
    pool = open_pool(PoolLimits(2))
    pool.submit(slow, quick)
    try:
        assert isinstance(pool.last(quick), Kept)
        assert pool.of(slow) == []
    finally:
        answers.set()
    assert isinstance(pool.last(slow), Kept)


def test_small_files_do_not_wait_for_sick_ones(tmp_path: Path, open_pool: Open) -> None:
    """More sick files than there are processes, all of them before the good ones."""
    pool = open_pool(PoolLimits(1, overdue_seconds=0.2))
    sick = [write_trace(tmp_path / f"sick{i}.json", then="hang") for i in range(2)]
    good = [write_trace(tmp_path / f"good{i}.json") for i in range(3)]
    pool.submit(*sick, *good)
    assert all(isinstance(pool.last(path), Kept) for path in good)
    assert [pool.of(path) for path in sick] == [[], []]


def test_small_files_do_not_wait_for_a_large_one(
    tmp_path: Path, open_pool: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = write_trace(tmp_path / "large.json", then="hang", started=str(tmp_path / "started"))
    small = write_trace(tmp_path / "small.json")
    monkeypatch.setattr(
        resources, "memory_of", lambda path, _: 1 << (40 if path == str(large) else 26)
    )
    pool = open_pool(PoolLimits(2, memory_bytes=1 << 30))
    pool.submit(large)
    wait_for((tmp_path / "started").exists)
    pool.submit(small)
    assert isinstance(pool.last(small), Kept)
    assert pool.of(large) == []


def test_a_file_alone_has_all_threads_and_several_share_them(
    tmp_path: Path, open_pool: Open
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    pool = open_pool(PoolLimits(2, threads=5))
    slow = write_trace(tmp_path / "slow.json", threads=str(first), then="hang")
    beside = write_trace(tmp_path / "beside.json", threads=str(second))
    pool.submit(slow)
    wait_for(lambda: first.exists() and first.read_text())
    pool.submit(beside)
    assert isinstance(pool.last(beside), Kept)
    assert (first.read_text(), second.read_text()) == ("5", "2")
    pool.pool.do(Cancel(key(slow)))


def test_threads_are_shared_anew_when_a_job_begins_and_ends(
    tmp_path: Path, open_pool: Open
) -> None:
    """The large one gives up half of them for as long as the small one is read."""
    first, second, go = tmp_path / "first", tmp_path / "second", tmp_path / "go"
    pool = open_pool(PoolLimits(2, threads=5))
    large = write_trace(tmp_path / "large.json", shares=str(first), until=[5, 2, 5])
    small = write_trace(tmp_path / "small.json", shares=str(second), until=[2], wait=str(go))
    pool.submit(large)
    wait_for(lambda: first.exists() and first.read_text() == "[5]")
    pool.submit(small)
    wait_for(lambda: second.exists() and first.read_text() == "[5, 2]")
    go.write_text("")
    assert isinstance(pool.last(small), Kept)
    assert isinstance(pool.last(large), Kept)
    assert (first.read_text(), second.read_text()) == ("[5, 2, 5]", "[2]")


def test_the_shares_of_many_small_files_are_never_more_than_there_are(
    tmp_path: Path, open_pool: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = open_pool(PoolLimits(3, threads=3, overdue_seconds=NEVER))
    given: list[tuple[int, int]] = []
    deal = pool.pool._deal

    def noted() -> None:
        deal()
        shares = [job.threads for job in pool.pool._running.values()]
        given.append((len(shares), sum(shares)))

    monkeypatch.setattr(pool.pool, "_deal", noted)
    files = [write_trace(tmp_path / f"{number}.json") for number in range(64)]
    pool.submit(*files)
    assert all(isinstance(pool.last(file), Kept) for file in files)
    assert len(given) >= 64 / 3  # at most three begin, or end, in one dealing
    assert all(total <= 3 for _, total in given)
    assert max(running for running, _ in given) <= 3


@pytest.mark.skipif(sys.platform == "win32", reason="the system has no such limit")
def test_a_file_that_takes_too_much_processor_time_is_ended_with_the_limit(
    tmp_path: Path, open_pool: Open
) -> None:
    pool = open_pool(PoolLimits(1))
    told = tmp_path / "limit"
    good = write_trace(tmp_path / "good.json", cpu_limit=str(told))
    sick = write_trace(tmp_path / "sick.json", then="spin")
    pool.submit(good, sick)
    assert isinstance(pool.last(good), Kept)
    assert 0 < int(told.read_text()) - resources.cpu_seconds(str(good), 100) < 60
    lost = pool.last(sick)
    assert isinstance(lost, Lost)
    assert lost.error.kind == "cpu_limit"
    assert lost.error.message.startswith("sick.json takes too long")
    assert "KINETOSCOPE_CPU_LIMIT" in lost.error.hint


def test_small_files_share_a_process(tmp_path: Path, open_pool: Open) -> None:
    pool = open_pool(replace(ONE_AT_A_TIME, idle_seconds=NEVER))
    paths = []
    for i in range(4):
        started = str(tmp_path / f"started{i}")
        paths.append(write_trace(tmp_path / f"{i}.json", events=i, started=started))
    pool.submit(*paths)
    for path in paths:
        pool.last(path)
    assert len({(tmp_path / f"started{i}").read_text() for i in range(4)}) == 1


def test_idle_and_closed_pools_leave_no_process(tmp_path: Path, open_pool: Open) -> None:
    pool = open_pool(PoolLimits(1, idle_seconds=0.1))
    first = write_trace(tmp_path / "a.json", started=str(tmp_path / "pid1"))
    pool.submit(first)
    pool.last(first)
    idle = int((tmp_path / "pid1").read_text())
    wait_for(lambda: not is_alive(idle))
    second = write_trace(tmp_path / "b.json", started=str(tmp_path / "pid2"), then="hang")
    pool.submit(second)
    wait_for(lambda: (tmp_path / "pid2").exists() and (tmp_path / "pid2").read_text())
    pool.pool.close()
    wait_for(lambda: not is_alive(int((tmp_path / "pid2").read_text())))
    assert pool.of(second) == []


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_the_reading_process_steps_back(tmp_path: Path, open_pool: Open) -> None:
    if not Path("/proc/self/oom_score_adj").exists():
        pytest.skip("needs /proc")
    pool = open_pool()
    path = write_trace(tmp_path / "a.json", started=str(tmp_path / "pid"), then="hang")
    pool.submit(path)
    pid = wait_for(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
    niceness = os.getpriority(os.PRIO_PROCESS, int(pid))
    assert niceness >= min(19, os.getpriority(os.PRIO_PROCESS, 0) + 10)
    assert Path(f"/proc/{pid}/oom_score_adj").read_text().strip() == "800"


def test_files_in_the_working_directory_are_not_imported(
    tmp_path: Path, open_pool: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry])
    for module in ("json", "os", "msgspec", "numpy"):
        (tmp_path / f"{module}.py").write_text("raise SystemExit('hijacked')")
    pool = open_pool()
    path = write_trace(tmp_path / "a.trace")
    pool.submit(path)
    assert isinstance(pool.last(path), Kept)


def test_a_server_that_dies_takes_its_processes_along(tmp_path: Path) -> None:
    """Not even SIGKILL of the server leaves anybody reading."""
    path = write_trace(tmp_path / "a.json", started=str(tmp_path / "pid"), then="hang")
    program = (
        "import sys, time; from pathlib import Path; sys.path[:] = sys.argv[3:]\n"
        "from tests.store.ingest.test_pool import Pool\n"
        "from kinetoscope.store.cache.location import open_cache\n"
        "from kinetoscope.store.ingest.pool import PoolLimits\n"
        "Pool(open_cache(sys.argv[1]), PoolLimits(1)).submit(Path(sys.argv[2]))\n"
        "time.sleep(600)"
    )
    server = subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path / "c"), str(path), str(ROOT), *sys.path]
    )
    pid = wait_for(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
    server.kill()
    server.wait()
    wait_for(lambda: not is_running(int(pid)))


def is_running(pid: int) -> bool:
    """Alive, and no zombie that nobody collects."""
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return is_alive(pid) if not Path("/proc/self/stat").exists() else False


def test_time_left_is_guessed_from_the_share_read() -> None:
    half = describe(Pace(Progressed("reading", 50, 100, 7), 10.0, None), 100)
    assert half.seconds_left == pytest.approx(20 / READING_SHARE - 10, abs=0.1)
    assert describe(Pace(Progressed("reading", 1, 100, 7), 0.1, None), 100).seconds_left is None
    after = describe(Pace(Progressed("linking", 100, 100, 7), 75.0, 70.0), 100)
    assert after.seconds_left == pytest.approx(70 / READING_SHARE - 75, abs=0.1)
    assert describe(Pace(Progressed("caching", 100, 100, 7), 99.0, 7.0), 100).seconds_left is None
    assert describe(Pace(None, time.monotonic(), None), 100).phase == "reading events"
