"""The Distributed view over drawn runs of a few ranks, and over real ones."""

from __future__ import annotations

import functools
import itertools
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest

from kinetoscope.analysis.recording import no_message_sizes
from kinetoscope.base.errors import NotReadyError, QueryError, UnavailableError
from kinetoscope.session.recordings import CatalogRecordings
from kinetoscope.session.session import choose
from kinetoscope.trace.read import read
from kinetoscope.trace.worker_names import node_of
from kinetoscope.views import compared
from kinetoscope.views.compared import READ, READ_LATER, READING, Comparisons
from kinetoscope.views.distributed.contract import (
    Distributed,
    DistributedQuery,
    HangQuery,
    OperationsQuery,
    RanksQuery,
)
from kinetoscope.views.distributed.logs import hang
from kinetoscope.views.distributed.rows import _verdict, range_text
from kinetoscope.views.distributed.view import VIEW, _ties, operations, sentence
from kinetoscope.views.view import Subject, TracePlace
from tests.conftest import TRACES, requires_traces
from tests.trace.pickles.drawn_logs import write_dumps
from tests.views.distributed.drawn_ranks import MOVE_US, WORK_US, write_run

US = 1000


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KINETOSCOPE_CACHE_DIR", str(tmp_path / "cache"))


def subject(folder: Path) -> Subject:
    found = choose(str(folder)).session().asked(VIEW)
    assert isinstance(found, Subject)
    return found


def answer(folder: Path, steps: str = "", roles: str = "") -> Distributed:
    built = VIEW.build(subject(folder), DistributedQuery(steps, roles))
    assert isinstance(built, Distributed)
    return built


def test_a_rank_with_slower_kernels_costs_what_the_others_wait(tmp_path: Path) -> None:
    """Three ranks wait 500 µs for the fourth in each of three steps."""
    found = answer(write_run(tmp_path / "run", 4, slower_us={2: 500}))
    assert found.step_count == 3
    assert [one.rank for one in found.ranks] == [0, 1, 2, 3]
    assert [one.cost_ns for one in found.ranks] == [0, 0, 3 * 500 * US, 0]
    assert [one.lost_ns for one in found.ranks] == [500 * US, 500 * US, 0, 500 * US]
    assert found.total_wait_ns == 3 * 500 * US
    assert found.blame_ranks == 1
    assert [sum(row) for row in found.blame] == [one.cost_ns for one in found.ranks]
    assert [sum(column) for column in zip(*found.blame, strict=True)] == [
        one.lost_ns for one in found.ranks
    ]
    assert found.detail.endswith("in total for rank 2.")
    assert found.look_at[0].rank == 2


def test_of_two_ranks_both_are_to_be_looked_at_the_late_one_first(tmp_path: Path) -> None:
    found = answer(write_run(tmp_path / "run", 2, slower_us={1: 500}))
    assert "rank 0 waits 500 µs for rank 1." in plain(found.detail)
    assert [(one.rank, one.kind) for one in found.look_at] == [(1, "last"), (0, "waits most")]


@pytest.mark.parametrize(("ahead_h", "seen_us"), [(0, 500), (5, 0)])
def test_a_collective_opens_in_trace_on_the_clock_of_the_last_rank(
    tmp_path: Path, ahead_h: int, seen_us: int
) -> None:
    """From the first arrival on, where clocks can be compared."""
    run = set_clocks(write_run(tmp_path / "run", 2, slower_us={1: 500}), {1: ahead_h})
    found = answer(run)
    row = found.table[0]
    assert (row.last, row.waiting_ns) == (1, 500 * US)
    assert row.link.params["worker"] == found.ranks[1].worker
    assert row.link.params["workers"] == found.ranks[0].worker
    begin, end = (int(one) for one in row.link.params["at"].split("-"))
    margin = (end - begin) // 6  # a quarter of the length on either side
    trace = read(next(run.glob("*_1001.*")))
    starts, ends = trace.device.ts, trace.device.ts + trace.device.dur
    at = int(np.abs(ends - (end - margin)).argmin())
    assert abs(int(ends[at]) - (end - margin)) < 4
    assert abs(int(starts[at]) - seen_us * US - (begin + margin)) < 4
    assert [link.params["steps"] for link in found.steps.links] == list(found.steps.columns)


