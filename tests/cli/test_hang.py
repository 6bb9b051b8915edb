"""`kinetoscope hang`: which rank never entered which collective."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.runs import run
from tests.trace.pickles.drawn_logs import inspected, write_dumps


@pytest.fixture(name="dumps")
def _dumps(tmp_path: Path) -> Path:
    lines = ("world 1 2|", "world 1", "world 1 2|")
    return write_dumps(tmp_path / "dumps", *lines)


def test_the_answer_comes_first_and_then_every_rank(dumps: Path) -> None:
    result = run("hang", dumps)
    assert result.exit_code == 0
    assert result.stdout.startswith("Rank 1 never entered all_reduce #2 of world.\n")
    assert "/job/train.py:42 step" in result.stdout
    assert "nccl_trace_rank_2" in result.stdout


def test_a_program_gets_json_and_an_exit_code(dumps: Path) -> None:
    result = run("hang", dumps, "--format", "json", "--exit-code")
    assert result.exit_code == 7
    (stuck,) = json.loads(result.stdout)["stuck"]
    assert (stuck["missed"], stuck["waiting"], stuck["sequence"]) == ([1], [0, 2], 2)


def test_the_speed_of_collectives_that_the_inspector_measured(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(inspected(0, 2, 4))
    text = run("hang", tmp_path).stdout
    row = next(line for line in text.splitlines() if line.startswith("all_reduce "))
    assert row.split() == ["all_reduce", "1.000", "4", "100.0", "100.0", "18.4"]
    assert "(MiB)" in next(line for line in text.splitlines() if line.startswith("Operation "))


def test_a_rank_with_a_part_of_its_log_is_named_in_the_table(tmp_path: Path) -> None:
    for rank, ended in enumerate((3, 5, 2)):
        text = inspected(rank, 3, ended)
        (tmp_path / f"{rank}.log").write_text(text if rank else text[:-40])
    result = run("hang", tmp_path, "--format", "csv")
    lines = result.stdout.splitlines()
    head = next(line for line in lines if "Missed" in line or "missed" in line).split(",")
    row = next(line for line in lines if "not ended" in line).split(",")
    told = dict(zip(head, row, strict=False))
    assert (told["missed"], told["part_of_log"]) == ("2", "0")


def test_a_file_that_is_no_log_is_named_and_the_others_count(dumps: Path) -> None:
    (dumps / "other_4").write_bytes(b"\x80\x02entries")
    result = run("hang", dumps)
    assert result.stdout.startswith("Rank 1 never entered")
    assert "other_4" in result.stderr


def test_a_folder_without_logs_says_how_to_get_them(tmp_path: Path) -> None:
    result = run("hang", tmp_path)
    assert result.exit_code != 0
