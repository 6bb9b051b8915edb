"""Planted trainings that no rule was made with: other models, sizes and lines than the first ones.

Each entry of ``HELD_OUT`` makes a step, and names the rules that may come first, and the function
to name. Without stacks, ``plain`` are these rules: rows of short ops are true of a loop whatever it
is for. Where ``plain`` is empty, such a recording does not show the problem.
"""

from __future__ import annotations

import gc
import io
import json
import logging
import queue
import re
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, mse_loss
from torch.utils.data import DataLoader, Dataset

from tests.planted.habits import Step


class Case(NamedTuple):
    """A planted training. ``rules`` may come first, and ``frame`` ends the name of its frame."""

    make: Callable[[], Step]
    rules: tuple[str, ...]
    frame: str = ""
    plain: tuple[str, ...] = ()


def convolutions(width: int = 24, classes: int = 10) -> nn.Sequential:
    """A small network for images of 3 channels."""
    return nn.Sequential(
        nn.Conv2d(3, width, 3, padding=1),
        nn.ReLU(),
        nn.Conv2d(width, width, 3, padding=1, stride=2),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(width, classes),
    )


def layers(count: int, width: int) -> nn.Sequential:
    """Linear layers that keep their width."""
    return nn.Sequential(*(nn.Sequential(nn.Linear(width, width), nn.Tanh()) for _ in range(count)))


def stepped(
    model: nn.Module, optimizer: torch.optim.Optimizer | None = None
) -> Callable[..., None]:
    """One update with a mean squared error, or cross entropy of classes."""
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=0.01, fused=True)

    def update(x: Tensor, y: Tensor, before: Callable[[], object] | None = None) -> None:
        optimizer.zero_grad()
        out = model(x)
        loss = mse_loss(out, y) if y.is_floating_point() else cross_entropy(out, y)
        loss.backward()  # type: ignore[no-untyped-call]
        if before is not None:
            before()
        optimizer.step()

    return update


def images(count: int = 16, size: int = 32) -> tuple[Tensor, Tensor]:
    return torch.rand(count, 3, size, size), torch.randint(0, 10, (count,))


# --- Python and ops of the user's code ------------------------------------------------------------


class Unrolled(nn.Module):
    """A recurrent cell that is called once for each instant."""

    def __init__(self) -> None:
        super().__init__()
        self.cell, self.head = nn.GRUCell(24, 32), nn.Linear(32, 24)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.unroll(x))  # type: ignore[no-any-return]

    def unroll(self, x: Tensor) -> Tensor:
        """The state after the last instant."""
        state = torch.zeros(len(x), 32)
        for at in range(x.shape[1]):
            state = self.cell(x[:, at], state)
        return state


def unrolled() -> Step:
    update = stepped(Unrolled())
    x, y = torch.rand(8, 200, 24), torch.rand(8, 24)
    return lambda: update(x, y)


def augment(x: Tensor) -> Tensor:
    """Turns each image by itself."""
    return torch.stack([one.flip(2).roll(at % 5, 1) * 0.9 + 0.05 for at, one in enumerate(x)])


def augmenting() -> Step:
    update, (x, y) = stepped(nn.Sequential(nn.Flatten(), nn.Linear(192, 10))), images(300, 8)
    return lambda: update(augment(x), y)


def count_right(out: Tensor, y: Tensor) -> int:
    """Counts right answers, one after another."""
    return sum(int(out[at].argmax().item() == y[at].item()) for at in range(len(y)))


def counting() -> Step:
    model, (x, y) = layers(3, 64), (torch.rand(400, 64), torch.randint(0, 64, (400,)))
    update = stepped(model)

    def step() -> None:
        update(x, y)
        with torch.no_grad():
            count_right(model(x), y)

    return step


def clean(text: str) -> list[int]:
    """Numbers of the letters of a text."""
    words = re.sub(r"[^a-z ]", "", text.lower()).split(" ")
    return [sum(ord(letter) for letter in word) % 97 for word in words]


def cleaning() -> Step:
    update, texts = stepped(layers(2, 48)), ["Some Words, and More: of a Text! " * 30] * 60

    def step() -> None:
        rows = [clean(text)[:48] for text in texts]
        update(torch.tensor(rows, dtype=torch.float32) / 97, torch.rand(60, 48))

    return step


