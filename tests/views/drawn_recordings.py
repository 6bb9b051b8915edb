"""Small recordings in which no two figures are alike: nested, overlapping, tied and empty slices.

The numbers are drawn from a fixed seed, so mean, median, 95th percentile and maximum of what is
alike differ, and a figure that is taken from the wrong place shows.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any

from tests.analysis.memory.made import CUDA, PRIVATE, XPU, MadeMemory
from tests.drawing import PID, V100, Event, memory
from tests.trace.pickles import drawn_snapshot
from tests.trace.pickles.drawn_snapshot import MIB, event, segment

BACKWARD = "autograd::engine::evaluate_function: {}Backward0"
COLLECTIVE: Event = {
    "Collective name": "allreduce", "In msg nelems": 4096, "Out msg nelems": 4096,
    "dtype": "Float", "Group size": 2, "Process Group Name": "0",
}  # fmt: skip


class Recording:
    """Events in the order of their making; ``correlation`` and ``sequence`` count on."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.events: list[Event] = []
        self.correlation = 100
        self.sequence = 10
        self.free_at: dict[tuple[int, int], float] = {}

    def add(self, cat: str, name: str, ts: float, dur: float, tid: int = 1, **args: Any) -> None:
        """An event of a thread of the host."""
        self.events.append(
            {"ph": "X", "cat": cat, "name": name, "pid": PID, "tid": tid, "ts": ts, "dur": dur,
             "args": args}
        )  # fmt: skip

    def on_device(
        self, cat: str, name: str, ts: float, dur: float, place: tuple[int, int], **args: Any
    ) -> None:
        """An event of (device, stream)."""
        device, stream = place
        self.events.append(
            {"ph": "X", "cat": cat, "name": name, "pid": device, "tid": stream, "ts": ts,
             "dur": dur, "args": {"device": device, "stream": stream, **args}}
        )  # fmt: skip

    def launch(
        self,
        ts: float,
        dur: float,
        name: str,
        length: float,
        place: tuple[int, int] = (0, 7),
        *,
        tid: int = 1,
        cat: str = "kernel",
        **args: Any,
    ) -> None:
        """A call and the work that it launches, behind what runs on the stream."""
        self.correlation += 1
        call = {"kernel": "cudaLaunchKernel", "gpu_memcpy": "cudaMemcpyAsync"}
        told: Event = {"correlation": self.correlation}
        self.add("cuda_runtime", call.get(cat, "cudaMemsetAsync"), ts, dur, tid, **told)
        start = max(ts + dur + self.rng.choice((0.5, 1, 2.25)), self.free_at.get(place, 0))
        self.on_device(cat, name, start, length, place, **told, **args)
        self.free_at[place] = start + length

    def gauge(self, name: str, samples: Iterable[tuple[float, float]], pid: object) -> None:
        """Samples of a counter."""
        self.events += [
            {"ph": "C", "name": name, "pid": pid, "ts": ts, "args": {"": value}}
            for ts, value in samples
        ]


def _with(name: str, value: Any) -> Event:
    """One argument of an event whose name is no word of Python."""
    return {name: value}