def set_clocks(run: Path, ahead_h: Mapping[int, int]) -> Path:
    """Ranks whose clocks are so many hours ahead of the others'."""
    for rank, hours in ahead_h.items():
        (file,) = run.glob(f"*_{1000 + rank}.*")
        document = json.loads(file.read_text())
        document["baseTimeNanoseconds"] += hours * 3600 * 10**9
        file.write_text(json.dumps(document))
    return run


def plain(text: str) -> str:
    return text.replace("\u00a0", " ")


def test_waiting_is_no_longer_step_by_itself(tmp_path: Path) -> None:
    """Rank 2 is 500 µs late in steps that the host ends: what is said below is no contradiction."""
    found = answer(write_run(tmp_path / "run", 4, slower_us={2: 500}))
    assert found.headline == "No rank is a straggler."
    assert plain(found.detail) == ("In each step 3 ranks wait 1.50 ms in total for rank 2.")
    even = answer(write_run(tmp_path / "even", 4))
    assert even.detail == "In each step no rank waits for another."


def test_ranks_that_are_equally_late_are_said_to_tie(tmp_path: Path) -> None:
    """Ranks 1 and 3 come at one instant: the wait counts for the first, and that is said."""
    found = answer(write_run(tmp_path / "run", 4, slower_us={1: 500, 3: 500}))
    assert [one.cost_ns for one in found.ranks] == [0, 2 * 500 * US, 0, 0]
    assert {(one.last, one.tied) for one in found.table} == {(1, 1)}
    assert plain(found.detail).endswith(
        "In each step 2 ranks wait 1.00 ms in total for rank 1. At all of the collectives where it"
        " is last, 2 ranks arrive together; the wait counts for the first of them."
    )
    once = answer(write_run(tmp_path / "once", 4, steps=1, slower_us={1: 500, 3: 500}))
    assert "2 ranks arrive together; the wait counts" in plain(once.detail)
    alone = answer(write_run(tmp_path / "alone", 4, slower_us={1: 500, 3: 400}))
    assert {(one.last, one.tied) for one in alone.table} == {(1, 0)}
    assert "together" not in alone.detail
    even = answer(write_run(tmp_path / "even", 4))
    assert {(one.last, one.tied) for one in even.table} == {(None, 0)}


@pytest.mark.parametrize("steps", [1, 3, 24])
def test_clocks_that_are_hours_apart(tmp_path: Path, steps: int) -> None:
    """Of few collectives the lengths tell; from eight on clocks are fitted to their ends."""
    run = write_run(tmp_path / "run", 4, steps=steps, slower_us={2: 500}, ranks_of_node=1)
    found = answer(set_clocks(run, {1: 2, 3: -5}))
    said = "In each step 3 ranks wait 1.50 ms in total for rank 2."
    if steps == 24:
        assert plain(found.detail) == said
        assert plain(found.clocks) == (
            "Clocks fitted to the ends of 23 collectives: up to 7 h 0 m apart, known to 1.00 µs."
        )
        return
    by = "Clocks cannot be compared, so the last rank is the one that is in a collective for the"
    assert plain(found.detail) == f"{said} {by} shortest time."
    short = {1: "no short symmetric collective is", 3: "only 2 short symmetric collectives are"}
    assert plain(found.clocks) == (
        "Clocks disagree by at least 7 h 0 m: a rank ends a collective before another begins it."
        f" They are not corrected: {short[steps]} on all ranks, 8 are needed."
    )


def test_no_rank_is_last_where_all_begin_at_once(tmp_path: Path) -> None:
    found = answer(write_run(tmp_path / "run", 4, ranks_of_node=2))
    assert [one.times_last for one in found.ranks] == [0, 0, 0, 0]
    assert [one.times_last for one in found.nodes] == [0, 0]
    assert [one.last for one in found.table] == [None] * 3
    cells = [cell for row in (found.steps.waiting, found.collectives.waiting) for cell in row]
    assert not any(any(cell.last) for cell in cells)
    two = answer(write_run(tmp_path / "two", 2))
    assert two.headline == "No rank is a straggler."


