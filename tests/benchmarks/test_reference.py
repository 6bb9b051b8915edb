"""The reference trace of the Trace view has every kind of track, and its launches stay linked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from benchmarks import _r10

from kinetoscope.trace.read import read
from tests.conftest import TRACES, requires_traces

SOURCE = TRACES / "tracelens" / "mi300" / "gaunernst_bert-small-uncased__1016001.json.gz"


@requires_traces
def test_everything_is_there_and_linked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_r10, "RUN_LENGTH", 4)  # 60 kernels are enough for all streams
    target = tmp_path / "reference.json.gz"
    source = read(SOURCE)
    written = _r10.make(SOURCE, target, slices=2 * len(source.host))
    trace = read(target)
    copies = written.copies
    assert copies == 2
    assert len(trace.streams) == _r10.STREAMS
    assert len(trace.host) == copies * len(source.host)
    assert len(trace.device) == copies * len(source.device)
    linked = (source.device.launch >= 0).sum()
    assert (trace.device.launch >= 0).sum() == copies * linked
    starts = -(-len(source.device) // _r10.COUNTER_EVERY)
    assert len(trace.counters) == copies * 2 * starts
    assert len(trace.memory) == copies * (len(source.memory) + starts)
    assert trace.health.skipped == 0


def test_device_work_is_dealt_out_in_runs() -> None:
    kernels = [
        {
            "ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": index, "dur": 1,
            "args": {"correlation": index + 1, "stream": 7},
        }
        for index in range(3 * _r10.RUN_LENGTH)
    ]  # fmt: skip
    op = {"ph": "X", "cat": "cpu_op", "name": "o", "pid": 1, "tid": 1, "ts": 0, "dur": 1}
    arrow = {"ph": "f", "cat": "ac2g", "id": 2, "pid": 0, "tid": 7, "ts": 1}
    made = _r10.decorated({"traceEvents": [op, arrow, *kernels]})["traceEvents"]
    tids = [event["tid"] for event in made if event.get("cat") == "kernel"]
    assert tids == [0] * _r10.RUN_LENGTH + [1] * _r10.RUN_LENGTH + [2] * _r10.RUN_LENGTH
    (moved,) = (event for event in made if event.get("cat") == "ac2g")
    assert moved["tid"] == 0
    assert json.dumps(kernels[0]).count('"stream": 7') == 1, "the source is as it was"
