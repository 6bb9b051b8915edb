"""Ranks of a served model: iterations are compared by their numbers, and the last rank is found.

rank 0   scheduler 100 µs, work 100 µs, all-reduce (waits) ──────────┤
rank 1   scheduler 300 µs, work 100 µs,                 all-reduce ──┤
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from kinetoscope.analysis.distributed.comparison import Comparison, compare
from kinetoscope.analysis.distributed.rank.digest import digest_of
from kinetoscope.ask.explain import ranks_of
from kinetoscope.session.session import Wanted, choose
from tests.analysis.advice.checks import NCCL
from tests.analysis.serving.drawn import event
from tests.cli.runs import run
from tests.drawing import Event, trace_of

STARTS = (100.0, 300.0)  # when each rank has scheduled an iteration, µs
WORK, TRANSFER, PERIOD = 100.0, 50.0, 1000.0


def served(rank: int, numbers: Sequence[int]) -> list[Event]:
    """Iterations of one rank, as TensorRT-LLM names them."""
    events: list[Event] = []
    for number in numbers:
        at = PERIOD * (number - 40)
        begun = at + STARTS[rank]
        name = f"[Executor] _forward_step {number}: 0 ctx reqs, 4 gen reqs"
        end = at + max(STARTS) + 20 + WORK + TRANSFER
        events += [
            event("user_annotation", "schedule: batch", at, STARTS[rank]),
            event("user_annotation", name, begun, 30),
            event("cuda_runtime", "cudaLaunchKernel", begun, 10, correlation=2 * number),
            event("cuda_runtime", "cudaLaunchKernel", begun + 12, 8, correlation=2 * number + 1),
            event("kernel", "gemm", begun + 20, WORK, 7, correlation=2 * number, device=0,
                  stream=7),
            event("kernel", NCCL, begun + 20 + WORK, end - begun - 20 - WORK, 7,
                  correlation=2 * number + 1, device=0, stream=7,
                  **{"Collective name": "allreduce", "In msg nelems": 4096, "dtype": "BFloat16",
                     "Out msg nelems": 4096, "Group size": 2, "Process Group Name": "1",
                     "Process Group Ranks": "[0, 1]"}),
        ]  # fmt: skip
    return events


def compared(*numbers: Sequence[int]) -> Comparison:
    ranks = [
        digest_of(
            trace_of(
                served(rank, some),
                distributedInfo={"backend": "nccl", "rank": rank, "world_size": 2},
                baseTimeNanoseconds=0,
            )
        )
        for rank, some in enumerate(numbers)
    ]
    return compare(ranks, ["rank0", "rank1"])


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
    assert "Rank 1 starts 200\u00a0µs late" in run.verdict.sentence


def test_each_iteration_waits_for_the_late_rank() -> None:
    """Rank 1 schedules 200 µs longer, in every one."""
    run = compared(range(40, 50), range(40, 50))
    assert run.waiting.waiting_ns.tolist() == [[200_000] * 10, [0] * 10]
    assert run.waiting.last.tolist() == [1] * 10
    assert "Rank 1 starts 200\u00a0µs late" in run.verdict.sentence


def test_the_group_is_tensor_parallel() -> None:
    run = compared(range(40, 50), range(40, 50))
    assert [one.role for one in run.roles] == ["tensor"]
    assert "inference engine" in run.roles[0].why


def test_every_command_says_iteration(tmp_path: Path) -> None:
    """The view, the sentence of the Overview, advice, the digest and the tool for agents."""
    for rank in (0, 1):
        document = {
            "schemaVersion": 1,
            "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2},
            "baseTimeNanoseconds": 0,
            "traceEvents": served(rank, range(40, 50)),
        }
        (tmp_path / f"rank{rank}.pt.trace.json").write_text(json.dumps(document))
    sections = ("explain", "--section", "step,findings,ranks")
    shown = (("show", "distributed"), ("show", "overview"))
    for command in (*shown, ("advise",), ("explain",), sections):
        said = run(*command, tmp_path).output
        words = re.sub(r"`[^`]*`|_forward_step|per_step|step_ratio", "", said)
        assert "iteration" in words, command
        assert not re.search(r"\bsteps?\b", words, re.IGNORECASE), (command, words)
    assert "of an iteration" in ranks_of(choose(str(tmp_path), Wanted()).session())[0]
