"""Texts to begin with: heads of real traces, and drawn ones."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path

from tests.conftest import ROOT, TRACES

from .documents import Chance, Documents

MOST_BYTES = 64 * 1024


def real_seeds(most_bytes: int = MOST_BYTES) -> list[bytes]:
    """The first bytes of every trace at hand, and of each a piece of its middle; sorted by path."""
    folders = (ROOT / "samples", TRACES)
    paths = sorted(path for folder in folders for path in folder.rglob("*.json*") if path.is_file())
    return [piece for path in paths for piece in _pieces(path, most_bytes)]


def drawn_seeds(chance: Chance, count: int) -> list[bytes]:
    """Traces that nobody recorded."""
    return [Documents(chance).document().encode() for _ in range(count)]


def _pieces(path: Path, most_bytes: int) -> Iterator[bytes]:
    data = path.read_bytes()
    while data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error):
            return
    if len(data) <= most_bytes:
        yield data
        return
    yield data[:most_bytes]
    start = data.find(b"}", len(data) // 2) + 1
    middle = data[start : start + most_bytes].lstrip(b" \t\r\n,")
    yield b'{"traceEvents": [' + middle[: middle.rfind(b"}") + 1] + b"]}"
