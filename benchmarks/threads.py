"""What more threads bring: reading one trace on 1, 2, … of them, by turns in one run.

    python -m benchmarks.threads [--kind nccl]… [--size 300MB] [--rounds 3] [--most N] [--keep]

For each number of threads: the wall time of the scan (inflating included) and of the whole way to
the Overview, each over that of one thread, and CPU time over that of one thread; then wall time
over CPU time of the same reading, of which 0.5 is all that two cores can do; and the peak of
memory. Medians of the rounds. Where fewer cores are free than threads are asked for, wall times say
little; those of CPU time still tell what the cutting costs.

A machine may be faster in one minute than in the next, so each reading is held against the mean of
one on a single thread before it and one after it. How far those two are apart, the median of the
larger over the smaller, is printed beside: what is nearer to 1 says nothing. As many readings at
once, in a process and on a thread each, are measured between the same two: their CPU time over that
of one alone is what the machine takes for using so many cores, whatever the threads of one reading
do.

What one thread has written another reads from its core's cache, if the two share one. The host of a
virtual machine may move them apart at any moment, and then each such read takes several times as
long. So it is measured how fast a value gets from one core to the other, before and after each
reading (``handoff``), and readings with the cores near each other and far apart have a row each.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click

from benchmarks import _corpus, _results
from benchmarks._handoff import by_nearness, with_handoff
from benchmarks._measure import touch_memory
from kinetoscope.base.machine import THREADS_VARIABLE, core_count
from kinetoscope.store.ingest.child import environment

CPU = ("scan_cpu", "overview_cpu")
FIGURES = ("scan_wall", "scan_cpu", "overview_wall", "overview_cpu")
BUSY = ("scan_wall_by_cpu", "overview_wall_by_cpu", "peak_mb", "two_alike", "handoff_ns")
BESIDE = tuple(f"processes_{name}" for name in CPU)
NAMES = FIGURES + BUSY + BESIDE
CODE = """
import json, sys, time
from kinetoscope.analysis.summarize import summarize
from kinetoscope.base.machine import threads_kept
from kinetoscope.trace.read import build
from kinetoscope.trace.scan.scanner import scan
from benchmarks._measure import high_water
from pathlib import Path

def clock():
    return time.perf_counter(), time.process_time()

path = Path(sys.argv[1])
began = clock()
# As a reading process does it: nobody holds the columns of the scan while tables are made of them.
with threads_kept():
    held = [scan(path)]
    scanned = clock()
    trace = build(held.pop(), path, path.stat().st_size)
summarize(trace)
done = clock()
print(json.dumps({
    "scan_wall": scanned[0] - began[0], "scan_cpu": scanned[1] - began[1],
    "overview_wall": done[0] - began[0], "overview_cpu": done[1] - began[1],
    "peak_mb": high_water() / 1e6,
}))
"""


def once(trace: Path, threads: int, processes: int = 1) -> dict[str, float]:
    """Seconds of one reading in a process of its own; the means of several at once."""
    touch_memory()
    running = [
        subprocess.Popen(
            [sys.executable, "-c", CODE, str(trace)],
            env={**os.environ, **environment(), THREADS_VARIABLE: str(threads)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(processes)
    ]
    found = [json.loads(process.communicate()[0]) for process in running]
    return {name: statistics.mean(one[name] for one in found) for name in found[0]}


def rounds_of(trace: Path, counts: Sequence[int], rounds: int) -> dict[int, list[dict[str, float]]]:
    """Of each round: figures over those of one thread right beside, and ``BUSY``."""
    told: dict[int, list[dict[str, float]]] = {count: [] for count in counts}
    for _ in range(rounds):
        before = once(trace, 1)
        for count in counts:
            found = with_handoff(partial(once, trace, count))
            at_once = once(trace, 1, processes=count)
            after = once(trace, 1)
            alike = before["overview_cpu"], after["overview_cpu"]
            told[count].append(
                {name: 2 * found[name] / (before[name] + after[name]) for name in FIGURES}
                | {
                    "scan_wall_by_cpu": found["scan_wall"] / found["scan_cpu"],
                    "overview_wall_by_cpu": found["overview_wall"] / found["overview_cpu"],
                    "peak_mb": found["peak_mb"],
                    "two_alike": max(alike) / min(alike),
                    "handoff_ns": found["handoff_ns"],
                }
                | {
                    f"processes_{name}": 2 * at_once[name] / (before[name] + after[name])
                    for name in CPU
                }
            )
            before = after
    return told


def _title(name: str) -> str:
    return name.replace("_", " ")


@click.command()
@click.option(
    "--kind", "kinds", default=["nccl"], multiple=True, type=click.Choice(list(_corpus.KINDS))
)
@click.option("--size", default="300MB", show_default=True)
@click.option("--rounds", default=3, show_default=True)
@click.option("--most", default=0, help="Threads; as many as there are cores unless given.")
@click.option("--folder", default=_corpus.FOLDER, type=click.Path(path_type=Path))
@click.option("--keep", is_flag=True, help="Keep the figures in results.json.")
def main(
    kinds: tuple[str, ...], size: str, rounds: int, most: int, folder: Path, keep: bool
) -> None:
    """Print ratios to one thread, and of wall time to CPU time."""
    most = most or core_count()
    counts = [count for count in (2, 4, 8, 16, 32) if count <= most]
    click.echo(f"{core_count()} cores; over one thread, and by itself:")
    click.echo(
        "trace         threads  cores  rounds" + "".join(f"{_title(name):>26}" for name in NAMES)
    )
    for kind in kinds:
        try:
            made = _corpus.made(kind, size, folder)
        except _corpus.AbsentError as absent:
            click.echo(f"{kind} {size}: not measured, because {absent}")
            continue
        for count, found in rounds_of(made.path, counts, rounds).items():
            for place, some in zip(("near", "far"), by_nearness(found), strict=True):
                if not some:
                    continue
                of_some = {name: statistics.median(one[name] for one in some) for name in NAMES}
                figures = "".join(f"{of_some[name]:>26.2f}" for name in NAMES)
                click.echo(f"{kind + ' ' + size:<14}{count:<9}{place:<7}{len(some):<6}" + figures)
                if keep and place == "near":
                    _results.keep(
                        f"threads/{kind}/{size}/{count}",
                        {name: {"value": of_some[name]} for name in NAMES},
                    )


if __name__ == "__main__":
    main()
