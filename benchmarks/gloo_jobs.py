"""Real jobs over gloo with a delay on some ranks: are these named, and nobody else?

    python -m benchmarks.gloo_jobs [JOBS] [FOLDER]

A job has 2, 4 or 8 ranks and trains by DistributedDataParallel (with or without buffers, which are
broadcast in each step), by FSDP, or by collectives of its own. Work is sleep, so that ranks do not
fight for cores. A delay is in the backward pass, in the input, in a range that only one rank has,
in every third step, or on two ranks; a third of the jobs has none. Recordings are made by
torch.profiler and read as any other. FOLDER keeps them, a folder a job: a second call reads them
again. Each job is also read as if each rank had a machine of its own, with clocks that are off, to
see whether a printed uncertainty holds.
"""

from __future__ import annotations

import json
import socket
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from msgspec import structs

from kinetoscope.analysis.distributed.clocks import fit_clocks
from kinetoscope.analysis.distributed.comparison import compare
from kinetoscope.analysis.distributed.matching import match
from kinetoscope.analysis.distributed.model import RankDigest
from kinetoscope.analysis.distributed.rank.digest import digest_of
from kinetoscope.trace.read import read

WARM, LAYERS = 3, 4
FORWARD_S, BACKWARD_S, LOADER_S = 0.008, 0.016, 0.008
STYLES = ("ddp", "buffers", "plain", "fsdp", "broadcast", "groups")
FAULTS = ("none", "backward", "loader", "none", "third", "work", "two", "none", "short")
JOBS = 54
CLOCK_DRAWS = 10
CLOCK_ERROR_LOG_NS = (4.0, 7.7)
"""Clocks are off by 10 µs to 50 ms, evenly by their logarithm."""


@dataclass(frozen=True)
class JobPlan:
    """A job: which ranks sleep longer, where, and by how much in each step."""

    style: str  # of STYLES
    fault: str  # of FAULTS; "short": in the backward pass of two recorded steps
    ranks: int
    late: tuple[int, ...]
    delay_s: float
    seed: int

    @property
    def steps(self) -> int:
        return 2 if self.fault == "short" else 6

    @property
    def expected(self) -> tuple[int, ...]:
        """The ranks to name: by two steps of the same work none can be."""
        return () if self.fault == "short" else self.late


