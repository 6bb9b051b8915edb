"""Own times of ranks, what makes one longer: medians, shares and bounds, from both sides."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from kinetoscope.analysis.diff.noise import two_sided
from kinetoscope.analysis.distributed.comparison import compare
from kinetoscope.analysis.distributed.lateness import causes, own_time
from kinetoscope.analysis.distributed.lateness.causes import LongerWork
from kinetoscope.analysis.distributed.lateness.verdict import _Found, _Judge
from kinetoscope.analysis.distributed.model import Junction
from kinetoscope.analysis.distributed.rank.ranges import hash_of

from .drawn import US, call, rank

NAN = float("nan")


def of(**parts: object) -> Any:
    """An object with some of the parts of a digest, a graph or an answer."""
    return SimpleNamespace(**parts)


# --- own times ------------------------------------------------------------------------------------


def test_lateness_is_after_the_first_of_several_to_two_seconds() -> None:
    """Three ranks reduce together; then ranks 0 and 1, a second apart; then rank 2 by itself."""
    late = (1_000_000, 2_000_001)
    ranks = [
        rank(0, [call("all_reduce", 0, 10), call("all_reduce", 20, late[1] + 10, (0, 1))],
             world=3, length=3_000_000),
        rank(1, [call("all_reduce", 3, 10), call("all_reduce", late[1], late[1] + 10, (0, 1))],
             world=3, length=3_000_000),
        rank(2, [call("all_reduce", 6, 10), call("all_reduce", 20, 30, (2,))],
             world=3, length=3_000_000),
    ]  # fmt: skip
    run = compare(ranks, ["0", "1", "2"])
    own = run.replay.own
    assert own is not None
    found: list[list[int]] = run.matches.table(own.lateness_ns, np.arange(3)).tolist()
    assert sorted(found) == [[-1, -1, -1], [0, 3 * US, 6 * US], [0, 1_999_981 * US, -1]]


def test_a_step_is_as_long_as_its_ranks_need_in_the_mean() -> None:
    spans = np.array([[1.0, 2.0, 9.0], [6.0, 4.0, 9.0]])
    assert own_time.by_step(spans, [(0,), (0, 1)]).tolist() == [3.5, 4.0]
    assert own_time.mean_length(spans, [(0,), (0, 1)]) == 3.75
    assert own_time.by_step(spans, [(), ()]).tolist() == [0.0]


def test_eight_ranks_with_most_excess_are_replayed() -> None:
    """Rank 9 has no excess, ranks 0 and 1 the same; each entry adds to its rank."""
    matches = of(unmatched=np.zeros(10), member=np.array([*range(10), 3, 3]))
    over = np.array([20, 20, 30, 10, 50, 60, 70, 80, 90, 0, 20, 15])
    assert own_time._candidates(over, matches) == [8, 7, 6, 5, 4, 3, 2, 0]
    few = np.array([0, 0, 1, 0, 0, 2, 0, 0, 0, 0, 0, 0])
    assert own_time._candidates(few, matches) == [5, 2]


def test_the_first_step_that_all_ranks_began() -> None:
    begun = [np.array([[0, 1], [0, 1], [4, 5]]), np.array([[-1, 1], [0, 1], [4, 5]])]
    assert own_time._first_of_all(of(steps=begun)) == 1
    assert own_time._first_of_all(of(steps=[one[:1] for one in begun])) == 0
    assert own_time._first_of_all(of(steps=[])) == 0


def test_of_all_steps_those_count_that_are_not_excluded() -> None:
    class Steps(SimpleNamespace):
        def __len__(self) -> int:
            return len(self.excluded)

    some, none = Steps(excluded=np.array([1, 0, 2, 0])), Steps(excluded=np.array([1, 2]))
    assert own_time._chosen(of(steps=some)) == (1, 3)
    assert own_time._chosen(of(steps=none)) == (0, 1)


def test_a_host_differs_more_than_a_device() -> None:
    assert own_time.least_share([of(on_device=True), of(on_device=True)]) == 0.02
    assert own_time.least_share([of(on_device=True), of(on_device=False)]) == 0.10


def test_the_usual_time_above_is_of_the_median_step_and_rank() -> None:
    above = np.array([[0.1, 9, 0.2, 0.9], [0.3, 9, 0.4, 0.8], [0.0, 9, 0.7, 0.8], [NAN, 1, 1, 1]])
    own = of(above=above, steps=(0, 2, 3))
    assert own_time.usual_above(own, [0]) == 0.2
    assert own_time.usual_above(own, [0, 1, 2, 3]) == 0.4
    assert own_time.usual_above(own, [3]) == 0.0


def ranks_of(*bare: Sequence[float], steps: Sequence[int] = (0, 1, 2, 3)) -> Any:
    """Ranks that are all peers of each other, and one more that is asked about."""
    own = np.array([*bare, [500.0] * len(bare[0])])
    peers = np.arange(len(own))
    return of(own_ns=own, bare_ns=own, peers=(peers,) * len(own), steps=tuple(steps))


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        # In one step by +10 % and −9.1 %, so by a quarter of that in the mean.
        ((110.0, 100.0, 100.0, 100.0), (0.1 + 1 / 11) / 8),
        # In turns by +10 % and −9.1 %: over four steps the error of the mean is half of that.
        ((110.0, 100 / 1.1, 110.0, 100 / 1.1), (0.1 + 1 / 11) / 4),
    ],
)
def test_the_spread_is_the_larger_of_two(other: Sequence[float], expected: float) -> None:
    own = ranks_of((100.0,) * 4, other)
    spread = own_time.usual_spread(own, [2])
    assert spread == pytest.approx(math.sqrt(math.pi / 2) * expected)
    assert own_time.is_beyond_chance(own, [2], 3.51 * spread)
    assert not own_time.is_beyond_chance(own, [2], 3.49 * spread)


def test_no_spread_is_known_of_one_rank_or_no_step() -> None:
    own = ranks_of((100.0,) * 4, (110.0,) * 4)
    assert own_time.usual_spread(own, [1, 2]) == 0.0
    assert own_time.usual_spread(own, [2], []) == 0.0
    assert own_time.usual_spread(ranks_of((100.0,) * 4, (NAN,) * 4), [2]) == 0.0
    assert not own_time.is_beyond_chance(own, [1, 2], 0.0)
    assert own_time.is_beyond_chance(own, [1, 2], 0.001)


@pytest.mark.parametrize(
    ("mine", "longest"),
    [
        ((0.2, 0.2, 0.05), True),
        ((0.2, 0.05, 0.05), False),
        ((0.2, 0.11, 0.05), True),
        ((0.2, 0.1, 0.05), False),  # as long as its peer
        ((0.05, 0.05, 0.05), False),
    ],
)
def test_longer_than_each_peer_in_two_thirds_of_the_steps(
    mine: Sequence[float], longest: bool
) -> None:
    peers = np.array([0, 1, 2])
    own = of(
        above=np.array([[0.1] * 3, [-0.3, -0.3, NAN], mine]), peers=(peers,) * 3, steps=(0, 1, 2)
    )
    assert own_time.is_often_longest(own, [2]) is longest
    assert not own_time.is_often_longest(own, [2], [])


# --- causes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("total", "slower", "more", "shared", "at_most"),
    [
        (100, 30, 10, (75, 25), (30, 10)),
        (100, 60, 40, (60, 40), (60, 40)),
        (100, 60, 41, (59, 41), (59, 41)),
        (100, -5, 10, (0, 100), (0, 10)),
        (100, 10, -5, (100, 0), (10, 0)),
        (100, 0, 0, (100, 0), (0, 0)),
    ],
)
def test_an_excess_is_shared_by_slower_and_more(
    total: int, slower: int, more: int, shared: tuple[int, int], at_most: tuple[int, int]
) -> None:
    assert causes._shared_out(total, slower, more) == shared
    assert causes._at_most(total, slower, more) == at_most
    assert causes._at_most(-total, slower, more) == (0, 0)


Row = tuple[int, int, int, int, int]


def families(*rows: Row, step: Sequence[int] = ()) -> Any:
    """A digest of (name, signature, count, p50, total) in step 0 unless other steps are given."""
    name, signature, count, p50, total = np.array(rows, np.int64).reshape(-1, 5).T
    steps = np.array(step or [0] * len(rows))
    table = of(step=steps, name=name, signature=signature, count=count, p50_ns=p50, total_ns=total)
    nothing = of(step=steps[:0], name=name[:0], total_ns=total[:0])
    return of(families=table, ranges=nothing, text="-abcdefgh".__getitem__)


def compared(mine: Any, *others: Any) -> tuple[int, int, str]:
    digests = [mine, *others]
    return causes.signatures(digests, [(0,)] * len(digests), 0, range(1, len(digests)))


def test_slower_and_more_kernels_are_told_by_medians() -> None:
    """Of signature 1 the peers run 8 in the median, of 30 ns; mine are 10 of 50 ns."""
    mine = families((1, 1, 10, 50, 500))
    theirs = [families((1, 1, n, p50, 7)) for n, p50 in ((8, 20), (6, 30), (20, 90))]
    assert compared(mine, *theirs) == (8 * 20, 2 * 50, "a")
    fewer = families((1, 1, 4, 50, 500))
    assert compared(fewer, *theirs) == (4 * 20, -4 * 50, "")


def test_what_most_peers_do_not_run_is_more_work() -> None:
    mine = families((1, 1, 10, 50, 500), (2, 2, 1, 600, 600))
    some, none = families((1, 1, 10, 40, 400), (2, 2, 1, 590, 590)), families((1, 1, 10, 40, 400))
    assert compared(mine, some, none) == (100 + 10, 0, "a")
    assert compared(mine, some, none, none) == (100, 600, "b")


def test_what_most_peers_run_beside_is_less_work() -> None:
    """Signature 2, of 40, 60 and 90 ns in the peers."""
    mine = families((1, 1, 1, 50, 50))
    theirs = [families((1, 1, 1, 50, 50), (2, 2, 1, 9, total)) for total in (40, 60, 90)]
    none = families((1, 1, 1, 50, 50))
    assert compared(mine, *theirs) == (0, -60, "")
    assert compared(mine, *theirs[:2], none) == (0, -50, "")
    assert compared(mine, *theirs[:2], none, none) == (0, 0, "")
    assert compared(mine, theirs[0], none) == (0, 0, "")
    assert compared(families((1, 1, 1, 51, 51)), none) == (1, 0, "a")


def test_steps_of_a_signature_are_summed_and_the_chosen_ones_count() -> None:
    digest = families(
        (3, 7, 2, 10, 20), (3, 7, 4, 20, 90), (3, 7, 8, 60, 500), (3, 7, 16, 1, 1),
        step=(0, 1, 2, 3),
    )  # fmt: skip
    assert causes._by_signature(digest, (0, 1, 2)) == {7: (14.0, 20.0, 610, 3)}


@pytest.mark.parametrize(("count", "slower"), [(63, 1), (64, 5)])
def test_of_many_peers_about_32_are_asked(count: int, slower: int) -> None:
    """All of 63; of 64 each second, the first among them, which need 5 ns less."""
    mine = families((1, 1, 1, 50, 50))
    theirs = [families((1, 1, 1, 45 if at % 2 == 0 else 49, 7)) for at in range(count)]
    if count == 63:  # half and half but for one more of those that need 1 ns less
        theirs[0] = theirs[1]
    assert compared(mine, *theirs)[0] == slower


def longer(mine: int, peers: int) -> LongerWork:
    return LongerWork(f"{mine}", mine, peers, alone=False)


def test_the_inner_one_of_those_with_four_fifths_of_the_excess() -> None:
    assert causes._innermost([longer(200, 100), longer(120, 40)]).mine_ns == 120
    assert causes._innermost([longer(200, 100), longer(120, 41)]).mine_ns == 200


def ranged(*by_step: tuple[int, int, int], known: bool = True) -> Any:
    """A digest of two steps of 1,000 ns with ranges of (name, step, time)."""
    name, step, total = np.array(by_step, np.int64).reshape(-1, 3).T
    nothing = of(step=step[:0], name=name[:0], total_ns=step[:0])
    words = ("", "load", "save", "walk")
    return of(
        ranges=of(name=name, step=step, total_ns=total),
        families=nothing,
        names=np.array([hash_of(words[one]) for one in {*name.tolist()}][: None if known else 0]),
        steps=of(start_ns=np.array([0, 1000]), end_ns=np.array([1000, 2000])),
        text=words.__getitem__,
    )


@pytest.mark.parametrize(
    ("mine", "found"),
    [
        ([(1, 0, 20), (1, 1, 20)], "load"),
        ([(1, 0, 20), (1, 1, 19)], ""),  # below 2 % of a step
        ([(1, 0, 20), (1, 1, 40), (2, 0, 25), (2, 1, 31)], "load"),  # 30 and 28 in the median
        ([(3, 0, 90), (3, 1, 90)], ""),  # the other runs it
    ],
)
def test_work_of_one_rank_takes_a_fiftieth_of_each_step(
    mine: list[tuple[int, int, int]], found: str
) -> None:
    digests = [ranged(*mine), ranged((3, 0, 1))]
    answer = causes.work_of_one(digests, (0, 1), [0])
    assert [one.name for one in answer.values()] == ([found] if found else [])
    assert causes.work_of_one([digests[0], ranged((3, 0, 1), known=False)], (0, 1), [0]) == {}


def test_a_name_explains_at_least_half_of_an_excess() -> None:
    """Mine takes 150 ns in the median step, the median peer 100."""
    mine = ranged((1, 0, 100), (1, 1, 200))
    theirs = [ranged((1, 0, each), (1, 1, each)) for each in (90, 100, 149)]
    digests = [mine, *theirs]
    found = causes.longer_work(digests, (0, 1), 0, (1, 2, 3), 100)
    assert found == LongerWork("load", 150, 100, alone=False)
    assert causes.longer_work(digests, (0, 1), 0, (1, 2, 3), 101) is None
    digests.append(ranged((2, 0, 1)))  # which may run it for less than is kept
    assert causes.longer_work(digests, (0, 1), 0, (1, 2, 3, 4), 100) is None


@pytest.mark.parametrize(("least", "longer_in_each"), [(110, True), (109, False)])
def test_longer_in_each_step_by_a_quarter_of_the_excess(least: int, longer_in_each: bool) -> None:
    mine = ranged((1, 0, 170), (1, 1, least))
    theirs = [ranged((1, 0, each), (1, 1, each)) for each in (20, 100, 149)]
    work = LongerWork("load", 140, 100, alone=False)
    digests = [mine, *theirs]
    assert causes.is_longer_in_each(digests, (0, 1), 0, (1, 2, 3), work) is longer_in_each


def test_a_place_is_told_by_the_arrivals_before_it_in_its_step() -> None:
    start, arrival, release = Junction.STEP_START, Junction.ARRIVAL, Junction.RELEASE
    digest = of(
        junctions=of(
            step=np.array([0, 0, 0, 1, 1, 1, 1, 1]),
            kind=np.array([start, arrival, release, start, arrival, release, arrival, release]),
        ),
        edges=of(target=np.array([1, 7, 6, 2])),
    )
    places = [causes._place(digest, edge) for edge in range(4)]
    assert places == [(0, 0, arrival), (1, 2, release), (1, 1, arrival), (0, 1, release)]


def one_edge(ns: int) -> Any:
    """A digest with an edge of 5, ``ns`` and 7 ns."""
    return of(
        junctions=of(step=np.array([0, 0]), kind=np.array([0, 1])),
        edges=of(target=np.array([1]), parts=np.array([[5, ns, 7]])),
    )


def test_the_median_of_the_first_eight_peers_is_typical() -> None:
    digests = [one_edge(ns) for ns in (10, 20, 30, 40, 52, 60, 70, 1000, 1, 1, 1)]
    count = len(digests)
    joint, parts = of(first_edge=np.arange(count)), of(edges=[(m,) for m in range(count)])
    found = causes._typical(digests, joint, parts, range(count), [1])
    assert found == {(0, 0, 1): 46}


# --- the verdict ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "at"),
    [
        ((0.0,) * 3 + (0.02,) * 3, 3),
        ((0.0,) * 3 + (0.0199,) * 3, 0),  # below the threshold
        ((0.0099,) * 3 + (0.02,) * 3, 3),
        ((0.01,) * 3 + (0.02,) * 3, 0),  # half of it before
        ((0.0,) * 2 + (0.02,) * 3, 0),  # too few steps on one side
        ((0.0,) * 3 + (0.02,) * 2, 0),
    ],
)
def test_a_rank_is_late_from_a_step_on(values: Sequence[float], at: int) -> None:
    expected = (at, 0.0 if at else 1.0)
    assert _Judge._change(of(least=0.02), np.array(values)) == expected


def test_of_several_steps_the_change_is_where_chance_is_least() -> None:
    """Variances of 4 and 16 of three steps each: 50/17 degrees of freedom by Welch."""
    judge, mild = of(least=0.02), (0.0, 0.002, 0.004)
    at, p = _Judge._change(judge, np.array([*mild, 0.02, 0.024, 0.028]))
    assert at == 3
    assert p == pytest.approx(two_sided(0.022 / math.sqrt(20e-6 / 3), 50 / 17))
    assert _Judge._change(judge, np.array([*mild, 0.001, 0.02, 0.024, 0.028, 0.022]))[0] == 4


@pytest.mark.parametrize(
    ("times", "often"),
    [((0, 7, 0, 0), True), ((1, 6, 0, 0), True), ((1, 5, 0, 0), False), ((0, 2, 0, 0), True)],
)
def test_most_late_steps_of_one_of_four_ranks_are_no_chance(
    times: Sequence[int], often: bool
) -> None:
    """Six of seven by chance: 4 · 22 / 4⁷ = 0.5 %; five of six: 4 · 19 / 4⁶ = 1.9 %."""
    assert _Judge._is_often_it(of(compared=range(4)), np.array(times), 1) is often


def test_a_step_is_late_from_one_and_a_half_thresholds_on() -> None:
    above = np.array([[0.03, 0.0299, NAN, 0.05]])
    judge = of(least=0.02, above=above, cost=np.array([[0.03, 0.03, 0.03, 0.0299]]))
    assert _Judge._late_steps(judge).tolist() == [[True, False, False, False]]
    assert _Judge._late_steps(judge, 1.0).tolist() == [[True, True, False, True]]


def test_an_excess_is_that_of_the_median_step_in_ns() -> None:
    own = of(bare_ns=np.array([[110.0, 120.0, 150.0]]), above=np.array([[0.1, 0.2, 0.5]]))
    assert _Judge._excess_of(of(own=own), 0, (0, 1, 2)) == pytest.approx(20)
    assert _Judge._excess_of(of(own=own), 0, (0, 2)) == pytest.approx(30)


def test_the_rank_in_the_middle_stands_for_all() -> None:
    judge = of(_excess_of=lambda m, _: (40, 10, 30, 20)[m])
    assert _Judge._typical(judge, _Found((0, 1, 2, 3), (0,))) == 2
    assert _Judge._typical(judge, _Found((0, 1, 3), (0,))) == 3
    assert _Judge._excess(judge, _Found((0, 1), (0,))) == 25
    assert _Judge._excess(judge, _Found((0, 1, 3), (0,))) == 20


def test_the_first_late_collective_is_no_tie() -> None:
    """More than 20 µs of excess and of lateness."""
    matches = of(entries_of=lambda _: np.arange(4), collective=np.array([5, 6, 7, 8]))
    excess = np.array([20_000, 20_001, 20_001, 90_000])
    lateness = np.array([90_000, 20_000, 20_001, 90_000])
    judge = of(run=of(matches=matches), own=of(excess_ns=excess, lateness_ns=lateness))
    assert _Judge._first_late(judge, 3) == (3, 7)
    judge.own.excess_ns = np.full(4, 20_000)
    assert _Judge._first_late(judge, 3) == (3, -1)
