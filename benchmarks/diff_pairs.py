"""How often are two recordings of equal code called different on this machine?

    python -m benchmarks.diff_pairs [--pairs 20] [--steps 30] [--slower 1.05] [--keep FOLDER]
    python -m benchmarks.diff_pairs --again FOLDER

Records ``samples/train_cpu.py`` again and again, A and B in turns, each in a process of its own,
and compares each A with the B beside it. Nothing is planted, so "worse" and "better" are false
alarms; of twenty, one "worse" is expected at most. With ``--slower 1.05``, the forward pass of B
waits until its step is about that much longer, and "worse" is right. ``--keep`` leaves the
recordings, and ``--again`` compares those of a folder once more, without recording any.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
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
@click.option("--keep", type=click.Path(path_type=Path), help="Leave the recordings here.")
@click.option("--again", type=click.Path(exists=True, path_type=Path), help="Kept recordings.")
def main(pairs: int, steps: int, slower: float, keep: Path | None, again: Path | None) -> None:
    """Print each pair and the sum."""
    with tempfile.TemporaryDirectory() as temporary:
        if again is None:
            folder = keep or Path(temporary)
            told = f"{steps} steps, B {slower:.0%} of A"
            made = record_pairs(folder, pairs, steps, slower)
        else:
            told = f"{again.name}"
            kept = sorted(again.glob("a*"), key=lambda one: int(one.name[1:]))
            made = ((one, again / f"b{one.name[1:]}") for one in kept)
        judge(made, told)


def record_pairs(
    folder: Path, pairs: int, steps: int, slower: float
) -> Iterator[tuple[Path, Path]]:
    """A and B of each pair, recorded one after the other."""
    from kinetoscope.cli.diff import opened_pair

    step_s = 0.0
    for at in range(pairs):
        a, b = folder / f"a{at}", folder / f"b{at}"
        recorded(a, steps, 0.0)
        if not step_s:
            step_s = opened_pair(str(a), str(a)).base.side.mean_ns / 1e9
        recorded(b, steps, (slower - 1) * step_s)
        yield a, b


def judge(pairs: Iterable[tuple[Path, Path]], what: str) -> None:
    """Print the verdict on each pair, and how many there are of each."""
    from kinetoscope.cli.diff import opened_pair

    found: Counter[str] = Counter()
    for at, (a, b) in enumerate(pairs, 1):
        verdict = opened_pair(str(a), str(b)).comparison
        found[verdict.outcome] += 1
        print(f"{at:3}  {verdict.outcome:12}  {verdict.headline}", flush=True)
    told = ", ".join(f"{number} {outcome}" for outcome, number in found.most_common())
    load = os.getloadavg()[0]
    print(f"{found.total()} pairs, {what}, load {load:.1f}: {told}")


if __name__ == "__main__":
    main()