def plans(count: int, seed: int = 7) -> list[JobPlan]:
    """So many jobs; delays of 40 to 90 ms of about 0.12 s."""
    rng = np.random.default_rng(seed)
    result = []
    for number in range(count):
        style, fault = STYLES[number % len(STYLES)], FAULTS[number // 2 % len(FAULTS)]
        ranks = int(rng.choice((2, 4, 8), p=(0.3, 0.5, 0.2)))
        ranks = 8 if fault == "two" else ranks
        late = rng.permutation(ranks)[: {"none": 0, "two": 2}.get(fault, 1)]
        delay = float(rng.uniform(0.04, 0.09))
        result.append(JobPlan(style, fault, ranks, tuple(map(int, late)), delay, number))
    return result


def run_job(plan: JobPlan, folder: Path) -> None:
    """Runs the processes of a job; each leaves its recording in the folder."""
    from torch import multiprocessing

    folder.mkdir(parents=True, exist_ok=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    multiprocessing.start_processes(  # type: ignore[attr-defined, no-untyped-call]
        _rank, (plan, str(folder), port), nprocs=plan.ranks, start_method="fork"
    )
    (folder / "plan.json").write_text(json.dumps(asdict(plan)))


def _rank(rank: int, plan: JobPlan, folder: str, port: int) -> None:  # noqa: C901  one job
    import os
    import time

    import torch
    from torch import distributed, nn

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    torch.manual_seed(plan.seed)
    distributed.init_process_group("gloo", rank=rank, world_size=plan.ranks)
    if plan.style == "groups":
        distributed.new_group(list(range(plan.ranks)))
        distributed.new_group([0, 1])
    late = [0.0]  # of this step

    class Sleep(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, layer):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN205
            ctx.layer = layer
            time.sleep(FORWARD_S)
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN205
            time.sleep(BACKWARD_S + (late[0] if ctx.layer == 1 else 0.0))
            return gradient, None

    class Layer(nn.Module):
        def __init__(self, number: int) -> None:
            super().__init__()
            self.linear, self.number = nn.Linear(128, 128), number
            self.norm = nn.BatchNorm1d(128) if plan.style == "buffers" else nn.Identity()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return Sleep.apply(torch.relu(self.norm(self.linear(x))), self.number)  # type: ignore[no-any-return, no-untyped-call]

    model: nn.Module = nn.Sequential(*(Layer(number) for number in range(LAYERS)))
    if plan.style in ("ddp", "buffers", "groups"):
        model = nn.parallel.DistributedDataParallel(model, bucket_cap_mb=0.05)
    elif plan.style == "fsdp":
        from torch.distributed.fsdp import fully_shard

        for layer in model:  # type: ignore[attr-defined]
            fully_shard(layer)
        fully_shard(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def exported(profiler: torch.profiler.profile) -> None:
        profiler.export_chrome_trace(str(Path(folder) / f"rank{rank}.pt.trace.json.gz"))

    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU],
        schedule=torch.profiler.schedule(wait=1, warmup=WARM - 1, active=plan.steps, repeat=1),
        on_trace_ready=exported,
        record_shapes=True,
    ) as profiler:
        for step in range(WARM + plan.steps):
            delay = plan.delay_s if rank in plan.late else 0.0
            if plan.fault == "third":
                delay = delay if step % 3 == 1 else 0.0
            late[0] = delay if plan.fault in ("backward", "third", "two", "short") else 0.0
            with torch.profiler.record_function("enumerate(DataLoader)#_Iter.__next__"):
                time.sleep(LOADER_S + (delay if plan.fault == "loader" else 0.0))
                batch = torch.ones(4, 128)
            if plan.fault == "work" and delay:
                with torch.profiler.record_function("evaluate"):
                    time.sleep(delay)
            loss = model(batch).sum()
            loss.backward()
            if plan.style in ("plain", "broadcast"):
                for number, parameter in enumerate(model.parameters()):
                    assert parameter.grad is not None
                    if plan.style == "plain":
                        distributed.all_reduce(parameter.grad)
                    else:
                        distributed.broadcast(parameter.grad, number % plan.ranks)
            optimizer.step()
            optimizer.zero_grad()
            profiler.step()
    distributed.destroy_process_group()


@dataclass(frozen=True)
class Outcome:
    """What was said of a job."""

    plan: JobPlan
    named: tuple[int, ...]
    kind: str
    sentence: str
    refused: str
    step_ms: float
    clocks: tuple[int, int] = (0, 0)  # drawn clocks with an uncertainty, and those that it holds


def read_job(folder: Path) -> Outcome:
    """Reads the recordings of a job."""
    plan = JobPlan(**json.loads((folder / "plan.json").read_text()))
    files = sorted(folder.glob("*.json.gz"))
    digests = [digest_of(read(file)) for file in files]
    said = compare(digests, [file.name for file in files])
    ranks = tuple(said.rank(m) for m in said.verdict.members)
    spans = np.concatenate([one.steps.end_ns - one.steps.start_ns for one in said.digests])
    return Outcome(
        plan, ranks, said.verdict.kind, said.verdict.sentence, said.replay.refused,
        float(spans.mean()) / 1e6, clocks_inside(digests, plan.seed),
    )  # fmt: skip


def clocks_inside(digests: Sequence[RankDigest], seed: int) -> tuple[int, int]:
    """Of clocks that are off by a drawn time, those with an uncertainty and those inside it.

    The first is what all others are measured by, and counts as neither.
    """
    rng = np.random.default_rng(seed)
    printed = inside = 0
    for _ in range(CLOCK_DRAWS):
        size = 10 ** rng.uniform(*CLOCK_ERROR_LOG_NS, len(digests))
        true = np.rint(size * rng.choice((-1, 1), len(digests))).astype(np.int64)
        true[0] = 0
        moved = [
            structs.replace(one, base_ns=one.base_ns + int(off), host_name=f"machine{at}")
            for at, (one, off) in enumerate(zip(digests, true, strict=True))
        ]
        found = fit_clocks(moved, match(moved)[1])
        if found.comparable:
            printed += len(digests) - 1
            inside += int((np.abs(found.offset_ns - true) <= found.uncertainty_ns)[1:].sum())
    return printed, inside


def report(found: Sequence[Outcome]) -> str:
    """The score as text."""
    faulty, free = ([one for one in found if bool(one.plan.expected) is it] for it in (True, False))
    right = sum(set(one.named) == set(one.plan.expected) for one in faulty)
    wrong = sum(not set(one.named) <= set(one.plan.late) for one in found)
    printed, inside = (sum(one.clocks[at] for one in found) for at in range(2))
    lines = [
        f"{right} of {len(faulty)} jobs with delays named right, {wrong} wrong names in all",
        f"{sum(bool(one.named) for one in free)} names in {len(free)} jobs without a delay",
        f"{inside} of {printed} clock errors inside the printed uncertainty",
    ]
    for one in found:
        plan = one.plan
        is_right = set(one.named) == set(plan.expected)
        lines.append(
            f"{'  ' if is_right else '! '}{plan.seed:3} {plan.style:9} {plan.fault:8} ranks"
            f" {plan.ranks}, late {list(plan.late)} by {plan.delay_s * 1e3:.0f} ms of"
            f" {one.step_ms:.0f} ms: {one.kind} {list(one.named)}: {one.sentence}"
        )
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> None:
    """Runs the jobs that a folder lacks, reads all of them and prints the score."""
    count = int(arguments[0]) if arguments else JOBS
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(arguments[1]) if len(arguments) > 1 else Path(scratch)
        found = []
        for plan in plans(count):
            here = folder / f"job{plan.seed:03d}"
            if not (here / "plan.json").exists():
                run_job(plan, here)
            if "--record" not in arguments:
                found.append(read_job(here))
        if found:
            print(report(found))


if __name__ == "__main__":
    main(sys.argv[1:])
