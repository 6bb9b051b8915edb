"""The least that reading a trace can cost here: inflating its text, and tokenizing it.

    python -m benchmarks._floor inflate TRACE.json.gz
    python -m benchmarks._floor scan TRACE.json.gz

Each prints the bytes of text and the CPU seconds of that one thing, as a JSON object. ``inflate``
throws the text away. ``scan`` holds it in memory before the clock starts, and links, nests and
summarizes nothing.
"""

from __future__ import annotations

import json
import sys
import time

from isal import igzip

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


def main(what: str, path: str) -> None:
    """Prints the bytes of text and the CPU seconds."""
    size, seconds = {"inflate": inflate_seconds, "scan": scan_seconds}[what](path)
    print(json.dumps({"text_bytes": size, "cpu": seconds}))


if __name__ == "__main__":
    main(*sys.argv[1:])
