"""The sample workflow for continuous integration, with a seeded regression and without.

Its step *Check* is run as it stands; what a training would record is drawn.
"""

from __future__ import annotations

import os
import re
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
    found = re.search(r"        run: \|\n((?:          .*\n?)+)", of_step)
    assert found is not None, f"no step {name} in {WORKFLOW}"
    return textwrap.dedent(found[1])


def run_check(folder: Path, keep: str = "") -> tuple[int, str]:
    """The exit code of the step, and the summary it wrote."""
    summary = folder / "summary.md"
    summary.unlink(missing_ok=True)
    environment = {
        **os.environ,
        "KEEP": keep,
        "GITHUB_STEP_SUMMARY": str(summary),
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }
    done = subprocess.run(
        ["bash", "-e", "-c", script("Check")],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip
    said = summary.read_text(encoding="utf-8") if summary.is_file() else ""
    return done.returncode, said + done.stdout + done.stderr


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

    write_training(new, 3, STEPS, Plant(slower={"aten::mm": 1.25}))
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
