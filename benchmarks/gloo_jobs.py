"""Real jobs of four ranks with a delay on one of them: is it named, and is its cost told?

    python -m benchmarks.gloo_jobs [JOBS] [FOLDER]

Each job is DistributedDataParallel over gloo with many small buckets. Its work is sleep, so that
ranks do not fight for cores. One rank sleeps longer, or none does. The recordings are made by
torch.profiler and read as any other. FOLDER keeps them, a folder a job.

The true gain of a job without its delay is the delay: all ranks else sleep for the same time and
wait for the late one in every step, so steps are shorter by what it sleeps longer. It is right as
far as they arrive together without it, which is what jobs without a delay are for: where other
programs take the cores, the others are late too, and the truth is less than the delay.

The ranks run on one machine, so their clocks are one. To see whether a printed uncertainty holds,
each job is also read as if its ranks had run on a machine each, with clocks that are off by a
drawn time.
"""

from __future__ import annotations

import json
import socket
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from msgspec import structs

from kinetoscope.analysis.distributed.clocks import fit_clocks
from kinetoscope.analysis.distributed.comparison import Comparison, compare
from kinetoscope.analysis.distributed.matching import match
from kinetoscope.analysis.distributed.model import RankDigest
from kinetoscope.analysis.distributed.rank.digest import digest_of
from kinetoscope.trace.read import read

RANKS, STEPS, WARM, LAYERS = 4, 6, 3, 8
FORWARD_S, BACKWARD_S, LOADER_S = 0.006, 0.012, 0.004
FAULTS = ("none", "backward", "buckets", "none", "loader", "work")
JOBS = 20
CLOCK_DRAWS = 10
CLOCK_ERROR_LOG_NS = (4.0, 7.7)
"""Clocks are off by 10 µs to 50 ms, evenly by their logarithm."""


@dataclass(frozen=True)
class JobPlan:
    """A job: which rank sleeps longer, where, and by how much in each step."""

    fault: str  # "none", "backward" (one layer), "buckets" (all layers), "loader", "work"
    rank: int
    delay_s: float
    seed: int


def plans(count: int, seed: int = 7) -> list[JobPlan]:
    """So many jobs, a third of them without a fault; delays of 40 to 120 ms of about 0.25 s."""
    rng = np.random.default_rng(seed)
    result = []
    for number in range(count):
        fault = FAULTS[number % len(FAULTS)]
        delay = float(rng.uniform(0.04, 0.12)) if fault != "none" else 0.0
        result.append(JobPlan(fault, int(rng.integers(RANKS)), delay, number))
    return result


def run_job(plan: JobPlan, folder: Path) -> None:
    """Runs the processes of a job; each leaves its recording in the folder."""
    from torch import multiprocessing

    folder.mkdir(parents=True, exist_ok=True)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    multiprocessing.spawn(  # type: ignore[no-untyped-call, attr-defined]
        _rank, (plan, str(folder), port), nprocs=RANKS
    )
    (folder / "plan.json").write_text(json.dumps(asdict(plan)))


def _rank(rank: int, plan: JobPlan, folder: str, port: int) -> None:
    import os
    import time

    import torch
    from torch import distributed, nn
    from torch.nn.parallel import DistributedDataParallel

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    torch.manual_seed(plan.seed)
    distributed.init_process_group("gloo", rank=rank, world_size=RANKS)
    late = plan.delay_s if rank == plan.rank else 0.0
    in_layer = {
        "backward": {LAYERS // 2: late},
        "buckets": dict.fromkeys(range(LAYERS), late / LAYERS),
    }
    longer = in_layer.get(plan.fault, {})
    work = late / LAYERS if plan.fault == "work" else 0.0

    class Sleep(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, layer):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN205
            ctx.layer = layer
            time.sleep(FORWARD_S + work / 3)
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN205
            time.sleep(BACKWARD_S + work * 2 / 3 + longer.get(ctx.layer, 0.0))
            return gradient, None

    class Layer(nn.Module):
        def __init__(self, number: int) -> None:
            super().__init__()
            self.linear, self.number = nn.Linear(128, 128), number

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return Sleep.apply(torch.relu(self.linear(x)), self.number)  # type: ignore[no-any-return, no-untyped-call]

    model = DistributedDataParallel(
        nn.Sequential(*(Layer(number) for number in range(LAYERS))), bucket_cap_mb=0.05
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def exported(profiler: torch.profiler.profile) -> None:
        profiler.export_chrome_trace(str(Path(folder) / f"rank{rank}.pt.trace.json.gz"))

    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU],
        schedule=torch.profiler.schedule(wait=1, warmup=WARM - 1, active=STEPS, repeat=1),
        on_trace_ready=exported,
        record_shapes=True,
    ) as profiler:
        for _ in range(WARM + STEPS):
            with torch.profiler.record_function("enumerate(DataLoader)#_Iter.__next__"):
                time.sleep(LOADER_S + (late if plan.fault == "loader" else 0.0))
                batch = torch.ones(4, 128)
            model(batch).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
            profiler.step()
    distributed.destroy_process_group()


