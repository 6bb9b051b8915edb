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
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, gelu
from torch.profiler import ProfilerActivity, profile, schedule
from torch.utils.data import DataLoader, Dataset

from kinetoscope.handlers import tensorboard_trace_handler
from tests.planted.habits import HABITS, HEALTHY, Step
from tests.planted.held_out import HELD_OUT

BATCH, WIDTH, CLASSES, LAYERS = 256, 256, 16, 4
STEPS = 6
"""Recorded ones, unless another number is asked for; two more come before."""
MOST_STEPS = 12


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
        return 16 * MOST_STEPS

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        time.sleep(0.002)
        return torch.rand(WIDTH), torch.tensor(index % CLASSES)


class ReadyBatches(Dataset[tuple[Tensor, Tensor]]):
    """The same in batches that are there already."""

    def __init__(self) -> None:
        self.batch = torch.rand(16, WIDTH), torch.arange(16) % CLASSES

    def __len__(self) -> int:
        return MOST_STEPS

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
        for at in range(MOST_STEPS):
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

    def steps(self) -> Iterator[None]:
        """Runs one step after another."""
        if self.problem == "lock":
            self.holder.start()
        for x, y in self.batches():
            self.step(x, y)
            yield


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
    "anomaly": ("AG1", ""),
    "float64": ("DT5", ""),
    "dense_embedding": ("AG3", ""),
    "unused_gradients": ("AG2", ""),
    "tokenising": ("PY1", "tokenise"),
    "respawning": ("IN6", ""),
    "too_many_workers": ("IN1", ""),
    "average_loop": ("LA2", "update_average"),
    "clipping_loop": ("LA2", "clip_each"),
    "list_to_tensor": ("PY1", "from_list"),
    "permuting": ("DT4", "forward"),
    "validating": ("FN1", "validate"),
    "heavy_profiler": ("PR2", ""),
}
"""What each planted problem has to be found as, with stacks; "": its evidence names no frame."""
UNSEEN = {
    "prints", "garbage", "decoding", "lock", "tokenising", "list_to_tensor", "heavy_profiler",
}  # fmt: skip
"""Problems that a recording without stacks does not show: it has nothing to say of them."""
OTHERWISE = {"per_sample": "LA2"}
"""The rule that finds a problem without stacks, where it is another one."""
REPAIRED = "-repaired"
"""Behind the name of a problem: the same training without it."""


class Recording(NamedTuple):
    """How a training is recorded."""

    stacks: bool = True
    steps: int = STEPS


WITH_STACKS = Recording()


def step_of(problem: str, repaired: bool) -> Step:
    """The step of one training."""
    if problem in HEALTHY:
        return HEALTHY[problem]()
    if problem in HELD_OUT:
        return HELD_OUT[problem].make()
    if problem in HABITS:
        return HABITS[problem](repaired)
    training = Training(problem, repaired)
    return training.steps().__next__


def record(name: str, folder: Path, how: Recording = WITH_STACKS) -> tuple[Path, float]:
    """Runs the training and records it.

    Returns the trace, and the CPU seconds of the main thread in the cheapest recorded step, which
    other programs do not lengthen.
    """
    problem, repaired = name.removesuffix(REPAIRED), name.endswith(REPAIRED)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    torch.autograd.set_detect_anomaly(False)
    step = step_of(problem, repaired)
    save = tensorboard_trace_handler(folder)
    paths: list[Path] = []
    spent: list[float] = []

    def keep(prof: Any) -> None:
        if (path := save(prof)) is not None:
            paths.append(path)

    with profile(
        activities=[ProfilerActivity.CPU],
        schedule=schedule(wait=1, warmup=1, active=how.steps),
        on_trace_ready=keep,
        record_shapes=True,
        profile_memory=True,
        with_stack=how.stacks,
    ) as prof:
        for _ in range(how.steps + 2):
            before = time.thread_time()
            step()
            spent.append(time.thread_time() - before)
            prof.step()
    save.flush()
    return paths[0], min(spent[2:])


def told(name: str, folder: Path, how: Recording) -> None:
    """Records one training and prints where, with its CPU seconds, as a line of JSON."""
    path, seconds = record(name, folder, how)
    line = {"problem": name, "trace": str(path), "cpu_seconds": seconds}
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def how_of(words: list[str]) -> Recording:
    """How to record, by the number of steps and ``plain`` (no stacks)."""
    steps = next((int(one) for one in words if one.isdigit()), STEPS)
    return Recording("plain" not in words, steps)


def main() -> None:
    """Records the problems named first, with commas, below the folder named second.

    Behind them may stand the number of steps, and ``plain`` for a recording without stacks. Without
    arguments each line of the standard input is one recording, in a process of its own, which has
    torch from this one: ``NAME STEPS [plain] FOLDER``.
    """
    if len(sys.argv) > 1:
        names, folder, *more = sys.argv[1:]
        for name in names.split(","):
            told(name, Path(folder, name), how_of(more))
        return
    import torch._dynamo  # noqa: F401  # optimizers import it

    for line in sys.stdin:
        name, *more = line.split(maxsplit=3 if " plain " in line else 2)
        folder, each = more.pop().strip(), how_of(more)
        child = get_context("fork").Process(target=told, args=(name, Path(folder), each))
        child.start()
        child.join()
        if child.exitcode:
            sys.exit(child.exitcode)


if __name__ == "__main__":
    main()
