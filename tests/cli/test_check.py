"""``kinetoscope diff`` and ``kinetoscope check``: what they print, and how they end."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.analysis.diff.training import Plant, write_training

from .runs import run

STEPS = 20
SLOW = Plant(slower={"aten::mm": 1.3})


@pytest.fixture(name="log")
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Recordings of the same code, and of one with a slower operator."""
    monkeypatch.chdir(tmp_path)
    for at, name in enumerate(("base", "same")):
        write_training(tmp_path / name / "w.pt.trace.json", at, STEPS)
    write_training(tmp_path / "slow" / "w.pt.trace.json", 5, STEPS, SLOW)
    write_training(tmp_path / "few" / "w.pt.trace.json", 6, 3)
    return tmp_path


def budget(folder: Path, **lines: object) -> Path:
    path = folder / "budget.json"
    path.write_text(json.dumps(lines))
    return path


def test_a_recording_of_the_same_code_is_ok(log: Path) -> None:
    result = run("check", log / "base", log / "same")
    assert result.exit_code == 0, result.output
    assert "✓ step time" in result.stdout


def test_a_slower_operator_is_named_with_its_amount(log: Path) -> None:
    result = run("check", log / "base", log / "slow", "--junit", log / "report.xml")
    assert result.exit_code == 7, result.output
    assert "✗ step time" in result.stdout
    assert "operator aten::mm: +1" in result.stdout
    assert "kernel gemm2: +1" in result.stdout
    suite = ET.parse(log / "report.xml").getroot()  # noqa: S314  # our own
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert "aten::mm" in (failure.text or "")


def test_too_few_steps_cannot_tell_and_say_what_would_settle_it(log: Path) -> None:
    result = run("check", log / "base", log / "few", "--junit", log / "report.xml")
    assert result.exit_code == 8, result.output
    assert "Record 5 more steps on each side." in result.stdout.replace("\u00a0", " ")
    report = ET.parse(log / "report.xml").getroot()  # noqa: S314  # our own
    assert report.find("testcase/skipped") is not None


def test_counts_operators_and_parts_have_budgets(log: Path) -> None:
    more = Plant(times={"aten::copy_": 2})
    write_training(log / "more" / "w.pt.trace.json", 7, STEPS, more)
    lines = budget(
        log,
        step=0.5,
        counts={"launches": 0},
        operators={"aten::mm": 0.1, "aten::copy_": 0.1},
        parts={"compute_ns": 0.5},
        peak_memory=0.1,
    )
    result = run("check", log / "base", log / "more", "--budget", lines, "--format", "json")
    assert result.exit_code == 7
    cases = {one["name"]: one for one in json.loads(result.stdout)["cases"]}
    assert {name: one["outcome"] for name, one in cases.items()} == {
        "step time": "ok",
        "part compute_ns": "ok",
        "count launches": "worse",
        "operator aten::mm": "ok",
        "operator aten::copy_": "worse",
        "peak memory": "cannot tell",
    }
    assert "1 → 2" in cases["count launches"]["evidence"][0]


def test_a_named_baseline_is_kept_and_grows(log: Path) -> None:
    first = run("check", "main", log / "base", "--keep")
    assert (first.exit_code, len(list((log / "baselines/main").iterdir()))) == (0, 1)
    again = run("check", "main", log / "same", "--keep")
    assert (again.exit_code, len(list((log / "baselines/main").iterdir()))) == (0, 2)
    worse = run("check", "main", log / "slow", "--keep")
    assert (worse.exit_code, len(list((log / "baselines/main").iterdir()))) == (7, 2)
    assert "2 and 1" in worse.stdout  # recordings a side


def test_a_baseline_that_is_not_there(log: Path) -> None:
    result = run("check", "missing", log / "base")
    assert result.exit_code == 4
    assert "no baseline missing" in result.stderr
    assert run("check", "../elsewhere", log / "base", "--keep").exit_code == 4


def test_a_budget_with_an_unknown_line(log: Path) -> None:
    result = run("check", log / "base", log / "same", "--budget", budget(log, stepp=1))
    assert result.exit_code == 2
    assert "stepp" in result.stderr


def test_markdown_of_a_check(log: Path) -> None:
    result = run("check", log / "base", log / "slow", "--format", "markdown")
    assert result.stdout.startswith("**kinetoscope check: worse**")


def test_diff_as_a_table(log: Path) -> None:
    result = run("diff", log / "base", log / "slow")
    assert result.exit_code == 0
    assert "Verdict: worse" in result.stdout
    assert "aten::mm" in result.stdout.split("Operators")[2].splitlines()[2]


def test_diff_as_json_and_as_markdown(log: Path) -> None:
    answer = json.loads(run("diff", log / "base", log / "slow", "--format", "json").stdout)
    assert answer["diff"]["outcome"] == "worse"
    assert sum(one["change_ns"] for one in answer["diff"]["parts"]) == answer["diff"]["change_ns"]
    assert answer["tables"][0]["rows"][0]["name"] == "aten::mm"
    text = run("diff", log / "base", log / "slow", "--format", "markdown").stdout
    assert "Verdict: **worse**" in text
    assert "| `aten::mm` |" in text


def test_diff_of_a_recording_with_itself(log: Path) -> None:
    answer = json.loads(run("diff", log / "base", log / "base", "--format", "json").stdout)
    assert answer["diff"]["outcome"] == "no change"
    assert not any(row["change_ns"] for table in answer["tables"] for row in table["rows"])
    assert {row["status"] for table in answer["tables"] for row in table["rows"]} == {"same"}


def test_names_of_a_trace_move_no_cursor(log: Path) -> None:
    plant = Plant(names={"aten::mm": "evil\u001b[2J|name"})
    write_training(log / "odd" / "w.pt.trace.json", 8, STEPS, plant)
    for form in ("table", "markdown"):
        out = run("diff", log / "base", log / "odd", "--format", form).stdout
        assert "\u001b" not in out
