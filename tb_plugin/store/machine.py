"""What this machine can spare: processor cores and memory, as the container sees them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup")
_MOUNTS = Path("/proc/self/mounts")
_ASSUMED_MEMORY = 8 << 30  # where the system does not tell


def core_count() -> int:
    """Cores this process may use."""
    try:
        cores = len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1
    except OSError:
        cores = os.cpu_count() or 1
    quota, period = _numbers(_CGROUP / "cpu.max", 2)
    if quota and period:
        cores = min(cores, max(1, round(quota / period)))
    return cores


def free_memory() -> int:
    """Bytes that may be taken without pushing anybody out, inside the container's limit."""
    free = _meminfo("MemAvailable:") or _ASSUMED_MEMORY
    # Version 2 of the control groups, then version 1.
    for limit, usage in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        (most,) = _numbers(_CGROUP / limit, 1)
        (used,) = _numbers(_CGROUP / usage, 1)
        if most and used is not None:
            free = min(free, max(0, most - used))
    return free


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


def _meminfo(key: str) -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith(key)), None)
