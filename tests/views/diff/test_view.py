"""The Diff view over a folder: two runs, a worker against a worker, a step against a step."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from kinetoscope.base.errors import NotFoundError, QueryError, UnavailableError
from kinetoscope.session.session import FileSession, Wanted, choose
from kinetoscope.views.diff import contract as answers
from kinetoscope.views.diff.rows import columns_of
from kinetoscope.views.diff.view import VIEW, build, flame, marks, pieces, table, tables
from kinetoscope.views.view import Subject
from tests.analysis.diff.training import Plant, write_training
from tests.conftest import TRACES, requires_traces

STEPS = 12


@pytest.fixture(name="log", scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    log = tmp_path_factory.mktemp("log")
    write_training(log / "before" / "a.pt.trace.json", 1, STEPS)
    write_training(log / "before" / "b.pt.trace.json", 2, STEPS, Plant(slower={"aten::sum": 8}))
    after = Plant(slower={"aten::mm": 1.3}, names={"aten::relu": "mine::relu"})
    write_training(log / "after" / "a.pt.trace.json", 3, STEPS, after)
    return log


def subject(log: Path, run: str = "after", worker: str = "a") -> Subject:
    return choose(str(log), Wanted(run=run, worker=worker)).session().subject(VIEW)


def test_a_run_against_another(log: Path) -> None:
    answer = build(subject(log), answers.DiffQuery(base_run="before"))
    assert answer.outcome == "worse"
    assert answer.headline.endswith("more of compute.")
    assert sum(part.change_ns for part in answer.parts) == answer.change_ns
    assert (answer.base.run, answer.other.run) == ("before", "after")
    assert {part.key for part in answer.parts if part.is_real} == {"compute_ns"}
    compute = next(part for part in answer.parts if part.key == "compute_ns")
    assert "-" in compute.door.base_at
    assert "-" in compute.door.other_at
    text = msgspec.json.encode(answer)
    assert msgspec.json.decode(text, type=answers.Diff) == answer
    assert [len(one.rows) for one in tables(answer)] == [len(answer.parts), len(answer.counts)]


def test_the_table_by_operator_and_by_kernel(log: Path) -> None:
    one = subject(log)
    found = table(one, answers.DiffTableQuery(base_run="before"))
    assert (found.rows[0].name, found.rows[0].status) == ("aten::mm", "differs")
    renamed = next(row for row in found.rows if row.relation == "renamed")
    assert (renamed.name, renamed.other_name) == ("aten::relu", "mine::relu")
    kernels = table(one, answers.DiffTableQuery(base_run="before", group="kernels"))
    assert kernels.rows[0].name == "gemm2"
    assert kernels.rows[0].by_calls_ns + kernels.rows[0].by_speed_ns == pytest.approx(
        kernels.rows[0].change_ns
    )
    some = answers.DiffTableQuery(base_run="before", search="MM", sort_by="name", ascending=True)
    assert [row.name for row in table(one, some).rows] == ["aten::mm"]
    window = answers.DiffTableQuery(base_run="before", offset=2, limit=1)
    assert (len(table(one, window).rows), table(one, window).count) == (1, found.count)


def test_rows_are_sorted_by_any_column(log: Path) -> None:
    def sorted_by(key: str, *, ascending: bool = False) -> list[answers.DiffRow]:
        query = answers.DiffTableQuery(base_run="before", sort_by=key, ascending=ascending)
        found = table(subject(log), query)
        assert found.sort_by == key
        return list(found.rows)

    changes = [row.change_ns for row in sorted_by("change_ns")]
    assert changes == sorted(changes, key=abs, reverse=True)
    assert changes != sorted(changes, reverse=True), "a fall counts by its size"
    by_p = [row.p for row in sorted_by("p", ascending=True)]
    known = [p for p in by_p if p is not None]
    assert known == sorted(known)
    assert by_p == known + [None] * (len(by_p) - len(known))
    with pytest.raises(QueryError, match="no column"):
        sorted_by("change")


def test_columns_follow_the_group_and_the_metric(log: Path) -> None:
    def heads_of(
        group: answers.DiffGroup, metric: answers.DiffMetric
    ) -> dict[str, tuple[str, str]]:
        query = answers.DiffTableQuery(base_run="before", group=group, metric=metric)
        return {one.key: (one.label, one.unit) for one in columns_of(query)}

    ops = heads_of("operators", "self_ns")
    assert (ops["name"][0], ops["base_ns"]) == ("Operator", ("A", "ns"))
    assert ops["by_speed_ns"] == ("By speed", "ns")
    assert "base_kernel" not in ops
    assert "base_kernel" in heads_of("kernels", "device_self_ns")
    memory = heads_of("memory", "bytes")
    assert (memory["name"][0], memory["base_ns"]) == ("Allocation site", ("A", "bytes"))
    assert memory["by_speed_ns"] == ("By size", "bytes")
    assert {"by_speed_ns", "by_calls_ns"}.isdisjoint(heads_of("memory", "peak_bytes"))


def test_modules_that_were_not_recorded_say_how_to(log: Path) -> None:
    found = table(subject(log), answers.DiffTableQuery(base_run="before", group="modules"))
    assert found.rows == ()
    assert "with_stack=True" in found.missing


def test_a_worker_against_a_worker(log: Path) -> None:
    query = answers.DiffTableQuery(base_run="before", base_worker="b")
    rows = table(subject(log, "before"), query).rows
    assert (rows[0].name, rows[0].status) == ("aten::sum", "differs")


def test_a_step_against_a_step(log: Path) -> None:
    query = answers.DiffQuery(base_run="after", steps="3", base_steps="4")
    answer = build(subject(log), query)
    assert (answer.base.step_count, answer.other.step_count) == (1, 1)
    assert answer.outcome == "cannot tell"
    same = build(subject(log), answers.DiffQuery(base_run="after", steps="3", base_steps="3"))
    assert (same.outcome, same.change_ns) == ("no change", 0)


def test_pieces_and_what_is_inside(log: Path) -> None:
    found = pieces(subject(log), answers.PiecesQuery(base_run="before"))
    assert [piece.name for piece in found.pieces] == ["DataLoader", "after DataLoader"]
    after = found.pieces[1]
    inside = pieces(subject(log), answers.PiecesQuery(base_run="before", path=after.path))
    assert inside.trail == ("after DataLoader",)
    assert inside.rows[0].name == "aten::mm"
    assert inside.pieces == ()
    with pytest.raises(QueryError, match="no such piece"):
        pieces(subject(log), answers.PiecesQuery(base_run="before", path="0-9"))
    with pytest.raises(QueryError, match="no such piece"):
        pieces(subject(log), answers.PiecesQuery(base_run="before", path="x"))


@pytest.mark.parametrize("chosen", ["0-3", "0-4", "0-9"])
def test_pieces_are_per_step_whatever_the_number_of_steps(log: Path, chosen: str) -> None:
    """Steps that the other side does not have are no difference, and none is lost."""
    own = subject(log, "before")

    def asked(steps: str, base_steps: str) -> answers.Pieces:
        query = answers.PiecesQuery(
            base_run="before", base_worker="a", steps=steps, base_steps=base_steps
        )
        return pieces(own, query)

    same, found = asked(chosen, chosen), asked(chosen, "0-5")
    back = asked("0-5", chosen)
    names = [piece.name for piece in same.pieces]
    for one in (found, back):
        assert [piece.name for piece in one.pieces] == names
    assert [piece.other_ns for piece in found.pieces] == [piece.base_ns for piece in same.pieces]
    assert [piece.base_ns for piece in back.pieces] == [piece.base_ns for piece in same.pieces]
    assert [(one.base_ns, one.other_ns) for one in back.pieces] == [
        (one.other_ns, one.base_ns) for one in found.pieces
    ]


@pytest.mark.parametrize("metric", ["host", "device", "calls"])
def test_the_flame_graph_of_both(log: Path, metric: str) -> None:
    query = answers.DiffFlameQuery(base_run="before", metric=metric, min_ratio=0)  # type: ignore[arg-type]
    found = flame(subject(log), query)
    roots = [box for box in found.boxes if box.parent < 0]
    assert sum(box.base for box in roots) == pytest.approx(found.base_total)
    assert sum(box.other for box in roots) == pytest.approx(found.other_total)
    assert all(box.parent < box.node for box in found.boxes)
    names = {box.name: (box.base, box.other) for box in found.boxes}
    assert names["mine::relu"][0] == 0
    assert names["aten::relu"][1] == 0


def test_a_base_that_is_not_named_or_not_there(log: Path) -> None:
    with pytest.raises(QueryError, match="base_run"):
        build(subject(log), answers.DiffQuery())
    with pytest.raises(NotFoundError):
        build(subject(log), answers.DiffQuery(base_run="../../etc"))
    with pytest.raises(QueryError, match="no step"):
        build(subject(log), answers.DiffQuery(base_run="before", base_steps="99"))


def test_a_file_alone_says_how_to_compare(log: Path) -> None:
    session = FileSession(str(log / "after" / "a.pt.trace.json"))
    with pytest.raises(UnavailableError, match="opened alone"):
        session.asked(VIEW)


def test_where_two_timelines_can_begin_together(log: Path) -> None:
    """The steps of both, as the address names them, and the ranges that both have in them."""
    found = marks(subject(log), answers.DiffQuery(base_run="before", steps="3-5"))
    assert [step.name for step in found.base] == [str(number) for number in range(STEPS)]
    assert [step.name for step in found.other] == ["3", "4", "5"]
    assert found.phases == ("DataLoader",)
    step = found.other[0]
    (loader,) = step.phases
    assert step.start <= loader.start < loader.end <= step.end


def test_recordings_without_steps_begin_together_as_a_whole(tmp_path: Path) -> None:
    for run in ("one", "two"):
        path = tmp_path / run / "a.pt.trace.json"
        path.parent.mkdir()
        event = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1}
        path.write_text(json.dumps({"traceEvents": [{**event, "ts": 10, "dur": 50}]}))
    found = marks(subject(tmp_path, "two"), answers.DiffQuery(base_run="one"))
    assert [step.name for step in (*found.base, *found.other)] == ["", ""]
    assert found.phases == ()


def test_allocations_that_were_not_recorded_say_how_to(log: Path) -> None:
    found = table(subject(log), answers.DiffTableQuery(base_run="before", group="memory"))
    assert found.rows == ()
    assert "profile_memory=True" in found.missing


@requires_traces
def test_what_is_held_at_the_peak_needs_addresses() -> None:
    """Torch 1.9 recorded sizes alone: by operator, per step, and no guess at the peak."""
    one = subject(TRACES / "kineto_tb_samples", "resnet50_num_workers_4", "worker0")
    query = answers.DiffTableQuery(base_run="resnet50_num_workers_0", group="memory")
    found = table(one, query)
    assert found.metrics == ("bytes",)
    assert "V100" in found.device
    workspace = "aten::cudnn_convolution_backward_input (aten::empty)"
    row = next(row for row in found.rows if row.name == workspace)
    assert (row.base_calls, row.other_calls, row.status) == (25, 22, "fewer calls")
    held = table(one, msgspec.structs.replace(query, metric="peak_bytes"))
    assert held.rows == ()
    assert "Addresses were not recorded" in held.missing


@requires_traces
def test_other_devices_are_compared_by_role() -> None:
    one = subject(TRACES / "tracelens", "mi300", "Qwen_Qwen1.5-0.5B-Chat__1016005")
    found = table(one, answers.DiffTableQuery(base_run="h100", group="kernels"))
    assert found.kernels_by == "role"
    assert {row.short for row in found.rows} == {""}  # a role is no name in C++
    assert found.rows[0].name == "gemm · aten::mm"
    assert found.rows[0].base_kernel.startswith("sm90")
    named = answers.DiffTableQuery(base_run="h100", group="kernels", kernels_by="name")
    by_name = table(one, named)
    assert by_name.kernels_by == "name"
    shorter = [row for row in by_name.rows if len(row.short) < len(row.name)]
    assert len(shorter) > len(by_name.rows) / 2
    assert len({row.short for row in by_name.rows}) == len(by_name.rows)
