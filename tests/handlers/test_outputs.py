"""What is written beside a trace: by torch, and by a process of its own; and what may go wrong."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from torch.profiler import schedule

from kinetoscope import export
from kinetoscope.handlers import tensorboard_trace_handler
from kinetoscope.handlers.outputs import write_in_a_process
from kinetoscope.session.session import choose
from tests.conftest import ROOT, TRACES
from tests.handlers.recording import StandIn, files_in, save, train

SAMPLES = ROOT / "samples" / "traces"
PLAN = {"schedule": schedule(wait=0, warmup=1, active=2, repeat=1)}


def events(directory: Path) -> Iterator[Any]:
    """All events of the event files of a directory."""
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_file_loader import EventFileLoader

    for path in sorted(directory.iterdir()):
        yield from EventFileLoader(str(path)).Load()


def test_all_that_can_be_written(tmp_path: Path) -> None:
    handler = tensorboard_trace_handler(
        tmp_path, "w", outputs=["scalars", "stacks", "key_averages"], metadata={"lr": 0.1}
    )
    train(steps=3, on_trace_ready=handler, **PLAN)

    stem = handler.saved_paths[0].name.removesuffix(".pt.trace.json.gz")
    assert files_in(tmp_path) == [
        "profile", f"{stem}.key_averages.txt", f"{stem}.pt.trace.json.gz", f"{stem}.stacks.txt"
    ]  # fmt: skip
    assert "aten::mm" in (tmp_path / f"{stem}.key_averages.txt").read_text()
    lines = (tmp_path / f"{stem}.stacks.txt").read_text().splitlines()
    assert any(line.startswith("ProfilerStep;aten::matmul;aten::mm ") for line in lines)

    found = {
        value.tag: (event.step, value)
        for event in events(tmp_path / "profile")
        for value in event.summary.value
    }
    assert {tag for tag in found if tag.startswith("profile/")} == {
        "profile/step_time_ms", "profile/findings", "profile/dataloader_ms",
        "profile/exposed_communication_ms",
    }  # fmt: skip
    assert found["profile/step_time_ms"][0] == 3  # the training's step
    assert found["profile"][1].metadata.plugin_data.plugin_name.startswith("pytorch_profiler")
    assert "_hparams_/session_start_info" in found


def test_scalars_are_those_of_the_overview() -> None:
    (path,) = (SAMPLES / "resnet_workers0").iterdir()
    session = choose(str(path)).session()

    found = export.scalars(session)

    steps = [step.dur_ns for step in session.facts().steps]
    assert found["profile/step_time_ms"] == pytest.approx(sum(steps) / len(steps) / 1e6)
    assert found["profile/dataloader_ms"] > 100
    assert "profile/device_busy_ratio" not in found  # there was no device
    assert "profile/peak_memory_mib" not in found  # memory was not recorded


def test_scalars_at_a_device() -> None:
    path = TRACES / "kineto_tb_samples/resnet50_num_workers_0"
    if not path.exists():
        pytest.skip(f"{path} is not here")
    found = export.scalars(choose(str(path)).session())
    assert 0 < found["profile/device_busy_ratio"] < 1


def test_old_outputs_go_with_their_trace(tmp_path: Path) -> None:
    handler = tensorboard_trace_handler(tmp_path, "w", keep_last=1, outputs=["key_averages"])
    for _ in range(2):
        train(steps=3, on_trace_ready=handler, **PLAN)

    assert len(files_in(tmp_path)) == 2


@pytest.mark.parametrize(
    ("outputs", "why"),
    [
        (["stacks", "scalars"], "scalars and stacks beside w."),
        (["memory_snapshot"], "uses no CUDA device"),
        (["key_averages"], "has no attribute 'key_averages'"),
    ],
)
def test_what_fails_beside_a_trace_leaves_it_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, outputs: Any, why: str
) -> None:
    caplog.set_level(logging.ERROR)
    handler = tensorboard_trace_handler(tmp_path, "w", outputs=outputs)
    nothing = StandIn(b'{"other": 1}')  # whole JSON, and no trace

    path = save(handler, nothing)

    assert path is not None
    assert [name for name in files_in(tmp_path) if name != "profile"] == [path.name]
    (record,) = caplog.records
    assert why in record.getMessage()
    assert "The training goes on" in record.getMessage()


def test_outputs_that_there_are_not(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="outputs: of key_averages, memory_snapshot"):
        tensorboard_trace_handler(tmp_path, outputs=["pictures"])  # type: ignore[list-item]


def test_a_module_in_the_current_directory_is_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever can write where a job runs would run code in the process that is started."""
    for name in ("argparse", "json", "kinetoscope"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('planted')")
    monkeypatch.chdir(tmp_path)
    trace = tmp_path / "w.pt.trace.json"
    trace.write_bytes(b'{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 1, '
                      b'"dur": 2, "pid": 1, "tid": 1}]}')  # fmt: skip
    write_in_a_process(trace, {"stacks"}, None, {})
    assert (tmp_path / "w.stacks.txt").read_text() == "aten::mm 2000\n"
