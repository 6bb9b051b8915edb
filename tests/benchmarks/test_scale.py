"""A trace repeated N times reads as N times the trace."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from benchmarks import _scale

from kinetoscope.trace.model import Trace
from kinetoscope.trace.read import read
from tests.conftest import ROOT, TRACES, requires_traces

(SAMPLE,) = sorted((ROOT / "samples" / "traces" / "train_cpu").glob("*.json.gz"))
REAL = (
    "tracelens/mi300/gaunernst_bert-small-uncased__1016001.json.gz",
    "hta/trace_filter/sampled_rank-0.json.gz",  # whole microseconds, NCCL
    "fresh_torch1.8.1/legacy/autograd_legacy_kineto.json",
)

TINY = """{
  "schemaVersion": 1,
  "traceEvents": [
  {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "ts": 100.5, "args": {"name": "python"}},
  {"ph":"X","cat":"cpu_op","name":"ProfilerStep#7","pid":1,"tid":1,"ts":100.500,"dur":10},
  {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":101,"dur":2.25,
   "args":{"correlation": 41, "External id":0}},
  {"ph":"X","cat":"kernel","name":"\\"ts\\": 5","pid":0,"tid":7,"ts":104.001,"dur":3,
   "args":{"correlation": 41,"Addr":18446744073709551615}},
  {"ph":"s","cat":"ac2g","name":"ac2g","id":41,"pid":1,"tid":1,"ts":101},
  {"ph":"X","cat":"Trace","name":"PyTorch Profiler (0)","pid":"Spans","tid":"p","ts":100,"dur":20},
  {"name":"Record Window End","ph":"i","s":"g","pid":"","tid":"","ts":120.25}
  ],
  "traceName": "x"
}"""


def tiny(copies: int) -> list[dict[str, object]]:
    text = "".join(_scale.pieces(_scale.template(TINY), copies))
    events: list[dict[str, object]] = json.loads(text)["traceEvents"]
    return events


def test_one_copy_is_the_trace() -> None:
    def order(events: list[dict[str, object]]) -> list[str]:
        return sorted(json.dumps(event) for event in events)

    assert order(tiny(1)) == order(json.loads(TINY)["traceEvents"])


def test_times_and_identifiers_move_and_nothing_else_does() -> None:
    # Its own events span 10.5 µs, so a copy begins 11 + 1000 µs after the one before.
    events = tiny(2)
    assert len(events) == 3 + 2 * 4
    step, launch, kernel, arrow = events[5:9]
    assert (step["name"], step["ts"], step["dur"]) == ("ProfilerStep#8", 1111.5, 10)
    assert (launch["ts"], launch["args"]) == (1112, {"correlation": 42, "External id": 0})
    assert (kernel["ts"], kernel["name"]) == (1115.001, '"ts": 5')
    assert kernel["args"] == {"correlation": 42, "Addr": 18446744073709551615}
    assert (arrow["id"], arrow["ts"]) == (42, 1112)


def test_the_recording_spans_all_copies() -> None:
    events = tiny(3)
    window = next(e for e in events if e.get("cat") == "Trace")
    assert (window["ts"], window["dur"]) == (100, 20 + 2 * 1011)
    assert events[-1]["name"] == "Record Window End"
    assert events[-1]["ts"] == 120.25 + 2 * 1011


def test_the_text_keeps_its_form() -> None:
    text = "".join(_scale.pieces(_scale.template(TINY), 2))
    assert '"ts":1111.500,"dur":10}' in text  # the zeros of the recorder, and its spaces
    assert text.startswith(TINY[:40])
    assert text.endswith('],\n  "traceName": "x"\n}')


def test_a_time_that_cannot_be_shifted_is_refused() -> None:
    with pytest.raises(ValueError, match="cannot be shifted"):
        _scale.template('[{"ph":"X","ts":"12.5"}]')
    with pytest.raises(ValueError, match="no array"):
        _scale.template('{"nodes": []}')


@pytest.mark.parametrize("copies", [1, 3])
def test_the_sample_reads_as_n_times_the_sample(tmp_path: Path, copies: int) -> None:
    assert_repeated(SAMPLE, tmp_path, copies)


@requires_traces
@pytest.mark.parametrize("name", REAL)
def test_real_traces_read_as_n_times_the_trace(tmp_path: Path, name: str) -> None:
    assert_repeated(TRACES / name, tmp_path, 4)


def assert_repeated(source: Path, folder: Path, copies: int) -> None:
    cut = _scale.template(_scale.read_text(source))
    target = folder / "scaled.pt.trace.json.gz"
    written = _scale.write(cut, target, copies)
    one, many = read(source), read(target)
    assert many.health.events == written.events
    assert counts(many) == {name: copies * count for name, count in counts(one).items()}
    assert many.recording == one.recording
    assert many.health.skipped == one.health.skipped == 0
    # A copy is linked and nested within itself, as the source is.
    size = len(one.host)
    by_file = np.argsort(many.host.raw)
    in_source = np.argsort(one.host.raw)
    for column in ("dur", "kind", "depth", "self_ns"):
        got = getattr(many.host, column)[by_file].reshape(copies, size)
        assert np.array_equal(got, np.tile(getattr(one.host, column)[in_source], (copies, 1)))
    apart = np.diff(many.host.ts[by_file].reshape(copies, size), axis=0)
    assert np.all(apart == cut.period_us * 1000)


def counts(trace: Trace) -> dict[str, int]:
    marked = trace.steps.source != "whole_trace"
    return {
        "host": len(trace.host),
        "device": len(trace.device),
        "launched": int((trace.device.launch >= 0).sum()),
        "device annotations": len(trace.device_annotations),
        "memory": len(trace.memory),
        "counters": len(trace.counters),
        "flows": len(trace.flows),
        "collectives": len(trace.collectives),
        "steps": len(trace.steps) if marked else 0,
        "step numbers": len(set(trace.steps.number.tolist())) if marked else 0,
        **{kind: count for kind, count in trace.health.ignored.items() if kind != "marker"},
    }
