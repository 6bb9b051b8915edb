"""Several ranks on one axis: their clocks, and the arrows between calls of one collective.

rank 0   mm ████      all_reduce ░░░░░▓▓        the arrow leads from the start of rank 2, the last,
rank 1   mm ████      all_reduce ░░░░░▓▓        to the end of each other
rank 2   mm █████████ all_reduce      ▓▓
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from kinetoscope.base.errors import QueryError
from kinetoscope.session.session import Wanted, choose
from kinetoscope.views.distributed.axis import clocks, joined
from kinetoscope.views.distributed.contract import AxisQuery, DistributedQuery, JoinedQuery
from kinetoscope.views.distributed.view import VIEW
from kinetoscope.views.view import Subject
from tests.conftest import TRACES, requires_traces
from tests.views.distributed.drawn_ranks import MOVE_US, STEP_US, WORK_US, write_run

US = 1000


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KINETOSCOPE_CACHE_DIR", str(tmp_path / "cache"))


def worker(rank: int, node: int = 0) -> str:
    return f"node{node}_{1000 + rank}"


def subject(folder: Path, name: str = worker(0)) -> Subject:
    return choose(str(folder), Wanted(worker=name)).session().subject(VIEW)


def shown_with(*names: str, offsets: str = "", start: int = 0, end: int = 1 << 60) -> JoinedQuery:
    even = ",".join("0" for _ in names)
    return JoinedQuery(workers=",".join(names), offsets=offsets or even, start_ns=start, end_ns=end)


def shift_clocks(folder: Path, ahead_us: Mapping[str, int]) -> None:
    """Each of these workers stamps its wall clock so much later."""
    for name, ahead in ahead_us.items():
        (file,) = folder.glob(f"{name}.*")
        document = json.loads(file.read_text())
        document["baseTimeNanoseconds"] += ahead * US
        file.write_text(json.dumps(document))


def test_arrows_lead_from_the_last_rank_to_the_others(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", 4, slower_us={2: 500})
    found = joined(subject(run), shown_with(worker(1), worker(2)))
    assert (found.count, found.joined) == (3, 3)
    first = [one for one in found.arrows if one.end.ts < STEP_US * US]
    assert [(one.start_source, one.end_source) for one in first] == [(2, 0), (2, 1)]
    begin = (50 + WORK_US + 500) * US
    for one in first:
        assert one.start.ts == begin
        assert one.end.ts + one.end.dur == begin + MOVE_US * US
        assert (one.operation, one.group, one.last) == ("all_reduce", "default_pg", "rank 2")
        assert one.skew_ns == 500 * US


def test_of_those_shown_the_latest_leads_and_the_last_of_all_is_named(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", 4, slower_us={1: 200, 2: 500})
    VIEW.build(subject(run), DistributedQuery())  # all are digested
    found = joined(subject(run), shown_with(worker(1)))
    assert {(one.start_source, one.end_source, one.last) for one in found.arrows} == {
        (1, 0, "rank 2")
    }


def test_only_the_window_of_the_axis_counts(tmp_path: Path) -> None:
    """The second worker is shown 40 steps later; both ends of one arrow need not be in sight."""
    run = write_run(tmp_path / "run", 2, steps=4)
    step = STEP_US * US
    query = shown_with(worker(1), start=step, end=2 * step)
    assert joined(subject(run), query).count == 1
    far = shown_with(worker(1), offsets=str(40 * step), start=step, end=2 * step)
    assert joined(subject(run), far).count == 2  # the first, too, reaches across the window
    assert joined(subject(run), shown_with(worker(1), start=50 * step, end=51 * step)).count == 0


def test_clocks_of_two_hosts_are_fitted_and_the_uncertainty_is_printed(tmp_path: Path) -> None:
    """Rank 1 stamps 700 µs too late; 24 collectives end on all ranks at one instant."""
    run = write_run(tmp_path / "run", 2, steps=24, ranks_of_node=1)
    shift_clocks(run, {worker(1, node=1): 700})
    found = clocks(subject(run), AxisQuery(workers=worker(1, node=1)))
    (one,) = found.clocks
    assert found.fitted
    assert one.rank == 1
    assert one.uncertainty_ns is not None
    assert abs(one.correction_ns + 700 * US) <= one.uncertainty_ns < 10 * US
    assert "23 collectives: up to 700\u00a0µs apart, known to" in found.sentence
    back = clocks(subject(run, worker(1, node=1)), AxisQuery(workers=worker(0)))
    assert back.clocks[0].correction_ns == -one.correction_ns


def test_too_few_collectives_leave_clocks_as_recorded_and_say_so(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", 2, steps=3, ranks_of_node=1)
    shift_clocks(run, {worker(1, node=1): 700})
    found = clocks(subject(run), AxisQuery(workers=worker(1, node=1)))
    assert not found.fitted
    assert not found.comparable
    assert found.clocks[0].correction_ns == 0
    assert found.clocks[0].uncertainty_ns is None
    assert "8 are needed" in found.sentence


def test_ranks_that_are_not_shown_are_not_read(tmp_path: Path) -> None:
    """Two of four ranks are asked for: the files of the others may even be damaged."""
    run = write_run(tmp_path / "run", 4)
    for rank in (2, 3):
        (file,) = run.glob(f"{worker(rank)}.*")
        file.write_text("damaged")
    found = clocks(subject(run), AxisQuery(workers=worker(1)))
    assert [one.rank for one in found.clocks] == [1]
    assert found.ranks == 2


@pytest.mark.parametrize("names", ["", ",".join(f"w{n}" for n in range(8))])
def test_no_workers_and_too_many_are_refused(tmp_path: Path, names: str) -> None:
    run = write_run(tmp_path / "run", 2)
    with pytest.raises(QueryError, match="workers"):
        clocks(subject(run), AxisQuery(workers=names))


@pytest.mark.parametrize("offsets", ["", "1", "1,x", "1,2,3"])
def test_offsets_are_as_many_numbers_as_workers(tmp_path: Path, offsets: str) -> None:
    run = write_run(tmp_path / "run", 3)
    query = JoinedQuery(workers=f"{worker(1)},{worker(2)}", offsets=offsets, start_ns=0, end_ns=1)
    with pytest.raises(QueryError, match="offsets"):
        joined(subject(run), query)


@requires_traces
def test_three_of_eight_real_ranks(tmp_path: Path) -> None:
    """Each of the eight collectives has two arrows, from the latest of the three."""
    import shutil

    shutil.copytree(TRACES / "dlrm_8rank_v100", tmp_path / "dlrm")
    folder = tmp_path / "dlrm"
    session = choose(str(folder)).session()
    workers = [one.place.worker for one in session.subject(VIEW).recordings.workers()]
    own = session.subject(VIEW).recordings.own
    assert own is not None
    others = [name for name in workers if name != own.worker][:2]
    found = joined(session.subject(VIEW), shown_with(*others))
    assert found.count == 8
    assert len(found.arrows) == 16
    assert clocks(session.subject(VIEW), AxisQuery(workers=",".join(others))).comparable
