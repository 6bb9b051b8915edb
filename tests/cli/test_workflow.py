"""The GitHub Action and the workflow that uses it, with a seeded regression and without.

The steps of ``action/action.yml`` run as they stand, one by one, with the inputs of
``samples/performance.yml`` and the files that a runner gives. Recordings whose times must differ
are drawn; those of the real training differ in what repeats exactly.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.analysis.diff.training import Plant, write_training
from tests.conftest import ROOT

yaml = pytest.importorskip("yaml", reason="PyYAML reads the action")

ACTION = yaml.safe_load((ROOT / "action" / "action.yml").read_text(encoding="utf-8"))
WORKFLOW = yaml.safe_load((ROOT / "samples" / "performance.yml").read_text(encoding="utf-8"))
SAMPLE = WORKFLOW["jobs"]["check"]["steps"]
USES: Mapping[str, str] = next(one for one in SAMPLE if "kinetoscope/" in one.get("uses", ""))[
    "with"
]
STEPS = 24
needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")


class Ran(NamedTuple):
    """What became of the action's steps."""

    code: int
    outputs: Mapping[str, str]  # of the action
    summary: str
    log: str
    kept: frozenset[str]  # files of the artifact that the action made

    @property
    def outcome(self) -> str:
        return self.outputs.get("outcome", "")


def value_of(text: str, inputs: Mapping[str, str], outcome: str, runner: Path) -> str:
    """A text of the action with its expressions replaced."""
    known = {f"inputs.{name}": value for name, value in inputs.items()}
    known |= {"steps.check.outputs.outcome": outcome, "runner.temp": str(runner)}
    return re.sub(r"\$\{\{ (.*?) \}\}", lambda match: known[match[1]], text)


def holds(condition: str, inputs: Mapping[str, str], outcome: str, *, failed: bool) -> bool:
    """True if a step runs: GitHub's ``if`` as far as the action uses it."""
    parts = condition.split(" && ") if condition else []
    always = "always()" in parts
    for part in parts:
        if part != "always()":
            left, right = part.split(" != ")
            assert right == "''", part
            if not value_of(f"${{{{ {left} }}}}", inputs, outcome, Path()):
                return False
    return always or not failed


def run_action(folder: Path, **inputs: str) -> Ran:
    """Run the steps of the action, with what the sample hands to it and with these inputs."""
    given = {name: str(one.get("default", "")) for name, one in ACTION["inputs"].items()}
    given |= {**USES, "keep": "false", "command": ""} | {
        key.replace("_", "-"): value for key, value in inputs.items()
    }
    assert given.keys() == ACTION["inputs"].keys()
    runner = folder / "runner"
    shutil.rmtree(runner, ignore_errors=True)
    runner.mkdir()
    files = {name: runner / name for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT")}
    for path in files.values():
        path.touch()
    found = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    basis = {**os.environ, **{name: str(one) for name, one in files.items()}}
    basis |= {"RUNNER_TEMP": str(runner), "PATH": found, "GITHUB_WORKSPACE": str(folder)}
    code, outcome, log = 0, "", ""
    outputs: Mapping[str, str] = {}
    kept: frozenset[str] = frozenset()
    for step in ACTION["runs"]["steps"]:
        if not holds(step.get("if", ""), given, outcome, failed=bool(code)):
            continue
        if "uses" in step:
            assert step["uses"].startswith("actions/upload-artifact@")
            made = Path(value_of(step["with"]["path"], given, outcome, runner).split("\n")[0])
            kept = frozenset(one.name for one in made.iterdir())
            continue
        env = {
            name: value_of(one, given, outcome, runner) for name, one in step.get("env", {}).items()
        }
        # A runner starts `shell: bash` like this.
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]],
            cwd=folder, env=basis | env, capture_output=True, text=True, check=False,
        )  # fmt: skip
        code, log = code or done.returncode, log + done.stdout + done.stderr
        text = files["GITHUB_OUTPUT"].read_text(encoding="utf-8")
        outputs = dict(line.split("=", 1) for line in text.splitlines())
        outcome = outputs.get("outcome", "")
    summary = files["GITHUB_STEP_SUMMARY"].read_text(encoding="utf-8")
    assert outputs.keys() <= ACTION["outputs"].keys()
    return Ran(code, outputs, summary, log, kept)


def script(name: str) -> str:
    """What a step of the sample runs."""
    found: Any = next(one for one in SAMPLE if one.get("name") == name)
    return str(found["run"])


def test_the_sample_hands_over_what_the_action_takes() -> None:
    assert USES.keys() <= ACTION["inputs"].keys()
    assert USES["keep"] == "${{ github.ref == 'refs/heads/main' }}"


