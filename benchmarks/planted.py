"""Does the advice find planted problems, and is a repair worth no more than the stated ceiling?

    python -m benchmarks.planted [PROBLEM …]

Each training of ``tests/planted`` runs with its problem and without it, alternately, in processes
of their own, and is recorded each time. Printed: the first finding and its frame; its ceiling in
the fastest step of all runs; what the repair really gains; the loudest findings without it.

A gain is the difference of the cheapest steps. Where the problem is work, steps count by the
CPU time of the main thread, which other programs do not lengthen; where it is waiting, by the
clock.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from kinetoscope.analysis.facts import Facts
from kinetoscope.analysis.steps import select
from kinetoscope.analysis.summarize import summarize
from kinetoscope.trace.read import read
from kinetoscope.views.overview.document import AdviceDocument, advise
from tests.planted.training import FOUND, REPAIRED

ROOT = Path(__file__).resolve().parent.parent
NOISE_RATIO = 1.1
RUNS = 3
WAITS = ("slow_loader", "lock", "threads")
"""Problems in which the main thread waits: for a disk, a lock, or other threads."""


class Recorded(NamedTuple):
    """One recorded training; ``cpu_ns``: of the main thread, in its cheapest step."""

    facts: Facts
    cpu_ns: float


def recorded(name: str, folder: Path) -> Recorded:
    """One training, recorded in a process of its own."""
    ended = subprocess.run(
        [sys.executable, "-m", "tests.planted.training", name, str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    told = json.loads([line for line in ended.stdout.splitlines() if line.startswith("{")][-1])
    return Recorded(summarize(read(Path(told["trace"]))), told["cpu_seconds"] * 1e9)


def fastest(runs: list[Recorded]) -> AdviceDocument:
    """The advice on the fastest step of all runs."""
    steps = ((one.facts, step) for one in runs for step in one.facts.steps if not step.excluded)
    facts, step = min(steps, key=lambda one: one[1].dur_ns)
    return advise(select(facts, str(step.number)))


def loud(facts: Facts) -> list[str]:
    """The findings of high and medium severity."""
    return [one.id for one in advise(select(facts)).findings if one.severity in ("high", "medium")]


def row(problem: str, folder: Path) -> tuple[str, bool]:
    """One row of the table, and whether all is as it should be."""
    rule, frame = FOUND[problem]
    planted, repaired = [], []
    for _ in range(RUNS):
        planted.append(recorded(problem, folder))
        repaired.append(recorded(problem + REPAIRED, folder))
    firsts = [next(iter(advise(select(one.facts)).findings), None) for one in planted]
    found = all(one is not None and one.id == rule and one.frame.endswith(frame) for one in firsts)
    quick = fastest(planted)
    if problem in WAITS:
        with_it, without = quick.scope.mean_step_ns, fastest(repaired).scope.mean_step_ns
    else:
        with_it, without = (min(one.cpu_ns for one in runs) for runs in (planted, repaired))
    gain = max(0.0, with_it - without)
    same = next((one.gain for one in quick.findings if one.id == rule and one.gain), None)
    # A leak has no ceiling: nothing gets faster without it.
    has_ceiling = any(one is not None and one.gain is not None for one in firsts)
    within = (same is not None and gain <= same.ns_per_step * NOISE_RATIO) or not has_ceiling
    left = sorted({one for runs in repaired for one in loud(runs.facts)})
    first = firsts[0]
    cells = (
        problem,
        first.id if first is not None else "–",
        f"`{first.frame}`" if first is not None and first.frame else "–",
        f"{with_it / 1e6:.1f}",
        f"{without / 1e6:.1f}",
        "–" if same is None else f"{same.ns_per_step / 1e6:.1f}",
        f"{gain / 1e6:.1f}",
        ", ".join(left) or "none",
    )
    return "| " + " | ".join(cells) + " |", found and within and not left


def main() -> int:
    """Prints the table.

    Returns 1 if a problem was missed, a gain was above its ceiling, or a finding was loud without.
    """
    sys.stdout.write(
        "| planted | first finding | names | step (ms) | without (ms) | ceiling (ms) | gain (ms) | "
        "above low without it |\n|---|---|---|---|---|---|---|---|\n"
    )
    good = True
    with tempfile.TemporaryDirectory() as folder:
        for problem in sys.argv[1:] or FOUND:
            text, right = row(problem, Path(folder))
            good &= right
            sys.stdout.write(f"{text}{'' if right else '  ← wrong'}\n")
            sys.stdout.flush()
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
