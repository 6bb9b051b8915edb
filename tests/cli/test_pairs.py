"""Diff and check of folders: which worker is held against which, and what is said of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from kinetoscope.cli.render import TableLayout
from kinetoscope.cli.show import SCREEN, _on_a_screen
from kinetoscope.views.table import Column, Table
from tests.cli.runs import run
from tests.web.trace_files import write_trace


def write_run(folder: Path, workers: Sequence[str]) -> Path:
    for worker in workers:
        write_trace(folder / f"{worker}.1700000000000.pt.trace.json")
    return folder


@pytest.mark.parametrize(
    ("base", "other", "options", "said"),
    [
        (("a_1", "b_2"), ("b_2",), (), "worker b_2 is the base of b_2: they have the same name"),
        (
            ("a_1_rank0", "b_2_rank1"),
            ("a_7_rank0", "b_8_rank1"),
            ("--worker", "b_8_rank1"),
            "worker b_2_rank1 is the base of b_8_rank1: both are rank 1",
        ),
        (("a_1", "b_2"), ("c_3",), (), "worker a_1 is the base of c_3: none has the same name"),
        (("a_1", "b_2"), ("c_3",), ("--base-worker", "b_2"), ""),
        (("a_1",), ("c_3",), (), ""),
    ],
    ids=["name", "rank", "neither", "chosen", "alone"],
)
@pytest.mark.parametrize("command", ["diff", "check"])
def test_workers_are_paired_by_name_or_rank(
    tmp_path: Path,
    command: str,
    base: Sequence[str],
    other: Sequence[str],
    options: Sequence[str],
    said: str,
) -> None:
    first, second = write_run(tmp_path / "a", base), write_run(tmp_path / "b", other)
    result = run(command, first, second, *options)
    assert result.exit_code in {0, 8}, result.stderr
    assert said in result.stderr
    assert ("is the base of" in result.stderr) == bool(said)


def test_a_worker_that_is_not_there_is_told(tmp_path: Path) -> None:
    first, second = write_run(tmp_path / "a", ["a_1"]), write_run(tmp_path / "b", ["b_2"])
    assert run("diff", first, second, "--base-worker", "b_2").exit_code == 4
    assert run("diff", first, second, "--base-worker", "a_1", "--worker", "b_2").exit_code == 0


def lines(count: int, title: str = "Ranks") -> Table:
    return Table(title, (Column("rank", "Rank"),), tuple((at,) for at in range(count)))


@pytest.mark.parametrize(
    ("rows", "limit", "shown", "left"),
    [
        (SCREEN, None, [SCREEN, SCREEN, 3], 0),
        (SCREEN + 1, None, [20, 3], 1),
        (1024, None, [20, 3], 1),
        (1024, 30, [30, 30, 3], 0),
    ],
    ids=["fits", "one more", "many", "limit"],
)
def test_a_long_answer_is_a_screen_of_its_first_rows(
    rows: int, limit: int | None, shown: list[int], left: int
) -> None:
    tables = (lines(rows), lines(rows, "Steps"), lines(3, "Nodes"))
    found, named = _on_a_screen(tables, TableLayout(), limit)
    assert [len(table.rows) for table in found] == shown
    assert named == [f"Steps ({rows:,} rows, --table 2)"] * left
    assert found[0].row_count in {None, rows}
