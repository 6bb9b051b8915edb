"""For each rule that speaks of patterns: a drawn run in which it fires, and one in which not.

All runs have four steps of a millisecond on one thread; ``host`` and ``gpu`` make their events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest
from msgspec.structs import replace

from kinetoscope.trace.compile_record import CompiledCode, CompileRecord, RecordedCompilation
from kinetoscope.trace.model import Trace
from tests import drawing
from tests.analysis.advice.checks import NCCL
from tests.analysis.advice.trainings import TRAININGS
from tests.drawing import PID, V100, Event, draw, memory, trace_of

STEP_US = 1000
STEPS = 4
FRAME = "train.py(12): train"


def host(kind: str, name: str, ts: float, dur: float, **args: Any) -> Event:
    """An event of the main thread; ``kind`` is ``op``, ``note`` or ``frame``."""
    category = {"op": "cpu_op", "note": "user_annotation", "frame": "python_function"}[kind]
    if name.startswith("nn.Module: "):
        args["Python module id"] = 0
    return {
        "ph": "X", "cat": category, "name": name, "pid": PID, "tid": 1,
        "ts": ts, "dur": dur, "args": args,
    }  # fmt: skip


Part = Callable[[float], Iterator[Event]]


def run(*parts: Part, stacks: bool = True, **metadata: Any) -> Trace:
    """Four steps; each part makes the events of a step that begins at its argument."""
    events: list[Event] = []
    for step in range(STEPS):
        at = float(step * STEP_US)
        events.append(host("note", f"ProfilerStep#{step}", at, STEP_US))
        if stacks:
            events.append(host("frame", FRAME, at, STEP_US))
        for part in parts:
            events += part(at)
    return trace_of(events, **metadata)


def matmul(at: float) -> Iterator[Event]:
    """Honest work: one op of 600 µs."""
    yield host("op", "aten::mm", at + 400, 580, **{"Input Dims": [[64, 64], [64, 64]]})


def python(dur: float) -> Part:
    """A frame of the user's code that runs Python for so long."""

    def part(at: float) -> Iterator[Event]:
        yield host("frame", "data.py(7): decode", at + 10, dur)

    return part


def printing(dur: float) -> Part:
    def part(at: float) -> Iterator[Event]:
        yield host("frame", "<built-in function print>", at + 10, dur)

    return part


def garbage(dur: float) -> Part:
    def part(at: float) -> Iterator[Event]:
        yield host("frame", "<built-in function collect>", at + 10, dur)

    return part


def lock(wait: float) -> Part:
    """A ``with``: it waits, then 50 µs pass with the lock, then it is given back."""

    def part(at: float) -> Iterator[Event]:
        name = "<built-in method __exit__ of _thread.lock object at 0x7f>"
        yield host("frame", "queue.py(9): take", at + 10, wait + 60)
        yield host("op", "aten::add", at + 10 + wait, 50)
        yield host("frame", name, at + 62 + wait, 2)

    return part


def join(wait: float, around: str) -> Part:
    """A wait for another thread: the library takes a lock that the thread gives back."""

    def part(at: float) -> Iterator[Event]:
        yield host("frame", "train.py(9): main", at + 5, wait + 20)
        yield host("frame", around, at + 10, wait + 10)
        acquire = "<built-in method acquire of _thread.lock object at 0x7f>"
        yield host("frame", acquire, at + 12, wait)

    return part


def profiler(dur: float) -> Part:
    def part(at: float) -> Iterator[Event]:
        yield {
            **host("op", "Buffer Flush", at + 10, dur), "cat": "overhead",
        }  # fmt: skip

    return part


def many(name: str, count: int, dur: float, pause: float = 1.0, **args: Any) -> Part:
    """Ops of one name, one behind the other."""

    def part(at: float) -> Iterator[Event]:
        for i in range(count):
            yield host("op", name, at + 10 + i * (dur + pause), dur, **args)

    return part


def optimizer(name: str, *parts: Part, dur: float = 380) -> Part:
    """``Optimizer.step`` around some ops."""

    def part(at: float) -> Iterator[Event]:
        yield host("note", f"Optimizer.step#{name}.step", at + 5, dur)
        for one in parts:
            yield from one(at)

    return part


def zero_grad(at: float) -> Iterator[Event]:
    yield host("note", "Optimizer.zero_grad#SGD.zero_grad", at + 5, 100)
    yield host("op", "aten::zero_", at + 10, 80)


