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
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import kinetoscope
from tests.planted.habits import HEALTHY
from tests.planted.held_out import HELD_OUT
from tests.planted.training import FOUND, OTHERWISE, REPAIRED, UNSEEN

ROOT = Path(__file__).resolve().parent.parent
NOISE_RATIO = 1.1
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
        """The first finding."""
        return next(iter(self.advice.findings), None)

    @property
    def loud(self) -> list[Any]:
        """Findings of medium and high severity, apart from those of the machine."""
        return [
            one
            for one in self.advice.findings
            if one.severity in ("high", "medium") and one.id != OF_THE_MACHINE
        ]


def recorded(name: str, way: str, folder: Path) -> Recorded:
    """One training, recorded in a process of its own unless the folder has it."""
    place = folder / way / name
    note = place / "cpu_seconds.json"
    if not note.is_file():
        place.mkdir(parents=True, exist_ok=True)
        ended = subprocess.run(
            [sys.executable, "-m", "tests.planted.training", name, str(place.parent), *WAYS[way]],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
            timeout=600,
        )
        told = [line for line in ended.stdout.splitlines() if line.startswith("{")][-1]
        note.write_text(told, encoding="utf-8")
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
    first = next((found for found in one.advice.findings if found.id != OF_THE_MACHINE), None)
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
    first = next((found for found in one.advice.findings if found.id != OF_THE_MACHINE), None)
    if first is not None and first.id in rules:
        return "right" if not stacks or first.frame.endswith(case.frame) else "wrong"
    is_unseen = not rules or ("ME3" in rules and steps < 4)
    return "wrong" if one.loud else "right" if is_unseen else "silent"


def gained(problem: str, way: str, one: Recorded, folder: Path) -> tuple[float, float]:
    """What removing the problem gains, in ns of a step, and the ceiling that was said."""
    without = recorded(problem + REPAIRED, way, folder)
    if problem not in WAITS:
        return one.cpu_ns - without.cpu_ns, one.first.gain.ns_per_step
    fastest = one.fastest()
    gain = next((found.gain for found in fastest.findings if found.id == one.first.id), None)
    won = fastest.scope.mean_step_ns - without.fastest().scope.mean_step_ns
    return won, gain.ns_per_step if gain is not None else one.first.gain.ns_per_step


def rows(folder: Path, problems: list[str]) -> Iterator[tuple[str, str, bool]]:
    """A row of the table for each recording, its verdict, and if a gain exceeds its ceiling."""
    for problem in problems:
        for way in WAYS:
            one = recorded(problem, way, folder)
            said, first = verdict(problem, way, one), one.first
            gain = first.gain.ns_per_step if first is not None and first.gain else 0.0
            won = 0.0
            if said == "right" and gain and way in LONG and problem in FOUND:
                won, gain = gained(problem, way, one, folder)
            above = won > NOISE_RATIO * gain
            cells = (
                problem,
                way,
                said,
                f"{first.id} {first.severity}" if first is not None else "–",
                f"{one.advice.scope.mean_step_ns / 1e6:.1f}",
                f"{gain / 1e6:.1f}" if gain else "–",
                f"{won / 1e6:.1f}{' above' if above else ''}" if won else "–",
            )
            yield "| " + " | ".join(cells) + " |", said, above


def main() -> int:
    """Prints the table; 1 if fewer than 90 % are right, or a gain is above its ceiling."""
    sys.stdout.write(
        "| planted | recorded | verdict | first finding | step (ms) | ceiling (ms) | gain (ms) |\n"
        "|---|---|---|---|---|---|---|\n"
    )
    verdicts: Counter[str] = Counter()
    too_low = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(sys.argv[1] if len(sys.argv) > 1 else temporary).resolve()
        for text, said, above in rows(folder, sys.argv[2:] or [*FOUND, *HEALTHY, "none"]):
            verdicts[said] += 1
            too_low += above
            sys.stdout.write(f"{text}\n")
            sys.stdout.flush()
    shares = ", ".join(f"{said} {count}" for said, count in verdicts.most_common())
    sys.stdout.write(f"{shares}; gains above their ceiling: {too_low}\n")
    few = verdicts["right"] < 0.9 * verdicts.total()
    return 1 if few or too_low or verdicts["false alarm"] else 0


if __name__ == "__main__":
    sys.exit(main())
