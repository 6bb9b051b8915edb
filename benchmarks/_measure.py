"""CPU seconds, wall time and peak memory of a command and everything it starts."""

from __future__ import annotations

import json
import mmap
import os
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

SAMPLE_SECONDS = 0.01
TREE_SECONDS = 0.1  # children are looked for less often than memory is read
TOUCHED_BYTES = 2 << 30  # more than any run here holds at once, of a gigabyte of text


@dataclass(frozen=True, slots=True)
class Measured:
    """One run of a command: its whole process tree."""

    cpu_seconds: float  # user + system, of every process that was waited for
    wall_seconds: float
    exit_code: int
    output: str
    began: float  # of time.monotonic, which all processes of a machine share
    samples: Sequence[tuple[float, int]] = field(repr=False)  # moment, resident bytes of the tree

    @property
    def peak_bytes(self) -> int:
        """Highest sum of resident memory over the tree.

        Shared pages count once per process, which makes it an upper bound.
        """
        return self.peak_until(float("inf"))

    def peak_until(self, moment: float) -> int:
        """The peak up to a moment of ``time.monotonic``."""
        return max((size for at, size in self.samples if at <= moment), default=0)

    def answer(self) -> dict[str, float]:
        """The JSON object in the last line of the output.

        Raises:
            RuntimeError: the command failed; with the end of what it wrote.
        """
        if self.exit_code:
            raise RuntimeError(f"exit code {self.exit_code}: {self.output[-2000:]}")
        found: dict[str, float] = json.loads(self.output.splitlines()[-1])
        return found


def run(
    command: Sequence[str], env: Mapping[str, str] | None = None, timeout: float = 3600
) -> Measured:
    """Runs ``command`` to its end and measures it; it is killed after ``timeout`` seconds."""
    touch_memory()
    began = time.monotonic()
    process = subprocess.Popen(
        list(command),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**_as_installed(os.environ), **(env or {})},
    )
    lines: list[str] = []

    def drain() -> None:
        assert process.stdout is not None
        with process.stdout as output:
            lines.extend(output)

    drainer = threading.Thread(target=drain)
    drainer.start()
    alarm = threading.Timer(timeout, process.kill)
    alarm.start()
    with sampled(process.pid) as samples:
        # Children it waited for are in its usage.
        _, status, usage = os.wait4(process.pid, 0)
    alarm.cancel()
    drainer.join()
    process.returncode = os.waitstatus_to_exitcode(status)
    return Measured(
        cpu_seconds=usage.ru_utime + usage.ru_stime,
        wall_seconds=time.monotonic() - began,
        exit_code=process.returncode,
        output="".join(lines),
        began=began,
        samples=samples,
    )


def touch_memory() -> None:
    """Touches memory and lets go of it: called right before each run that is timed.

    A virtual machine may give free pages back to its host every few seconds. The first touch of
    such a page costs ten times what it costs on a machine that has its memory for itself, as
    system time of the run, and how many pages that are depends on what ran before.
    """
    size = min(TOUCHED_BYTES, psutil.virtual_memory().available // 2)
    with mmap.mmap(-1, max(size, mmap.PAGESIZE)) as memory:
        for start in range(0, len(memory), mmap.PAGESIZE):
            memory[start] = 1


def high_water() -> int:
    """Highest resident memory of this process so far, in bytes; 0 where the system does not say.

    ``ru_maxrss`` is no less than that of the process which started this one.
    """
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("VmHWM:")), 0)


def _as_installed(env: Mapping[str, str]) -> dict[str, str]:
    """What is installed has its bytecode, whatever the environment says of writing it."""
    return {name: value for name, value in env.items() if name != "PYTHONDONTWRITEBYTECODE"}


@contextmanager
def sampled(pid: int) -> Iterator[list[tuple[float, int]]]:
    """Reads the resident memory of a process tree every 10 ms while the block runs."""
    samples: list[tuple[float, int]] = []
    done = threading.Event()

    def sample() -> None:
        members: list[psutil.Process] = []
        look = 0.0
        while not done.wait(SAMPLE_SECONDS):
            now = time.monotonic()
            if now >= look:
                members, look = tree(pid), now + TREE_SECONDS
            samples.append((now, sum(map(_resident, members))))

    sampler = threading.Thread(target=sample)
    sampler.start()
    try:
        yield samples
    finally:
        done.set()
        sampler.join()


def tree(pid: int) -> list[psutil.Process]:
    """A process and everything below it; empty when it is gone."""
    try:
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)]
    except psutil.Error:
        return []


def tree_cpu_seconds(pid: int) -> float:
    """CPU seconds of a live tree so far, with the children that were waited for."""
    total = 0.0
    for member in tree(pid):
        try:
            times = member.cpu_times()
        except psutil.Error:
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total


def _resident(member: psutil.Process) -> int:
    try:
        return int(member.memory_info().rss)
    except psutil.Error:
        return 0


def calibration_seconds(repeats: int = 5) -> float:
    """CPU seconds of a fixed amount of JSON work: the unit that other figures are held against.

    One unit decodes about 20 MB of JSON with ``json.loads``; the fastest of ``repeats``.
    """
    event = {
        "ph": "X",
        "cat": "cpu_op",
        "name": "aten::mm",
        "pid": 1,
        "tid": 2,
        "ts": 123456.789,
        "dur": 1.5,
    }
    text = json.dumps([event] * 1000)
    best = float("inf")
    for _ in range(repeats):
        began = time.process_time()
        for _ in range(200):
            json.loads(text)
        best = min(best, time.process_time() - began)
    return best
