"""``kinetoscope explain PATH OTHER``: what changed, with the figures of the Diff view."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.runs import run
from tests.drawing import draw_at

# y takes 2 µs of a step, then 4 µs; x stays; z is gone.
BEFORE = """
    step |1111111111222222222233333333334444444444|
    op   |xxyy z    xxyy z    xxyy z    xxyy z    |
    """
AFTER = BEFORE.replace("yy z", "yyyy")
NAMES = {"x": "aten::x", "y": "aten::y", "z": "aten::z"}


@pytest.fixture
def pair(tmp_path: Path) -> tuple[str, str]:
    paths = []
    for name, picture in (("a", BEFORE), ("b", AFTER)):
        path = tmp_path / name / "worker0.1700000000000.pt.trace.json"
        path.parent.mkdir()
        draw_at(path, picture, names=NAMES)
        paths.append(str(path))
    return paths[0], paths[1]


def test_the_changes_are_those_of_the_diff(pair: tuple[str, str]) -> None:
    told = json.loads(run("explain", *pair, "--format", "json").stdout)
    diff = json.loads(run("diff", *pair, "--format", "json").stdout)["diff"]
    assert (told["outcome"], told["headline"]) == (diff["outcome"], diff["headline"])
    assert (told["base"]["mean_ns"], told["base"]["step_count"]) == (10_000, 4)
    changed = told["changed"]
    rows = [dict(zip(changed["columns"], row, strict=True)) for row in changed["rows"]]
    by_name = {one["name"]: one for one in rows}
    assert by_name["aten::y"]["base_ns_per_step"] == 2_000
    assert by_name["aten::y"]["other_ns_per_step"] == 4_000
    assert by_name["aten::z"]["change_ns_per_step"] == -1_000
    assert "aten::x" not in by_name
    parts = sum(row[told["parts"]["columns"].index("base_ns")] for row in told["parts"]["rows"])
    assert parts == told["base"]["mean_ns"]


def test_the_text_says_the_verdict_and_both_sides(pair: tuple[str, str]) -> None:
    shown = run("explain", *pair).stdout
    assert "Verdict: " in shown
    assert "4 steps: mean 10.0 µs" in shown
    (row,) = [line.split() for line in shown.split("\n") if "aten::y" in line]
    assert row[:4] == ["operators", "aten::y", "1.00", "1.00"]


@pytest.mark.parametrize(("most", "fits"), [(4_000, True), (1_500, True), (200, False)])
def test_it_has_at_most_so_many_bytes(pair: tuple[str, str], most: int, fits: bool) -> None:
    shown = run("explain", *pair, "--format", "json", "--max-bytes", str(most))
    assert (shown.exit_code == 0) is fits
    assert len(shown.stdout.encode()) <= most
    if fits:
        assert bool(json.loads(shown.stdout)["left_out"]) is (most < 1_600)


def test_what_concerns_one_recording_is_refused(pair: tuple[str, str]) -> None:
    for option in (("--id", "slice/1"), ("--section", "step"), ("--device", "0")):
        refused = run("explain", *pair, *option)
        assert (refused.exit_code, "of one recording" in refused.stderr) == (2, True)


def test_tables_for_other_programs(pair: tuple[str, str]) -> None:
    shown = run("explain", *pair, "--format", "csv").stdout
    assert "# changed" in shown
    assert "operators,aten::y,1.0,1.0,2000,4000,2000," in shown