def samples(count: int, rows: int) -> Part:
    """A module called so often, each time with so many rows."""

    def part(at: float) -> Iterator[Event]:
        yield host("frame", "loop.py(3): one_by_one", at + 5, 390)
        for i in range(count):
            begin = at + 10 + i * (370 / count)
            dur = 300 / count
            yield host("frame", "nn.Module: Net_0", begin, dur)
            dims = [[rows, 8], [8, 8]]
            yield host("op", "aten::mm", begin + dur / 4, dur / 2, **{"Input Dims": dims})

    return part


def convolution(bias: bool) -> Part:
    def part(at: float) -> Iterator[Event]:
        dims = [[8, 3, 8, 8], [4, 3, 3, 3], [4] if bias else []]
        yield host("op", "aten::conv2d", at + 10, 50, **{"Input Dims": dims})
        yield host("op", "aten::batch_norm", at + 70, 50)

    return part


def conversion(count: int, dur: float) -> Part:
    def part(at: float) -> Iterator[Event]:
        for i in range(count):
            begin = at + 10 + i * (dur + 1)
            yield host("op", "aten::to", begin, dur, **{"Input Dims": [[64, 64], []]})
            yield host("op", "aten::_to_copy", begin + dur / 8, dur * 3 / 4)
            yield host("op", "aten::copy_", begin + dur / 4, dur / 2)

    return part


def compiling(name: str) -> Part:
    def part(at: float) -> Iterator[Event]:
        yield host("note", f"_compile: compile_id={name}", at + 10, 300)
        yield host("op", "entire_frame_compile (dynamo_timed)", at + 10, 300)

    return part


def growing(size: int) -> list[Event]:
    """An allocation in each step, at an address of its own, that stays."""
    events = []
    for step in range(6):
        one = memory(step * STEP_US + 500, size, None, kind=0, device=-1)
        one["args"] |= {"Addr": 4096 + step * 64}
        events.append(one)
    return events


def leaking(size: int) -> Trace:
    """Six steps, at whose ends so much more is held."""
    events: list[Event] = []
    for step in range(6):
        at = float(step * STEP_US)
        events.append(host("note", f"ProfilerStep#{step}", at, STEP_US))
        events.append(host("frame", FRAME, at, STEP_US))
        events.append(host("frame", "keep.py(4): keep", at + 450, 100))
        events.append(host("op", "aten::cat", at + 490, 30))
        events += matmul(at)
    return trace_of([*events, *growing(size)])


def threads(count: int) -> Trace:
    """A run on two cores with so many threads, as our handler notes it down."""
    return run(matmul, kinetoscope={"schema": 1, "threads": count, "cores": 2})


def moved(makes: str) -> Trace:
    """An op, then a copy of its result to a device, in each of two steps."""
    return draw(
        """
        step   |11111111112222222222|
        op     | mmttt     mmttt    |
        call   |   h         h      |
        copy   |    h         h     |
        op     |      kk        kk  |
        call   |      k         k   |
        gpu    |       kk        kk |
        """,
        names={"m": makes, "t": "aten::to", "k": "aten::mm"},
    )


def reserved(size: int) -> Trace:
    """10 GiB in tensors, and so much that the allocator holds."""
    return draw("step |111|\n gpu |aaa|", events=[memory(1, 1, 10 << 30, reserved=size)])


def held(size: int) -> Trace:
    """A training whose tensors take so much of a card with 32 GiB."""
    return draw(
        """
        step   |1111|
        op     |B   |
        gpu    |aaaa|
        """,
        names={"B": "autograd::engine::evaluate_function: MmBackward0"},
        deviceProperties=[V100],
        events=[memory(1, 1, size)],
    )


def launching(pause: int, kernels: int = 30) -> Trace:
    """Kernels in a step, each launched after a pause in which the host runs ops."""
    return draw(
        f"""
        step   |{"1" * (kernels * (pause + 2))}|
        op     |{("p" * pause + "  ") * kernels}|
        call   |{(" " * pause + "l ") * kernels}|
        gpu    |{(" " * pause + " l") * kernels}|
        """,
        names={"p": "aten::add"},
    )


def first_launch(dur: int) -> Trace:
    """A launch that takes so long the first time, and many short ones."""
    return draw(
        f"""
        step   |{"1" * (dur + 44)}|
        call   |{"f" * dur}  {"l " * 20}|
        gpu    |{" " * dur}ff{" l" * 20}|
        """,
        names={"f": "big_kernel"},
    )


