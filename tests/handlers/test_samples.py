"""The samples run, record what their README says, and their recorded traces name no machine."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kinetoscope.handlers import sample_training
from tests.conftest import ROOT
from tests.handlers.recording import event_names, files_in, read, run_python

SAMPLES = ROOT / "samples"
RECORDED = sorted(SAMPLES.glob("traces/*/*"))
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


def test_there_are_recorded_traces() -> None:
    assert [path.parent.name for path in RECORDED] == [
        "train_cpu",
        "train_ddp_cpu",
        "train_ddp_cpu",
    ]


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_recorded_trace_is_small_and_names_no_machine(path: Path) -> None:
    trace = read(path)

    assert path.stat().st_size < 1_000_000
    assert step_names(path) == SIX_STEPS
    assert trace["host_name"] == trace["kinetoscope"]["host"] == "host"
    assert trace["kinetoscope"]["cwd"] == "/project"
    assert trace["kinetoscope"]["source_roots"] == ["/project/samples"]
    assert trace["traceName"].startswith("/project/log/")
    # The files of stacks are relative to the import path; an absolute one would name a directory.
    absolute = [
        name for name in event_names(path) if re.match(r"/|[A-Z]:", name) and "project" not in name
    ]
    assert absolute == []