@pytest.mark.parametrize(("steps", "title"), [(1, "The step"), (3, "Mean step of 3 steps")])
def test_the_table_of_steps_says_of_how_many(tmp_path: Path, steps: int, title: str) -> None:
    found = answer(write_run(tmp_path / "run", 3, steps=steps))
    assert title in [plain(one.title) for one in VIEW.tables(found)]


def test_the_parts_of_each_step_sum_to_it(tmp_path: Path) -> None:
    for one in answer(write_run(tmp_path / "run", 4, slower_us={2: 500})).ranks:
        step = one.step
        assert step is not None
        parts = step.compute_ns + step.overlap_ns + step.communication_ns + step.copy_ns
        assert parts + step.idle_ns == step.length_ns
        assert step.synchronizing_ns == one.lost_ns
        assert step.transferring_ns == MOVE_US * US
        assert step.compute_ns == (WORK_US + (500 if one.rank == 2 else 0)) * US


def test_bandwidth_is_that_of_the_transfer_not_of_the_waiting(tmp_path: Path) -> None:
    """1 MiB in 100 µs among 4 ranks: 10.5 GB/s, times 2 · 3/4 on the bus."""
    run = write_run(tmp_path / "run", 4, slower_us={2: 500})
    (point,) = answer(run).bandwidth
    assert point.bytes == 1 << 20
    assert point.algorithm_gbs == pytest.approx((1 << 20) / 100e3)
    assert point.bus_gbs == pytest.approx(1.5 * (1 << 20) / 100e3)
    (row,) = operations(subject(run), OperationsQuery(rank=0)).rows
    assert (row.calls, row.latency_ns, row.transfer_ns) == (3, 3 * 600 * US, 3 * MOVE_US * US)
    assert row.bus_gbs == pytest.approx(point.bus_gbs)
    (every,) = operations(subject(run), OperationsQuery()).rows
    assert every.calls == 12


def without_sizes(run: Path) -> Path:
    """The recordings, none of which says how much was moved."""
    for file in run.iterdir():
        document = json.loads(file.read_text())
        for event in document["traceEvents"]:
            for key in ("In msg nelems", "Out msg nelems", "dtype"):
                event["args"].pop(key, None)
        file.write_text(json.dumps(document))
    return run


@pytest.mark.parametrize(
    ("era", "shapes", "how"),
    [
        ("A", False, ": record with `torch.profiler.profile` of torch 2.3 or later."),
        ("D", False, ": record with torch 2.3 or later, or with `record_shapes=True`."),
        ("D", True, ": record with torch 2.3 or later."),
        ("G", False, ": record with `record_shapes=True`."),
        ("G", True, "."),
        ("Ascend", False, ": the trace of `torch_npu` has no sizes."),
    ],
)
def test_sizes_are_asked_of_recorders_that_write_them(
    tmp_path: Path, era: str, shapes: bool, how: str
) -> None:
    """What helps depends on who wrote the file; nothing is said where sizes are known."""
    run = write_run(tmp_path / "run", 2)
    opened = subject(run)
    assert operations(opened, OperationsQuery()).reason == ""
    assert "record" not in answer(run).reasons["bandwidth"].replace("recorded", "")
    opened = subject(without_sizes(run))
    recording = msgspec.structs.replace(opened.facts.recording, record_shapes=shapes)
    facts = msgspec.structs.replace(opened.facts, torch_era=era, recording=recording)
    said = no_message_sizes(facts)
    assert said == f"The recording does not say how much its collectives moved{how}"
    by_other = no_message_sizes(msgspec.structs.replace(facts, torch_era="Other"))
    assert "record" not in by_other
    opened = msgspec.structs.replace(opened, facts=facts)
    assert operations(opened, OperationsQuery()).reason == said
    built = VIEW.build(opened, DistributedQuery())
    assert isinstance(built, Distributed)
    assert (built.bandwidth, built.reasons["bandwidth"]) == ((), said)


