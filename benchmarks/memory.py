"""The Memory view's answers over HTTP, on a training with millions of allocator events.

    python -m benchmarks.memory [--events 2000000] [--requests 60] [--keep]

The training is made up: layers whose activations wait for the backward pass, temporaries,
and gradients that `zero_grad` releases. Ranges are random, every width as likely as another.
One server reads the trace; another, just started, is asked. Times are of the client; ``cpu`` are
CPU seconds of the server per answer, ``units`` the same by those of decoding 20 MB of JSON
(``calibration_seconds``).
"""

from __future__ import annotations

import json
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from benchmarks import _corpus, _results
from benchmarks._measure import calibration_seconds
from benchmarks._server import linked, server
from benchmarks._viewports import percentile

LAYERS = 48
BASE_BYTES = 8 << 30
ACTIVATION, TEMPORARY, GRADIENT = 64 << 20, 16 << 20, 8 << 20
_EVENTS_A_STEP = 8 * LAYERS
_STEP_NS = 100_000 * LAYERS
_HOST = '{"ph":"X","cat":"%s","name":"%s","pid":1,"tid":1,"ts":%.3f,"dur":%.3f,"args":{}}'
_MEMORY = (
    '{"ph":"i","s":"t","cat":"cpu_instant_event","name":"[memory]","pid":1,"tid":1,"ts":%.3f,'
    '"args":{"Device Type":1,"Device Id":0,"Bytes":%d,"Addr":%d,"Total Allocated":%d,'
    '"Total Reserved":%d}}'
)


class _Device:
    """The total of a device, and the lines of its events."""

    def __init__(self) -> None:
        self.total = self.reserved = BASE_BYTES

    def event(self, ns: int, slot: int, size: int) -> str:
        """A block of a slot, allocated or (less than 0) released."""
        self.total += size
        self.reserved = max(self.reserved, self.total)
        address = (1 << 40) + (slot << 27)
        return _MEMORY % (ns / 1e3, size, address, self.total, self.reserved)


