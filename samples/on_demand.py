"""A training that runs all night, and is looked at while it runs.

    python samples/on_demand.py --logdir log/on_demand &
    touch log/on_demand/record_now      # or: kill -USR2 %1
    tensorboard --logdir log

The window appears as a run of its own, a few seconds later, with the step numbers of the training.
"""

import signal
import time
from pathlib import Path

import click
import torch
from torch import nn

from kinetoscope.handlers import Recorder, recommended_config


def train(logdir: Path, seconds: float) -> None:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 1)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    logdir.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + seconds
    with Recorder(
        logdir,
        file=logdir / "record_now",
        signal=getattr(signal, "SIGUSR2", None),
        steps=4,
        profiler=recommended_config("what bounds my step"),
    ) as recorder:
        while time.monotonic() < end:
            loss = model(torch.rand(32, 64, device=device)).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            recorder.step()
            time.sleep(0.01)
    recorder.flush()


@click.command()
@click.option("--logdir", default="log/on_demand", show_default=True, type=Path)
@click.option("--seconds", default=20.0, show_default=True, help="How long to train.")
def main(logdir: Path, seconds: float) -> None:
    print(f"touch {logdir / 'record_now'} to record")
    train(logdir, seconds)


if __name__ == "__main__":
    main()
