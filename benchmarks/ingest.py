"""Reading one large trace through the real catalog: CPU seconds and memory, against a peer.

    python -m benchmarks.ingest [TRACE] [--megabytes N] [--peer PYTHON]

``TRACE`` is any trace file, by default the sample repeated in time to ``N`` megabytes of text.
``PYTHON`` is the interpreter of an environment in which the former plugin, torch-tb-profiler, is
installed; its loader and its generator then run on the same file, and the ratio of CPU seconds in
this one run is printed. Without a peer the figure is held against a calibration loop (about 20 MB
of JSON through the standard library).
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import click

from benchmarks._measure import Measured, calibration_seconds, run
from benchmarks._scale import sample_of

OURS = """
import sys, time
from kinetoscope.analysis.facts import Facts
from kinetoscope.store.catalog import CatalogService
from kinetoscope.store.logdirs import resolve

if __name__ == "__main__":
    service = CatalogService(
        resolve(sys.argv[1], None),
        summarize="kinetoscope.analysis.summarize:summarize",
        summary_type=Facts,
    )
    service.start()
    service.wait_first_look(60)
    while True:
        spans = [s for r in service.snapshot().runs for w in r.workers for s in w.spans]
        if spans and all(s.state in ("ready", "failed") and s.progress is None for s in spans):
            break  # read, and written to the cache
        time.sleep(0.1)
    service.close()
    print([s.state for s in spans])
"""

PEER = """
import sys, tempfile, pickle
from torch_tb_profiler.profiler.data import DistributedRunProfileData, RunProfileData
from torch_tb_profiler.profiler.run_generator import RunGenerator

data = RunProfileData.parse("worker0", None, sys.argv[1], tempfile.mkdtemp())
profile = RunGenerator("worker0", None, data).generate_run_profile()
pickle.dumps((profile, DistributedRunProfileData(data)))
"""


def _row(name: str, measured: Measured) -> str:
    return (
        f"{name:<22}{measured.cpu_seconds:>9.1f} CPU s{measured.wall_seconds:>9.1f} s wall"
        f"{measured.peak_bytes / 2**20:>9.0f} MiB peak"
    )


def _script(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


@click.command()
@click.argument(
    "trace", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option("--megabytes", default=100.0, show_default=True, help="Size of the repeated sample.")
@click.option("--peer", help="Python of an environment with torch-tb-profiler.")
def main(trace: Path | None, megabytes: float, peer: str | None) -> None:
    """Read TRACE and print what it cost."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        trace = trace or sample_of(folder, megabytes)
        logdir = folder / "log" / "run"
        logdir.mkdir(parents=True)
        (logdir / trace.name).symlink_to(trace.resolve())
        command = [sys.executable, _script(folder, "ours.py", OURS), str(folder / "log")]
        cache = {"KINETOSCOPE_CACHE_DIR": str(folder / "cache")}
        ours = run(command, cache)
        click.echo(ours.output, nl=False)
        click.echo(_row("kinetoscope, first", ours))
        again = run(command, cache)
        click.echo(_row("kinetoscope, cached", again))
        unit = calibration_seconds()
        click.echo(
            f"first open: {ours.cpu_seconds / unit:.1f} calibration units of {unit:.2f} CPU s"
        )
        if peer:
            theirs = run(
                [peer, "-W", "ignore", _script(folder, "peer.py", PEER), str(trace.resolve())]
            )
            click.echo(_row("torch-tb-profiler", theirs))
            if theirs.exit_code:
                raise click.ClickException(theirs.output[-2000:])
            click.echo(f"ratio of CPU seconds:  {theirs.cpu_seconds / ours.cpu_seconds:.1f}×")
            click.echo(f"ratio of peak memory:  {theirs.peak_bytes / ours.peak_bytes:.1f}×")


if __name__ == "__main__":
    main()
