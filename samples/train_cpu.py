"""Train a small network on the CPU and record six of its steps.

    python samples/train_cpu.py --logdir log/train_cpu
    tensorboard --logdir log          # then open the tab "PyTorch Profiler"

Three lines turn a training into a recorded one. They are marked with (1), (2) and (3).
"""

import time
from pathlib import Path

import click
import torch
from rich.progress import track
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.profiler import profile, schedule
from torch.utils.data import DataLoader, Dataset

from kinetoscope.handlers import tensorboard_trace_handler


class BrightCorners(Dataset[tuple[Tensor, int]]):
    """Pictures of noise with one bright corner. Which one is it?"""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        time.sleep(0.002)  # the busy disk that the Overview should find
        picture, corner = torch.rand(3, 32, 32), index % 4
        top, left = corner // 2 * 16, corner % 2 * 16
        picture[:, top : top + 16, left : left + 16] += 1
        return picture, corner


class CornerNet(nn.Module):
    """Two convolutions and a classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 32, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(32, 64, 3, padding=1),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(2),
        )
        self.classifier = nn.Linear(64 * 4, 4)

    def forward(self, pictures: Tensor) -> Tensor:
        logits: Tensor = self.classifier(self.features(pictures).flatten(1))
        return logits


def train(logdir: Path, recorded: int = 6, worker_name: str | None = None) -> None:
    model = CornerNet()
    optimizer = torch.optim.Adam(model.parameters())
    batches = DataLoader(BrightCorners((recorded + 6) * 32), batch_size=32)

    with profile(  # (1) around the training loop
        schedule=schedule(wait=1, warmup=1, active=recorded, repeat=1),
        on_trace_ready=tensorboard_trace_handler(logdir, worker_name),  # (2) where traces go
        record_shapes=True,
        profile_memory=True,
        with_stack=True,
    ) as prof:
        # A bar that refreshes itself would run, and be recorded, in a thread of its own.
        for pictures, corners in track(batches, "Training", auto_refresh=False):
            loss = cross_entropy(model(pictures), corners)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            prof.step()  # (3) at the end of each step


@click.command()
@click.option("--logdir", default="log/train_cpu", show_default=True, type=Path)
@click.option("--worker-name", help="By default the host and the process number.")
@click.option("--steps", default=6, show_default=True, help="Steps to record.")
def main(logdir: Path, worker_name: str | None, steps: int) -> None:
    train(logdir, steps, worker_name)
    print(f"The trace is in {logdir}. To look at it: tensorboard --logdir {logdir.parent}")


if __name__ == "__main__":
    main()
