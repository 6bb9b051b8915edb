"""Reading traces through the real catalog: CPU seconds, wall time and memory of the process tree.

    python -m benchmarks.ingest [--kind cpu] [--size 100MB] [--runs 3] [--keep]
                                [--floor] [--floor-python PYTHON] [--fallback]
                                [--peer-tb PYTHON] [--peer-hta PYTHON]

For each kind and size: up to the moment the Overview is ready, and up to the columns being written;
the median of the runs. In the same run, when asked for: the *floor* (inflating into nothing, and
tokenizing text that is in memory already), the reader in Python alone, and the peers.

Beside the floor stand: the same with writing all columns once; the same with the defaults of
malloc, which takes most new pages from the system where a reading process finds memory again; and
each with the scanner of an earlier version. The floor falls when the scanner gets faster; that of
an earlier version stays what it was. The floor is measured on one thread, so the Overview is also
read on one: what several threads cost is no part of a floor.

With several sizes of one kind, the exponent of CPU time over text is fitted, after what a trace of
one event costs was taken off: starting processes would hide growth. ``--keep`` writes the figures
to ``results.json``.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks import _corpus, _peers, _results
from benchmarks._measure import calibration_seconds, run
from benchmarks._once import ONE_EVENT
from kinetoscope.base.machine import THREADS_VARIABLE
from kinetoscope.store.ingest.child import environment

SCAN_SIZE = "100MB"  # the text that is tokenized in memory; the cost per byte is the same
FALLBACK = {"KINETOSCOPE_NATIVE": "0"}
ONE_THREAD = {THREADS_VARIABLE: "1"}


@dataclass(frozen=True, slots=True)
class Options:
    """What was asked for."""

    kinds: tuple[str, ...]
    sizes: tuple[str, ...]
    runs: int
    floor: bool
    floor_python: str | None
    fallback: bool
    peer_tb: str | None
    peer_hta: str | None
    folder: Path
    keep: bool


def opened(trace: Path, env: Mapping[str, str] | None = None) -> dict[str, float]:
    """Figures of one first open of ``trace``."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        logdir = folder / "log" / "run"
        logdir.mkdir(parents=True)
        (logdir / trace.name).symlink_to(trace.resolve())
        measured = run(
            [sys.executable, "-m", "benchmarks._open", str(folder / "log")],
            {"KINETOSCOPE_CACHE_DIR": str(folder / "cache"), **(env or {})},
        )
    told = measured.answer()
    return {
        "overview_cpu": told["overview_cpu"],
        "overview_wall": told["overview"] - measured.began,
        "overview_peak": measured.peak_until(told["overview"]),
        "columns_cpu": measured.cpu_seconds,
        "columns_wall": told["columns"] - measured.began,
        "columns_peak": measured.peak_bytes,
    }


FLOORS = {
    "floor": "inflate + tokenize",
    "floor_written": "the same, and writing all columns once",
    "floor_default": "the same, with the defaults of malloc",
    "floor_earlier": "tokenizing by an earlier version",
    "floor_earlier_written": "the same, and writing all columns once",
    "floor_earlier_default": "the same, with the defaults of malloc",
}
READINGS = {"overview_cpu": "", "overview_cpu_one_thread": "_one_thread"}


def floor(made: _corpus.Made, folder: Path, earlier: str | None = None) -> dict[str, float]:
    """CPU seconds of ``FLOORS``, and of what they are made of.

    ``earlier``: Python of an environment with an earlier version, to scan with that, too.
    """
    small = _corpus.made(made.kind, SCAN_SIZE, folder)

    def alone(what: str, of: _corpus.Made, *, as_read: bool, python: str = sys.executable) -> float:
        return _alone(what, of, environment() if as_read else None, python) * made.text_bytes

    write = alone("write", made, as_read=True)
    told: dict[str, float] = {"floor_write_cpu": write}
    for as_read, name in ((True, ""), (False, "_default")):
        inflate = alone("inflate", made, as_read=as_read)
        scan = alone("scan", small, as_read=as_read)
        told |= {
            f"floor{name}_inflate_cpu": inflate,
            f"floor{name}_scan_cpu": scan,
            f"floor{name}_cpu": inflate + scan,
        }
        if earlier:
            then = alone("scan", small, as_read=as_read, python=earlier)
            told[f"floor_earlier{name}_cpu"] = inflate + then
    for name in ("floor", "floor_earlier")[: 1 + bool(earlier)]:
        told[f"{name}_written_cpu"] = told[f"{name}_cpu"] + write
    return told


def _round(made: _corpus.Made, options: Options) -> dict[str, float]:
    """One run, and the floor right after it: a machine is faster in one minute than in another."""
    figures = opened(made.path)
    if options.floor:
        figures["overview_cpu_one_thread"] = opened(made.path, ONE_THREAD)["overview_cpu"]
        figures |= floor(made, options.folder, options.floor_python)
        figures |= {
            f"over_{name}{suffix}": figures[reading] / figures[f"{name}_cpu"]
            for reading, suffix in READINGS.items()
            for name in FLOORS
            if f"{name}_cpu" in figures
        }
    return figures


def _alone(
    what: str,
    made: _corpus.Made,
    env: Mapping[str, str] | None = None,
    python: str = sys.executable,
) -> float:
    told = run([python, "-m", "benchmarks._floor", what, str(made.path)], env).answer()
    return told["cpu"] / told["text_bytes"]


def startup_seconds() -> float:
    """CPU seconds of opening a trace of one event: processes, imports, the catalog."""
    with tempfile.TemporaryDirectory() as temporary:
        trace = Path(temporary) / "one.pt.trace.json"
        trace.write_text(ONE_EVENT)
        return min(opened(trace)["columns_cpu"] for _ in range(3))