def test_nodes_stand_beside_one_another(tmp_path: Path) -> None:
    """Six ranks on three nodes, those of the second 500 µs later in each of three steps."""
    run = write_run(tmp_path / "run", 6, slower_us={2: 500, 3: 500}, ranks_of_node=2, host_us=100)
    found = answer(run)
    assert [(one.name, one.ranks, one.is_late) for one in found.nodes] == [
        ("node0", "ranks 0 and 1", False),
        ("node1", "ranks 2 and 3", True),
        ("node2", "ranks 4 and 5", False),
    ]
    # Three collectives a step, and two of six ranks are waited for by the other four.
    assert [one.cost_ns for one in found.nodes] == [0, 4 * 500 * US, 0]
    assert [one.lost_ns for one in found.nodes] == [2 * 500 * US, 0, 2 * 500 * US]
    assert found.headline.startswith(
        "Node node1 is 500\u00a0µs a step slower than its peers: `gemm` "
    )
    assert "Node node1 makes the others wait" in [one.title for one in found.findings]


def test_one_node_is_not_set_beside_others(tmp_path: Path) -> None:
    assert answer(write_run(tmp_path / "run", 4)).nodes == ()


def test_what_a_group_exposed_in_each_step_adds_up_to_its_mean(tmp_path: Path) -> None:
    for group in answer(write_run(tmp_path / "run", 4, slower_us={2: 500})).groups:
        assert len(group.exposed_by_step) == len(group.blocking_by_step) == 3
        assert group.exposed_ns == pytest.approx(sum(group.exposed_by_step) / 3, abs=2)
        assert group.blocking_ns == pytest.approx(sum(group.blocking_by_step) / 3, abs=2)
        assert all(
            0 <= blocking <= exposed
            for blocking, exposed in zip(group.blocking_by_step, group.exposed_by_step, strict=True)
        )


