"""One handler in many threads and processes: threads, a fork, two ranks, another interpreter."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import subprocess
import sys
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from kinetoscope.handlers import tensorboard_trace_handler, trace_handler
from kinetoscope.handlers.naming import hidden_file
from kinetoscope.handlers.process import is_gone, process_mark
from kinetoscope.handlers.trace_handler import _surplus
from tests.handlers.recording import StandIn, files_in, read, run_python, save


def run_program(program: str, *arguments: object, **environment: str) -> str:
    """What a program prints in an interpreter of its own."""
    text = textwrap.dedent(program)
    return run_python("-W", "ignore", "-c", text, *arguments, **environment)


def metadata_of_all(directory: Path) -> list[dict[str, Any]]:
    return [read(directory / name)["kinetoscope"] for name in files_in(directory)]


def test_threads_that_share_a_handler_and_a_moment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.time_ns", lambda: 1_700_000_000_000_000_000)
    handler = tensorboard_trace_handler(tmp_path, "worker0", on_error="raise")

    with ThreadPoolExecutor(8) as threads:
        paths = list(threads.map(handler, [StandIn() for _ in range(40)]))

    assert sorted(path.name for path in paths if path) == files_in(tmp_path)
    assert sorted(m["cycle"] for m in metadata_of_all(tmp_path)) == list(range(40))


def test_threads_that_share_a_handler_share_what_is_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two threads that both find the same trace surplus: one of them takes it away."""
    both = threading.Barrier(2)

    def together(*asked: Any) -> list[tuple[Path, int]]:
        found = _surplus(*asked)
        with contextlib.suppress(threading.BrokenBarrierError):
            both.wait(0.5)  # broken where only one thread at a time gets here
        return found

    handler = tensorboard_trace_handler(tmp_path, "worker0", background=False, keep_last=1)
    handler(StandIn())
    monkeypatch.setattr(trace_handler, "_surplus", together)
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(handler, [StandIn(), StandIn()]))
    handler(StandIn())

    assert "could not save" not in caplog.text
    assert [path.name for path in handler.saved_paths] == files_in(tmp_path)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_writes_under_its_own_pid(tmp_path: Path) -> None:
    program = """
        import os, sys
        import torch
        from torch.profiler import ProfilerActivity, profile
        from kinetoscope.handlers import tensorboard_trace_handler, trace_handler

        torch.set_num_threads(1)  # a fork takes no threads along
        handler = tensorboard_trace_handler(sys.argv[1], on_error="raise")

        def train():
            with profile(activities=[ProfilerActivity.CPU], on_trace_ready=handler):
                torch.mm(torch.ones(4, 4), torch.ones(4, 4))

        train()
        child = os.fork()
        train()
        if not child:
            os._exit(0)  # at a normal exit, torch waits for a thread that the fork left behind
        print(os.getpid(), child)
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    parent, child = map(int, run_program(program, tmp_path).split())

    found = metadata_of_all(tmp_path)
    assert sorted((m["pid"], m["cycle"]) for m in found) == sorted(
        [(parent, 0), (parent, 1), (child, 0)]
    )
    for name, metadata in zip(files_in(tmp_path), found, strict=True):
        assert f"_{metadata['pid']}." in name
        assert any(
            event.get("name") == "aten::mm" for event in read(tmp_path / name)["traceEvents"]
        )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_saves_under_the_pid_of_the_process_that_recorded(tmp_path: Path) -> None:
    program = """
        import os, sys
        import torch
        from torch.profiler import ProfilerActivity, profile
        from kinetoscope.handlers import tensorboard_trace_handler

        torch.set_num_threads(1)
        handler = tensorboard_trace_handler(sys.argv[1], on_error="raise")

        def in_a_child(work):
            child = os.fork()
            if not child:
                work()
                os._exit(0)
            assert not os.waitpid(child, 0)[1]

        for _ in range(2):
            with profile(activities=[ProfilerActivity.CPU]) as prof:
                torch.mm(torch.ones(4, 4), torch.ones(4, 4))
            in_a_child(lambda: handler(prof))
            in_a_child(lambda: in_a_child(lambda: handler(prof)))
        print(os.getpid())
    """
    parent = int(run_program(program, tmp_path))

    assert [m["pid"] for m in metadata_of_all(tmp_path)] == [parent] * 4
    for name in files_in(tmp_path):
        assert f"_{parent}." in name
        events = read(tmp_path / name)["traceEvents"]
        assert {one["pid"] for one in events if one.get("cat") == "cpu_op"} == {parent}


def test_two_ranks_are_told_apart(tmp_path: Path) -> None:
    program = """
        import sys
        import torch
        import torch.distributed as dist
        from torch.profiler import ProfilerActivity, profile
        from kinetoscope.handlers import tensorboard_trace_handler, trace_handler

        directory, rank = sys.argv[1], int(sys.argv[2])
        dist.init_process_group(
            "gloo", init_method=f"file://{directory}/rendezvous", rank=rank, world_size=2
        )
        handler = tensorboard_trace_handler(directory + "/log", on_error="raise")
        with profile(activities=[ProfilerActivity.CPU], on_trace_ready=handler):
            dist.all_reduce(torch.ones(4))
        dist.destroy_process_group()
    """
    # The variables of another launcher are lying about: torch knows better.
    with ThreadPoolExecutor(2) as threads:
        for job in [
            threads.submit(run_program, program, tmp_path, rank, RANK="7", WORLD_SIZE="9")
            for rank in (0, 1)
        ]:
            job.result()

    log = tmp_path / "log"
    for name, metadata in zip(files_in(log), metadata_of_all(log), strict=True):
        assert f"_rank{metadata['rank']}." in name
        assert metadata["world_size"] == 2
        assert read(log / name)["distributedInfo"]["rank"] == metadata["rank"]
    assert sorted(m["rank"] for m in metadata_of_all(log)) == [0, 1]


def test_a_handler_survives_pickling(tmp_path: Path) -> None:
    handler = pickle.loads(pickle.dumps(tensorboard_trace_handler(tmp_path, "worker0")))  # noqa: S301

    path = save(handler)
    assert path is not None
    assert path.name.startswith("worker0.")


def test_importing_the_handler_imports_nothing_heavy() -> None:
    program = """
        import json, sys
        import kinetoscope.handlers
        print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))
    """
    imported = set(json.loads(run_program(program)))

    assert "kinetoscope" in imported
    assert imported.isdisjoint(
        {"torch", "tensorboard", "pandas", "numpy", "pyarrow", "msgspec", "rich", "click"}
    )


# --- what killed processes leave ------------------------------------------------------------------

KILLED = """
    import os, signal, sys
    from pathlib import Path
    from kinetoscope.handlers import tensorboard_trace_handler, trace_handler

    class Killed:
        def export_chrome_trace(self, path):
            Path(path + ".tmp").write_bytes(b"half a trace")  # as torch does
            print(os.path.basename(path), flush=True)
            if sys.argv[2] == "dies":
                os.kill(os.getpid(), signal.SIGKILL)
            sys.stdin.read()  # lives until it is told to end

    tensorboard_trace_handler(sys.argv[1], "job")(Killed())
