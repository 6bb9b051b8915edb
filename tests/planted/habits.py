"""More trainings with one planted habit each, and healthy ones, as functions of one step.

``HABITS[name](repaired)`` makes a training and returns its step; ``HEALTHY[name]()`` does the same
for a training that nothing is wrong with.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, scaled_dot_product_attention
from torch.utils.data import DataLoader, Dataset

Step = Callable[[], object]


class Layers(nn.Module):
    """Linear layers with activations between them."""

    def __init__(self, count: int, width: int, classes: int = 16) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(width, width) for _ in range(count))
        self.head = nn.Linear(width, classes)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            x = torch.relu(layer(x))
        out: Tensor = self.head(x)
        return out


def trained(model: nn.Module, parameters: Any = None, **options: Any) -> Callable[..., Tensor]:
    """One update of a model by a fused optimizer."""
    chosen = model.parameters() if parameters is None else parameters
    optimizer = torch.optim.AdamW(chosen, fused=True, **options)

    def update(x: Tensor, y: Tensor, clip: Callable[[], None] | None = None) -> Tensor:
        optimizer.zero_grad()
        loss = cross_entropy(model(x), y)
        loss.backward()  # type: ignore[no-untyped-call]
        if clip is not None:
            clip()
        optimizer.step()
        return loss.detach()

    return update


def batch(count: int, width: int, classes: int = 16) -> tuple[Tensor, Tensor]:
    """Random inputs with labels."""
    return torch.rand(count, width), torch.randint(0, classes, (count,))


# --- planted --------------------------------------------------------------------------------------


def anomaly(repaired: bool) -> Step:
    """Anomaly detection was left on after a search for NaN."""
    torch.autograd.set_detect_anomaly(not repaired)
    update, data = trained(Layers(30, 128)), batch(128, 128)
    return lambda: update(*data)


def float64(repaired: bool) -> Step:
    """A model in double precision, because its data came from numpy."""
    dtype = torch.float32 if repaired else torch.float64
    update, (x, y) = trained(Layers(6, 512).to(dtype)), batch(256, 512)
    x = x.to(dtype)
    return lambda: update(x, y)


class Words(nn.Module):
    """A large embedding of which a step reads a few rows."""

    def __init__(self, sparse: bool) -> None:
        super().__init__()
        self.embedding = nn.Embedding(60_000, 64, sparse=sparse)
        self.head = nn.Linear(64, 16)

    def forward(self, words: Tensor) -> Tensor:
        out: Tensor = self.head(self.embedding(words).mean(1))
        return out


def dense_embedding(repaired: bool) -> Step:
    """The gradient of an embedding is as large as the embedding."""
    model = Words(sparse=repaired)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    words, y = torch.randint(0, 60_000, (128, 16)), torch.randint(0, 16, (128,))

    def step() -> None:
        optimizer.zero_grad()
        cross_entropy(model(words), y).backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    return step


def unused_gradients(repaired: bool) -> Step:
    """Only the head is trained, and gradients of the backbone are computed all the same."""
    model = nn.Sequential(Layers(8, 384, 384), nn.Linear(384, 16))
    if repaired:
        model[0].requires_grad_(False)
    update, data = trained(model, model[1].parameters()), batch(256, 384)
    return lambda: update(*data)


_TEXT = "the quick brown fox jumps over the lazy dog " * 40


def tokenise(text: str) -> list[int]:
    """Splits a text into numbers, in Python."""
    numbers: dict[str, int] = {}
    found = []
    for word in text.split():
        for end in range(1, len(word)):
            found.append(numbers.setdefault(word[:end].lower(), len(numbers)))  # noqa: PERF401
    return found


def tokenising(repaired: bool) -> Step:
    """Texts are split in the main thread, in every step."""
    update, (x, y) = trained(Layers(4, 256)), batch(128, 256)
    ready = tokenise(_TEXT)

    def step() -> Tensor:
        rows = [ready if repaired else tokenise(_TEXT) for _ in range(64)]
        return update(x + len(rows[0]) * 0.0, y)

    return step


class Numbers(Dataset[Tensor]):
    """Rows of numbers, each of which costs a little."""

    def __init__(self, count: int, width: int, work: int = 0) -> None:
        self.count, self.width, self.work = count, width, work

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Tensor:
        for _ in range(self.work):
            torch.rand(64, 64).sum()
        return torch.full((self.width,), index / self.count)


def respawning(repaired: bool) -> Step:
    """Every epoch starts its workers anew, and an epoch is one step."""
    update, (_, y) = trained(Layers(4, 256)), batch(64, 256)
    loader = DataLoader(Numbers(64, 256), 64, num_workers=2, persistent_workers=repaired)

    def step() -> None:
        for x in loader:
            update(x, y)

    return step


def too_many_workers(repaired: bool) -> Step:
    """Twelve workers share two cores with the training."""
    update, (_, y) = trained(Layers(4, 256)), batch(64, 256)
    many = 1 if repaired else 12
    data = iter(DataLoader(Numbers(64 * 40, 256, work=20), 64, num_workers=many))
    return lambda: update(next(data), y)


def update_average(average: nn.Module, model: nn.Module) -> None:
    """Moves an average of the parameters on, one by one."""
    with torch.no_grad():
        for old, new in zip(average.parameters(), model.parameters(), strict=True):
            old.mul_(0.999).add_(new, alpha=0.001)


def average_loop(repaired: bool) -> Step:
    """Three moving averages of the weights are loops over parameters."""
    model = Layers(60, 128)
    update, data = trained(model), batch(64, 128)
    averages = [copy.deepcopy(model) for _ in range(3)]
    new: list[Tensor] = list(model.parameters())

    def step() -> None:
        update(*data)
        for average in averages:
            if repaired:
                with torch.no_grad():
                    torch._foreach_lerp_(list(average.parameters()), new, 0.001)
            else:
                update_average(average, model)

    return step


def clip_each(model: nn.Module) -> None:
    """Clips the gradient of each parameter for itself."""
    for one in model.parameters():
        torch.nn.utils.clip_grad_norm_([one], 1.0)


def clipping_loop(repaired: bool) -> Step:
    """Gradients are clipped parameter by parameter."""
    model = Layers(60, 128)
    update, data = trained(model), batch(64, 128)
    together = lambda: torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # noqa: E731
    return lambda: update(*data, clip=together if repaired else lambda: clip_each(model))


def from_list(rows: list[list[float]]) -> Tensor:
    """Makes a tensor of lists of numbers."""
    return torch.tensor(rows)


def list_to_tensor(repaired: bool) -> Step:
    """A batch is a list of lists of numbers, until each step makes a tensor of it."""
    update, (x, y) = trained(Layers(4, 256)), batch(256, 256)
    rows = x.tolist()
    return lambda: update(x if repaired else from_list(rows), y)


class Permuting(nn.Module):
    """Turns its input around before each convolution."""

    def __init__(self, turns: bool) -> None:
        super().__init__()
        self.turns = turns
        self.layers = nn.ModuleList(nn.Conv2d(32, 32, 1) for _ in range(4))
        self.head = nn.Linear(32, 16)

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            if self.turns:
                x = x.permute(0, 1, 3, 2).contiguous()
            x = layer(x)
        out: Tensor = self.head(x.mean((2, 3)))
        return out


def permuting(repaired: bool) -> Step:
    """The input of each convolution is permuted, and so copied."""
    update = trained(Permuting(not repaired))
    x, y = torch.rand(16, 32, 64, 64), torch.randint(0, 16, (16,))
    return lambda: update(x, y)


def validate(model: nn.Module, x: Tensor, y: Tensor) -> float:
    """The loss of the whole validation set."""
    total = torch.zeros(())
    with torch.no_grad():
        for rows, labels in zip(torch.split(x, 256), torch.split(y, 256), strict=True):
            total += cross_entropy(model(rows), labels)
    return float(total)


def validating(repaired: bool) -> Step:
    """The whole validation set is run in every step."""
    model = Layers(4, 256)
    update, data, held_out = trained(model), batch(256, 256), batch(2048, 256)

    def step() -> None:
        update(*data)
        if not repaired:
            validate(model, *held_out)

    return step


def clamp(value: int) -> int:
    """A small function of Python."""
    return min(value, 255)


def heavy_profiler(repaired: bool) -> Step:
    """Very many small functions of Python, each of which the recording of stacks slows down."""
    update, data = trained(Layers(4, 256)), batch(256, 256)

    def step() -> None:
        for at in range(0 if repaired else 4_000):
            clamp(at)
        update(*data)

    return step


HABITS: dict[str, Callable[[bool], Step]] = {
    "anomaly": anomaly,
    "float64": float64,
    "dense_embedding": dense_embedding,
    "unused_gradients": unused_gradients,
    "tokenising": tokenising,
    "respawning": respawning,
    "too_many_workers": too_many_workers,
    "average_loop": average_loop,
    "clipping_loop": clipping_loop,
    "list_to_tensor": list_to_tensor,
    "permuting": permuting,
    "validating": validating,
    "heavy_profiler": heavy_profiler,
}


# --- healthy --------------------------------------------------------------------------------------


def healthy_layers() -> Step:
    """Linear layers and a fused optimizer; the batch is there."""
    update, data = trained(Layers(4, 512)), batch(256, 512)
    return lambda: update(*data)


def healthy_images() -> Step:
    """Convolutions with batch norm; a worker that persists makes the batches in time."""
    model = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1, bias=False),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.Conv2d(32, 32, 3, padding=1, bias=False),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(32, 16),
    )
    update, y = trained(model), torch.randint(0, 16, (16,))
    loader = DataLoader(Numbers(16 * 40, 3 * 32 * 32), 16, num_workers=1, persistent_workers=True,
                        prefetch_factor=10)  # fmt: skip

    def batches() -> Iterator[Tensor]:
        while True:
            yield from loader

    data = batches()
    return lambda: update(next(data).reshape(16, 3, 32, 32), y)


class Attending(nn.Module):
    """One layer of a transformer, around attention in one op."""

    def __init__(self, width: int = 256, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.inner, self.outer = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.head = nn.Linear(width, 16)

    def forward(self, x: Tensor) -> Tensor:
        rows, length, width = x.shape
        parts = self.inner(self.norm(x)).reshape(rows, length, 3, self.heads, -1)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        seen = scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.outer(seen.transpose(1, 2).reshape(rows, length, width))
        out: Tensor = self.head(x.mean(1))
        return out


def healthy_attention() -> Step:
    """A transformer's layer over sequences."""
    update = trained(Attending())
    x, y = torch.rand(16, 128, 256), torch.randint(0, 16, (16,))
    return lambda: update(x, y)


def healthy_words() -> Step:
    """An embedding with sparse gradients below layers, with SGD for both."""
    model = nn.Sequential(Words(sparse=True), Layers(1, 16))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    words, y = torch.randint(0, 60_000, (1024, 64)), torch.randint(0, 16, (1024,))

    def step() -> None:
        optimizer.zero_grad()
        cross_entropy(model(words), y).backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    return step


def healthy_inference() -> Step:
    """A model that answers, without gradients."""
    model, (x, _) = Layers(6, 512).eval(), batch(256, 512)

    def step() -> Tensor:
        with torch.inference_mode():
            out: Tensor = model(x)
            return out

    return step


HEALTHY: dict[str, Callable[[], Step]] = {
    "healthy_layers": healthy_layers,
    "healthy_images": healthy_images,
    "healthy_attention": healthy_attention,
    "healthy_words": healthy_words,
    "healthy_inference": healthy_inference,
}