def test_chosen_steps_alone_count(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", 4, slower_us={2: 500})
    found = answer(run, steps="2")
    assert (found.step_count, found.count, found.steps.columns) == (1, 1, ("2",))
    assert found.total_wait_ns == 3 * 500 * US
    with pytest.raises(QueryError):
        answer(run, steps="77")


def test_the_heat_map_marks_who_came_last(tmp_path: Path) -> None:
    found = answer(write_run(tmp_path / "run", 4, slower_us={2: 500}))
    for columns in (found.steps, found.collectives):
        assert len(columns.columns) == 3
        assert [row.values[0] for row in columns.waiting] == [500 * US, 500 * US, 0, 500 * US]
        assert [row.last[0] for row in columns.waiting] == [False, False, True, False]


def test_what_would_be_gained_is_said_once(tmp_path: Path) -> None:
    found = answer(write_run(tmp_path / "run", 4, slower_us={2: 500}, host_us=100))
    assert found.headline.startswith("Rank 2 is 500\u00a0µs a step slower by itself: `gemm` takes ")
    assert found.detail.startswith("Without that, steps would be 500\u00a0µs (18.9\u00a0%) ")
    assert found.detail.count("shorter") == 1


def test_a_missing_rank_is_said_and_the_rest_is_computed(tmp_path: Path) -> None:
    found = answer(write_run(tmp_path / "run", 4, slower_us={2: 500}, left_out=(1,)))
    assert found.missing == "rank 1"
    assert [one.rank for one in found.ranks] == [0, 2, 3]
    assert found.total_wait_ns == 2 * 500 * US
    (note,) = (note for note in found.notes if "missing" in note)
    assert note.startswith("3 of 4 ranks are here. Rank 1 is missing. ")
    assert found.replay.endswith("what it would have done is not known.")


def test_a_rank_without_collectives_costs_an_unknown_time(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", 3, slower_us={2: 500})
    path = sorted(folder.iterdir())[1]
    document = json.loads(path.read_text())
    document["traceEvents"] = [
        one for one in document["traceEvents"] if "nccl" not in str(one).lower()
    ]
    path.write_text(json.dumps(document))
    ranks = answer(folder).ranks
    assert [one.cost_ns is None for one in ranks] == [False, True, False]
    assert [one.times_last is None for one in ranks] == [False, True, False]
    assert [one.lost_ns is None for one in ranks] == [False, True, False]


def test_a_note_is_shown_once_and_counts_recordings(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", 2)
    paths = sorted(folder.iterdir())
    document = json.loads(paths[0].read_text())
    for name in ("c", "d"):  # two more of rank 0
        (folder / f"{name}_{paths[0].name}").write_text(json.dumps(document))
    found = answer(folder)
    (note,) = (one for one in found.notes if "claim" in one)
    assert note.startswith("Several recordings claim one rank: rank 0 by ")
    rows = VIEW.tables(found)[-1].rows
    assert len(set(rows)) == len(rows)


def half_read(found: Subject, reading: int) -> Subject:
    """The same while the last recordings of its run are still being read."""
    whole = found.recordings
    assert isinstance(whole, CatalogRecordings)
    places = [one.place for one in whole.workers()]
    there = places[: len(places) - reading]

    def open_read(place: TracePlace) -> Any:
        if place not in there:
            raise NotReadyError("It is being read.")
        return whole.open(place)

    return msgspec.structs.replace(found, recordings=msgspec.structs.replace(whole, open=open_read))


def test_nothing_is_concluded_while_ranks_are_being_read(tmp_path: Path) -> None:
    """Rank 1 is slow and read first: of two ranks it would be named, of four it may not be."""
    run = subject(write_run(tmp_path / "run", 4, slower_us={1: 500}))
    found = VIEW.build(half_read(run, 2), DistributedQuery())
    assert isinstance(found, Distributed)
    assert found.headline == "2 of 4 ranks are read so far."
    assert (found.read, found.waiting, found.missing, found.look_at) == (2, 2, "", ())
    assert not found.table
    assert not found.findings
    assert not found.steps.waiting
    assert [one.problem for one in found.ranks] == [READ, READ, READING, READING]
    assert [one.device for one in found.ranks] == ["NVIDIA H100", "NVIDIA H100", "", ""]
    assert sentence(half_read(run, 2), RanksQuery()).sentence == found.headline
    assert operations(half_read(run, 2), OperationsQuery()).rows == ()


def test_what_is_there_can_be_compared_and_still_names_nobody(tmp_path: Path) -> None:
    run = subject(write_run(tmp_path / "run", 4, slower_us={1: 500}))
    found = VIEW.build(half_read(run, 1), DistributedQuery(so_far=True))
    assert isinstance(found, Distributed)
    assert found.headline == "3 of 4 ranks are read so far."
    assert found.missing == ""
    assert not any("missing" in note for note in found.notes)
    assert found.look_at == ()
    assert [one.gain_ns for one in found.ranks] == [None] * 4
    assert found.total_wait_ns == 2 * 500 * US


def test_a_rank_that_was_read_since_the_comparison_stands_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = subject(write_run(tmp_path / "run", 4, slower_us={1: 500}))
    whole = run.recordings
    assert isinstance(whole, CatalogRecordings)
    # A comparison is of these digests, so each is opened once, as a server does.
    kept = msgspec.structs.replace(whole, open=functools.cache(whole.open))
    run = msgspec.structs.replace(run, recordings=kept)
    monkeypatch.setattr(compared, "_comparisons", Comparisons(clock=itertools.count().__next__))
    VIEW.build(half_read(run, 2), DistributedQuery(so_far=True))
    found = VIEW.build(half_read(run, 1), DistributedQuery(so_far=True))
    assert isinstance(found, Distributed)
    assert [one.problem for one in found.ranks] == ["", "", READ_LATER, READING]
    assert found.headline == "3 of 4 ranks are read so far."
    assert found.detail.startswith("2 of them are compared here.")
    found = VIEW.build(half_read(run, 0), DistributedQuery(so_far=True))
    assert isinstance(found, Distributed)
    assert found.total_wait_ns == 3 * 500 * US


def test_a_host_is_what_the_recording_says_or_the_name_of_the_worker_never_a_guess() -> None:
    assert node_of("gpu-17_4711") == ("gpu-17", "4711")
    assert node_of("host_4711_rank3") == ("host", "4711")
    assert node_of("node0_rank5") == ("node0", "")
    for name in ("worker0_step_12", "worker3", "rank-0", "trainer_3", "TP-3-DP-0", "gpu_3"):
        assert node_of(name) == ("", "")


def test_a_rank_that_comes_twice_is_told_and_used_once(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", 2)
    (first, *_) = sorted(run.iterdir())
    shutil.copy(first, run / "copy_9.1.pt.trace.json")
    found = answer(run)
    unused = [one for one in found.ranks if not one.used]
    assert len(unused) == 1
    assert "also claimed" in unused[0].problem


def test_one_recording_is_not_available_with_the_reason(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", 1)
    with pytest.raises(UnavailableError, match="one recording"):
        subject(run)
    (file,) = run.iterdir()
    with pytest.raises(UnavailableError, match="opened alone"):
        subject(file)


def test_a_role_is_guessed_and_can_be_said_otherwise(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", 4)
    (group,) = answer(run).groups
    assert group.key == "0-3"
    (group,) = answer(run, roles="0-3=tensor parallel").groups
    assert (group.role, group.why) == ("tensor parallel", "chosen")
    assert answer(run, roles="0-3=tensor parallel").layout.text == "TP 4"
    assert answer(run, roles="4x1=tensor parallel").layout.text == "TP 4"
    with pytest.raises(QueryError):
        answer(run, roles="0-3=emperor")


def test_the_overview_gets_one_sentence_and_the_roles_of_processes(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", 4, slower_us={2: 500}, host="decode")
    said = sentence(subject(run), RanksQuery())
    assert said.sentence == answer(run).headline
    assert (said.ranks, said.waiting, said.roles) == (4, 0, "")
    for file in sorted(run.iterdir())[:2]:
        file.rename(run / file.name.replace("decode", "prefill"))
    assert sentence(subject(run), RanksQuery()).roles in (
        "2 prefill, 2 decode",
        "2 decode, 2 prefill",
    )


def test_logs_of_a_hang_beside_the_traces(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", 2)
    assert not answer(run).logs
    write_dumps(run, "world 1 2|", "world 1")
    assert answer(run).logs
    said = hang(subject(run), HangQuery())
    assert said.sentence == "Rank 1 never entered all_reduce #2 of world."
    assert said.rows[0].missed == "rank 1"


def test_ranks_as_a_key() -> None:
    assert range_text(range(0, 64, 8)) == "0-56:8"
    assert range_text((0, 8, 16)) == "0,8,16"
    assert range_text(tuple(range(8))) == "0-7"


def test_every_table_has_a_value_for_every_column(tmp_path: Path) -> None:
    found = answer(write_run(tmp_path / "run", 3, slower_us={0: 200}))
    for table in VIEW.tables(found):
        assert all(len(row) == len(table.columns) for row in table.rows), table.title


@requires_traces
def test_eight_real_ranks() -> None:
    """The figures that the former plugin's pictures show of this set, as far as it has them."""
    found = answer(TRACES / "dlrm_8rank_v100")
    assert [one.rank for one in found.ranks] == list(range(8))
    assert found.count == 8
    assert found.headline == "Cannot tell which rank is late from 1\u00a0step: record 6 or more."
    assert found.ranks[7].times_last == 5
    assert {one.device for one in found.ranks} == {"Tesla V100-SXM2-32GB"}
    cost = sum(one.cost_ns or 0 for one in found.ranks)
    assert cost == found.total_wait_ns == sum(one.lost_ns or 0 for one in found.ranks)


@requires_traces
def test_two_ranks_of_128_say_what_is_missing() -> None:
    found = answer(TRACES / "hta/trace_filter")
    assert found.world_size == 128
    assert found.missing.startswith("ranks 2–127")
    assert "not available" in found.replay


def test_the_words_of_a_small_message_are_about_latency(tmp_path: Path) -> None:
    """Without a large one in its group, nobody knows how fast its links are."""
    assert _verdict(4096, 0.1, 100.0) == "latency-bound"
    assert _verdict(4096, 80.0, 100.0) == ""
    assert _verdict(1 << 20, 80.0, 100.0) == "bandwidth-bound"
    (row, *_) = answer(write_run(tmp_path / "run", 2)).table
    assert row.verdict == "bandwidth-bound"


@pytest.mark.parametrize(("waited", "is_said"), [([50, 40, 20], False), ([50, 40, 90], True)])
def test_a_tie_is_said_where_most_of_the_wait_counts_so(waited: list[int], is_said: bool) -> None:
    """Of three collectives in which rank 1 was last, another came with it at the third alone."""
    of: Any = SimpleNamespace(
        waiting=SimpleNamespace(last=np.array([1, 1, 1]), tied=np.array([0, 0, 1]))
    )
    rows: Any = SimpleNamespace(waited=np.array(waited), known=np.arange(3))
    said = _ties(of, rows, 1)
    assert ("At 1 of 3 of the collectives" in plain(said)) == is_said
    assert bool(said) == is_said
