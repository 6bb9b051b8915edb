"""A tiny training on the CPU with one problem at a time, recorded with stacks, shapes and memory.

    python -m tests.planted.training slow_loader log/slow_loader

``PROBLEMS`` names them; ``none`` is the same training without any. Each problem is one function (or
one method) below, and that function is what the first finding has to name.
"""

from __future__ import annotations

import gc
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, gelu
from torch.profiler import ProfilerActivity, profile, schedule
from torch.utils.data import DataLoader, Dataset

from kinetoscope.handlers import tensorboard_trace_handler

BATCH, WIDTH, CLASSES, LAYERS = 256, 256, 16, 4
STEPS = 6
"""Recorded ones; two more come before."""


class Network(nn.Module):
    """A few layers wide enough that their products take most of a step."""

    def __init__(self, layers: int = LAYERS, width: int = WIDTH) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.head = nn.Linear(width, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = gelu(layer(x))
        out: Tensor = self.head(x)
        return out


class SlowDataset(Dataset[tuple[Tensor, Tensor]]):
    """Samples that come from a slow disk."""

    def __len__(self) -> int:
        return 16 * (STEPS + 4)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        time.sleep(0.002)
        return torch.rand(WIDTH), torch.tensor(index % CLASSES)


class ReadyBatches(Dataset[tuple[Tensor, Tensor]]):
    """The same in batches that are there already."""

    def __init__(self) -> None:
        self.batch = torch.rand(16, WIDTH), torch.arange(16) % CLASSES

    def __len__(self) -> int:
        return STEPS + 4

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        return self.batch


def decode(text: str) -> Tensor:
    """Decoding in pure Python."""
    numbers = []
    for at in range(0, len(text), 2):
        numbers.append(int(text[at : at + 2], 16) / 255)  # noqa: PERF401  # the planted loop
    return torch.tensor(numbers)


def read_values(losses: Tensor) -> float:
    """Reads every value of a tensor for itself."""
    total = 0.0
    for loss in losses:
        total += loss.item()
    return total


def print_losses(losses: Tensor) -> None:
    """Prints a tensor in every step."""
    with open(os.devnull, "w", encoding="utf-8") as out:
        print(losses, file=out)


def collect_garbage() -> None:
    """Collects garbage by hand."""
    gc.collect()


def convert(x: Tensor) -> Tensor:
    """Converts back and forth."""
    for _ in range(150):
        x = x.double().float()
    return x


def tiny_ops(x: Tensor) -> Tensor:
    """Works on scalars, one op each."""
    scale = torch.ones(())
    for _ in range(1500):
        scale = scale * 0.999 + 0.001
    return x * scale


def one_by_one(model: nn.Module, x: Tensor) -> Tensor:
    """Runs the model sample by sample."""
    rows = []
    for sample in x:
        rows.append(model(sample.unsqueeze(0)))  # noqa: PERF401  # the planted loop
    return torch.cat(rows)


def wait_for_lock(lock: threading.Lock) -> None:
    """Waits for a lock that a thread of the background has just taken."""
    with lock:
        pass


def keep_history(history: list[Tensor], x: Tensor) -> None:
    """Keeps a tensor of every step."""
    history.append(torch.cat([x] * 16))


class Holder(threading.Thread):
    """Takes a lock whenever it is told to, and holds it."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.lock = threading.Lock()
        self.go, self.held = threading.Event(), threading.Event()
        self.seconds = 0.0

    def take_for(self, seconds: float) -> None:
        """Returns when the lock is held; it is for so long."""
        self.seconds = seconds
        self.held.clear()
        self.go.set()
        self.held.wait()

    def run(self) -> None:
        while self.go.wait():
            self.go.clear()
            with self.lock:
                self.held.set()
                time.sleep(self.seconds)


class Training:
    """The training; ``problem`` is the name of what is planted, or ``none``.

    ``repaired``: the same data and network, without the problem.
    """

    def __init__(self, problem: str, repaired: bool) -> None:
        self.data, self.problem = problem, "none" if repaired else problem
        layers, width = (40, 32) if problem == "loop_optimizer" else (LAYERS, WIDTH)
        self.model: nn.Module = Network(layers, width)
        self.width = width
        loops = self.problem == "loop_optimizer"
        options: dict[str, Any] = {"foreach": False, "fused": False} if loops else {"fused": True}
        self.optimizer = torch.optim.Adam(self.model.parameters(), **options)
        self.history: list[Tensor] = []
        self.cpu_seconds: list[float] = []  # of the main thread, by step
        self.holder = Holder()
        self.junk: list[Any] = [{"at": [at]} for at in range(60_000)]
        cores = len(os.sched_getaffinity(0))
        if problem == "threads":
            torch.set_num_threads(cores if repaired else 8 * cores)
        if self.problem == "recompilation":
            self.model = torch.compile(self.model, backend="eager", dynamic=False)  # type: ignore[assignment]
            torch._dynamo.config.cache_size_limit = 64
            torch._dynamo.config.accumulated_cache_size_limit = 64

    def batches(self) -> Iterator[tuple[Tensor, Tensor]]:
        """Batches: made ahead, or by the slow loader."""
        if self.data == "slow_loader":
            slow = self.problem == "slow_loader"
            yield from (
                DataLoader(SlowDataset(), batch_size=16)
                if slow
                else DataLoader(ReadyBatches(), batch_size=None)
            )
            return
        x, y = torch.rand(BATCH, self.width), torch.randint(0, CLASSES, (BATCH,))
        text = "7f" * (WIDTH * 64)
        for at in range(STEPS + 4):
            if self.problem == "decoding":
                x = decode(text).reshape(64, WIDTH).repeat(4, 1)
            if self.data == "recompilation":
                yield x[: BATCH - at], y[: BATCH - at]
            else:
                yield x, y

    def step(self, x: Tensor, y: Tensor) -> None:
        """One step, with what is planted."""
        problem, began = self.problem, time.perf_counter()
        if problem == "conversion":
            x = convert(x)
        if problem == "tiny_ops":
            x = tiny_ops(x)
        if self.data == "per_sample":
            x, y = x[:64], y[:64]
        out = one_by_one(self.model, x) if problem == "per_sample" else self.model(x)
        losses = cross_entropy(out, y, reduction="none")
        if problem == "item":
            read_values(losses.repeat(8))
        if problem == "prints":
            print_losses(out)
        if problem == "garbage":
            collect_garbage()
        if problem == "lock":
            # On a busy machine the step takes longer, and so does this.
            self.holder.take_for(max(0.05, 3 * (time.perf_counter() - began)))
            wait_for_lock(self.holder.lock)
        if problem == "leak":
            keep_history(self.history, x)
        self.optimizer.zero_grad()
        losses.mean().backward()  # type: ignore[no-untyped-call]
        self.optimizer.step()

    def run(self, each: Callable[[], None]) -> None:
        """All steps; ``each`` is called after every one."""
        if self.problem == "lock":
            self.holder.start()
        before = time.thread_time()
        for at, (x, y) in enumerate(self.batches()):
            if at == STEPS + 2:
                break
            self.step(x, y)
            self.cpu_seconds.append(time.thread_time() - before)
            each()
            before = time.thread_time()


FOUND: dict[str, tuple[str, str]] = {
    # problem: (rule of the first finding, what its evidence names)
    "slow_loader": ("IN1", "__getitem__"),
    "item": ("SY1", "read_values"),
    "loop_optimizer": ("OP1", "_single_tensor_adam"),
    "conversion": ("DT4", "convert"),
    "prints": ("SY3", "print_losses"),
    "garbage": ("LA3", "collect_garbage"),
    "tiny_ops": ("LA2", "tiny_ops"),
    "threads": ("CPU1", ""),
    "recompilation": ("CP1", "step"),
    "decoding": ("PY1", "decode"),
    "lock": ("PY2", "wait_for_lock"),
    "per_sample": ("OP4", "one_by_one"),
    "leak": ("ME3", "keep_history"),
}
"""What each planted problem has to be found as."""
REPAIRED = "-repaired"
"""Behind the name of a problem: the same training without it."""


def record(name: str, folder: Path) -> tuple[Path, float]:
    """Runs the training and records it.

    Returns the trace, and the CPU seconds of the main thread in the cheapest recorded step, which
    other programs do not lengthen.
    """
    problem, repaired = name.removesuffix(REPAIRED), name.endswith(REPAIRED)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    training = Training(problem, repaired)
    save = tensorboard_trace_handler(folder)
    paths: list[Path] = []

    def keep(prof: Any) -> None:
        if (path := save(prof)) is not None:
            paths.append(path)

    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=1, warmup=1, active=STEPS),
        on_trace_ready=keep,
        record_shapes=True,
        profile_memory=True,
        with_stack=True,
    ) as prof:
        training.run(prof.step)
    return paths[0], min(training.cpu_seconds[2:])


def main() -> None:
    """Records the problems named first, with commas, below the folder named second."""
    names, folder = sys.argv[1:3]
    for problem in names.split(","):
        path, seconds = record(problem, Path(folder, problem))
        told = {"problem": problem, "trace": str(path), "cpu_seconds": seconds}
        sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main()
