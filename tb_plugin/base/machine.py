"""How many cores and how much memory may this process use? What machine and container leave it.

A control group may limit both, or any group above it; the least limit holds. Version 2 of the
groups has one tree, version 1 one tree for each kind of limit; a machine may have both.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path("/")
THREADS_VARIABLE = "KINETOSCOPE_THREADS"
MOST_THREADS = 64
_ASSUMED_MEMORY = 8 << 30  # where the system does not tell


def thread_count() -> int:
    """Threads on which one file may be read: as many as the user says, else as there are cores.

    ``KINETOSCOPE_THREADS`` says it, or ``OMP_NUM_THREADS``, which batch systems set for all that
    runs in a job.
    """
    for variable in (THREADS_VARIABLE, "OMP_NUM_THREADS"):
        said = os.environ.get(variable, "").split(",")[0].strip()
        if said.isdecimal() and int(said):
            return min(int(said), MOST_THREADS)
    return min(core_count(), MOST_THREADS)


def core_count() -> int:
    """Cores this process may use."""
    try:
        cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    except OSError:
        cores = os.cpu_count() or 1
    for group in _groups("cpu"):
        for quota, period in (
            _numbers(group / "cpu.max", 2),
            _numbers(group / "cpu.cfs_quota_us", 1) + _numbers(group / "cpu.cfs_period_us", 1),
        ):
            if quota and period:
                cores = min(cores, max(1, round(quota / period)))
    return cores


def free_memory() -> int:
    """Bytes that can be used without taking memory in use, inside the container's limits.

    Files that were read lately fill a group's memory, too. They are no loss: what is inactive of
    them counts as free.
    """
    available = _named(_ROOT / "proc/meminfo", "MemAvailable:")
    free = available << 10 if available else _half_of_the_machine()
    for group in _groups("memory"):
        for limit, usage, cached in (
            ("memory.max", "memory.current", "inactive_file"),
            ("memory.high", "memory.current", "inactive_file"),
            ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
        ):
            (most,), (used,) = _numbers(group / limit, 1), _numbers(group / usage, 1)
            if most is not None and used is not None:
                used -= min(used, _named(group / "memory.stat", cached) or 0)
                free = min(free, max(0, most - used))
    return free


def _groups(controller: str) -> Iterator[Path]:
    """The control groups of this process that may have limits, and all above them."""
    tree = _ROOT / "sys/fs/cgroup"
    yield from (tree, tree / controller)  # in a container, these are its own
    try:
        lines = (_ROOT / "proc/self/cgroup").read_text(errors="replace").splitlines()
    except OSError:
        return
    for line in lines:
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        parts = Path(path.lstrip("/")).parts
        if (controllers and controller not in controllers.split(",")) or ".." in parts:
            continue
        for base in (tree / controllers, tree / controller) if controllers else (tree,):
            for depth in range(len(parts)):
                yield base.joinpath(*parts[: depth + 1])


def _numbers(path: Path, count: int) -> list[int | None]:
    """The integers that a file of the kernel begins with; None for "max" and missing ones."""
    try:
        words = path.read_text().split()[:count]
    except OSError:
        words = []
    found = [int(word) if word.isdecimal() else None for word in words]
    return found + [None] * (count - len(found))


def _named(path: Path, name: str) -> int | None:
    """The number beside a name in a file of the kernel; None where it has none."""
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return None
    words = (line.split() for line in lines)
    return next((int(one[1]) for one in words if len(one) > 1 and one[0] == name), None)


def _half_of_the_machine() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (AttributeError, OSError, ValueError):  # not everywhere is it told
        return _ASSUMED_MEMORY
