"""Starts of one folder: by processes, ranks, launches and times."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kinetoscope.store.discovery.starts import ALONE_NS, RANKS_NS, FoundRecording, starts

T0 = 1_758_000_000 * 10**9
S = 10**9


def one(
    process: int | None,
    at: float,
    rank: int | None = None,
    node: str = "gpu1",
    *,
    worker: str = "",
    stamped: bool = True,
    snapshot: bool = False,
    job: str = "",
) -> FoundRecording:
    name = worker or f"{node}_{process}" + ("" if rank is None else f"_rank{rank}")
    return FoundRecording(
        worker=name,
        at_ns=T0 + int(at * S),
        is_stamped=stamped,
        is_snapshot=snapshot,
        rank=rank,
        node=node,
        process=process,
        job=job,
    )


def members(recordings: Sequence[FoundRecording]) -> list[tuple[int, ...]]:
    return [found.members for found in starts(recordings)]


def test_a_script_that_was_run_twice_has_two_starts() -> None:
    found = starts([one(900, 0), one(77, 20)])

    assert [(s.members, s.at_ns) for s in found] == [((0,), T0), ((1,), T0 + 20 * S)]


def test_names_do_not_tell_which_start_is_the_newest() -> None:
    assert members([one(77, 20), one(900, 0)]) == [(1,), (0,)]


def test_spans_of_one_process_are_one_start_however_far_apart() -> None:
    assert members([one(7, 0), one(7, 4000), one(7, 8000)]) == [(0, 1, 2)]


def test_two_jobs_at_one_time_in_one_folder_are_two_starts() -> None:
    ranks = [one(7, 0, 0, job="a"), one(8, 1, 1, job="b"), one(9, 2, 2, job="a")]
    assert members(ranks) == [(0, 2), (1,)]


def test_one_job_may_start_twice() -> None:
    assert members([one(7, 0, 0, job="a"), one(8, 9, 0, job="a")]) == [(0,), (1,)]


def test_a_recording_that_names_no_job_is_of_no_other_one() -> None:
    assert members([one(7, 0, 0, job="a"), one(8, 1, 1), one(9, 2, 2, job="b")]) == [(0, 1, 2)]


@pytest.mark.parametrize(("apart", "count"), [(ALONE_NS, 1), (ALONE_NS + 1, 2)])
def test_processes_of_one_host_without_a_rank(apart: int, count: int) -> None:
    assert len(starts([one(7, 0), one(8, apart / S)])) == count


@pytest.mark.parametrize(("apart", "count"), [(RANKS_NS, 1), (RANKS_NS + 1, 2)])
def test_ranks_of_which_none_comes_again(apart: int, count: int) -> None:
    first, second = one(7, 0, 0), one(8, 0, 1)
    second = FoundRecording("w", T0 + apart, is_stamped=True, rank=1, node="gpu1", process=8)

    assert len(starts([first, second])) == count


def test_a_job_of_four_ranks_that_was_started_twice_within_the_minute() -> None:
    first = [one(100 + rank, rank / 10, rank) for rank in range(4)]
    # Rank 2 is there first, and the second start has its ranks on other processes.
    second = [one(200 + rank, 20 + (rank - 2) ** 2 / 10, rank) for rank in range(4)]

    assert members([*second, *first]) == [(4, 5, 6, 7), (0, 1, 2, 3)]


def test_a_start_is_cut_at_the_longest_pause_before_a_rank_comes_again() -> None:
    # Rank 3 of the first start recorded nothing: that of the second one is of the second one.
    first = [one(100 + rank, rank / 10, rank) for rank in range(3)]
    second = [one(200, 30.2, 0), one(203, 30, 3), one(202, 30.1, 2)]

    assert members([*first, *second]) == [(0, 1, 2), (3, 4, 5)]


def test_a_smaller_job_after_a_larger_one() -> None:
    first = [one(100 + rank, rank / 10, rank) for rank in range(8)]
    second = [one(200 + rank, 30 + rank / 10, rank) for rank in range(2)]

    assert members([*first, *second]) == [tuple(range(8)), (8, 9)]


def test_two_hosts_at_one_second_are_one_start() -> None:
    assert members([one(7, 0), one(7, 0.4, node="gpu2")]) == [(0, 1)]


def test_two_hosts_whose_clocks_differ_are_one_start() -> None:
    assert members([one(7, 0), one(9, 40, node="gpu2")]) == [(0, 1)]


def test_roles_of_one_job_may_have_equal_ranks() -> None:
    both = [one(1, 0, 0, worker="prefill-0"), one(2, 0.2, 0, worker="decode-0")]

    assert members(both) == [(0, 1)]


def test_a_job_that_its_launcher_restarted_after_a_crash() -> None:
    restarted = [one(1, 0, 0), one(2, 0.1, 1), one(3, 8, 1), one(4, 8.1, 0)]

    assert members(restarted) == [(0, 1), (2, 3)]


def test_copied_files_of_different_ranks_are_one_start() -> None:
    copied = [
        one(None, 300 * rank, rank, "", worker=f"rank{rank}", stamped=False) for rank in (0, 1)
    ]

    assert members(copied) == [(0, 1)]


def test_one_rank_of_unknown_process_at_one_time_is_one_start() -> None:
    # A server writes the capture of its graphs beside each recording.
    beside = [
        one(None, 0, 0, "", worker="rank0"),
        one(None, 2, 0, "", worker="rank0-capture"),
    ]

    assert members(beside) == [(0, 1)]


def test_a_worker_that_says_no_process_is_one_start_and_it_is_said() -> None:
    (found,) = starts([one(None, 0, 0, "", worker="rank0"), one(None, 900, 0, "", worker="rank0")])

    assert found.members == (0, 1)
    assert "The files of rank0 do not say which process wrote them" in found.note
    assert starts([one(7, 0), one(7, 900)])[0].note == ""


def test_a_snapshot_makes_no_start_of_its_own() -> None:
    with_snapshots = [
        one(1, 0),
        one(None, 90, worker="late.snapshot", snapshot=True),
        one(2, 100),
        one(None, 4, worker="early.snapshot", snapshot=True),
        one(None, 9000, worker="memory", snapshot=True),
    ]

    assert members(with_snapshots) == [(0, 3), (1, 2, 4)]
    assert members([with_snapshots[1], with_snapshots[3]]) == [(0, 1)]


def test_nothing_has_no_start() -> None:
    assert starts([]) == ()


def test_many_ranks_that_come_again_in_every_order_cost_little() -> None:
    many = [one(at, at / 1000, at % 977) for at in range(20_000)]

    assert sum(len(found.members) for found in starts(many)) == 20_000
