"""The Trace view's answers over HTTP, on the reference trace: tiles, search, areas, details.

    python -m benchmarks.tiles [--trace FILE] [--slices 1000000] [--requests 200] [--keep]

The trace is read by one server and shown by another that was just started. Viewports are chosen at
random, every zoom as likely as another; one request asks for what fills one viewport. Times are of
the client, bytes as they travel.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import click

from benchmarks import _corpus, _r10, _results
from benchmarks._server import Server, linked, server
from benchmarks._viewports import percentile, viewports

VIEW = "view/timeline"
WORDS = (
    "aten",
    "mm",
    "Launch",
    "module.py",
    "kernel",
    "nn.Module",
    "copy",
    "a",
    "cat add",
    "_call",
)


def reference(slices: int, folder: Path) -> Path:
    """The reference trace of at least ``slices`` slices, made once.

    Raises:
        AbsentError: its source is not there.
    """
    target = folder / f"reference-{slices}.pt.trace.json.gz"
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True)
        _r10.make(_r10.SOURCE.source(), target, slices)
    return target


class Reader:
    """One trace on one server, and what is asked of it."""

    def __init__(self, started: Server, span: Mapping[str, str]) -> None:
        self._server = started
        self._span = dict(span)
        began = time.perf_counter()
        self.manifest: dict[str, Any] = self.get("")
        self.manifest_seconds = time.perf_counter() - began

    def fetch(self, part: str, **query: object) -> bytes:
        route = f"{VIEW}/{part}" if part else VIEW
        texts = {key: str(value) for key, value in query.items()}
        return self._server.fetch(route, self._span | texts)

    def get(self, part: str, **query: object) -> Any:  # noqa: ANN401 (JSON)
        route = f"{VIEW}/{part}" if part else VIEW
        texts = {key: str(value) for key, value in query.items()}
        return self._server.get(route, self._span | texts)

    @property
    def whole(self) -> dict[str, int]:
        return {"start_ns": self.manifest["start_ns"], "end_ns": self.manifest["end_ns"]}

    def tiles(self, count: int) -> dict[str, float]:
        """Seconds and bytes of the requests of so many viewports."""
        seconds, sizes = [], []
        for viewport in viewports(self.manifest, count):
            query = viewport.tiles(self.manifest)
            began = time.perf_counter()
            body = self.fetch("tiles", **query)
            seconds.append(time.perf_counter() - began)
            sizes.append(float(len(body)))
        return {
            **spread("tiles", seconds),
            "tiles_p99": percentile(seconds, 0.99),
            "tiles_bytes_p95": percentile(sizes, 0.95),
        }

    def timed(self, part: str, **query: object) -> tuple[float, float]:
        """Seconds until a part has answered, and CPU seconds of the server."""
        began, cpu = time.perf_counter(), self._server.cpu_seconds()
        self.fetch(part, **query)
        return time.perf_counter() - began, self._server.cpu_seconds() - cpu

    def search(self) -> dict[str, float]:
        """Seconds of searching for names, and of going to the next hit; CPU of all of it."""
        middle = (self.manifest["start_ns"] + self.manifest["end_ns"]) // 2
        found = [self.timed("search", text=word) for word in WORDS]
        steps = [self.timed("hit", text=word, ts=middle)[0] for word in WORDS]
        return {
            "search_first": found[0][0],
            "search_cpu": sum(cpu for _, cpu in found) / len(found),
            **spread("search", [seconds for seconds, _ in found]),
            **spread("hit", steps),
        }

    def areas(self) -> dict[str, float]:
        """Seconds of what a selection of everything shows."""
        found: dict[str, float] = {}
        asked: tuple[tuple[str, str, dict[str, float]], ...] = (
            ("area_all", "area", {}),
            ("flame_first", "flame", {}),
            ("flame_again", "flame", {"min_share": 0.001}),
            ("rows_first", "rows", {}),
        )
        for name, part, query in asked:
            seconds, cpu = self.timed(part, **self.whole, **query)
            found |= {name: seconds, f"{name}_cpu": cpu}
        return found

    def details(self, count: int) -> dict[str, float]:
        """Seconds of the details of slices chosen at random."""
        dice = random.Random(2)  # noqa: S311
        chosen = [dice.randrange(self.manifest["slices"]) for _ in range(count)]
        return spread("slice", [self.timed("slice", slice=one)[0] for one in chosen])

    def first_picture(self) -> None:
        """What the page asks before it can draw the whole trace."""
        self.fetch("names")
        self.fetch("minimap")
        first = next(iter(viewports(self.manifest, 1)))
        self.fetch("tiles", **first.tiles(self.manifest))


def spread(name: str, seconds: Iterable[float]) -> dict[str, float]:
    """Median and 95th percentile."""
    listed = list(seconds)
    return {f"{name}_p50": percentile(listed, 0.5), f"{name}_p95": percentile(listed, 0.95)}


def figures(trace: Path, requests: int) -> dict[str, float]:
    """Everything that is measured of one trace."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        logdir, cache = folder / "log", folder / "cache"
        linked(logdir, "run", trace)
        with server(logdir, cache) as first:
            began = time.perf_counter()
            (span,) = first.spans()
            read = time.perf_counter() - began
            made = Reader(first, span).manifest_seconds
        with server(logdir, cache) as again:
            (span,) = again.spans()
            began = time.perf_counter()
            reader = Reader(again, span)
            reader.first_picture()
            found = {"read": read, "made": made, "cached_open": time.perf_counter() - began}
            found |= reader.tiles(requests)
            found |= reader.search() | reader.areas() | reader.details(requests // 2)
            found["server_bytes"] = again.resident_bytes()
            found["server_own_bytes"] = found["server_bytes"] - again.mapped_bytes()
        slices = reader.manifest["slices"]
        files = [file for file in cache.rglob("*") if file.is_file()]
        own = sum(file.stat().st_size for file in files if "artifacts" in file.parts)
        stored = sum(file.stat().st_size for file in files)
        return found | {
            "slices": slices,
            "stored_bytes_per_slice": own / slices,
            "all_stored_bytes_per_slice": stored / slices,
        }


@click.command()
@click.option("--trace", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--slices", default=1_000_000, show_default=True, help="Of the reference trace.")
@click.option("--requests", default=200, show_default=True)
@click.option("--folder", default=_corpus.FOLDER, type=click.Path(path_type=Path))
@click.option("--keep", is_flag=True, help="Keep the figures in results.json.")
def main(trace: Path | None, slices: int, requests: int, folder: Path, keep: bool) -> None:
    """Time what the Trace view asks of the server."""
    try:
        found: dict[str, Any] = dict(figures(trace or reference(slices, folder), requests))
    except _corpus.AbsentError as absent:
        click.echo(f"not measured, because {absent}")
        found = {"tiles_p50": str(absent)}
    else:
        for name, figure in found.items():
            click.echo(f"  {name:<26}{figure:>16,.4g}")
    if keep:
        _results.keep(f"tiles/{slices}", found)


if __name__ == "__main__":
    main()
