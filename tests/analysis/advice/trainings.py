"""Drawn trainings for the rules on gradients, float64, workers, stacks and stalls.

Each function draws one habit; ``TRAININGS`` has a run in which a rule fires and one in which not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from kinetoscope.trace.model import Trace
from tests.analysis.advice.checks import WORKERS
from tests.drawing import Event, trace_of

Part = Callable[[float, int], Iterator[Event]]
STEP_US, STEPS = 1000, 4
TRAIN = "train.py(12): train"


def event(kind: str, name: str, ts: float, dur: float, **args: Any) -> Event:
    """An event of the main thread."""
    category = {"op": "cpu_op", "note": "user_annotation", "frame": "python_function"}[kind]
    if name.startswith("nn.Module: "):
        args["Python module id"] = 0
    return {
        "ph": "X", "cat": category, "name": name, "pid": 100, "tid": 1,
        "ts": ts, "dur": dur, "args": args,
    }  # fmt: skip


def run(*parts: Part, stacks: bool = True, length: float = STEP_US, **metadata: Any) -> Trace:
    """Four steps of a training: a product with a gradient at 500 µs, an update at 900 µs.

    Each part draws its events of a step, given its begin and number.
    """
    events: list[Event] = []
    for step in range(STEPS):
        at, number = step * length, {"Sequence number": step + 1}
        events.append(event("note", f"ProfilerStep#{step}", at, length))
        if stacks:
            events.append(event("frame", TRAIN, at, length))
        events.append(event("op", "aten::mm", at + 500, 80, **number))
        node = "autograd::engine::evaluate_function: MmBackward0"
        events.append(event("op", node, at + 600, 100))
        events.append(event("op", "MmBackward0", at + 602, 90, **number, **{"Fwd thread id": 1}))
        events.append(event("note", "Optimizer.step#SGD.step", at + 900, 50))
        events.append(event("op", "aten::_fused_sgd_", at + 905, 40))
        for part in parts:
            events += part(at, step)
    return trace_of(events, **metadata)


def searching(count: int) -> Part:
    """So many searches for NaN behind the gradient of a step."""

    def part(at: float, _: int) -> Iterator[Event]:
        for i in range(count):
            begin = at + 710 + i * 20
            yield event("op", "autograd::engine::evaluate_function: AddBackward0", begin, 18)
            yield event("op", "aten::isnan", begin + 2, 6)
            yield event("op", "aten::_is_any_true", begin + 9, 4)
            yield event("op", "aten::item", begin + 14, 3)

    return part


def accumulating(*added: bool) -> Part:
    """Gradients of one pass, in order: added to an older one, or new."""

    def part(at: float, _: int) -> Iterator[Event]:
        for i, old in enumerate(added):
            begin = at + 710 + i * 30
            yield event("op", "torch::autograd::AccumulateGrad", begin, 25)
            yield event("op", "aten::add_" if old else "aten::detach", begin + 5, 15)

    return part


def embedding(rows: int, read: int, name: str = "SGD", *, is_bag: bool = False) -> Part:
    """The dense gradient of an embedding with so many rows, of which so many were read."""

    def part(at: float, _: int) -> Iterator[Event]:
        dims = [[read, 64], [read], [], [], []]
        values = ["", "", str(rows), "-1", "False"]
        op = "aten::embedding_dense_backward"
        if is_bag:
            dims = [[8, 64], [read], [read], [8], [8], []]
            values, op = ["", "", "", "", "", str(rows)], "aten::_embedding_bag_dense_backward"
        yield event("op", op, at + 700, 180,
                    **{"Input Dims": dims, "Concrete Inputs": values})  # fmt: skip
        yield event("note", f"Optimizer.step#{name}.step", at + 955, 40)

    return part


def product(dtype: str) -> Part:
    """A product of matrices of a type."""

    def part(at: float, _: int) -> Iterator[Event]:
        types = {"Input Dims": [[64, 64], [64, 64]], "Input type": [dtype, dtype]}
        yield event("op", "aten::addmm", at + 50, 300, **types)

    return part


def function(name: str, dur: float, inside: str = "", op: str = "aten::mm") -> Part:
    """A function of the user's code around one op, below a module if one is named."""

    def part(at: float, _: int) -> Iterator[Event]:
        if inside:
            yield event("frame", inside, at + 10, dur + 20)
        yield event("frame", name, at + 20, dur)
        yield event("op", op, at + 25, dur - 10)

    return part


