"""Many traces at once, a small one behind a large one, and what is made of a trace that was read.

    python -m benchmarks.at_once many [--kind nccl] [--size 20MB] [--count 64]
    python -m benchmarks.at_once behind [--kind nccl] [--size 20MB] [--large 2.5GB] [--rounds 3]
    python -m benchmarks.at_once made [--kind nccl] [--size 300MB] [--rounds 3]

``many``: traces of one content under different names (in their headers) through the real catalog,
on one core and on all: the wall time of the one over that of the other, to the last Overview.
``behind``: from looking for new files to the summary of the small trace, while the large one is
being read, over the same alone; by turns. ``made``: wall and CPU time of making the timeline and
the operators of a trace, over reading it, in one process.

Ratios of wall time say something on a machine at rest alone.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from benchmarks import _corpus
from benchmarks._measure import run
from benchmarks._server import linked
from kinetoscope.base.machine import core_count

ON_CORES = """
import os, runpy, sys
cores = sorted(os.sched_getaffinity(0))[: int(sys.argv[1])]
os.sched_setaffinity(0, cores)
sys.argv[1:] = sys.argv[2:]
runpy.run_module("benchmarks._open", run_name="__main__")
"""
BEHIND = """
import json, sys, time
from pathlib import Path
from benchmarks._server import linked
from kinetoscope.analysis.facts import Facts
from kinetoscope.base.errors import KinetoscopeError
from kinetoscope.store.catalog import CatalogService
from kinetoscope.store.discovery.walk import resolve

def spans(service):
    return [s for r in service.snapshot().runs for w in r.workers for s in w.spans]

if __name__ == "__main__":
    logdir, small, large = sys.argv[1:]
    with CatalogService(
        resolve(logdir, None),
        summarize="kinetoscope.analysis.summarize:summarize",
        summary_type=Facts,
    ) as service:
        service.wait_first_look(60)
        while large and not any(s.progress and s.progress.bytes_done for s in spans(service)):
            time.sleep(0.05)
        linked(Path(logdir), "small", Path(small))
        began = time.perf_counter()
        service.rescan()
        while True:
            try:
                service.summary(service.locate("small", None, None))
                break
            except KinetoscopeError:
                time.sleep(0.005)
        seconds = time.perf_counter() - began
        still = any(s.state != "ready" for s in spans(service))
    print(json.dumps({"seconds": seconds, "still_reading": still}))
"""
MADE = """
import json, sys, tempfile, time
from pathlib import Path
from kinetoscope.analysis.operators.artifact import MAKE as OPERATORS
from kinetoscope.analysis.summarize import summarize
from kinetoscope.analysis.timeline.timeline import TIMELINE
from kinetoscope.store.cache.disk import write_trace
from kinetoscope.base.artifact_spec import load_callable
from kinetoscope.trace.read import read

def clock():
    return time.perf_counter(), time.process_time()

makers = {
    "timeline": (load_callable(TIMELINE.make), TIMELINE.variants[0]),
    "operators": (load_callable(OPERATORS),),
}
with tempfile.TemporaryDirectory() as temporary:
    marks = [clock()]
    trace = read(sys.argv[1])
    summarize(trace)
    (columns := Path(temporary) / "columns").mkdir()
    write_trace(trace, columns)
    marks.append(clock())
    for name, (make, *variant) in makers.items():
        (folder := Path(temporary) / name).mkdir()
        make(trace, folder, lambda share: None, *variant)
        marks.append(clock())
told = {}
for name, before, after in zip(["reading", *makers], marks, marks[1:]):
    told[f"{name}_wall"], told[f"{name}_cpu"] = after[0] - before[0], after[1] - before[1]
print(json.dumps(told))
"""


def named(trace: Path, name: str, folder: Path) -> Path:
    """The same text in a file of other bytes: its header has a name."""
    stored = trace.read_bytes()
    path = folder / f"{name}.pt.trace.json.gz"
    stream = stored.index(b"\0", 10) + 1 if stored[3] & 8 else 10  # behind a name that it has
    path.write_bytes(stored[:3] + b"\x08" + stored[4:10] + name.encode() + b"\0" + stored[stream:])
    return path


def opened(traces: Sequence[Path], cores: int) -> dict[str, float]:
    """Wall and CPU seconds until each of the traces has its Overview."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for number, trace in enumerate(traces):
            linked(folder / "log", f"run{number}", trace)
        done = run(
            [sys.executable, "-c", ON_CORES, str(cores), str(folder / "log")],
            {"KINETOSCOPE_CACHE_DIR": str(folder / "cache")},
        )
    told = done.answer()
    return {"wall": told["overview"] - told["started"], "cpu": told["overview_cpu"]}


