"""Ranks of a served model: iterations are compared by their numbers, and the last rank is found.

rank 0   scheduler 100 µs, work 100 µs, all-reduce (waits) ──────────┤ scheduler …
rank 1   scheduler 300 µs, work 100 µs,                 all-reduce ──┤ scheduler …

The host waits for the end of an iteration before it schedules the next one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from kinetoscope.analysis.distributed.comparison import Comparison, compare
from kinetoscope.analysis.distributed.rank.digest import digest_of
from kinetoscope.ask.explain import ranks_of
from kinetoscope.session.session import Wanted, choose
from tests.analysis.advice.checks import NCCL
from tests.analysis.serving.drawn import event
from tests.cli.runs import run
from tests.drawing import Event, trace_of

EARLY, LATE = 100.0, 300.0  # when a rank has scheduled an iteration, µs
WORK, TRANSFER = 100.0, 50.0
SCHEDULER = ": `schedule: batch` takes 300\u00a0µs there, 100\u00a0µs elsewhere."
PERIOD = LATE + 20 + WORK + TRANSFER + 10


def served(rank: int, numbers: Sequence[int], late: int = 1, size: int = 2) -> list[Event]:
    """Iterations of one rank, as TensorRT-LLM names them; rank ``late`` schedules longer."""
    scheduled = LATE if rank == late else EARLY
    events: list[Event] = []
    for number in numbers:
        at = PERIOD * (number - 40)
        begun = at + scheduled
        name = f"[Executor] _forward_step {number}: 0 ctx reqs, 4 gen reqs"
        end = at + LATE + 20 + WORK + TRANSFER
        events += [
            event("user_annotation", "schedule: batch", at, scheduled),
            event("user_annotation", name, begun, end + 5 - begun),
            event("cuda_runtime", "cudaLaunchKernel", begun, 10, correlation=2 * number),
            event("cuda_runtime", "cudaLaunchKernel", begun + 12, 8, correlation=2 * number + 1),
            event("cuda_runtime", "cudaStreamSynchronize", begun + 20, end - begun - 20),
            event("kernel", "gemm", begun + 20, WORK, 7, correlation=2 * number, device=0,
                  stream=7),
            event("kernel", NCCL, begun + 20 + WORK, end - begun - 20 - WORK, 7,
                  correlation=2 * number + 1, device=0, stream=7,
                  **{"Collective name": "allreduce", "In msg nelems": 4096, "dtype": "BFloat16",
                     "Out msg nelems": 4096, "Group size": size, "Process Group Name": "1",
                     "Process Group Ranks": str([*range(size)])}),
        ]  # fmt: skip
    return events


def compared(*numbers: Sequence[int], late: int = 1) -> Comparison:
    size = len(numbers)
    ranks = [
        digest_of(
            trace_of(
                served(rank, some, late, size),
                distributedInfo={"backend": "nccl", "rank": rank, "world_size": size},
                baseTimeNanoseconds=0,
            )
        )
        for rank, some in enumerate(numbers)
    ]
    return compare(ranks, [f"rank{rank}" for rank in range(size)])


def pairs(run: Comparison) -> list[tuple[int, ...]]:
    """The iterations of the members of each collective."""
    matches = run.matches
    found = []
    for low, high in pairwise(matches.first.tolist()):
        steps = [
            int(run.digests[member].calls.step[call])
            for member, call in zip(
                matches.member[low:high].tolist(), matches.call[low:high].tolist(), strict=True
            )
        ]
        found.append(tuple(run.step_numbers[steps].tolist()))
    return found


def test_iterations_are_compared_by_their_numbers() -> None:
    """Rank 0 recorded 40 to 49, rank 1 41 to 50: each all-reduce has that of its own iteration."""
    run = compared(range(40, 50), range(41, 51))
    assert run.step_numbers.tolist() == list(range(40, 51))
    assert pairs(run) == [(number, number) for number in range(41, 50)]


def test_ranks_that_begin_at_other_iterations_wait_in_those_that_both_have() -> None:
    """Rank 0 recorded 40 to 49, rank 1 43 to 52, with 200 µs more of scheduler in each."""
    run = compared(range(40, 50), range(43, 53))
    assert pairs(run) == [(number, number) for number in range(43, 50)]
    waiting = dict(zip(run.step_numbers.tolist(), run.waiting.waiting_ns[0].tolist(), strict=True))
    assert waiting == {number: 200_000 if 43 <= number < 50 else 0 for number in range(40, 53)}
    assert not run.waiting.waiting_ns[1].any()
    assert run.verdict.sentence.startswith(
        "Rank 1 is slower by itself in all 7 steps, by 200\u00a0µs"
    )
    assert SCHEDULER in run.verdict.sentence


def test_each_iteration_waits_for_the_late_rank() -> None:
    """Rank 1 schedules 200 µs longer, in every one."""
    run = compared(range(40, 50), range(40, 50))
    assert run.waiting.waiting_ns.tolist() == [[200_000] * 10, [0] * 10]
    assert run.waiting.last.tolist() == [1] * 10
    assert run.verdict.sentence.startswith(
        f"Rank 1 is 200\u00a0µs a step slower by itself than rank 0{SCHEDULER}"
    )


@pytest.mark.parametrize("late", [0, 5, 7])
def test_of_eight_ranks_the_late_one_is_named(late: int) -> None:
    """Each began to record at another iteration; the others wait for the late one in each."""
    run = compared(*[range(40 + rank % 3, 50 + rank % 3) for rank in range(8)], late=late)
    assert {one for one in pairs(run) if len(one) == 8} == {
        (number,) * 8 for number in range(42, 50)
    }
    told = dict(zip(run.step_numbers.tolist(), run.waiting.waiting_ns.T.tolist(), strict=True))
    for number in range(42, 50):
        assert told[number] == [0 if rank == late else 200_000 for rank in range(8)]
    assert (run.verdict.kind, run.verdict.members) == ("time", (late,))
    assert run.verdict.sentence.startswith(
        f"Rank {late} is 200\u00a0µs a step slower by itself{SCHEDULER}"
    )
    assert {one.role for one in run.roles} == {"tensor"}


def test_the_group_is_tensor_parallel() -> None:
    run = compared(range(40, 50), range(40, 50))
    assert [one.role for one in run.roles] == ["tensor"]
    assert "inference engine" in run.roles[0].why


@pytest.mark.parametrize("size", [2, 8])
def test_every_command_says_iteration(tmp_path: Path, size: int) -> None:
    """The view, the sentence of the Overview, advice, the digest and the tool for agents."""
    for rank in range(size):
        document = {
            "schemaVersion": 1,
            "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": size},
            "baseTimeNanoseconds": 0,
            "traceEvents": served(rank, range(40, 50), size - 1, size),
        }
        (tmp_path / f"rank{rank}.pt.trace.json").write_text(json.dumps(document))
    sections = ("explain", "--section", "step,findings,ranks")
    shown = (("show", "distributed"), ("show", "overview"))
    for command in (*shown, ("advise",), ("explain",), sections):
        said = run(*command, tmp_path).output
        words = re.sub(r"`[^`]*`|_forward_step|per_step|step_ratio", "", said)
        assert "iteration" in words, command
        assert not re.search(r"\bsteps?\b", words, re.IGNORECASE), (command, words)
        told = " ".join(said.split())  # a line may end anywhere
        assert f"Rank {size - 1} is 200 µs an iteration slower by itself" in told, (command, told)
        assert SCHEDULER.replace("\u00a0", " ") in told, command
    assert "an iteration slower" in ranks_of(choose(str(tmp_path), Wanted()).session())[0]
