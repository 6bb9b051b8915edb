"""How often a run is compared while its recordings are still being read."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

from kinetoscope.analysis.distributed.comparison import Comparison
from kinetoscope.analysis.distributed.model import RankDigest
from kinetoscope.views.compared import RESTS, Comparisons
from kinetoscope.views.view import RunWorker, TracePlace

RANKS, TOOK = 1024, 5.0
WORKERS = [RunWorker(TracePlace("run", f"node_{rank}", "1"), rank, "") for rank in range(RANKS)]
DIGESTS = cast("list[RankDigest]", [SimpleNamespace(rank=rank) for rank in range(RANKS)])


class Compared:
    """Instead of ``compare``: takes ``TOOK`` seconds of a drawn clock, and counts."""

    def __init__(self) -> None:
        self.now = 0.0
        self.sizes: list[int] = []

    def __call__(self, digests: Sequence[RankDigest], *_: object) -> Comparison:
        self.now += TOOK
        self.sizes.append(len(digests))
        return cast("Comparison", SimpleNamespace(digests=tuple(digests)))


def so_far(kept: Comparisons, count: int, needed: Sequence[int] = ()) -> tuple[int, Any]:
    """What is answered when so many are read: of how many that is, and the comparison."""
    rows, found = kept.of(WORKERS[:count], DIGESTS[:count], needed)
    assert [DIGESTS[row] for row in rows] == list(cast("Any", found).digests)
    return len(rows), found


def whole(kept: Comparisons) -> tuple[int, Any]:
    return so_far(kept, RANKS, range(RANKS))


def test_a_fifth_of_the_time_at_most_goes_into_comparisons_of_what_is_read() -> None:
    """A page asks every second; each time four more ranks are there."""
    made = Compared()
    kept = Comparisons(made, lambda: made.now)
    for read in range(4, RANKS, 4):
        made.now += 1.0
        compared, _ = so_far(kept, read)
        assert compared > 0
    assert len(made.sizes) * TOOK * (RESTS + 1) <= made.now + TOOK * RESTS
    assert len(made.sizes) <= RANKS / 4 / (TOOK * RESTS) + 1
    assert made.sizes == sorted(set(made.sizes))
    assert whole(kept)[0] == RANKS
    before = len(made.sizes)
    assert whole(kept)[0] == RANKS
    assert len(made.sizes) == before


def test_what_is_read_takes_part_at_last_even_when_no_more_comes() -> None:
    made = Compared()
    kept = Comparisons(made, lambda: made.now)
    so_far(kept, 700)
    assert so_far(kept, 712)[0] == 700
    made.now += RESTS * TOOK
    assert so_far(kept, 712)[0] == 712
    assert made.sizes == [700, 712]


def test_a_rank_that_is_asked_for_is_in_the_answer() -> None:
    made = Compared()
    kept = Comparisons(made, lambda: made.now)
    so_far(kept, 10)
    assert so_far(kept, 20, needed=[3])[0] == 10
    assert so_far(kept, 20, needed=[15])[0] == 20
    assert made.sizes == [10, 20]


def test_while_a_comparison_is_made_the_last_one_answers() -> None:
    made = Compared()
    begun, go_on = threading.Event(), threading.Event()

    def held(digests: Sequence[RankDigest], *rest: object) -> Comparison:
        if len(digests) > 8:
            begun.set()
            assert go_on.wait(60)
        return made(digests, *rest)

    kept = Comparisons(held, lambda: made.now)
    so_far(kept, 8)
    made.now += RESTS * TOOK
    other = threading.Thread(target=so_far, args=(kept, 16))
    other.start()
    assert begun.wait(60)
    assert so_far(kept, 24)[0] == 8
    go_on.set()
    other.join(60)
    assert so_far(kept, 24)[0] == 16
    assert made.sizes == [8, 16]


def test_two_runs_are_kept_side_by_side() -> None:
    made = Compared()
    kept = Comparisons(made, lambda: made.now)
    for _ in range(3):
        kept.of(WORKERS[:4], DIGESTS[:4], range(4))
        kept.of(WORKERS[4:8], DIGESTS[4:8], range(4))
    assert made.sizes == [4, 4]
