"""What this machine can spare: processor cores and memory, as the container sees them.

A control group may limit both, or any group above it; the least limit holds. Version 2 of the
groups has one tree, version 1 one tree for each kind of limit; a machine may have both.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

_ROOT = Path("/")
_MOUNTS = Path("/proc/self/mounts")
_ASSUMED_MEMORY = 8 << 30  # where the system does not tell


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
    """Bytes that may be taken without pushing anybody out, inside the container's limits.

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


def mapped_bytes() -> int:
    """Resident bytes of this process that are pages of files; 0 where the system does not tell."""
    try:
        shared = (_ROOT / "proc/self/statm").read_text(encoding="ascii").split()[2]
        return int(shared) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError, AttributeError):
        return 0


def _groups(controller: str) -> Iterator[Path]:
    """The control groups of this process that may limit something, and all above them."""
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


def is_shared_filesystem(path: str) -> bool:
    """Whether a folder lies on a network or user-space file system.

    There, another machine may delete a file that is mapped here, and touching the map then ends the
    process.
    """
    if sys.platform != "linux":
        return path.startswith(("\\\\", "//"))
    best, kind = "", ""
    try:
        mounts = _MOUNTS.read_text(errors="replace").splitlines()
    except OSError:
        return False
    real = os.path.realpath(path)
    for line in mounts:
        _, point, fstype, *_ = [*line.split(" "), "", "", ""]
        point = point.replace("\\040", " ")
        inside = real == point or real.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, fstype
    return kind.startswith(_SHARED)


_SHARED = (
    "9p", "afs", "beegfs", "ceph", "cifs", "fuse", "gpfs", "lustre", "nfs", "panfs", "smb",
"wekafs", )  # fmt: skip


def _numbers(path: Path, count: int) -> list[int | None]:
    """The whole numbers that a file of the kernel begins with; None for "max" and missing ones."""
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
