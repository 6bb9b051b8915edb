"""Loops that step a profiler: a plain one, Lightning's and Hugging Face's where installed."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from kinetoscope.handlers import profiled, recommended_config, tensorboard_trace_handler
from tests.handlers.recording import event_names, files_in, run_python


class Steps:
    """A profiler that notes what is asked of it."""

    def __init__(self, fails: str = "") -> None:
        self.calls: list[str] = []
        self.fails = fails

    def _call(self, name: str) -> None:
        self.calls.append(name)
        if name == self.fails:
            raise RuntimeError("made up")

    def start(self) -> None:
        self._call("start")

    def step(self) -> None:
        self._call("step")

    def stop(self) -> None:
        self._call("stop")


def test_a_plain_loop() -> None:
    steps = Steps()
    assert list(profiled("abc", steps)) == list("abc")
    assert steps.calls == ["start", "step", "step", "step", "stop"]


def test_a_loop_that_is_left() -> None:
    steps = Steps()
    for item in profiled("abc", steps):
        if item == "b":
            break
    assert steps.calls == ["start", "step", "stop"]


def test_a_loop_that_raises() -> None:
    steps = Steps()

    def loop() -> None:
        for _ in profiled("abc", steps):
            raise KeyError

    with pytest.raises(KeyError):
        loop()
    assert steps.calls[0 :: len(steps.calls) - 1] == ["start", "stop"]


@pytest.mark.parametrize("fails", ["start", "step", "stop"])
def test_a_profiler_that_raises(fails: str, caplog: pytest.LogCaptureFixture) -> None:
    steps = Steps(fails)
    assert list(profiled("abc", steps)) == list("abc")
    assert steps.calls.count(fails) == 1
    assert f"could not {fails} the profiler" in caplog.text


def test_a_real_profiler_in_a_plain_loop(tmp_path: Path) -> None:
    import torch
    from torch.profiler import ProfilerActivity, profile

    handler = tensorboard_trace_handler(tmp_path)
    options = {**recommended_config(), "activities": [ProfilerActivity.CPU]}
    for number in profiled(range(20), profile(**options, on_trace_ready=handler)):
        torch.ones(4) * number
    assert handler.flush(60)

    (path,) = handler.saved_paths
    names = event_names(path)
    assert {name for name in names if name.startswith("ProfilerStep#")} == {
        f"ProfilerStep#{number}" for number in range(8, 13)
    }


LIGHTNING = """
    import sys, warnings
    warnings.simplefilter("ignore")
    import torch
    import lightning
    from torch.profiler import ProfilerActivity, profile, schedule
    from kinetoscope.handlers import lightning_callback, tensorboard_trace_handler

    class Model(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)
        def training_step(self, batch, _):
            return self.layer(batch).sum()
        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), lr=0.1)

    prof = profile(
        activities=[ProfilerActivity.CPU], schedule=schedule(wait=1, warmup=1, active=2, repeat=1),
        on_trace_ready=tensorboard_trace_handler(sys.argv[1]),
    )
    lightning.Trainer(
        max_steps=8, accelerator="cpu", logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False, default_root_dir=sys.argv[2],
        callbacks=[lightning_callback(prof)],
    ).fit(Model(), torch.utils.data.DataLoader(torch.ones(64, 4), batch_size=4))
"""

HUGGING_FACE = """
    import sys, warnings
    warnings.simplefilter("ignore")
    import torch
    from torch.profiler import ProfilerActivity, profile, schedule
    from transformers import Trainer, TrainingArguments
    from kinetoscope.handlers import tensorboard_trace_handler, trainer_callback

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(4, 1)
        def forward(self, x, labels=None):
            return {"loss": self.layer(x).sum()}

    prof = profile(
        activities=[ProfilerActivity.CPU], schedule=schedule(wait=1, warmup=1, active=2, repeat=1),
        on_trace_ready=tensorboard_trace_handler(sys.argv[1]),
    )
    Trainer(
        Model(),
        TrainingArguments(
            sys.argv[2], max_steps=8, per_device_train_batch_size=4, report_to=[], use_cpu=True,
            save_strategy="no", disable_tqdm=True, logging_strategy="no",
        ),
        train_dataset=[{"x": torch.ones(4), "labels": torch.ones(1)} for _ in range(64)],
        callbacks=[trainer_callback(prof)],
    ).train()
"""


@pytest.mark.parametrize(
    ("package", "program"),
    [("lightning", LIGHTNING), ("transformers", HUGGING_FACE)],
    ids=["lightning", "transformers"],
)
def test_other_peoples_loops(tmp_path: Path, package: str, program: str) -> None:
    pytest.importorskip(package, reason=f"{package} is not installed", exc_type=ImportError)
    run_python("-c", textwrap.dedent(program), tmp_path / "log", tmp_path / "root")

    (name,) = files_in(tmp_path / "log")
    steps = {one for one in event_names(tmp_path / "log" / name) if one.startswith("ProfilerStep#")}
    assert steps == {"ProfilerStep#2", "ProfilerStep#3"}