def normalise_rows(rows: list[list[float]]) -> list[list[float]]:
    """Moves rows of numbers to a mean of nothing."""
    found = []
    for row in rows:
        mean = sum(row) / len(row)
        found.append([one - mean for one in row])
    return found


def normalising() -> Step:
    update, rows = stepped(layers(2, 64)), torch.rand(500, 64).tolist()
    x, y = torch.rand(64, 64), torch.rand(64, 64)
    return lambda: update(x + len(normalise_rows(rows)) * 0.0, y)


def grow(rows: Tensor) -> Tensor:
    """Appends row after row to a tensor."""
    out = rows[:0]
    for row in rows:
        out = torch.cat([out, row[None]])
    return out


def growing() -> Step:
    update = stepped(layers(2, 96))
    x, y = torch.rand(400, 96), torch.rand(400, 96)
    return lambda: update(grow(x), y)


# --- around the optimizer -------------------------------------------------------------------------


def norm_of(model: nn.Module) -> float:
    """The norm of all gradients, read one by one."""
    total = 0.0
    for one in model.parameters():
        if one.grad is not None:
            total += float(one.grad.norm().item()) ** 2
    return float(total**0.5)


def norms() -> Step:
    model = layers(60, 96)
    update, x, y = stepped(model), torch.rand(64, 96), torch.rand(64, 96)
    return lambda: update(x, y, lambda: norm_of(model))


def decay(model: nn.Module) -> None:
    """Shrinks each weight by itself."""
    with torch.no_grad():
        for one in model.parameters():
            for _ in range(4):
                one.sub_(one * 1e-4).clamp_(-4, 4)


def decaying() -> Step:
    model = layers(60, 96)
    update, x, y = stepped(model), torch.rand(64, 96), torch.rand(64, 96)
    return lambda: update(x, y, lambda: decay(model))


def rmsprop() -> Step:
    model = layers(60, 64)
    update = stepped(model, torch.optim.RMSprop(model.parameters(), foreach=False, momentum=0.9))
    x, y = torch.rand(64, 64), torch.rand(64, 64)
    return lambda: update(x, y)


class Trainer:
    """A training that tidies up and writes itself down."""

    def __init__(self, model: nn.Module) -> None:
        self.model, self.update = model, stepped(model)
        self.kept: list[Tensor] = []
        self.objects = [[at] for at in range(40_000)]

    def tidy(self) -> None:
        """Frees what nobody uses."""
        gc.collect()

    def save(self) -> None:
        """Writes the model down."""
        for _ in range(4):
            torch.save(self.model.state_dict(), io.BytesIO())

    def remember(self, x: Tensor) -> None:
        """Keeps the answers."""
        self.kept.append(self.model(x).repeat(32, 1))

    def evaluate(self, x: Tensor, y: Tensor) -> float:
        """The share of right answers."""
        right = 0
        with torch.no_grad():
            for rows, labels in zip(torch.split(x, 16), torch.split(y, 16), strict=True):
                right += int((self.model(rows).argmax(1) == labels).sum())
        return right / len(y)


def tidying() -> Step:
    trainer, (x, y) = Trainer(convolutions(8)), images(8)

    def step() -> None:
        trainer.update(x, y)
        trainer.tidy()

    return step


def saving() -> Step:
    trainer = Trainer(layers(40, 64))
    x, y = torch.rand(16, 64), torch.rand(16, 64)

    def step() -> None:
        trainer.update(x, y)
        trainer.save()

    return step


def remembering() -> Step:
    trainer = Trainer(layers(3, 128))
    x, y = torch.rand(256, 128), torch.rand(256, 128)

    def step() -> None:
        trainer.update(x, y)
        trainer.remember(x)

    return step


def evaluating() -> Step:
    trainer, (x, y), held = Trainer(convolutions(16)), images(16), images(96)

    def step() -> None:
        trainer.update(x, y)
        trainer.evaluate(*held)

    return step


_LOG = logging.getLogger("planted")
_LOG.addHandler(logging.StreamHandler(io.StringIO()))
_LOG.propagate = False


