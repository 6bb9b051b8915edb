"""Writing beside the training: what waits, what is kept, and what no fault can break.

The faults are real: processes are killed with SIGKILL while they write, forked while they write,
directories vanish, disks are full (`test_failures.py` has those).
"""

from __future__ import annotations

import gzip
import logging
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kinetoscope.handlers import LocalWriter, Publication, tensorboard_trace_handler
from kinetoscope.handlers.background import Background
from kinetoscope.handlers.naming import hidden_file
from tests.handlers.recording import SMALL_TRACE, StandIn, files_in, read, run_python, save

LINUX = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no processes in /proc")
FORKS = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")


class Gate(LocalWriter):
    """Publishes when it is let."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.open = threading.Event()

    def publish(self, publication: Publication) -> Path:
        assert self.open.wait(60)
        return super().publish(publication)


def messages(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [r.getMessage() for r in caplog.records if r.name == "kinetoscope.handlers"]


# --- the training does not wait -------------------------------------------------------------------


def test_the_training_goes_on_while_a_trace_is_packed(tmp_path: Path) -> None:
    writer = Gate(tmp_path)
    handler = tensorboard_trace_handler(tmp_path, "w", writer=writer)

    promised = [handler(StandIn()) for _ in range(3)]

    assert handler.saved_paths == ()
    assert all(hidden_file(name) is not None for name in files_in(tmp_path))
    assert not handler.flush(0.01)
    writer.open.set()
    assert handler.flush(60)
    assert list(handler.saved_paths) == promised
    assert files_in(tmp_path) == [path.name for path in promised if path]


@pytest.mark.parametrize("options", [{"background": False}, {"on_error": "raise"}])
def test_without_a_thread_on_demand(tmp_path: Path, options: dict[str, Any]) -> None:
    path = tensorboard_trace_handler(tmp_path, **options)(StandIn())

    assert path is not None
    assert files_in(tmp_path) == [path.name]


def test_the_thread_ends_with_its_work(tmp_path: Path) -> None:
    save(tensorboard_trace_handler(tmp_path))
    wait_for_the_thread()


def wait_for_the_thread() -> None:
    """The thread ends, and what it raised is reported, before the next test begins."""
    for thread in threading.enumerate():
        if thread.name == "kinetoscope-writer":
            thread.join(60)
            assert not thread.is_alive()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_work_that_raises_does_not_hold_up_what_follows() -> None:
    background, done = Background(), threading.Event()

    def fail() -> None:
        raise SystemExit  # the one exception that threading reports nowhere

    background.submit(fail)
    assert background.flush(10)
    background.submit(done.set)
    assert background.flush(10)
    assert done.is_set()
    wait_for_the_thread()


def test_ctrl_c_while_a_thread_begins_holds_nothing_up(monkeypatch: pytest.MonkeyPatch) -> None:
    background, done = Background(), threading.Event()

    def interrupted(_: threading.Thread) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", interrupted)
        with pytest.raises(KeyboardInterrupt):
            background.submit(done.set)
    assert background.flush(10)
    assert done.is_set()
    wait_for_the_thread()


def test_a_rank_waits_for_its_turn_unless_somebody_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANK", "7")
    handler = tensorboard_trace_handler(tmp_path, stagger_s=1000)

    handler(StandIn())

    assert handler.saved_paths == ()
    assert handler.flush(60)  # and not 7000 s
    assert len(handler.saved_paths) == 1


# --- what is kept ---------------------------------------------------------------------------------


def numbered(number: int, size: int = 0) -> StandIn:
    return StandIn(b'{"traceEvents": [], "number": %d, "x": "%s"}' % (number, b"x" * size))


def numbers(directory: Path) -> list[int]:
    return [read(directory / name)["number"] for name in files_in(directory)]


def test_only_the_last_traces_are_kept(tmp_path: Path) -> None:
    other = tmp_path / "w.1.pt.trace.json"
    other.write_bytes(SMALL_TRACE)  # of an earlier job, under the same name
    handler = tensorboard_trace_handler(tmp_path, "w", keep_last=2)

    for number in range(5):
        save(handler, numbered(number))

    assert [path.name for path in handler.saved_paths] == files_in(tmp_path)[1:]
    assert [read(path)["number"] for path in handler.saved_paths] == [3, 4]
    assert other.exists()


def test_traces_stay_below_a_size(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    handler = tensorboard_trace_handler(tmp_path, use_gzip=False, max_bytes=10_000)

    for number in range(4):
        save(handler, numbered(number, size=2500))
    assert numbers(tmp_path) == [1, 2, 3][-len(numbers(tmp_path)) :]
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 10_000
    assert save(handler, numbered(9, size=20_000)) is None

    assert numbers(tmp_path) == []
    assert "more than max_bytes=10,000" in messages(caplog)[-1]


def test_a_trace_that_was_taken_away_is_no_fault(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    handler = tensorboard_trace_handler(tmp_path, keep_last=1)
    first = save(handler)
    assert first is not None
    first.unlink()

    assert save(handler) is not None
    assert messages(caplog) == []


@pytest.mark.parametrize(
    ("rank", "saves"), [("0", True), ("5", True), ("1", False), ("", True)], ids=str
)
def test_only_chosen_ranks_save(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rank: str, saves: bool
) -> None:
    monkeypatch.setenv("RANK", rank)
    handler = tensorboard_trace_handler(tmp_path / "log", ranks=[0, 5])

    assert (save(handler) is not None) is saves
    assert (tmp_path / "log").exists() is saves


def test_the_disk_is_not_filled(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    free = shutil.disk_usage(tmp_path).free
    handler = tensorboard_trace_handler(tmp_path, min_free_bytes=2 * free)

    assert save(handler) is None

    (message,) = messages(caplog)
    assert "No space left on device" in message
    assert "are left to the job" in message
    assert files_in(tmp_path) == []


def test_where_it_went_is_said_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    handler = tensorboard_trace_handler(tmp_path)
    path = save(handler)
    save(handler)

    (message,) = messages(caplog)
    assert path is not None
    assert message == f"kinetoscope saved a profile: {path} ({path.stat().st_size:,} bytes)"


@pytest.mark.parametrize(
    ("level", "said"),
    [("info", True), ("10", True), ("", False), ("ERROR", False), ("loud", False)],
)
def test_a_variable_makes_it_talk(tmp_path: Path, level: str, said: bool) -> None:
    program = textwrap.dedent(JOB) + "handler(Prof())"
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        env={**os.environ, "KINETOSCOPE_LOG_LEVEL": level},
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    assert ("kinetoscope saved a profile" in done.stderr) is said
    assert ("KINETOSCOPE_LOG_LEVEL: DEBUG" in done.stderr) is (level == "loud")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"on_error": "ignore"}, "on_error"),
        ({"compresslevel": 10}, "compresslevel"),
        ({"keep_last": 0}, "keep_last"),
        ({"max_bytes": -1}, "max_bytes"),
    ],
)
def test_an_option_that_cannot_be_is_refused_before_the_training(
    tmp_path: Path, options: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ValueError, match=problem):
        tensorboard_trace_handler(tmp_path, **options)


def test_tags_of_the_user_are_kept_as_json(tmp_path: Path) -> None:
    tags = {"lr": 1e-3, "nan": float("nan"), "path": Path("x"), "dates": {3: ["a", None]}}
    path = save(tensorboard_trace_handler(tmp_path, metadata=tags))

    assert path is not None
    assert read(path)["kinetoscope"]["user"] == {
        "lr": 1e-3, "nan": "NaN", "path": "x", "dates": {"3": ["a", None]}
    }  # fmt: skip


# --- faults ---------------------------------------------------------------------------------------

JOB = """
    import os, signal, sys, time
    from pathlib import Path
    from kinetoscope.handlers import LocalWriter, tensorboard_trace_handler, writer

    class Prof:
        def export_chrome_trace(self, path):
            events = ",".join('{"name": "event %d"}' % n for n in range(200_000))
            Path(path).write_text('{"traceEvents": [%s]}' % events)

    def die(*_):
        os.kill(os.getpid(), signal.SIGKILL)

    handler = tensorboard_trace_handler(sys.argv[1], "job")
