"""Does the advice find planted problems, and is a repair worth no more than the stated ceiling?

    python -m benchmarks.planted [PROBLEM …]

Each training of ``tests/planted`` runs with its problem and without it, alternately, in processes
of their own, and is recorded each time. Printed: the first finding and its frame, its ceiling, the
gain that the repair really brings, both for the fastest step of all runs (other programs make a
step longer, never shorter), and the loudest findings without the problem.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from kinetoscope.analysis.facts import Facts
from kinetoscope.analysis.overview.advice import AdviceDocument, advise
from kinetoscope.analysis.summarize import summarize
from kinetoscope.trace.read import read
from tests.planted.training import FOUND, REPAIRED

ROOT = Path(__file__).resolve().parent.parent
NOISE_RATIO = 1.1
RUNS = 3


def recorded(name: str, folder: Path) -> Facts:
    """The facts of one training, recorded in a process of its own."""
    ended = subprocess.run(
        [sys.executable, "-m", "tests.planted.training", name, str(folder)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    told = [line for line in ended.stdout.splitlines() if line.startswith("{")]
    return summarize(read(Path(json.loads(told[-1])["trace"])))


def fastest(runs: list[Facts]) -> AdviceDocument:
    """The advice on the fastest step of all runs."""
    steps = ((facts, step) for facts in runs for step in facts.steps if step.excluded is None)
    facts, step = min(steps, key=lambda one: one[1].dur_ns)
    return advise(facts, str(step.number))


def loud(facts: Facts) -> list[str]:
    """The findings of high and medium severity."""
    return [one.id for one in advise(facts).findings if one.severity in ("high", "medium")]


def row(problem: str, folder: Path) -> tuple[str, bool]:
    """One row of the table, and whether all is as it should be."""
    rule, frame = FOUND[problem]
    planted, repaired = [], []
    for _ in range(RUNS):
        planted.append(recorded(problem, folder))
        repaired.append(recorded(problem + REPAIRED, folder))
    firsts = [next(iter(advise(facts).findings), None) for facts in planted]
    found = all(one is not None and one.id == rule and one.frame.endswith(frame) for one in firsts)
    first = firsts[0]
    quick = fastest(planted)
    with_it, without = quick.scope.mean_step_ns, fastest(repaired).scope.mean_step_ns
    gain = max(0.0, 1 - without / with_it)
    same = next((one for one in quick.findings if one.id == rule and one.gain), None)
    ceiling = same.gain.ratio if same is not None and same.gain is not None else None
    within = ceiling is None or gain <= ceiling * NOISE_RATIO
    left = sorted({one for facts in repaired for one in loud(facts)})
    cells = (
        problem,
        first.id if first is not None else "–",
        f"`{first.frame}`" if first is not None and first.frame else "–",
        f"{with_it / 1e6:.1f}",
        f"{without / 1e6:.1f}",
        "–" if ceiling is None else f"{ceiling:.1%}",
        f"{gain:.1%}",
        ", ".join(left) or "none",
    )
    return "| " + " | ".join(cells) + " |", found and within and not left


def main() -> int:
    """Prints the table.

    Returns 1 if a problem was missed, a gain was above its ceiling, or a finding was loud without.
    """
    sys.stdout.write(
        "| planted | first finding | names | step (ms) | without (ms) | ceiling | gain | "
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
