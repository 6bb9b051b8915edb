"""The sample workflow for continuous integration, with a seeded regression and without.

Its steps *Record* and *Check* are run as they stand, but for the number of steps. Recordings whose
times must differ are drawn; those of the real training differ in what repeats exactly.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.analysis.diff.training import Plant, write_training
from tests.conftest import ROOT

WORKFLOW = ROOT / "samples" / "performance.yml"
STEPS = 24


def script(name: str) -> str:
    """What a step of the workflow runs."""
    text = WORKFLOW.read_text(encoding="utf-8")
    of_step = text.split(f"- name: {name}\n", 1)[1].split("\n      - ", 1)[0]
    found = re.search(r"        run: (?:\|\n((?:          .*\n?)+)|(\S.*))", of_step)
    assert found is not None, f"no step {name} in {WORKFLOW}"
    return textwrap.dedent(found[1] or found[2])


def run(command: str, folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """A step's command, as the runner starts it."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-e", "-c", command],
        cwd=folder, env={**os.environ, **more, "PATH": path},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def run_check(folder: Path, keep: str = "") -> tuple[int, str]:
    """The exit code of the step, and the summary it wrote."""
    summary = folder / "summary.md"
    summary.unlink(missing_ok=True)
    done = run(script("Check"), folder, KEEP=keep, GITHUB_STEP_SUMMARY=str(summary))
    said = summary.read_text(encoding="utf-8") if summary.is_file() else ""
    return done.returncode, said + done.stdout + done.stderr


def test_what_is_installed_can_record() -> None:
    packages = shlex.split(script("Install"))[2:]
    extras = re.findall(r"^([\w-]+) = \[", (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert packages == ["kinetoscope[torch]"]
    assert "torch" in extras


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_a_recorded_training_is_held_against_the_one_before(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="the step Record trains with torch")
    sample = tmp_path / "samples" / "train_cpu.py"
    sample.parent.mkdir()
    shutil.copy(ROOT / "samples" / sample.name, sample)
    (tmp_path / "perf").mkdir()
    # Any time is within this budget: a machine that tests share says nothing of times.
    (tmp_path / "perf" / "budget.json").write_text('{"step": 1000, "counts": {"flops": 0}}')

    def record() -> None:
        shutil.rmtree(tmp_path / "log", ignore_errors=True)  # each job has a new checkout
        command = script("Record")
        assert "--steps 30" in command
        done = run(command.replace("--steps 30", "--steps 4"), tmp_path)
        assert done.returncode == 0, done.stderr

    record()
    assert run_check(tmp_path, "--keep")[0] == 0
    record()
    code, said = run_check(tmp_path)
    assert (code, "count flops" in said) == (0, True), said

    wide = sample.read_text().replace("32, 64,", "32, 80,").replace("64 * 4", "80 * 4")
    sample.write_text(wide)
    record()
    code, said = run_check(tmp_path)
    assert (code, "count flops" in said) == (7, True), said
    assert "aten::conv" in said


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_the_gate_passes_its_own_code_and_stops_a_regression(tmp_path: Path) -> None:
    (tmp_path / "perf").mkdir()
    (tmp_path / "perf" / "budget.json").write_text('{"step": 0.02, "counts": {"launches": 0}}')
    new = tmp_path / "log" / "new" / "w.pt.trace.json"

    write_training(new, 1, STEPS)
    assert run_check(tmp_path, "--keep")[0] == 0  # the first recording of the main branch
    write_training(new, 2, STEPS)
    code, said = run_check(tmp_path)
    assert (code, "kinetoscope check: ok" in said) == (0, True), said

    write_training(new, 3, STEPS, Plant(slower={"aten::mm": 1.4}))
    code, said = run_check(tmp_path)
    assert code == 7, said
    assert "operator aten::mm" in said
    assert "<failure" in (tmp_path / "report.xml").read_text()

    write_training(new, 4, STEPS, Plant(times={"aten::sum": 2}))
    code, said = run_check(tmp_path)
    assert (code, "count launches" in said) == (7, True), said

    write_training(new, 5, 5, sigma=0.1)
    code, said = run_check(tmp_path)
    assert (code, "::warning::" in said) == (0, True), said
