"""What a trace costs the training that waits for it: torch's handler, plain and gzip, and ours.

    python -m benchmarks.recording [--events 480000] [--rounds 3]

Each handler runs in a process of its own, in turn and several times, on the same training: a loop
of small operators on the CPU until there are enough events. *blocked* is how long the loop waited
for the handler, and how much CPU time that was: a busy machine makes it wait longer. *CPU* is what
the process spent from there until the trace was in its place. The published trace is held against
what torch exported, event for event. Also the time of a step without a profiler, while one records,
and while a trace is packed beside it.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import logging
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

HANDLERS = ("plain", "gzip", "ours")
_STEP_OPERATORS = 1000
_EVENTS_AN_OPERATOR = 5  # aten::mul of a tensor and a number, and what it calls


@click.command()
@click.option("--events", default=480_000, show_default=True)
@click.option("--rounds", default=3, show_default=True)
@click.option("--one", hidden=True)
def main(events: int, rounds: int, one: str | None) -> None:
    """Print the ratios."""
    if one is not None:
        print(json.dumps(_measured(one, events)))
        return
    found: dict[str, list[dict[str, float]]] = {name: [] for name in HANDLERS}
    for number in range(rounds):
        for name in HANDLERS:
            figures = _in_a_process(name, events)
            found[name].append(figures)
            print(f"round {number + 1}, {name:5}:", _line(figures), flush=True)
    _report(found)


def _in_a_process(name: str, events: int) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.recording", "--one", name, "--events", str(events)],
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return figures


def _line(figures: dict[str, float]) -> str:
    return (
        f"{figures['events']:,.0f} events, blocked {figures['blocked']:.2f} s "
        f"({figures['worked']:.2f} s of them CPU), CPU {figures['cpu']:.2f} s, "
        f"file {figures['bytes'] / 1e6:.1f} MB"
    )


def _report(found: dict[str, list[dict[str, float]]]) -> None:
    def middle(name: str, figure: str) -> float:
        return statistics.median(one[figure] for one in found[name])

    blocked = {name: middle(name, "blocked") for name in HANDLERS}
    worked = {name: middle(name, "worked") for name in HANDLERS}
    cpu = {name: middle(name, "cpu") for name in HANDLERS}
    compression = middle("ours", "compression")
    for other, text in (("plain", "the plain export"), ("gzip", "use_gzip=True")):
        print(
            f"ours blocks {blocked['ours'] / blocked[other]:.3f} × as long as {text}, "
            f"{worked['ours'] / worked[other]:.3f} × in CPU time of the loop"
        )
    print(
        f"ours takes {cpu['ours'] / (cpu['plain'] + compression):.2f} × the CPU of the plain "
        f"export ({cpu['plain']:.2f} s) and the compression alone ({compression:.2f} s)"
    )
    step, recorded = (middle("plain", key) for key in ("step", "recorded"))
    beside = middle("ours", "beside")
    print(
        f"a step: {1e3 * step:.2f} ms without a profiler, {recorded / step:.2f} × while it "
        f"records, {beside / step:.2f} × while our trace is packed beside it"
    )


def _measured(name: str, events: int) -> dict[str, float]:
    import torch
    from torch.profiler import ProfilerActivity, profile

    torch.set_num_threads(1)
    logging.disable(logging.INFO)
    steps = max(1, events // (_STEP_OPERATORS * _EVENTS_AN_OPERATOR))
    weight = torch.ones(64, 64)
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as kept:
        handler, flush = _handler(name, folder)
        step = _seconds(weight, steps)
        with profile(activities=[ProfilerActivity.CPU]) as prof:
            recorded = _seconds(weight, steps)
        exported = Path(kept, "export.json")
        if name == "ours":
            _keep_export(prof, exported)
        cpu_before, before = _cpu_seconds(), (time.perf_counter(), time.thread_time())
        handler(prof)
        blocked, worked = time.perf_counter() - before[0], time.thread_time() - before[1]
        # The trace is packed while the training goes on: its own CPU time is not the handler's.
        training = time.thread_time()
        beside = _seconds(weight, max(1, steps // 20))
        training = time.thread_time() - training
        flush()
        cpu = _cpu_seconds() - cpu_before - training
        (path,) = Path(folder).iterdir()
        data = path.read_bytes()
        text = gzip.decompress(data) if path.suffix == ".gz" else data
        trace = json.loads(text)
        figures = {
            "events": sum(event.get("ph") == "X" for event in trace["traceEvents"]),
            "blocked": blocked,
            "worked": worked,
            "cpu": cpu,
            "bytes": len(data),
            "step": step,
            "recorded": recorded,
            "beside": beside,
        }
        if name == "ours":
            _check_equal(trace, _digests(json.loads(exported.read_bytes())))
            figures["compression"] = _compression_seconds(text)
        return figures


def _handler(name: str, folder: str) -> tuple[Callable[[Any], object], Callable[[], object]]:
    if name == "ours":
        from kinetoscope.handlers import tensorboard_trace_handler as ours

        handler = ours(folder)
        return handler, handler.flush
    from torch.profiler import tensorboard_trace_handler

    return tensorboard_trace_handler(folder, use_gzip=name == "gzip"), lambda: None


def _keep_export(prof: Any, kept: Path) -> None:  # noqa: ANN401  # torch's class
    """Give what torch exports a second name, to hold the published trace against it."""
    export = prof.export_chrome_trace

    def and_keep(path: str) -> None:
        export(path)
        os.link(path, kept)

    prof.export_chrome_trace = and_keep


def _digests(trace: dict[str, Any]) -> dict[str, str]:
    return {
        key: hashlib.sha256(json.dumps(value).encode()).hexdigest()
        for key, value in trace.items()
        if key != "kinetoscope"
    }


def _check_equal(trace: dict[str, Any], digests: dict[str, str]) -> None:
    if _digests(trace) != digests:
        raise RuntimeError("the published trace is not what torch exported")


def _compression_seconds(text: bytes) -> float:
    """CPU time of compressing alone, at our default level."""
    before = time.process_time()
    zlib.compress(text, 6)
    return time.process_time() - before


def _seconds(weight: Any, steps: int) -> float:  # noqa: ANN401  # torch's class
    """The median wall time of a step."""
    found = []
    for _ in range(steps):
        before = time.perf_counter()
        for _ in range(_STEP_OPERATORS):
            weight * 2
        found.append(time.perf_counter() - before)
    return statistics.median(found)


def _cpu_seconds() -> float:
    """CPU time of this process, and of those that it has waited for."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


if __name__ == "__main__":
    main()
