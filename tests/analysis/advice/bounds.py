"""Drawn runs at both sides of what a rule asks for: where it begins to fire, and its preconditions.

``BOUNDS`` has for each rule functions of one number, and the numbers: at a bound, and beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from kinetoscope.trace.model import Trace
from tests.analysis.advice import trainings
from tests.analysis.advice.checks import NCCL, WORKERS
from tests.analysis.advice.drawn import (
    H100,
    allocating,
    attention,
    compiling,
    contended,
    conversion,
    copying,
    device_run,
    filling,
    first_launch,
    garbage,
    held,
    hidden,
    host,
    join,
    launching,
    leaking,
    lock,
    many,
    matmul,
    message,
    optimizer,
    printing,
    product,
    profiler,
    python,
    recomputed,
    replaying,
    reserved,
    run,
    sampled,
    samples,
    slowing,
    streaming,
    threads,
    work,
)
from tests.analysis.advice.trainings import (
    accumulating,
    calling,
    embedding,
    epochs,
    function,
    searching,
    stalling,
)
from tests.analysis.serving.drawn import Pass, decode, served
from tests.drawing import Event, draw, memory, trace_of

Bound = tuple[str, Callable[[Any], Trace], Sequence[Any]]


def loading(dur: float) -> Trace:
    """Steps whose batch takes so long, and no worker helps."""

    def part(at: float) -> Iterator[Event]:
        name = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
        yield host("note", name, at + 5, dur)

    return run(part, matmul)


def waiting(dur: float) -> Trace:
    """The same with workers."""

    def part(at: float) -> Iterator[Event]:
        yield host("note", WORKERS, at + 5, dur)

    return run(part, matmul)


def zeroing(dur: float) -> Trace:
    """Gradients filled with zeros."""

    def part(at: float) -> Iterator[Event]:
        yield host("note", "Optimizer.zero_grad#SGD.zero_grad", at + 5, dur + 10)
        yield host("op", "aten::zero_", at + 10, dur)

    return run(part, matmul)


def idle(gap: int) -> Trace:
    """A device that does nothing for so long of 200 µs, while the host says nothing."""
    return draw(
        f"""
        step   |{"1" * 200}|
        call   |k{" " * gap}l|
        gpu    | {"k" * 99}{" " * gap}{"l" * (100 - gap)}|
        """
    )


def communicating(ns: int) -> Trace:
    """A collective that nothing hides, for so long of 200 µs."""
    return draw(
        f"""
        step   |{"1" * 200}|
        call   |anb|
        gpu    |  {"a" * 90}{" " * ns}{"b" * (108 - ns)}|
        gpu.9  |  {" " * 90}{"n" * ns}|
        """,
        names={"n": NCCL},
    )


def allocated(size: float) -> Trace:
    """A training whose tensors take so much of 100 GiB, and all of it is given back."""
    device = {**H100, "totalGlobalMem": 100 << 30}
    return draw(
        """
        step   |1111|
        op     |B   |
        gpu    |aaaa|
        """,
        names={"B": "autograd::engine::evaluate_function: MmBackward0"},
        deviceProperties=[device],
        events=[memory(1, 1, int(size * (1 << 30))), memory(2, -1, 1 << 30)],
    )


def synchronized(count: int, *, inside: str = "SyncBatchNorm") -> Trace:
    """So many collectives of one op in a step of other work."""
    return device_run(*(message(64, inside) for _ in range(count)), work("aten::mm", 500))


def sizes(m: int, n: int, k: int, dtype: str = "c10::Half") -> Callable[[float], Trace]:
    """A product that takes so long."""
    return lambda dur: device_run(product(m, n, k, dur, dtype))


def tiny(count: int, of: float = 4.0) -> Trace:
    """So many short kernels among ten."""
    return device_run(
        *(work("aten::add", of) for _ in range(count)),
        *(work("aten::mm", 20) for _ in range(10 - count)),
    )


def fusible(dur: float) -> Trace:
    """Neighbours that one kernel could compute, for so long of a long step."""
    return device_run(
        work("aten::add", dur), work("aten::relu", dur), work("aten::mm", 500, kernel="gemm")
    )


def serving(*passes: Pass) -> Trace:
    return trace_of(served(*passes))


def updating(ops: int) -> Trace:
    return run(optimizer("Adam", many("aten::addcmul_", ops, 8)), matmul)


def tiny_ops(ops: int, dur: float = 2.0, pause: float = 1.0) -> Trace:
    return run(many("aten::add", ops, dur, pause), stacks=False)


def _note(**note: Any) -> dict[str, Any]:
    return {"kinetoscope": {"schema": 1, **note}}


FEW: dict[str, Any] = {"blocks per SM": 0.2}
BOUNDS: dict[str, tuple[Bound, ...]] = {
    "PY1": (("µs", lambda us: run(python(us), matmul), (100, 101, 150, 151)),),
    "PY2": (("µs", lambda us: run(lock(us), matmul), (99, 100, 101)),),
    "PY3": (("µs", lambda us: run(join(us, "queue.py(154): get"), matmul), (49, 50, 51)),),
    "SY3": (("µs", lambda us: run(printing(us), matmul), (10, 10.1, 49, 50, 51)),),
    "LA3": (("µs", lambda us: run(garbage(us), matmul), (10, 10.1)),),
    "PR1": (("µs", lambda us: run(profiler(us), matmul), (20, 20.1)),),
    "SY1": (
        ("µs", lambda us: run(many("aten::item", 10, us), matmul), (0.9, 1.0, 1.1, 5, 5.1)),
        ("µs of nonzero", lambda us: run(many("aten::nonzero", 1, us), matmul), (50, 51)),
    ),
    "LA1": (
        ("µs", launching, (1, 2, 15)),
        ("kernels", lambda count: launching(4, count), (19, 20, 21)),
    ),
    "LA4": (("µs", first_launch, (65, 70, 75, 80)),),
    "SY2": (("µs", allocating, (1, 2, 32)),),
    "IN1": (("µs", loading, (50, 51, 150, 151)), ("µs with workers", waiting, (50, 51))),
    "IN4": (("µs", copying, (2, 3, 5, 15, 16)),),
    "IN6": (
        ("µs", lambda us: trainings.run(epochs(us), stacks=False, length=10_000),
         (4999, 5000, 5001)),
        ("µs of epochs among others",
         lambda us: trainings.run(epochs(us), stacks=True, length=10_000), (4999, 5001)),
    ),
    "DT1": (("µs", sizes(4096, 4096, 4096, "float"), (50, 3000)),),
    "DT3": (
        ("columns", lambda n: device_run(product(512, n, 768, 900)), (1000, 1001, 1004, 1008)),
        ("rows", lambda m: device_run(product(m, 1024, 768, 900)), (511, 512, 516)),
        ("depth", lambda k: device_run(product(512, 1024, k, 900)), (767, 768, 772)),
        ("µs of 1000", lambda us: device_run(product(512, 1001, 768, us), work("aten::add", 980)),
         (15, 20, 25)),
    ),
    "KE1": (
        ("µs", sizes(8192, 8192, 8192), (1111, 1150, 1180, 1300)),
        ("µs of few", sizes(64, 64, 64), (2, 20, 200)),
    ),
    "KE2": (
        ("blocks", lambda blocks: device_run(*(filling(blocks) for _ in range(4))),
         (0.0, 0.01, 0.74, 0.75, 0.76)),
        ("µs", lambda us: device_run(*(work("aten::add", us, **FEW)
                                       for _ in range(4))), (20, 20.1)),
    ),
    "KE3": (("rows", attention, (63, 64, 65)),),
    "KE4": (
        ("short of ten", tiny, (2, 3, 4)),
        ("µs", lambda us: tiny(9, us), (4.9, 5.0, 0.1)),
    ),
    "KE5": (("percent", streaming, (59.9, 60.0, 60.1, 100.0)),),
    "KE6": (("µs", fusible, (24, 26, 28, 30, 40)),),
    "RE1": (
        ("of ten", recomputed, (1, 2, 3)),
    ),
    "CLK1": (("slower by", slowing, (0.04, 0.045, 0.05, 0.06)),),
    "CLK2": (("of the clock", sampled, (0.94, 0.95, 0.96)),),
    "CO1": (("µs", communicating, (19, 20, 21, 40)),),
    "CO2": (("µs", hidden, (4, 5, 6)),),
    "CO3": (
        ("count", lambda count: device_run(*(message(1000) for _ in range(count)),
                                           work("aten::mm", 60)), (49, 50, 51)),
        ("elements", lambda size: device_run(*(message(size) for _ in range(60)),
                                             work("aten::mm", 60)),
         (130_000, 131_071, 131_072, 262_144, 524_287, 524_288)),
    ),
    "CO6": (("slower by", contended, (0.03, 0.06, 0.065, 0.07)),),
    "CO8": (("count", synchronized, (0, 1, 2)),),
    "OP1": (("ops", updating, (19, 20, 21)),),
    "OP2": (
        ("µs", lambda us: run(optimizer("Adam", many("aten::_foreach_add_", 1, us), dur=us + 20),
                              matmul), (9, 10, 11, 30, 31)),
    ),
    "OP3": (("µs", zeroing, (10, 10.1)),),
    "OP4": (
        ("calls", lambda count: run(samples(count, 1), matmul), (15, 16, 17)),
        ("rows", lambda rows: run(samples(20, rows), matmul), (1, 2)),
    ),
    "DT4": (("µs", lambda us: run(conversion(1, us), matmul), (50, 51)),),
    "DT5": (
        ("µs", lambda us: trainings.run(trainings.product("double"),
                                        trainings.python_frame("a.py(1): a", 390, us)), (1, 90)),
    ),
    "LA2": (
        ("ops", tiny_ops, (99, 100, 101)),
        ("µs", lambda us: tiny_ops(100, us, 0.5), (0.4, 0.5, 0.6)),
        ("µs between", lambda us: run(many("aten::add", 120, 1, us), stacks=False), (7, 0.1)),
    ),
    "CP1": (
        ("µs", lambda us: run(many("entire_frame_compile (dynamo_timed)", 1, us), matmul),
         (10, 11)),
        ("version", lambda number: run(compiling(f"0/{number}"), matmul), (0, 1, 2)),
    ),
    "CP3": (("launches", replaying, (19, 20, 21)),),
    "CP5": (
        ("µs", lambda us: run(many("TorchDynamo Cache Lookup", 1, us), matmul), (99.9, 100)),
    ),
    "CPU1": (("threads", threads, (1, 2, 3, 4, 9)),),
    "PR2": (
        ("calls", lambda count: trainings.run(calling(count, 1)), (241, 245, 249)),
    ),
    "HS1": (
        ("µs", lambda us: trainings.run(stalling(us), length=20_000), (2999, 3000, 3001)),
        ("stalls", lambda count: trainings.run(stalling(3500, count), length=20_000), (1, 2)),
    ),
    "AG1": (("searches", lambda count: trainings.run(searching(count)), (1, 2)),),
    "AG2": (
        ("new", lambda count: trainings.run(
            accumulating(*[False] * count, *[True] * (5 - count))), (0, 1, 2, 5)),
    ),
    "AG3": (
        ("read", lambda read: trainings.run(embedding(60_000, read)), (14_999, 15_000, 15_001)),
        ("rows", lambda rows: trainings.run(embedding(rows, 2_000)), (9_999, 10_000)),
    ),
    "FN1": (
        ("µs", lambda us: trainings.run(function(trainings.VALIDATE, us)), (199, 200, 201)),
    ),
    "IN7": (
        ("devices", lambda count: trainings.run(
            trainings.product("float"),
            **_note(torch="2.13.0", accelerators={"cuda": count},
                    profiler={"activities": ["CPU", "CUDA"]})), (1, 2)),
    ),
    "UT1": (("µs", idle, (30, 40, 50, 60, 99)),),
    "ME1": (("GiB", allocated, (89, 90, 91)),),
    "ME2": (
        ("GiB", lambda size: reserved(int(size * (1 << 30))), (10.9, 11.1, 13.3, 13.4)),
    ),
    "ME3": (("bytes", leaking, (1 << 20, (1 << 20) + 1, 1 << 22)),),
    "ME4": (("GiB", lambda size: held(int(size * (1 << 30))), (15, 16, 17)),),
    "SV1": (
        ("µs", lambda us: serving(*[Pass(decode(8), host=us)] * 6), (9, 11, 12)),
        ("passes", lambda count: serving(*[Pass(decode(8), host=120)] * count), (4, 5)),
    ),
    "SV2": (
        ("launches", lambda count: serving(
            *[Pass(decode(4), kernels=(3.0,) * count, pause=12)] * 6), (99, 100, 101)),
        ("µs between", lambda us: serving(
            *[Pass(decode(4), kernels=(30.0,) * 101, pause=us)] * 6), (10.5, 12, 14)),
    ),
    "SV7": (
        ("µs", lambda us: serving(*[Pass(decode(8), copied=us)] * 6), (15, 20, 25)),
    ),
}  # fmt: skip
"""Rule → what its numbers are, a run for a number, and numbers."""
