"""Recordings of a training loop drawn at random: everything a rank does, in varying lengths.

Lengths are of a short list, so that figures tie, events touch and limits are met from both sides.
What happens is in the order in which PyTorch does it: a step waits for a batch, copies it, runs the
modules, whose ops launch kernels on streams that run them one after another, hands the backward
pass to another thread, and ends with the optimizer. ``Twist`` is what a second recording of the
same loop has different.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from kinetoscope.trace.model import Trace
from tests.trace.drawn import Event, annotation, drawn, python, x

LOADER = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
NCCL = "ncclDevKernel_{}_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
GPU = {"id": 0, "name": "NVIDIA A100-SXM4-40GB", "totalGlobalMem": 40 << 30, "computeMajor": 8,
       "computeMinor": 0, "numSms": 108, "maxThreadsPerMultiprocessor": 2048,
       "warpSize": 32}  # fmt: skip
LIBRARY = ("<string>(1): f", "<eval_with_key>.1(4): forward", "torch/profiler/profiler.py(7): step",
           "torch/_dynamo/convert_frame.py(5): compile",
           "triton/compiler/compiler.py(9): compile")  # fmt: skip
UNITS = (1, 10, 100)
LENGTHS = (1, 2, 2, 3, 5, 5, 8, 10, 20, 20, 40, 100)
ON_ANY = ("collect", "lock", "overhead", "evaluate", "nothing", "library", "names", "worker",
          "barrier")  # fmt: skip
ON_GPU = ("allocate", "streams", "event", "graph", "capture", "set", "copies", "blocking_copy",
          "other_device", "streams", "copies", "graph")  # fmt: skip
LAYERS: tuple[tuple[str, str, str, str, list[list[int]]], ...] = (
    ("Linear", "aten::linear", "aten::addmm", "ampere_sgemm_128x64_tn", [[32, 64], [64, 64]]),
    ("ReLU", "aten::relu", "aten::clamp_min", "void at::native::vectorized_elementwise_kernel<4>",
     [[32, 64]]),
    ("Conv2d", "aten::conv2d", "aten::cudnn_convolution", "sm80_xmma_fprop_implicit_gemm_f16",
     [[32, 3, 8, 8], [8, 3, 3, 3]]),
    ("LayerNorm", "aten::layer_norm", "aten::native_layer_norm", "vectorized_layer_norm_kernel",
     [[32, 64], [64]]),
    ("Attention", "aten::scaled_dot_product_attention", "aten::_flash_attention_forward",
     "flash_fwd_kernel", [[32, 8, 16, 8]] * 3),
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Twist:
    """What is different in a recording; all else is as in any other of its seed."""

    slower: Mapping[str, float] = field(default_factory=dict)  # op → factor of its kernel and host
    renamed: Mapping[str, str] = field(default_factory=dict)  # op or kernel → another name
    twice: str = ""  # op that is called twice
    loader: float = 1.0
    clock: float = 1.0  # all kernels
    host: float = 1.0  # everything on the host
    steps: int = 0  # 0: as many as the loop has
    noise: int = 0  # seed of what varies from day to day
    sigma: float = 0.0  # above 0: all steps do the same, and take so much longer or shorter
    device: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)


def work(name: str, ts: float, dur: float, stream: int = 7, **args: Any) -> Event:
    """An event on a stream of a device."""
    cat, device = args.pop("cat", "kernel"), args.pop("device", 0)
    return x(name, ts, dur, cat=cat, pid=device, tid=stream, device=device, stream=stream, **args)


class Loop:
    """A recording while it is drawn; times in µs."""

    def __init__(self, seed: int, twist: Twist = Twist()) -> None:
        self.seed, self.twist = seed, twist
        self.shape = Random(seed)  # what the loop is
        self.rng = Random(seed * 1000 + twist.noise)  # what varies
        self.unit = UNITS[seed % 3]
        self.on_gpu = seed % 4 != 3
        self.events: list[Event] = []
        self.now, self.tid, self.number = 0, 1, 0
        self.free: dict[int, int] = {}  # stream → when its work ends
        self.device, self.mood = 0, 1.0
        self.days = Random(seed * 77 + twist.noise)
        self.allocated = 1 << 20
        flip = self.shape.random
        self.with_frames, self.with_modules = flip() < 0.6, flip() < 0.6
        self.with_shapes, self.with_memory = flip() < 0.7, flip() < 0.5
        self.with_nccl = flip() < 0.5
        self.ends_synced, self.copies_pinned = flip() < 0.5, flip() < 0.5
        self.is_compiled = flip() < 0.3
        self.is_host_bound = flip() < 0.5
        self.besides = self.shape.choice((0, 1, 1, 3))
        self.layers = [self.shape.choice(LAYERS) for _ in range(self.shape.randint(1, 4))]
        self.steps = twist.steps or self.shape.randint(1, 9)
        self.is_marked = flip() < 0.85
        self.outlier = self.shape.randrange(12)
        self.is_cold = flip() < 0.3
        self._run()

    # --- parts ------------------------------------------------------------------------------------

    def length(self, factor: float = 1.0) -> int:
        return max(1, round(self.rng.choice(LENGTHS) * self.unit * factor * self.mood))

    def pause(self, factor: float = 0.3) -> None:
        self.now += round(self.length(factor * self.twist.host))

    @contextmanager
    def within(self, make: Any, name: str, **args: Any) -> Iterator[None]:
        """An event around what is done meanwhile, with a little before and after."""
        begin, place = self.now, len(self.events)
        self.now += 1
        yield
        self.now += self.rng.choice((0, 1, 2))
        event = make(self.twist.renamed.get(name, name), begin, self.now - begin, tid=self.tid,
                     **args)  # fmt: skip
        self.events.insert(place, event)

    @contextmanager
    def frame(self, name: str) -> Iterator[None]:
        if not self.with_frames:
            yield
            return
        with self.within(python, name):
            yield

    def call(self, name: str, length: int, correlation: int = 0) -> None:
        number = correlation or self._next()
        self.events.append(
            x(name, self.now, length, cat="cuda_runtime", tid=self.tid, correlation=number)
        )
        self.now += length

    def _next(self) -> int:
        self.number += 1
        return self.number

    def on_stream(self, stream: int, length: int, lag: int) -> int:
        """When work that is launched now begins; the stream is busy until its end."""
        begin = max(self.now + lag, self.free.get(stream, 0))
        self.free[stream] = begin + length
        return begin

    def launch(self, name: str, stream: int = 7, factor: float = 1.0, **args: Any) -> None:
        number, external = self._next(), args.pop("external", 0)
        length = self.length((0.4 if self.is_host_bound else 3) * factor * self.twist.clock)
        # A launch may load code, or wait for room in the queue.
        slow = self.length(3) if self.rng.random() < 0.06 else 0
        if slow and self.rng.random() < 0.4:
            self.events.append(x(self.rng.choice(("Lazy Function Loading", "cuModuleLoadData")),
                                 self.now + 1, slow, cat="overhead", tid=self.tid))  # fmt: skip
        self.call(self.rng.choice(("cudaLaunchKernel", "cudaLaunchKernel", "cuLaunchKernelEx")),
                  self.rng.choice((2, 3, 4)) + slow, number)  # fmt: skip
        stream += 100 * self.device
        begin = self.on_stream(stream, length, self.rng.choice((0, 1, 1, 2, 3, 8)))
        self.events.append(
            work(self.twist.renamed.get(name, name), begin, length, stream, correlation=number,
                 external_id=external, device=self.device, **args)
        )  # fmt: skip

    def copy(self, kind: str, size: int) -> None:
        number = self._next()
        length = self.length(0.5)
        self.call("cudaMemcpyAsync", 3, number)
        begin = self.on_stream(7, length, 1)
        told: dict[str, Any] = {"memory bandwidth (GB/s)": size / length / 1e3, "bytes": size}
        self.events.append(
            work(f"Memcpy {kind}", begin, length, cat="gpu_memcpy", correlation=number, **told)
        )

    def wait(self, name: str) -> None:
        """Blocks until the device has done all."""
        end = max([self.now + 1, *self.free.values()])
        self.call(name, end + self.rng.choice((0, 1, 2)) - self.now)

    def memory(self, size: int) -> None:
        if self.with_memory:
            self.allocated += size
            self.events.append(
                {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 100,
                 "tid": self.tid, "ts": self.now,
                 "args": {"Device Type": 1 if self.on_gpu else 0,
                          "Device Id": 0 if self.on_gpu else -1, "Bytes": size,
                          "Addr": 4096 + abs(size), "Total Allocated": self.allocated,
                          "Total Reserved": self.allocated + (1 << 20)}}
            )  # fmt: skip

    def op(self, outer: str, inner: str, kernel_name: str, dims: Any, **more: Any) -> None:
        factor = self.twist.slower.get(outer, 1.0)
        told: dict[str, Any] = {"external_id": self._next(), **more}
        if self.with_shapes:
            told |= {"Input Dims": dims, "Input type": ["float"] * len(dims)}
        with self.within(x, outer, **told):
            told["external_id"] = external = self._next()
            with self.within(x, inner, **told):
                self.now += self.length(0.2 * factor * self.twist.host)
                self.memory(4096 * self.rng.choice((1, 2, 8)))
                if self.on_gpu:
                    size: dict[str, Any] = {
                        "grid": [self.rng.choice((8, 108, 216)), 1, 1],
                        "block": [128, 1, 1],
                        "registers per thread": 32,
                        "shared memory": 1024,
                        "blocks per SM": 1.5,
                        "warps per SM": self.rng.choice((2, 8)),
                        "est. achieved occupancy %": self.rng.choice((6, 25, 80)),
                    }
                    self.launch(kernel_name, factor=factor, external=external, **size)
                else:
                    self.now += self.length(factor)
        self.pause(0.1)

    # --- a step -----------------------------------------------------------------------------------

    def batch(self) -> None:
        slow = self.rng.choice((0.1, 0.1, 1, 4)) * self.twist.loader
        with self.within(annotation, LOADER), self.frame("loader.py(7): __next__"):
            self.pause(slow)
            if self.rng.random() < 0.3:
                with self.within(x, "aten::stack"):
                    self.pause(slow)
        if self.on_gpu:
            with self.within(x, "aten::copy_", external_id=self._next()):
                source = "Pinned" if self.copies_pinned else "Pageable"
                self.copy(f"HtoD ({source} -> Device)", self.rng.choice((1 << 12, 1 << 20)))
                if not self.copies_pinned:
                    self.wait("cudaStreamSynchronize")

    def forward(self) -> None:
        compiled = self.is_compiled and self.rng.random() < 0.8
        name = "Torch-Compiled Region: 0/0" if compiled else "loss_fn"
        with self.frame("train.py(20): forward"), self.within(annotation, name):
            if compiled and self.rng.random() < 0.3:
                with self.within(x, "_compile.compile_inner (dynamo_timed)"):
                    self.pause(4)
            for at, (module, *names, dims) in enumerate(self.layers):
                outer, inner, name = map(str, names)
                if not self.with_modules:
                    self.op(outer, inner, name, dims, seq=at)
                    continue
                with self.within(python, f"nn.Module: {module}_{at}", **{"Python module id": at}):
                    self.op(outer, inner, name, dims, seq=at)
                    if self.twist.twice == outer:
                        self.op(outer, inner, name, dims)

    def item(self) -> None:
        """The loss is read: the host waits for the device."""
        inner = "aten::_local_scalar_dense"
        with (
            self.frame("train.py(31): log"),
            self.within(x, "aten::item"),
            self.within(x, inner, external_id=self._next()),
        ):
            if self.on_gpu:
                self.copy("DtoH (Device -> Pageable)", 4)
                self.wait("cudaStreamSynchronize")
            else:
                self.pause(0.1)

    def backward(self) -> None:
        begin, main = self.now, self.tid
        with self.frame("<built-in method run_backward of torch._C._EngineBase object at 0x7f>"):
            self.now += self.rng.choice((1, 5))
            self.tid = 2 if self.shape.random() < 0.7 else 1
            for at, (_, _, inner, name, dims) in reversed([*enumerate(self.layers)]):
                stem = inner.removeprefix("aten::").title().replace("_", "")
                around = f"autograd::engine::evaluate_function: {stem}Backward0"
                self.op(around, f"{inner}_backward", f"{name}_bwd", dims, seq=at, fwd=main)
                if self.with_nccl and self.rng.random() < 0.6:
                    self.reduce()
            self.tid = main
        if not self.with_frames:
            self.now = max(self.now, begin + 1)

    def reduce(self) -> None:
        dims = self.rng.choice((1 << 12, 1 << 20))
        if not self.on_gpu:
            with self.within(x, "c10d::allreduce_", **{"Input Dims": [[dims]]}):
                pass
            length = self.length(2)
            self.events.append(annotation("gloo:all_reduce", self.now, length, tid=9))
            self.now += self.rng.choice((0, length))
            return
        told = {"Collective name": "allreduce", "dtype": "Float", "In msg nelems": dims,
                "Out msg nelems": dims, "Group size": 2, "Process Group Name": "0",
                "Process Group Ranks": "[0, 1]"}  # fmt: skip
        with self.within(x, "record_param_comms", external_id=self._next(), **told):
            kind = self.rng.choice(("AllReduce", "AllReduce", "AllGather", "ReduceScatter"))
            self.launch(NCCL.format(kind), 20, 2, external=self.number, **told)
        if self.rng.random() < 0.5:  # what comes next needs it
            behind = self.free[20 + 100 * self.device] + self.rng.choice((0, 1, 2, 5, 30))
            self.free[7] = max(self.free.get(7, 0), behind)

    def beside(self) -> None:
        """What happens now and then."""
        kinds = ON_ANY if not self.on_gpu else (*ON_ANY, *ON_GPU)
        getattr(self, f"_{self.rng.choice(kinds)}")()

    def _collect(self) -> None:
        with self.frame("<built-in function collect>"):
            self.pause(2)

    def _lock(self) -> None:
        with self.frame("<built-in method acquire of _thread.lock object at 0x7f>"):
            self.pause(2)

    def _overhead(self) -> None:
        self.events.append(x("Buffer Flush", self.now, self.length(), cat="overhead", tid=self.tid))
        self.pause()

    def _evaluate(self) -> None:
        with self.within(annotation, "evaluate"):
            self.item()

    def _nothing(self) -> None:
        self.pause(6)

    def _library(self) -> None:
        """Frames of torch below the user's, and what has no place in a file."""
        with self.frame("/home/me/model/train.py(20): step"):
            with self.frame(
                "lib/python3.11/site-packages/torch/nn/modules/linear.py(114): forward"
            ):
                self.pause()
            with self.frame(self.rng.choice(LIBRARY)):
                self.pause(2)

    def _names(self) -> None:
        """More names than are kept."""
        for at in range(self.rng.choice((3, 26))):
            with self.within(x, f"aten::small_{at}"):
                self.now += self.rng.choice((1, 2, 3))

    def _worker(self) -> None:
        """Another thread works meanwhile, with its ops and calls."""
        self.tid, since = 5, self.now
        with self.within(x, "aten::pin_memory"):
            self.pause(2)
            if self.on_gpu:
                self.call("cudaHostAlloc", self.length())
        self.tid, self.now = 1, since + self.rng.choice((0, 1, 5))

    def _barrier(self) -> None:
        with self.within(x, self.rng.choice(("c10d::barrier", "_c10d_functional::wait_tensor"))):
            self.pause(2)

    def _allocate(self) -> None:
        self.call(self.rng.choice(("cudaMalloc", "cudaFree", "cudaHostAlloc")), self.length(2))

    def _streams(self) -> None:
        self.launch("sort_kernel", 13, 2)
        self.call("cudaEventRecord", 1)
        self.call("cudaStreamWaitEvent", 1)
        here, there = (one + 100 * self.device for one in (7, 13))
        behind = self.free[there] + self.rng.choice((0, 0, 1, 3))
        self.free[here] = max(self.free.get(here, 0), behind)
        self.launch("gather_kernel")

    def _event(self) -> None:
        self.call("cudaEventSynchronize", self.length())

    def _graph(self) -> None:
        number = self._next()
        self.call("cudaGraphLaunch", self.rng.choice((6, 200)), number)
        for at in range(self.rng.choice((1, 3, 5))):
            length = self.length()
            begin = self.on_stream(7, length, 2) + self.rng.choice((0, 0, 2, 9))
            self.events.append(
                work(f"node_{at}", begin, length, correlation=number,
                     **{"graph node id": at + 1, "graph id": 5})
            )  # fmt: skip
            self.free[7] = begin + length

    def _capture(self) -> None:
        self.call("cudaStreamBeginCapture_v10000", 2)
        for _ in range(3):
            with self.within(x, "aten::relu"):
                self.call("cudaLaunchKernel", 2)
        self.call("cudaStreamEndCapture", 2)
        self.pause(0.1)
        self.call("cudaGraphInstantiateWithFlags", self.length(2))

    def _set(self) -> None:
        number = self._next()
        self.call("cudaMemsetAsync", 2, number)
        begin, length = self.on_stream(7, 2, 1), 2
        self.events.append(
            work("Memset (Device)", begin, length, cat="gpu_memset", correlation=number, bytes=256)
        )

    def _copies(self) -> None:
        for _ in range(self.rng.choice((1, 4))):
            self.copy(self.rng.choice(("DtoD (Device -> Device)", "PtoP (Device -> Device)",
                                       "HtoD (Pinned -> Device)", "DtoH (Device -> Pinned)",
                                       "HtoD (Pageable -> Device)")),
                      self.rng.choice((4, 512, 1023, 1024, 4096, 1 << 20, 1 << 24)))  # fmt: skip

    def _blocking_copy(self) -> None:
        self.copy("HtoD (Pageable -> Device)", 1 << 16)
        self.wait("cudaMemcpy")

    def _other_device(self) -> None:
        """A replica on a second device."""
        self.device = 1
        self.op("aten::linear", "aten::addmm", "replica_kernel", [[8, 8]])
        self.device = 0

    def optimize(self) -> None:
        with (
            self.frame("optimizer.py(9): step"),
            self.within(annotation, "Optimizer.step#SGD.step"),
        ):
            self.op("aten::_foreach_add_", "aten::add_", "multi_tensor_apply_kernel", [[64, 64]])
        with self.within(annotation, "Optimizer.zero_grad#SGD.zero_grad"):
            self.pause(0.1)
            self.memory(-8192)

    def _run(self) -> None:
        for step in range(self.steps):
            begin, place = self.now, len(self.events)
            usual = self.unit
            if self.twist.sigma:
                self.rng = Random(self.seed)
                self.mood = 1 + self.twist.sigma * self.days.choice((-2, -1, -1, 0, 0, 1, 1, 2))
            if not self.twist.sigma and (step == self.outlier or (self.is_cold and step == 0)):
                self.unit *= 4
            self.now += 1
            for part in (self.batch, self.forward, self.item, self.backward, self.optimize):
                if part != self.item or self.rng.random() < 0.4:
                    part()
                for _ in range(self.besides):
                    self.beside()
            if self.ends_synced and self.on_gpu:
                self.wait("cudaDeviceSynchronize")
            self.unit = usual
            if self.is_marked:
                event = annotation(f"ProfilerStep#{step + 2}", begin, self.now - begin)
                self.events.insert(place, event)
            self.now += self.rng.choice((0, 0, 1, 5))

    # --- the recording ----------------------------------------------------------------------------

    @property
    def metadata(self) -> dict[str, Any]:
        found: dict[str, Any] = {"record_shapes": int(self.with_shapes),
                                 "with_stack": int(self.with_frames),
                                 "with_modules": int(self.with_modules),
                                 "profile_memory": int(self.with_memory)}  # fmt: skip
        if self.on_gpu:
            found["deviceProperties"] = [{**GPU, **self.twist.device}, {**GPU, "id": 1}]
        if self.with_nccl:
            found["distributedInfo"] = {"backend": "nccl" if self.on_gpu else "gloo", "rank": 0,
                                        "world_size": 2}  # fmt: skip
        return {**found, **self.twist.metadata}

    @property
    def trace(self) -> Trace:
        return drawn(self.events, **self.metadata)

    def write(self, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        document = {"schemaVersion": 1, **self.metadata, "traceEvents": self.events}
        path.write_text(json.dumps(document))
        return path


CALLS = ("cudaLaunchKernel", "cudaLaunchKernel", "cudaMemcpyAsync", "cudaMemsetAsync",
         "cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventRecord", "cudaStreamWaitEvent",
         "cudaGraphLaunch", "cudaMalloc")  # fmt: skip
OPS = ("aten::mm", "aten::copy_", "aten::item", "autograd::engine::evaluate_function: MmBackward0",
       "c10d::barrier")  # fmt: skip
NOTES = (LOADER, "Optimizer.step#SGD.step", "gloo:all_reduce", "note", "evaluate")
FRAMES = ("train.py(3): step", "<built-in method run_backward of E>", "<built-in function collect>",
          "nn.Module: Linear_0",
          "<built-in method acquire of _thread.lock object at 0x7f>")  # fmt: skip
KERNELS = ("gemm", "gemm", NCCL.format("AllReduce"), "Memcpy HtoD (Pageable -> Device)",
           "Memcpy DtoH (Device -> Pinned)", "Memset (Device)")  # fmt: skip


def scatter(seed: int) -> list[Event]:
    """A few events at random, causal or not: what comes first, last, alone, at once or never."""
    random = Random(seed)
    found: list[Event] = []
    for at in range(random.choice((0, 1, 2, 3, 5, 8, 13, 21))):
        ts, dur, tid = random.randrange(60), random.randrange(20), random.randint(1, 2)
        kind = random.choice("ooccccnfp")
        if kind == "o":
            found.append(x(random.choice(OPS), ts, dur, tid=tid, external_id=at + 1))
        elif kind == "n":
            found.append(annotation(random.choice(NOTES), ts, dur, tid=tid))
        elif kind in "fp":
            found.append(python(random.choice(FRAMES), ts, dur, tid=tid))
        else:
            name = random.choice(CALLS)
            found.append(x(name, ts, dur, cat="cuda_runtime", tid=tid, correlation=at + 1))
            for _ in range(random.choice((0, 1, 1, 3 if name == "cudaGraphLaunch" else 1))):
                what = random.choice(KERNELS)
                cat = {"Memcpy": "gpu_memcpy", "Memset": "gpu_memset"}.get(what[:6], "kernel")
                begin = max(0, ts + random.choice((-2, 0, 1, 5, 20)))
                found.append(
                    work(what, begin, random.randrange(15), random.choice((7, 7, 8)), cat=cat,
                         device=random.choice((0, 0, 0, 1)),
                         correlation=random.choice((at + 1, 99)))
                )  # fmt: skip
    found += [
        annotation(f"ProfilerStep#{number}", 25 * number, 25)
        for number in range(random.choice((0, 1, 1, 2, 3)))
    ]
    random.shuffle(found)
    return found
