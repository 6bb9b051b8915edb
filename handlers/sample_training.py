"""A small training on the CPU, recorded by the handler, as a first example to look at.

A convolutional network learns which corner of a picture is bright. The pictures come slowly, as
from a busy disk, and are loaded by the training process itself: the Overview should find that the
steps wait for data. `samples/train_cpu.py` is the same training in a form to copy.

    python -m kinetoscope.handlers.sample_training --logdir log/sample
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from .trace_handler import tensorboard_trace_handler

OnStep = Callable[[int, int], None]
"""Called after each step with the number of finished steps and that of all steps."""

STEPS_PER_TRACE = 8
"""One to wait, one to warm up, six to record."""
_BATCH_SIZE = 32
_READ_SECONDS = 0.002
_PICTURE_SIZE = 32
_BAR_WIDTH = 40


def record(
    logdir: str | os.PathLike[str],
    *,
    on_step: OnStep | None = None,
    steps: int = 2 * STEPS_PER_TRACE,
    worker_name: str | None = None,
) -> list[Path]:
    """Train for `steps` steps. Returns the traces, one for each `STEPS_PER_TRACE` steps.

    The first two steps of each cycle are not recorded: a cycle that ends with them gives no trace.
    A trace that could not be saved is missing too; the handler has logged why.

    Raises:
        ImportError: torch is not installed.
    """
    import torch
    from torch.nn.functional import cross_entropy
    from torch.profiler import ProfilerActivity, profile, schedule

    model = _network()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    save = tensorboard_trace_handler(logdir, worker_name)
    with (
        warnings.catch_warnings(),
        profile(
            activities=[ProfilerActivity.CPU],
            schedule=schedule(wait=1, warmup=1, active=STEPS_PER_TRACE - 2),
            on_trace_ready=save,
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
    save.flush()
    return list(save.saved_paths)


def _network() -> Any:  # noqa: ANN401  # torch's class
    """A `torch.nn.Module`; torch may be missing when this module is imported."""
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


def _batches(steps: int) -> Any:  # noqa: ANN401  # torch's class
    """A `torch.utils.data.DataLoader` of `steps` pairs: pictures, numbers of bright corners."""
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
    # Neither click nor rich: next to the training, only torch and the standard library are sure.
    parser = argparse.ArgumentParser(
        prog="python -m kinetoscope.handlers.sample_training",
        description="Record a small training on the CPU.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--logdir", default="log/sample", help="directory for the traces")
    parser.add_argument("--steps", default=2 * STEPS_PER_TRACE, type=int, help="steps to train")
    parser.add_argument("--worker-name", help="instead of host and process number")
    options = parser.parse_args()
    with _quiet_torch() as console:
        paths = record(
            options.logdir,
            on_step=lambda done, steps: _show(console, done, steps),
            steps=options.steps,
            worker_name=options.worker_name,
        )
        if not paths:
            sys.exit("no trace was recorded")
    sys.stdout.writelines(f"{path}\n" for path in paths)


@contextmanager
def _quiet_torch() -> Iterator[TextIO]:
    """Hold back torch's log; when the training fails, it is printed after all.

    The C++ half of the profiler writes straight to descriptor 2, in the middle of the progress bar.
    """
    sys.stderr.flush()
    with os.fdopen(os.dup(2), "w") as console, tempfile.TemporaryFile() as log:
        os.dup2(log.fileno(), 2)
        try:
            yield console
        except BaseException:
            log.seek(0)
            console.write(log.read().decode(errors="replace"))
            raise
        finally:
            console.flush()
            os.dup2(console.fileno(), 2)


def _show(console: TextIO, done: int, steps: int) -> None:
    """Redraw the progress bar; without a terminal only one plain line at the end."""
    last = done == steps
    if last or console.isatty():
        bar = "#" * round(_BAR_WIDTH * done / steps)
        start, end = ("\r" if console.isatty() else ""), ("\n" if last else "")
        console.write(f"{start}Training [{bar:<{_BAR_WIDTH}}] {done}/{steps} steps{end}")
        console.flush()


if __name__ == "__main__":
    main()
