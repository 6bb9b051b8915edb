"""How often are two recordings of equal code called different on this machine?

    python -m benchmarks.diff_pairs [--pairs 20] [--steps 30] [--slower 1.05]

Records ``samples/train_cpu.py`` again and again, A and B in turns, each in a process of its own,
and compares each A with the B beside it. Nothing is planted, so "worse" and "better" are false
alarms; of twenty, one "worse" is expected at most. With ``--slower 1.05``, the forward pass of B
waits until its step is about that much longer, and "worse" is right.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parent.parent
TRAIN = """
import sys, time
sys.path.insert(0, sys.argv[1])
import train_cpu
from pathlib import Path
pause = float(sys.argv[4])
plain = train_cpu.CornerNet.forward
def forward(self, pictures):
    if pause:
        end = time.perf_counter() + pause
        while time.perf_counter() < end:
            pass
    return plain(self, pictures)
train_cpu.CornerNet.forward = forward
train_cpu.train(Path(sys.argv[2]), int(sys.argv[3]))
"""


def recorded(folder: Path, steps: int, pause: float) -> None:
    """One recording, in a process of its own."""
    arguments = [str(ROOT / "samples"), str(folder), str(steps), str(pause)]
    subprocess.run(
        [sys.executable, "-c", TRAIN, *arguments],
        check=True,
        capture_output=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


@click.command(help=__doc__)
@click.option("--pairs", default=20, show_default=True)
@click.option("--steps", default=30, show_default=True)
@click.option("--slower", default=1.0, show_default=True, help="Length of B's step, of A's.")
def main(pairs: int, steps: int, slower: float) -> None:
    """Print each pair and the sum."""
    from kinetoscope.cli.diff import opened_pair

    found: Counter[str] = Counter()
    step_s = 0.0
    with tempfile.TemporaryDirectory() as temporary:
        for at in range(pairs):
            a, b = Path(temporary) / f"a{at}", Path(temporary) / f"b{at}"
            recorded(a, steps, 0.0)
            if not step_s:
                step_s = opened_pair(str(a), str(a)).base.side.mean_ns / 1e9
            recorded(b, steps, (slower - 1) * step_s)
            verdict = opened_pair(str(a), str(b)).comparison
            found[verdict.outcome] += 1
            print(f"{at + 1:3}  {verdict.outcome:12}  {verdict.headline}", flush=True)
    load = os.getloadavg()[0]
    told = ", ".join(f"{number} {outcome}" for outcome, number in found.most_common())
    print(f"{pairs} pairs of {steps} steps, B {slower:.0%} of A, load {load:.1f}: {told}")


if __name__ == "__main__":
    main()
