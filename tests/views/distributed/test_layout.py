"""Where each rank stands among the groups, and what changes may be asked about."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from kinetoscope.base.errors import QueryError
from kinetoscope.session.session import choose
from kinetoscope.views import view_named
from kinetoscope.views.compared import roles_of_processes
from kinetoscope.views.distributed import what_if
from kinetoscope.views.distributed.contract import RankLayout, WhatIfQuery
from kinetoscope.views.distributed.layout import GroupOfRanks, layout_of
from kinetoscope.views.distributed.rows import shape_of
from kinetoscope.views.distributed.view import VIEW
from kinetoscope.views.overview.view import advice_on
from kinetoscope.views.view import Subject
from tests.conftest import ROOT
from tests.views.distributed.drawn_ranks import write_run

WORLD = range(16)


def groups(role: str, *members: range) -> list[GroupOfRanks]:
    return [GroupOfRanks(tuple(one), role) for one in members]


def laid_out(found: list[GroupOfRanks], ranks: int = len(WORLD)) -> RankLayout:
    return layout_of(found, ranks, {rank: rank for rank in range(ranks)})


TENSOR = groups("tensor parallel", *(range(at, at + 4) for at in (0, 4, 8, 12)))
PIPELINE = groups("pipeline", *(range(at, 16, 8) for at in range(8)))
DATA = groups("data parallel", *(range(at, at + 8, 4) for at in (0, 1, 2, 3, 8, 9, 10, 11)))
"""Sixteen ranks: 4 neighbours share tensors, 2 replicas, 2 stages of 8 ranks."""


def test_a_rank_stands_where_its_groups_put_it() -> None:
    found = laid_out([*TENSOR, *PIPELINE, *DATA, *groups("data parallel", WORLD)])
    assert found.text == "TP 4 × PP 2 × DP 2"
    places = {cell.rank: cell.place for cell in found.cells}
    assert places[0] == (0, 0, 0)
    assert places[7] == (3, 0, 1)
    assert places[13] == (1, 1, 1)
    assert len(set(places.values())) == 16


def test_ranks_that_no_group_tells_apart_get_an_axis_of_their_own() -> None:
    found = laid_out(TENSOR)
    assert [(axis.name, axis.size) for axis in found.axes] == [("TP", 4), ("other", 4)]
    assert found.text == "TP 4"
    assert len({cell.place for cell in found.cells}) == 16
    assert laid_out([]).text == ""
    assert [cell.place for cell in laid_out([], 3).cells] == [(0,), (1,), (2,)]


def test_experts_spread_over_replicas_are_no_axis() -> None:
    """EP 4 over the ranks of DP 16: more places than ranks otherwise."""
    experts = groups("expert parallel", *(range(at, at + 4) for at in (0, 4, 8, 12)))
    found = laid_out([*experts, *TENSOR, *PIPELINE, *DATA])
    assert found.text == "TP 4 × PP 2 × DP 2"


def test_one_group_of_all_is_the_axis_where_there_is_no_other() -> None:
    assert laid_out(groups("data parallel", WORLD)).text == "DP 16"


def test_a_rank_without_a_recording_keeps_its_place() -> None:
    found = layout_of(TENSOR, 16, {rank: rank for rank in range(15)})
    assert [cell.rank for cell in found.cells if cell.row is None] == [15]
    assert found.cells[15].place == (3, 3)


def test_groups_of_few_ranks_are_no_axis() -> None:
    """As while the others are being read: at most half of the places are empty."""
    pair = groups("tensor parallel", range(2))
    assert laid_out(pair, 1024).text == "TP 2"
    assert laid_out(groups("tensor parallel", range(4)), 1024).text == ""
    found = laid_out(groups("pipeline", range(3)), 60)
    assert [(axis.name, axis.size) for axis in found.axes] == [("other", 60)]
    assert [cell.place for cell in found.cells] == [(rank,) for rank in range(60)]


def test_groups_of_one_shape() -> None:
    assert shape_of((0, 8, 16)) == "3x8"
    assert shape_of((0, 1, 5)) == ""


# --- what if --------------------------------------------------------------------------------------


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Subject:
    monkeypatch.setenv("KINETOSCOPE_CACHE_DIR", str(tmp_path / "cache"))
    folder = write_run(tmp_path / "run", 6, slower_us={2: 1000}, ranks_of_node=2, host_us=200)
    found = choose(str(folder)).session().asked(VIEW)
    assert isinstance(found, Subject)
    return found


def test_the_slow_rank_is_what_the_step_would_be_shorter_without(run: Subject) -> None:
    """Its kernel takes 1,000 µs longer: the step gains them, and no other rank's change does."""
    slow = what_if.build(run, WhatIfQuery("rank", 2))
    assert slow.refused == ""
    assert slow.gain_ns == 1_000_000
    assert slow.error_median == 0
    for other in (0, 1, 5):
        assert what_if.build(run, WhatIfQuery("rank", other)).gain_ns is None
    node = what_if.build(run, WhatIfQuery("node", 1))
    assert (node.edited_ns, node.gain_ns) == (slow.edited_ns, slow.gain_ns)


def test_a_change_of_what_is_not_there_is_refused(run: Subject) -> None:
    for query in (WhatIfQuery("rank", 6), WhatIfQuery("node", 3), WhatIfQuery("group", 1),
                  WhatIfQuery("stage", 0)):  # fmt: skip
        with pytest.raises(QueryError, match="no such"):
            what_if.build(run, query)


def test_processes_have_the_role_of_their_name_or_of_their_group(run: Subject) -> None:
    places = [one.place for one in run.recordings.workers()]
    found = run.recordings.gather(places)
    digests = [found.opened[place] for place in places]
    assert roles_of_processes([""] * 6, digests) == ("",) * 6
    rollout = msgspec.structs.replace(
        digests[0].groups[0], ranks=(4, 5), description="rollout_group", name="1"
    )
    digests = [msgspec.structs.replace(one, declared=(rollout,)) for one in digests]
    names = ["actor_0", *(f"host_{rank}" for rank in range(1, 6))]
    assert roles_of_processes(names, digests) == ("actor", "", "", "", "rollout", "rollout")


def test_the_change_of_the_late_one_of_two_ranks_is_worth_its_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KINETOSCOPE_CACHE_DIR", str(tmp_path / "cache"))
    session = choose(str(ROOT / "samples" / "traces" / "train_ddp_cpu")).session()
    asked = session.asked(VIEW)
    assert isinstance(asked, Subject)
    late = what_if.build(asked, WhatIfQuery())
    assert late == what_if.build(asked, WhatIfQuery("rank", 1))
    assert "With rank 1 like its peers" in late.sentence
    assert what_if.build(asked, WhatIfQuery("rank", 0)).gain_ns is None
    assert "each batch there in time" in what_if.build(asked, WhatIfQuery("input")).sentence
    advice = advice_on(session.asked(view_named("overview")), "", "", {})
    first = advice.findings[0]
    assert first.id == "CO5"
    assert first.gain is not None
    assert first.gain.ns_per_step == pytest.approx(late.gain_ns, rel=0.01)


def test_without_a_late_rank_the_input_is_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KINETOSCOPE_CACHE_DIR", str(tmp_path / "cache"))
    folder = write_run(tmp_path / "run", 4, host_us=200)
    asked = choose(str(folder)).session().asked(VIEW)
    assert isinstance(asked, Subject)
    assert what_if.build(asked, WhatIfQuery()) == what_if.build(asked, WhatIfQuery("input"))