def exponent(points: Mapping[int, float]) -> float:
    """The k of seconds ~ bytesᵏ, by least squares over the logarithms of (bytes → seconds)."""
    slope, _ = np.polyfit(np.log(list(points)), np.log(list(points.values())), 1)
    return float(slope)


def _row(name: str, figures: Mapping[str, float], stage: str) -> str:
    return (
        f"  {name:<30}{figures[f'{stage}_cpu']:>8.2f} CPU s{figures[f'{stage}_wall']:>8.2f} s"
        f"{figures[f'{stage}_peak'] / 1e6:>8.0f} MB peak"
    )


@click.command()
@click.option("--kind", "kinds", multiple=True, type=click.Choice(list(_corpus.KINDS)))
@click.option("--size", "sizes", multiple=True, help="100MB, 2.5GB of text, or 10M events.")
@click.option("--runs", default=1, show_default=True)
@click.option("--floor", is_flag=True, help="Measure inflating and tokenizing alone.")
@click.option("--floor-python", help="Python of an environment with an earlier version.")
@click.option("--fallback", is_flag=True, help="Also read without the native library.")
@click.option("--peer-tb", help="Python of an environment with torch-tb-profiler.")
@click.option("--peer-hta", help="Python of an environment with HolisticTraceAnalysis.")
@click.option("--folder", default=_corpus.FOLDER, type=click.Path(path_type=Path))
@click.option("--keep", is_flag=True, help="Keep the figures in results.json.")
def main(**given: Any) -> None:  # noqa: ANN401 (click passes them by name)
    """Read traces and print what it cost."""
    options = Options(**given)
    for kind in options.kinds or ("cpu",):
        points: dict[int, float] = {}
        for size in options.sizes or ("100MB",):
            try:
                made = _corpus.made(kind, size, options.folder)
            except _corpus.AbsentError as absent:
                click.echo(f"{kind} {size}: not measured, because {absent}")
                found: dict[str, Any] = dict.fromkeys(("overview_cpu", "columns_cpu"), str(absent))
            else:
                found = measure(made, options)
                points[made.text_bytes] = found["columns_cpu"]["value"]
            if options.keep:
                _results.keep(f"ingest/{kind}/{size}", found)
        if len(points) > 1:
            fixed = startup_seconds()
            k = exponent({size: seconds - fixed for size, seconds in points.items()})
            click.echo(
                f"{kind}: CPU time beyond the {fixed:.2f} s of an empty trace grows with size to"
                f" the power of {k:.3f}"
            )
            if options.keep:
                _results.keep(f"ingest/{kind}", {"exponent": k})


def measure(made: _corpus.Made, options: Options) -> dict[str, Any]:
    """Figures of one trace, printed as they come."""
    click.echo(f"{made.kind} {made.size}: {made.text_bytes / 1e6:,.0f} MB, {made.events:,} events")
    rounds = [_round(made, options) for _ in range(options.runs)]
    found: dict[str, Any] = _results.median_of(rounds)
    figures = {name: figure["value"] for name, figure in found.items()}
    cpu = figures["columns_cpu"]
    click.echo(_row("Overview ready", figures, "overview"))
    click.echo(_row("columns written", figures, "columns"))
    unit = calibration_seconds()
    click.echo(f"  {cpu / unit:.1f} calibration units of {unit:.2f} CPU s")
    found |= {"text_bytes": made.text_bytes, "events": made.events, "calibration_cpu": unit}
    if options.floor:
        _print_floors(figures)
    if options.fallback:
        python = opened(made.path, FALLBACK)
        click.echo(_row("without the native library", python, "columns"))
        found |= {f"fallback_{name}": value for name, value in python.items()}
    for peer, interpreter in (("tb", options.peer_tb), ("hta", options.peer_hta)):
        if interpreter:
            found |= against(peer, interpreter, made, figures["overview_cpu"])
    return found


def _print_floors(figures: Mapping[str, float]) -> None:
    click.echo(
        f"  inflate {figures['floor_inflate_cpu']:.2f}, tokenize {figures['floor_scan_cpu']:.2f},"
        f" write columns {figures['floor_write_cpu']:.2f} CPU s; the Overview on one thread"
        f" {figures['overview_cpu_one_thread']:.2f} CPU s"
    )
    click.echo(f"  {'floor':<44}{'CPU s':>8}{'Overview over it':>20}{'on one thread':>16}")
    for name, title in FLOORS.items():
        if f"{name}_cpu" in figures:
            over = figures[f"over_{name}"], figures[f"over_{name}_one_thread"]
            click.echo(
                f"  {title:<44}{figures[f'{name}_cpu']:>8.2f}{over[0]:>19.2f}×{over[1]:>15.2f}×"
            )


def against(peer: str, interpreter: str, made: _corpus.Made, cpu: float) -> dict[str, float]:
    """Figures of a peer on the same file."""
    theirs = _peers.run_peer(peer, interpreter, made.path)
    click.echo(
        f"  {_peers.NAMES[peer]}: {theirs.cpu_seconds:.1f} CPU s, {theirs.wall_seconds:.1f} s,"
        f" {theirs.peak_bytes / 1e6:.0f} MB: {theirs.cpu_seconds / cpu:.1f}× our CPU time to the"
        " Overview"
    )
    return {
        f"peer_{peer}_cpu": theirs.cpu_seconds,
        f"peer_{peer}_wall": theirs.wall_seconds,
        f"peer_{peer}_peak": theirs.peak_bytes,
    }


if __name__ == "__main__":
    main()
