"""Who is named in drawn jobs, each of which breaks one assumption: ``benchmarks/drawn_jobs.py``.

The benchmark draws hundreds; here every shape has every fault or none once, with few ranks.
"""

from __future__ import annotations

import pytest
from benchmarks.drawn_jobs import (
    FAULTS,
    SHAPES,
    JobPlan,
    compared,
    digests_of,
    outcome,
    plan_of,
)
from msgspec.structs import replace

from kinetoscope.analysis.distributed.comparison import compare
from kinetoscope.analysis.distributed.lateness.causes import LongerWork

KINDS = [(back_end, shape) for back_end, shapes in SHAPES.items() for shape in shapes]
# With each shape the faults take turns; all shapes together have all of them several times.
DRAWN = [
    plan_of(*kind, FAULTS[(at + more) % len(FAULTS)], 1000 + at)
    for at, kind in enumerate(KINDS)
    for more in (0, 3, 6)
    if FAULTS[(at + more) % len(FAULTS)] != "node"
]


@pytest.mark.parametrize("plan", DRAWN, ids=lambda one: f"{one.back_end} {one.shape} {one.fault}")
def test_who_is_late_is_named_and_nobody_else(plan: JobPlan) -> None:
    said = compared(plan)
    assert outcome(plan, said) == "right", said.verdict.sentence
    if not plan.late:
        assert said.verdict.members == ()


def test_a_late_rank_is_named_with_what_takes_longer() -> None:
    plan = JobPlan("gloo", "ddp", "backward", 4, 5, (2,), 0.4, 0.01, 3)
    verdict = compared(plan).verdict
    assert verdict.sentence.startswith("Rank 2 is 9.70\u00a0ms")
    assert "a step slower by itself: `aten::conv_backward` takes 9.8" in verdict.sentence
    assert "there, 20" in verdict.sentence  # 200 µs elsewhere


def test_work_of_one_rank_alone_is_told_from_two_steps() -> None:
    plan = JobPlan("gloo", "ddp", "work", 4, 2, (1,), 0.2, 0.01, 3)
    verdict = compared(plan).verdict
    assert (verdict.kind, verdict.members) == ("work", (1,))
    assert verdict.sentence.startswith("Rank 1 runs `evaluate` for 4.8")
    assert "a step; no other rank does." in verdict.sentence


@pytest.mark.parametrize(("size", "named"), [(0.14, (2,)), (0.06, ())], ids=["14 %", "6 %"])
def test_on_the_host_less_than_a_tenth_is_not_named(size: float, named: tuple[int, ...]) -> None:
    plan = JobPlan("gloo", "ddp", "backward", 4, 6, (2,), size, 0.003, 5)
    assert compared(plan).verdict.members == named


@pytest.mark.parametrize(("size", "named"), [(0.035, (2,)), (0.012, ())], ids=["3.5 %", "1.2 %"])
def test_on_devices_less_than_2_percent_is_not_named(size: float, named: tuple[int, ...]) -> None:
    plan = JobPlan("nccl", "ddp", "backward", 4, 6, (2,), size, 0.001, 5)
    assert compared(plan).verdict.members == named


@pytest.mark.parametrize(
    ("size", "says"),
    [
        (0.08, "No rank is a straggler."),
        (0.125, "Cannot tell which rank is late: rank 3 may be, in 3 of 9 steps. Record 18 steps."),
        (0.18, "Rank 3 is slower by itself in 3 of 9 steps (4, 7 and 10), by 4.41\u00a0ms"),
    ],
    ids=["8 %", "12.5 %", "18 %"],
)
def test_a_rank_that_is_late_in_every_third_step_is_named_or_in_doubt(
    size: float, says: str
) -> None:
    plan = JobPlan("gloo", "ddp", "third", 8, 9, (3,), size, 0.01, 3)
    assert compared(plan).verdict.sentence.startswith(says)


def test_a_rank_that_is_late_in_all_steps_is_not_said_to_be_in_some() -> None:
    """Other work varies by a third, so that the late rank is not the longest in every step."""
    plan = JobPlan("gloo", "ddp", "backward", 4, 6, (1,), 0.35, 0.3, 3)
    verdict = compared(plan).verdict
    assert (verdict.kind, verdict.members) == ("some_steps", (1,))
    assert verdict.sentence.startswith("Rank 1 is slower by itself in all 6 steps, by 6.52")
    assert (
        "`aten::conv_backward` takes 7.04\u00a0ms there, 211\u00a0µs elsewhere" in verdict.sentence
    )


def test_from_a_step_on() -> None:
    plan = JobPlan("nccl", "tensor", "onset", 4, 12, (3,), 0.2, 0.003, 1)
    verdict = compared(plan).verdict
    assert verdict.kind == "onset"
    assert verdict.sentence.startswith("From step 9 on, rank 3 is 4.8")


