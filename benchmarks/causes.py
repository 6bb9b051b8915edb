"""What idle causes, patterns and the critical path cost, against reading the trace.

    python -m benchmarks.causes [--kind stacks] [--size 1GB]

The trace is read once in this process, as an ingest process does it: file → tables → summary →
columns in the cache. CPU seconds are counted for the whole, and for those functions of the summary
that answer what a device waited for and what to do about it. Then the artifact with the idle flame
graph and the critical paths is made, as when it is first asked for. Both are ratios of one process,
so what else the machine does hardly matters.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from functools import wraps
from pathlib import Path

import click

from benchmarks import _corpus
from kinetoscope.analysis import summarize as summary
from kinetoscope.analysis.host_activity import hosts_of
from kinetoscope.analysis.idle.artifact import make_idle
from kinetoscope.analysis.idle.causes import IdleCauses
from kinetoscope.analysis.idle.critical_path import critical_path
from kinetoscope.analysis.idle.dependencies import dependencies
from kinetoscope.analysis.steps import step_windows
from kinetoscope.base.columnar import Writer
from kinetoscope.trace.read import read

PARTS = ("patterns_of", "communication", "copies", "launches", "lead", "host_held", "parallel")
"""Functions of the summary beside ``IdleCauses.of_device``."""


def counted(
    call: Callable[..., object], spent: dict[str, float], name: str
) -> Callable[..., object]:
    """The same function; its CPU seconds are added up under ``name``."""

    @wraps(call)
    def counting(*args: object) -> object:
        began = time.process_time()
        try:
            return call(*args)
        finally:
            spent[name] = spent.get(name, 0.0) + time.process_time() - began

    return counting


def figures(path: Path) -> dict[str, float]:
    """CPU seconds by part; ``ingest`` is the whole, and ``steps`` counts them."""
    spent: dict[str, float] = {}
    for name in PARTS:
        setattr(summary, name, counted(getattr(summary, name), spent, name))
    IdleCauses.of_device = counted(IdleCauses.of_device, spent, "of_device")  # type: ignore[assignment, method-assign]
    with tempfile.TemporaryDirectory() as folder:
        began = time.process_time()
        trace = read(path)
        summary.summarize(trace)
        with Writer(Path(folder)) as writer:
            writer.close(trace, "trace")
        found = {"ingest": time.process_time() - began}
        began = time.process_time()
        make_idle(trace, Path(folder), lambda _: None)
        found["artifact"] = time.process_time() - began
    hosts, windows = hosts_of(trace), step_windows(trace)
    known = dependencies(trace)
    began = time.process_time()
    critical_path(trace, hosts, windows, known)
    found["critical path"] = time.process_time() - began
    return {**found, **dict(sorted(spent.items(), key=lambda one: -one[1])), "steps": len(windows)}


@click.command()
@click.option("--kind", default="stacks", show_default=True, type=click.Choice(_corpus.KINDS))
@click.option("--size", default="1GB", show_default=True)
@click.option("--folder", default=_corpus.FOLDER, type=click.Path(path_type=Path))
def main(kind: str, size: str, folder: Path) -> None:
    """Print what each part costs."""
    try:
        made = _corpus.made(kind, size, folder)
    except _corpus.AbsentError as absent:
        click.echo(f"{kind} {size}: not measured, because {absent}")
        return
    found = figures(made.path)
    whole, steps = found["ingest"], max(int(found["steps"]), 1)
    of_summary = sum(found.get(name, 0.0) for name in (*PARTS, "of_device"))
    click.echo(f"{kind} {size}: {made.events:,} events, {steps} steps; CPU seconds")
    click.echo(f"  {'ingest':<26}{whole:>9.2f}")
    click.echo(f"  {'causes and patterns':<26}{of_summary:>9.2f}{of_summary / whole:>8.1%}")
    for name in ("of_device", *PARTS):
        if name in found:
            click.echo(f"    {name:<24}{found[name]:>9.2f}{found[name] / whole:>8.1%}")
    together = of_summary + found["artifact"]
    click.echo(f"  {'artifact, when asked for':<26}{found['artifact']:>9.2f}")
    click.echo(f"  {'both together':<26}{together:>9.2f}{together / whole:>8.1%}")
    path = found["critical path"]
    click.echo(f"  {'critical path':<26}{path:>9.2f}, {path * 100 / steps:.2f} for 100 steps")


if __name__ == "__main__":
    main()
