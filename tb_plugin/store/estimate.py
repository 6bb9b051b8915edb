"""How much is in a file, and how much memory does reading it take? Good guesses by a short look.

The size of a gzip file's text is told by its last four bytes, modulo 4 GiB and for its last member
alone. So its beginning is inflated, which tells the ratio; where the two agree, the size is known.
The events at the beginning tell how long events are.
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import NamedTuple

from isal import igzip_lib

from ..base.native import native
from ..trace.limits import MIB, Limits

LIKELY_RATIO = 20  # of text to gzip, where nobody looked: traces have 8 to 30
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
    """What is probably in a file."""

    text_bytes: int
    events: int


def likely_text_bytes(path: str, size: int) -> int:
    """The size of a file's text, by its name; the file is not touched."""
    return size * LIKELY_RATIO if path.lower().endswith(".gz") else size


def look_into(path: str, size: int) -> Content:
    """What is in a file of ``size`` bytes, by a look at its beginning and its end."""
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
    """The most memory that a process takes which reads this file."""
    base, for_each = PYTHON_BYTES if native().library is None else NATIVE_BYTES
    return base + look_into(path, size).events * for_each


def cpu_seconds(path: str, size: int) -> int:
    """How much processor time a process may spend on this file, from the first byte to the cache.

    Four times what the scan of damaged text may take: whatever else goes wrong ends here.
    """
    limits = Limits()
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
    """The text of the beginning of a gzip file, and how much of it that took."""
    inflate = igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)
    try:
        text = inflate.decompress(head)
    # The stub says that it is a variable.
    except igzip_lib.IsalError:  # type: ignore[misc]  # damaged: the reader will say so
        return b"", 1
    return text, max(len(head) - len(inflate.unused_data), 1)
