"""The "kinetoscope" object of a trace: always JSON, and the trace around it unharmed."""

from __future__ import annotations

import json
import os
import socket
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kinetoscope
from kinetoscope.analysis.recording import configuration
from kinetoscope.analysis.summarize import summarize
from kinetoscope.handlers import tensorboard_trace_handler, trace_handler
from kinetoscope.handlers.metadata import splice, to_json
from tests.drawing import PID, trace_of
from tests.handlers.recording import StandIn, read, save, train

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(
    trace=st.dictionaries(st.text().filter(lambda key: key != "kinetoscope"), json_values),
    before=st.sampled_from(["", " ", "\n\t\r "]),
    indent=st.sampled_from([None, 2]),
)
def test_splicing_adds_one_member_and_changes_none(
    trace: dict[str, object], before: str, indent: int | None
) -> None:
    text = before + json.dumps(trace, indent=indent)

    spliced = json.loads(splice(text.encode(), b'{"schema": 1}'))

    assert spliced == {"kinetoscope": {"schema": 1}, **trace}
    assert next(iter(spliced)) == "kinetoscope"


@pytest.mark.parametrize("start", [b"[{}]", b"", b"  ", b"\x1f\x8b", b"version https://git-lfs"])
def test_other_texts_stay_as_they_are(start: bytes) -> None:
    assert splice(start, b"{}") == start


@given(st.dictionaries(st.text(), json_values))
def test_metadata_is_one_line_of_ascii_json(metadata: dict[str, object]) -> None:
    line = to_json(metadata)

    assert line.isascii()
    assert b"\n" not in line
    assert json.loads(line) == metadata


def test_an_undecodable_path_does_not_break_the_json() -> None:
    assert json.loads(to_json({"cwd": os.fsdecode(b"/a/\xff")})) == {"cwd": "/a/?"}


def test_source_roots_are_the_directories_of_the_import_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "archive.zip").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        sys, "path", ["", "src", str(tmp_path / "src"), "archive.zip", "/gone/for/ever", "src"]
    )

    path = save(tensorboard_trace_handler(tmp_path), StandIn())

    assert path is not None
    metadata = read(path)["kinetoscope"]
    assert metadata["cwd"] == str(tmp_path)
    assert metadata["source_roots"] == [str(tmp_path), str(tmp_path / "src")]
    assert metadata["script"] == sys.argv[0]


@pytest.mark.parametrize(
    ("told", "job"),
    [
        ({}, None),
        ({"TORCHELASTIC_RUN_ID": "none"}, None),  # torchrun without --rdzv-id
        ({"TORCHELASTIC_RUN_ID": "none", "SLURM_JOB_ID": "77"}, "SLURM_JOB_ID=77"),
        (
            {"TORCHELASTIC_RUN_ID": "4f", "SLURM_JOB_ID": "77"},
            "TORCHELASTIC_RUN_ID=4f SLURM_JOB_ID=77",
        ),
    ],
)
def test_the_job_as_its_launcher_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: dict[str, str], job: str | None
) -> None:
    for name in ("TORCHELASTIC_RUN_ID", "SLURM_JOB_ID", "LSB_JOBID", "PBS_JOBID"):
        monkeypatch.delenv(name, raising=False)
    for name, value in told.items():
        monkeypatch.setenv(name, value)

    path = save(tensorboard_trace_handler(tmp_path), StandIn())

    assert path is not None
    assert read(path)["kinetoscope"]["job"] == job


def test_a_job_whose_directory_was_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    try:
        path = save(tensorboard_trace_handler(tmp_path / "log", on_error="raise"), StandIn())
    finally:
        os.chdir(tmp_path)

    assert path is not None
    assert read(path)["kinetoscope"]["cwd"] is None


def test_the_cpu_is_measured_where_asked_for(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    # A job may make its tensors elsewhere by default.
    elsewhere = torch.device("meta") if hasattr(torch, "set_default_device") else nullcontext()
    with elsewhere:
        path = save(tensorboard_trace_handler(tmp_path, cpu_peak=True), StandIn())

    assert path is not None
    peak = read(path)["kinetoscope"]["cpu_peak"]
    assert {"float_tflops", "double_tflops", "bandwidth_gb_s"} <= peak.keys()
    assert all(0 < rate < 100 for key, rate in peak.items() if key.endswith("tflops"))
    assert peak["bandwidth_gb_s"] > 0


def test_the_cpu_is_measured_once_and_a_failure_costs_no_trace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    attempts: list[int] = []

    def fail() -> dict[str, float]:
        attempts.append(1)
        raise RuntimeError("no room for a copy")

    monkeypatch.setattr(trace_handler, "measure_cpu", fail)
    handler = tensorboard_trace_handler(tmp_path, cpu_peak=True)
    paths = [save(handler, StandIn()), save(handler, StandIn())]

    assert [read(path)["kinetoscope"]["cpu_peak"] for path in paths if path] == [None, None]
    assert len(attempts) == 1
    assert "no room for a copy" in caplog.text
    usual = save(tensorboard_trace_handler(tmp_path), StandIn())
    assert usual is not None
    assert "cpu_peak" not in read(usual)["kinetoscope"]


def test_a_profiler_that_tells_nothing_of_itself(tmp_path: Path) -> None:
    path = save(tensorboard_trace_handler(tmp_path), StandIn())

    assert path is not None
    metadata = read(path)["kinetoscope"]
    assert metadata["step_num"] == 7
    assert metadata["profiler"] == {}


def test_the_viewer_shows_the_process_and_the_tags(tmp_path: Path) -> None:
    """A worker may have any name: host and process tell where it ran."""
    handler = tensorboard_trace_handler(tmp_path, "w", metadata={"lr": 0.1, "job": "nightly"})
    train(steps=2, on_trace_ready=handler)

    facts = kinetoscope.open(tmp_path).facts

    assert configuration(facts)["Process"] == str(os.getpid())
    assert configuration(facts)["Host"] == socket.gethostname()
    assert [(value.key, value.text) for value in facts.recording.user] == [
        ("lr", "0.1"),
        ("job", "nightly"),
    ]


@pytest.mark.parametrize(
    ("noted", "recorded", "told"),
    [
        (71, (PID,), str(PID)),  # saved by a forked child
        (71, (PID, PID + 1), "71"),
        (71, ("python",), "71"),
        (71, (5_000_000,), "71"),  # no number of a process
        (71, (), "71"),
        (None, (PID,), None),  # of torch's own handler: any program may write such a number
    ],
)
def test_the_process_is_that_of_the_events(
    noted: int | None, recorded: tuple[object, ...], told: str | None
) -> None:
    events = [
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": pid, "tid": 1, "ts": 1, "dur": 2}
        for pid in recorded
    ]
    facts = summarize(trace_of(events, kinetoscope={"schema": 1, "pid": noted}))
    assert configuration(facts).get("Process") == told


def test_metadata_that_contains_itself_is_refused_as_documented(tmp_path: Path) -> None:
    tags: dict[str, object] = {}
    tags["all"] = tags
    with pytest.raises(ValueError, match="contains itself"):
        tensorboard_trace_handler(tmp_path, metadata=tags)
