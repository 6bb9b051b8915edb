"""The Diff view over a folder: two runs, a worker against a worker, a step against a step."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest

from kinetoscope.base.errors import NotFoundError, QueryError, UnavailableError
from kinetoscope.session.session import FileSession, Wanted, choose
from kinetoscope.trace.read import read
from kinetoscope.views.diff import contract as answers
from kinetoscope.views.diff.view import VIEW, build, flame, pieces, table, tables
from kinetoscope.views.view import Subject
from tests.analysis.diff.training import Plant, side_of, write_training
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
    assert (found.rows[0].name, found.rows[0].status) == ("aten::mm", "slower")
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


def test_modules_that_were_not_recorded_say_how_to(log: Path) -> None:
    found = table(subject(log), answers.DiffTableQuery(base_run="before", group="modules"))
    assert found.rows == ()
    assert "with_stack=True" in found.missing


def test_a_worker_against_a_worker(log: Path) -> None:
    query = answers.DiffTableQuery(base_run="before", base_worker="b")
    rows = table(subject(log, "before"), query).rows
    assert (rows[0].name, rows[0].status) == ("aten::sum", "faster")


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


# --- the alignment of the former plugin -----------------------------------------------------------


@requires_traces
def test_pieces_of_the_tutorial() -> None:
    """The list that the former plugin's `/diffnode` had, each step by itself; sums in µs."""
    from kinetoscope.analysis.diff.pieces import Anchor, MainThread, PieceSide, matched

    def side(name: str) -> MainThread:
        return MainThread(side_of(read(str(next((TRACES / name).glob("*.json*"))))))

    base = side("kineto_tb_samples/resnet50_num_workers_0")
    other = side("kineto_tb_samples/resnet50_num_workers_4")
    rows = matched(base.top, other.top)

    def label(nodes: Sequence[object]) -> str:
        one = nodes[0] if len(nodes) == 1 else None
        return one.name.split("#")[0] if isinstance(one, Anchor) else "between"

    names = [label(left) for left, _ in rows]
    step = ["enumerate(DataLoader)", "between", "Optimizer.zero_grad", "between", "Optimizer.step"]
    assert [name for name in names if name != "between"] == [
        name for name in step if name != "between"
    ] * 6
    total = [
        (PieceSide(tuple(left)).host_ns // 1000, PieceSide(tuple(right)).host_ns // 1000)
        for left, right in rows
        if label(left).startswith("enumerate")
    ]
    assert len(total) == 6
    assert sum(left for left, _ in total) == 415_791
