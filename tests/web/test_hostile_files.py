"""No file of a logdir crashes, freezes or fills a command or a server; others are answered."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from typing_extensions import Self

from kinetoscope.web.tab import plugin_name
from tests.e2e.servers import Server, get_json, standalone, tensorboard
from tests.views.distributed.drawn_ranks import write_run
from tests.web.hostile_files import FOLDER, made_by_hand, write_drawn

CPU_SECONDS, MEMORY_BYTES = 5.0, 1 << 30
VIEWS = ("overview", "memory", "health", "distributed")

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it looks into /proc")


MEASURED = """
import json, os, subprocess, sys
process = subprocess.Popen([sys.executable, "-m", "kinetoscope.cli", *sys.argv[2:]])
_, status, usage = os.wait4(process.pid, 0)
cpu = usage.ru_utime + usage.ru_stime
told = os.waitstatus_to_exitcode(status), cpu, usage.ru_maxrss * 1024
open(sys.argv[1], "w").write(json.dumps(told))
"""
"""Runs a command in a child of a small process: a child's peak counts what its parent had."""


def limited(tmp_path: Path, *command: str, cpu_seconds: float = CPU_SECONDS) -> str:
    """What a command says; within its limits, and no traceback."""
    figures = tmp_path / "figures.json"
    ran = subprocess.run(
        [sys.executable, "-c", MEASURED, str(figures), *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "KINETOSCOPE_CACHE_DIR": str(tmp_path / "cache")},
        check=True,
    )
    text = ran.stdout.decode(errors="replace")
    code, cpu, peak = json.loads(figures.read_text())
    assert code >= 0, command
    assert "Traceback" not in text, (command, text)
    assert cpu < cpu_seconds, command
    assert peak < MEMORY_BYTES, command
    return text


def each_command(folder: Path, files: list[Path], tmp_path: Path) -> None:
    limited(tmp_path, "hang", str(folder))
    for number, file in enumerate(files):
        alone = tmp_path / "alone" / str(number)
        alone.mkdir(parents=True)
        shutil.copyfile(file, alone / file.name)
        # It asks every view of a recording of its own as well.
        limited(tmp_path, "doctor", str(alone), cpu_seconds=2 * CPU_SECONDS)
        for command in (("show", "memory"), ("show", "health"), ("snapshot",), ("hang",)):
            limited(tmp_path, *command, str(file))


def test_each_command_ends_within_its_limits(tmp_path: Path) -> None:
    files = write_drawn(tmp_path / "run")
    each_command(tmp_path / "run", files, tmp_path)
    said = limited(tmp_path, "hang", str(tmp_path / "run"))
    for name in ("nccl_trace_rank_0", "nccl_trace_rank_1", "nccl_trace_rank_2.json"):
        assert f"{name} was left out" in said
    assert "rank 3" in said
    timeline = limited(tmp_path, "show", "memory", str(tmp_path / "run" / "timeline.json"))
    assert "which no memory has" in timeline


@pytest.mark.skipif(not FOLDER.is_dir(), reason=f"there is no {FOLDER}")
def test_files_made_by_hand_end_within_their_limits(tmp_path: Path) -> None:
    files = made_by_hand()
    assert files
    each_command(FOLDER, files, tmp_path)


class Meanwhile:
    """Somebody else, who asks a server all the time."""

    def __init__(self, server: Server) -> None:
        self.slowest = 0.0
        self._server = server
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._ask)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _ask(self) -> None:
        while not self._done.is_set():
            began = time.monotonic()
            assert get_json(self._server.api + "info")["contract"]
            self.slowest = max(self.slowest, time.monotonic() - began)
            time.sleep(0.05)


def answer(server: Server, path: str) -> Any:
    """An answer, when it is there."""
    until = time.monotonic() + 120
    while True:
        found = get_json(f"{server.api}{path}")
        if "reading" not in found:
            return found
        assert time.monotonic() < until, (path, found)
        time.sleep(0.2)


def cpu_seconds(pid: int) -> float:
    """Processor time of a process alone, without those that it started."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def highest_memory(pid: int) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM"))


def survive(server: Server) -> None:
    """Every file is decided, every view answers, and so does everything else meanwhile."""
    began = cpu_seconds(server.pid)
    with Meanwhile(server) as other:
        until = time.monotonic() + 180
        while True:
            catalog = server.catalog()
            spans = [
                (run["name"], worker["name"], span["key"], span["state"])
                for run in catalog["runs"]
                for worker in run["workers"]
                for span in worker["spans"]
            ]
            if spans and {state for *_, state in spans} <= {"ready", "refused", "failed"}:
                break
            assert time.monotonic() < until, catalog
            time.sleep(0.3)
        for run, worker, span, _ in spans:
            for view in VIEWS:
                found = answer(
                    server, f"view/{view}?run={run}&worker={worker}&span={span}".replace("#", "%23")
                )
                assert found.get("error", {}).get("kind") != "internal", (worker, view, found)
        places = (f"?run={run}&worker={worker}&span={span}" for run, worker, span, _ in spans)
        asked = [answer(server, f"view/distributed/hang{place}") for place in places]
    said = "\n".join(note for one in asked for note in one.get("notes", ()))
    assert "nccl_trace_rank_0" in said
    assert "was left out" in said
    assert other.slowest < 20
    assert cpu_seconds(server.pid) - began < 3 * CPU_SECONDS
    assert highest_memory(server.pid) < MEMORY_BYTES
    assert "Traceback" not in server.log.read_text()


@pytest.fixture(params=["drawn", "by hand"])
def logdir(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """One run with traces of two ranks and all hostile files."""
    run = tmp_path / "log" / "run"
    run.parent.mkdir()
    write_run(run, 2)
    if request.param == "drawn":
        write_drawn(run)
    else:
        if not FOLDER.is_dir():
            pytest.skip(f"there is no {FOLDER}")
        for file in made_by_hand():
            shutil.copyfile(file, run / file.name)
    return tmp_path / "log"


def test_the_standalone_server_survives(logdir: Path, tmp_path: Path) -> None:
    with standalone(logdir, tmp_path) as server:
        survive(server)


def test_tensorboard_survives(logdir: Path, tmp_path: Path) -> None:
    with tensorboard(logdir, tmp_path, plugin=plugin_name()) as server:
        survive(server)
