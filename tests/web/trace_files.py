"""Small trace files on disk, for tests that go the whole way from a file to an answer."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path

from tests.trace.drawn import Event, annotation, kernel, launch, x

STEPS_US = ((0, 100), (100, 150), (250, 100))
"""Begin and length of each step; the one in the middle is longer."""


def write_trace(
    path: Path, *, op: str = "aten::mm", scale: int = 1, more: Iterable[Event] = ()
) -> Path:
    """A trace of three steps: in each an op launches a kernel of 40 µs (times ``scale``).

    ``more`` are further events.
    """
    events = [*more]
    for number, (start, length) in enumerate(STEPS_US):
        at = start * scale
        events += [
            annotation(f"ProfilerStep#{number}", at, length * scale),
            x(op, at + 10 * scale, 30 * scale, external_id=number + 1),
            launch(at + 12 * scale, 5 * scale, number + 1),
            kernel("gemm", at + 20 * scale, 40 * scale, correlation=number + 1),
        ]
    document = {"schemaVersion": 1, "deviceProperties": [], "traceEvents": events}
    text = json.dumps(document).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path
