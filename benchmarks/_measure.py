"""CPU seconds and peak memory of a command and everything it starts."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import psutil

SAMPLE_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Measured:
    """One run of a command: its whole process tree."""

    cpu_seconds: float  # user + system, of every process that was waited for
    wall_seconds: float
    peak_bytes: int  # highest sum of resident memory over the tree, sampled every 20 ms
    exit_code: int
    output: str


def run(
    command: Sequence[str], env: Mapping[str, str] | None = None, timeout: float = 3600
) -> Measured:
    """Run ``command`` to its end and measure it.

    CPU time comes from ``wait4`` of the command, so children it waited for are in it. Shared pages
    count once per process, which makes the peak an upper bound.
    """
    began = time.monotonic()
    process = subprocess.Popen(
        list(command),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **(env or {})},
    )
    peak = 0
    done = threading.Event()

    def sample() -> None:
        nonlocal peak
        root = psutil.Process(process.pid)
        while not done.wait(SAMPLE_SECONDS):
            total = 0
            try:
                for member in (root, *root.children(recursive=True)):
                    try:
                        total += member.memory_info().rss
                    except psutil.Error:
                        continue
            except psutil.Error:
                return
            peak = max(peak, total)

    lines: list[str] = []

    def drain() -> None:
        assert process.stdout is not None
        lines.extend(process.stdout)

    sampler, drainer = threading.Thread(target=sample), threading.Thread(target=drain)
    sampler.start()
    drainer.start()
    alarm = threading.Timer(timeout, process.kill)
    alarm.start()
    _, status, usage = os.wait4(process.pid, 0)
    alarm.cancel()
    done.set()
    sampler.join()
    drainer.join()
    process.returncode = os.waitstatus_to_exitcode(status)
    return Measured(
        cpu_seconds=usage.ru_utime + usage.ru_stime,
        wall_seconds=time.monotonic() - began,
        peak_bytes=peak,
        exit_code=process.returncode,
        output="".join(lines),
    )


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
