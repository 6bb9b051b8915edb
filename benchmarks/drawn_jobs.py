"""Who is named in drawn jobs? Traces of several ranks, each assumption broken one at a time.

    python -m benchmarks.drawn_jobs [JOBS] [--all]

A job is played through: ranks compute, call collectives, wait for each other, and are recorded as
traces, which are read as any other. Shapes: DDP (with async buckets, on gloo also with buffers),
FSDP, tensor parallel beside data parallel, stages of a pipeline with replicas, broadcasts only, two
groups of the same ranks. Faults: none, the backward pass, the input, work of one rank alone, every
third step, from the middle on, two ranks, a node, and two steps only.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from kinetoscope.analysis.distributed.comparison import Comparison, compare
from kinetoscope.analysis.distributed.model import RankDigest
from kinetoscope.analysis.distributed.rank.digest import digest_of
from kinetoscope.trace.read import read

JOBS = 240
SHAPES = {
    "gloo": ("ddp", "buffers", "fsdp", "broadcast", "groups", "tensor", "stages"),
    "nccl": ("ddp", "fsdp", "groups", "tensor", "stages"),
}
FAULTS = ("none", "backward", "data", "work", "third", "onset", "two", "node", "short", "none")
STEP_US = 24_000.0
LAYERS, MICRO = 4, 3
PER_NODE = 4
BASE_NS = 1_700_000_000_000_000_000
_OPS = {"all_reduce": "allreduce_", "all_gather": "_allgather_base_", "broadcast": "broadcast_",
        "reduce_scatter": "_reduce_scatter_base_", "send": "send", "recv": "recv_"}  # fmt: skip
_Program = Generator[None, None, None]


@dataclass(frozen=True)
class JobPlan:
    """A job; ``late`` are the ranks at fault, ``size`` what they take longer, of a step."""

    back_end: str
    shape: str
    fault: str
    ranks: int
    steps: int
    late: tuple[int, ...]
    size: float
    jitter: float
    seed: int

    @property
    def tensor(self) -> int:
        """Ranks of a tensor-parallel group."""
        return 2 if self.ranks < 8 else 4

    @property
    def stages(self) -> int:
        return 4 if self.ranks == 8 else 2

    def is_late(self, rank: int, step: int) -> bool:
        """Whether a rank takes longer in a step."""
        if self.fault == "third" and step % 3 != 1:
            return False
        return rank in self.late and not (self.fault == "onset" and step < self.steps // 2)


def plan_of(back_end: str, shape: str, fault: str, seed: int) -> JobPlan:
    """A job of a shape with a fault; all else is drawn."""
    rng = np.random.default_rng((seed, hash_of(back_end + shape + fault)))
    few = 4 if shape in ("tensor", "stages") else 2
    ranks = int(rng.choice([n for n in (2, 4, 8) if n >= few]))
    ranks = {"two": 8, "node": 12}.get(fault, ranks)
    if fault == "node":
        ranks = 16 if shape in ("tensor", "stages") else 12
        node = int(rng.integers(ranks // PER_NODE))
        late = tuple(range(node * PER_NODE, (node + 1) * PER_NODE))
    else:
        count = {"none": 0, "two": 2}.get(fault, 1)
        # Input and work before the first message of a later stage hold up nobody.
        first = 2 if shape == "stages" and fault in ("data", "work") else ranks
        late = tuple(sorted(map(int, rng.permutation(first)[:count])))
    low, high = (0.2, 0.6) if back_end == "gloo" else (0.06, 0.5)
    steps = {"onset": 12, "third": 9, "short": 2}.get(fault, int(rng.integers(4, 9)))
    jitter = float(rng.choice((0.01, 0.03) if back_end == "gloo" else (0.003, 0.01)))
    return JobPlan(back_end, shape, fault, ranks, steps, late, float(rng.uniform(low, high)),
                   jitter, seed)  # fmt: skip


def hash_of(text: str) -> int:
    """A number for a text that does not change between runs."""
    return int.from_bytes(text.encode(), "little") % (1 << 31)


# --- one rank -------------------------------------------------------------------------------------


@dataclass
class Exchange:
    """A collective, or a message, while ranks come to it."""

    members: tuple[int, ...]
    took: float
    ready: dict[int, float] = field(default_factory=dict)

    @property
    def whole(self) -> bool:
        return len(self.ready) == len(self.members)

    @property
    def end(self) -> float:
        return max(self.ready.values()) + self.took


class Rank:
    """A rank at work: its clocks, in µs, and what a profiler writes of it."""

    def __init__(self, plan: JobPlan, rank: int, world: dict[Any, Exchange]) -> None:
        self.plan, self.rank, self.world = plan, rank, world
        self.rng = np.random.default_rng((plan.seed, rank, 77))
        self.usual = 1 + self.rng.uniform(0, 0.4) * plan.jitter
        self.now = float(self.rng.uniform(0, 3000))
        self.events: list[dict[str, Any]] = []
        self.counts: Counter[Any] = Counter()
        self.on_host = plan.back_end == "gloo"
        self.worker = [0.0, 0.0]  # gloo's threads
        self.compute = self.comm = 0.0  # ends of the streams
        self.number = 0
        self.ties = bool(self.rng.integers(2))  # the wait of the stream is recorded

    def event(self, cat: str, name: str, tid: int, ts: float, end: float, **args: object) -> None:
        self.events.append({"ph": "X", "cat": cat, "name": name, "pid": args.pop("pid", 99),
                            "tid": tid, "ts": round(ts, 3), "dur": round(end - ts, 3),
                            "args": args})  # fmt: skip

    def around(self, name: str, since: float, cat: str = "user_annotation") -> None:
        """A range from an instant until now."""
        self.event(cat, name, 1, since, self.now)

    def work(self, name: str, us: float) -> None:
        """Compute: an op on the host, or the launch of a kernel."""
        took = us * self.usual * float(np.exp(self.rng.normal(0, self.plan.jitter)))
        if self.on_host:
            self.event("cpu_op", f"aten::{name}", 1, self.now, self.now + took)
            self.now += took + 4
        else:
            launched = self.launch(f"aten::{name}", self.now)
            begin = max(self.compute, launched + 4)
            self.compute = begin + took
            self.kernel(f"{name}_kernel", 7, begin, self.compute)

    def launch(self, op: str, at: float, **args: object) -> float:
        self.number += 1
        self.event("cpu_op", op, 1, at, at + 5, **{"External id": self.number, **args})
        self.event("cuda_runtime", "cudaLaunchKernel", 1, at + 1, at + 4, correlation=self.number)
        self.now = at + 6
        return at + 1

    def kernel(self, name: str, stream: int, ts: float, end: float, **args: object) -> None:
        device = self.rank % PER_NODE
        self.event("kernel", name, stream, ts, end, pid=device, device=device, stream=stream,
                   correlation=self.number, **{"External id": self.number, **args})  # fmt: skip

    def call(
        self, kind: str, group: str, ranks: Sequence[int], size: int, peer: int = -1
    ) -> tuple[Any, ...]:
        """Posts a collective or an end of a message; what it returns may be waited for."""
        self.counts[group, kind] += 1
        ends = tuple(sorted((self.rank, peer))) if peer >= 0 else tuple(ranks)
        way = (self.rank, peer) if kind == "send" else (peer, self.rank) if peer >= 0 else ()
        key = (group, "pair" if way else kind, way, ends, self.counts[group, kind, peer])
        self.counts[group, kind, peer] += 1
        took = self.world.setdefault(key, Exchange(ends, 60.0 + size / 40_000)).took
        self.world[key].took = took
        dims = {"Input Dims": [[size]], "Input type": ["float"]}
        if self.on_host:
            if way:
                place = [[], [], str(list(ranks).index(peer)), ""]
                dims |= {"Concrete Inputs": ["", "", place[2], ""]}
            issue = self.now
            self.event("cpu_op", f"c10d::{_OPS[kind]}", 1, issue, issue + 18, **dims)
            self.now += 22
            self.world[key].ready[self.rank] = issue
            return key, kind, size, issue
        comms: dict[str, Any] = {
            "Collective name": {"all_reduce": "allreduce", "all_gather": "_allgather_base",
                                "reduce_scatter": "_reduce_scatter_base"}.get(kind, kind),
            "dtype": "Float", "In msg nelems": size, "Out msg nelems": size,
            "Group size": len(ranks), "Process Group Name": group,
            "Process Group Description": "undefined", "Process Group Ranks": str(list(ranks)),
        }  # fmt: skip
        if way:
            comms["Dst Rank" if kind == "send" else "Src Rank"] = peer
        launched = self.launch("record_param_comms", self.now, **comms)
        begin = max(self.comm, launched + 4, self.compute + 2)
        self.world[key].ready[self.rank] = begin
        return key, kind, comms, begin, self.number

    def wait(self, posted: tuple[Any, ...], stream: bool = True) -> _Program:
        """Waits for a collective: the thread on the host, on a device the stream of compute."""
        exchange = self.world[posted[0]]
        while not exchange.whole:
            yield
        if self.on_host:
            _, kind, size, issue = posted
            end = exchange.end + float(self.rng.uniform(0, 80))
            thread = int(np.argmin(self.worker))
            begin = max(issue + 20, min(self.worker[thread], end - 20))
            self.worker[thread] = end
            self.event("user_annotation", f"gloo:{kind}", 50 + thread, begin, end,
                       **{"Input Dims": [[size]], "Input type": ["float"]})  # fmt: skip
            self.now = max(self.now, end + 15)
            return
        _, kind, comms, begin, number = posted
        end = exchange.end + float(self.rng.uniform(0, 2))
        self.comm = end
        kept, self.number = self.number, number
        name = "SendRecv" if kind in ("send", "recv") else kind.title().replace("_", "")
        self.kernel(f"ncclDevKernel_{name}_RING_LL(ncclDevKernelArgs)", 20, begin, end, **comms)
        self.number = kept
        if stream:
            if self.ties:
                self.event("cuda_runtime", "cudaStreamWaitEvent", 1, self.now, self.now + 1)
                self.now += 1.5
            self.compute = max(self.compute, end + float(self.rng.choice((-0.001, 1.0, 3.0))))

    # --- the program ------------------------------------------------------------------------------

    def run(self) -> _Program:
        """All steps; what is late in one is decided by the plan."""
        for step in range(self.plan.steps):
            begin = self.now
            late = self.plan.size * STEP_US if self.plan.is_late(self.rank, step) else 0.0
            where = self.plan.fault if self.plan.fault in ("data", "work") else "backward"
            since = self.now
            self.now += 900 * self.usual + (late if where == "data" else 0)
            self.around("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", since)
            if where == "work" and late:
                since = self.now
                self.work("topk", late)
                self.around("evaluate", since)
            yield from _SHAPES[self.plan.shape](self, late if where == "backward" else 0.0)
            since = self.now
            self.work("add_", 400)
            self.around("Optimizer.step#SGD.step", since)
            if not self.on_host:
                end = max(self.compute, self.comm, self.now) + 6
                self.event("cuda_runtime", "cudaDeviceSynchronize", 1, self.now, end)
                self.now = end + 2
            self.now += 20
            self.event("user_annotation", f"ProfilerStep#{step + 3}", 1, begin, self.now - 5)

    def trace(self) -> dict[str, Any]:
        """The recording; clocks of nodes are off."""
        plan = self.plan
        node = self.rank // PER_NODE
        off = int(np.random.default_rng((plan.seed, node, 5)).integers(-5_000_000, 5_000_000))
        whole = list(range(plan.ranks))
        groups = [{"pg_name": "0", "pg_desc": "default_pg", "ranks": whole, "pg_size": plan.ranks}]
        if plan.shape == "groups":
            groups.append({"pg_name": "1", "pg_desc": "undefined", "ranks": whole,
                           "pg_size": plan.ranks})  # fmt: skip
        if plan.shape == "tensor":
            for name, ranks in _mesh(plan, self.rank):
                groups.append({"pg_name": name, "pg_desc": "undefined", "ranks": ranks,
                               "pg_size": len(ranks)})  # fmt: skip
        if plan.shape == "stages":
            replicas = plan.ranks // plan.stages
            stage = self.rank // replicas
            mine = whole[stage * replicas : (stage + 1) * replicas]
            groups.append({"pg_name": f"dp{stage}", "pg_desc": "undefined", "ranks": mine,
                           "pg_size": len(mine)})  # fmt: skip
        return {
            "schemaVersion": 1,
            "deviceProperties": [] if self.on_host else [{"id": self.rank % PER_NODE,
                                                          "name": "NVIDIA H100"}],
            "distributedInfo": {"backend": plan.back_end, "rank": self.rank,
                                "world_size": plan.ranks, "pg_config": groups},
            "host_name": f"gpu-{node}" if not self.on_host or plan.fault == "node" else "box",
            "baseTimeNanoseconds": BASE_NS + (0 if self.on_host else off),
            "traceEvents": self.events,
        }  # fmt: skip


def _mesh(plan: JobPlan, rank: int) -> list[tuple[str, list[int]]]:
    size = plan.tensor
    first = rank // size * size
    return [(f"tp{first}", list(range(first, first + size))),
            (f"dp{rank % size}", list(range(rank % size, plan.ranks, size)))]  # fmt: skip


# --- shapes ---------------------------------------------------------------------------------------


def _ddp(one: Rank, late: float, *, buffers: bool = False, groups: int = 1) -> _Program:
    """Buckets are reduced while the backward pass goes on, and waited for at its end."""
    whole = range(one.plan.ranks)
    since = one.now
    if buffers:
        yield from one.wait(one.call("broadcast", "0", whole, 2_000))
    for _ in range(LAYERS):
        one.work("linear", STEP_US / 3 / LAYERS)
    one.around("DistributedDataParallel.forward", since)
    since, posted = one.now, []
    for layer in range(LAYERS):
        one.work("mm", STEP_US / 2 / LAYERS)
        if layer == 1 and late:
            one.work("conv_backward", late + 200)
        elif layer == 1:
            one.work("conv_backward", 200)
        posted.append(one.call("all_reduce", str(layer % groups), whole, 400_000 + layer))
        if one.on_host:
            one.work("copy_", 60)
    for each in posted:
        yield from one.wait(each)
    one.around("backward", since)


def _fsdp(one: Rank, late: float) -> _Program:
    whole = range(one.plan.ranks)
    for layer in range(LAYERS):
        yield from one.wait(one.call("all_gather", "0", whole, 100_000 + layer))
        one.work("linear", STEP_US / 3 / LAYERS)
    for layer in range(LAYERS):
        yield from one.wait(one.call("all_gather", "0", whole, 100_000 + layer))
        one.work("mm", STEP_US / 2 / LAYERS)
        one.work("conv_backward", 200 + (late if layer == 1 else 0))
        yield from one.wait(one.call("reduce_scatter", "0", whole, 400_000 + layer))


def _broadcast(one: Rank, late: float) -> _Program:
    whole = range(one.plan.ranks)
    one.work("linear", STEP_US / 3)
    one.work("mm", STEP_US / 2)
    one.work("conv_backward", 200 + late)
    for layer in range(LAYERS):
        yield from one.wait(one.call("broadcast", "0", whole, 90_000 + layer))
        one.work("mul", 80)


def _tensor(one: Rank, late: float) -> _Program:
    """Activations are reduced over neighbours, gradients over every n-th rank."""
    (tp, near), (dp, apart) = _mesh(one.plan, one.rank)
    for part in (1 / 3, 1 / 2):
        for layer in range(LAYERS):
            one.work("linear" if part < 0.4 else "mm", STEP_US * part / LAYERS)
            if layer == 1 and part > 0.4:
                one.work("conv_backward", 200 + late)
            yield from one.wait(one.call("all_reduce", tp, near, 50_000 + layer))
    yield from one.wait(one.call("all_reduce", dp, apart, 400_000))


def _stages(one: Rank, late: float) -> _Program:
    """Forward and backward of each part of the batch, then gradients over the replicas."""
    plan = one.plan
    replicas = plan.ranks // plan.stages
    stage, replica = divmod(one.rank, replicas)
    mine = range(stage * replicas, (stage + 1) * replicas)
    line = range(replica, plan.ranks, replicas)
    group = f"pp{replica}" if not one.on_host else "0"
    ranks = line if not one.on_host else range(plan.ranks)
    own = STEP_US / plan.stages * (1 + 0.4 * stage)  # stages differ
    before, behind = one.rank - replicas, one.rank + replicas
    for back in (False, True):
        source, target = (behind, before) if back else (before, behind)
        for part in range(MICRO):
            if 0 <= source < plan.ranks:
                yield from one.wait(one.call("recv", group, ranks, 20_000, source))
            one.work("mm" if back else "linear", own * (0.6 if back else 0.3) / MICRO)
            if back and part == 1:
                one.work("conv_backward", 200 + late)
            if 0 <= target < plan.ranks:
                yield from one.wait(one.call("send", group, ranks, 20_000, target), stream=False)
    if replicas > 1:
        yield from one.wait(one.call("all_reduce", f"dp{stage}", mine, 400_000))


_SHAPES: dict[str, Callable[[Rank, float], _Program]] = {
    "ddp": _ddp,
    "buffers": lambda one, late: _ddp(one, late, buffers=True),
    "groups": lambda one, late: _ddp(one, late, groups=2),
    "fsdp": _fsdp,
    "broadcast": _broadcast,
    "tensor": _tensor,
    "stages": _stages,
}


def traces(plan: JobPlan) -> list[dict[str, Any]]:
    """The recordings of all ranks."""
    world: dict[Any, Exchange] = {}
    ranks = [Rank(plan, rank, world) for rank in range(plan.ranks)]
    left = {rank: ranks[rank].run() for rank in range(plan.ranks)}
    while left:
        posted = sum(len(one.ready) for one in world.values())
        for rank, program in list(left.items()):
            if next(program, left) is left:
                del left[rank]
        assert not left or sum(len(one.ready) for one in world.values()) > posted, plan
    return [one.trace() for one in ranks]


def digests_of(plan: JobPlan) -> list[RankDigest]:
    """The recordings of a job as they are read."""
    with tempfile.TemporaryDirectory() as scratch:
        digests = []
        for rank, one in enumerate(traces(plan)):
            file = Path(scratch) / f"rank{rank}.pt.trace.json"
            file.write_text(json.dumps(one))
            digests.append(digest_of(read(file)))
    return digests


def compared(plan: JobPlan) -> Comparison:
    """What the recordings of a job say together."""
    return compare(digests_of(plan), [f"rank{rank}" for rank in range(plan.ranks)])


# --- the score ------------------------------------------------------------------------------------


def outcome(plan: JobPlan, said: Comparison) -> str:
    """One of "right", "missed", "wrong"; of two steps, not to tell is right, too."""
    named = {said.rank(m) for m in said.verdict.members}
    if not named <= set(plan.late):
        return "wrong"
    if named == set(plan.late):
        return "right"
    return "right" if plan.fault == "short" and said.verdict.kind == "unknown" else "missed"


def plans(count: int) -> list[JobPlan]:
    """So many jobs: all shapes by all faults, then again with other seeds."""
    kinds = [(back_end, shape) for back_end, shapes in SHAPES.items() for shape in shapes]
    every = [(*kind, fault) for fault in FAULTS for kind in kinds]
    return [plan_of(*every[at % len(every)], at) for at in range(count)]


def main(arguments: Sequence[str]) -> None:
    """Prints the score."""
    numbers = [one for one in arguments if one.isdigit()]
    found = [(plan, compared(plan)) for plan in plans(int(numbers[0]) if numbers else JOBS)]
    by: dict[tuple[str, bool], Counter[str]] = defaultdict(Counter)
    for plan, said in found:
        result = outcome(plan, said)
        by[plan.back_end, bool(plan.late)][result] += 1
        if result != "right" or "--all" in arguments:
            verdict = said.verdict
            print(f"{result}: {plan}\n    {verdict.kind}: {verdict.sentence} {said.replay.refused}")
    for (back_end, is_faulty), counts in by.items():
        print(f"{back_end}, {'a fault' if is_faulty else 'no fault'}: {dict(counts)}")


if __name__ == "__main__":
    main(sys.argv[1:])
