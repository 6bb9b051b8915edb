"""The least that reading a trace can cost here: inflate its text, tokenize it, write its columns.

    python -m benchmarks._floor inflate TRACE.json.gz
    python -m benchmarks._floor scan TRACE.json.gz
    python -m benchmarks._floor write TRACE.json.gz

Each prints the bytes of text and the CPU seconds of that one thing, as a JSON object. ``inflate``
throws the text away. ``scan`` holds it in memory before the clock starts, and links, nests and
summarizes nothing. ``write`` reads the trace first, and then copies each column of its tables once
into memory of its own.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from isal import igzip
from numpy.typing import NDArray

from kinetoscope.trace.read import read
from kinetoscope.trace.scan.scanner import scan

BUFFER_BYTES = 4 << 20


def inflate_seconds(path: str) -> tuple[int, float]:
    """Bytes of text, and CPU seconds to inflate them into nothing."""
    buffer = bytearray(BUFFER_BYTES)
    size = 0
    began = time.process_time()
    with igzip.open(path, "rb") as text:  # type: ignore[no-untyped-call]
        while count := text.readinto(buffer):
            size += count
    return size, time.process_time() - began


def scan_seconds(path: str) -> tuple[int, float]:
    """Bytes of text, and CPU seconds to turn them, held in memory, into raw columns."""
    with igzip.open(path, "rb") as file:  # type: ignore[no-untyped-call]
        text = file.read()
    began = time.process_time()
    scan(text)
    return len(text), time.process_time() - began


def write_seconds(path: str) -> tuple[int, float]:
    """Bytes of text, and CPU seconds to write the columns of its tables once, read before."""
    listed = list(columns(read(Path(path))))
    began = time.process_time()
    kept = [one.copy() for one in listed]
    seconds = time.process_time() - began
    del kept
    with igzip.open(path, "rb") as text:  # type: ignore[no-untyped-call]
        return text.seek(0, 2), seconds


def columns(value: object) -> Iterator[NDArray[Any]]:
    """Every column of a trace, of one of its tables, or of several."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from columns(getattr(value, name))
    elif isinstance(value, Mapping):
        for one in value.values():
            yield from columns(one)
    elif isinstance(value, tuple):
        for one in value:
            yield from columns(one)


def main(what: str, path: str) -> None:
    """Prints the bytes of text and the CPU seconds."""
    steps = {"inflate": inflate_seconds, "scan": scan_seconds, "write": write_seconds}
    size, seconds = steps[what](path)
    print(json.dumps({"text_bytes": size, "cpu": seconds}))


if __name__ == "__main__":
    main(*sys.argv[1:])
