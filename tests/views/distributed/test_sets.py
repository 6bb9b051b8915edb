"""Stages of a pipeline, experts, and ranks that inherit lateness: drawn collectives, their rows."""

from __future__ import annotations

import numpy as np
import pytest

from kinetoscope.analysis.distributed.comparison import Comparison, compare
from kinetoscope.views.compared import Compared
from kinetoscope.views.distributed.rows import RunRows
from kinetoscope.views.distributed.sets import first_late, inherited_text, stage_rows
from kinetoscope.views.view import RunWorker, TracePlace
from tests.analysis.distributed.drawn import US, call, rank


def rows_of(run: Comparison) -> RunRows:
    workers = tuple(
        RunWorker(TracePlace("run", f"worker{one.rank}", ""), one.rank) for one in run.digests
    )
    there = Compared(run, workers, (), len(workers), 0)
    return RunRows(there, np.arange(len(run.step_numbers)), {})


def test_slack_of_a_stage_is_that_of_what_it_receives() -> None:
    """Stage 1 is there 20 µs before its message is sent, stage 2 for 30 µs after."""
    ends = [call("recv", 0, 25, peer=0), call("send", 30, 70, peer=2)]
    run = compare(
        [
            rank(0, [call("send", 20, 25, peer=1)], world=3, host="a"),
            rank(1, ends, world=3, host="a"),
            rank(2, [call("recv", 60, 70, peer=1)], world=3, host="a"),
        ],
        ["0", "1", "2"],
    )
    stages = stage_rows(run)
    assert [one.slack_ns for one in stages] == [None, -20 * US, 30 * US]
    assert [one.waited_ratio for one in stages] == [None, 1.0, 0.0]
    assert [one.bubble_ns for one in stages] == [5 * US, 65 * US, 10 * US]
    assert stages[0].least_ratio == pytest.approx(2 / 3)  # (3 − 1) / (1 + 3 − 1)


def test_each_rank_says_what_it_receives_in_exchanges() -> None:
    parts = (100, 100, 400, 200)
    calls = [
        call("all_to_all", n * 100, n * 100 + 90, elements=800, dtype_bytes=1, splits=parts)
        for n in range(4)
    ]
    run = compare([rank(r, calls, world=4, host="a") for r in range(4)], list("0123"))
    assert [one.received_bytes for one in rows_of(run).ranks()] == [1600, 1600, 6400, 3200]


def in_two_groups() -> Comparison:
    """Of three pairs of neighbours rank 0 is late; then ranks 0, 2, 4 reduce, and 1, 3, 5."""
    ranks = []
    for r in range(6):
        pair = (r // 2 * 2, r // 2 * 2 + 1)
        calls = []
        for step, begin in enumerate(range(0, 3000, 1000)):
            end = begin + (450 if r < 2 else 150)
            start = begin + (400 if r == 0 else 100)
            calls += [
                call("all_reduce", start, end, pair, step=step),
                call("all_reduce", end + 10, begin + 510, (r % 2, r % 2 + 2, r % 2 + 4), step=step),
            ]
        ranks.append(rank(r, calls, world=6, host="a", steps=(1, 2, 3)))
    return compare(ranks, [str(r) for r in range(6)])


def test_a_rank_that_had_waited_before_inherits_what_it_costs() -> None:
    run = in_two_groups()
    rows = rows_of(run)
    zero, one, *others = rows.ranks()
    # Two ranks wait 300 µs for rank 1, which had waited as long for rank 0.
    assert (one.cost_ns, one.inherited_ns, one.inherited_from) == (600 * US, 600 * US, 0)
    assert (zero.cost_ns, zero.inherited_ns, zero.inherited_from) == (900 * US, 0, None)
    assert all(other.inherited_ns == 0 for other in others)
    assert "Rank 1 is late mostly because it had waited for rank 0" in inherited_text(rows)
    assert run.verdict.member == 0
    assert first_late(rows) == "It is first late at all_reduce #5 of step 1 in group 0 0-1."