def _told(code: str, *arguments: str, cache: Path | None = None) -> dict[str, Any]:
    env = {"KINETOSCOPE_CACHE_DIR": str(cache)} if cache else {}
    return run([sys.executable, "-c", code, *arguments], env).answer()


def _command(size: str) -> Callable[[Callable[..., None]], click.Command]:
    """A command with the options that all of them have; ``size``: of the traces."""

    def decorated(function: Callable[..., None]) -> click.Command:
        for option in (
            click.option("--folder", default=_corpus.FOLDER, type=click.Path(path_type=Path)),
            click.option("--size", default=size, show_default=True, help="Of the traces."),
            click.option("--kind", default="nccl", type=click.Choice(list(_corpus.KINDS))),
        ):
            function = option(function)
        return main.command()(function)

    return decorated


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    click.echo(f"| {' | '.join(headings)} |")
    click.echo(f"| {' | '.join('---' for _ in headings)} |")
    for row in rows:
        click.echo(f"| {' | '.join(row)} |")


@click.group()
def main() -> None:
    """Print ratios of one run."""
    click.echo(f"load {os.getloadavg()[0]:.1f}, {core_count()} cores")


@_command("20MB")
@click.option("--count", default=64, show_default=True)
def many(kind: str, size: str, count: int, folder: Path) -> None:
    """Many traces on one core and on all."""
    made = _corpus.made(kind, size, folder)
    with tempfile.TemporaryDirectory() as temporary:
        traces = [named(made.path, f"{number:03}", Path(temporary)) for number in range(count)]
        found = {cores: opened(traces, cores) for cores in sorted({1, core_count()})}
    rows = (
        (
            f"{count} × {kind} {size}, {cores} {'core' if cores == 1 else 'cores'}",
            f"{figures['wall']:.1f} s",
            f"{figures['cpu']:.1f} s",
            f"{found[1]['wall'] / figures['wall']:.2f}×",
            f"{figures['cpu'] / found[1]['cpu']:.2f}×",
        )
        for cores, figures in found.items()
    )
    _table(("traces", "wall", "CPU", "throughput over one core", "CPU over one core"), rows)


@_command("20MB")
@click.option("--large", default="2.5GB", show_default=True)
@click.option("--rounds", default=3, show_default=True)
def behind(kind: str, size: str, large: str, rounds: int, folder: Path) -> None:
    """A small trace behind a large one."""
    little, big = (_corpus.made(kind, one, folder).path for one in (size, large))
    ratios, rows = [], []
    for _ in range(rounds):
        seconds = {}
        for with_large in (False, True):
            with tempfile.TemporaryDirectory() as temporary:
                logdir = Path(temporary) / "log"
                logdir.mkdir()
                if with_large:
                    linked(logdir, "large", big)
                given = (str(logdir), str(little), "large" if with_large else "")
                told = _told(BEHIND, *given, cache=Path(temporary) / "cache")
            seconds[with_large] = told["seconds"]
            if with_large and not told["still_reading"]:
                click.echo("the large trace was read before the small one: take a larger one")
        ratios.append(seconds[True] / seconds[False])
        rows.append(
            (
                f"{kind} {size}",
                f"{seconds[False]:.2f} s",
                f"{seconds[True]:.2f} s",
                f"{ratios[-1]:.2f}×",
            )
        )
    rows.append(("median", "", "", f"{statistics.median(ratios):.2f}×"))
    _table(("first screen", "alone", f"behind {large}", "over alone"), rows)


@_command("300MB")
@click.option("--rounds", default=3, show_default=True)
def made(kind: str, size: str, rounds: int, folder: Path) -> None:
    """The timeline and the operators over reading."""
    trace = _corpus.made(kind, size, folder)
    told = [_told(MADE, str(trace.path)) for _ in range(rounds)]
    rows = []
    for name in ("timeline", "operators"):
        wall, cpu = (
            statistics.median(one[f"{name}_{what}"] / one[f"reading_{what}"] for one in told)
            for what in ("wall", "cpu")
        )
        rows.append((f"{name} of {kind} {size}", f"{wall:.2f}×", f"{cpu:.2f}×"))
    _table(("made of a trace", "wall over reading", "CPU over reading"), rows)


if __name__ == "__main__":
    main()
