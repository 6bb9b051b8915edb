"""A trace that was read before: how soon the first screen and the columns are there.

    python -m benchmarks.second_open [--kind cpu] [--size 100MB] [--keep]

The trace is read once, so that its answers are in the cache. Then a server is started anew, and
what the page asks first (catalog, trace, Overview) is timed over HTTP: the very first time, and the
median of twenty more. The columns are timed in a process that has shown another trace, by the way a
server takes them: from asking the catalog for the trace to having touched five columns of each row.
``show overview`` of the trace is measured against that of a small file, both read before.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import click

from benchmarks import _corpus, _results
from benchmarks._server import linked, server

REPEATS = 20

COLUMNS = """
import json, sys, time
from kinetoscope.analysis.facts import Facts
from kinetoscope.store.catalog import CatalogService
from kinetoscope.store.discovery.walk import resolve

def touch(service, run):
    trace = service.trace(service.locate(run, None, None))
    host, device = trace.host, trace.device
    for column in (host.ts, host.dur, host.name, device.ts, device.dur):
        column.sum()

if __name__ == "__main__":
    with CatalogService(
        resolve(sys.argv[1], None),
        summarize="kinetoscope.analysis.summarize:summarize",
        summary_type=Facts,
    ) as service:
        service.wait_first_look(60)
        while True:
            spans = [s for r in service.snapshot().runs for w in r.workers for s in w.spans]
            if len(spans) == 2 and all(s.state == "ready" and s.progress is None for s in spans):
                break
            time.sleep(0.05)
        touch(service, "small")
        began, cpu = time.perf_counter(), time.process_time()
        touch(service, "run")
        wall = time.perf_counter() - began
        print(json.dumps({"columns_wall": wall, "columns_cpu": time.process_time() - cpu}))
"""


def figures(trace: Path) -> dict[str, float]:
    """Seconds of a second open of ``trace``."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        logdir, cache = folder / "log", folder / "cache"
        linked(logdir, "run", trace)
        linked(logdir, "small", _corpus.KINDS["cpu"].source())
        with server(logdir, cache) as first:
            first.spans(2)
        with server(logdir, cache) as again:
            span = next(span for span in again.spans(2) if span["run"] == "run")
            found = {"screen_first": again.screen(span)}
            found["screen"] = statistics.median(again.screen(span) for _ in range(REPEATS))
        done = subprocess.run(
            [sys.executable, "-c", COLUMNS, str(logdir)],
            env={**os.environ, "KINETOSCOPE_CACHE_DIR": str(cache)},
            capture_output=True,
            text=True,
            check=True,
        )
        columns: dict[str, float] = json.loads(done.stdout)
        return found | columns | shown(trace, cache)


def shown(trace: Path, cache: Path) -> dict[str, float]:
    """Seconds of CPU of ``show overview`` of ``trace``, and of a small file, both read before."""
    files = {"show_cpu": trace, "show_small_cpu": _corpus.KINDS["cpu"].source()}
    for path in (*files.values(), *files.values()):
        _show_seconds(path, cache)
    # By turns, so that what else the machine does meets both alike.
    runs = [{name: _show_seconds(path, cache) for name, path in files.items()} for _ in range(5)]
    return {name: statistics.median(run[name] for run in runs) for name in files}


def _show_seconds(path: Path, cache: Path) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(
        [sys.executable, "-m", "kinetoscope", "show", "overview", str(path)],
        env={**os.environ, "KINETOSCOPE_CACHE_DIR": str(cache)},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@click.command()
@click.option("--kind", default="cpu", show_default=True, type=click.Choice(list(_corpus.KINDS)))
@click.option("--size", default="100MB", show_default=True)
@click.option("--runs", default=1, show_default=True)
@click.option("--folder", default=_corpus.FOLDER, type=click.Path(path_type=Path))
@click.option("--keep", is_flag=True, help="Keep the figures in results.json.")
def main(kind: str, size: str, runs: int, folder: Path, keep: bool) -> None:
    """Time the second open of a trace."""
    try:
        made = _corpus.made(kind, size, folder)
    except _corpus.AbsentError as absent:
        click.echo(f"{kind} {size}: not measured, because {absent}")
        found: dict[str, Any] = {"columns_wall": str(absent)}
    else:
        found = _results.median_of(figures(made.path) for _ in range(runs))
        click.echo(f"{kind} {size}: {made.events:,} events")
        for name in found:
            click.echo(f"  {name:<16}{found[name]['value']:>12.3f}")
    if keep:
        _results.keep(f"second_open/{kind}/{size}", found)


if __name__ == "__main__":
    main()