def training() -> list[Event]:
    """Three steps on two devices: modules, backward on a thread of its own, workers, copies."""
    made = Recording(7)
    rng = made.rng
    at = 10.0
    for step in range(3):
        begin = at
        made.add("python_function", "torch/utils/data/dataloader.py(9): __next__", at, 7 + step)
        made.add("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                 at + 1, 4 + step)  # fmt: skip
        at += 9 + step
        made.launch(at, 1, "Memcpy HtoD (Pageable -> Device)", 3 + step, cat="gpu_memcpy",
                    bytes=4096 << step, **_with("memory bandwidth (GB/s)", 1.5 + step))  # fmt: skip
        at = _forward(made, at + 3, step)
        at = _backward(made, at + 2, step)
        made.add("cpu_op", "Optimizer.step#SGD.step", at, 9)
        made.launch(at + 2, 1.5, "multi_tensor_apply", 2 + step, (0, 7))
        made.launch(at + 5, 1.5, "Memset (Device)", 1, (0, 9), cat="gpu_memset", bytes=512)
        wait = max(made.free_at.values()) - at - 9.5
        made.add("cuda_runtime", "cudaDeviceSynchronize", at + 9.5, max(wait, 1) + rng.random())
        at += 12 + max(wait, 1)
        made.add("user_annotation", f"ProfilerStep#{step + 4}", begin, at - begin)
        made.on_device("gpu_user_annotation", f"ProfilerStep#{step + 4}", begin + 9,
                       at - begin - 12, (0, 7))  # fmt: skip
        at += rng.choice((0, 3.5))
    made.add("python_function", "train.py(3): main", 8, at - 4)
    # Workers: overlaps that nesting does not explain, ties, instants, names alike but for case.
    for start, length in (
        (12, 9),
        (15, 20),
        (15, 20),
        (15, 3),
        (36, 0),
        (36, 0),
        (40, 11),
        (49, 8),
    ):
        made.add("cpu_op", "aten::Stack" if length == 3 else "aten::stack", start, length, 3)
    made.add("python_function", "<built-in method sleep>", 60, 30, 3)
    made.add("python_function", "worker.py(8): fetch", 61, 11, 3)
    made.on_device("kernel", "lonely", 20, 2.5, (1, 20))
    made.on_device("kernel", "lonely", 21, 4.5, (1, 20))
    made.on_device("kernel", "lonely", 30, 0, (1, 20))
    for name, unit in (("Power (W)", 100.0), ("SM Clock (MHz)", 1200.0), ("NVLink TX", 7.0)):
        made.gauge(
            name,
            [(5 + 4 * k, unit * (1 + (k * k) % 7)) for k in range(40) if k not in (9, 10, 11)],
            "GPU 0 Counters",
        )
    total = 0
    for number, size in enumerate((512, 2048, -512, 64, 4096, -2048, 128, -64, -4096, 1024)):
        total += size
        made.events.append(memory(14 + 11 * number, size, total, reserved=total + 777))
        made.events.append(memory(15 + 11 * number, size // 2, total // 2, kind=0, reserved=0))
    return made.events


def _forward(made: Recording, at: float, step: int) -> float:
    begin = at
    for block in range(3):
        first = at
        at += 1
        for number, (kind, op) in enumerate((("Linear", "linear"), ("ReLU", "relu"))):
            made.sequence += 1
            length = 6 + 2 * block + number + step
            dims = [[4, 8 << block], [16, 8 << block]]
            made.add("python_function", f"nn.Module: {kind}_{block}", at, length + 1,
                     **{"Python module id": block})  # fmt: skip
            told: Event = {
                "Sequence number": made.sequence, "External id": made.sequence,
                "Input Dims": dims, "Input type": ["float", "float"],
            }  # fmt: skip
            made.add("cpu_op", f"aten::{op}", at + 0.5, length, **told)
            if op == "linear":
                made.add("cpu_op", "aten::addmm", at + 1, length - 2, **_with("Input Dims", dims))
            made.launch(at + 2, 1.25, ("sgemm_32x32", "relu_kernel")[number],
                        4 + 3 * block + 5 * (number ^ step == 1), (0, 7 + 2 * (block == 1)),
                        grid=[4 << block, 1, 1], block=[128, 1, 1])  # fmt: skip
            if block == 2:
                made.launch(at + 4, 0.75, "elementwise", 2.5, (1, 7))
            at += length + 2
        made.add("python_function", f"nn.Module: Block_{block}", first, at - first)
        made.add("python_function", "torch/nn/modules/module.py(17): _call_impl", first + 0.25,
                 at - first - 0.5)  # fmt: skip
    made.add("python_function", "nn.Module: Net_0", begin - 1, at - begin + 1)
    made.add("python_function", "model.py(5): forward", begin - 0.5, at - begin)
    return at


def _backward(made: Recording, at: float, step: int) -> float:
    begin = at
    made.add("python_function", "torch/autograd/__init__.py(9): backward", at, 80)
    for back in range(6):
        sequence = made.sequence - back
        name = BACKWARD.format("Relu" if back % 2 == 0 else "Addmm")
        length = 8 + 1.5 * back
        told: Event = {"Sequence number": sequence, "Fwd thread id": 1}
        made.add("cpu_op", name, at, length, 2, **told)
        made.add("cpu_op", name.rsplit(" ", 1)[1], at + 1, length - 2, 2, **told)
        for tid, ph, ts in ((1, "s", begin - 60 + back), (2, "f", at)):
            made.events.append(
                {"ph": ph, "cat": "fwdbwd", "name": "fwdbwd", "id": sequence, "pid": PID,
                 "tid": tid, "ts": ts, "bp": "e"}
            )  # fmt: skip
        made.launch(at + 2, 1, "sgemm_64x64_nt", 3 + 2 * back + step, (0, 7), tid=2)
        if back == 3:
            made.launch(at + 5, 1, "ncclDevKernel_AllReduce_Sum_f32", 17 + 6 * step, (0, 13),
                        tid=2, **COLLECTIVE)  # fmt: skip
        at += length + 0.5
    return max(at, begin + 81)


def graphs() -> list[Event]:
    """Two graphs, of which one changes, replayed on ten streams, with eager work between."""
    made = Recording(11)
    rng = made.rng
    at = 5.0
    for turn in range(24):
        made.add("user_annotation", f"ProfilerStep#{turn}", at, 60 + turn)
        made.add("cpu_op", "aten::copy_", at + 1, 6)
        made.launch(at + 2, 2, "Memcpy HtoD (Pinned -> Device)", 2 + turn % 3, cat="gpu_memcpy",
                    bytes=1 << turn % 7)  # fmt: skip
        for graph in (3, 8)[: 1 + (turn % 3 != 1)]:
            made.correlation += 1
            told: Event = {"correlation": made.correlation}
            begin = at + (9 if graph == 3 else 30)
            made.add("cuda_runtime", "cudaGraphLaunch", begin, 3 + turn % 2, **told)
            kernels = ["gemm", "norm", "gemm", "softmax", "ncclDevKernel_AllGather_RING", "add"]
            if graph == 8:
                kernels = kernels[:3] + ["dropout"] * (turn > 4)
            when = begin + 5.5
            for number, name in enumerate(kernels, 1):
                length = 1 + number * 0.75 + rng.randrange(4) + (turn == 6) * 3
                when += rng.choice((0, 0, 0.5, 1.25)) - (number == 4) * 1.5
                stream = 20 + (2 * number + graph) % 10
                made.on_device("kernel", name, when, length, (0, stream), **told, **{
                    "graph id": graph, "graph node id": number + 10 * graph,
                    "grid": [number, 2, 1], "block": [64 * number, 1, 1],
                })  # fmt: skip
                when += length
            if turn != 2:
                made.on_device("gpu_memset", "Memset (Device)", when, 0.5, (0, 20), **told, **{
                    "graph id": graph, "graph node id": 99, "bytes": 64,
                })  # fmt: skip
        made.launch(at + 52, 1, "eager", 3 + turn, (0, 7))
        at += 62 + turn
    return made.events


def memories() -> list[Event]:
    """Blocks of five steps on three devices: kept, leaked, short, of backward, from before."""
    made = Recording(5)
    cuda, second, cpu = (
        MadeMemory(base=3 * MIB, kind=CUDA), MadeMemory(kind=CUDA, device=1),
        MadeMemory(base=900, kind=0, device=-1),
    )  # fmt: skip
    other = MadeMemory(base=70, kind=XPU)
    at = 4.0
    for step in range(7):
        begin = at
        made.add("user_annotation", f"ProfilerStep#{step}", begin, 48)
        made.add("python_function", "train.py(7): step", begin + 0.5, 46)
        made.add("python_function", "nn.Module: Net_0", begin + 1, 18, **{"Python module id": 0})
        for number in range(3):
            op = at + 2 + 5 * number
            made.sequence += 1
            told: Event = {"Sequence number": made.sequence, "Input Dims": [[8, 1 << number]]}
            name = ("aten::linear", "aten::relu", "aten::clone")[number]
            made.add("python_function", f"nn.Module: Part_{number}", op - 0.5, 5,
                     **{"Python module id": number})  # fmt: skip
            made.add("cpu_op", name, op, 4, **told)
            made.add("cpu_op", "aten::empty", op + 0.5, 1.5)
            cuda.allocate(op + 1, f"a{number}", (number + 1) * MIB + 512 * step)
            cuda.allocate(op + 2.5, f"t{number}", (7 - number) * 4096)
            cuda.release(op + 3, f"t{number}")
            cpu.allocate(op + 1.5, f"c{number}", 100 * (number + step + 1))
        if step in (1, 2, 3, 5):
            cuda.allocate(at + 18, f"k{step}", 2 * MIB + step)
        made.add("cuda_runtime", "cudaMalloc", at + 19, 1 + step / 4)
        for back in range(3):
            op = at + 21 + 6 * back
            sequence = made.sequence - back
            told = {"Sequence number": sequence, "Fwd thread id": 1}
            kind = ("Clone", "Relu", "Addmm")[back]
            made.add("cpu_op", BACKWARD.format(kind), op, 5, 2, **told)
            cuda.allocate(op + 1, f"g{back}", 3 * MIB // (back + 1), tid=2)
            cuda.release(op + 2, f"a{2 - back}", tid=2)
            cpu.release(op + 2.5, f"c{2 - back}")
        made.add("cpu_op", "Optimizer.step#Adam.step", at + 40, 5)
        if step == 0:
            for number in range(2):
                cuda.allocate(at + 41 + number, f"s{number}", MIB // (number + 2))
        for back in range(3):
            cuda.release(at + 42.5 + back / 4, f"g{back}")
        second.allocate(at + 30, f"x{step}", 1000 + step)
        second.release(at + 30 + (step % 2) * 9, f"x{step}")
        other.allocate(at + 33, "o", 64 << step)
        other.release(at + 35, "o")
        if step == 4:
            cuda.release(at + 46, "q", 12345)
            cuda.release(at + 46.5, "w", MIB)
        at += 48 + (step == 3) * 6
    made.events += [*cuda.events, *second.events, *cpu.events, *other.events]
    return made.events


def flat_memory() -> list[Event]:
    """No step, no module, no growth: one device whose peak comes twice."""
    made = Recording(3)
    device = MadeMemory(base=0, kind=PRIVATE)
    for number, (at, size) in enumerate(((2, 900), (6, 300), (11, 900), (15, 899), (20, 40))):
        made.add("cpu_op", f"aten::op{number % 2}", at, 3)
        device.allocate(at + 1, f"b{number}", size)
        if number % 2:
            device.release(at + 2, f"b{number - 1}")
    return made.events + device.events


def modules() -> list[Event]:
    """Modules of four levels, alike and not, called twice and again, with idle time before them."""
    made = Recording(13)
    at = 3.0
    for step in range(4):
        begin = at
        first = made.sequence + 1
        told: Event
        for block, inside in enumerate((2, 2, 2, 3, 2)):
            start = at
            for number in range(inside):
                made.sequence += 1
                length = 5 + (block == 2) * 9 + number + (step == 2) * 2
                made.add("python_function", f"nn.Module: {'Conv' if number else 'Norm'}_{block}",
                         at + 1, length, **{"Python module id": block})  # fmt: skip
                told = {"Sequence number": made.sequence, "Input Dims": [[block, number]]}
                name = "conv" if number else "norm"
                made.add("cpu_op", f"aten::{name}", at + 2, length - 2, **told)
                made.launch(at + 2.5, 1, name, 2.5 * (block + 1) + step,
                            (0, 7 + 2 * (block == 4)))  # fmt: skip
                at += length + 1.5
            if block == 1:
                made.add("cpu_op", "aten::item", at, 4)
                made.add("cuda_runtime", "cudaStreamSynchronize", at + 0.5, 3)
                at += 5
            made.add("python_function", f"nn.Module: Stage_{block}", start + 0.5, at - start)
            at += 1
        made.add("python_function", "nn.Module: Model_0", begin + 0.25, at - begin)
        for sequence in range(made.sequence, first - 1, -1):
            told = {"Sequence number": sequence, "Fwd thread id": 1}
            made.add("cpu_op", BACKWARD.format("Conv"), at, 6, 2, **told)
            if sequence % 3 == 0:
                made.add("python_function", "nn.Module: Norm_0", at + 0.5, 2, 2,
                         **{"Python module id": 0})  # fmt: skip
                made.launch(at + 1, 0.75, "norm", 1.25, tid=2)
            made.launch(at + 3, 1, "conv_backward", 1.5 + sequence % 5, (0, 7), tid=2)
            at += 7
        made.add("user_annotation", f"ProfilerStep#{step}", begin, at + 2 - begin)
        at += 4
    device = MadeMemory(kind=CUDA)
    for number in range(12):
        device.allocate(6 + 8 * number, f"m{number}", 1000 * (number + 1))
        if number % 3 == 2:
            device.release(9 + 8 * number, f"m{number - 1}")
    return made.events + device.events


def odd() -> list[Event]:
    """What few recordings have: processes, names of threads, waits, ranges, many streams."""
    made = Recording(19)
    add = made.events.append
    for pid, tid, name in (
        (PID, 7, "thread 7 (pt_autograd_0)"), (PID, 8, "thread 8 (python3)"), (PID, 9, "worker"),
        (200, 3, "thread 3"), (0, 5, "stream 5"), (0, 77, "side"), (0, 6, "Stream 6"),
    ):  # fmt: skip
        add({"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "ts": 0,
             "args": {"name": name}})  # fmt: skip
    for pid, name in ((PID, "python"), (200, "loader"), (0, "GPU 0")):
        add({"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "ts": 0,
             "args": {"name": name}})  # fmt: skip
    made.on_device("kernel", "old", 0.5, 6, (0, 5), correlation=1)
    made.on_device("kernel", "old", 3, 9, (0, 6), correlation=2)
    _threads(made)
    made.add("cuda_runtime", "cudaLaunchKernel", 30, 1, 11)
    for pid, name in ((-1, "Buffer Flush"), (PID, "Activity Buffer Request")):
        add({"ph": "X", "cat": "overhead", "name": name, "pid": pid, "tid": 0, "ts": 21, "dur": 4})
    for tid, ts in ((3, 6), (3, 12), (4, 8)):
        made.events.append(
            {"ph": "X", "cat": "cpu_op", "name": "aten::load", "pid": 200, "tid": tid, "ts": ts,
             "dur": 5.5}
        )  # fmt: skip
    for name, ts, length in (("PyTorch Profiler (0)", 1, 190), ("Record Window End", 191, 0)):
        made.events.append(
            {"ph": "X", "cat": "Trace", "name": name, "pid": "Traces", "tid": "PyTorch", "ts": ts,
             "dur": length, "args": {}}
        )  # fmt: skip
    for name, ts, length, stream in (
        ("Stream Wait Event", 14, 6, 5), ("Context Sync", 33, 7, -1), ("Event Sync", 45, 2, 6),
    ):  # fmt: skip
        made.on_device("cuda_sync", name, ts, length, (0, stream),
                       **_with("cuda_sync_kind", name))  # fmt: skip
    _many_streams(made)
    for number in range(5):
        add(memory(5 + 9 * number, 256 * (1 - 2 * (number % 2)) * (number + 1), None))
        add(memory(6 + 9 * number, 128 * (number + 1), 4096 + number, device=1, reserved=9000))
        add(memory(7 + 9 * number, 64, 10 + 64 * number, kind=12, device=2))
    made.gauge("Requests", [(3, 1), (30, 4), (31, 4), (90, 2)], "Traces")
    made.gauge("Cycles (Current Kernel)", [(11, 9000), (40, 7000)], "GPU 0 Counters")
    made.gauge("Temperature (C)", [(2 * at, 40 + at % 5) for at in range(30)], "GPU 0 Counters")
    return made.events


def _threads(made: Recording) -> None:
    """Ops of four threads, one unfinished, whose kernels say how they fill the device."""
    for tid, start, names in (
        (1, 4, ("aten::mul", "aten::add", "aten::mul")), (7, 9, ("AddBackward0", "aten::sum")),
        (8, 2, ("aten::read",)), (9, 5, ("aten::wait", "aten::wait", "aten::wait")),
    ):  # fmt: skip
        at = float(start)
        for number, name in enumerate(names):
            length = 7 + 3.5 * number + tid % 3
            told: Event = {"finished": number != 1}
            if tid == 7:
                told |= {"Sequence number": 5 - number, "Fwd thread id": 1}
            elif tid == 1:
                told |= {"Sequence number": 4 + number}
            made.add("cpu_op", name, at, length, tid, **told)
            args: Event = {
                "blocks per SM": 0.3 * (number + 1), "warps per SM": 2.5 * (number + tid),
                "est. achieved occupancy %": 13 * (number + 1), "registers per thread": 32,
                "grid": [number + 1, 1, 1], "block": [64, 1, 1],
            }  # fmt: skip
            made.launch(at + 1, 1.5, f"work_{name[-3:]}", 6 + 2 * number, (0, 5 + tid % 2), tid=tid,
                        **args)  # fmt: skip
            at += length + number


def _many_streams(made: Recording) -> None:
    """Ten streams on which graphs alone run, with other original streams; a call of the host."""
    told: Event
    for replay in range(3):
        made.correlation += 1
        told = {"correlation": made.correlation}
        at = 60.0 + 40 * replay
        made.add("cuda_runtime", "cudaGraphLaunch", at, 2, **told)
        for number in range(14):
            name = (
                "gemm", "ncclDevKernel_AllReduce_Sum_f32", "gemm_b", "ncclDevKernel_ReduceScatter",
            )[number % 4]  # fmt: skip
            node: Event = {"graph id": 2, "graph node id": number + 1, **told}
            stream = 30 + number % 10
            if number % 10 == 0:
                node |= {"original_stream": 40 + number + replay}
            if number % 10 == 1:
                node |= {"annotated_stream": 50 + number % 3, "original_stream": 60 + number}
            start = at + 4 + 1.5 * number + made.rng.choice((0, 0.25))
            if number == 12:
                made.on_device("gpu_memcpy", "Memcpy DtoD (Device -> Device)", start, 2,
                               (0, stream), bytes=900, **node)  # fmt: skip
            elif number == 13:
                made.on_device("gpu_memset", "Memset (Device)", start, 1, (0, stream), **node)
            else:
                made.on_device("kernel", name, start, 2.5 + number % 3, (0, stream), **node)
        made.on_device("graph_host_node", "HostNode", at + 26, 3, (0, 30), **told)
        made.on_device("kernel", "last", at + 30, 1.5, (0, 30), **told,
                       **{"graph id": 2, "graph node id": 99})  # fmt: skip
        made.on_device("gpu_user_annotation", "replay", at + 3, 30, (0, 30 + replay % 2))
        made.on_device("gpu_user_annotation", "eager", at + 3, 5, (0, 5))


def mtia() -> list[Event]:
    """Programs, copies and waits of a device of another maker."""
    made = Recording(31)
    for number in range(6):
        at = 4.0 + 17 * number
        made.add("cpu_op", f"aten::op{number % 2}", at, 9)
        made.add("mtia_runtime", "runFunction", at + 1, 4, correlation=number)
        name = ("program", "dma_request", "event_wait")[number % 3]
        made.on_device("mtia_ccp_events", name, at + 6, 3 + number, (number % 2, 1), bytes=70,
                       correlation=number)  # fmt: skip
    made.events += [
        memory(7 + 9 * number, 64 + number, 10 + 64 * number, kind=19) for number in range(5)
    ]
    return made.events


def layers() -> list[Event]:
    """Twelve modules and lines that hold memory of ever other sizes, and a peak between steps."""
    made = Recording(23)
    device = MadeMemory(base=5 * MIB, kind=CUDA)
    at = 5.0
    for step in range(3):
        made.add("user_annotation", f"ProfilerStep#{step + 2}", at, 96)
        for number in range(12):
            start = at + 8 * number
            made.add("python_function", f"nn.Module: Layer{number}_0", start, 7,
                     **_with("Python module id", 0))  # fmt: skip
            made.add("python_function", f"net.py({number + 3}): forward", start + 0.25, 6)
            made.add("cpu_op", "aten::empty", start + 1, 3)
            device.allocate(start + 2, f"l{number}", (4096 << number % 5) + 512 * number * number)
            if number % 4 == 3:
                device.release(start + 3, f"l{number - 2}")
        for number in range(12):
            if number % 4 != 1:
                device.release(at + 95 + number / 50, f"l{number}")
        if step == 1:
            device.allocate(at + 97, "wide", 9 * MIB)
            device.release(at + 98, "wide")
        at += 100
    return made.events + device.events


RECORDINGS: dict[str, tuple[Callable[[], list[Event]], dict[str, Any]]] = {
    "training": (training, {"deviceProperties": [V100, {**V100, "id": 1}], "host_name": "node-a"}),
    "graphs": (graphs, {"deviceProperties": [V100]}),
    "memories": (memories, {"deviceProperties": [V100, {**V100, "id": 1}]}),
    "flat memory": (flat_memory, {}),
    "modules": (modules, {"deviceProperties": [V100]}),
    "odd": (odd, {"distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8}}),
    "mtia": (mtia, {}),
    "layers": (layers, {"deviceProperties": [V100]}),
}
"""Name → its events, and what the file says of the devices."""

PACKAGES = "/usr/lib/python3.11/site-packages"
STACKS = (
    (),
    ("/home/me/model.py:31 forward", f"{PACKAGES}/torch/nn/modules/module.py:1 _call"),
    ("/home/me/model.py:35 forward", f"{PACKAGES}/torch/nn/modules/module.py:1 _call"),
    (f"{PACKAGES}/torch/optim/adam.py:3 step", "/home/me/train.py:9 main"),
    (f"{PACKAGES}/torch/distributed/c10d.py:4 reduce",),
    (f"{PACKAGES}/torch/utils/data/loader.py:5 pin", "train.py:2 load"),
    (f"{PACKAGES}/torch/autograd/graph.py:8 _engine_run_backward",
     "/home/me/train.py:11 main"),
    ("/home/me/loss.py:6 loss", "/home/me/train.py:10 main", "/home/me/run.py:1 go",
     "/home/me/run.py:2 outer"),
)  # fmt: skip


class _Pool:
    """Segments of one device, stream and pool; first fit. A piece: address, size, stack or −1."""

    def __init__(self, base: int, **told: Any) -> None:
        self.next = base
        self.told = told
        self.segments: dict[int, list[list[int]]] = {}

    def allocate(self, size: int, stack: int) -> tuple[int, int, bool]:
        """Address, segment, and whether the segment is new."""
        for start, pieces in self.segments.items():
            for place, (at, room, owner) in enumerate(pieces):
                if owner < 0 and room >= size:
                    rest = [[at + size, room - size, -1]] if room > size else []
                    pieces[place : place + 1] = [[at, size, stack], *rest]
                    return at, start, False
        start = self.next
        room = 2 * MIB if size <= MIB else max(20 * MIB, size)
        self.next += room + (7 * MIB if len(self.segments) % 2 else 0)
        self.segments[start] = [[start, size, stack], [start + size, room - size, -1]]
        return start, start, True

    def release(self, address: int) -> int:
        """The size of the block, which joins the free pieces beside it."""
        for pieces in self.segments.values():
            for one in pieces:
                if one[0] == address and one[2] >= 0:
                    size, one[2] = one[1], -1
                    merged: list[list[int]] = []
                    for piece in pieces:
                        if merged and merged[-1][2] < 0 and piece[2] < 0:
                            merged[-1][1] += piece[1]
                        else:
                            merged.append(piece)
                    pieces[:] = merged
                    return size
        raise KeyError(address)


def snapshot_of(seed: int, *, failed: bool = True, marked: bool = True) -> dict[str, Any]:
    """A history of two devices with two streams, small and private pools, and its state at the end.

    The first allocations are there before the history; one release is not recorded.
    """
    rng = random.Random(seed)
    pools = {
        (device, kind): _Pool((device * 9 + number + 1) << 32, stream=kind == "stream", kind=kind)
        for device in (0, 1)
        for number, kind in enumerate(("large", "small", "stream", "private"))
    }
    traces: list[list[dict[str, Any]]] = [[], []]
    alive: list[tuple[int, str, int, int]] = []
    for turn in range(150):
        device = int(rng.random() < 0.3)
        kind = rng.choice(("large", "large", "large", "small", "stream", "private"))
        pool, stream = pools[device, kind], 77 * (kind == "stream")
        pool_id = (1, 4) if kind == "private" else (0, 0)
        now, stack = 1_000 + 13 * turn + turn % 3, rng.randrange(len(STACKS))
        events = traces[device] if turn >= 15 else []
        if len(alive) > 8 and rng.random() < 0.47:
            device, kind, address, size = alive.pop(rng.randrange(len(alive)))
            events = traces[device] if turn >= 15 else []
            pools[device, kind].release(address)
            stream = 77 * (kind == "stream")
            if turn != 60:
                for action in ("free_requested", "free_completed"):
                    events.append(event(action, address, size, now, *STACKS[stack], stream=stream))
            continue
        size = 512 * rng.randrange(1, 900) if kind == "small" else 512 * rng.randrange(2100, 30_000)
        address, start, is_new = pool.allocate(size, stack)
        if is_new:
            room = sum(piece[1] for piece in pool.segments[start])
            events.append(event("segment_alloc", start, room, now, *STACKS[stack], stream=stream))
        told: Event = {"stream": stream, "pool_id": pool_id}
        events.append(event("alloc", address, size - turn % 400, now, *STACKS[stack], **told))
        alive.append((device, kind, address, size))
    if failed:
        oom = event("oom", 0, 900 * MIB, 3_200, *STACKS[1])
        oom.pop("addr")
        traces[0].append({**oom, "device_free": 30 * MIB})
    segments = [
        segment(
            start,
            *(
                drawn_snapshot.block(
                    size, "active_allocated" if stack >= 0 else "inactive", *STACKS[max(stack, 0)]
                )
                for _, size, stack in pieces
            ),
            device=device,
            stream=77 * (kind == "stream"),
            segment_type="small" if kind == "small" else "large",
            segment_pool_id=(1, 4) if kind == "private" else (0, 0),
        )
        for (device, kind), pool in pools.items()
        for start, pieces in pool.segments.items()
    ]
    marks = [
        {"stage": stage, "name": f"ProfilerStep#{step}", "device": 0, "time_us": time}
        for step in range(5)
        for stage, time in (("START", 1_250 + 350 * step), ("END", 1_590 + 350 * step))
    ]
    root = {"segments": segments, "device_traces": traces}
    return {**root, "external_annotations": marks} if marked else root


TIMELINE = [
    [1_700_000_000_000_000 + 7 * at + at % 3 for at in range(30)],
    [[0, 100, 40 * (at > 4), 8 * (at % 2), *(((at * at + kind) % 7) << kind for kind in range(5))]
     for at in range(30)],
]  # fmt: skip
"""Sums of categories, as `export_memory_timeline` writes them."""
SNAPSHOTS: dict[str, Callable[[], dict[str, Any]]] = {
    "snapshot": lambda: snapshot_of(17),
    "snapshot without steps": lambda: snapshot_of(29, failed=False, marked=False),
}
