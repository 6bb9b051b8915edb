"""What more threads bring: reading one trace on 1, 2, … of them, by turns in one run.

    python -m benchmarks.threads [--kind nccl] [--size 300MB] [--rounds 3] [--most N] [--keep]

For each number of threads: the wall time of the scan (inflating included, which has a thread of its
own beside two or more) and of the whole way to the Overview, each over that of one thread, and CPU
time over that of one thread. Medians of the rounds. Where fewer cores are free than threads are
asked for, the ratios of wall time say little; those of CPU time still tell what the cutting costs.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from benchmarks import _corpus, _results
from kinetoscope.base.machine import THREADS_VARIABLE, core_count

FIGURES = ("scan_wall", "scan_cpu", "overview_wall", "overview_cpu")
CODE = """
import json, sys, time
from kinetoscope.analysis.summarize import summarize
from kinetoscope.trace.read import build
from kinetoscope.trace.scan.scanner import scan
from pathlib import Path

def clock():
    return time.perf_counter(), time.process_time()

path = Path(sys.argv[1])
began = clock()
raw = scan(path)
scanned = clock()
summarize(build(raw, path, path.stat().st_size))
done = clock()
print(json.dumps({
    "scan_wall": scanned[0] - began[0], "scan_cpu": scanned[1] - began[1],
    "overview_wall": done[0] - began[0], "overview_cpu": done[1] - began[1],
}))
"""


def once(trace: Path, threads: int) -> dict[str, float]:
    """Seconds of one reading in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(trace)],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1", THREADS_VARIABLE: str(threads)},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def ratios(trace: Path, counts: Sequence[int], rounds: int) -> dict[int, dict[str, float]]:
    """Median over the rounds of each figure over that of one thread in the same round."""
    told: dict[int, list[dict[str, float]]] = {count: [] for count in counts}
    for _ in range(rounds):
        alone = once(trace, 1)
        for count in counts:
            found = once(trace, count)
            told[count].append({name: found[name] / alone[name] for name in FIGURES})
    return {
        count: {name: statistics.median(one[name] for one in found) for name in FIGURES}
        for count, found in told.items()
    }


@click.command()
@click.option("--kind", default="nccl", show_default=True, type=click.Choice(list(_corpus.KINDS)))
@click.option("--size", default="300MB", show_default=True)
@click.option("--rounds", default=3, show_default=True)
@click.option("--most", default=0, help="Threads; as many as there are cores unless given.")
@click.option("--folder", default=_corpus.FOLDER, type=click.Path(path_type=Path))
@click.option("--keep", is_flag=True, help="Keep the figures in results.json.")
def main(kind: str, size: str, rounds: int, most: int, folder: Path, keep: bool) -> None:
    """Print ratios to one thread."""
    try:
        made = _corpus.made(kind, size, folder)
    except _corpus.AbsentError as absent:
        click.echo(f"{kind} {size}: not measured, because {absent}")
        return
    most = most or core_count()
    counts = [count for count in (2, 4, 8, 16, 32) if count <= most]
    click.echo(f"{kind} {size}: {made.events:,} events, {core_count()} cores; over one thread:")
    click.echo("threads" + "".join(f"{name.replace('_', ' '):>16}" for name in FIGURES))
    found = ratios(made.path, counts, rounds)
    for count, of_count in found.items():
        click.echo(f"{count:<7}" + "".join(f"{of_count[name]:>16.2f}" for name in FIGURES))
    if keep:
        for count, of_count in found.items():
            _results.keep(
                f"threads/{kind}/{size}/{count}",
                {name: {"value": of_count[name]} for name in FIGURES},
            )


if __name__ == "__main__":
    main()