def training(events: int) -> Iterator[str]:
    """The events of a training, one a line; at least so many of them are the allocator's."""
    device = _Device()
    for step in range(-(-events // _EVENTS_A_STEP)):
        at = step * _STEP_NS
        yield _host("user_annotation", f"ProfilerStep#{step}", at, _STEP_NS)
        if step:
            yield _host("user_annotation", "Optimizer.zero_grad#AdamW.zero_grad", at, 40_000)
            for layer in range(LAYERS):
                yield device.event(at + 100 * layer, 2000 + layer, -GRADIENT)
        for layer in range(LAYERS):
            yield from _forward(device, at + 100_000 + 40_000 * layer, layer)
        back = at + 200_000 + 40_000 * LAYERS
        for layer in reversed(range(LAYERS)):
            yield from _backward(device, back, layer)
            back += 50_000


def _host(category: str, name: str, ns: int, dur: int) -> str:
    return _HOST % (category, name, ns / 1e3, dur / 1e3)


def _forward(device: _Device, at: int, layer: int) -> Iterator[str]:
    yield _host("cpu_op", "aten::linear", at, 30_000)
    yield _host("cpu_op", "aten::addmm", at + 1000, 25_000)
    yield device.event(at + 2000, layer, ACTIVATION + (layer << 12))
    yield device.event(at + 3000, 1000, TEMPORARY)
    yield device.event(at + 9000, 1000, -TEMPORARY)


def _backward(device: _Device, at: int, layer: int) -> Iterator[str]:
    yield _host("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", at, 45_000)
    yield _host("cpu_op", "AddmmBackward0", at + 1000, 40_000)
    yield device.event(at + 2000, 2000 + layer, GRADIENT)
    yield device.event(at + 3000, 1001, 2 * TEMPORARY)
    yield device.event(at + 9000, 1001, -2 * TEMPORARY)
    yield device.event(at + 20_000, layer, -ACTIVATION - (layer << 12))


def made(events: int, folder: Path) -> Path:
    """The trace file, written once."""
    target = folder / f"memory-{events}.pt.trace.json"
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True)
        partial = target.with_suffix(".part")
        device = {"id": 0, "name": "made up", "totalGlobalMem": 80 << 30}
        with partial.open("w", encoding="utf-8") as file:
            file.write(f'{{"schemaVersion":1,"deviceProperties":[{json.dumps(device)}],')
            file.write('"traceEvents":[\n')
            first = True
            for line in training(events):
                file.write(line if first else f",\n{line}")
                first = False
            file.write("\n]}")
        partial.rename(target)
    return target


def ranges(end_ns: int, count: int) -> Iterator[dict[str, int]]:
    """Ranges at random places, every width as likely as another."""
    dice = random.Random(1)  # noqa: S311
    for _ in range(count):
        width = max(int(end_ns * 10 ** dice.uniform(-5, 0)), 1)
        start = dice.randrange(max(end_ns - width, 1))
        yield {"start_ns": start, "end_ns": start + width}


PARTS: tuple[tuple[str, str, dict[str, object]], ...] = (
    ("view", "", {}),
    ("curve", "curve", {}),
    ("events", "events", {}),
    ("events_by_size", "events", {"sort_by": "bytes", "ascending": "false"}),
    ("statistics", "statistics", {}),
)


def figures(trace: Path, requests: int) -> dict[str, float]:
    """Seconds of the answers."""
    with tempfile.TemporaryDirectory() as temporary:
        logdir, cache = Path(temporary) / "log", Path(temporary) / "cache"
        linked(logdir, "run", trace)
        found: dict[str, float] = {}
        unit = calibration_seconds()
        with server(logdir, cache) as first:
            began = time.perf_counter()
            (span,) = first.spans()
            found["read"] = time.perf_counter() - began
            began = time.perf_counter()
            first.get("view/memory", span)
            found["made"] = time.perf_counter() - began
        with server(logdir, cache) as again:
            (span,) = again.spans()
            began = time.perf_counter()
            answer = again.get("view/memory", span)
            found["first"] = time.perf_counter() - began
            end_ns = answer["recording_end_ns"]
            for name, part, query in PARTS:
                route = f"view/memory/{part}" if part else "view/memory"
                seconds, cpu = [], again.cpu_seconds()
                for chosen in ranges(end_ns, requests):
                    texts = {key: str(value) for key, value in (query | chosen).items()}
                    began = time.perf_counter()
                    again.fetch(route, span | texts)
                    seconds.append(time.perf_counter() - began)
                found[f"{name}_p50"] = percentile(seconds, 0.5)
                found[f"{name}_p95"] = percentile(seconds, 0.95)
                spent = (again.cpu_seconds() - cpu) / requests
                found[f"{name}_cpu"] = spent
                found[f"{name}_units"] = spent / unit
            for name, part, asked in (
                ("alive", "alive", {"at": "time", "at_ns": str(end_ns // 2)}),
                ("map", "map_tiles", {"level": "30", "row_level": "25"}),
                ("steps", "steps", {}),
            ):
                again.fetch(f"view/memory/{part}", span | asked)
                began = time.perf_counter()
                again.fetch(f"view/memory/{part}", span | asked | {"device": "cuda:0"})
                found[name] = time.perf_counter() - began
        return found


@click.command()
@click.option("--events", default=2_000_000, show_default=True, help="Of the allocator, at least.")
@click.option("--requests", default=60, show_default=True)
@click.option("--folder", default=_corpus.FOLDER, type=click.Path(path_type=Path))
@click.option("--keep", is_flag=True, help="Keep the figures in results.json.")
def main(events: int, requests: int, folder: Path, keep: bool) -> None:
    """Time what the Memory view asks of the server."""
    found: dict[str, Any] = dict(figures(made(events, folder), requests))
    for name, figure in found.items():
        click.echo(f"  {name:<26}{figure:>16,.4g}")
    if keep:
        _results.keep(f"memory/{events}", found)


if __name__ == "__main__":
    main()
