"""The forty questions: answers agree with brute force, and the harness tells right from wrong."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from benchmarks.ask import run, truth


def test_there_are_forty_questions_ten_of_which_cannot_be_answered() -> None:
    found = run.questions()
    assert [one["id"] for one in found] == list(range(1, 41))
    assert sum(one["kind"] == "cannot" for one in found) == 10
    for one in found:
        assert (one["kind"] == "cannot") == (one["answer"] is None) == bool(one["needs"])


def test_every_answer_is_that_of_brute_force(capsys: pytest.CaptureFixture[str]) -> None:
    assert run.check_truths() == 0, capsys.readouterr().out


def test_unions_and_what_is_in_both(tmp_path: Path) -> None:
    made = [("a", 0, 3), ("a", 2, 3), ("b", 4, 4), ("a", 10, 1)]
    events = [
        {"ph": "X", "cat": "kernel", "name": name, "ts": ts * 1000, "dur": dur * 1000}
        for name, ts, dur in made
    ]
    path = str(tmp_path / "x.json")
    Path(path).write_text(json.dumps({"traceEvents": events}))
    a, b = {"name": "a"}, {"name": "b"}
    assert truth.total(path, a) == 7
    assert truth.union(path, a) == 6
    assert truth.minus(path, a, b) == 5
    assert truth.overlap(path, a, b) == 1
    assert truth.largest(path, {"cat": "kernel"}) == "a"


@pytest.mark.parametrize(
    ("text", "is_right"),
    [("428.7 ms", True), ("0.4287 s", True), ("428700000", True), ("400 ms", False), ("", False)],
)
def test_a_number_counts_within_its_tolerance(text: str, is_right: bool) -> None:
    assert run.holds(run.questions()[0], text) is is_right


def test_answers_of_an_agent_are_scored(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    some = [one for one in run.questions() if one["id"] in (1, 2, 31, 32)]
    monkeypatch.setattr(run, "questions", lambda: some)
    run.lay(tmp_path / "given")
    listed = json.loads((tmp_path / "given" / "questions.json").read_text())
    assert all("answer" not in one and "truth" not in one for one in listed)
    subprocess.run([tmp_path / "given" / "bin" / "kinetoscope", "--version"], check=True)
    answers = {"1": "428.7 ms", "2": "1 ms", "31": "12 ms", "32": "cannot tell: record stacks"}
    (tmp_path / "given" / "answers.json").write_text(json.dumps(answers))
    capsys.readouterr()
    run.score(tmp_path / "given")
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("1 right, 1 wrong, 1 refused, 1 invented ; 1 calls, ")
