"""How much memory and time does reading a file take, and what kind of disk is it on? Estimates.

The last four bytes of a gzip file give the size of its text, modulo 4 GiB and for its last member
alone. So its beginning is inflated, which gives the ratio; where the two agree, the size is known.
The events at the beginning show how long events are.
"""

from __future__ import annotations

import math
import os
import sys
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
"""Peak memory of a reading process, by reader: a constant, and bytes for each event.

Measured from the start of the process to the last column on disk, for 1.6 to 10 million events of
75 to 300 bytes: 45 MB for the interpreter with numpy and later Arrow, 30 to 50 MB for buffered
text; the rest was 77 to 104 bytes an event with either reader, because tables take most. The margin
above that covers files whose first events are longer than the rest (ops with shapes): their
number of events is underestimated.
"""


MAKING_BYTES = 110  # of memory for an event, while an artifact is made


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


_MOUNTS = Path("/proc/self/mounts")


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