def test_no_text_of_an_input_becomes_part_of_a_script() -> None:
    assert all("${{" not in step.get("run", "") for step in ACTION["runs"]["steps"])


def test_what_is_installed_can_record() -> None:
    packages = shlex.split(script("Install"))[2:]
    extras = re.findall(r"^([\w-]+) = \[", (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert packages == ["kinetoscope[torch]"]
    assert "torch" in extras


@needs_bash
def test_a_recorded_training_is_held_against_the_one_before(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="the step Record trains with torch")
    sample = tmp_path / "samples" / "train_cpu.py"
    sample.parent.mkdir()
    shutil.copy(ROOT / "samples" / sample.name, sample)
    (tmp_path / "perf").mkdir()
    # Any time is within this budget: a machine that tests share says nothing of times.
    (tmp_path / "perf" / "budget.json").write_text('{"step": 1000, "counts": {"flops": 0}}')

    command = USES["command"]
    assert "--steps 30" in command

    def recorded(keep: str) -> Ran:
        shutil.rmtree(tmp_path / "log", ignore_errors=True)  # each job has a new checkout
        steps = command.replace("--steps 30", "--steps 4")
        return run_action(tmp_path, command=steps, keep=keep, artifact="")

    assert recorded("true").code == 0
    same = recorded("false")
    assert (same.code, "count flops" in same.summary) == (0, True), same

    wide = sample.read_text().replace("32, 64,", "32, 80,").replace("64 * 4", "80 * 4")
    sample.write_text(wide)
    worse = recorded("false")
    assert (worse.code, worse.outcome) == (7, "worse"), worse
    assert "count flops" in worse.summary
    assert "aten::conv" in worse.summary
    assert "::error file=samples/train_cpu.py,line=" in worse.log
    assert worse.outputs["headline"].endswith(".")


@needs_bash
def test_a_training_that_fails_fails_the_job(tmp_path: Path) -> None:
    ran = run_action(tmp_path, command="false | cat; echo on")
    assert (ran.code, ran.outputs, "on" in ran.log, ran.kept) == (1, {}, False, frozenset())


@needs_bash
def test_the_gate_passes_its_own_code_and_stops_a_regression(tmp_path: Path) -> None:
    (tmp_path / "perf").mkdir()
    (tmp_path / "perf" / "budget.json").write_text('{"step": 0.02, "counts": {"launches": 0}}')
    new = tmp_path / "log" / "new" / "w.pt.trace.json"

    write_training(new, 1, STEPS)
    first = run_action(
        tmp_path, package="kinetoscope", keep="true"
    )  # the first recording of the main branch
    assert (first.code, first.outcome) == (0, "ok"), first
    assert "Requirement already satisfied: kinetoscope" in first.log
    assert first.outputs["headline"].startswith("There is no baseline main yet")
    write_training(new, 2, STEPS)
    same = run_action(tmp_path, artifact="")
    assert (same.code, same.outcome, "kinetoscope check: ok" in same.summary) == (0, "ok", True), (
        same
    )

    write_training(new, 3, STEPS, Plant(slower={"aten::mm": 1.4}))
    worse = run_action(tmp_path)
    assert (worse.code, worse.outcome) == (7, "worse"), worse
    assert "operator aten::mm" in worse.summary
    assert "::error::" in worse.log
    assert "<failure" in (tmp_path / "runner" / "performance" / "check.xml").read_text()
    files = {"check.md", "check.xml"}
    assert worse.kept == (files | {"report.html"} if has_page() else files)

    write_training(new, 4, STEPS, Plant(times={"aten::sum": 2}))
    more = run_action(tmp_path, artifact="")
    assert (more.code, "count launches" in more.summary, more.kept) == (7, True, frozenset()), more

    write_training(new, 5, 5, sigma=0.1)
    unsure = run_action(tmp_path, artifact="")
    assert (unsure.code, unsure.outcome, "::warning::" in unsure.log) == (0, "cannot tell", True)
    assert run_action(tmp_path, artifact="", cannot_tell="fail").code == 8


@needs_bash
def test_a_recording_that_is_no_trace_has_no_outcome(tmp_path: Path) -> None:
    (tmp_path / "perf").mkdir()
    (tmp_path / "perf" / "budget.json").write_text("{}")
    ran = run_action(tmp_path)
    assert (ran.code, ran.outputs, ran.kept) == (4, {}, frozenset()), ran


def has_page() -> bool:
    """True if the page was built: without it there is no report."""
    return (ROOT / "tb_plugin" / "static" / "report").is_dir()