@dataclass(frozen=True)
class Outcome:
    """What was said of a job."""

    plan: JobPlan
    named: int
    cause: str
    gain_points: float  # (gain − delay) / step × 100; NaN where none is said
    residual: float
    refused: str
    step_ms: float
    clocks: tuple[int, int] = (0, 0)  # drawn clocks with an uncertainty, and those that it holds


def judged(plan: JobPlan, said: Comparison) -> Outcome:
    """What was said of a job, beside the truth."""
    verdict = said.verdict
    spans = np.concatenate([one.steps.end_ns - one.steps.start_ns for one in said.digests])
    step = float(spans.mean())
    gain = float("nan")
    own = said.replay.own
    if not said.replay.refused and own is not None and plan.fault != "none":
        member = next(m for m, one in enumerate(said.digests) if one.rank == plan.rank)
        gain = (float(own.gain_ns[member]) - plan.delay_s * 1e9) / step * 100
    return Outcome(
        plan=plan,
        named=said.rank(verdict.member) if verdict.member >= 0 else -1,
        cause=verdict.cause.name if verdict.cause else "",
        gain_points=gain,
        residual=said.replay.error.median if said.replay.error else float("nan"),
        refused=said.replay.refused,
        step_ms=step / 1e6,
    )


def read_job(folder: Path) -> Outcome:
    """Reads the recordings of a job."""
    plan = JobPlan(**json.loads((folder / "plan.json").read_text()))
    files = sorted(folder.glob("*.json.gz"))
    digests = [digest_of(read(file)) for file in files]
    said = judged(plan, compare(digests, [file.name for file in files]))
    return replace(said, clocks=clocks_inside(digests, plan.seed))


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
    faulty = [one for one in found if one.plan.fault != "none"]
    free = [one for one in found if one.plan.fault == "none"]
    right = sum(one.named == one.plan.rank for one in faulty)
    names = sum(one.named >= 0 for one in free)
    head = f"{right} of {len(faulty)} delayed ranks named"
    lines = [f"{head}, {names} names in {len(free)} jobs without a delay"]
    backward = [one for one in faulty if one.plan.fault in ("backward", "buckets")]
    gains = [one.gain_points for one in backward if not np.isnan(one.gain_points)]
    if gains:
        size = np.abs(gains)
        lines.append(f"gain of sleep in backward off by {np.median(size):.1f} points of the step "
                     f"in the median, {size.max():.1f} at most, in {len(gains)} jobs")  # fmt: skip
    printed, inside = (sum(one.clocks[at] for one in found) for at in range(2))
    drawn = len(found) * CLOCK_DRAWS * (RANKS - 1)
    lines.append(f"{inside} of {printed} clock errors inside the printed uncertainty; the other "
                 f"{drawn - printed} of {drawn} drawn clocks refused")  # fmt: skip
    lines.extend(
        f"  {one.plan.fault} rank {one.plan.rank} +{one.plan.delay_s * 1e3:.0f} ms of "
        f"{one.step_ms:.0f}: named {one.named} {one.cause} gain {one.gain_points:+.1f} points, "
        f"residual {one.residual:.2%} {one.refused}"
        for one in found
    )
    return "\n".join(lines)


def main(arguments: Sequence[str]) -> None:
    """Runs the jobs and prints the score."""
    count = int(arguments[0]) if arguments else JOBS
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(arguments[1]) if len(arguments) > 1 else Path(scratch)
        for number, plan in enumerate(plans(count)):
            folder = root / f"job{number:02}"
            if not (folder / "plan.json").exists():
                run_job(plan, folder)
        print(report([read_job(folder) for folder in sorted(root.iterdir())]))


if __name__ == "__main__":
    main(sys.argv[1:])