def python_frame(name: str, after: float, dur: float) -> Part:
    """A frame that runs nothing but Python."""

    def part(at: float, _: int) -> Iterator[Event]:
        yield event("frame", name, at + after, dur)

    return part


def operation(dur: float, name: str = "aten::mm") -> Part:
    """An op without a gradient."""

    def part(at: float, _: int) -> Iterator[Event]:
        yield event("op", name, at + 25, dur)

    return part


def calling(count: int, dur: float) -> Part:
    """So many short calls of Python in a step."""

    def part(at: float, _: int) -> Iterator[Event]:
        for i in range(count):
            yield event("frame", "tools.py(3): clamp", at + 10 + i * 1.2, dur)

    return part


def epochs(pause: float, *inside: Event) -> Part:
    """The end of an epoch, a pause, and the first batch of the next, in each step."""

    def part(at: float, _: int) -> Iterator[Event]:
        yield event("note", WORKERS, at + 1000, 100)
        yield event("op", "aten::random_", at + 1100 + pause / 2, 1)
        for one in inside:
            yield {**one, "ts": one["ts"] + at + 1100}
        yield event("note", WORKERS, at + 1100 + pause, 200)

    return part


def stalling(dur: float, stalled: int = 2) -> Part:
    """Thirty short ops of two names, the last of which take so long."""

    def part(at: float, _: int) -> Iterator[Event]:
        ts = at + 1000
        for i in range(30):
            long = i >= 30 - stalled
            yield event("op", "aten::view" if i % 2 else "aten::reshape", ts, dur if long else 4)
            ts += (dur if long else 4) + 2

    return part


def beside_a_device(activity: str) -> dict[str, Any]:
    """The note of our handler on a machine with a GPU, and what was recorded."""
    return {
        "kinetoscope": {
            "schema": 1,
            "torch": "2.13.0",
            "accelerators": {"cuda": 1},
            "profiler": {"activities": ["CPU", activity]},
        }
    }


START = event("frame", "multiprocessing/process.py(110): start", 10, 80)
MODULE = "nn.Module: Net_0"
VALIDATE = "train.py(40): validate"

TRAININGS: dict[str, tuple[Callable[[], Trace], Callable[[], Trace]]] = {
    "AG1": (lambda: run(searching(3)), lambda: run(searching(1))),
    "AG2": (
        lambda: run(accumulating(False, True, True, True)),
        lambda: run(accumulating(True, True, True, True)),
    ),
    "AG3": (lambda: run(embedding(60_000, 2_000)), lambda: run(embedding(60_000, 20_000))),
    "DT5": (lambda: run(product("double")), lambda: run(product("float"))),
    "FN1": (
        lambda: run(function(VALIDATE, 400)),
        lambda: run(function("net.py(3): forward", 400, inside=MODULE)),
    ),
    "PR2": (lambda: run(calling(300, 1)), lambda: run(calling(150, 1))),
    "IN6": (
        lambda: run(epochs(6000), stacks=False, length=10_000),
        lambda: run(epochs(3000), stacks=False, length=10_000),
    ),
    "IN7": (
        lambda: run(product("float"), **beside_a_device("CUDA")),
        lambda: run(product("float"), **beside_a_device("CPU")),
    ),
    "HS1": (
        lambda: run(stalling(4000), length=20_000),
        lambda: run(stalling(2000), length=20_000),
    ),
}
"""Rule → a run in which it fires, and one in which it must not."""
