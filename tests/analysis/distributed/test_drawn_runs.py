"""Drawn runs: what is matched, who waited, how fast data moved, what is said of damaged sets."""

from __future__ import annotations

import math

import msgspec
import numpy as np
import pytest

from kinetoscope.analysis.distributed.comparison import Comparison, compare
from kinetoscope.analysis.distributed.findings import findings
from kinetoscope.analysis.distributed.matching import METHODS
from kinetoscope.analysis.distributed.model import RankDigest
from kinetoscope.analysis.distributed.pipeline import theory

from .drawn import US, Drawn, call, matched, rank


def said(*ranks: RankDigest) -> Comparison:
    return compare(ranks, [f"worker{at}" for at in range(len(ranks))])


# --- matching -------------------------------------------------------------------------------------


def test_calls_are_matched_by_comms_id_and_sequence_in_any_order() -> None:
    """Rank 1 recorded the two in the other order; equal numbers of two communicators differ."""
    run = said(
        rank(0, [call("all_reduce", 0, 10, sequence=5, comms_id="a"),
                 call("all_reduce", 20, 30, sequence=5, comms_id="b")]),
        rank(1, [call("all_reduce", 0, 10, sequence=5, comms_id="b"),
                 call("all_reduce", 20, 30, sequence=5, comms_id="a")]),
    )  # fmt: skip
    assert {METHODS[one] for one in run.matches.method} == {"comms_id"}
    assert sorted(map(tuple, matched(run))) == [(0, 1), (1, 0)]


def test_a_window_that_begins_one_collective_later_is_not_shifted() -> None:
    """Without numbers the first of rank 1 would be the first of rank 0."""
    run = said(
        rank(0, [call("all_reduce", at, at + 5, sequence=at) for at in (0, 10, 20)]),
        rank(1, [call("all_reduce", at, at + 5, sequence=at) for at in (10, 20)]),
    )
    assert {METHODS[one] for one in run.matches.method} == {"sequence"}
    assert matched(run) == [[1, 0], [2, 1]]
    assert run.matches.unmatched.tolist() == [1, 0]
    assert run.matches.inside.tolist() == [0, 0]
    assert any(note.kind == "windows" for note in run.notes)


def test_without_numbers_a_common_subsequence_is_found_and_the_rest_is_said() -> None:
    """all_reduce 1  all_reduce 2  all_gather  all_reduce 3  all_reduce 4
    rank 0       ●             ●            ●            ●             ●
    rank 1       ●             ●                         ●             ●
    """
    sizes = [("all_reduce", 1), ("all_reduce", 2), ("all_gather", 7), ("all_reduce", 3),
             ("all_reduce", 4)]  # fmt: skip
    calls = [call(kind, at * 10, at * 10 + 5, elements=n) for at, (kind, n) in enumerate(sizes)]
    run = said(rank(0, calls), rank(1, [calls[at] for at in (0, 1, 3, 4)]))
    assert {METHODS[one] for one in run.matches.method} == {"lcs"}
    assert matched(run) == [[0, 0], [1, 1], [3, 2], [4, 3]]
    assert run.matches.inside.tolist() == [1, 0]
    assert "that others do not" in run.replay.refused


def test_two_groups_of_one_name_are_told_by_their_ranks() -> None:
    pairs = [(0, 1), (0, 1), (2, 3), (2, 3)]
    run = said(
        *(rank(r, [call("all_reduce", 0, 10, pair)], world=4) for r, pair in enumerate(pairs))
    )
    assert [group.ranks for group in run.groups] == [(0, 1), (2, 3)]
    assert matched(run) == [[0, 0, -1, -1], [-1, -1, 0, 0]]


def test_a_send_is_matched_with_its_receive() -> None:
    run = said(
        rank(0, [call("send", 0, 10, peer=1), call("send", 20, 30, peer=1)]),
        rank(1, [call("recv", 5, 10, peer=0), call("recv", 15, 30, peer=0)]),
    )
    assert run.matches.kind == ("send", "send")
    assert matched(run) == [[0, 0], [1, 1]]


