"""A small training on the CPU, recorded by the handler: something to look at before one's own job.

A convolutional network learns which corner of a picture is bright. The pictures come slowly, as
from a busy disk, and are loaded by the training process itself: the Overview should find that the
steps wait for data. `samples/train_cpu.py` is the same training in a form to copy.

    python -m kinetoscope.handlers.sample_training --logdir log/sample
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from .trace_handler import Profiler, tensorboard_trace_handler

if TYPE_CHECKING:
    from torch import Tensor, nn
    from torch.utils.data import DataLoader

OnStep = Callable[[int, int], None]
"""Called after each step with the number of finished steps and that of all steps."""

STEPS_PER_TRACE = 8
"""One to wait, one to warm up, six to record."""
_BATCH_SIZE = 32
_READ_SECONDS = 0.001
_PICTURE_SIZE = 32


def record(
    logdir: str | os.PathLike[str],
    *,
    on_step: OnStep | None = None,
    steps: int = 2 * STEPS_PER_TRACE,
    worker_name: str | None = None,
) -> list[Path]:
    """Train for `steps` steps. Returns the traces, one for every `STEPS_PER_TRACE` steps begun.

    The first two steps of each cycle are not recorded: fewer than three steps give no trace.

    Raises:
        ImportError: torch is not installed.
        OSError: a trace cannot be written below `logdir`.
    """
    import torch
    from torch.nn.functional import cross_entropy
    from torch.profiler import ProfilerActivity, profile, schedule

    model = _network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    save = tensorboard_trace_handler(logdir, worker_name, raise_errors=True)
    paths: list[Path] = []

    def keep(prof: Profiler) -> None:
        path = save(prof)
        if path is not None:
            paths.append(path)

    with (
        warnings.catch_warnings(),
        profile(
            activities=[ProfilerActivity.CPU],
            schedule=schedule(wait=1, warmup=1, active=STEPS_PER_TRACE - 2),
            on_trace_ready=keep,
            record_shapes=True,
            profile_memory=True,
            with_stack=True,
        ) as prof,
    ):
        # Torch says at the second cycle that it forgets the first: that one is saved by then.
        warnings.filterwarnings("ignore", message=".*Profiler clears events")
        for done, (pictures, corners) in enumerate(_batches(steps), start=1):
            loss = cross_entropy(model(pictures), corners)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            prof.step()
            if on_step is not None:
                on_step(done, steps)
    return paths


def _network() -> nn.Module:
    from torch import nn

    def block(channels: int, filters: int) -> nn.Module:
        return nn.Sequential(
            nn.Conv2d(channels, filters, kernel_size=3, padding=1),
            nn.BatchNorm2d(filters),
            nn.ReLU(),
            nn.MaxPool2d(2),
        )

    corners = 4
    return nn.Sequential(
        block(3, 32),
        block(32, 64),
        block(64, 128),
        nn.AdaptiveAvgPool2d(2),
        nn.Flatten(),
        nn.Linear(128 * 4, corners),
    )


def _batches(steps: int) -> DataLoader[tuple[Tensor, int]]:
    import torch
    from torch.utils.data import DataLoader, Dataset

    class BrightCorners(Dataset[tuple[torch.Tensor, int]]):
        """Noise with one bright corner, by number: 0 and 1 above, 2 and 3 below."""

        def __len__(self) -> int:
            return steps * _BATCH_SIZE

        def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
            time.sleep(_READ_SECONDS)  # the busy disk
            half, corner = _PICTURE_SIZE // 2, index % 4
            picture = torch.rand(3, _PICTURE_SIZE, _PICTURE_SIZE)
            top, left = corner // 2 * half, corner % 2 * half
            picture[:, top : top + half, left : left + half] += 1
            return picture, corner

    return DataLoader(BrightCorners(), batch_size=_BATCH_SIZE)


def main() -> None:
    """The command line: `--logdir`, `--steps`, `--worker-name`."""
    import click
    from rich.progress import MofNCompleteColumn, Progress

    @click.command()
    @click.option("--logdir", default="log/sample", show_default=True, type=click.Path())
    @click.option("--steps", default=2 * STEPS_PER_TRACE, show_default=True, type=click.IntRange(3))
    @click.option("--worker-name", help="By default the host and the process number.")
    def command(logdir: str, steps: int, worker_name: str | None) -> None:
        """Records a small training on the CPU below LOGDIR."""
        # Without auto_refresh rich has no thread of its own, which would be in the trace.
        columns = (*Progress.get_default_columns(), MofNCompleteColumn())
        with Progress(*columns, auto_refresh=False) as progress:
            task = progress.add_task("Training", total=steps)

            def show(done: int, _: int) -> None:
                progress.update(task, completed=done, refresh=True)

            paths = record(logdir, on_step=show, steps=steps, worker_name=worker_name)
        for path in paths:
            click.echo(path)

    command()


if __name__ == "__main__":
    main()
