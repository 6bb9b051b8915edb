"""How near are the cores to each other? The time until one sees what the other has written.

Cores that share a cache take a fraction of the time of others, and so does every column that one
thread has written and another reads. The host of a virtual machine moves its cores: without this
figure, two readings of one file differ by a fifth for no reason that can be seen.
"""

from __future__ import annotations

import math
import mmap
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import compress
from operator import not_
from pathlib import Path
from tempfile import TemporaryFile

Rounds = list[Mapping[str, float]]

HANDOFFS, TRIES = 2000, 7
FAR = 1.5  # times the least of a run: then two cores share no cache
MOST_SECONDS = 60  # after which the other process ends by itself


def handoff_ns() -> float:
    """How long a value takes from one core to another, in ns; NaN where that is not known.

    Two processes count up by turns, each as soon as it sees what the other wrote: the least of some
    tries, the time of a loop in Python included. Of more than two cores the first two are asked.

    Raises:
        RuntimeError: the other process ended.
    """
    free = os.sched_getaffinity(0) if sys.platform == "linux" else set()
    if len(free) < 2:
        return math.nan
    one, other, *_ = sorted(free)
    with TemporaryFile() as file:
        file.truncate(mmap.PAGESIZE)
        command = [sys.executable, "-m", "benchmarks._handoff", str(file.fileno()), str(other)]
        child = subprocess.Popen(
            command, pass_fds=(file.fileno(),), cwd=Path(__file__).parent.parent
        )
        try:
            with _shared(file.fileno()) as memory, memoryview(memory).cast("Q") as counter:
                while counter[0] == 0:
                    if child.poll() is not None:
                        raise RuntimeError(f"the other process ended with {child.returncode}")
                os.sched_setaffinity(0, {one})
                return min(_took(counter, attempt) for attempt in range(TRIES)) / HANDOFFS
        finally:
            os.sched_setaffinity(0, free)
            child.kill()
            child.wait()


def with_handoff(read: Callable[[], Mapping[str, float]]) -> dict[str, float]:
    """The figures of a reading, and ``handoff_ns``: the longer of those before and after it."""
    before = handoff_ns()
    figures = read()
    return {**figures, "handoff_ns": max(before, handoff_ns())}


def by_nearness(rounds: Sequence[Mapping[str, float]]) -> tuple[Rounds, Rounds]:
    """Rounds of ``with_handoff`` with the cores near each other (``are_near``), and the others."""
    near = are_near([one["handoff_ns"] for one in rounds])
    return list(compress(rounds, near)), list(compress(rounds, map(not_, near)))


def are_near(handoffs: Sequence[float]) -> list[bool]:
    """For each reading, by the handoff around it: were the cores as near as they ever were?

    Where nothing is known, all are. Where the cores were far all the time, all are called near:
    a handoff of a run says more than this.
    """
    known = [handoff for handoff in handoffs if not math.isnan(handoff)]
    return [not handoff > FAR * min(known, default=math.inf) for handoff in handoffs]


def _took(counter: memoryview[int], attempt: int) -> int:
    began = time.perf_counter_ns()
    _count_up(counter, attempt * HANDOFFS + 1, (attempt + 1) * HANDOFFS)
    return time.perf_counter_ns() - began


def _count_up(counter: memoryview[int], first: int, end: int) -> None:
    for number in range(first, end, 2):
        while counter[0] != number:
            pass
        counter[0] = number + 1


def _shared(file: int) -> mmap.mmap:
    return mmap.mmap(file, mmap.PAGESIZE)


def _other(file: int, core: int) -> None:
    signal.alarm(MOST_SECONDS)  # who waits for nobody uses a whole core
    os.sched_setaffinity(0, {core})
    with _shared(file) as memory, memoryview(memory).cast("Q") as counter:
        _count_up(counter, 0, TRIES * HANDOFFS)


if __name__ == "__main__":
    _other(int(sys.argv[1]), int(sys.argv[2]))
