"""Does the advice find planted problems, and is a repair worth no more than the stated ceiling?

    python -m benchmarks.planted [FOLDER [PROBLEM …]]

Each training of ``tests/planted`` is recorded with its problem: with stacks and without, three
steps and eight. Eight steps are recorded without the problem, too. Recordings that FOLDER already
has are judged again. Printed, for each recording: the verdict, the first finding, its ceiling, and
what the repair gains.

* right: the first finding is the planted problem and names its function
* wrong: it is another one of medium or high severity
* silent: no finding is of medium or high severity, although the recording shows the problem
* false alarm: a finding of medium or high severity, and nothing is planted

A gain is the difference of the cheapest steps. Where the problem is work, steps count by the CPU
time of the main thread, which other programs do not lengthen; where it is waiting, by the clock.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import kinetoscope
from tests.planted.habits import HEALTHY
from tests.planted.held_out import HELD_OUT
from tests.planted.training import FOUND, OTHERWISE, REPAIRED, UNSEEN

ROOT = Path(__file__).resolve().parent.parent
NOISE_RATIO = 1.1
KEEPS_MEMORY = dict.fromkeys(("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"), "4000000000")
"""glibc gives large buffers back to the kernel, and ops that then ask for one fetch its pages anew.

How often that happens changes with each large tensor that a repair leaves out, in any other op.
"""
WAITS = ("slow_loader", "lock", "threads", "respawning", "too_many_workers")
"""Problems in which the main thread waits: for a disk, a lock, other threads or processes."""
OF_THE_MACHINE = "HS1"
"""What other programs on this machine do to a training: nothing is planted, and it is true."""
WAYS = {
    "stacks-3": ("3",),
    "stacks-8": ("8",),
    "plain-3": ("3", "plain"),
    "plain-8": ("8", "plain"),
}
LONG = ("stacks-8", "plain-8")


class Recorded(NamedTuple):
    """One recorded training; ``cpu_ns``: of the main thread, in its cheapest step."""

    trace: Any
    advice: Any
    cpu_ns: float

    def fastest(self) -> Any:  # noqa: ANN401  # the document on one step
        """The advice on the fastest step."""
        each = (self.trace.advice(steps=str(step)) for step in self.advice.scope.steps)
        return min(each, key=lambda one: one.scope.mean_step_ns)

    @property
    def first(self) -> Any:  # noqa: ANN401  # a finding of the document, or None
        """The first finding, apart from those of the machine."""
        return next((one for one in self.advice.findings if one.id != OF_THE_MACHINE), None)

    @property
    def loud(self) -> list[Any]:
        """Findings of medium and high severity, apart from those of the machine."""
        return [
            one
            for one in self.advice.findings
            if one.severity in ("high", "medium") and one.id != OF_THE_MACHINE
        ]


class Recorder:
    """Records trainings that a folder lacks, in one process that has torch once for all."""

    def __init__(self, folder: Path, wanted: Sequence[tuple[str, str]]) -> None:
        self.folder = folder
        lacking = [one for one in wanted if not self.note(*one).is_file()]
        folder.mkdir(parents=True, exist_ok=True)
        self.ahead = subprocess.Popen(
            [sys.executable, "-m", "tests.planted.training"],
            cwd=ROOT, text=True, env={**os.environ, **KEEPS_MEMORY},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=(folder / "stderr.txt").open("w"),
        )  # fmt: skip
        assert self.ahead.stdin is not None
        for name, way in lacking:
            self.ahead.stdin.write(f"{name} {' '.join(WAYS[way])} {self.place(name, way)}\n")
        self.ahead.stdin.close()

    def place(self, name: str, way: str) -> Path:
        return self.folder / way / name

    def note(self, name: str, way: str) -> Path:
        return self.place(name, way) / "cpu_seconds.json"

    def recorded(self, name: str, way: str) -> Recorded:
        """One training; waits until it is recorded."""
        note = self.note(name, way)
        while not note.is_file():
            assert self.ahead.stdout is not None
            line = self.ahead.stdout.readline()
            if not line:
                raise SystemExit(f"{name} was not recorded: see {self.folder / 'stderr.txt'}")
            if line.startswith("{"):
                place = Path(json.loads(line)["trace"]).parent
                (place / note.name).write_text(line, encoding="utf-8")
        told = json.loads(note.read_text(encoding="utf-8"))
        trace = kinetoscope.open(told["trace"])
        return Recorded(trace, trace.advice(), told["cpu_seconds"] * 1e9)


def verdict(problem: str, way: str, one: Recorded) -> str:  # noqa: PLR0911  # one line a case
    """What the first finding is worth."""
    stacks, steps = way.startswith("stacks"), int(way[-1])
    if problem in HELD_OUT:
        return verdict_held_out(problem, way, one)
    if problem not in FOUND:  # a healthy one
        return "false alarm" if one.loud else "right"
    rule, frame = FOUND[problem]
    rule = rule if stacks else OTHERWISE.get(problem, rule)
    first = one.first
    if problem in UNSEEN and not stacks and (first is None or first.id != rule):
        return "wrong" if one.loud else "right"
    if problem == "too_many_workers" and first is not None and "more workers" in first.text:
        return "wrong"
    if first is not None and first.id == rule and (not stacks or first.frame.endswith(frame)):
        return "right"
    if rule == "ME3" and steps < 4 and not one.loud:
        return "right"  # it takes four steps to tell that memory grows, and the advice says so
    return "wrong" if one.loud else "silent"


def verdict_held_out(problem: str, way: str, one: Recorded) -> str:
    """The same for a training that no rule was made with: several rules may come first."""
    case, stacks, steps = HELD_OUT[problem], way.startswith("stacks"), int(way[-1])
    if not case.rules:
        return "false alarm" if one.loud else "right"
    rules = case.rules if stacks else case.plain
    first = one.first
    if first is not None and first.id in rules:
        return "right" if not stacks or first.frame.endswith(case.frame) else "wrong"
    is_unseen = not rules or ("ME3" in rules and steps < 4)
    return "wrong" if one.loud else "right" if is_unseen else "silent"


def gained(problem: str, way: str, one: Recorded, recorder: Recorder) -> tuple[float, float]:
    """What removing the problem gains, in ns of a step, and the ceiling that was said."""
    without = recorder.recorded(problem + REPAIRED, way)
    if problem not in WAITS:
        return one.cpu_ns - without.cpu_ns, one.first.gain.ns_per_step
    fastest = one.fastest()
    gain = next((found.gain for found in fastest.findings if found.id == one.first.id), None)
    won = fastest.scope.mean_step_ns - without.fastest().scope.mean_step_ns
    return won, gain.ns_per_step if gain is not None else one.first.gain.ns_per_step


class Row(NamedTuple):
    """A judged recording; ``ceiling_ns`` and ``gain_ns`` are 0 where there is none."""

    problem: str
    way: str
    verdict: str
    first: str
    step_ns: float
    ceiling_ns: float
    gain_ns: float

    @property
    def is_above(self) -> bool:
        """True if the gain is above the ceiling, beyond noise."""
        return self.gain_ns > NOISE_RATIO * self.ceiling_ns

    def __str__(self) -> str:
        numbers = (f"{ns / 1e6:.1f}" if ns else "–" for ns in self[4:])
        return f"| {' | '.join((*self[:4], *numbers))}{' above' if self.is_above else ''} |"


def wanted(problems: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The recordings to make, in the order in which they are judged."""
    for problem in problems:
        for way in WAYS:
            yield problem, way
            if problem in FOUND and way in LONG:
                yield problem + REPAIRED, way


