"""A process that answers requests and must not stall: windows by request count, saved by a child.

    python samples/serving.py --logdir log/serving

Every hundredth request opens a window of ten. Saving a window takes longer than answering, so a
forked child does it; the process itself only collects. (torch keeps a window in memory until then;
fork before CUDA is used, or leave the child out, if the server runs on a GPU.) In Trace, requests
are the ranges `request`; Overview treats each as a step.
"""

import os
import time
from pathlib import Path

import click
import torch
from torch import nn
from torch.profiler import profile, record_function, schedule

from kinetoscope.handlers import tensorboard_trace_handler


class SavedByAChild:
    """Hands a finished window to a forked child; at most one at a time."""

    def __init__(self, logdir: Path, worker_name: str | None) -> None:
        self.handler = tensorboard_trace_handler(logdir, worker_name, background=False)
        self.child = 0

    def __call__(self, prof: profile) -> None:
        self.wait()
        if not hasattr(os, "fork") or torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
            self.handler(prof)
            return
        self.child = os.fork()
        if not self.child:
            try:
                self.handler(prof)
            finally:
                os._exit(0)  # the child must run nothing else of the server

    def wait(self) -> None:
        if self.child:
            os.waitpid(self.child, 0)
            self.child = 0


def serve(logdir: Path, worker_name: str | None = None, requests: int = 250) -> list[float]:
    """Answer requests. Returns how long each took, in seconds."""
    torch.set_num_threads(1)
    model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10)).eval()
    save = SavedByAChild(logdir, worker_name)
    seconds = []
    with (
        torch.inference_mode(),
        profile(
            schedule=schedule(wait=89, warmup=1, active=10, repeat=2),
            on_trace_ready=save,
            record_shapes=True,
        ) as prof,
    ):
        for _ in range(requests):
            began = time.perf_counter()
            with record_function("request"):
                with record_function("preprocess"):
                    batch = torch.rand(4, 64)
                model(batch).argmax(dim=1).tolist()
            prof.step()
            seconds.append(time.perf_counter() - began)
    save.wait()
    return seconds


@click.command()
@click.option("--logdir", default="log/serving", show_default=True, type=Path)
@click.option("--worker-name", help="By default the host and the process number.")
def main(logdir: Path, worker_name: str | None) -> None:
    seconds = sorted(serve(logdir, worker_name))
    print(f"median {1e3 * seconds[len(seconds) // 2]:.2f} ms, longest {1e3 * seconds[-1]:.1f} ms")
    print(f"The traces are in {logdir}. To look at them: tensorboard --logdir {logdir.parent}")


if __name__ == "__main__":
    main()
