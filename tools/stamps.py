"""What is built leaves a stamp: a digest of its sources. As long as it fits, nothing is done."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path


def digest_of(files: Iterable[Path], root: Path, begin: bytes = b"") -> str:
    """One digest over ``begin`` and the files: their names below ``root`` and contents, in order.

    Raises:
        OSError: a file cannot be read.
    """
    digest = hashlib.sha256(begin)
    for path in files:
        digest.update(path.relative_to(root).as_posix().encode() + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def read_stamp(path: Path) -> str | None:
    """The digest in a stamp; None where there is no stamp."""
    try:
        return path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return None
