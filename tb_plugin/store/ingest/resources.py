"""How much memory does reading a file take, and how much can this machine spare? Estimates.

The last four bytes of a gzip file give the size of its text, modulo 4 GiB and for its last member
alone. So its beginning is inflated, which gives the ratio; where the two agree, the size is known.
The events at the beginning show how long events are.

Processor cores and memory are those that the container leaves. A control group may limit both, or
any group above it; the least limit holds. Version 2 of the groups has one tree, version 1 one tree
for each kind of limit; a machine may have both.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from isal import igzip_lib

from ...base.native import native
from ...trace.scan.cursor import MIB, ScanLimits

LIKELY_RATIO = 20  # of text to gzip, for files not looked into: traces have 8 to 30
LIKELY_EVENT = 250  # bytes of text: most recorders write 220 to 460
_GZIP = b"\x1f\x8b"
_PHASE = b'"ph"'  # every event has one
_PACKED_SAMPLE, _TEXT_SAMPLE = 64 << 10, 1 << 20
_WRAP = 1 << 32

NATIVE_BYTES, PYTHON_BYTES = (96 << 20, 140), (128 << 20, 150)
"""Peak memory of a reading process, by reader: whatever the file, and more for each event.

Measured from the start of the process to the last column on disk, for events of 75 to 300 bytes,
1.6 to 10 million of them: 45 MB for the interpreter with numpy and later Arrow, 30 to 50 MB for
text on its way; the rest was 77 to 104 bytes an event with either reader, because tables take most.
What is more stands for events that are longer at the beginning of a file, ops with their shapes,
than everywhere: it looks as if there were fewer.
"""


class Content(NamedTuple):
    """Estimated contents of a file."""

    text_bytes: int
    events: int


def likely_text_bytes(path: str, size: int) -> int:
    """The size of a file's text, by its name; the file is not touched."""
    return size * LIKELY_RATIO if path.lower().endswith(".gz") else size


def look_into(path: str, size: int) -> Content:
    """Estimated contents of a file of ``size`` bytes, by its beginning and its end."""
    try:
        with Path(path).open("rb") as file:
            head = file.read(_PACKED_SAMPLE)
            if head.startswith(_GZIP):
                file.seek(-4, os.SEEK_END)
                told = int.from_bytes(file.read(4), "little")
                text, used = _inflated(head)
                return _content(_packed_size(size, told, len(text), used), text)
            return _content(size, head + file.read(_TEXT_SAMPLE - len(head)))
    except OSError:
        return _content(likely_text_bytes(path, size), b"")


def memory_of(path: str, size: int) -> int:
    """Estimated peak memory of a process that reads this file."""
    base, for_each = PYTHON_BYTES if native().library is None else NATIVE_BYTES
    return base + look_into(path, size).events * for_each


def cpu_seconds(path: str, size: int) -> int:
    """Limit of the processor time for this file, from the first byte to the cache.

    Four times what the scan of damaged text may take: whatever else goes wrong ends here.
    """
    limits = ScanLimits()
    text = max(look_into(path, size).text_bytes, size) / MIB
    return math.ceil(4 * limits.cpu_seconds + 4 * limits.cpu_seconds_per_mib * text)


def _content(text_bytes: int, sample: bytes) -> Content:
    event = len(sample) / max(sample.count(_PHASE), 1) if _PHASE in sample else LIKELY_EVENT
    return Content(text_bytes, round(text_bytes / event))


def _packed_size(size: int, told: int, text: int, used: int) -> int:
    """The size of the text of a gzip file, of which ``used`` bytes held ``text`` bytes."""
    by_ratio = round(size * text / used) if text else size * LIKELY_RATIO
    # The trailer knows the size but for a multiple of 4 GiB.
    nearest = told + max(0, round((by_ratio - told) / _WRAP)) * _WRAP
    return nearest if by_ratio / 2 <= nearest <= by_ratio * 2 else by_ratio


def _inflated(head: bytes) -> tuple[bytes, int]:
    """The text of the beginning of a gzip file, and the number of its stored bytes."""
    inflate = igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)
    try:
        text = inflate.decompress(head)
    # The stub says that it is a variable.
    except igzip_lib.IsalError:  # type: ignore[misc]  # damaged: the reader will say so
        return b"", 1
    return text, max(len(head) - len(inflate.unused_data), 1)


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


def is_shared_filesystem(path: str) -> bool:
    """True if a folder lies on a network or user-space file system.

    There, another machine may delete a file that is mapped here, and touching the map then ends the
    process.
    """
    if sys.platform != "linux":
        return path.startswith(("\\\\", "//"))
    return file_system(path).startswith(_SHARED)


def has_local_clock(path: str) -> bool:
    """True if this machine's own clock stamps every change of the file at ``path``.

    A server has a clock of its own, and programs that serve files may stamp them as they like.
    """
    return sys.platform == "linux" and file_system(path) in _STAMPED_HERE


def file_system(path: str) -> str:
    """The type of the file system that a path lies on, as Linux calls it; "" where unknown."""
    best, kind = "", ""
    try:
        mounts = _MOUNTS.read_text(errors="replace").splitlines()
    except OSError:
        return ""
    real = os.path.realpath(path)
    for line in mounts:
        _, point, fstype, *_ = [*line.split(" "), "", "", ""]
        point = point.replace("\\040", " ")
        inside = real == point or real.startswith(point.rstrip("/") + "/")
        if inside and len(point) >= len(best):
            best, kind = point, fstype
    return kind


_SHARED = (
    "9p", "afs", "beegfs", "ceph", "cifs", "fuse", "gpfs", "lustre", "nfs", "panfs", "smb",
"wekafs", )  # fmt: skip
_STAMPED_HERE = frozenset(
    ("bcachefs", "btrfs", "ext2", "ext3", "ext4", "f2fs", "jfs", "overlay", "tmpfs", "xfs", "zfs")
)


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