"""


HOLD = """
        import threading
        go_on, pack = threading.Event(), writer._pack
        def held(*arguments):
            assert go_on.wait(60)
            pack(*arguments)
        writer._pack = held
"""
"""Before a job: nothing is packed until `go_on` is set."""

HALF = """
        import threading
        go_on, half, write = threading.Event(), threading.Event(), writer._write
        def held(output, data):
            write(output, data)
            half.set()
            assert go_on.wait(60)
        writer._write = held
"""
"""Before a job: packing stops with `half`, in the middle of the file, until `go_on` is set."""


def start(program: str, directory: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(JOB) + textwrap.dedent(program), str(directory)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finished(program: str, directory: Path) -> tuple[int, str, str]:
    """Exit code, output and errors of a job."""
    process = start(program, directory)
    output, errors = process.communicate(timeout=120)
    return process.returncode, output, errors


def count(path: Path) -> int:
    return len(read(path)["traceEvents"])


def test_the_interpreter_waits_for_the_trace(tmp_path: Path) -> None:
    program = (
        HOLD
        + """
        handler(Prof())
        print(len(os.listdir(sys.argv[1])), handler.saved_paths)
        go_on.set()
        sys.exit(3)
    """
    )
    # The exported file, and nothing else yet: the job goes on before the trace is packed.
    assert finished(program, tmp_path) == (3, "1 ()\n", "")
    (name,) = files_in(tmp_path)
    assert count(tmp_path / name) == 200_000


def test_a_trace_that_comes_while_the_interpreter_ends(tmp_path: Path) -> None:
    program = """
        import atexit
        atexit.register(handler, Prof())
    """
    assert finished(program, tmp_path)[::2] == (0, "")
    (name,) = files_in(tmp_path)
    assert name.startswith("job.")
    assert name.endswith(".pt.trace.json.gz")
    assert count(tmp_path / name) == 200_000


KILLED = {
    # Half of the packed file is written.
    "during the compression": """
        write, written = writer._write, []
        def half(output, data):
            write(output, data)
            written.append(len(data))
            if sum(written) > 100_000:
                die()
        writer._write = half
        handler(Prof())
    """,
    # Packed and about to be renamed.
    "before the publication": """
        writer._rename_to_new = die
        handler(Prof())
    """,
    # The name is given, the temporary files are still there.
    "after the publication": """
        link = os.link
        def then_die(source, target):
            link(source, target)
            die()
        os.link = then_die
        handler(Prof())
    """,
    "while it waits for its turn": """
        handler._memory.background.pause = die
        handler(Prof())
    """,
}


@LINUX
@pytest.mark.parametrize("program", KILLED.values(), ids=KILLED.keys())
def test_a_job_that_is_killed_loses_no_exported_trace(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, program: str
) -> None:
    code, _, _ = finished(program, tmp_path)

    assert code == -signal.SIGKILL
    left = files_in(tmp_path)
    visible = [name for name in left if not name.startswith(".")]
    assert [count(tmp_path / name) for name in visible] in ([], [200_000])
    assert len(left) > len(visible)

    following = save(tensorboard_trace_handler(tmp_path, "next"))

    assert following is not None
    (trace,) = [name for name in files_in(tmp_path) if name != following.name]
    assert trace.startswith("job.")
    assert count(tmp_path / trace) == 200_000
    assert messages(caplog), "what was found is said"


@LINUX
def test_a_job_that_is_killed_during_the_export(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    program = """
        def half(path):
            Path(path).write_text('{"traceEvents": [{}')
            die()
        Prof.export_chrome_trace = staticmethod(half)
        handler(Prof())
    """
    assert finished(program, tmp_path)[0] == -signal.SIGKILL
    following = save(tensorboard_trace_handler(tmp_path, "next"))

    assert following is not None
    assert files_in(tmp_path) == [following.name]
    assert "removed 1 temporary files of killed processes" in messages(caplog)[0]


@FORKS
def test_forks_while_a_trace_is_packed(tmp_path: Path) -> None:
    """As the workers of a DataLoader; some end as Python does, with all its cleaning up."""
    program = (
        HALF
        + """
        handler(Prof())
        assert half.wait(60)
        children = []
        while not handler.saved_paths and len(children) < 40:
            if len(children) == 4:
                go_on.set()
            child = os.fork()
            if not child:
                if len(children) % 2:
                    assert handler.flush(60), "the child waits for a thread it has not"
                    os._exit(0)
                sys.exit(0)
            children.append(child)
        print(len(children), {os.waitpid(child, 0)[1] for child in children})
    """
    )
    code, output, errors = finished(program, tmp_path)

    assert (code, errors) == (0, "")
    forks, codes = output.split(maxsplit=1)
    assert (int(forks) > 4, codes) == (True, "{0}\n")
    (name,) = files_in(tmp_path)
    assert count(tmp_path / name) == 200_000


def test_workers_of_a_dataloader_started_while_a_trace_is_packed(tmp_path: Path) -> None:
    program = """
        import sys, warnings
        import torch
        from torch.profiler import ProfilerActivity, profile, schedule
        from torch.utils.data import DataLoader
        from kinetoscope.handlers import tensorboard_trace_handler

        warnings.simplefilter("ignore")
        torch.set_num_threads(1)
        handler = tensorboard_trace_handler(sys.argv[1], "job")
        seen = 0
        with profile(
            activities=[ProfilerActivity.CPU],
            schedule=schedule(wait=0, warmup=0, active=2, repeat=4), on_trace_ready=handler,
        ) as prof:
            for epoch in range(2):
                for batch in DataLoader(list(range(8)), batch_size=2, num_workers=2):
                    for _ in range(50):
                        batch = batch * 2.0
                    prof.step()
                    seen += 1
        print(seen)
    """
    assert run_python("-c", textwrap.dedent(program), tmp_path) == "8\n"
    names = files_in(tmp_path)
    assert len(names) == 4
    assert all(count(tmp_path / name) > 50 for name in names)


def test_eight_ranks_into_one_directory(tmp_path: Path) -> None:
    program = """
        import time
        time.time_ns = lambda: 1_700_000_000_000_000_000  # the same name for all
        handler(Prof()), handler(Prof())
    """
    jobs = [start(program, tmp_path) for _ in range(8)]
    assert [job.communicate(timeout=240)[1] for job in jobs] == [""] * 8

    names = files_in(tmp_path)
    assert names == [f"job.17000000000000000{n:02}.pt.trace.json.gz" for n in range(16)]
    whole = {len(gzip.decompress((tmp_path / name).read_bytes())) > 4_000_000 for name in names}
    assert whole == {True}


def test_two_handlers_in_one_process(tmp_path: Path) -> None:
    first, second = (tensorboard_trace_handler(tmp_path, "w") for _ in range(2))
    for _ in range(10):
        first(StandIn())
        second(StandIn())
    assert first.flush(60)
    assert second.flush(60)

    assert sorted(path.name for path in (*first.saved_paths, *second.saved_paths)) == files_in(
        tmp_path
    )
    assert len(files_in(tmp_path)) == 20


def vanish(directory: Path) -> None:
    shutil.rmtree(directory)


def become_a_file(directory: Path) -> None:
    shutil.rmtree(directory)
    directory.write_text("in the way")


@pytest.mark.parametrize("fault", [vanish, become_a_file])
def test_a_directory_that_vanishes_while_a_trace_waits(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, fault: Callable[[Path], None]
) -> None:
    log = tmp_path / "log"
    writer = Gate(log)
    handler = tensorboard_trace_handler(log, writer=writer)
    assert handler(StandIn()) is not None
    fault(log)
    writer.open.set()
    assert handler.flush(60)

    (message,) = messages(caplog)
    assert "could not save a profile" in message
    assert "The training goes on" in message
    if fault is vanish:  # the next trace makes it again
        assert save(handler) is not None


def test_a_fault_of_the_compression_is_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise zlib.error("made up")

    monkeypatch.setattr("kinetoscope.handlers.writer.zlib.compressobj", fail)

    assert save(tensorboard_trace_handler(tmp_path)) is None
    assert "made up" in messages(caplog)[0]
    assert files_in(tmp_path) == []
