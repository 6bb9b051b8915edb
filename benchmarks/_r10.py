"""The reference trace of the Trace view: ten million slices, deep host lanes, eight streams.

    python -m benchmarks._r10 SOURCE TARGET [--slices 10000000]

The source is a recording of one stream with deep Python stacks. Its device work is dealt out to
eight streams in runs of 32, and what it lacks is added beside its events: memory events with their
totals, and counters. Then it is repeated in time. So every kind of track is there, and all but the
added ones are as dense as they were recorded.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from benchmarks._corpus import TRACES, Kind
from benchmarks._scale import Scaled, read_text, template, write

SOURCE = Kind(
    "MI300X inference, 54 lanes of Python frames, one stream",
    TRACES,
    ("tracelens/inference/xdit_sd_3.5/profile_trace_rank_0.json.gz",),
)
STREAMS = 8
RUN_LENGTH = 32  # device activities in a row on one stream
COUNTER_EVERY = 4  # device activities between two values of the counters
DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
BLOCK_BYTES = 512 << 10
RESERVED_BYTES = 64 << 30


def decorated(root: dict[str, Any]) -> dict[str, Any]:
    """The source with eight streams, counters and memory events; a launch keeps its activity."""
    events = [dict(event) for event in root["traceEvents"]]
    streams = _streams(events)
    added = [event for start in _starts(events) for event in start]
    for event in events:
        args = event.get("args", {})
        correlation = args.get("correlation") if event.get("cat") in DEVICE else event.get("id")
        stream = streams.get((event.get("pid"), correlation))
        if stream is None:
            continue
        event["tid"] = stream
        if event.get("cat") in DEVICE:
            event["args"] = {**args, "stream": stream}
    return {**root, "traceEvents": events + added + list(_names(events))}


def _streams(events: list[dict[str, Any]]) -> dict[tuple[Any, Any], int]:
    """(device, correlation) → stream, dealt out in order of time."""
    activity = sorted((e for e in events if e.get("cat") in DEVICE), key=lambda e: float(e["ts"]))
    return {
        (event["pid"], event["args"]["correlation"]): index // RUN_LENGTH % STREAMS
        for index, event in enumerate(activity)
    }


def _starts(events: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """At some device activities: an allocation, and what two counters say."""
    host = next(e for e in events if e.get("cat") == "cpu_op")
    activity = sorted((e for e in events if e.get("cat") in DEVICE), key=lambda e: float(e["ts"]))
    for index, event in enumerate(activity[::COUNTER_EVERY]):
        at, device = event["ts"], event["pid"]
        wave = index % 200
        blocks = 100 + min(wave, 200 - wave)
        size = BLOCK_BYTES if wave < 100 else -BLOCK_BYTES
        yield [
            {
                "ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]",
                "pid": host["pid"], "tid": host["tid"], "ts": at,
                "args": {
                    "Total Reserved": RESERVED_BYTES, "Total Allocated": blocks * BLOCK_BYTES,
                    "Bytes": size, "Device Id": device, "Device Type": 1,
                    "Addr": 2**41 + min(wave, 199 - wave) * BLOCK_BYTES,
                },
            },
            _counter("memory", device, at, {"allocated MiB": blocks / 2, "reserved MiB": 65536}),
            _counter("power", device, at, {"W": 300 + wave % 97}),
        ]  # fmt: skip


def _counter(name: str, device: object, at: float, values: dict[str, float]) -> dict[str, Any]:
    return {"ph": "C", "name": name, "pid": device, "tid": 0, "ts": at, "args": values}


def _names(events: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    device = next(e["pid"] for e in events if e.get("cat") in DEVICE)
    first = min(float(e["ts"]) for e in events if "ts" in e)
    for stream in range(1, STREAMS):
        names = {"thread_name": {"name": f"stream {stream} "}}
        for name, args in {**names, "thread_sort_index": {"sort_index": stream}}.items():
            yield {
                "name": name, "ph": "M", "ts": first, "pid": device, "tid": stream, "args": args,
            }  # fmt: skip


def make(source: Path, target: Path, slices: int) -> Scaled:
    """Writes the reference trace with at least ``slices`` complete events."""
    root = json.loads(read_text(source), strict=False)
    own = sum(event.get("ph") == "X" for event in root["traceEvents"])
    text = json.dumps(decorated(root))
    return write(template(text), target, -(-slices // own))


@click.command()
@click.argument("source", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.argument("target", type=click.Path(dir_okay=False, path_type=Path))
@click.option("--slices", default=10_000_000, show_default=True)
def main(source: Path, target: Path, slices: int) -> None:
    """Make the reference trace TARGET from SOURCE."""
    click.echo(str(make(source, target, slices)))


if __name__ == "__main__":
    main()