def allocating(dur: int) -> Trace:
    """A device that idles while the driver is asked for memory, three times for so long."""
    return draw(
        f"""
        step   |{"1" * 100}|
        call   |{"m" * dur}l{"m" * dur}j{"m" * dur}k|
        gpu    |{" " * dur} l{" " * dur}j{" " * dur}{"k" * (97 - 3 * dur)}|
        """,
        names={"call m": "cudaMalloc"},
    )


def copying(dur: int) -> Trace:
    """A copy that nothing covers, and then a kernel."""
    return draw(
        f"""
        step   |{"1" * 100}|
        call   |cl|
        copy.9 |  {"c" * dur}|
        gpu    |  {" " * dur}{"l" * (98 - dur)}|
        """
    )


H100 = {"id": 0, "name": "NVIDIA H100 80GB HBM3", "computeMajor": 9, "computeMinor": 0,
        "numSms": 132, "totalGlobalMem": 80 << 30}  # fmt: skip


def work(
    op: str,
    dur: float,
    *,
    kernel: str = "elementwise_kernel",
    inside: str = "",
    frame: str = "",
    dims: Any = None,
    types: Any = None,
    under: bool = False,
    **args: Any,
) -> dict[str, Any]:
    """One op and the kernel that it launches; ``under``: a collective runs beside the kernel."""
    given = {"Input Dims": dims, "Input type": types} if dims is not None else {}
    return {"op": op, "dur": dur, "kernel": kernel, "inside": inside, "frame": frame,
            "given": given, "under": under, "args": args}  # fmt: skip


