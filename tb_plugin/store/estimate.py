"""How large is the text of a file, and how much memory does reading it take? Good guesses.

The text of a gzip file is told by its last four bytes, modulo 4 GiB and for its last member alone.
So its beginning is inflated, which tells the ratio; where the two agree, the exact size is known.
"""

from __future__ import annotations

import os
from pathlib import Path

from isal import igzip_lib

from ..base.native import native

LIKELY_RATIO = 20  # of text to gzip, where nobody looked: traces have 8 to 30
_GZIP = b"\x1f\x8b"
_SAMPLE = 64 << 10  # of a compressed file
_WRAP = 1 << 32

PROCESS_BYTES = 96 << 20
"""An interpreter with numpy, and later pyarrow: 50 MB; blocks of text on their way: the rest."""
NATIVE_RATIO, PYTHON_RATIO = 0.5, 0.75
"""Peak memory of a reading process by the size of the text, from traces of 250 and 300 bytes an
event: 0.36 to 0.43 with the native reader (1.0 and 2.3 GB of text: 430 and 950 MB), 0.5 to 0.6
without it."""


def likely_text_bytes(path: str, size: int) -> int:
    """The size of a file's text, by its name; the file is not touched."""
    return size * LIKELY_RATIO if path.lower().endswith(".gz") else size


def text_bytes(path: str, size: int) -> int:
    """The size of a file's text, by a look at its beginning and its end."""
    try:
        with Path(path).open("rb") as file:
            head = file.read(_SAMPLE)
            if not head.startswith(_GZIP):
                return size
            file.seek(-4, os.SEEK_END)
            told = int.from_bytes(file.read(4), "little")
    except OSError:
        return likely_text_bytes(path, size)
    by_ratio = round(size * _ratio(head))
    # The trailer knows the size but for a multiple of 4 GiB.
    nearest = told + max(0, round((by_ratio - told) / _WRAP)) * _WRAP
    return nearest if by_ratio / 2 <= nearest <= by_ratio * 2 else by_ratio


def memory_needed(text: int) -> int:
    """The most memory that a process takes which reads so many bytes of text."""
    ratio = PYTHON_RATIO if native().library is None else NATIVE_RATIO
    return PROCESS_BYTES + round(text * ratio)


def memory_of(path: str, size: int) -> int:
    """The most memory that a process takes which reads this file."""
    return memory_needed(text_bytes(path, size))


def _ratio(head: bytes) -> float:
    """How much text a byte of gzip holds, by the first of them."""
    inflate = igzip_lib.IgzipDecompressor(flag=igzip_lib.DECOMP_GZIP)
    try:
        text = inflate.decompress(head)
    # The stub says that it is a variable.
    except igzip_lib.IsalError:  # type: ignore[misc]  # damaged: the reader will say so
        return LIKELY_RATIO
    used = len(head) - len(inflate.unused_data)
    return len(text) / max(used, 1) if text else LIKELY_RATIO
