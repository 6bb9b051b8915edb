"""Figures and report of a recording in trackers: fakes that have the methods of the real ones."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kinetoscope import integrations
from kinetoscope.integrations import headline, publish
from kinetoscope.web.report import document
from tests.waiting import wait_for


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KINETOSCOPE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("RANK", raising=False)


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Two steps of 100 and 300 µs; kernels for 60 and 100 of them, no collectives, no memory."""
    host = {"ph": "X", "pid": 7, "tid": 7}
    device = {"ph": "X", "pid": 0, "tid": 7, "cat": "kernel", "name": "gemm"}
    events: list[dict[str, Any]] = []
    for number, (start, dur, busy) in enumerate(((0, 100, 60), (100, 300, 100))):
        step = {"cat": "user_annotation", "name": f"ProfilerStep#{number}", "ts": start, "dur": dur}
        launch = {"cat": "cuda_runtime", "name": "cudaLaunchKernel", "ts": start + 1, "dur": 2}
        linked = {"correlation": number + 1}
        args = {**linked, "device": 0, "stream": 7}
        kernel = {**device, "ts": start + 5, "dur": busy, "args": args}
        events += [{**host, **step}, {**host, **launch, "args": linked}, kernel]
    path = tmp_path / "w.pt.trace.json"
    properties = [{"id": 0, "name": "NVIDIA A100", "totalGlobalMem": 1 << 30}]
    content = {"schemaVersion": 1, "deviceProperties": properties, "traceEvents": events}
    path.write_text(json.dumps(content))
    return path


def test_the_figures_have_names_and_what_is_unknown_is_absent(trace: Path) -> None:
    figures = headline(trace)
    assert figures["profile/step_ms"] == pytest.approx(0.2)
    assert figures["profile/idle_ratio"] == pytest.approx((400 - 160) / 400)
    assert figures["profile/findings_high"] >= 0
    assert set(figures) == {"profile/step_ms", "profile/idle_ratio", "profile/findings_high"}


class _Recorder:
    """Notes its calls by name."""

    def __init__(self, *methods: str, **values: object) -> None:
        self.calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = []
        self.__dict__.update(values)
        for name in methods:
            self.__dict__[name] = self._noting(name)

    def _noting(self, name: str) -> Any:
        def note(*args: object, **kwargs: object) -> None:
            self.calls.append((name, args, kwargs))

        return note

    def of(self, name: str) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
        return [(args, kwargs) for called, args, kwargs in self.calls if called == name]


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """What reading gives, without reading; a report is written where one is asked for."""
    found = {"profile/step_ms": 12.5, "profile/idle_ratio": 0.25}

    def read(path: str, wanted: list[str]) -> dict[str, float]:
        assert path == "log"
        if wanted:
            Path(wanted[1]).write_text("<!doctype html>report")
        return found

    monkeypatch.setattr(integrations, "_read_apart", read)
    return found


def test_a_run_of_wandb(figures: dict[str, float]) -> None:
    run = _Recorder("log", "log_artifact")
    assert publish("log", run, step=7) == figures
    assert run.of("log") == [((figures,), {"step": 7})]
    ((args, kwargs),) = run.of("log_artifact")
    assert args[0].endswith("kinetoscope_report.html")
    assert kwargs == {"name": "kinetoscope", "type": "profile"}
    assert publish("log", run, report=False) == figures
    assert len(run.of("log_artifact")) == 1


def test_mlflow(figures: dict[str, float]) -> None:
    module = _Recorder("log_metrics", "log_artifact", "log")
    publish("log", module, step=3)
    assert module.of("log_metrics") == [((figures,), {"step": 3})]
    assert len(module.of("log_artifact")[0][0]) == 1
    assert module.of("log") == []


def test_a_summary_writer(figures: dict[str, float]) -> None:
    writer = _Recorder("add_scalar", "flush")
    publish("log", writer, step=5)
    assert [args for args, _ in writer.of("add_scalar")] == [
        ("profile/step_ms", 12.5, 5),
        ("profile/idle_ratio", 0.25, 5),
    ]


def test_a_real_event_file_has_the_scalars(figures: dict[str, float], tmp_path: Path) -> None:
    tensorboard = pytest.importorskip("torch.utils.tensorboard")
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    with tensorboard.SummaryWriter(str(tmp_path / "events")) as writer:
        publish("log", writer, step=4)
    read = accumulator.EventAccumulator(str(tmp_path / "events")).Reload()
    (scalar,) = read.Scalars("profile/step_ms")
    assert (scalar.step, scalar.value) == (4, 12.5)
    assert set(read.Tags()["scalars"]) == set(figures)