def device_run(
    *works: dict[str, Any], device: Any = None, extra: tuple[Event, ...] = (), steps: int = 1
) -> Trace:
    """Steps with one piece of work after another, each launched just before it runs."""
    events: list[Event] = list(extra)
    ts = 10.0
    begun: list[float] = []
    for number, one in enumerate(works, start=1):
        begun.append(ts - 0.6)
        if one["frame"]:
            events.append(host("frame", one["frame"], ts - 0.5, 3.5))
        if one["inside"]:
            events.append(host("op", one["inside"], ts - 0.4, 3.2))
        events.append(host("op", one["op"], ts - 0.3, 3, **one["given"]))
        call = host("op", "cudaLaunchKernel", ts, 0.5, correlation=number)
        events.append({**call, "cat": "cuda_runtime"})
        place = {"device": 0, "stream": 7, "correlation": number, "grid": [8, 1, 1],
                 "block": [128, 1, 1], **one["args"]}  # fmt: skip
        events.append({"ph": "X", "cat": "kernel", "name": one["kernel"], "pid": 0, "tid": 7,
                       "ts": ts + 1, "dur": one["dur"], "args": place})  # fmt: skip
        if one["under"]:
            beside = {"device": 0, "stream": 9, "correlation": 10_000 + number}
            events.append({"ph": "X", "cat": "kernel", "name": NCCL, "pid": 0, "tid": 9,
                           "ts": ts + 1, "dur": one["dur"], "args": beside})  # fmt: skip
        ts += one["dur"] + 4
    starts = [0.0, *(begun[len(works) * i // steps] for i in range(1, steps)), ts]
    events += [
        host("note", f"ProfilerStep#{i}", starts[i], starts[i + 1] - starts[i])
        for i in range(steps)
    ]
    return trace_of(events, deviceProperties=[device or H100])


def product(m: int, n: int, k: int, dur: float, dtype: str = "c10::Half", **more: Any) -> Any:
    """``mm`` with these sizes."""
    return work("aten::mm", dur, dims=[[m, k], [k, n]], types=[dtype, dtype], **more)


def filling(blocks: float) -> dict[str, Any]:
    """A kernel with so many blocks per multiprocessor."""
    args: dict[str, Any] = {"blocks per SM": blocks}
    return work("aten::add", 60, **args)


def message(elements: int, inside: str = "") -> dict[str, Any]:
    """A collective of so many 16-bit numbers."""
    sizes: dict[str, Any] = {"In msg nelems": elements, "Out msg nelems": elements, "dtype": "Half"}
    return work("record_param_comms", 5, kernel=NCCL, inside=inside, **sizes)


def attention(side: int) -> Trace:
    """Scores, softmax and the sum of values, in three ops."""
    heads = [8, side, side]
    return device_run(
        work("aten::bmm", 50, dims=[[8, side, 32], [8, 32, side]], types=["float", "float"]),
        work("aten::_softmax", 50, dims=[heads, [], []], types=["float", "", ""]),
        work("aten::bmm", 50, dims=[heads, [8, side, 32]], types=["float", "float"]),
    )


RECOMPUTE = "torch/utils/checkpoint.py(900): recompute_fn"


def recomputed(part: int) -> Trace:
    """Ten kernels, so many of them launched by a recomputation; a tenth of memory is taken."""
    again = [work("aten::mm", 50, frame=RECOMPUTE) for _ in range(part)]
    once = [work("aten::mm", 50) for _ in range(10 - part)]
    return device_run(*again, *once, extra=(memory(5, 1, 8 << 30),))


def slowing(by: float) -> Trace:
    """Thirty kernels of one kind, which get slower by so much in all."""
    return device_run(*(work("aten::add", 50 * (1 + by * i / 30)) for i in range(30)), steps=3)


def contended(by: float) -> Trace:
    """Kernels of one kind, half of them under a collective and slower by so much."""
    works = [work("aten::add", 50 * (1 + by * (i % 2)), under=bool(i % 2)) for i in range(24)]
    return device_run(*works)


def hidden(compute: int) -> Trace:
    """A collective of 8 % of the step, and so many of its tenths under a kernel."""
    covered = "b" * compute + " " * (8 - compute)
    return draw(
        f"""
        step   |{"1" * 100}|
        call   |anbc{" " * 96}|
        gpu    | {"a" * 46}{covered}{"c" * 44}|
        gpu.9  | {" " * 46}{"n" * 8}|
        """,
        names={"n": NCCL},
    )


def refused(failed: str | None) -> Trace:
    """A function with two versions, the second of which may have been refused."""
    compilations = (
        RecordedCompilation(id="0/0", function=0),
        RecordedCompilation(id="0/1", function=0, failed=failed),
    )
    record = CompileRecord(functions=(CompiledCode(0, "f"),), compilations=compilations)
    traced = run(many("Torch-Compiled Region: 0/0", 1, 50), matmul)
    return replace(traced, compile_record=record)


def broken(inside: str) -> Trace:
    """A compiled function that goes on in another region, or not."""

    def part(at: float) -> Iterator[Event]:
        yield host("frame", "net.py(3): forward", at + 5, 390)
        yield host("op", "Torch-Compiled Region: 0/0", at + 10, 380)
        yield host("op", "## Call CompiledFxGraph abc ##", at + 20, 100)
        if inside:
            yield host("frame", "net.py(9): torch_dynamo_resume_in_forward_at_9", at + 150, 230)
            yield host("op", inside, at + 155, 220)
            yield host("op", "## Call CompiledFxGraph def ##", at + 260, 100)

    return run(part, matmul)


def replaying(launches: int) -> Trace:
    """A compiled function that replays a graph, and one that launches so many kernels itself."""
    calls = "".join("k " for _ in range(launches))
    return draw(
        f"""
        step   |{"1" * (2 * launches + 30)}|
        op     |R{"R" * 8}  {"S" * (2 * launches)}|
        call   | g         {calls}|
        gpu    |   gggggg   {calls}|
        """,
        names={
            "R": "Torch-Compiled Region: 0/0",
            "S": "Torch-Compiled Region: 1/0",
            "call g": "cudaGraphLaunch",
        },
    )


def sampled(low: float) -> Trace:
    """Matrix products while the clock falls to so much of 1,980 MHz half-way."""
    samples: list[Event] = [
        {"ph": "C", "cat": "hardware_counters", "name": "SM Clock (MHz)", "pid": 0, "tid": 0,
         "ts": at * 100.0, "args": {"": 1980.0 if at < 10 else 1980.0 * low}}
        for at in range(21)
    ]  # fmt: skip
    return device_run(
        *(work("aten::mm", 96, kernel="ampere_bf16_s16816gemm") for _ in range(20)),
        extra=tuple(samples),
    )


def streaming(dram: float) -> Trace:
    """Elementwise kernels while the memory moves so many percent of its peak."""
    samples: list[Event] = [
        {"ph": "C", "name": name, "pid": "GPU 0 Counters", "ts": at * 50.0, "args": {"": value}}
        for at in range(41)
        for name, value in (("DRAM BW (%)", dram), ("SM Active (%)", 95.0))
    ]
    return device_run(*(work("aten::mul", 96) for _ in range(20)), extra=tuple(samples))


FIRES: dict[str, tuple[Callable[[], Trace], Callable[[], Trace]]] = {
    "PY1": (
        lambda: run(python(300), matmul),
        lambda: run(python(60), many("aten::mul", 1, 320), matmul),
    ),
    "PY2": (lambda: run(lock(300), matmul), lambda: run(lock(30), matmul)),
    "PY3": (
        lambda: run(join(60, "queue.py(154): get"), matmul),
        lambda: run(join(30, "queue.py(154): get"), matmul),
    ),
    "SY3": (lambda: run(printing(200), matmul), lambda: run(printing(4), matmul)),
    "LA3": (lambda: run(garbage(200), matmul), lambda: run(garbage(4), matmul)),
    "PR1": (lambda: run(profiler(200), matmul), lambda: run(profiler(4), matmul)),
    "SY1": (lambda: run(many("aten::item", 40, 4), matmul), lambda: run(many("aten::item", 1, 4))),
    "LA1": (lambda: launching(4), lambda: launching(4, 15)),
    "LA4": (lambda: first_launch(80), lambda: first_launch(20)),
    "SY2": (lambda: allocating(30), lambda: allocating(0)),
    "IN4": (lambda: copying(30), lambda: copying(1)),
    "DT1": (
        lambda: device_run(product(4096, 4096, 4096, 300, "float", kernel="ampere_sgemm_128x64")),
        lambda: device_run(product(4096, 4096, 4096, 300, "float", kernel="cutlass_tf32_gemm")),
    ),
    "DT3": (
        lambda: device_run(product(512, 50257, 768, 900)),
        lambda: device_run(product(512, 50304, 768, 900)),
    ),
    "KE1": (
        lambda: device_run(product(512, 512, 512, 900)),
        lambda: device_run(product(8192, 8192, 8192, 1130)),
    ),
    "KE2": (
        lambda: device_run(*(filling(0.2) for _ in range(4))),
        lambda: device_run(*(filling(4.0) for _ in range(4))),
    ),
    "KE3": (lambda: attention(256), lambda: attention(16)),
    "KE4": (
        lambda: device_run(*(work("aten::add", 3) for _ in range(20))),
        lambda: device_run(work("aten::add", 3), *(work("aten::mm", 60) for _ in range(9))),
    ),
    "RE1": (lambda: recomputed(4), lambda: recomputed(1)),
    "CLK1": (lambda: slowing(0.5), lambda: slowing(0.0)),
    "CO3": (
        lambda: device_run(*(message(1000) for _ in range(60)), work("aten::mm", 60)),
        lambda: device_run(*(message(10_000_000) for _ in range(60)), work("aten::mm", 60)),
    ),
    "CO6": (lambda: contended(0.5), lambda: contended(0.0)),
    "CO8": (
        lambda: device_run(message(64, inside="SyncBatchNorm"), work("aten::mm", 60)),
        lambda: device_run(message(64), work("aten::mm", 60)),
    ),
    "OP1": (
        lambda: run(optimizer("Adam", many("aten::addcmul_", 40, 8)), matmul),
        lambda: run(optimizer("Adam", many("aten::_fused_adam_", 40, 8)), matmul),
    ),
    "OP2": (
        lambda: run(optimizer("Adam", many("aten::_foreach_add_", 12, 28)), matmul),
        lambda: run(optimizer("Rprop", many("aten::_foreach_add_", 12, 28)), matmul),
    ),
    "OP3": (lambda: run(zero_grad, matmul), lambda: run(many("aten::zero_", 2, 40), matmul)),
    "OP4": (lambda: run(samples(20, 1), matmul), lambda: run(samples(20, 16), matmul)),
    "OP5": (lambda: run(convolution(True), matmul), lambda: run(convolution(False), matmul)),
    "DT4": (lambda: run(conversion(6, 50), matmul), lambda: run(conversion(1, 20), matmul)),
    "LA2": (
        lambda: run(many("aten::add", 130, 2), matmul),
        lambda: run(many("aten::add", 60, 5), matmul),
    ),
    "CP1": (
        lambda: run(compiling("0/3"), matmul),
        lambda: run(compiling("0/0"), matmul),
    ),
    "CO2": (lambda: hidden(2), lambda: hidden(7)),
    "CP0": (lambda: run(compiling("0/0"), matmul), lambda: run(compiling("0/1"), matmul)),
    "CP2": (lambda: refused("Unsupported: recompile_limit reached"), lambda: refused(None)),
    "CP4": (lambda: broken("Torch-Compiled Region: 1/0"), lambda: broken("")),
    "CP5": (
        lambda: run(many("TorchDynamo Cache Lookup", 2, 100), matmul),
        lambda: run(many("TorchDynamo Cache Lookup", 2, 99.9), matmul),
    ),
    "CP3": (lambda: replaying(30), lambda: replaying(10)),
    "KE5": (lambda: streaming(75.0), lambda: streaming(40.0)),
    "CLK2": (lambda: sampled(0.85), lambda: sampled(1.0)),
    "CPU1": (lambda: threads(16), lambda: threads(2)),
    "IN5": (lambda: moved("aten::zeros"), lambda: moved("aten::cat")),
    "ME2": (lambda: reserved(24 << 30), lambda: reserved(11 << 30)),
    "ME4": (lambda: held(4 << 30), lambda: held(24 << 30)),
    "ME3": (lambda: leaking(4 << 20), lambda: leaking(1 << 10)),
    "KE6": (
        lambda: device_run(*(work("aten::add", 60) for _ in range(3)), work("aten::mm", 60)),
        lambda: device_run(work("aten::add", 60), work("aten::mm", 60, kernel="gemm_nn")),
    ),
    **TRAININGS,
}
"""Rule → a run in which it fires, and one in which it must not."""


Change = Callable[[Random, list[Event], dict[str, Any]], None]


def uneven(random: Random, events: list[Event], metadata: dict[str, Any]) -> None:
    """Later steps are longer, and events shorter by chance."""
    del metadata
    end = max(one["ts"] + one.get("dur", 0) for one in events)
    for one in events:
        ts, dur = one["ts"], one.get("dur")
        one["ts"] = round(ts + ts**2 / end, 3)
        if dur is not None:
            later = round(ts + dur + (ts + dur) ** 2 / end, 3) - one["ts"]
            by = 1.0 if one["name"].startswith("ProfilerStep") else random.choice((0.4, 0.8, 1, 1))
            one["dur"] = round(later * by, 3)


def older(random: Random, events: list[Event], metadata: dict[str, Any]) -> None:
    """Old versions, a device of AMD, and some events are missing."""
    events[:] = [
        one for one in events if one["name"].startswith("ProfilerStep") or random.random() > 0.06
    ]
    note = {"schema": 1, "torch": "1.12.1", **metadata.get("kinetoscope", {})}
    metadata["kinetoscope"] = note
    for one in metadata.get("deviceProperties", ()):
        metadata["deviceProperties"] = [{**one, "name": "AMD Instinct MI210"}]


def beside(random: Random, events: list[Event], metadata: dict[str, Any]) -> None:
    """A second thread and device that do about the same; sizes differ by one here and there."""
    del metadata
    more = []
    for one in events:
        args = one.get("args", {})
        if dims := args.get("Input Dims"):
            other = [[size + (random.random() < 0.3) for size in sizes] if sizes and
                     isinstance(sizes[0], int) else sizes for sizes in dims]  # fmt: skip
            one["args"] = {**args, "Input Dims": other}
        if one["name"].startswith("ProfilerStep") or "ts" not in one:
            continue
        place = {"pid": 1, "tid": one["tid"]} if "device" in args else {"tid": 2}
        told = dict(args)
        for key, by in (("device", 1), ("correlation", 50_000)):
            if key in told:
                told[key] += by
        more.append({**one, "ts": one["ts"] + 1, "args": told, **place})
        if "dur" in one:
            more[-1]["dur"] = round(one["dur"] * random.choice((0.5, 0.9)), 3)
    events += more


def bare(random: Random, events: list[Event], metadata: dict[str, Any]) -> None:
    """No steps: the first row, name and place are of what the run does."""
    del random, metadata
    events[:] = [one for one in events if not one["name"].startswith("ProfilerStep")]


CHANGES: tuple[Change, ...] = (uneven, older, beside, bare)


def changed(drawn: Callable[[], Trace], change: Change, seed: str) -> Trace:
    """A drawn run with its events changed before they are written."""
    random = Random(seed)

    def written(path: Path, events: Iterable[Event], metadata: Mapping[str, Any]) -> Trace:
        listed, told = [dict(one) for one in events], dict(metadata)
        change(random, listed, told)
        return plain(path, listed, told)

    plain = drawing._written
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drawing, "_written", written)
        return drawn()