def log_state(model: nn.Module) -> None:
    """Logs the weights."""
    for one in model.parameters():
        _LOG.warning("weight %s", one)


def logging_weights() -> Step:
    model = layers(6, 48)
    update, x, y = stepped(model), torch.rand(64, 48), torch.rand(64, 48)

    def step() -> None:
        update(x, y)
        log_state(model)

    return step


# --- numbers, gradients, compilation, threads -----------------------------------------------------


class Turning(nn.Module):
    """Layers around which numbers are made shorter and longer again."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.ModuleList(nn.Linear(96, 96) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.inner:
            for _ in range(12):
                x = x.to(torch.bfloat16).to(torch.float32)
            x = layer(x)
        return x


def turning() -> Step:
    update, x, y = stepped(Turning()), torch.rand(1024, 96), torch.rand(1024, 96)
    return lambda: update(x, y)


def double_images() -> Step:
    update, (x, y) = stepped(convolutions(16).double()), images(16)
    x = x.double()
    return lambda: update(x, y)


class Table(nn.Module):
    """A table of items of which few are looked up."""

    def __init__(self) -> None:
        super().__init__()
        self.items, self.head = nn.EmbeddingBag(90_000, 32), nn.Linear(32, 8)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.items(x))  # type: ignore[no-any-return]


def dense_table() -> Step:
    model = Table()
    update = stepped(model, torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9))
    x, y = torch.randint(0, 90_000, (64, 8)), torch.randint(0, 8, (64,))
    return lambda: update(x, y)


def frozen_images() -> Step:
    model = convolutions(32)
    update = stepped(model, torch.optim.SGD(model[-1].parameters(), lr=0.1))
    x, y = images(16)
    return lambda: update(x, y)


def anomalous() -> Step:
    update, x, y = stepped(layers(40, 32)), torch.rand(16, 32), torch.rand(16, 32)

    def step() -> None:
        with torch.autograd.set_detect_anomaly(True):
            update(x, y)

    return step


def recompiling() -> Step:
    model = torch.compile(layers(3, 32), backend="eager", dynamic=False)
    update = stepped(model)  # type: ignore[arg-type]
    torch._dynamo.config.cache_size_limit = 64
    lengths = iter(range(20, 60))

    def step() -> None:
        count = next(lengths)
        update(torch.rand(count, 32), torch.rand(count, 32))

    return step


# --- data -----------------------------------------------------------------------------------------


class Records(Dataset[Tensor]):
    """Records of JSON that are read when they are asked for."""

    def __init__(self) -> None:
        self.texts = [json.dumps({"values": [at / 7] * 64, "note": "x" * 2000}) for at in range(32)]

    def __len__(self) -> int:
        return 32 * 40

    def __getitem__(self, index: int) -> Tensor:
        record = [json.loads(self.texts[index % 32]) for _ in range(6)][0]  # noqa: RUF015
        return torch.tensor(record["values"])


def records() -> Step:
    update, data = stepped(layers(2, 64)), iter(DataLoader(Records(), 32))
    return lambda: update(next(data), torch.rand(32, 64))


def pad_batch(rows: list[list[int]]) -> Tensor:
    """Makes rows equally long, in Python."""
    longest = max(map(len, rows))
    return torch.tensor([[one % 5 for one in row] + [0] * (longest - len(row)) for row in rows])


class Ragged(Dataset[list[int]]):
    """Rows of different lengths."""

    def __len__(self) -> int:
        return 64 * 40

    def __getitem__(self, index: int) -> list[int]:
        return [index] * (200 + index % 7 if index % 64 else 256)


def padding() -> Step:
    update = stepped(nn.Linear(256, 8))
    data = iter(DataLoader(Ragged(), 64, collate_fn=pad_batch))
    return lambda: update(next(data).float(), torch.rand(64, 8))


class Far(Dataset[Tensor]):
    """Rows from a slow store."""

    def __len__(self) -> int:
        return 8 * 40

    def __getitem__(self, index: int) -> Tensor:
        time.sleep(0.02)
        return torch.full((32,), index / 400)


def one_worker() -> Step:
    update, data = stepped(layers(2, 32)), iter(DataLoader(Far(), 8, num_workers=1))
    return lambda: update(next(data), torch.rand(8, 32))


def next_batch(batches: queue.Queue[Tensor]) -> Tensor:
    """The next batch of another thread."""
    return batches.get()


def queueing() -> Step:
    update, batches = stepped(layers(2, 32)), queue.Queue[Tensor](1)

    def feed() -> None:
        for _ in range(40):
            time.sleep(0.12)
            batches.put(torch.rand(8, 32))

    threading.Thread(target=feed, daemon=True).start()
    return lambda: update(next_batch(batches), torch.rand(8, 32))


# --- nothing planted ------------------------------------------------------------------------------


class Recurrent(nn.Module):
    """A recurrent network in one op."""

    def __init__(self) -> None:
        super().__init__()
        self.inner, self.head = nn.LSTM(64, 128, 2, batch_first=True), nn.Linear(128, 8)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.inner(x)[0][:, -1])  # type: ignore[no-any-return]


def healthy_recurrent() -> Step:
    update, x, y = stepped(Recurrent()), torch.rand(32, 64, 64), torch.randint(0, 8, (32,))
    return lambda: update(x, y)


def healthy_encoder() -> Step:
    layer = nn.TransformerEncoderLayer(128, 4, 256, dropout=0.0, batch_first=True)
    model = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
    update, x = stepped(model), torch.rand(16, 64, 128)
    return lambda: update(x, x)


def healthy_wide() -> Step:
    model = layers(3, 768)
    update = stepped(model, torch.optim.AdamW(model.parameters(), fused=True))
    x, y = torch.rand(128, 768), torch.rand(128, 768)
    return lambda: update(x, y)


LOOPS = ("LA2", "OP4", "FN1", "SY1")
HELD_OUT: dict[str, Case] = {
    "unrolled": Case(unrolled, LOOPS, "unroll", LOOPS),
    "augmenting": Case(augmenting, LOOPS, "augment", LOOPS),
    "counting": Case(counting, ("SY1", "FN1", "LA2"), "count_right", ("SY1", "LA2")),
    "cleaning": Case(cleaning, ("PY1",), "clean"),
    "normalising": Case(normalising, ("PY1",), "normalise_rows"),
    "growing": Case(growing, ("DT4", *LOOPS), "grow", ("DT4", *LOOPS)),
    "norms": Case(norms, LOOPS, "norm_of", LOOPS),
    "decaying": Case(decaying, LOOPS, "decay", LOOPS),
    "rmsprop": Case(rmsprop, ("OP1",), "_single_tensor_rmsprop", ("OP1",)),
    "tidying": Case(tidying, ("LA3",), "tidy"),
    "saving": Case(saving, ("PY1", "FN1", "LA2"), "save", ("LA2",)),
    "remembering": Case(remembering, ("ME3", "FN1"), "remember", ("ME3", "FN1")),
    "evaluating": Case(evaluating, ("FN1",), "evaluate", ("FN1",)),
    "logging_weights": Case(logging_weights, ("SY3",), "log_state", ("LA2",)),
    "turning": Case(turning, ("DT4",), "forward", ("DT4",)),
    "double_images": Case(double_images, ("DT5",), "", ("DT5",)),
    "dense_table": Case(dense_table, ("AG3",), "", ("AG3",)),
    "frozen_images": Case(frozen_images, ("AG2",), "", ("AG2",)),
    "anomalous": Case(anomalous, ("AG1",), "", ("AG1",)),
    "recompiling": Case(recompiling, ("CP1",), "", ("CP1",)),
    "records": Case(records, ("IN1",), "__getitem__", ("IN1",)),
    "padding": Case(padding, ("IN1",), "pad_batch", ("IN1",)),
    "one_worker": Case(one_worker, ("IN1",), "", ("IN1",)),
    "queueing": Case(queueing, ("PY3", "IN7", "IN1"), "next_batch"),
    "healthy_recurrent": Case(healthy_recurrent, ()),
    "healthy_encoder": Case(healthy_encoder, ()),
    "healthy_wide": Case(healthy_wide, ()),
}
