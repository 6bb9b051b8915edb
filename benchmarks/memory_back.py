"""Whether memory comes back: a server that read many large traces, before and after.

    python -m benchmarks.memory_back [--kind cpu] [--size 100MB] [--traces 10] [--keep]

A server shows one small trace. Then the large ones appear below its logdir, are read, and the
Overview of each is asked for. The resident memory of the server's own process is compared: what was
read must have been given back, because only the reading processes held it.
"""

from __future__ import annotations

import gzip
import shutil
import tempfile
import time
from pathlib import Path

import click

from benchmarks import _corpus, _results
from benchmarks._measure import sampled
from benchmarks._server import linked, server

SETTLE_SECONDS = 15  # idle reading processes end by themselves


def distinct(trace: Path, folder: Path, number: int) -> Path:
    """The trace with other bytes at its end, which mean nothing: the cache must not know it."""
    target = folder / f"worker{number}.{number}.pt.trace.json.gz"
    shutil.copyfile(trace, target)
    with target.open("ab") as file:
        file.write(gzip.compress(b"\n" * number, mtime=0))
    return target


def figures(trace: Path, small: Path, count: int) -> dict[str, float]:
    """Memory of the server before and after, and the peak of it and all it started."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        logdir = folder / "log"
        linked(logdir, "small", small)
        with server(logdir, folder / "cache") as started, sampled(started.pid) as samples:
            for span in started.spans():
                started.screen(span)
            time.sleep(SETTLE_SECONDS)
            before = started.resident_bytes()
            large = logdir / "large"
            large.mkdir()
            for number in range(1, count + 1):
                distinct(trace, large, number)
            started.get("rescan")
            for span in started.spans(count + 1):
                started.screen(span)
            time.sleep(SETTLE_SECONDS)
            after = started.resident_bytes()
        return {"before": before, "after": after, "peak": max(size for _, size in samples)}


@click.command()
@click.option("--kind", default="cpu", show_default=True, type=click.Choice(list(_corpus.KINDS)))
@click.option("--size", default="100MB", show_default=True)
@click.option("--traces", default=10, show_default=True)
@click.option("--folder", default=_corpus.FOLDER, type=click.Path(path_type=Path))
@click.option("--keep", is_flag=True, help="Keep the figures in results.json.")
def main(kind: str, size: str, traces: int, folder: Path, keep: bool) -> None:
    """Read TRACES large traces in one server and look at its memory."""
    small = _corpus.KINDS["cpu"].source()
    try:
        made = _corpus.made(kind, size, folder)
    except _corpus.AbsentError as absent:
        click.echo(f"{kind} {size}: not measured, because {absent}")
        found: dict[str, object] = {"after": str(absent)}
    else:
        memory = figures(made.path, small, traces)
        click.echo(
            f"{traces} traces of {made.text_bytes / 1e6:,.0f} MB: the server had"
            f" {memory['before'] / 1e6:.0f} MB before and {memory['after'] / 1e6:.0f} MB after"
            f" ({memory['after'] / memory['before'] - 1:+.0%}); all its processes"
            f" {memory['peak'] / 1e6:.0f} MB at most"
        )
        found = dict(memory)
    if keep:
        _results.keep(f"memory_back/{kind}/{size}", found)


if __name__ == "__main__":
    main()
