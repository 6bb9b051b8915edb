"""How long the first screen of a trace takes in a warm server that has read it before.

    python -m benchmarks.first_screen [TRACE] [--megabytes N]

The trace is read once, so that its answers are in the cache. Then the standalone server is started
anew, and what the page asks first (catalog, trace, overview) is timed over HTTP: the very first
time, and the median of twenty more.
"""

from __future__ import annotations

import json
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from benchmarks._measure import calibration_seconds
from benchmarks._scale import sample_of

REPEATS = 20


def _get(url: str) -> Any:  # noqa: ANN401 (JSON)
    with urllib.request.urlopen(url, timeout=60) as answer:  # noqa: S310 (our own server)
        return json.load(answer)


@contextmanager
def _server(logdir: Path, cache: Path) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "kinetoscope.cli", "serve", str(logdir), "--port", str(port)]
    process = subprocess.Popen(
        command,
        env={"KINETOSCOPE_CACHE_DIR": str(cache), "PATH": "/usr/bin:/bin"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        api = f"http://127.0.0.1:{port}/api/"
        while True:
            try:
                _get(api + "info")
                break
            except OSError:
                if process.poll() is not None:
                    raise
                time.sleep(0.1)
        yield api
    finally:
        process.terminate()
        process.wait(20)


def _span(api: str) -> dict[str, str] | None:
    """The one span of the logdir as query parameters, once it is read and cached."""
    for run in _get(api + "catalog")["runs"]:
        for worker in run["workers"]:
            for span in worker["spans"]:
                if span["state"] == "ready" and span["progress"] is None:
                    return {"run": run["name"], "worker": worker["name"], "span": span["key"]}
    return None


def _wait(api: str) -> dict[str, str]:
    while (span := _span(api)) is None:
        time.sleep(0.2)
    return span


def _screen(api: str, span: dict[str, str]) -> float:
    """Seconds for what the page asks before it can draw."""
    query = urllib.parse.urlencode(span)
    began = time.perf_counter()
    for route in ("catalog", f"trace?{query}", f"view/overview?{query}"):
        _get(api + route)
    return time.perf_counter() - began


@click.command()
@click.argument(
    "trace", required=False, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option("--megabytes", default=100.0, show_default=True, help="Size of the repeated sample.")
def main(trace: Path | None, megabytes: float) -> None:
    """Time the first screen of TRACE."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        trace = trace or sample_of(folder, megabytes)
        run = folder / "log" / "run"
        run.mkdir(parents=True)
        (run / trace.name).symlink_to(trace.resolve())
        with _server(folder / "log", folder / "cache") as api:
            began = time.perf_counter()
            _wait(api)
            click.echo(f"read and cached         {time.perf_counter() - began:8.2f} s wall")
        with _server(folder / "log", folder / "cache") as api:
            span = _wait(api)
            first = _screen(api, span)
            more = statistics.median(_screen(api, span) for _ in range(REPEATS))
        unit = calibration_seconds()
        click.echo(
            f"first screen            {first:8.3f} s wall, {first / unit:.2f} calibration units"
        )
        click.echo(f"again, median of {REPEATS}     {more:8.3f} s wall, {more / unit:.2f} units")


if __name__ == "__main__":
    main()
