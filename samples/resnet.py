"""A small ResNet on pictures that are decoded while it trains: with 0 and with 4 loading processes.

    python samples/resnet.py --workers 0 --logdir log/resnet_workers0
    python samples/resnet.py --workers 4 --logdir log/resnet_workers4
    tensorboard --logdir log

Look at the DataLoader's share of the step in the Overview of both, then at their Diff.
"""

import time
from pathlib import Path

import click
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, relu
from torch.profiler import profile, schedule
from torch.utils.data import DataLoader, Dataset

from kinetoscope.handlers import tensorboard_trace_handler

BATCH = 16


class Pictures(Dataset[tuple[Tensor, int]]):
    """Random pictures that take as long as a small JPEG to read and decode."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        time.sleep(0.006)
        picture = torch.rand(3, 36, 36)
        return picture[:, 2:34, 2:34].sub(0.5), index % 10


class Block(nn.Module):
    """Two convolutions and a way around them."""

    def __init__(self, channels: int, filters: int, stride: int = 1) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, filters, 3, stride, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(filters)
        self.conv2 = nn.Conv2d(filters, filters, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(filters)
        self.around: nn.Module = nn.Identity()
        if stride > 1 or channels != filters:
            self.around = nn.Conv2d(channels, filters, 1, stride, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        y = relu(self.norm1(self.conv1(x)))
        return relu(self.norm2(self.conv2(y)) + self.around(x))


def resnet() -> nn.Sequential:
    """Four stages of one block, as in ResNet-10, a quarter as wide."""
    stages: list[nn.Module] = []
    channels = 16
    for number, filters in enumerate((16, 32, 64, 128)):
        stages.append(Block(channels, filters, stride=2 if number else 1))
        channels = filters
    stem = [nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU()]
    return nn.Sequential(*stem, *stages, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10))


def train(logdir: Path, workers: int, worker_name: str | None = None, steps: int = 8) -> None:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = resnet().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    batches = DataLoader(
        Pictures(steps * BATCH), BATCH, num_workers=workers, pin_memory=device == "cuda"
    )
    handler = tensorboard_trace_handler(logdir, worker_name, modules=model)
    with profile(
        schedule=schedule(wait=1, warmup=1, active=6, repeat=1),
        on_trace_ready=handler,
        record_shapes=True,
    ) as prof:
        for pictures, labels in batches:
            output = model(pictures.to(device, non_blocking=True))
            loss = cross_entropy(output, labels.to(device))
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            prof.step()
    handler.flush()


@click.command()
@click.option("--logdir", default="log/resnet", show_default=True, type=Path)
@click.option("--workers", default=0, show_default=True, help="Processes that load pictures.")
@click.option("--worker-name", help="By default the host and the process number.")
def main(logdir: Path, workers: int, worker_name: str | None) -> None:
    train(logdir, workers, worker_name)
    print(f"The trace is in {logdir}. To look at it: tensorboard --logdir {logdir.parent}")


if __name__ == "__main__":
    main()