def rows(recorder: Recorder, problems: Sequence[str]) -> Iterator[Row]:
    """The recordings of some problems, judged."""
    for problem in problems:
        for way in WAYS:
            one = recorder.recorded(problem, way)
            said, first = verdict(problem, way, one), one.first
            gain = first.gain.ns_per_step if first is not None and first.gain else 0.0
            won = 0.0
            if said == "right" and gain and way in LONG and problem in FOUND:
                won, gain = gained(problem, way, one, recorder)
            name = f"{first.id} {first.severity}" if first is not None else "–"
            yield Row(problem, way, said, name, one.advice.scope.mean_step_ns, gain, won)


def summary(found: Sequence[Row]) -> str:
    """The score, with each recording that is not right and each gain above its ceiling."""
    verdicts = Counter(one.verdict for one in found)
    above = [one for one in found if one.is_above]
    checked = {one.problem for one in found if one.gain_ns}
    unchecked = [one for one in dict.fromkeys(row.problem for row in found)
                 if one in FOUND and one not in checked]  # fmt: skip
    lines = [
        f"right: {verdicts['right']} of {len(found)} ({verdicts['right'] / len(found):.1%})",
        *(f"{said}: {count}" for said, count in verdicts.most_common() if said != "right"),
        f"gains above their ceiling: {len(above)} of {sum(one.gain_ns != 0 for one in found)}",
        f"no ceiling to check: {', '.join(unchecked) or 'none'}",
        *map(str, (one for one in found if one.verdict != "right" or one.is_above)),
    ]
    return "\n".join(lines)


def main() -> int:
    """Prints the table; 1 if fewer than 90 % are right, or a gain is above its ceiling."""
    sys.stdout.write(
        "| planted | recorded | verdict | first finding | step (ms) | ceiling (ms) | gain (ms) |\n"
        "|---|---|---|---|---|---|---|\n"
    )
    found = []
    problems = sys.argv[2:] or [*FOUND, *HEALTHY, "none"]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(sys.argv[1] if len(sys.argv) > 1 else temporary).resolve()
        for row in rows(Recorder(folder, [*wanted(problems)]), problems):
            found.append(row)
            sys.stdout.write(f"{row}\n")
            sys.stdout.flush()
    sys.stdout.write(f"\n{summary(found)}\n")
    right = sum(one.verdict == "right" for one in found)
    bad = any(one.is_above or one.verdict == "false alarm" for one in found)
    return 1 if right < 0.9 * len(found) or bad else 0


if __name__ == "__main__":
    sys.exit(main())
