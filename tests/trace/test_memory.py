"""How much memory the tables of a trace take while they are made of the columns of a file."""

from __future__ import annotations

import sys
import tracemalloc

import numpy as np
import pytest

from kinetoscope.analysis.summarize import summarize
from kinetoscope.base.arrays import Sparse
from kinetoscope.base.native import native
from kinetoscope.trace.raw import Blocks, RawEvents, RawTrace
from kinetoscope.trace.read import build

STRINGS = ("", "cpu_op", "cuda_runtime", "kernel", "ac2g", "aten::mm", "cudaLaunchKernel", "gemm",
           "100", "1", "0", "7")  # fmt: skip
CODE = {text: code for code, text in enumerate(STRINGS)}
KINDS = (  # phase, category, name, pid, tid
    ("X", "cpu_op", "aten::mm", "100", "1"),
    ("X", "cuda_runtime", "cudaLaunchKernel", "100", "1"),
    ("s", "ac2g", "ac2g", "100", "1"),
    ("f", "ac2g", "ac2g", "0", "7"),
    ("X", "kernel", "gemm", "0", "7"),
)
ROUNDS = 100_000


def recorded(rounds: int) -> RawTrace:
    """The columns of a recording: op, call, arrow and kernel, again and again."""
    rows = rounds * len(KINDS)
    kind, at = np.arange(rows) % len(KINDS), np.arange(rows) // len(KINDS)

    def coded(place: int) -> np.ndarray:
        return np.array([CODE[one[place]] for one in KINDS], np.int32)[kind]

    launching = np.flatnonzero((kind == 1) | (kind == 4)).astype(np.int32)
    arrows = np.flatnonzero((kind == 2) | (kind == 3)).astype(np.int32)
    return RawTrace(
        events=RawEvents(
            phase=np.array([ord(one[0]) for one in KINDS], np.uint8)[kind],
            category=coded(1),
            name=coded(2),
            pid=coded(3),
            tid=coded(4),
            ts=10_000 * at + np.array([0, 500, 500, 2_000, 2_000])[kind],
            dur=np.array([3_000, 1_000, -1, -1, 4_001])[kind],
        ),
        ints={
            "id": Sparse(arrows, at[arrows] + 1),
            "correlation": Sparse(launching, at[launching] + 1),
            "stream": Sparse(np.flatnonzero(kind == 4).astype(np.int32), np.full(rounds, 7)),
        },
        floats={},
        texts={},
        strings=STRINGS,
        metadata={},
        blocks=Blocks(np.zeros(1, np.int64), np.zeros(1, np.int64), np.array([0, rows])),
        faults=(),
        text_bytes=1,
    )


@pytest.mark.skipif(
    sys.version_info < (3, 11), reason="older interpreters hold on to what they hand over"
)
def test_columns_are_not_in_memory_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the file held is let go column by column; what is new is little beside it.

    With all columns of the file there until the end, both would be close to 3. On several threads,
    what steps need for a moment adds up, as it happens; so this is one thread. With the library
    2.23 was measured, since the findings ask more of each op. Without the library
    the edges between events, and what sorts them, are there for a moment while idle time is
    explained: 2.5 was measured, and with the columns of the file it would be 3.5.
    """
    monkeypatch.setenv("KINETOSCOPE_THREADS", "1")
    tracemalloc.start()
    try:
        held = [recorded(ROUNDS)]
        before = tracemalloc.get_traced_memory()[0]
        tracemalloc.reset_peak()
        trace = build(held.pop(), "recorded", 1)
        built = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        facts = summarize(trace)
        summarized = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert facts.counts["kernel"] == len(trace.device) == ROUNDS
    assert (trace.device.launch >= 0).all()
    assert built < 1.8 * before
    assert summarized < (2.3 if native().library else 2.8) * before