def test_a_node_that_is_slow_is_named() -> None:
    late = (4, 5, 6, 7)
    plan = JobPlan("nccl", "ddp", "node", 12, 4, late, 0.2, 0.003, 1)
    run = compared(plan)
    assert run.verdict.members == late
    assert run.nodes[run.verdict.node].name == "gpu-1"


def test_calls_of_smaller_groups_are_told_by_who_waits() -> None:
    """Gloo names no group: pairs reduce, and the pair of a late rank ends later than the other."""
    plan = JobPlan("gloo", "tensor", "backward", 4, 4, (1,), 0.4, 0.01, 1)
    run = compared(plan)
    ranks = {run.groups[group].ranks for group in run.matches.group}
    assert {(0, 1), (2, 3)} <= ranks
    assert run.verdict.members == (1,)


def test_where_ranks_vary_much_it_cannot_be_told() -> None:
    plan = JobPlan("gloo", "ddp", "none", 4, 4, (), 0.0, 0.5, 2)
    verdict = compared(plan).verdict
    assert verdict.kind == "unknown"
    assert verdict.members == ()


@pytest.mark.parametrize(
    ("name", "alone", "says"),
    [
        ("<built-in function sleep>", False, "`sleep` takes 2.00 ms there, 1.00 ms elsewhere"),
        ("enumerate(DataLoader)#_Iter.__next__", False, "the DataLoader takes 2.00 ms there, "),
        ("aten::mm", True, "`aten::mm` takes 2.00 ms there and runs on no other rank"),
    ],
)
def test_longer_work_is_said_by_a_short_name(name: str, alone: bool, says: str) -> None:
    work = LongerWork(name, 2_000_000, 1_000_000, alone)
    assert work.text.replace("\u00a0", " ").startswith(says)


def moved(plan: JobPlan, off_ns: tuple[int, ...], *, hosts: bool) -> str:
    """What is said where the clock of each rank is off by a time, on one host or on one each."""
    digests = [
        replace(one, base_ns=one.base_ns + off, host_name=f"host{at if hosts else 0}")
        for at, (one, off) in enumerate(zip(digests_of(plan), off_ns, strict=True))
    ]
    said = compare(digests, [str(rank) for rank in range(plan.ranks)]).verdict
    assert said.members in ((), plan.late)
    return said.sentence.replace("\u00a0", " ")


@pytest.mark.parametrize(
    ("hosts", "says"),
    [
        (False, "Rank 2 is 2.91 ms a step slower by itself: `aten::conv_backward` takes 3.08 ms"),
        (
            True,
            "Cannot tell which rank is late: rank 2 is 2.91 ms a step slower, but clocks may",
        ),
    ],
)
def test_clocks_that_are_off_by_half_of_a_delay_hide_what_it_costs(hosts: bool, says: str) -> None:
    """The clocks agree as far as anybody can tell, and more steps would not tell more."""
    plan = JobPlan("gloo", "ddp", "backward", 4, 8, (2,), 0.12, 0.01, 3)
    said = moved(plan, (0, 1_500_000, 0, 0), hosts=hosts)
    assert said.startswith(says)
    assert (" be off by 1.57 ms, so that it is not known if others wait for that." in said) == hosts
    assert "Record" not in said


@pytest.mark.parametrize("off_ns", [0, 200_000, 10_000_000])
def test_clocks_that_are_off_make_nobody_late(off_ns: int) -> None:
    plan = JobPlan("gloo", "ddp", "none", 4, 8, (), 0.0, 0.01, 3)
    for hosts in (False, True):
        said = moved(plan, (0, off_ns, 0, -off_ns), hosts=hosts)
        assert said.startswith("No rank is a straggler.")


def test_without_one_clock_it_is_not_known_which_of_several_groups_reduce() -> None:
    """Pairs of ranks reduce. One clock tells it by who waits, and clocks of two hosts do not."""
    plan = JobPlan("gloo", "tensor", "data", 4, 6, (0,), 0.3, 0.1, 3)
    off_ns = (200_000, -50_000, 30_000, -280_000)
    assert moved(plan, off_ns, hosts=False).startswith("Rank 0 is ")
    assert moved(plan, off_ns, hosts=True).startswith(
        "Cannot tell which rank is late: default_pg: the recording does not say to which of several"
        " groups these calls belong."
    )


def test_groups_that_no_clock_tells_are_said_once() -> None:
    """Calls of two sizes, each of pairs of ranks, and clocks that are off by 4 ms."""
    plan = JobPlan("gloo", "tensor", "data", 4, 6, (1,), 0.2, 0.3, 5)
    said = moved(plan, (4_000_000, -3_000_000, 3_000_000, -2_000_000), hosts=False)
    assert "the recording does not say to which of several groups" in said