def test_loggers_of_lightning(figures: dict[str, float], tmp_path: Path) -> None:
    csv = _Recorder("log_metrics", log_dir=str(tmp_path / "csv"))
    client = _Recorder("log_artifact")
    mlflow = _Recorder("log_metrics", experiment=client, run_id="r1")
    run = _Recorder("log", "log_artifact")
    wandb = _Recorder("log_metrics", experiment=run)
    publish("log", SimpleNamespace(loggers=[csv, mlflow, wandb]), step=9)
    for one in (csv, mlflow, wandb):
        assert one.of("log_metrics") == [((figures,), {"step": 9})]
    assert (tmp_path / "csv" / "kinetoscope_report.html").read_text().endswith("report")
    assert client.of("log_artifact")[0][0][0] == "r1"
    assert len(run.of("log_artifact")) == 1


def test_the_trainer_of_hugging_face(figures: dict[str, float], tmp_path: Path) -> None:
    arguments = SimpleNamespace(output_dir=str(tmp_path / "out"))
    trainer = _Recorder("log", callback_handler=object(), args=arguments)
    publish("log", trainer)
    assert trainer.of("log") == [((figures,), {})]
    assert (tmp_path / "out" / "kinetoscope_report.html").is_file()


def test_a_handler_is_waited_for_and_its_last_recording_is_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read: list[str] = []

    def note(path: str, _: object) -> dict[str, float]:
        read.append(path)
        return {}

    monkeypatch.setattr(integrations, "_read_apart", note)
    handler = _Recorder("flush", saved_paths=(Path("a.json"), Path("b.json")))
    publish(handler, _Recorder("log", "log_artifact"))
    assert read == ["b.json"]
    assert len(handler.of("flush")) == 1


@pytest.mark.parametrize(
    "tracker", [object(), _Recorder("add_scalar")], ids=["no tracker", "one that fails"]
)
def test_whatever_fails_is_one_line_and_the_training_goes_on(
    tracker: object, figures: dict[str, float], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        assert publish("log", tracker) == {}
    (record,) = caplog.records
    assert "The training goes on." in record.getMessage()


def test_only_rank_0_publishes(figures: dict[str, float], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    run = _Recorder("log", "log_artifact")
    assert publish("log", run) == {}
    assert run.calls == []


def test_no_recording_is_told_by_the_process_that_reads(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    assert publish(tmp_path / "none", _Recorder("log", "log_artifact")) == {}
    assert "none" in caplog.records[0].getMessage()


@pytest.mark.skipif(not document._SCRIPT.is_file(), reason="the page is not built")
def test_it_is_read_in_a_process_of_its_own_with_the_report(trace: Path, tmp_path: Path) -> None:
    run = _Recorder("log")
    kept = tmp_path / "kept.html"
    run.__dict__["log_artifact"] = lambda file, **_: kept.write_bytes(Path(file).read_bytes())
    assert publish(trace, run) == headline(trace)
    assert "kinetoscope-answers" in kept.read_text()


def test_importing_it_costs_a_training_nothing() -> None:
    code = (
        "import sys, kinetoscope.integrations; print({'numpy','torch','msgspec'} & {*sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


# --- the real ones, where they are installed ------------------------------------------------------


def test_a_real_run_of_wandb_keeps_figures_and_report(
    figures: dict[str, float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Offline, a run is a file of records of protobuf, whose texts are plain."""
    wandb = pytest.importorskip("wandb", reason="wandb is not installed")
    for name, value in (("MODE", "offline"), ("SILENT", "true"), ("DIR", str(tmp_path))):
        monkeypatch.setenv(f"WANDB_{name}", value)
    run = wandb.init(project="p", dir=str(tmp_path))
    try:
        assert publish("log", run, step=7) == figures
    finally:
        run.finish()
    (file,) = tmp_path.glob("wandb/offline-run-*/run-*.wandb")
    wanted = (b"profile/step_ms", b"12.5", b"profile/idle_ratio", b"kinetoscope_report.html")
    # A process of its own writes the file.
    wait_for(lambda: all(one in file.read_bytes() for one in wanted))


def test_a_real_run_of_mlflow_keeps_figures_and_report(
    figures: dict[str, float], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # newer ones ask for a database
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    mlflow.set_experiment("profiles")
    with mlflow.start_run() as run:
        assert publish("log", mlflow, step=7) == figures
    client = mlflow.MlflowClient()
    assert client.get_run(run.info.run_id).data.metrics == figures
    (point,) = client.get_metric_history(run.info.run_id, "profile/step_ms")
    assert (point.step, point.value) == (7, 12.5)
    assert [one.path for one in client.list_artifacts(run.info.run_id)] == [
        "kinetoscope_report.html"
    ]
