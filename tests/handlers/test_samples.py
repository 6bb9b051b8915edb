"""The samples run, record what their README says, and their recorded traces name no machine."""

from __future__ import annotations

import os
import re
import runpy
import warnings
from pathlib import Path
from typing import Any

import pytest

import kinetoscope
from kinetoscope.handlers import sample_training
from tests.conftest import ROOT
from tests.handlers.recording import event_names, files_in, read, run_python

SAMPLES = ROOT / "samples"
RECORDED = sorted(SAMPLES.glob("traces/*/*.pt.trace.json.gz"))
SIX_STEPS = {f"ProfilerStep#{number}" for number in range(2, 8)}


def run_sample(script: str, *arguments: str) -> None:
    # More threads would fight with the other tests.
    run_python(SAMPLES / script, *arguments, OMP_NUM_THREADS="1")


def step_names(path: Path) -> set[str]:
    return {name for name in event_names(path) if name.startswith("ProfilerStep#")}


def test_the_sample_training_reports_steps_and_returns_its_traces(tmp_path: Path) -> None:
    progress: list[tuple[int, int]] = []

    paths = sample_training.record(
        tmp_path, on_step=lambda *step: progress.append(step), steps=8, worker_name="worker0"
    )

    assert progress == [(done, 8) for done in range(1, 9)]
    assert [path.name for path in paths] == files_in(tmp_path)
    assert step_names(paths[0]) == SIX_STEPS
    assert any(name.startswith("enumerate(DataLoader)#") for name in event_names(paths[0]))


def test_a_sample_that_cannot_be_saved_fails_with_a_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setattr("sys.argv", ["sample", "--logdir", str(tmp_path / "file"), "--steps", "3"])

    with pytest.raises(SystemExit, match="no trace was recorded"):
        sample_training.main()

    assert "FileExistsError" in caplog.text


def test_the_recipe_records_six_steps(tmp_path: Path) -> None:
    run_sample("train_cpu.py", "--logdir", str(tmp_path), "--worker-name", "worker0")

    (name,) = files_in(tmp_path)
    assert name.startswith("worker0.")
    assert step_names(tmp_path / name) == SIX_STEPS


def test_the_distributed_sample_records_each_rank(tmp_path: Path) -> None:
    run_sample("train_ddp_cpu.py", "--logdir", str(tmp_path))

    paths = [tmp_path / name for name in files_in(tmp_path)]
    assert [path.name.split(".")[0] for path in paths] == ["rank0", "rank1"]
    assert [read(path)["distributedInfo"]["rank"] for path in paths] == [0, 1]
    for path in paths:
        assert "gloo:all_reduce" in event_names(path)
        assert step_names(path) == SIX_STEPS


# --- in this process, as importing torch again takes longer than what the sample does ------------


def loaded(script: str) -> dict[str, Any]:
    """The functions of a sample."""
    return runpy.run_path(str(SAMPLES / script))


def test_the_resnet_waits_for_its_pictures(tmp_path: Path) -> None:
    loaded("resnet.py")["train"](tmp_path, 0, "worker0")

    (name,) = files_in(tmp_path)
    assert step_names(tmp_path / name) == SIX_STEPS
    names = event_names(tmp_path / name)
    assert "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__" in names
    assert "[module]Block: 3" in names


def test_the_resnet_with_loading_processes(tmp_path: Path) -> None:
    run_sample("resnet.py", "--workers", "4", "--logdir", str(tmp_path))

    (name,) = files_in(tmp_path)
    names = event_names(tmp_path / name)
    assert "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__" in names


def test_figures_are_held_against_those_of_torch(tmp_path: Path) -> None:
    check = loaded("accelerator_check.py")
    report, wrong = check["lines_of"](check["train"], tmp_path)
    assert wrong == 0, report
    assert sum("| equal |" in line for line in report) > 20
    if check["DEVICE"] is None:
        for part in ("events", "memory", "snapshot", "graphs", "cuspy", "peaks"):
            lines, wrong = check["lines_of"](check[part], tmp_path)
            assert (lines[-2], wrong) == ("Skipped: no accelerator.", 0)


def test_a_figure_that_differs_is_said_and_counted(tmp_path: Path) -> None:
    check = loaded("accelerator_check.py")
    pairs = ((98.0, 0.01), (99.5, 0.01))
    part = lambda _: iter([check["Check"]("time", ours, 100.0, by) for ours, by in pairs])  # noqa: E731
    part.__name__ = "made"
    lines, wrong = check["lines_of"](part, tmp_path)
    assert wrong == 1
    assert "| time | 98 | 100 | **differs** |" in lines
    assert "| time | 99.5 | 100 | equal |" in lines


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_the_transformer(tmp_path: Path, compiled: bool) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Dynamo's
        loaded("transformer.py")["train"](tmp_path, "worker0", compiled=compiled)

    (name,) = files_in(tmp_path)
    names = event_names(tmp_path / name)
    assert step_names(tmp_path / name) == {"ProfilerStep#5", "ProfilerStep#6"}
    assert any("CompiledFunction" in name for name in names) is compiled
    assert ("[module]TransformerEncoderLayer: encoder.layers.0" in names) is not compiled