def test_what_is_kept_of_a_run_grows_with_its_calls_not_with_collectives_by_ranks() -> None:
    """64 ranks in pairs, 40 calls each, and one of all: a table of all would have 81,984 cells."""
    pairs = [[call("all_reduce", at * 20, at * 20 + 10, (r & ~1, r | 1), sequence=at)
              for at in range(40)] for r in range(64)]  # fmt: skip
    whole = call("all_reduce", 900, 910, tuple(range(64)), sequence=0)
    run = said(*(rank(r, [*calls, whole], world=64) for r, calls in enumerate(pairs)))
    assert len(run.matches) == 1281
    assert len(run.matches.member) == 2624
    assert run.replay.own is not None
    assert max(_sizes(run)) <= 10 * 2624


def _sizes(part: object) -> list[int]:
    """How many numbers each column has that can be reached from a part of a comparison."""
    if isinstance(part, np.ndarray):
        return [part.size]
    if isinstance(part, (tuple, list)):
        return [size for one in part for size in _sizes(one)]
    if isinstance(part, msgspec.Struct):
        return [s for name in part.__struct_fields__ for s in _sizes(getattr(part, name))]
    return []


# --- waiting --------------------------------------------------------------------------------------


def test_the_last_to_arrive_is_blamed_for_what_others_waited() -> None:
    """
    rank 0  ██████████      waits 6
    rank 1     ███████      waits 3
    rank 2        ████      comes last; 4 is the transfer
    """
    run = said(*(rank(r, [call("all_reduce", at, 10)], world=3) for r, at in enumerate((0, 3, 6))))
    assert (run.waiting.blame_ns // US).tolist() == [[0, 0, 0], [0, 0, 0], [6, 3, 0]]
    assert (run.waiting.synchronizing_ns // US).tolist() == [6, 3, 0]
    assert run.waiting.transfer_ns.tolist() == [4 * US]
    assert run.waiting.skew_ns.tolist() == [6 * US]


def test_a_broadcast_blames_nobody() -> None:
    run = said(
        rank(0, [call("broadcast", 0, 10, peer=0)]), rank(1, [call("broadcast", 8, 10, peer=0)])
    )
    assert run.waiting.instances == 0
    assert not run.waiting.blame_ns.any()


def test_without_common_clocks_durations_tell_who_waited() -> None:
    """Rank 1's clock is an hour ahead, and three collectives are too few to correct it."""

    def calls(at: int) -> list[Drawn]:
        return [call("all_reduce", at + n * 100, 50 + n * 100) for n in range(3)]

    run = said(rank(0, calls(0)), rank(1, calls(20), base_us=3_600_000_000))
    assert not run.clocks.comparable
    assert "8 are needed" in run.clocks.reason
    assert (run.waiting.blame_ns // US).tolist() == [[0, 0], [60, 0]]


# --- clocks ---------------------------------------------------------------------------------------


def test_clocks_are_fitted_to_the_ends_of_short_collectives() -> None:
    """Rank 1 is 3 ms ahead, rank 2 is 2 ms behind; ends differ by up to 4 µs."""
    rng = np.random.default_rng(1)
    ahead = (0, 3000, -2000)
    ranks = []
    for r in range(3):
        calls = [
            call("all_reduce", n * 100, n * 100 + 40 + int(rng.integers(0, 5)), elements=1 + n % 2)
            for n in range(40)
        ]
        ranks.append(rank(r, calls, world=3, base_us=ahead[r], length=4100))
    run = said(*ranks)
    assert run.clocks.fitted
    error = np.abs(run.clocks.offset_ns - np.array(ahead) * US)
    assert (error <= run.clocks.uncertainty_ns).all()
    assert run.clocks.uncertainty_ns.max() < 30 * US


def test_clocks_as_recorded_are_no_nearer_to_the_first_than_it_is_to_the_others() -> None:
    """Of three hosts the first is 2 ms behind; over gloo that is too little to be seen."""
    ranks = [
        rank(r, [call("all_reduce", n * 9000, n * 9000 + 5000) for n in range(10)], world=3,
             base_us=2000 if r else 0, host=f"host{r}", on_device=False, length=90_000)
        for r in range(3)
    ]  # fmt: skip
    clocks = said(*ranks).clocks
    assert clocks.comparable
    assert not clocks.fitted
    assert (clocks.uncertainty_ns >= 2000 * US).all()


# --- inherited lateness ---------------------------------------------------------------------------


def in_two_groups(late: int, brought_us: int = 0) -> Comparison:
    """Pairs of neighbours reduce, then pairs of every second rank; rank 0 is late by its work."""
    ranks = []
    for r in range(4):
        first, second = ((0, 1), (2, 3))[r // 2], ((0, 2), (1, 3))[r % 2]
        begin = brought_us + 100 if r < 2 else 100
        own = begin + (late if r == 0 else 0)
        end = max(begin + late, begin) + 50 if r < 2 else 150
        both = brought_us + late + 210
        calls = [
            call("all_reduce", own, end, first),
            call("all_reduce", end + 10, both, second),
        ]
        ranks.append(rank(r, calls, world=4, host="a", length=2000))
    return said(*ranks)


def test_who_waited_in_one_group_inherits_its_lateness_at_the_next() -> None:
    """Rank 1 waits for rank 0, then rank 3 waits for rank 1: rank 0 is the origin of both."""
    run = in_two_groups(300)
    assert run.replay.refused == ""
    found = run.origins
    assert found is not None
    ranks = [run.groups[group].ranks for group in run.matches.group]
    inherited = ranks.index((1, 3))
    assert run.waiting.last[inherited] == 1
    assert found.member[inherited] == 0
    assert ranks[found.collective[inherited]] == (0, 1)
    assert found.member[ranks.index((0, 1))] == 0
    assert found.member[ranks.index((2, 3))] == -1  # a tie


def test_lateness_from_before_the_recording_has_no_origin_in_it() -> None:
    found = in_two_groups(0, brought_us=300).origins
    assert found is not None
    assert (found.member == -1).all()


# --- bandwidth ------------------------------------------------------------------------------------


@pytest.mark.parametrize("ranks", [2, 8, 64])
def test_bus_bandwidth_is_that_of_nccl_tests(ranks: int) -> None:
    """1 MiB of all_reduce in 100 µs, the last rank arriving 50 µs after the first."""
    run = said(
        *(
            rank(r, [call("all_reduce", 50 if r else 0, 150, elements=1 << 18)], world=ranks)
            for r in range(ranks)
        )
    )
    algorithm = (1 << 20) / 100_000
    assert run.bandwidth.algorithm_gbps[0] == pytest.approx(algorithm)
    assert run.bandwidth.bus_gbps[0] == pytest.approx(algorithm * 2 * (ranks - 1) / ranks)


def test_without_a_size_bandwidth_is_not_available() -> None:
    run = said(*(rank(r, [call("all_reduce", 0, 10, elements=0)]) for r in range(2)))
    assert math.isnan(run.bandwidth.bus_gbps[0])
    assert "how much was moved" in run.bandwidth.why[0]


def test_a_slow_group_is_found_beside_another_of_the_same_size() -> None:
    groups = [(0, 1), (0, 1), (2, 3), (2, 3)]
    took = (10, 10, 40, 40)
    run = said(
        *(
            rank(
                r,
                [call("all_reduce", n * 100, n * 100 + took[r], groups[r], elements=1 << 18)
                 for n in range(4)],
                world=4,
            )
            for r in range(4)
        )
    )  # fmt: skip
    link = run.bandwidth.slow_links[0]
    assert run.groups[link.group].ranks == (2, 3)
    assert link.bus_gbps / link.usual_gbps == pytest.approx(0.25)
    assert [one.id for one in findings(run).found] == ["CO4"]


def test_unequal_parts_of_an_exchange_are_found() -> None:
    """Rank 2 receives half of everything, the others a sixth each."""
    parts = (100, 100, 400, 200)
    calls = [
        call("all_to_all", n * 100, n * 100 + 90, elements=800, dtype_bytes=1, splits=parts)
        for n in range(4)
    ]
    run = said(*(rank(r, calls, world=4, length=500) for r in range(4)))
    found = run.bandwidth.imbalance[0]
    assert found.received_bytes == (1600, 1600, 6400, 3200)
    assert found.most_to_mean == pytest.approx(2.0)
    assert found.hot_rank == 2
    assert [one.id for one in findings(run).found] == ["EP1"]
    # What most is sent or received by one rank without its own part: rank 2 receives 3 × 400.
    assert run.bandwidth.bytes[0] == 1200


# --- pipelines ------------------------------------------------------------------------------------


def test_the_slack_of_messages_says_who_waited() -> None:
    """The first message waits 5 µs for its receiver; the second is awaited for 20 µs."""
    run = said(
        rank(0, [call("send", 0, 10, peer=1), call("send", 100, 110, peer=1)], host="a"),
        rank(1, [call("recv", 5, 10, peer=0), call("recv", 80, 110, peer=0)], host="a"),
    )
    line = run.pipelines[0]
    assert line.micro_batches == 2
    assert (line.slack_ns // US).tolist() == [5, -20]
    assert line.receiver_waited == 0.5
    assert line.theory == theory(2, 2) == pytest.approx(1 / 3)


# --- sets that are not whole ----------------------------------------------------------------------


def test_two_recordings_of_one_rank_are_not_merged() -> None:
    calls = [call("all_reduce", 0, 10)]
    run = said(rank(0, calls), rank(1, calls), rank(1, calls))
    assert [member.digest for member in run.members] == [0, 1, -1]
    assert "worker1" in run.members[2].problem
    assert any(note.kind == "duplicate_ranks" for note in run.notes)
    assert len(run.digests) == 2


def test_a_rank_without_collectives_is_said() -> None:
    calls = [call("all_reduce", 0, 10)]
    run = said(rank(0, calls, world=3), rank(1, calls, world=3), rank(2, [], world=3))
    note = next(note for note in run.notes if note.kind == "no_communication")
    assert note.text == "Rank 2 is without any collective."


def test_steps_are_compared_by_their_number() -> None:
    """Rank 0 recorded steps 3 and 4, rank 1 steps 4 and 5: only step 4 counts."""
    first = rank(0, [call("all_reduce", 1100, 1200, step=1)], steps=(3, 4))
    other = rank(1, [call("all_reduce", 1100, 1200, step=0)], steps=(4, 5), length=2000)
    run = said(first, other)
    assert run.step_numbers.tolist() == [3, 4, 5]
    assert [one.calls.step.tolist() for one in run.digests] == [[1], [1]]
    assert run.digests[0].steps.excluded.tolist() == [1, 0, 1]
    assert any(note.kind == "step_sets" for note in run.notes)


def test_recordings_of_unknown_rank_take_what_is_known_otherwise() -> None:
    calls = [call("all_reduce", 0, 10)]
    run = compare([rank(-1, calls), rank(-1, calls)], ["b", "a"], [1, 0])
    assert [(m.label, m.rank) for m in run.members] == [("b", 1), ("a", 0)]


@pytest.mark.parametrize("count", [0, 1])
def test_none_or_one_recording_is_an_answer_too(count: int) -> None:
    run = said(*(rank(r, [call("all_reduce", 0, 10)]) for r in range(count)))
    assert run.verdict.member == -1
    assert run.replay.refused
    assert findings(run).found == ()


def test_ranks_in_another_order_are_refused() -> None:
    """Rank 0 waits in a for rank 1, which waits in b for rank 0."""
    run = said(
        rank(0, [call("all_reduce", 0, 10, sequence=1, comms_id="a"),
                 call("all_reduce", 20, 30, sequence=1, comms_id="b")]),
        rank(1, [call("all_reduce", 0, 10, sequence=1, comms_id="b"),
                 call("all_reduce", 20, 30, sequence=1, comms_id="a")]),
    )  # fmt: skip
    assert "same order" in run.replay.refused
