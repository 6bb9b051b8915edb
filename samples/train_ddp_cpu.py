"""Train in two processes that average their gradients, and record both.

    python samples/train_ddp_cpu.py --logdir log/train_ddp_cpu
    tensorboard --logdir log          # then open the tab "PyTorch Profiler"

Rank 1 gets its data later than rank 0, so rank 0 waits for it in each `gloo:all_reduce`: the
Distributed view should name rank 1 as the straggler.
"""

import tempfile
import time
from pathlib import Path

import click
import torch
import torch.distributed as dist
from torch import nn
from torch.multiprocessing.spawn import spawn
from torch.nn.functional import mse_loss
from torch.nn.parallel import DistributedDataParallel
from torch.profiler import profile, schedule

from kinetoscope.handlers import tensorboard_trace_handler

READ_SECONDS = {0: 0.005, 1: 0.03}
"""How long each rank waits for its data."""


def train(rank: int, world_size: int, logdir: Path, rendezvous: Path) -> None:
    """One process of the training. The trace is named after its rank."""
    dist.init_process_group(
        "gloo", init_method=rendezvous.as_uri(), rank=rank, world_size=world_size
    )
    torch.set_num_threads(1)  # the ranks share one machine
    layers = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 256))
    model = DistributedDataParallel(layers)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    with profile(
        schedule=schedule(wait=1, warmup=1, active=6, repeat=1),
        on_trace_ready=tensorboard_trace_handler(logdir, f"rank{rank}"),
        record_shapes=True,
        with_stack=True,
    ) as prof:
        for step in range(10):
            time.sleep(READ_SECONDS.get(rank, 0))
            batch = torch.rand(64, 256)
            optimizer.zero_grad()
            loss = mse_loss(model(batch), batch)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            prof.step()
            if rank == 0:
                print(f"\rTraining {step + 1}/10", end="", flush=True)

    dist.destroy_process_group()


@click.command()
@click.option("--logdir", default="log/train_ddp_cpu", show_default=True, type=Path)
@click.option("--ranks", default=2, show_default=True, type=click.IntRange(1))
def main(logdir: Path, ranks: int) -> None:
    with tempfile.TemporaryDirectory() as meeting_point:
        rendezvous = Path(meeting_point).resolve() / "rendezvous"
        spawn(train, (ranks, logdir, rendezvous), ranks)  # type: ignore[no-untyped-call]
    print(f"\nThe traces are in {logdir}. To look at them: tensorboard --logdir {logdir.parent}")


if __name__ == "__main__":
    main()