"""
LINUX = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no processes in /proc")


def job(directory: Path, fate: str) -> subprocess.Popen[str]:
    """A training of its own that has begun to write a trace."""
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(KILLED), str(directory), fate],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@LINUX
def test_what_a_killed_job_left_is_removed_and_nothing_of_one_that_lives(tmp_path: Path) -> None:
    living = job(tmp_path, "lives")
    assert living.stdout
    try:
        begun = living.stdout.readline().strip()
        killed = job(tmp_path, "dies")
        left, _ = killed.communicate(timeout=60)
        hidden_of = hidden_file(left.strip())
        assert hidden_of is not None
        mark = hidden_of.mark
        machine, pid, since = mark.split("-")
        kept = [
            begun,
            f"{begun}.tmp",
            ".notes.tmp",
            "job.1.pt.trace.json",
            hidden(f"{'a' * 12}-{pid}-{since}"),  # of another machine or container
            hidden(f"{'0' * 12}-{pid}-{since}"),  # of a system that tells too little
            hidden(process_mark()),
            ".job.1.pt.trace.json.0a1b2c3d.tmp",  # without a mark
        ]
        removed = [
            left.strip(),
            f"{left.strip()}.tmp",
            hidden(f"{machine}-{os.getpid()}-{int(since) - 1}"),  # the pid came again
        ]
        for name in (*kept, *removed):
            (tmp_path / name).touch()
        (tmp_path / hidden(mark)).mkdir()
        path = save(tensorboard_trace_handler(tmp_path, "next", on_error="raise"), StandIn())
        assert path is not None
        assert sorted([*kept, hidden(mark), path.name]) == files_in(tmp_path)
    finally:
        living.communicate(timeout=60)  # its standard input is closed


def hidden(mark: str) -> str:
    """The name of a temporary file."""
    return f".job.1.pt.trace.json.{mark}-0a1b2c3d.tmp"


@LINUX
def test_only_what_is_surely_gone_is_gone() -> None:
    machine, pid, since = process_mark().split("-")
    assert not is_gone(process_mark())
    assert not is_gone(f"{machine}-{os.getppid()}-{process_start(os.getppid())}")
    assert is_gone(f"{machine}-{pid}-{int(since) + 1}")
    assert is_gone(f"{machine}-{2**31}-1")
    assert not is_gone(f"{'b' * 12}-{2**31}-1")


def process_start(pid: int) -> str:
    """As the system tells it."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19]


@LINUX
def test_a_directory_that_cannot_be_listed_harms_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: object) -> None:
        raise PermissionError(13, "no", str(path))

    monkeypatch.setattr("kinetoscope.handlers.writer.os.scandir", refused)
    assert save(tensorboard_trace_handler(tmp_path, "next"), StandIn()) is not None