def test_a_server_saves_its_windows_in_a_child(tmp_path: Path) -> None:
    import torch

    threads = torch.get_num_threads()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            seconds = loaded("serving.py")["serve"](tmp_path, "server")
    finally:
        torch.set_num_threads(threads)

    assert len(seconds) == 250
    paths = [tmp_path / name for name in files_in(tmp_path)]
    assert [event_names(path).count("request") for path in paths] == [10, 10]
    # The child saves them, and they name who recorded.
    assert {read(path)["kinetoscope"]["pid"] for path in paths} == {os.getpid()}


class Clock:
    """Time that passes while somebody sleeps, and only then."""

    def __init__(self) -> None:
        self.now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_a_training_is_looked_at_while_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train = loaded("on_demand.py")["train"]
    monkeypatch.setitem(train.__globals__, "time", Clock())
    (tmp_path / "record_now").touch()
    train(tmp_path, seconds=0.5)  # fifty steps

    (name,) = files_in(tmp_path)
    # Looked for in step 10, two steps warm up.
    assert step_names(tmp_path / name) == {f"ProfilerStep#{number}" for number in range(12, 16)}


@pytest.fixture(scope="module")
def features(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the functions of the sample leave."""
    logdir = tmp_path_factory.mktemp("features")
    pytest.importorskip("tensorboard")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for show in loaded("profiler_features.py")["FEATURES"]:
            show(logdir)
    return logdir


RUNS = (
    "activities", "by_hand", "cycles", "itt", "memory", "memory_timeline", "ranges", "scalars",
    "stacks", "tables",
)  # fmt: skip


@pytest.mark.parametrize("run", RUNS)
def test_each_of_the_other_features_opens(features: Path, run: str) -> None:
    assert tuple(files_in(features)) == RUNS
    assert kinetoscope.open(features, run=run) is not None


def only(folder: Path) -> Path:
    (name,) = files_in(folder)
    return folder / name


def test_ranges_cycles_and_activities(features: Path) -> None:
    assert {"forward", "backward"} <= set(event_names(only(features / "ranges")))
    found = [step_names(features / "cycles" / name) for name in files_in(features / "cycles")]
    assert found == [{"ProfilerStep#4", "ProfilerStep#5"}, {"ProfilerStep#8", "ProfilerStep#9"}]
    told = read(only(features / "activities"))["kinetoscope"]["profiler"]["activities"]
    assert "CPU" in told
    kept = read(features / "by_hand" / "monday.json")
    assert (kept["purpose"], kept["learning rates"]) == ("a name of my own", [0.1, 0.01])


def test_stacks_and_memory(features: Path) -> None:
    lines = only(features / "stacks").read_text().splitlines()
    assert any("_model_and_batch" in line or "_stacks" in line for line in lines)
    flame = kinetoscope.open(features, run="stacks").table("operators")
    assert len(flame) > 0
    assert "[memory]" in event_names(only(features / "memory"))
    curve = kinetoscope.open(features, run="memory_timeline").table("memory")
    assert len(curve) > 0


def test_loss_and_graph_stand_beside_the_profile(features: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

    (path,) = (features / "scalars").glob("events.out*")
    events = list(EventFileLoader(str(path)).Load())
    tags = [value.tag for event in events for value in event.summary.value]
    assert tags.count("loss") == 3
    assert any(event.graph_def for event in events)


# --- recorded -------------------------------------------------------------------------------------

STEPS = {
    "train_cpu": range(2, 8),
    "train_ddp_cpu": range(2, 8),
    "resnet_workers0": range(2, 8),
    "resnet_workers4": range(2, 8),
    "transformer": range(5, 7),
    "compiled": range(3, 9),
}


def test_there_are_recorded_traces() -> None:
    assert {path.parent.name for path in RECORDED} == {*STEPS, "serving"}
    assert sum(path.stat().st_size for path in RECORDED) < 1_000_000
    readme = (SAMPLES / "README.md").read_text("utf-8")
    assert [path.name for path in SAMPLES.glob("*.py") if f"`{path.name}`" not in readme] == []


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_recorded_trace_is_small_and_names_no_machine(path: Path) -> None:
    trace = read(path)

    steps = STEPS.get(path.parent.name)
    if steps:
        assert step_names(path) == {f"ProfilerStep#{number}" for number in steps}
    assert trace["host_name"] == trace["kinetoscope"]["host"] == "host"
    assert trace["kinetoscope"]["cwd"] == "/project"
    assert trace["kinetoscope"]["source_roots"] == ["/project/samples"]
    assert trace["traceName"].startswith("/project/log/")
    # The files of stacks are relative to the import path; an absolute one would name a directory.
    absolute = [
        name for name in event_names(path) if re.match(r"/|[A-Z]:", name) and "project" not in name
    ]
    assert absolute == []
