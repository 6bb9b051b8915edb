"""Record a compiled network with one graph break and one recompilation.

    python samples/compiled.py --logdir log/compiled
    tensorboard --logdir log          # then open Compile, or: kinetoscope show compile log/compiled

One batch is smaller, so torch compiles once more; a `print` in `forward` breaks the graph. Compile
names both lines. The first compilations are warm-up, before the recording.
"""

import os

os.environ.setdefault("TORCHINDUCTOR_CPP_ENABLE_KERNEL_PROFILE", "1")  # kernels in C++ leave events

from pathlib import Path

import click
import torch
from torch import Tensor, nn
from torch.profiler import profile, schedule

from kinetoscope.handlers import tensorboard_trace_handler


class Chatty(nn.Module):
    """Two layers, and a line that cannot be compiled between them."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(64, 256), nn.Linear(256, 8)

    def forward(self, pictures: Tensor) -> Tensor:
        hidden = torch.tanh(self.first(pictures)) * 0.5 + 0.5
        print("hidden", tuple(hidden.shape))  # the graph breaks here
        logits: Tensor = self.second(hidden.sin() - hidden.mean())
        return logits.softmax(-1)


def run(logdir: Path, worker_name: str | None = None) -> None:
    """Nine batches, of which six are recorded and one of these is smaller."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = torch.compile(Chatty().eval())
    handler = tensorboard_trace_handler(
        logdir, worker_name=worker_name, compile="lines", background=False
    )
    with (
        torch.no_grad(),
        profile(
            schedule=schedule(wait=2, warmup=1, active=6, repeat=1),
            on_trace_ready=handler,
        ) as prof,
    ):
        for step in range(9):
            model(torch.randn(24 if step == 6 else 32, 64))
            prof.step()


@click.command()
@click.option("--logdir", type=click.Path(path_type=Path), default=Path("log/compiled"))
@click.option("--worker-name", help="Names this process in the trace.")
def main(logdir: Path, worker_name: str | None) -> None:
    """Record a compiled network."""
    run(logdir, worker_name)


if __name__ == "__main__":
    main()
